# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A server on this machine, started where none runs."""

from __future__ import annotations

import atexit
import os
import shutil
import socket as socket_module
import struct
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import grpc

from ._client import Client
from ._connection import Path_
from ._errors import DeadlineExceededError, OrbserveError, shown

_PROGRAM = "orbserve-server"
_STOP_TIMEOUT = 15.0  # seconds; the server itself gives frames under way 10 s by default
_NOT_NOW = 1  # exit code of a server that could not start now, for example as the socket is taken
_OTHER_TIMEOUT = 5.0  # seconds in which a server that took the socket must serve
_LONGEST_LOG = 4000  # characters of the server's log in an error


def default_socket() -> Path:
    """`$XDG_RUNTIME_DIR/orbserve.sock`, else a socket in a folder of this user below the folder of temporary files."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and os.path.isdir(runtime):
        return Path(runtime) / "orbserve.sock"
    folder = Path(tempfile.gettempdir()) / f"orbserve-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = folder.stat()
    if owner.st_uid != os.getuid() or owner.st_mode & 0o077:
        raise PermissionError(f"{folder} must belong to this user alone, as its socket is trusted")
    return folder / "orbserve.sock"


class LocalServer:
    """A server on a Unix socket of this machine: the one that serves there already, or else one that is started.

    A server that was started here is stopped by `stop()`, at the end of a `with` statement, or when the program exits;
    other programs that found it on its socket lose it then. One that was there already stays. A program that is killed
    leaves its server, which the next one uses.
    """

    def __init__(
        self,
        *,
        socket: Path_ | None = None,
        program: Path_ | None = None,
        arguments: Sequence[str] = (),
        start_timeout: float = 30.0,
    ) -> None:
        """Finds or starts the server, and waits until it serves.

        socket: path of the Unix socket. None: one of this user, the same for all programs.
        program: the server. None: `$ORBSERVE_SERVER`, else `orbserve-server` on the PATH.
        arguments: further arguments of a server that is started, such as ("--threads", "4").
        start_timeout: seconds until a server that is started must serve.

        FileNotFoundError where no server runs and none is installed; RuntimeError, with its log, for one that does not
        start.
        """
        self.socket: Path = Path(socket) if socket is not None else default_socket()
        """Path of the Unix socket."""
        self.address: str = f"unix:{self.socket.absolute()}"
        """Address for clients."""
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None
        self._lock = threading.Lock()
        if not self._serves(0.5):
            self._start(program, arguments, start_timeout)

    @property
    def started(self) -> bool:
        """The server was started here, and runs."""
        return self._process is not None

    def __enter__(self) -> LocalServer:
        """Returns the server itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stops a server that was started here."""
        self.stop()

    def stop(self) -> None:
        """Stops a server that was started here, and waits for its end. It answers the frames that it has."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        atexit.unregister(self.stop)
        process.terminate()
        try:
            process.wait(_STOP_TIMEOUT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._log is not None:
            self._log.close()

    def _serves(self, timeout: float) -> bool:
        if not self.socket.exists():
            return False
        with Client(self.address) as client:
            try:
                return client.health(timeout=timeout)
            except DeadlineExceededError:
                return True  # something listens; a busy server is no missing one
            except OrbserveError as error:
                # The server that has gone leaves its socket. Any answer of a server is one.
                return error.code != grpc.StatusCode.UNAVAILABLE

    def _start(self, program: Path_ | None, arguments: Sequence[str], timeout: float) -> None:
        found = program or os.environ.get("ORBSERVE_SERVER") or shutil.which(_PROGRAM)
        if not found:
            raise FileNotFoundError(
                f"no server runs on {self.socket}, and {_PROGRAM} is not on the PATH; "
                "install orbserve, or set ORBSERVE_SERVER"
            )
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  # stop() closes it
        command = [
            os.fspath(found),
            "--listen",
            self.address,
            "--http-listen",
            "",
            "--log-level",
            "warning",
            *arguments,
        ]
        # A session of its own: Ctrl-C in a terminal ends the program, which then stops the server in order.
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=subprocess.STDOUT, start_new_session=True
        )
        self._process = process
        atexit.register(self.stop)
        end = time.monotonic() + timeout
        try:
            while not self._serves(0.5):
                code = process.poll()
                if code == _NOT_NOW:
                    # Another program may have been faster, whose server takes the socket now.
                    end = min(end, time.monotonic() + _OTHER_TIMEOUT)
                    code = None if time.monotonic() < end else code
                if code is not None:
                    raise RuntimeError(f"{found} ended with exit code {code}:\n{self._tail()}")
                if time.monotonic() > end:
                    raise RuntimeError(f"{found} does not serve after {timeout:g} s:\n{self._tail()}")
                time.sleep(0.02)
            if self._listener() != process.pid:
                self.stop()  # the socket is that of another program's server
        except BaseException:
            self.stop()
            raise

    def _listener(self) -> int:
        """The process that listens on the socket."""
        with socket_module.socket(socket_module.AF_UNIX) as probe:
            probe.connect(str(self.socket))
            credentials = probe.getsockopt(socket_module.SOL_SOCKET, socket_module.SO_PEERCRED, struct.calcsize("3i"))
        process: int = struct.unpack("3i", credentials)[0]
        return process

    def _tail(self) -> str:
        assert self._log is not None
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")[-_LONGEST_LOG:]
        return "\n".join(map(shown, text.splitlines()))


def local(
    *,
    socket: Path_ | None = None,
    program: Path_ | None = None,
    arguments: Sequence[str] = (),
    start_timeout: float = 30.0,
    client_id: str | None = None,
    timeout: float | None = None,
) -> Client:
    """A client of a server on this machine, which is started where none runs, and stopped by `close()`.

    socket, program, arguments, start_timeout, and errors: as of `LocalServer`, which `AsyncClient` is used with.
    client_id, timeout: as of `Client`.
    """
    server = LocalServer(socket=socket, program=program, arguments=arguments, start_timeout=start_timeout)
    client = Client(server.address, client_id=client_id, timeout=timeout)
    client._on_close = server.stop
    return client
