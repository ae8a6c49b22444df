# SPDX-License-Identifier: Apache-2.0
"""The committed compiled form belongs to the committed sources, and p4c makes the same of them."""

import shutil

import pytest
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2

import p4src
from p4src.compile import COMPILER, compile_into, meaning


def _p4info(text: str) -> p4info_pb2.P4Info:
    # Newer p4c adds initial_default_action, which this P4Runtime release does not know.
    info = text_format.Parse(text, p4info_pb2.P4Info(), allow_unknown_field=True)
    for table in info.tables:
        if "initial_default_action" in table.DESCRIPTOR.fields_by_name:
            table.ClearField("initial_default_action")
    return info


def test_digest_is_of_these_sources():
    assert p4src.recorded_digest() == p4src.source_digest(), "p4src changed: run `make p4`"


def test_no_path_of_a_machine_in_the_compiled_form():
    for path in (p4src.JSON, p4src.P4INFO):
        text = path.read_text(encoding="utf-8")
        assert "/root" not in text and "/home" not in text and "/work" not in text


@pytest.mark.p4c
@pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"{COMPILER} is not on the PATH")
def test_p4c_makes_the_committed_form(tmp_path):
    compiled, info = compile_into(tmp_path)
    assert meaning(compiled.read_bytes()) == meaning(p4src.JSON.read_bytes())
    assert _p4info(info.read_text()) == _p4info(p4src.P4INFO.read_text())
