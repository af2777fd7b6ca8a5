# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Large fields of messages, read and written without the protobuf runtime.

The runtime copies pixels twice and makes a Python object of every number of a column. Here a column is an array all the
way. Everything else of a message is left to the runtime: a message is split into its columns and the rest, or written
as the runtime's bytes with the columns behind them. Protobuf defines the fields of a message to be read in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = bytes | memoryview

_VARINT, _FIXED64, _LENGTH, _FIXED32 = 0, 1, 2, 5
_LARGEST_VARINT = 10  # bytes


def varint(number: int) -> bytes:
    """A number from 0 as a varint."""
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def header(number: int, size: int) -> bytes:
    """What stands before the `size` bytes of field `number`."""
    return varint(number << 3 | _LENGTH) + varint(size)


def field(number: int, *parts: Bytes) -> list[Bytes]:
    """The parts of field `number` whose content are `parts`."""
    return [header(number, sum(map(len, parts))), *parts]


def float_column(number: int, values: npt.ArrayLike) -> list[Bytes]:
    """A packed column of floats."""
    data = np.ascontiguousarray(values, dtype="<f4").tobytes()
    return field(number, data) if data else []


def integer_column(number: int, values: npt.ArrayLike) -> list[Bytes]:
    """A packed column of int32 or uint32."""
    # A negative int32 is written as an int64.
    left = np.asarray(values).astype(np.int64).astype(np.uint64)
    if left.size == 0:
        return []
    sizes = np.ones(left.shape, np.int64)
    for i in range(1, _LARGEST_VARINT):
        sizes += left >> np.uint64(7 * i) > 0
    starts = np.cumsum(sizes) - sizes
    out = np.empty(int(sizes.sum()), np.uint8)
    for i in range(int(sizes.max())):
        rows = sizes > i
        more = (sizes[rows] > i + 1).astype(np.uint64) << np.uint64(7)
        out[starts[rows] + i] = left[rows] >> np.uint64(7 * i) & np.uint64(0x7F) | more
    return field(number, out.tobytes())


def _read_varint(data: Bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift >= 7 * _LARGEST_VARINT:
            raise ValueError("a varint is too long")


def split(data: Bytes, numbers: Iterable[int]) -> tuple[bytes, dict[int, list[memoryview]]]:
    """Splits a message into the contents of its fields `numbers`, and everything else.

    Only fields with a length are taken out. ValueError if the data are no message.
    """
    view = memoryview(data)
    wanted: dict[int, list[memoryview]] = {number: [] for number in numbers}
    rest: list[memoryview] = []
    at, kept, end = 0, 0, len(view)  # bytes from `kept` on go to `rest`
    try:
        while at < end:
            begin = at
            tag, at = _read_varint(view, at)
            kind = tag & 7
            if kind == _LENGTH:
                size, at = _read_varint(view, at)
                if at + size > end:
                    raise IndexError
                content = wanted.get(tag >> 3)
                if content is not None:
                    content.append(view[at : at + size])
                    rest.append(view[kept:begin])
                    kept = at + size
                at += size
            elif kind == _VARINT:
                _, at = _read_varint(view, at)
            elif kind in (_FIXED32, _FIXED64):
                at += 4 if kind == _FIXED32 else 8
            else:
                raise ValueError(f"field of kind {kind}")
    except IndexError:
        raise ValueError("it is cut off") from None
    rest.append(view[kept:])
    return b"".join(rest), wanted


def join(contents: list[memoryview]) -> Bytes:
    """The content of a field that may stand in several pieces. Protobuf merges them by joining their bytes."""
    return contents[0] if len(contents) == 1 else b"".join(contents)


def floats(contents: list[memoryview]) -> npt.NDArray[np.float32]:
    """A packed column of floats. ValueError for a part of one."""
    data = join(contents)
    if len(data) % 4 != 0:
        raise ValueError(f"a column of floats has {len(data)} bytes")
    return np.frombuffer(data, dtype="<f4").astype(np.float32, copy=False)


def integers(contents: list[memoryview]) -> npt.NDArray[np.int64]:
    """A packed column of int32 or uint32."""
    data = np.frombuffer(join(contents), dtype=np.uint8)
    if data.size == 0 or data.max() < 0x80:
        return data.astype(np.int64)
    last = data < 0x80
    starts = np.flatnonzero(np.concatenate(([True], last[:-1])))
    sizes = np.diff(np.append(starts, data.size))
    if not last[-1] or sizes.max() > _LARGEST_VARINT:
        raise ValueError("a column is damaged")
    numbers = np.zeros(starts.size, np.uint64)
    for i in range(int(sizes.max())):
        rows = sizes > i
        numbers[rows] |= (data[starts[rows] + i].astype(np.uint64) & np.uint64(0x7F)) << np.uint64(7 * i)
    return numbers.astype(np.int64)


def columns(data: Bytes, kind: Any, numbers: Iterable[int]) -> tuple[Any, dict[int, list[memoryview]]]:
    """The message of class `kind` without its packed columns, and the columns.

    A sender may write a column number by number; such columns are packed first.
    """
    rest, found = split(data, numbers)
    message = kind.FromString(rest)
    by_number = kind.DESCRIPTOR.fields_by_number
    if any(len(getattr(message, by_number[number].name)) > 0 for number in found):
        return columns(kind.FromString(bytes(data)).SerializeToString(), kind, numbers)
    return message, found
