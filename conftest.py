# SPDX-License-Identifier: Apache-2.0
"""Settings of all tests."""

from hypothesis import settings

# A busy machine is no fault of the code: pytest-timeout bounds a test, not one of its examples.
settings.register_profile("project", deadline=None, print_blob=True)
settings.load_profile("project")
