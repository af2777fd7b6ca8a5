# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Runs a real Prometheus with the rules of deploy/ over real servers.

Usage: prometheus_test.py --source ROOT --server PROGRAM --faults PROGRAM --client PROGRAM [--only rules|panels|alerts]

rules   promtool accepts configuration, rules and the page of metrics; its unit tests of the alerts pass.
panels  under load every recording rule and every query of every panel of the dashboard has data. The list is printed.
alerts  for each alert a fault is staged at a server; the alert fires, the fault ends, and the alert goes. Ranges and waiting
        times of the rules are shortened in a copy, from minutes to seconds; nothing else is changed.

This machine may have no power sensor. Then the series of power come from a page of the test, which looks as that of a server
with one, and the lists say so.

Exit codes: 0 passed, 1 failed, 77 Prometheus is not installed (Debian package prometheus).
"""

import argparse
import http.server
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "attacks")]
import http2  # noqa: E402
from servers import SKIPPED, Load, Server, wait_until  # noqa: E402

FIRE_LIMIT_S = 90
CLEAR_LIMIT_S = 120
DATA_LIMIT_S = 90
NEVER = "1000000000"  # frames after which a fault comes

# Alerts that no fault stages here, with the reason. promtool's tests have them all.
NOT_STAGED = {
    "OrbserveSelfCheckFails": "a listener that takes connections and answers none is a fault of the server",
    "OrbserveLogLinesLost": "8,192 lines have to wait for a reader first, which takes minutes",
    "OrbserveInternalErrors": "an answer INTERNAL is a fault of the server",
}


class PowerPage:
    """A page as that of a server whose device has a power sensor."""

    def __init__(self):
        self.readable = True
        self.throttled = False
        self.begin = time.monotonic()
        page = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):  # noqa: N802
                text = page.text().encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http_address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def text(self):
        seconds = time.monotonic() - self.begin
        frames = int(seconds * 30)
        rail = 'rail="cuda:0",source="nvml",scope="total"'
        lines = [f'orbserve_frames_total{{outcome="ok"}} {frames}', f'orbserve_device_throttled{{device="cuda:0",reason="power_cap"}} {int(self.throttled)}',
                 'orbserve_device_clock_hertz{device="cuda:0",clock="gpu"} 1.755e9', 'orbserve_device_temperature_celsius{device="cuda:0",sensor="gpu"} 52',
                 f'orbserve_frame_energy_joules_bucket{{device="cuda:0",le="+Inf"}} {frames}',
                 f'orbserve_frame_energy_joules_sum{{device="cuda:0"}} {frames * 0.5}', f'orbserve_frame_energy_joules_count{{device="cuda:0"}} {frames}']
        if self.readable:
            lines += [f"orbserve_power_watts{{{rail}}} 21.5", f"orbserve_energy_joules_total{{{rail}}} {seconds * 21.5}"]
        return "\n".join(lines) + "\n"


class Prometheus:
    """A Prometheus on a free port of the loopback, with the rules of the repository in a copy."""

    def __init__(self, source, folder, shorten):
        self.folder = folder
        rules = os.path.join(source, "deploy", "prometheus")
        for name in ("rules.yml", "alerts.yml"):
            with open(os.path.join(rules, name), encoding="utf-8") as file:
                text = file.read()
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(shorten_times(text) if shorten else text)
        with open(os.path.join(rules, "prometheus.yml"), encoding="utf-8") as file:
            config = file.read()
        # Its own configuration: faster, and with the servers of this test only.
        config = re.sub(r"(scrape|evaluation)_interval: \S+", r"\1_interval: 1s", config)
        config = re.sub(r"    static_configs:\n      - targets: .*\n", "", config, count=1)
        config = config.replace('files: ["targets/*.yml"]', f'files: ["{folder}/targets.json"]\n        refresh_interval: 1s')
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            file.write(config)
        self.targets = {}
        self.write_targets()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.log = open(os.path.join(folder, "prometheus.log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=self.log, stderr=self.log)
        wait_until(self.is_ready, 60, "Prometheus is ready")

    def is_ready(self):
        try:
            return urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5).status == 200
        except OSError:
            return False

    def watch(self, name, http_address):
        self.targets[name] = http_address
        self.write_targets()

    def forget_all(self):
        self.targets.clear()
        self.write_targets()

    def write_targets(self):
        entries = [{"targets": [address], "labels": {"instance": name}} for name, address in self.targets.items()]
        path = os.path.join(self.folder, "targets.json")
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(entries, file)
        os.replace(path + ".new", path)

    def get(self, path, **query):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}?{urllib.parse.urlencode(query)}", timeout=20) as answer:
            reply = json.load(answer)
        assert reply["status"] == "success", reply
        return reply["data"]

    def query(self, expression):
        return self.get("/api/v1/query", query=expression)["result"]

    def rules(self):
        return [rule for group in self.get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def firing(self):
        """(alert, instance) -> annotations."""
        return {(alert["labels"]["alertname"], alert["labels"].get("instance", "")): alert["annotations"]
                for alert in self.get("/api/v1/alerts")["alerts"] if alert["state"] == "firing"}

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def shorten_times(text):
    """Ranges of more than 10 s become 10 to 40 s, in their order, and waiting times 1 to 3 s."""
    def range_of(match):
        seconds = int(match.group(1)) * SECONDS[match.group(2)]
        short = next(short for limit, short in ((300, 10), (1800, 15), (3600, 20), (21600, 30), (86400, 40)) if seconds <= limit)
        return f"[{short}s]"

    def wait_of(match):
        seconds = int(match.group(1)) * SECONDS[match.group(2)]
        return f"for: {1 if seconds < 60 else 2 if seconds < 300 else 3}s"

    return re.sub(r"for: (\d+)([smhd])", wait_of, re.sub(r"\[(\d+)([smhd])\]", range_of, text))


class Test:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.load = Load(options.client, folder)
        self.failures = []
        self.servers = []

    def server(self, name, config="", program=None, **more):
        server = Server(program or self.options.server, self.folder, name, config, **more)
        self.servers.append(server)
        return server

    def fail(self, text):
        print(f"FAILED: {text}", flush=True)
        self.failures.append(text)

    def stop(self):
        self.load.stop()
        for server in self.servers:
            server.stop()

    # ---- rules

    def check_rules(self):
        folder = os.path.join(self.options.source, "deploy", "prometheus")
        server = self.server("page")
        with open(os.path.join(self.folder, "page.txt"), "w", encoding="utf-8") as file:
            file.write(server.get("/metrics"))
        for command in (["check", "config", f"{folder}/prometheus.yml"], ["check", "rules", f"{folder}/rules.yml", f"{folder}/alerts.yml"],
                        ["test", "rules", f"{folder}/tests/alerts_test.yml"], ["check", "metrics"]):
            with open(os.path.join(self.folder, "page.txt"), encoding="utf-8") as page:
                done = subprocess.run(["promtool", *command], stdin=page, capture_output=True, text=True, check=False)
            complaint = command == ["check", "metrics"] and done.stdout + done.stderr != ""
            if done.returncode != 0 or complaint:
                self.fail(f"promtool {' '.join(command)}: {done.stdout}{done.stderr}")
            else:
                print(f"ok: promtool {' '.join(command[:2])}", flush=True)
        with open(f"{folder}/alerts.yml", encoding="utf-8") as file:
            alerts = re.findall(r"- alert: (\w+)", file.read())
        with open(f"{folder}/tests/alerts_test.yml", encoding="utf-8") as file:
            tested = set(re.findall(r'alertname="(\w+)"', file.read()))
        with open(os.path.join(self.options.source, "docs", "monitoring.md"), encoding="utf-8") as file:
            explained = set(re.findall(r"^### (\w+)$", file.read(), re.MULTILINE))
        for alert in alerts:
            if alert not in tested:
                self.fail(f"{alert} has no test in tests/alerts_test.yml")
            if alert not in explained:
                self.fail(f"{alert} has no section in docs/monitoring.md")
        server.stop()

    # ---- panels

    def check_panels(self):
        certificate = make_certificate(self.folder, "panels", 30)
        secure = self.server("tls", f'tls {{ cert_file: "{certificate[0]}" key_file: "{certificate[1]}" }}')
        # Only a server with TLS has a certificate. The load goes to another one.
        plain = self.server("plain")
        self.load.stream(plain, "front", "--pipeline", "vio", "--track", "--fps", "8")
        self.load.stream(plain, "left", "--pipeline", "orb", "--fps", "5", "--match-keyframe")
        prometheus = Prometheus(self.options.source, self.folder, shorten=False)
        try:
            prometheus.watch("tls", secure.http_address)
            prometheus.watch("plain", plain.http_address)
            page = PowerPage()
            has_sensor = "orbserve_power_watts" in plain.get("/metrics")
            if not has_sensor:
                prometheus.watch("power", page.http_address)
            self.check_recording_rules(prometheus, plain)
            self.check_dashboard(prometheus, plain, has_sensor)
        finally:
            prometheus.stop()
            self.stop()

    def check_recording_rules(self, prometheus, server):
        names = [rule["name"] for rule in prometheus.rules() if rule["type"] == "recording"]
        assert names

        def missing():
            self.load.call(server)  # a rate needs two scrapes with a call between them
            return [name for name in names if not prometheus.query(name)]

        try:
            wait_until(lambda: not missing(), DATA_LIMIT_S, "every recording rule has data")
        except AssertionError:
            self.fail(f"recording rules without data: {missing()}")
        for rule in prometheus.rules():
            if rule["health"] != "ok":
                self.fail(f"{rule['name']}: {rule.get('lastError')}")
        print(f"ok: {len(names)} recording rules have data", flush=True)

    def check_dashboard(self, prometheus, server, has_sensor):
        with open(os.path.join(self.options.source, "deploy", "grafana", "dashboards", "orbserve.json"), encoding="utf-8") as file:
            dashboard = json.load(file)
        panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
        ids = [panel["id"] for panel in dashboard["panels"]]
        assert len(ids) == len(set(ids))
        taken = set()
        for panel in dashboard["panels"]:
            place = panel["gridPos"]
            cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
            if cells & taken or place["x"] + place["w"] > 24:
                self.fail(f"{panel['title']} lies over another panel")
            taken |= cells
        print("panel | query | series | from", flush=True)
        for panel in panels:
            if len(panel.get("description", "")) < 20:
                self.fail(f"{panel['title']} has no description")
            for target in panel["targets"]:
                expression = target["expr"].replace("$__rate_interval", "15s").replace("$job", ".*").replace("$instance", ".*")
                series = self.series_under_calls(prometheus, server, expression)
                if not series:
                    self.fail(f"{panel['title']}: no data for {expression} within {DATA_LIMIT_S} s")
                of_page = not has_sensor and all(each["metric"].get("instance", "power") == "power" for each in series) and re.search("power|energy|device_(clock|temp|thr)", expression)
                print(f"{panel['title']} | {target['refId']} | {len(series)} | {'page of the test' if of_page else 'real server'}", flush=True)
        for annotation in dashboard["annotations"]["list"]:
            prometheus.query(annotation["expr"].replace("$job", ".*").replace("$instance", ".*"))

    def series_under_calls(self, prometheus, server, expression):
        """Series of a query, while calls go on: a rate needs two scrapes with a call between them."""
        def look():
            self.load.call(server)
            return [each for each in prometheus.query(expression) if each["value"][1] != "NaN"]

        try:
            return wait_until(look, DATA_LIMIT_S, expression)
        except AssertionError:
            return []

    # ---- alerts

    def check_alerts(self):
        prometheus = Prometheus(self.options.source, self.folder, shorten=True)
        stages = Stages(self, prometheus)
        try:
            with open(os.path.join(self.options.source, "deploy", "prometheus", "alerts.yml"), encoding="utf-8") as file:
                alerts = set(re.findall(r"- alert: (\w+)", file.read()))
            print("alert | fired after | gone after | stage", flush=True)
            staged = set()
            for stage in stages.all():
                if self.options.stage not in (None, stage.__name__):
                    continue
                staged |= set(stage.__annotations__["alerts"])
                try:
                    stage()
                except (AssertionError, OSError, RuntimeError) as error:
                    self.fail(f"{stage.__name__}: {error}; firing: {sorted(prometheus.firing())}")
                self.stop()
                prometheus.forget_all()
            for alert in sorted(alerts - staged) if self.options.stage is None else []:
                if alert in NOT_STAGED:
                    print(f"{alert} | not staged: {NOT_STAGED[alert]}", flush=True)
                else:
                    self.fail(f"{alert} is neither staged nor excused")
        finally:
            prometheus.stop()


def make_certificate(folder, name, days):
    certificate, key = os.path.join(folder, f"{name}.pem"), os.path.join(folder, f"{name}.key")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key + ".new", "-out",
                    certificate + ".new", "-days", str(days), "-subj", "/CN=localhost"], check=True, capture_output=True)
    os.replace(key + ".new", key)
    os.replace(certificate + ".new", certificate)
    return certificate, key


def stream_without_window(address):
    """A connection with a stream and one frame. The client lets no byte of a stream come, so the answer stays with the server."""
    import honest  # wants grpcio
    import shares

    connection = http2.connect(address)
    no_window = http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", http2.INITIAL_WINDOW_SIZE, 0))
    connection.sendall(http2.PREFACE + no_window + http2.frame(http2.SETTINGS, http2.ACK, 0))
    connection.sendall(http2.frame(http2.HEADERS, http2.END_HEADERS, 1, http2.call_headers("/orbserve.v1.Features/StreamFrames")))
    for message in (honest.field(1, b""), honest.field(15, shares.frame_with_keypoints())):
        data = struct.pack(">BI", 0, len(message)) + message
        for at in range(0, len(data), http2.LARGEST_FRAME):
            connection.sendall(http2.frame(http2.DATA, 0, 1, data[at : at + http2.LARGEST_FRAME]))
    return connection


def staged(*alerts):
    """Marks a stage with the alerts that it makes fire."""
    def mark(function):
        function.__annotations__["alerts"] = alerts
        return function

    return mark


class Stages:
    """Faults. Each stage begins one at a server of its own, sees its alerts fire, ends it and sees them go."""

    def __init__(self, test, prometheus):
        self.test, self.prometheus, self.load = test, prometheus, test.load

    def all(self):
        return [getattr(self, name) for name in dir(self) if hasattr(getattr(self, name), "__annotations__") and "alerts" in getattr(self, name).__annotations__]

    def start(self, name, *arguments, **more):
        server = self.test.server(name, *arguments, **more)
        self.prometheus.watch(name, server.http_address)
        wait_until(lambda: any(float(each["value"][1]) == 1 for each in self.prometheus.query(f'up{{instance="{name}"}}')), 30, f"{name} is scraped")
        return server

    def fires_and_goes(self, name, alerts, end, repeat=None):
        """`end` ends the fault. `repeat` is called until the alerts fire, where a fault must go on."""
        firing = self.prometheus.firing
        wanted = {(alert, name) for alert in alerts}
        fired = {}
        begin = time.monotonic()

        def look():
            if repeat is not None:
                repeat()
            now = firing()
            for alert in wanted & set(now):
                fired.setdefault(alert, round(time.monotonic() - begin))
                for text in now[alert].values():
                    assert "<" not in text and text, f"{alert}: {text}"
            return set(fired) == wanted

        wait_until(look, FIRE_LIMIT_S, f"{sorted(wanted)} fire")
        end()
        gone = {}
        begin = time.monotonic()

        def look_again():
            for alert in wanted - set(firing()):
                gone.setdefault(alert, round(time.monotonic() - begin))
            return set(gone) == wanted

        wait_until(look_again, CLEAR_LIMIT_S, f"{sorted(wanted)} go")
        for alert in sorted(wanted):
            print(f"{alert[0]} | {fired[alert]} s | {gone[alert]} s | {name}", flush=True)

    @staged("OrbserveDown")
    def process_gone(self):
        server = self.start("gone")
        server.stop()
        self.fires_and_goes("gone", ["OrbserveDown"], server.start)

    @staged("OrbserveRestarted", "OrbserveRestarts")
    def process_restarts(self):
        server = self.start("restarts")

        def restart():
            server.stop()
            server.start()
            time.sleep(2.5)

        self.fires_and_goes("restarts", ["OrbserveRestarted", "OrbserveRestarts"], lambda: None, repeat=restart)

    @staged("OrbserveDeviceLost", "OrbserveDeviceStalled")
    def device_lost(self):
        server = self.start("lost", program=self.test.options.faults, arguments=["--fault", "silence", "--fault-after", "20", "--device-deadline-ms", "4000"])
        self.load.stream(server, "robot", "--pipeline", "orb", "--fps", "10", "--reconnect", "0")

        def restart_after_loss():
            # systemd does the same.
            if server.process.poll() is not None:
                assert server.process.returncode == 3, f"exit code {server.process.returncode}"
                server.command[server.command.index("20")] = NEVER
                server.start()

        self.fires_and_goes("lost", ["OrbserveDeviceLost", "OrbserveDeviceStalled"], lambda: None, repeat=restart_after_loss)

    @staged("OrbserveQueueSaturated")
    def queue_full(self):
        # One owner gets no more than a part of a longer queue.
        server = self.start("queue", "batching { max_queue_frames: 1 max_batch: 1 }")
        for robot in range(4):
            self.load.stream(server, f"robot-{robot}", "--pipeline", "orb", "--size", "1600x1200", "--levels", "16", "--scale", "1.05")
        self.fires_and_goes("queue", ["OrbserveQueueSaturated"], self.load.stop)

    @staged("OrbserveNoProgress")
    def device_silent(self):
        server = self.start("silent", program=self.test.options.faults,
                            arguments=["--fault", "silence", "--fault-after", "20", "--device-deadline-ms", "600000"])
        for robot in range(3):
            self.load.stream(server, f"robot-{robot}", "--pipeline", "orb", "--fps", "10", "--reconnect", "0")

        def end():
            self.load.stop()
            server.stop()
            server.command[server.command.index("20")] = NEVER
            server.start()

        self.fires_and_goes("silent", ["OrbserveNoProgress"], end)

    @staged("OrbserveDrains")
    def draining(self):
        server = self.start("drains", "drain { delay_ms: 60000 }")
        server.process.send_signal(signal.SIGTERM)

        def end():
            server.stop()
            server.start()

        self.fires_and_goes("drains", ["OrbserveDrains"], end)

    @staged("OrbserveLatencyBudgetBurnsFast", "OrbserveLatencyBudgetBurnsSlowly", "OrbserveFramesDropped", "OrbserveFramesRefused")
    def overload(self):
        server = self.start("overload")
        for robot in range(2):
            self.load.stream(server, f"robot-{robot}", "--pipeline", "orb", "--size", "1600x1200", "--levels", "16", "--scale", "1.05", "--max-features", "20000")
        # Its frames are large, too: small ones would overtake the others', and be in time.
        self.load.stream(server, "eager", "--pipeline", "orb", "--size", "1600x1200", "--levels", "16", "--scale", "1.05", "--max-features", "20000",
                         "--drop-policy", "newest", "--fps", "100")
        self.load.stream(server, "hasty", "--pipeline", "orb", "--deadline-ms", "1", "--fps", "10")
        self.fires_and_goes("overload", ["OrbserveLatencyBudgetBurnsFast", "OrbserveLatencyBudgetBurnsSlowly", "OrbserveFramesDropped", "OrbserveFramesRefused"],
                            self.load.stop)

    @staged("OrbserveConnectionsRefused")
    def too_many_connections(self):
        server = self.start("full", "limits { max_connections: 1 }")
        self.load.stream(server, "robot", "--pipeline", "orb", "--fps", "2")
        wait_until(lambda: server.metric("orbserve_streams") == 1, 30, "the stream is open")

        def connect():
            socket.create_connection(("127.0.0.1", server.port)).close()

        self.fires_and_goes("full", ["OrbserveConnectionsRefused"], lambda: None, repeat=connect)

    @staged("OrbserveClientsBreakRules")
    def broken_client(self):
        server = self.start("broken")

        def ping():
            # Preface, SETTINGS, and many more PINGs than a client may send.
            with socket.create_connection(("127.0.0.1", server.port)) as client:
                try:
                    client.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + (b"\0\0\x08\6\0\0\0\0\0" + b"12345678") * 500)
                    client.settimeout(2)
                    while client.recv(65536):
                        pass
                except OSError:
                    pass

        self.fires_and_goes("broken", ["OrbserveClientsBreakRules"], lambda: None, repeat=ping)

    @staged("OrbserveResponsesUnread")
    def unread_answers(self):
        server = self.start("unread", "limits { memory_bytes: 67108864 send_timeout_ms: 3600000 }")
        # Each stream has one frame in flight, whatever others hold.
        streams = [stream_without_window(f"127.0.0.1:{server.port}") for _ in range(8)]

        def end():
            for stream in streams:
                stream.close()

        self.fires_and_goes("unread", ["OrbserveResponsesUnread"], end)

    @staged("OrbserveMemoryNearBudget", "OrbserveMemoryPressure")
    def memory(self):
        # References of half of the memory, and the program, are more than nine tenths of it.
        import memory  # wants grpcio

        server = self.start("memory", "limits { memory_bytes: 67108864 max_reference_bytes: 33554432 }")

        def fill():
            if server.metric("process_resident_memory_bytes") < 0.92 * 67108864:
                memory.put_references(f"127.0.0.1:{server.port}", 100, time.monotonic() + 20, lambda i: "mapper", rows=20_000)

        def end():
            server.stop()
            server.start()

        self.fires_and_goes("memory", ["OrbserveMemoryNearBudget", "OrbserveMemoryPressure"], end, repeat=fill)

    @staged("OrbserveCertificateExpires", "OrbserveCertificateExpiresSoon")
    def certificate(self):
        certificate, key = make_certificate(self.test.folder, "expiring", 1)
        self.start("certificate", f'tls {{ cert_file: "{certificate}" key_file: "{key}" }}')
        self.fires_and_goes("certificate", ["OrbserveCertificateExpires", "OrbserveCertificateExpiresSoon"],
                            lambda: make_certificate(self.test.folder, "expiring", 60))

    @staged("OrbservePlansThrash")
    def many_plans(self):
        server = self.start("plans", "batching { max_plans: 1 }")
        for size in ("320x240", "352x240", "384x240"):
            self.load.stream(server, size, "--pipeline", "orb", "--fps", "3", "--size", size)
        self.fires_and_goes("plans", ["OrbservePlansThrash"], self.load.stop)

    @staged("OrbservePowerMissing", "OrbserveDeviceThrottled")
    def power(self):
        page = PowerPage()
        self.prometheus.watch("power", page.http_address)
        wait_until(lambda: self.prometheus.query("orbserve_power_watts"), 30, "the page is scraped")
        page.readable, page.throttled = False, True

        def end():
            page.readable, page.throttled = True, False

        self.fires_and_goes("power", ["OrbservePowerMissing", "OrbserveDeviceThrottled"], end)


def main():
    parser = argparse.ArgumentParser()
    for name in ("source", "server", "faults", "client"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", choices=["rules", "panels", "alerts"])
    parser.add_argument("--stage", help="of the alerts only this stage, by the name of its function")
    options = parser.parse_args()
    for program in ("prometheus", "promtool", "openssl"):
        if shutil.which(program) is None:
            print(f"SKIPPED: {program} is not installed; script/packages promtool installs Prometheus", flush=True)
            return SKIPPED
    failures = []
    for part in ("rules", "panels", "alerts"):
        if options.only not in (None, part):
            continue
        with tempfile.TemporaryDirectory(prefix="orbserve-monitoring-") as folder:
            test = Test(options, folder)
            try:
                getattr(test, f"check_{part}")()
            finally:
                test.stop()
            failures += test.failures
    print(f"{len(failures)} failures", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
