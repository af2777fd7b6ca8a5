# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""NPZ files: reads them, and writes them with the bytes that the program writes.

`numpy.savez` is not used: its bytes differ between versions of NumPy and Python.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ._errors import shown

_VERSION = 20  # 2.0: lowest version of the ZIP format that readers accept
_DATE = 0x0021  # 1980-01-01, the first date of the ZIP format
_ALIGNMENT = 64  # of the data in an NPY file
_PREFIX = 10  # bytes before the header of an NPY file


def read(file: str | os.PathLike[str] | BinaryIO) -> dict[str, npt.NDArray[Any]]:
    """All arrays of an NPZ file. ValueError for a file that is none, or that is damaged."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (AttributeError, EOFError, TypeError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        # A file with a single array is none of arrays with names, and lacks what is asked of them.
        raise ValueError(f"{shown(str(file))}: not an NPZ file of numbers, or a damaged one: {error}") from error


def _npy(array: npt.NDArray[Any]) -> bytes:
    header = f"{{'descr': '{array.dtype.str}', 'fortran_order': False, 'shape': {array.shape}, }}".encode()
    padding = -(_PREFIX + len(header) + 1) % _ALIGNMENT
    header += b" " * padding + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + array.tobytes()


def encode(arrays: dict[str, npt.NDArray[Any]]) -> bytes:
    """A ZIP archive without compression with one NPY file for each array."""
    body: list[bytes] = []
    directory: list[bytes] = []
    at = 0
    for key, array in arrays.items():
        name, data = f"{key}.npy".encode(), _npy(np.ascontiguousarray(array))
        # Fields that both headers have: version, flags, method, time, date, checksum, sizes, lengths of name and extra.
        common = struct.pack("<5H3I2H", _VERSION, 0, 0, 0, _DATE, zlib.crc32(data), len(data), len(data), len(name), 0)
        body += [b"PK\x03\x04", common, name, data]
        # Made by; comment, disk, internal and external attributes, offset.
        directory += [b"PK\x01\x02", struct.pack("<H", _VERSION), common, struct.pack("<3H2I", 0, 0, 0, 0, at), name]
        at += 4 + len(common) + len(name) + len(data)
    listed = b"".join(directory)
    end = struct.pack("<4H2IH", 0, 0, len(arrays), len(arrays), len(listed), at, 0)
    return b"".join([*body, listed, b"PK\x05\x06", end])
