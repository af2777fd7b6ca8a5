# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A real server, the program, and images for all tests.

ORBSERVE_SERVER and ORBSERVE_PROGRAM name the programs; otherwise they are taken from build/bin. Without them the tests
fail.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

import orbserve

REPOSITORY = Path(__file__).resolve().parents[2]


def find_program(variable: str, name: str) -> str:
    """Path of a program of orbserve."""
    for candidate in (os.environ.get(variable), REPOSITORY / "build" / "bin" / name, shutil.which(name)):
        if candidate and os.path.exists(candidate):
            return os.fspath(candidate)
    raise FileNotFoundError(f"{name} is not built; set {variable}")


class Server:
    """A server on a Unix socket that tests may stop, kill and start again."""

    def __init__(self, folder: Path, arguments: Sequence[str] = (), listen: str | None = None) -> None:
        self.address = listen or f"unix:{folder / 's'}"
        self._command = [
            find_program("ORBSERVE_SERVER", "orbserve-server"),
            *("--listen", self.address, "--http-listen", "", "--log-level", "warning", "--backend", "cpu"),
            *arguments,
        ]
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command)

    def wait(self, **options: object) -> None:
        """Waits until it serves. `options`: of the client that asks."""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            assert self._process is not None
            assert self._process.poll() is None, "the server ended"
            with orbserve.Client(self.address, **options) as client:  # type: ignore[arg-type]
                try:
                    if client.health(timeout=5):
                        return
                except orbserve.UnavailableError:
                    time.sleep(0.02)
        raise TimeoutError("the server does not serve")

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end. Returns the exit code."""
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(number)
        return self._process.wait(30)


@pytest.fixture(scope="session")
def program() -> str:
    return find_program("ORBSERVE_PROGRAM", "orbserve")


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    # Short, as the path of a Unix socket has 107 bytes at most.
    with tempfile.TemporaryDirectory(prefix="orb") as name:
        yield Path(name)


@pytest.fixture(scope="session")
def server(folder: Path) -> Iterator[Server]:
    running = Server(folder)
    running.wait()
    yield running
    assert running.end() == 0


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A server for one test, which may stop it."""
    with tempfile.TemporaryDirectory(prefix="orb") as name:
        running = Server(Path(name))
        running.wait()
        yield running
        running.end()


@pytest.fixture
def client(server: Server) -> Iterator[orbserve.Client]:
    with orbserve.Client(server.address) as connected:
        yield connected


Pixels = npt.NDArray[np.uint8]


def make_image(width: int, height: int, seed: int = 1) -> npt.NDArray[np.uint8]:
    """A grey image of overlapping rectangles: corners of many strengths, and smooth parts."""
    random = np.random.default_rng(seed)
    image = np.full((height, width), 96, np.uint8)
    for _ in range(width * height // 900):
        x, y = random.integers(0, width), random.integers(0, height)
        w, h = random.integers(4, 40, 2)
        image[y : y + h, x : x + w] = random.integers(0, 256)
    return image


def flight(count: int, size: tuple[int, int] = (320, 240)) -> list[Pixels]:
    """Frames of a camera that moves two pixels a frame."""
    width, height = size
    wide = make_image(width + 2 * count, height)
    return [wide[:, 2 * i : 2 * i + width] for i in range(count)]


@pytest.fixture(scope="session")
def image() -> npt.NDArray[np.uint8]:
    return make_image(400, 300)


def write_pgm(path: Path, image: npt.NDArray[np.uint8]) -> Path:
    path.write_bytes(b"P5\n# made\n%d %d\n255\n" % (image.shape[1], image.shape[0]) + image.tobytes())
    return path
