# SPDX-License-Identifier: Apache-2.0
"""P4Runtime service in front of the software switch (P4Runtime specification 1.4.1).

`device` holds one switch and what its controllers agreed on, `service` maps the RPCs on devices,
`p4info` and `bytestring` translate between identifiers and bytes on the wire and names and
integers in the switch.
"""
