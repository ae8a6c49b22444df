# SPDX-License-Identifier: Apache-2.0
"""What the switch cannot run is refused when it is loaded, by name and place in the JSON."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import p4src
from softswitch import ProgramError, load_program

PROGRAMS = Path(__file__).parent / "programs"


@pytest.mark.parametrize(
    ("name", "place", "words"),
    [
        ("header_stack", "$.header_stacks[0]", "header stacks"),
        ("varbit", "$.header_types[2].fields[1]", "varbit"),
        ("clone", "$.actions[0].primitives[1]", "clone_ingress_pkt_to_egress"),
    ],
)
def test_refused_programs(name, place, words):
    with pytest.raises(ProgramError) as caught:
        load_program((PROGRAMS / f"{name}.json").read_bytes())
    assert caught.value.place == place
    assert words in caught.value.reason and str(caught.value).startswith(f"{place}: ")


def edited(change, name="matches"):
    document = json.loads((PROGRAMS / f"{name}.json").read_bytes())
    change(document)
    return json.dumps(document).encode()


def refuse_table(document, **attributes):
    document["pipelines"][0]["tables"][1] |= attributes


EDITS = {
    "$.pipelines[0].tables[1]: table type 'indirect_ws'": lambda d: refuse_table(
        d, type="indirect_ws"
    ),
    "$.pipelines[0].tables[1]: entry timeouts": lambda d: refuse_table(d, support_timeout=True),
    "$.pipelines[0].tables[1].key[0]: match type 'fuzzy'": lambda d: refuse_table(
        d, key=[{"match_type": "fuzzy", "target": ["key", "a"]}]
    ),
    "$.pipelines[0].tables[1].key[0]: unknown field key.zz": lambda d: refuse_table(
        d, key=[{"match_type": "exact", "target": ["key", "zz"]}]
    ),
    "$.pipelines[0].action_profiles[0]": lambda d: d["pipelines"][0].update(action_profiles=[1]),
    "$.extern_instances[0]: extern instances": lambda d: d.update(extern_instances=[{}]),
    "$.parse_vsets[0]: parser value sets": lambda d: d.update(parse_vsets=[{}]),
    "$.__meta__.version: format version 3": lambda d: d["__meta__"].update(version=[3, 0]),
    "$.deparsers[0].order: unknown header 'zz'": lambda d: d["deparsers"][0].update(order=["zz"]),
    "$.pipelines: pipeline 'egress' is missing": lambda d: d.update(pipelines=d["pipelines"][:1]),
    "$.parsers[0].parse_states[0]: a parser loop (through start)": lambda d: d["parsers"][0][
        "parse_states"
    ][0].update(
        transitions=[{"type": "default", "value": None, "mask": None, "next_state": "start"}]
    ),
    "$.actions[0].primitives[0]: primitive 'resubmit'": lambda d: d["actions"][0].update(
        primitives=[{"op": "resubmit", "parameters": []}]
    ),
    "$.actions[0].primitives[0]: multicast groups": lambda d: d["actions"][0].update(
        primitives=[
            {
                "op": "assign",
                "parameters": [
                    {"type": "field", "value": ["standard_metadata", "mcast_grp"]},
                    {"type": "hexstr", "value": "0x1"},
                ],
            }
        ]
    ),
    "operator 'last_stack_index'": lambda d: d["pipelines"][0]["conditionals"][0].update(
        expression={
            "type": "expression",
            "value": {
                "op": "last_stack_index",
                "left": {"type": "hexstr", "value": "0x0"},
                "right": {"type": "hexstr", "value": "0x0"},
            },
        }
    ),
}


@pytest.mark.parametrize("message", EDITS)
def test_edits_that_are_refused(message):
    with pytest.raises(ProgramError) as caught:
        load_program(edited(EDITS[message]))
    assert message in str(caught.value)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}"])
def test_what_is_no_program(text):
    with pytest.raises(ProgramError) as caught:
        load_program(text)
    assert caught.value.place == "$"


def test_a_program_is_compiled_once_and_its_source_can_be_read():
    text = p4src.JSON.read_bytes()
    program = load_program(text)
    assert load_program(bytes(text)) is program
    compile(program.source, "source", "exec")
    assert "def ingress(port, frame, now_us):" in program.source
    assert "# table MrcIngress.srv6.fib" in program.source


def test_generated_source_does_not_depend_on_hash_order():
    code = (
        "import p4src, softswitch, sys;"
        "sys.stdout.write(softswitch.load_program(p4src.JSON.read_bytes()).source)"
    )
    sources = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(p4src.SOURCE_DIR.parent)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(sources) == 1 and b"def egress" in sources.pop()


sys.path.insert(0, str(PROGRAMS))
from compile import compile_program, source_digest, stripped  # noqa: E402

sys.path.remove(str(PROGRAMS))
ALL_PROGRAMS = sorted(PROGRAMS.glob("*.p4"))


@pytest.mark.parametrize("source", ALL_PROGRAMS, ids=lambda p: p.stem)
def test_committed_programs_are_made_from_their_sources(source):
    committed = json.loads(source.with_suffix(".json").read_text())
    assert committed["source_sha256"] == source_digest(source), "run programs/compile.py"


@pytest.mark.p4c
@pytest.mark.skipif(shutil.which("p4c-bm2-ss") is None, reason="p4c-bm2-ss is not on the PATH")
def test_a_committed_program_is_what_p4c_makes():
    made, info = compile_program(PROGRAMS / "headers.p4")

    def meaning(text):
        ignored = ("__meta__", "program")
        return {k: v for k, v in stripped(json.loads(text)).items() if k not in ignored}

    assert meaning(made) == meaning((PROGRAMS / "headers.json").read_text())
    assert info == (PROGRAMS / "headers.p4info.txt").read_text()
