# SPDX-License-Identifier: Apache-2.0
"""Opens one flow: a QP at each end, connected, and memory at the destination."""

from __future__ import annotations

from endpoint.congestion import configure
from endpoint.memory import Access
from endpoint.qp_config import QpConfig
from testbed.scenario import EndpointOptions
from testbed.virtual.host import HostNode
from testbed.virtual.traffic import Flow


def connect(
    options: EndpointOptions,
    *,
    index: int,
    group: str,
    sender: HostNode,
    receiver: HostNode,
    region_bytes: int,
) -> Flow:
    """A flow from ``sender`` to ``receiver``, ready for the first post."""
    config = QpConfig(
        evs=options.evs,
        timeout=options.timeout,
        congestion=options.congestion,
        congestion_config=configure(options.congestion, options.congestion_settings),
    )
    near = sender.nic.create_qp(config)
    far = receiver.nic.create_qp(config)
    near.connect(far.info(), 0)
    far.connect(near.info(), 0)
    region = receiver.nic.register_memory(bytearray(region_bytes), Access.REMOTE_WRITE)
    return Flow(
        index=index,
        name=f"{sender.name}→{receiver.name}",
        group=group,
        sender=sender,
        receiver=receiver,
        sender_qp=near,
        receiver_qp=far,
        region=region,
    )
