# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""CDR, the serialization of ROS 2 messages.

Source: OMG, "DDS for Extensible and Dynamic Topic Types" 1.3, sec. 7.4 (plain CDR, versions 1 and 2).
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

_HEADER_BYTES = 4
# Second byte of the header, to byte order and largest alignment.
_ENCODINGS = {0: (">", 8), 1: ("<", 8), 6: (">", 4), 7: ("<", 4)}
_SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "H": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "d": 8}


class CdrError(ValueError):
    """A message that is not valid CDR of its type."""


class Reader:
    """Reads the fields of a message in the order of its definition. CdrError where it ends early."""

    def __init__(self, data: bytes | bytearray | memoryview) -> None:
        """Reads the header. The fields share the memory of `data`."""
        self._data = memoryview(data).cast("B")
        if len(self._data) < _HEADER_BYTES:
            raise CdrError(f"a message has at least {_HEADER_BYTES} bytes; got {len(self._data)}")
        encoding = _ENCODINGS.get(self._data[1]) if self._data[0] == 0 else None
        if encoding is None:
            raise CdrError(f"only plain CDR is read; the header is {bytes(self._data[:_HEADER_BYTES]).hex()}")
        self._order, self._alignment = encoding
        self._at = _HEADER_BYTES

    def _take(self, size: int, alignment: int) -> int:
        """Place of the next `size` bytes."""
        alignment = min(alignment, self._alignment)
        at = self._at + (_HEADER_BYTES - self._at) % alignment
        if at + size > len(self._data):
            raise CdrError(f"the message ends early: {len(self._data)} bytes, {at + size} or more are needed")
        self._at = at + size
        return at

    def number(self, kind: str) -> Any:
        """A number. `kind`: its letter in `struct`."""
        size = _SIZES[kind]
        return struct.unpack_from(self._order + kind, self._data, self._take(size, size))[0]

    def text(self) -> str:
        """A string. Bytes that are not UTF-8 are replaced."""
        size = self.number("I")
        at = self._take(size, 1)
        return bytes(self._data[at : at + size]).removesuffix(b"\0").decode(errors="replace")

    def data(self) -> npt.NDArray[np.uint8]:
        """A sequence of bytes, not copied."""
        size = self.number("I")
        return np.frombuffer(self._data, np.uint8, size, self._take(size, 1))


class Writer:
    """Writes the fields of a message in the order of its definition: version 1, little endian."""

    def __init__(self) -> None:
        """Writes the header."""
        self._parts: list[bytes] = [b"\0\1\0\0"]
        self._size = 0

    def _put(self, data: bytes, alignment: int) -> None:
        padding = -self._size % alignment
        self._parts += (bytes(padding), data)
        self._size += padding + len(data)

    def number(self, kind: str, value: Any) -> None:
        """A number. `kind`: its letter in `struct`."""
        self._put(struct.pack("<" + kind, value), _SIZES[kind])

    def text(self, text: str) -> None:
        """A string."""
        data = text.encode() + b"\0"
        self.number("I", len(data))
        self._put(data, 1)

    def column(self, values: npt.ArrayLike, kind: str) -> None:
        """A sequence of numbers, or with two axes of structures of as many numbers as columns. `kind`: their letter in
        `struct`, except "?".
        """
        array = np.ascontiguousarray(values, np.dtype("<" + kind))
        self.number("I", len(array))
        if array.size > 0:  # an empty sequence has no padding
            self._put(array.tobytes(), _SIZES[kind])

    def message(self) -> bytes:
        """The whole message."""
        return b"".join(self._parts)
