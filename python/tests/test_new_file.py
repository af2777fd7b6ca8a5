# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Files that are whole or not there."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbserve

# Saves features, and is killed when all bytes are written and the file would get its name.
KILLED = """
import os, signal, sys
import numpy as np
import orbserve

def die(*arguments, **options):
    os.kill(os.getpid(), signal.SIGKILL)

os.link = os.rename = os.replace = die
orbserve.Features(np.zeros((1000, 2), np.float32)).save(sys.argv[1])
"""


def some(count: int) -> orbserve.Features:
    return orbserve.Features(np.full((count, 2), count, np.float32))


def without_unnamed_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system without unnamed files."""
    real = os.open

    def refuse(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "no unnamed files")
        return real(path, flags, *rest, **options)

    monkeypatch.setattr(os, "open", refuse)


def test_a_killed_writer_leaves_nothing(tmp_path: Path) -> None:
    try:
        os.close(os.open(tmp_path, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        pytest.skip("the file system of the tests has no unnamed files: this is NOT tested")
    died = subprocess.run([sys.executable, "-c", KILLED, str(tmp_path / "a.npz")], capture_output=True)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_file_takes_the_place_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool) -> None:
    if not unnamed:
        without_unnamed_files(monkeypatch)
    monkeypatch.chdir(tmp_path)
    for count in (3, 5):
        some(count).save("a.npz")
        assert len(orbserve.Features.load("a.npz")) == count
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a.npz").stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize("unnamed", [True, False])
def test_a_file_that_cannot_be_written_is_named_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unnamed: bool
) -> None:
    if not unnamed:
        without_unnamed_files(monkeypatch)
    with pytest.raises(FileNotFoundError) as missing:
        some(1).save(tmp_path / "none" / "a.npz")
    assert missing.value.filename == str(tmp_path / "none" / "a.npz")
    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        some(1).save(tmp_path / "folder")
    assert taken.value.filename == str(tmp_path / "folder")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_threads_write_one_name(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(50):
                some(10).save(tmp_path / "a.npz")
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(orbserve.Features.load(tmp_path / "a.npz")) == 10
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
