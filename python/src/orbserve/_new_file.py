# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are not seen under their names before they are whole, as the program `orbserve` writes them."""

from __future__ import annotations

import contextlib
import errno
import os
import threading

_MODE = 0o666
# A kernel or a file system without unnamed files answers with one of these.
_NO_UNNAMED = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL)


def write(path: str | os.PathLike[str], data: bytes) -> None:
    """Writes the file `path`, in place of a file that has the name. OSError where that fails.

    Until it is whole the file has no name at all where the file system can do that, and nothing stays of it when the
    process is killed. Elsewhere, and for the moment in which it takes the place of another file, it has a name beside
    its own that ends with ".part" and the number of the thread. Nothing here waits for the disk: after a power failure
    the file may be shorter.
    """
    name = os.fspath(path)
    try:
        _write(name, data)
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), name) from None


def _write(name: str, data: bytes) -> None:
    folder, base = os.path.split(name)
    beside = f"{base}.part{threading.get_native_id()}"  # the main thread's number is that of its process
    # O_PATH: a folder may be written to and not be read.
    place = os.open(folder or ".", getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC)
    named = False  # `beside` exists
    try:
        file = _unnamed(place)
        if file is None:
            file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, _MODE, dir_fd=place)
            named = True
        # Its end may be the first to report a full disk.
        with os.fdopen(file, "wb", buffering=0) as out:
            left = memoryview(data)
            while left:
                left = left[out.write(left) :]
            if not named:
                named = _link(file, base, beside, place)
        if named:
            os.rename(beside, base, src_dir_fd=place, dst_dir_fd=place)
    except BaseException:
        if named:
            with contextlib.suppress(OSError):
                os.unlink(beside, dir_fd=place)
        raise
    finally:
        os.close(place)


def _unnamed(place: int) -> int | None:
    """A new file without a name in the folder `place`. None where there are no such files."""
    # A name is given through /proc.
    if not hasattr(os, "O_TMPFILE") or not os.access("/proc/self/fd", os.X_OK):
        return None
    try:
        return os.open(".", os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, _MODE, dir_fd=place)
    except OSError as error:
        if error.errno not in _NO_UNNAMED:
            raise
        return None


def _link(file: int, base: str, beside: str, place: int) -> bool:
    """Gives an unnamed file its name. True: the name is taken, and the file has the name `beside` instead."""
    source = f"/proc/self/fd/{file}"
    # Only with a folder's descriptor Python calls linkat(), which follows the link to the file.
    try:
        os.link(source, base, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=True)
        return False
    except FileExistsError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=place)  # left by a thread that had this number
        os.link(source, beside, src_dir_fd=place, dst_dir_fd=place, follow_symlinks=True)
        return True
