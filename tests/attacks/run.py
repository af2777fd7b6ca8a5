# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Attacks a server of its own with clients that break rules, while an honest client is served beside them.

Usage: run.py --server PROGRAM [--long] [--seconds N] [--relaxed] [ATTACK...]

Without ATTACK every attack runs; --list prints their names. For each attack a fresh server starts; the honest client
measures its calls before and during the attack; resident memory is sampled; after the attack a client with a new
connection wants to be served; SIGTERM, sent while the attack still goes on, must end the server with exit code 0 and a
whole account. --long takes ten times the connections and more time. --relaxed leaves out the limits of time, for
machines that are slow or busy. Each attack prints one line of JSON.

Exit codes: 0 every limit held, 1 one did not, 77 a library is missing.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

try:
    import grpc  # noqa: F401  honest.py needs it
except ImportError as error:
    print(error)
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import attacks  # noqa: E402
import shares  # noqa: E402

HONEST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "honest.py")
ALONE_S = 1.5
WARM_S = 0.3  # in place of ALONE_S where no limit of time is measured
START_LIMIT_S = 30
STOP_LIMIT_S = 70
SETTLE_S = 30
SETTLED_MIB = 2  # pages of code and tables that an attack makes the program use for the first time
MIB = 1 << 20
RECEIVE_BUFFERS_MIB = 2048  # gRPC's buffers where memory is large


class Server:
    """The program orbserve-server, on free ports of the loopback unless `listen` says otherwise."""

    def __init__(self, program, arguments, nofile=None, address_space_mib=None, tls=None, listen="127.0.0.1:0"):
        self.log = tempfile.NamedTemporaryFile("r+", prefix="orbserve-attack-", suffix=".log")

        def limit():
            if nofile is not None:
                resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))
            if address_space_mib is not None:
                resource.setrlimit(resource.RLIMIT_AS, (address_space_mib * MIB, address_space_mib * MIB))

        command = [program, "--http-listen", "127.0.0.1:0", "--listen", listen, *arguments]
        if tls:
            command += ["--tls-cert", tls.certificate, "--tls-key", tls.key]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log, preexec_fn=limit)
        end = time.monotonic() + START_LIMIT_S
        while True:
            line = re.search(r"event=serving .* port=(\d+) .*http_port=(\d+)", self.text())
            if line is not None:
                break
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"the server does not start: {self.text()}")
            time.sleep(0.02)
        self.address = f"{'tls:' if tls else ''}{listen.rsplit(':', 1)[0]}:{line.group(1)}"
        self.http_address = f"127.0.0.1:{line.group(2)}"

    def text(self):
        with open(self.log.name, encoding="utf-8", errors="replace") as file:
            return file.read()

    def resident_bytes(self):
        try:
            with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * resource.getpagesize()
        except (OSError, IndexError):
            return 0

    def get(self, path, timeout_s=2.0):
        """Status and time in milliseconds of a GET at the HTTP port; status 0 where there is no answer."""
        begin = time.monotonic()
        try:
            with urllib.request.urlopen(f"http://{self.http_address}{path}", timeout=timeout_s) as answer:
                answer.read()
                status = answer.status
        except urllib.error.HTTPError as error:
            status = error.code
        except OSError:
            status = 0
        return status, (time.monotonic() - begin) * 1e3

    def stop(self):
        """SIGTERM; the exit code and the seconds until the end. The code is None where it had to be killed."""
        begin = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        return code, round(time.monotonic() - begin, 2)

    def account(self):
        """Frames received, ok and failed of the last line of the log; None where there is none."""
        line = re.search(r"event=stopped .*frames_received=(\d+) frames_ok=(\d+) frames_failed=(\d+)", self.text())
        return tuple(int(number) for number in line.groups()) if line else None


class Certificate:
    """A certificate of localhost that signs itself, in files."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="orbserve-attack-")
        self.certificate = os.path.join(self.folder.name, "certificate.pem")
        self.key = os.path.join(self.folder.name, "key.pem")
        try:
            subprocess.run(
                ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                 "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
                 "-keyout", self.key, "-out", self.certificate],
                check=True, capture_output=True)
        except OSError as error:
            print(f"no certificate: {error}")
            sys.exit(77)
        os.environ["ORBSERVE_ATTACK_CERTIFICATE"] = self.certificate


def run_attacker(function, address, seconds, scale, queue):
    os.nice(10)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        queue.put(function(address, time.monotonic() + seconds, scale))
    except Exception as error:  # the report shows it
        queue.put({"error": f"{type(error).__name__}: {error}"})


class Attacker:
    def __init__(self, attack, server, seconds, scale):
        self.queue = multiprocessing.Queue()
        address = server.http_address if attack.on_http else server.address
        self.process = multiprocessing.Process(
            target=run_attacker, args=(attack.function, address, seconds, scale, self.queue), daemon=True)
        self.process.start()

    def result(self, wait_s):
        try:
            result = self.queue.get(timeout=wait_s)
        except Exception:
            result = {"error": "the attacker did not end"}
        self.process.join(1)
        self.stop()
        return result

    def stop(self):
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def honest(attack, address, seconds):
    return subprocess.Popen(
        [sys.executable, HONEST, address, str(seconds), "honest", attack.honest], stdout=subprocess.PIPE, text=True)


def answer_of(process, wait_s):
    try:
        out, _ = process.communicate(timeout=wait_s)
        return json.loads(out)
    except (subprocess.TimeoutExpired, ValueError):
        process.kill()
        return {"calls": 0, "failures": {"the honest client does not end": 1}, "p99_ms": -1, "worst_ms": -1}


class Watch:
    """Samples resident memory and the probes until `until`."""

    def __init__(self, server):
        self.server = server
        self.most_bytes = 0
        self.worst_probe_ms = 0.0
        self.failed_probes = 0

    def run(self, process, limit_s):
        end = time.monotonic() + limit_s
        next_probe = 0.0
        while process.poll() is None and time.monotonic() < end:
            self.most_bytes = max(self.most_bytes, self.server.resident_bytes())
            if time.monotonic() >= next_probe:
                for path in ("/healthz", "/readyz", "/metrics"):
                    status, time_ms = self.server.get(path)
                    self.worst_probe_ms = max(self.worst_probe_ms, time_ms)
                    self.failed_probes += status != 200
                next_probe = time.monotonic() + 0.5
            time.sleep(0.05)


def run(attack, options):
    scale = 10 if options.long else 1
    seconds = options.seconds or (attack.long_seconds if options.long else attack.seconds)
    arguments = ["--backend", "cpu", *attack.server_arguments]
    tokens = tempfile.NamedTemporaryFile("w", prefix="orbserve-attack-", suffix=".tokens")
    os.environ.pop("ORBSERVE_TOKEN", None)
    if attack.with_tokens:
        for name, token in shares.TOKENS.items():
            print(name, "sha256:" + hashlib.sha256(token.encode()).hexdigest(), file=tokens, flush=True)
        arguments += ["--token-file", tokens.name]
        os.environ["ORBSERVE_TOKEN"] = shares.TOKENS["honest"]
    tls = Certificate() if attack.tls else None
    server = Server(options.server, arguments, attack.nofile, attack.address_space_mib, tls)
    report = {"attack": attack.name, "scale": scale, "seconds": seconds}
    problems = []
    try:
        report["alone"] = answer_of(honest(attack, server.address, WARM_S if options.relaxed else ALONE_S), 30)
        before = server.resident_bytes()
        attacker = Attacker(attack, server, seconds, scale)
        time.sleep(0.3)
        client = honest(attack, server.address, seconds - 0.5)
        watch = Watch(server)
        watch.run(client, seconds + 30)
        report["honest"] = answer_of(client, 10)
        report["attacker"] = attacker.result(15)
        time.sleep(0.2)
        fresh = subprocess.run(
            [sys.executable, HONEST, server.address, "fresh"], stdout=subprocess.PIPE, text=True, check=False)
        report["fresh_ms"] = json.loads(fresh.stdout)["fresh_ms"]
        settled = None
        if attack.settles:
            time.sleep(SETTLE_S)
            settled = server.resident_bytes()
            report["memory_settled_mib"] = settled // MIB
        # SIGTERM while the attack goes on.
        attacker = Attacker(attack, server, STOP_LIMIT_S, scale)
        client = honest(attack, server.address, 2)
        time.sleep(0.5 if options.relaxed else 1.0)
        watch.most_bytes = max(watch.most_bytes, server.resident_bytes())
        code, stop_s = server.stop()
        attacker.stop()
        client.kill()
        client.wait()
        account = server.account()
        report.update(
            memory_before_mib=before // MIB, memory_most_mib=watch.most_bytes // MIB,
            worst_probe_ms=round(watch.worst_probe_ms, 1), failed_probes=watch.failed_probes,
            exit_code=code, stop_s=stop_s, account=account)

        def want(true, text):
            if not true:
                problems.append(text)

        refused = sum(report["honest"]["failures"].values())
        want(refused <= (attack.lost_newcomers if options.relaxed else 0) and report["honest"]["calls"] > 0,
             "the honest client was refused")
        want(report["fresh_ms"] >= 0, "a fresh connection was not served")
        allowed_mib = attack.memory_mib
        if options.long and attack.fills_receive_buffers:
            allowed_mib += RECEIVE_BUFFERS_MIB
        want(watch.most_bytes - before <= allowed_mib * MIB, "too much memory")
        want(settled is None or settled <= before * 1.1 + SETTLED_MIB * MIB, "memory did not come back")
        want(watch.failed_probes == 0, "a probe was not answered")
        want(code == 0, "SIGTERM did not end the server with 0")
        want(account is not None and account[0] == account[1] + account[2], "the account is not whole")
        if not options.relaxed:
            want(report["honest"]["p99_ms"] <= attack.p99_ms, f"p99 over {attack.p99_ms} ms")
            want(report["honest"]["worst_ms"] <= attack.worst_ms, f"worst over {attack.worst_ms} ms")
            want(report["honest"].get("fresh_p99_ms", 0) <= attack.p99_ms, f"p99 of new connections over {attack.p99_ms} ms")
            want(report["fresh_ms"] <= attack.fresh_ms, f"fresh connection over {attack.fresh_ms} ms")
            want(stop_s <= attack.stop_s, f"stop over {attack.stop_s} s")
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()
    report["problems"] = problems
    print(json.dumps(report), flush=True)
    if problems and options.show_log:
        print(server.text()[-4000:], file=sys.stderr)
    return not problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--relaxed", action="store_true")
    parser.add_argument("--show-log", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("attacks", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(attacks.ATTACKS))
        return 0
    unknown = [name for name in options.attacks if name not in attacks.ATTACKS]
    if unknown or options.server is None:
        parser.error(f"--server and names of --list are wanted; unknown: {unknown}")
    good = [run(attacks.ATTACKS[name], options) for name in options.attacks or attacks.ATTACKS]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
