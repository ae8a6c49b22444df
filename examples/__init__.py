# SPDX-License-Identifier: Apache-2.0
"""Programs that use the API, in virtual time. Run one with `python -m examples.qp_setup`."""
