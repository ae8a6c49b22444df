# SPDX-License-Identifier: Apache-2.0
"""Versions of the control API, encoded like those of the application API."""

from typing import Final

from endpoint.verbs.versions import MRC_API_VER, ApiVersions

MRC_CTL_API_CURRENT_VERSION: Final = MRC_API_VER(1, 0, 1)
MRC_CTL_API_LAST_SUPPORTED_VERSION: Final = MRC_API_VER(1, 0, 0)
MRC_CTL_VENDOR_API_CURRENT_VERSION: Final = MRC_API_VER(1, 0, 0)
MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION: Final = MRC_API_VER(1, 0, 0)


def mrc_ctl_query_version() -> ApiVersions:
    """The versions of the control API that this implementation understands."""
    return ApiVersions(
        MRC_CTL_API_CURRENT_VERSION,
        MRC_CTL_API_LAST_SUPPORTED_VERSION,
        MRC_CTL_VENDOR_API_CURRENT_VERSION,
        MRC_CTL_VENDOR_API_LAST_SUPPORTED_VERSION,
    )
