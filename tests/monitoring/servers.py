# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Real servers and real load for the tests of monitoring."""

import os
import random
import re
import signal
import subprocess
import time
import urllib.request

START_LIMIT_S = 60
SKIPPED = 77  # exit code for CTest: something that the test needs is not installed


class Server:
    """A program orbserve-server on the loopback. Its files lie in `folder`."""

    def __init__(self, program, folder, name, config="", arguments=(), http_port=0):
        self.folder, self.name, self.http_port = folder, name, http_port
        config_file = os.path.join(folder, f"{name}.textproto")
        with open(config_file, "w", encoding="utf-8") as file:
            file.write(config)
        self.command = [program, *arguments, "--config", config_file, "--backend", "cpu", "--threads", "1", "--listen", "127.0.0.1:0"]
        self.process = None
        self.start()

    def start(self):
        """Starts it, again at the HTTP port that it had."""
        path = os.path.join(self.folder, f"{self.name}.log")
        log = open(path, "wb")
        command = [*self.command, "--http-listen", f"127.0.0.1:{self.http_port}"]
        self.process = subprocess.Popen(command, stdout=log, stderr=log)
        end = time.monotonic() + START_LIMIT_S
        while True:
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            line = re.search(r"event=serving .* port=(\d+) .*http_port=(\d+)", text)
            if line is not None:
                break
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not start: {text}")
            time.sleep(0.02)
        self.address = f"127.0.0.1:{line.group(1)}"
        self.port = int(line.group(1))
        self.http_port = int(line.group(2))

    @property
    def http_address(self):
        return f"127.0.0.1:{self.http_port}"

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.http_address}{path}", timeout=10) as answer:
            return answer.read().decode()

    def metric(self, series):
        """Value of the series whose text, labels included, begins a line of /metrics."""
        found = re.search(rf"^{re.escape(series)} (\S+)$", self.get("/metrics"), re.MULTILINE)
        return None if found is None else float(found.group(1))

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self, how=signal.SIGKILL):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(how)
        self.process.wait()
        self.process = None


class Load:
    """Streams of the program `orbserve`, each a simulated flight over a photograph."""

    def __init__(self, program, folder):
        self.program = program
        self.photo = os.path.join(folder, "photo.pgm")
        self.processes = []
        write_photo(self.photo, 1600, 1200)

    def stream(self, server, client, *arguments, frames=1_000_000):
        command = [self.program, "stream", "--server", server.address, "--client-id", client, "--quiet", "--simulate", self.photo,
                   "--frames", str(frames), *arguments]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def call(self, server):
        """A call that is no stream."""
        subprocess.run([self.program, "info", "--server", server.address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def stop(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.processes.clear()


def write_photo(path, width, height, seed=7):
    """A grey picture of blocks: plenty of corners."""
    noise = random.Random(seed)
    block = 12
    columns = width // block + 1
    rows = []
    for _ in range(height // block + 1):
        row = b"".join(bytes([noise.randrange(256)]) * block for _ in range(columns))[:width]
        rows.extend([row] * block)
    with open(path, "wb") as file:
        file.write(b"P5\n%d %d\n255\n" % (width, height))
        file.write(b"".join(rows[:height]))


def wait_until(condition, limit_s, what):
    """Polls until `condition()` is true. AssertionError after `limit_s`."""
    end = time.monotonic() + limit_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {limit_s} s: {what}"
        time.sleep(0.25)
