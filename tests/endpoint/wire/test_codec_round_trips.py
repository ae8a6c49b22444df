# SPDX-License-Identifier: Apache-2.0
"""Every header codec reads back what it wrote, at any offset, and refuses a short buffer."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wire_samples import CODECS

from endpoint.wire.errors import FrameError


@pytest.mark.parametrize("name", CODECS)
@given(data=st.data())
def test_what_was_packed_is_unpacked_at_any_offset(name: str, data: st.DataObject) -> None:
    codec, size, values = CODECS[name]
    value: Any = data.draw(values)
    before = data.draw(st.binary(max_size=9))
    packed = value.pack()
    assert len(packed) == size
    unpacked = codec.unpack(before + packed + b"\x55", len(before))  # type: ignore[attr-defined]
    assert unpacked == value
    assert type(unpacked) is type(value)


@pytest.mark.parametrize("name", CODECS)
@given(data=st.data())
def test_packing_is_stable_from_any_buffer_type(name: str, data: st.DataObject) -> None:
    codec, _, values = CODECS[name]
    packed = data.draw(values).pack()
    for buffer in (bytearray(packed), memoryview(packed)):
        assert codec.unpack(buffer).pack() == packed  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CODECS)
@given(data=st.data())
def test_a_short_buffer_is_a_frame_error(name: str, data: st.DataObject) -> None:
    codec, size, values = CODECS[name]
    packed = data.draw(values).pack()
    kept = data.draw(st.integers(0, size - 1))
    with pytest.raises(FrameError, match=f"needs {size} bytes, {kept} left"):
        codec.unpack(packed[:kept])  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CODECS)
@given(data=st.data())
def test_any_bytes_unpack_or_raise_a_frame_error(name: str, data: st.DataObject) -> None:
    codec, size, _ = CODECS[name]
    raw = data.draw(st.binary(min_size=size, max_size=size))
    try:
        value = codec.unpack(raw)  # type: ignore[attr-defined]
    except FrameError as error:
        assert error.field
        return
    # Reserved bits are dropped, everything else is kept.
    assert codec.unpack(value.pack()) == value  # type: ignore[attr-defined]
