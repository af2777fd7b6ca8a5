# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The live page of a real server under load.

Usage: page_test.py --server PROGRAM --client PROGRAM [--only answers|browser] [--screenshots FOLDER]

answers  what the page reads: /streams.json, /frame.json, the headers; no browser is needed.
browser  the page and /clients in a headless Chromium, as wide as a desktop and as a phone: no error on the console, nothing loaded
         from elsewhere, numbers equal to /metrics, what was before the page was opened, the last frame, the keyboard's focus,
         overload, a server that goes and comes back, and what the page costs.

Exit codes: 0 passed, 1 failed, 77 Chromium or Selenium is not installed (script/packages page).
"""

import argparse
import base64
import json
import os
import re
import shutil
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from servers import SKIPPED, Load, Server, wait_until  # noqa: E402

SHOW = "telemetry { show_frames: true }"
COST_S = 20
MAX_COST = 0.01  # of a processor
SIZES = {"desktop": (1280, 900, 1), "phone": (390, 844, 2)}


def check(condition, text):
    if not condition:
        raise AssertionError(text)


def load_of(options, folder, server):
    load = Load(options.client, folder)
    load.stream(server, "camera-front", "--pipeline", "vio", "--track", "--fps", "10")
    load.stream(server, "camera-left", "--pipeline", "orb", "--fps", "5", "--size", "1280x960")
    load.stream(server, "drone", "--pipeline", "bfrost", "--fps", "5", "--drop-policy", "newest", "--deadline-ms", "20")
    return load


def streams_of(server):
    return json.loads(server.get("/streams.json"))


def picture_after(server, path, sequence):
    picture = json.loads(server.get(path))
    return picture if picture["width_px"] > 0 and picture["sequence"] > sequence else None


def status_of(server, path):
    try:
        with urllib.request.urlopen(f"http://{server.http_address}{path}", timeout=10) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def check_answers(options, folder):
    server = Server(options.server, folder, "answers", SHOW)
    load = load_of(options, folder, server)
    try:
        rows = wait_until(lambda: [row for row in streams_of(server)["streams"] if row["ok"] > 3] if streams_of(server)["open"] == 3 else None, 60,
                          "three streams have answers")
        left = wait_until(lambda: next((row for row in streams_of(server)["streams"] if row["client"].endswith("camera-left") and row["ok"] > 3), None), 60, "camera-left")
        check((left["width_px"], left["height_px"], left["pipeline"]) == (1280, 960, "orb"), f"{left}")
        check(left["latency_seconds"] > 0 and left["features"] > 0, f"{left}")
        check(left["received"] >= left["ok"] + left["failed"] + left["dropped"], f"{left}")
        check(all(a["received"] >= b["received"] for a, b in zip(rows, rows[1:])), "the busiest stream is first")

        path = f"/frame.json?stream={int(left['id'])}"
        picture = wait_until(lambda: picture_after(server, path, -1), 20, "a picture")
        check((picture["frame_width_px"], picture["frame_height_px"]) == (1280, 960), "size of the frame")
        check((picture["width_px"], picture["height_px"]) == (640, 480), "size of the picture")
        pixels = base64.b64decode(picture["pixels"])
        check(len(pixels) == 640 * 480 and len(set(pixels)) > 30, "pixels of a photograph")
        check(picture["features"] > 0 and len(picture["x"]) == len(picture["y"]) == len(picture["size"]) == len(picture["angle_deg"]), "columns")
        check(all(0 <= x < 1280 for x in picture["x"]) and all(0 <= y < 960 for y in picture["y"]), "features lie in the frame")
        later = wait_until(lambda: picture_after(server, path, picture["sequence"]), 20, "a newer picture")
        check(later["pixels"] != picture["pixels"], "the camera moves")

        check(status_of(server, "/frame.json")[0] == 400, "a picture of no stream")
        check(status_of(server, "/frame.json?stream=999999")[0] == 404, "a picture of an unknown stream")
        for file in ("/", "/live.css", "/live.js", "/page.js", "/clients.js", "/clients"):
            status, headers, body = status_of(server, file)
            check(status == 200 and "default-src 'none'" in headers["Content-Security-Policy"], f"{file}: {headers}")
            check(not re.search(rb"""(src|href)\s*=\s*["'](https?:)?//""", body), f"{file} loads from elsewhere")
        check(status_of(server, path)[1]["Cross-Origin-Resource-Policy"] == "same-origin", "pictures are not for other sites")
        load.stop()
        wait_until(lambda: streams_of(server)["open"] == 0, 20, "streams are closed")
        check(status_of(server, path)[0] == 404, "a picture of a stream that ended")
        server.stop()
        private = Server(options.server, folder, "private")
        check(status_of(private, "/frame.json?stream=1")[0] == 404 and not streams_of(private)["pictures"], "pictures are off by default")
        private.stop()
    finally:
        load.stop()
        server.stop()
    print("ok: answers", flush=True)


class Browser:
    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service

        options = Options()
        options.binary_location = shutil.which("chromium")
        for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
            options.add_argument(argument)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)

    def resize(self, width, height, scale):
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": scale, "mobile": width < 600})

    def scheme(self, name):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": name}]})

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector)

    def errors(self):
        return [entry for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


def screenshot(browser, options, name, size):
    """The whole page, from top to bottom."""
    if options.screenshots is None:
        return
    width, height, scale = size
    browser.resize(width, browser.run("return document.documentElement.scrollHeight"), scale)
    time.sleep(1.5)
    browser.driver.save_screenshot(os.path.join(options.screenshots, f"{name}.png"))
    browser.resize(width, height, scale)


def check_layout(browser, options, name, size):
    browser.resize(*size)
    time.sleep(2.5)
    width = browser.run("return document.documentElement.scrollWidth")
    check(width <= size[0], f"{name}: the page is {width} pixels wide, the screen {size[0]}")
    unnamed = browser.run("return [...document.querySelectorAll('svg[role=img]:not([hidden])')].filter((each) => !each.getAttribute('aria-label')).length")
    check(unnamed == 0, f"{name}: {unnamed} plots without a text for screen readers")
    low = browser.run(CONTRAST)
    check(not low, f"{name}: text with too little contrast: {low}")
    screenshot(browser, options, name, size)


# Texts whose contrast is below 4.5 (WCAG 2.1, 1.4.3), with their contrast.
CONTRAST = """
const light = (text) => {
  const [r, g, b] = text.match(/[\\d.]+/g).map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const colour = getComputedStyle(element).backgroundColor;
    if (!colour.endsWith(', 0)')) return colour;
  }
  return 'rgb(255, 255, 255)';
};
return [...document.querySelectorAll('body *')].filter((each) => each.checkVisibility() && [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
  .map((each) => {
    const style = getComputedStyle(each);
    const [a, b] = [light(each.closest('svg') ? style.fill : style.color), light(behind(each))].sort((x, y) => y - x);
    return [each.textContent.trim().slice(0, 30), (a + 0.05) / (b + 0.05)];
  }).filter(([, contrast]) => contrast < 4.5);
"""


def expected_quantile(q, older, newer):
    """Of the histogram `a`, in another way than the page does it: by walking the counts of single buckets."""
    counts = [(bound, newer[bound] - older.get(bound, 0)) for bound in sorted(newer)]
    rank = q * counts[-1][1]
    lower, below = 0.0, 0
    for bound, count in counts:
        if count >= rank:
            return lower if bound == float("inf") else lower + (bound - lower) * (rank - below) / (count - below)
        lower, below = bound, count
    return lower


def check_arithmetic(browser):
    def page(buckets):
        return "".join(f'a_bucket{{le="{"+Inf" if bound == float("inf") else bound}"}} {count}\n' for bound, count in buckets.items())

    older = {0.1: 5, 0.2: 5, 0.4: 9, float("inf"): 10}
    newer = {0.1: 5, 0.2: 45, 0.4: 99, float("inf"): 120}
    for q in (0.1, 0.5, 0.8, 0.99):
        got = browser.run("const read = (text) => ({ families: parseMetrics(text) }); return quantile(arguments[0], read(arguments[1]), read(arguments[2]), 'a')",
                          q, page(older), page(newer))
        check(abs(got - expected_quantile(q, older, newer)) < 1e-9, f"quantile {q}: {got}")
    for bounds, expected in (({100.0: 0, float("inf"): 3}, "≥ 100 s"), ({0.0001: 3, float("inf"): 3}, "< 100 µs"), ({4.0: 0, 5.0: 4, float("inf"): 4}, "4.5 s")):
        got = browser.run("const read = (text) => ({ families: parseMetrics(text) }); return inWords(asDuration(quantile(0.5, read(''), read(arguments[0]), 'a')))",
                          page(bounds))
        check(got == expected, f"quantile in {bounds}: {got}")
    labels = browser.run("return parseMetrics(arguments[0]).get('b')[0]", 'b{x="a\\"b\\\\c\\nd",y="{1}"} 2.5e-3\n')
    check(labels == {"labels": {"x": 'a"b\\c\nd', "y": "{1}"}, "value": 0.0025}, f"{labels}")


def numbers(browser, rows, column):
    """The first word of each name in a table, and the number in this column."""
    return browser.run("""return Object.fromEntries([...document.querySelectorAll(arguments[0])].map((row) =>
      [row.dataset.key, row.children[arguments[1]].textContent]))""", rows, column)


def is_live(browser):
    """The page shows numbers of this moment. A busy machine may let frames wait."""
    return browser.run("return ['live', 'overloaded'].includes(document.getElementById('status').dataset.state)")


def check_numbers(browser, server):
    """At rest the page says what /metrics says."""
    page = server.get("/metrics")

    def same():
        totals = {key: int(text.replace(",", "")) for key, text in numbers(browser, "#totals tbody tr", 1).items()}
        expected = {outcome: int(float(value)) for outcome, value in re.findall(r'^orbserve_frames_total\{outcome="(\w+)"\} (\S+)$', page, re.MULTILINE)
                    if float(value) > 0 or outcome == "ok"}
        expected["received"] = int(server.metric("orbserve_frames_received_total"))
        return totals == expected and totals["ok"] > 0

    wait_until(same, 20, "the totals are those of /metrics")
    limits = numbers(browser, "#limits tbody tr", 2)
    for name in ("queue_frames", "match_queue_requests", "track_queue_requests", "streams", "connections", "decode_busy_threads"):
        check(int(limits[name].replace(",", "")) == server.metric(f"orbserve_limit_{name}"), f"limit of {name}: {limits[name]}")
    used = numbers(browser, "#limits tbody tr", 1)
    check(int(used["streams"]) == server.metric("orbserve_streams"), "streams")
    value = browser.text('[data-value="queue-frames"]')
    check(int(value) == server.metric("orbserve_queue_frames"), f"queue: {value}")


def check_rates(browser, server):
    """Under load the page's rate is that of the counters, measured beside it."""
    series = "orbserve_frames_received_total"
    first, begin = server.metric(series), time.monotonic()
    shown = []
    while time.monotonic() - begin < 10:
        shown.append(float(browser.text('[data-value="rate-received"]').replace(",", "") or 0))
        time.sleep(1)
    measured = (server.metric(series) - first) / (time.monotonic() - begin)
    mean = sum(shown) / len(shown)
    check(abs(mean - measured) < 0.2 * measured, f"the page shows {mean} frames/s, the counter moves by {measured}")
    print(f"ok: {mean:.1f} frames/s on the page, {measured:.1f} by the counter", flush=True)


def check_history(browser, server):
    """A page that is opened later shows what was before."""
    time.sleep(12)
    browser.driver.get(f"http://{server.http_address}/")
    wait_until(lambda: is_live(browser), 30, "the page is live")
    ages = browser.run("const now = performance.now() / 1000; return cards.find((card) => card.plot === 'rate').points.filter((point) => point.received > 0).map((point) => now - point.time)")
    opened = browser.run("return performance.now() / 1000")
    check(len(ages) > 5 and ages[0] > opened + 8, f"points of {ages} s ago on a page that was opened {opened} s ago")
    check(ages == sorted(ages, reverse=True), f"points are in order: {ages}")
    stages = browser.run("return [...stagePoints].filter(([stage]) => stage.startsWith('compute ')).map(([, points]) => points.filter((point) => point.mean > 0).length)")
    check(stages and max(stages) > 5, f"points of stages: {stages}")


def check_focus(browser):
    """What has the keyboard's focus keeps it while numbers change."""
    browser.run("document.querySelector('#streams button').focus(); window.focused = document.activeElement")
    before = browser.text("#streams tbody")
    wait_until(lambda: browser.text("#streams tbody") != before, 20, "numbers change")
    time.sleep(3)
    check(browser.run("return document.activeElement === window.focused && document.activeElement.dataset.stream !== undefined"), "the focus stays on a stream")


def check_cards(browser):
    empty = browser.run("return [...document.querySelectorAll('.card')].filter((card) => card.checkVisibility() && !card.querySelector('.values b')).map((card) => card.dataset.plot)")
    check(not empty, f"cards without numbers take room: {empty}")
    folded = browser.run("return [...document.querySelectorAll('.card[hidden] h2')].every((title) => document.getElementById('folded').textContent.includes(title.textContent))")
    check(folded, "the fold names the cards that are not shown")


def check_clients(browser, options, server):
    """/clients and the live page lead to each other, and its rows change in place."""
    browser.resize(*SIZES["desktop"])
    browser.run("document.querySelector('a[href=\"/clients\"]').click()")
    rows = "return [...document.querySelectorAll('#clients tbody tr')].map((row) => row.dataset.key)"
    wait_until(lambda: len(browser.run(rows)) >= 3, 20, "three clients")
    browser.run("window.first = document.querySelector('#clients tbody tr'); document.querySelector('nav a').focus()")
    before = browser.text("#clients tbody")
    wait_until(lambda: browser.text("#clients tbody") != before, 20, "numbers change")
    check(browser.run("return document.body.contains(window.first)"), "rows stay")
    check(browser.run("return document.activeElement === document.querySelector('nav a')"), "the focus stays on a link")
    for name, size in SIZES.items():
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            check_layout(browser, options, f"clients-{name}-{scheme}", size)
    hidden = browser.run("""const row = document.querySelector('#clients tbody tr');
      return [...row.cells].filter((cell) => cell.getBoundingClientRect().right > innerWidth).map((cell) => cell.dataset.label)""")
    check(not hidden, f"beyond the edge of a phone: {hidden}")
    browser.resize(*SIZES["desktop"])
    browser.run("document.querySelector('a[href=\"/\"]').click()")
    wait_until(lambda: browser.run("return typeof cards !== 'undefined'") and is_live(browser), 30, "the live page is back")


def check_overload(browser, options, server, load):
    """More than the server can do is told at the top, and is over when it is over."""
    for robot in range(4):
        load.stream(server, f"eager-{robot}", "--pipeline", "orb", "--size", "1600x1200", "--levels", "16", "--scale", "1.05", "--max-features", "20000")
    pattern = r"Overloaded: frames wait [\d.]+ m?s, (most of it )?for (computing|decoding|matching)"
    wait_until(lambda: re.fullmatch(pattern, browser.text("#status")), 60, "overload is told")
    print(f"ok: {browser.text('#status')}", flush=True)
    for name, size in SIZES.items():
        for scheme in ("light", "dark"):
            browser.scheme(scheme)
            check_layout(browser, options, f"overloaded-{name}-{scheme}", size)
            for device, busy in numbers(browser, "#devices tbody tr", 1).items():
                check(float(re.match(r"[\d.]*", busy)[0] or 0) <= 100, f"{device} is busy for {busy} of the time")
    browser.resize(*SIZES["desktop"])
    load.stop()
    wait_until(lambda: browser.text("#status") == "Live", 60, "the overload is over")


def share_of_processor(server):
    begin = server.cpu_seconds()
    time.sleep(COST_S)
    return (server.cpu_seconds() - begin) / COST_S


def check_cost(browser, server):
    with_page = share_of_processor(server)
    browser.driver.get("about:blank")
    time.sleep(2)
    without = share_of_processor(server)
    browser.driver.get(f"http://{server.http_address}/")
    wait_until(lambda: is_live(browser), 30, "the page is live")
    print(f"cost: {100 * with_page:.2f} % of a processor with one page, {100 * without:.2f} % without", flush=True)
    check(with_page - without < MAX_COST, "the page costs more than 1 % of a processor")


def check_browser(options, folder):
    server = Server(options.server, folder, "page", SHOW)
    load = load_of(options, folder, server)
    browser = Browser()
    try:
        browser.resize(*SIZES["desktop"])
        browser.driver.get(f"http://{server.http_address}/")
        wait_until(lambda: is_live(browser), 30, "the page is live")
        wait_until(lambda: browser.run("return document.querySelectorAll('#streams tbody tr').length") == 3, 30, "three streams")
        wait_until(lambda: browser.text('[data-value="latency-high"]') not in ("", "–"), 30, "latency")
        check_arithmetic(browser)
        check_rates(browser, server)
        check_history(browser, server)
        wait_until(lambda: browser.run("return document.querySelector('#streams button')"), 20, "a stream")
        check_focus(browser)
        check_cards(browser)
        browser.run("document.querySelector('#streams button').click()")
        wait_until(lambda: re.match(r"Frame \d+ of", browser.text("#picture-note")), 20, "a picture")
        marks = browser.run("""const canvas = document.getElementById('picture-canvas');
          const bytes = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
          let coloured = 0;
          for (let i = 0; i < bytes.length; i += 4) coloured += Math.abs(bytes[i] - bytes[i + 2]) > 60;
          return coloured;""")
        check(marks > 100, f"{marks} pixels of features")
        for name, size in SIZES.items():
            for scheme in ("light", "dark"):
                browser.scheme(scheme)
                check_layout(browser, options, f"{name}-{scheme}", size)
        browser.run("document.getElementById('picture-close').click()")
        check(browser.run("return document.getElementById('picture').hidden"), "the picture is closed")
        elsewhere = browser.run("return performance.getEntriesByType('resource').map((each) => each.name).filter((each) => !each.startsWith(location.origin) && !each.startsWith('data:'))")
        check(not elsewhere, f"loaded from elsewhere: {elsewhere}")

        check_clients(browser, options, server)
        check_overload(browser, options, server, load)
        wait_until(lambda: streams_of(server)["open"] == 0, 20, "streams are closed")
        check_numbers(browser, server)
        check(not browser.errors(), "the console is empty")

        check_cost(browser, server)
        server.stop()
        wait_until(lambda: browser.text("#status").startswith("No connection since"), 20, "the page says that the server is gone")
        screenshot(browser, options, "lost", SIZES["desktop"])
        server.start()
        wait_until(lambda: is_live(browser) and "started anew at" in browser.text("#server"), 30, "the page goes on")
        browser.errors()  # the browser itself logs each connection that was refused
        time.sleep(3)
        check(not browser.errors(), "the console is empty after the restart")
    finally:
        browser.driver.quit()
        load.stop()
        server.stop()
    print("ok: browser", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--only", choices=["answers", "browser"])
    parser.add_argument("--screenshots")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="orbserve-page-") as folder:
        if options.only in (None, "answers"):
            check_answers(options, folder)
        if options.only in (None, "browser"):
            try:
                import selenium  # noqa: F401
            except ImportError:
                print("SKIPPED: Selenium is not installed; script/packages page installs it", flush=True)
                return SKIPPED
            for program in ("chromium", "chromedriver"):
                if shutil.which(program) is None:
                    print(f"SKIPPED: {program} is not installed; script/packages page installs it", flush=True)
                    return SKIPPED
            check_browser(options, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
