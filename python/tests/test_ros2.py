# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The node `orbserve.ros2` with a real server, and a second DDS participant that plays a bag."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbserve

from .conftest import Pixels, Server, flight
from .ros_bags import compressed, need, raw, typestore, write_bag

PLAYER = Path(__file__).with_name("ros2_player.py")
# Tests of other checkouts that run on this machine are in other domains.
DOMAIN = 2 + os.getpid() % 98
SECOND = 1_000_000_000

pytestmark = pytest.mark.usefixtures("packages")


@pytest.fixture
def packages() -> None:
    need("cyclonedds", "yaml", "rosbags", "cv2")


class Node:
    """The node as a process of its own."""

    def __init__(self, *arguments: str, domain: int = DOMAIN) -> None:
        environment = {**os.environ, "ROS_DOMAIN_ID": str(domain), "ROS_LOCALHOST_ONLY": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "orbserve.ros2", "--report", "0", *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Waits for lines."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.count(pattern) >= times, 30):
                raise TimeoutError(f"no line has {pattern!r}: {self.lines}")

    def count(self, pattern: str) -> int:
        return sum(re.search(pattern, line) is not None for line in self.lines)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Sends a signal and waits for the end. Returns the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(number)
        try:
            code = self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            raise
        self._reader.join()
        return code

    def counts(self, topic: str) -> dict[str, int]:
        """The counts of its last line."""
        line = next(line for line in reversed(self.lines) if f"{topic}: " in line and "in all" in line)
        return {name: int(count) for count, name in re.findall(r"(\d+) ([a-z]+)", line.partition(f"{topic}: ")[2])}


@pytest.fixture
def nodes() -> Iterator[Any]:
    """Starts nodes, and ends those that a test leaves."""
    started: list[Node] = []

    def start(*arguments: str) -> Node:
        started.append(Node(*arguments))
        return started[-1]

    yield start
    for node in started:
        node.end(signal.SIGKILL)


def play(bag: Path, *arguments: str, domain: int = DOMAIN) -> dict[str, list[Any]]:
    """Plays a bag. Returns the results by topic."""
    environment = {**os.environ, "ROS_LOCALHOST_ONLY": "1", "CYCLONEDDS_URI": LOOPBACK}
    done = subprocess.run(
        [sys.executable, str(PLAYER), str(bag), str(domain), *arguments],
        capture_output=True,
        text=True,
        timeout=90,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    return results_of(done.stdout)


def results_of(output: str) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in output.splitlines():
        content = json.loads(line)
        if "message" in content:
            found.setdefault(content["topic"], []).append(content["message"])
    return found


LOOPBACK = (
    "<CycloneDDS><Domain><General><Interfaces><NetworkInterface address='127.0.0.1'/></Interfaces></General>"
    "<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address='127.0.0.1'/></Peers></Discovery>"
    "</Domain></CycloneDDS>"
)


def stamp_of(message: Any) -> int:
    stamp = message["header"]["stamp"]
    return int(stamp["sec"]) * SECOND + int(stamp["nanosec"])


def columns(message: Any, *names: str) -> np.ndarray[Any, Any]:
    return np.array([message[name] for name in names], np.float32)


FRAMES = flight(40)


def stamps(count: int = len(FRAMES), offset: int = 0) -> list[int]:
    return [100 * SECOND + i * 50_000_000 + offset for i in range(count)]


def camera_bag(path: Path, topic: str = "/front/image_raw", frames: list[Pixels] = FRAMES) -> Path:
    store = typestore()
    times = stamps(len(frames))
    images = [raw(store, t, "front_optical", f, padding=3) for t, f in zip(times, frames, strict=True)]
    return write_bag(path, ((topic, image) for image in images))


def test_tracks_and_features_are_those_of_a_stream(server: Server, tmp_path: Path, nodes: Any) -> None:
    node = nodes("--image", "/front/image_raw", "--server", server.address)
    node.wait_for("connected to the server")
    topic = "/front/image_raw"
    wanted = ["--tracks", f"{topic}/tracks", "--features", f"{topic}/features", "--clouds", f"{topic}/keypoints"]
    wanted += ["--markers", f"{topic}/markers"]
    found = play(camera_bag(tmp_path / "bag"), *wanted, "--reliable", "--rate", "15")
    assert node.end() == 0
    counts = node.counts(topic)
    assert counts["images"] == counts["answered"] + counts["dropped"] >= 35
    assert counts["answered"] >= 30

    tracks = {stamp_of(message): message for message in found[f"{topic}/tracks"]}
    features = {stamp_of(message): message for message in found[f"{topic}/features"]}
    clouds = {stamp_of(message): message for message in found[f"{topic}/keypoints"]}
    markers = {stamp_of(message): message for message in found[f"{topic}/markers"]}
    assert list(tracks) == list(features) == list(clouds) == list(markers) == sorted(tracks)
    assert len(tracks) == counts["answered"]
    # The stream of the node had the frames that were answered.
    answered = [frame for stamp, frame in zip(stamps(), FRAMES, strict=True) if stamp in tracks]
    with orbserve.Client(server.address) as client, client.stream(track=True) as stream:
        for stamp, result in zip(tracks, stream.run(answered), strict=True):
            message = tracks[stamp]
            assert message["header"]["frame_id"] == "front_optical"
            assert (message["group"], message["width"], message["height"]) == (0, 320, 240)
            assert message["id"] == result.tracks.id.tolist()
            assert message["age"] == result.tracks.age_frames.tolist()
            assert np.array_equal(columns(message, "x", "y").T, result.tracks.xy)
            assert np.array_equal(columns(message, "residual")[0], result.tracks.residual)
            assert dict(zip(message["ended_id"], message["ended_reason"], strict=True)) == result.ended_tracks
            marks = markers[stamp]["points"]
            assert [[mark["x"], mark["y"]] for mark in marks] == result.tracks.xy.tolist()
            assert result.features is not None
            message = features[stamp]
            assert np.array_equal(columns(message, "x", "y").T, result.features.xy)
            assert message["octave"] == result.features.octave.tolist()
            assert message["descriptor_type"] == result.features.descriptor_type.name
            descriptors = result.features.descriptors
            assert message["descriptor_bytes"] == descriptors.shape[1]
            assert bytes(message["descriptors"]) == descriptors.tobytes()
            assert clouds[stamp]["width"] == len(result.features)
            points = np.array(clouds[stamp]["data"], np.uint8).view("<f4").reshape(-1, 9)
            assert np.array_equal(points[:, 3:5], result.features.xy)


def test_jpeg_files_of_a_compressed_topic(server: Server, tmp_path: Path, nodes: Any) -> None:
    import cv2

    topic = "/front/image_raw/compressed"
    node = nodes("--compressed", topic, "--server", server.address, "--no-track", "--max-features", "200")
    node.wait_for("connected to the server")
    store = typestore()
    files = [cv2.imencode(".jpg", frame)[1].tobytes() for frame in FRAMES[:10]]
    images = [compressed(store, stamp, "f", data) for stamp, data in zip(stamps(10), files, strict=True)]
    found = play(
        write_bag(tmp_path / "bag", ((topic, image) for image in images)),
        *("--features", "/front/image_raw/features", "--reliable", "--rate", "10"),
    )
    assert node.end(signal.SIGINT) == 0
    messages = found["/front/image_raw/features"]
    assert len(messages) >= 8
    with orbserve.Client(server.address) as client:
        for message in messages:
            data = files[stamps().index(stamp_of(message))]
            features = client.extract(data, orbserve.Orb(max_features=200))
            assert np.array_equal(columns(message, "x", "y").T, features.xy)
            assert bytes(message["descriptors"]) == features.descriptors.tobytes()
            assert (message["width"], message["height"]) == (320, 240)


@pytest.mark.slow
def test_images_of_six_megabytes_arrive(server: Server, tmp_path: Path, nodes: Any) -> None:
    limit = int(Path("/proc/sys/net/core/rmem_max").read_text())
    if limit < 4_000_000:
        pytest.skip(f"net.core.rmem_max is {limit}: large images are NOT tested")
    topic = "/front/image_raw"
    node = nodes("--image", topic, "--server", server.address)
    node.wait_for("connected to the server")
    store = typestore()
    frames = flight(2, (1920, 1080))
    images = [
        raw(store, stamp, "f", np.repeat(frames[i % 2][:, :, None], 3, 2), "rgb8") for i, stamp in enumerate(stamps(8))
    ]
    bag = write_bag(tmp_path / "bag", ((topic, image) for image in images))
    found = play(bag, "--tracks", f"{topic}/tracks", "--reliable", "--rate", "4")
    assert node.end() == 0
    assert node.counts(topic)["images"] >= 7
    assert len(found[f"{topic}/tracks"]) >= 6


@pytest.mark.slow
def test_a_publisher_without_images_is_named(server: Server, nodes: Any) -> None:
    code = (
        "import ros2_player as p, argparse, sys, time; "
        "none = argparse.Namespace(domain=int(sys.argv[1]), reliable=False, "
        "tracks=[], features=[], clouds=[], markers=[]); "
        "player = p.Player(none); writer = player.writer('/quiet', 'Image'); time.sleep(60)"
    )
    environment = {**os.environ, "CYCLONEDDS_URI": LOOPBACK}
    player = subprocess.Popen([sys.executable, "-c", code, str(DOMAIN)], env=environment, cwd=PLAYER.parent)
    node = nodes("--image", "/quiet", "--server", server.address)
    try:
        node.wait_for(
            "/quiet: a publisher is matched, but no image has come; large ones need a larger net.core.rmem_max"
        )
    finally:
        player.kill()
        player.wait()
    assert node.end() == 0


def test_images_of_two_cameras_are_grouped(server: Server, tmp_path: Path, nodes: Any) -> None:
    topics = ["/left/image_raw", "/right/image_raw"]
    cameras = [argument for topic in topics for argument in ("--image", topic)]
    node = nodes(*cameras, "--server", server.address, "--slop", "0.005", "--silent-after", "10")
    node.wait_for("connected to the server")
    time.sleep(0.3)  # both streams are open
    store = typestore()
    messages = []
    for i, stamp in enumerate(stamps(20)):
        messages.append((topics[0], raw(store, stamp, "left", FRAMES[i])))
        if i % 5 != 2:  # the right camera loses some
            messages.append((topics[1], raw(store, stamp + 3_000_000, "right", FRAMES[i])))
    found = play(
        write_bag(tmp_path / "bag", messages),
        *("--tracks", f"{topics[0]}/tracks", "--tracks", f"{topics[1]}/tracks", "--reliable", "--rate", "30"),
    )
    assert node.end() == 0
    left, right = (found[f"{topic}/tracks"] for topic in topics)
    assert node.counts(topics[0])["ungrouped"] >= 4
    groups = {message["group"]: message for message in left}
    assert min(groups) >= 1
    both = [(groups[message["group"]], message) for message in right if message["group"] in groups]
    assert len(both) >= 10
    for one, other in both:
        assert stamp_of(other) - stamp_of(one) == 3_000_000
        assert (one["header"]["frame_id"], other["header"]["frame_id"]) == ("left", "right")


@pytest.mark.slow
def test_groups_go_on_without_a_silent_camera(server: Server, tmp_path: Path, nodes: Any) -> None:
    topic = "/front/image_raw"
    cameras = ("--image", topic, "--image", "/dead")
    node = nodes(*cameras, "--server", server.address, "--slop", "0.005", "--silent-after", "0.2")
    node.wait_for("connected to the server")
    found = play(camera_bag(tmp_path / "bag"), "--tracks", f"{topic}/tracks", "--reliable", "--rate", "20")
    assert node.end() == 0
    assert len(found[f"{topic}/tracks"]) >= 25
    assert node.count("groups are made without /dead") == 1


def test_a_server_that_stops_is_found_again(own_server: Server, tmp_path: Path, nodes: Any) -> None:
    topic = "/front/image_raw"
    node = nodes("--image", topic, "--server", own_server.address)
    node.wait_for("connected to the server")
    stopping = threading.Event()

    def stop_once() -> None:
        time.sleep(2.0)
        own_server.end(signal.SIGKILL)
        stopping.set()
        time.sleep(1.5)
        own_server.start()

    helper = threading.Thread(target=stop_once)
    bag = camera_bag(tmp_path / "bag", frames=flight(160))
    helper.start()
    found = play(bag, "--tracks", f"{topic}/tracks", "--reliable", "--rate", "20")
    helper.join()
    assert node.end() == 0
    assert node.count("is not reached, trying again") == 1
    assert node.count("connected to the server") == 2
    messages = found[f"{topic}/tracks"]
    gap = max(range(1, len(messages)), key=lambda i: stamp_of(messages[i]) - stamp_of(messages[i - 1]))
    before, after = messages[:gap], messages[gap:]
    assert len(before) >= 5
    assert len(after) >= 5
    assert min(after[0]["id"]) > max(number for message in before for number in message["id"])
    assert set(before[-1]["id"]) <= set(after[0]["ended_id"])
    assert set(after[0]["ended_reason"]) == {8}  # RECONNECTED


def test_a_server_that_starts_later_is_waited_for(own_server: Server, tmp_path: Path, nodes: Any) -> None:
    own_server.end()
    node = nodes("--image", "/front/image_raw", "--server", own_server.address)
    node.wait_for("is not reached, trying again")
    time.sleep(1.0)
    own_server.start()
    node.wait_for("connected to the server")
    assert node.count("is not reached, trying again") == 1
    assert node.end() == 0


@pytest.mark.slow
def test_a_stream_that_the_server_ends_as_idle_is_opened_again(tmp_path: Path, nodes: Any) -> None:
    config = tmp_path / "c.textproto"
    config.write_text("limits { stream_idle_timeout_ms: 500 }\n")
    server = Server(Path(os.path.relpath(tmp_path)), ("--config", str(config)), listen="unix-abstract:orbserve-idle")
    try:
        server.wait()
        topic = "/front/image_raw"
        node = nodes("--image", topic, "--server", server.address)
        node.wait_for("connected to the server")
        bag = camera_bag(tmp_path / "bag", frames=FRAMES[:10])
        last = 0
        for _ in range(2):
            time.sleep(1.5)
            found = play(bag, "--tracks", f"{topic}/tracks", "--reliable", "--rate", "20")
            ids = [number for message in found[f"{topic}/tracks"] for number in message["id"]]
            assert min(ids) > last
            last = max(ids)
        assert node.end() == 0
        assert node.count("ERROR") == 0
    finally:
        server.end()


@pytest.mark.slow
def test_a_quality_of_service_that_does_not_fit_is_named(server: Server, tmp_path: Path, nodes: Any) -> None:
    node = nodes("--image", "/front/image_raw", "--server", server.address, "--reliable")
    bag = camera_bag(tmp_path / "bag")
    environment = {**os.environ, "CYCLONEDDS_URI": LOOPBACK}
    player = subprocess.Popen([sys.executable, str(PLAYER), str(bag), str(DOMAIN)], env=environment)
    try:
        node.wait_for("/front/image_raw: the reliability of a publisher is less than this .* leave out --reliable")
        node.wait_for("no publisher of sensor_msgs/msg/Image is matched")
    finally:
        player.kill()
        player.wait()
    assert node.end() == 0


@pytest.mark.slow
def test_topics_with_images_are_named_where_none_comes(server: Server, tmp_path: Path, nodes: Any) -> None:
    node = nodes("--image", "/other", "--compressed", "/front/image_raw", "--server", server.address)
    bag = camera_bag(tmp_path / "bag")
    environment = {**os.environ, "CYCLONEDDS_URI": LOOPBACK}
    player = subprocess.Popen([sys.executable, str(PLAYER), str(bag), str(DOMAIN)], env=environment)
    try:
        node.wait_for(r"/other: no publisher of sensor_msgs/msg/Image is matched$")
        node.wait_for(
            r"/front/image_raw: no publisher .*; it is published with the type sensor_msgs::msg::dds_::Image_"
        )
        node.wait_for("images are published on /front/image_raw$")
    finally:
        player.kill()
        player.wait()
    assert node.end() == 0


def test_images_that_are_refused_do_not_stop_the_others(server: Server, tmp_path: Path, nodes: Any) -> None:
    topic = "/front/image_raw"
    node = nodes("--image", topic, "--server", server.address)
    node.wait_for("connected to the server")
    store = typestore()
    images = []
    for i, stamp in enumerate(stamps()):
        image = raw(store, stamp, "f", FRAMES[i], "mono8" if i % 2 == 0 else "bayer_rggb16")
        if i % 8 == 1:
            image.encoding, image.step = "mono8", 7
        images.append((topic, image))
    found = play(write_bag(tmp_path / "bag", images), "--tracks", f"{topic}/tracks", "--reliable", "--rate", "20")
    assert node.end() == 0
    assert node.counts(topic)["refused"] >= 15
    assert len(found[f"{topic}/tracks"]) >= 15
    # 40 images came in two seconds.
    assert 1 <= node.count("an image is refused: ") <= 4
    assert node.count("an image is refused: (encoding 'bayer_rggb16' is not|step must be 320 or more)") >= 1


@pytest.mark.slow
def test_a_participant_of_another_domain_is_not_heard(server: Server, tmp_path: Path, nodes: Any) -> None:
    node = nodes("--image", "/front/image_raw", "--server", server.address, "--domain", str(DOMAIN + 1))
    bag = camera_bag(tmp_path / "bag")
    environment = {**os.environ, "CYCLONEDDS_URI": LOOPBACK}
    player = subprocess.Popen([sys.executable, str(PLAYER), str(bag), str(DOMAIN)], env=environment)
    try:
        node.wait_for("images are published on no topic of this domain")
    finally:
        player.kill()
        player.wait()
    assert node.end() == 0


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orbserve.ros2", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_wrong_usage() -> None:
    for arguments in ((), ("--image", "a-b"), ("--image", "a", "--ros-args", "-p"), ("--image", "a", "--slop", "-1")):
        done = run(*arguments)
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        assert "error: " in done.stderr.splitlines()[-1]


def test_a_wrong_pipeline_ends_the_node(server: Server, tmp_path: Path) -> None:
    pipeline = tmp_path / "p.textproto"
    pipeline.write_text("detect { fast_threshold: 9999 }\n")
    done = run("--image", "/a", "--server", server.address, "--pipeline", str(pipeline), "--domain", str(DOMAIN))
    assert done.returncode in (1, 2)
    assert "9999" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_package_of_messages_is_printed() -> None:
    folder = Path(run("--messages").stdout.strip())
    assert {path.name for path in folder.iterdir()} >= {"package.xml", "CMakeLists.txt", "msg"}
    listed = re.findall(r"msg/\w+\.msg", (folder / "CMakeLists.txt").read_text())
    assert sorted(listed) == sorted(f"msg/{path.name}" for path in (folder / "msg").iterdir())
