# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Columns on the wire, against the protobuf runtime."""

from __future__ import annotations

import numpy as np
import pytest

from orbserve import _codec
from orbserve._contract import wire

X, OCTAVE, SOURCE, DESCRIPTORS = 1, 6, 7, 15
INTEGERS = [0, 1, 127, 128, 255, 300, 16383, 16384, 2**21, 2**28 - 1, 2**31 - 1]


def test_written_columns_are_what_the_runtime_reads() -> None:
    parts = _codec.float_column(X, [0.5, -1e30, 3]) + _codec.integer_column(OCTAVE, [*INTEGERS, -1, -(2**31)])
    parts += _codec.integer_column(SOURCE, [*INTEGERS, 2**32 - 1])
    message = wire.FeatureSet.FromString(b"".join(parts))
    assert list(message.x) == [0.5, np.float32(-1e30), 3]
    assert list(message.octave) == [*INTEGERS, -1, -(2**31)]
    assert list(message.source_index) == [*INTEGERS, 2**32 - 1]


def test_written_columns_are_the_bytes_of_the_runtime() -> None:
    expected = wire.FeatureSet(x=[1, 2], octave=INTEGERS, descriptors=b"abc").SerializeToString()
    parts = _codec.float_column(X, [1, 2]) + _codec.integer_column(OCTAVE, INTEGERS)
    assert b"".join(parts + _codec.field(DESCRIPTORS, b"abc")) == expected


def test_read_columns_are_what_the_runtime_wrote() -> None:
    whole = wire.FeatureSet(x=[1.5, 2], octave=[*INTEGERS, -5], image_width_px=7, descriptors=b"abc")
    message, found = _codec.columns(whole.SerializeToString(), wire.FeatureSet, (X, OCTAVE, SOURCE, DESCRIPTORS))
    assert message == wire.FeatureSet(image_width_px=7)
    assert _codec.floats(found[X]).tolist() == [1.5, 2]
    assert _codec.integers(found[OCTAVE]).tolist() == [*INTEGERS, -5]
    assert _codec.integers(found[SOURCE]).tolist() == []
    assert bytes(_codec.join(found[DESCRIPTORS])) == b"abc"


def test_columns_in_pieces_and_number_by_number_are_read() -> None:
    one = wire.FeatureSet(x=[1, 2]).SerializeToString()
    _, found = _codec.columns(one + one, wire.FeatureSet, (X,))
    assert _codec.floats(found[X]).tolist() == [1, 2, 1, 2]
    single = b"\x0d" + np.float32(7).tobytes()  # field 1, four bytes: a float that is not packed
    _, found = _codec.columns(one + single, wire.FeatureSet, (X,))
    assert _codec.floats(found[X]).tolist() == [1, 2, 7]


@pytest.mark.parametrize("size", range(1, 12))
def test_cut_messages_are_refused(size: int) -> None:
    data = wire.FeatureSet(x=[1, 2], octave=[300]).SerializeToString()
    cut = data[:size]
    if size in (10,):  # a whole message of the first column
        return
    with pytest.raises(ValueError, match="cut off"):
        _codec.split(cut, (X, OCTAVE))


def test_damaged_columns_are_refused() -> None:
    with pytest.raises(ValueError, match="damaged"):
        _codec.integers([memoryview(b"\x01\x80")])
    with pytest.raises(ValueError, match="damaged"):
        _codec.integers([memoryview(b"\xff" * 11 + b"\x01")])
