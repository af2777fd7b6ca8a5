# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A server that is started where none runs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import orbserve

from .conftest import Server, find_program


@pytest.fixture(autouse=True)
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: Path) -> Iterator[None]:
    monkeypatch.setenv("ORBSERVE_SERVER", find_program("ORBSERVE_SERVER", "orbserve-server"))
    runtime = folder / "run"
    runtime.mkdir(exist_ok=True)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    yield
    assert not (runtime / "orbserve.sock").exists()


def test_a_server_is_started_and_stopped(image: npt.NDArray[np.uint8], folder: Path) -> None:
    with orbserve.local() as client:
        assert client.address == f"unix:{folder}/run/orbserve.sock"
        assert len(client.extract(image)) > 0
    with pytest.raises(orbserve.OrbserveError), orbserve.Client(client.address) as late:
        late.info()


def test_a_server_that_runs_is_used_and_left(image: npt.NDArray[np.uint8], server: Server) -> None:
    path = server.address.removeprefix("unix:")
    with orbserve.LocalServer(socket=path) as found:
        assert not found.started
        with orbserve.local(socket=path, client_id="me") as client:
            assert client.health()
    with orbserve.Client(server.address) as client:
        assert client.health()


def test_a_dead_servers_socket_does_not_matter(folder: Path) -> None:
    import socket

    path = folder / "dead"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with orbserve.LocalServer(socket=path, arguments=["--threads", "1"]) as server:
        assert server.started
        with orbserve.Client(server.address) as client:
            assert client.health()
    server.stop()  # again: nothing to do


def test_a_server_that_does_not_start_shows_its_log(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match=r"(?s)ended with exit code 2:.*--no-such-option"):
        orbserve.local(socket=folder / "x", arguments=["--no-such-option"])
    monkeypatch.delenv("ORBSERVE_SERVER")
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(FileNotFoundError, match=r"no server runs on .*/x, and orbserve-server is not on the PATH"):
        orbserve.local(socket=folder / "x")


def test_two_programs_at_once_share_a_server(folder: Path) -> None:
    code = (
        "import orbserve, sys, time\n"
        f"server = orbserve.LocalServer(socket={str(folder / 'both')!r})\n"
        "with orbserve.Client(server.address) as client: assert client.health()\n"
        "print(server.started, flush=True)\n"
        "sys.stdin.read()\n"
    )
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    started = []
    for process in both:
        assert process.stdout is not None
        started.append(process.stdout.readline().strip())
    for process in both:
        process.communicate("")
        assert process.returncode == 0
    assert sorted(started) == ["False", "True"]
    assert not os.path.exists(folder / "both")  # stopped at the end of the program that started it
