# SPDX-License-Identifier: Apache-2.0
"""Tables that the controller installs over P4Runtime make the same run as those written directly.

A switch that stops loses them, and gets them again from the controller.
"""

from testbed.run import run_scenario
from testbed.scenario import parse_scenario


def test_the_result_is_the_same_to_the_byte_by_either_way() -> None:
    document = {
        "name": "installed",
        "description": "d",
        "topology": "tiny",
        "duration": "3ms",
        "workload": {
            "kind": "permutation",
            "shift": 2,
            "message_bytes": "64KiB",
            "in_flight": 4,
            "until": "80us",
        },
        "faults": [{"kind": "switch_stop", "switch": "p0t1a", "at": "20us", "lasts": "20us"}],
    }
    scenario = parse_scenario(document, source="test")
    direct = run_scenario(scenario)
    installed = run_scenario(scenario, over_p4runtime=True)
    assert direct.passed
    assert installed.to_json() == direct.to_json()
