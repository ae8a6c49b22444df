# SPDX-License-Identifier: Apache-2.0
"""Profiles that a controller sets up on a NIC: EV formats, EVs, congestion control.

What they mean for queue pairs; the calls of `mrc_ctl.h` that set them up are in
`endpoint.control`.
"""
