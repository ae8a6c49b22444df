# SPDX-License-Identifier: Apache-2.0
"""The same packets through BMv2 and through an embedded switch with the same tables."""

import bmv2_process


def own_results(switch, packets):
    results = []
    for port, frame in packets:
        sent = switch.ingress(port, frame, 0)
        data = switch.egress(sent[0][2], 0) if sent and sent[0][1] < bmv2_process.QUEUES else None
        results.append(None if data is None else (sent[0][0], data))
    return results


def compare(bmv2, switch, packets, marker):
    """Send everything through both; the first difference is shown with its input."""
    theirs = bmv2.send(packets, marker)
    ours = own_results(switch, packets)
    batches = -(-len(packets) // bmv2_process.BATCH)
    own_results(switch, marker * batches)
    for number, (packet, our, their) in enumerate(zip(packets, ours, theirs, strict=True)):
        assert our == their, f"packet {number}, port {packet[0]}: {packet[1].hex()}"
    return sum(result is not None for result in ours)


def compare_counters(bmv2, switch):
    for name, theirs in bmv2.counters().items():
        counter = switch.counters[name]
        ours = [counter.read(i) for i in range(counter.size)]
        assert ours == theirs, name
