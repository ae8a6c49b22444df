# SPDX-License-Identifier: Apache-2.0
"""Versions of the API: major, minor, sub-minor in 8, 8 and 16 bits (`mrc_api_ver.h` 1.0.1)."""

from typing import Final, NamedTuple


def MRC_API_VER(major: int, minor: int, sub_minor: int) -> int:
    """One number for a version."""
    return major << 24 | minor << 16 | sub_minor


MRC_API_VER_LATEST: Final = MRC_API_VER(0xFF, 0xFF, 0xFFFF)
MRC_API_CURRENT_VERSION: Final = MRC_API_VER(1, 0, 1)
MRC_API_LAST_SUPPORTED_VERSION: Final = MRC_API_VER(1, 0, 0)
MRC_VENDOR_API_CURRENT_VERSION: Final = MRC_API_VER(1, 0, 0)
MRC_VENDOR_API_LAST_SUPPORTED_VERSION: Final = MRC_API_VER(1, 0, 0)


class ApiVersions(NamedTuple):
    """What a library supports: of the API, and of its vendor's additions (here there are none)."""

    current_version: int
    last_supported_version: int
    vendor_version: int
    last_supported_vendor_version: int


def mrc_query_version() -> ApiVersions:
    """The versions that this implementation understands."""
    return ApiVersions(
        MRC_API_CURRENT_VERSION,
        MRC_API_LAST_SUPPORTED_VERSION,
        MRC_VENDOR_API_CURRENT_VERSION,
        MRC_VENDOR_API_LAST_SUPPORTED_VERSION,
    )


def is_supported(version: int) -> bool:
    """Whether an application written for `version` is served: 0 and "latest" always are."""
    if version in (0, MRC_API_VER_LATEST):
        return True
    return MRC_API_LAST_SUPPORTED_VERSION <= version <= MRC_API_CURRENT_VERSION
