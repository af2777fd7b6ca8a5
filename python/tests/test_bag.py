# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The program `orbserve.bag` with a real server. Its bags are read by other packages."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbserve
from orbserve.bag import Bag

from .conftest import Server, find_program, flight
from .ros_bags import COMPRESSED_IMAGE, IMAGE, compressed, need, raw, typestore, write_bag

SECOND = 1_000_000_000
FRAMES = flight(12)
STAMPS = [50 * SECOND + i * 33_000_001 for i in range(len(FRAMES))]
TOPIC = "/front/image_raw"

pytestmark = pytest.mark.usefixtures("packages")


@pytest.fixture
def packages() -> None:
    need("rosbags", "cv2")


def convert(*arguments: str | Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "orbserve.bag", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done


def camera_bag(path: Path, storage: str = "mcap") -> Path:
    store = typestore("ROS1_NOETIC" if storage == "ros1" else "ROS2_HUMBLE")
    more: dict[str, Any] = {"seq": 3} if storage == "ros1" else {}
    images = [raw(store, t, "optical", f, padding=5, **more) for t, f in zip(STAMPS, FRAMES, strict=True)]
    return write_bag(path, ((TOPIC, image) for image in images), storage, store)


def read(path: Path) -> dict[str, list[tuple[int, Any]]]:
    """Messages by topic, by the definitions in the bag."""
    from rosbags.highlevel import AnyReader

    found: dict[str, list[tuple[int, Any]]] = {}
    with AnyReader([path]) as reader:
        for connection, time_ns, data in reader.messages():
            found.setdefault(connection.topic, []).append((time_ns, reader.deserialize(data, connection.msgtype)))
    return found


def check(found: dict[str, list[tuple[int, Any]]], server: Server) -> None:
    with orbserve.Client(server.address) as client, client.stream(track=True) as stream:
        expected = list(stream.run(FRAMES))
    for name in ("tracks", "track_points", "features", "keypoints", "markers"):
        assert [time_ns for time_ns, _ in found[f"{TOPIC}/{name}"]] == STAMPS
    for i, result in enumerate(expected):
        tracks = found[f"{TOPIC}/tracks"][i][1]
        assert tracks.header.stamp.sec * SECOND + tracks.header.stamp.nanosec == STAMPS[i]
        assert tracks.header.frame_id == "optical"
        assert np.array_equal(tracks.id, result.tracks.id)
        assert np.array_equal(np.stack([tracks.x, tracks.y], axis=1), result.tracks.xy)
        assert (tracks.width, tracks.height) == (320, 240)
        features = found[f"{TOPIC}/features"][i][1]
        assert result.features is not None
        assert np.array_equal(np.stack([features.x, features.y], axis=1), result.features.xy)
        assert features.descriptors.tobytes() == result.features.descriptors.tobytes()
        assert found[f"{TOPIC}/keypoints"][i][1].width == len(result.features)
        assert found[f"{TOPIC}/track_points"][i][1].width == len(result.tracks)
        marks = found[f"{TOPIC}/markers"][i][1].points
        assert [[mark.x, mark.y] for mark in marks] == result.tracks.xy.tolist()


@pytest.mark.parametrize("storage", ["ros1", "mcap", "sqlite3"])
def test_results_of_a_bag(server: Server, tmp_path: Path, storage: str) -> None:
    bag = camera_bag(tmp_path / ("in.bag" if storage == "ros1" else "in"), storage)
    more = ("--storage", "sqlite3") if storage == "sqlite3" else ()
    done = convert(bag, tmp_path / "out", "--server", server.address, *more)
    assert done.stdout == f"{TOPIC}: 12 images, 12 answered, 0 failed, 0 refused\n"
    assert [path.suffix for path in sorted((tmp_path / "out").iterdir())] in ([".yaml", ".mcap"], [".yaml", ".db3"])
    found = read(tmp_path / "out")
    check(found, server)
    assert [time_ns for time_ns, _ in found[TOPIC]] == STAMPS
    image = found[TOPIC][3][1]
    assert (image.encoding, image.step, image.header.frame_id) == ("mono8", 325, "optical")
    assert np.array_equal(image.data.reshape(240, 325)[:, :320], FRAMES[3])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([bag.name, "out"])


def test_a_single_mcap_file_is_read_by_the_package_mcap(server: Server, tmp_path: Path) -> None:
    need("mcap_ros2")
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    bag = camera_bag(tmp_path / "in")
    out = tmp_path / "out.mcap"
    convert(bag / "in.mcap", out, "--server", server.address)
    with open(out, "rb") as file:
        found: dict[str, list[Any]] = {}
        for _, channel, _, message in make_reader(file, decoder_factories=[DecoderFactory()]).iter_decoded_messages():
            found.setdefault(channel.topic, []).append(message)
    theirs = read(out)
    assert set(found) == set(theirs)
    assert len(found) == 6
    for one, (_, other) in zip(found[f"{TOPIC}/tracks"], theirs[f"{TOPIC}/tracks"], strict=True):
        for name in ("id", "x", "y", "age", "residual", "ended_id"):
            assert np.array_equal(getattr(one, name), getattr(other, name))
    for one, (_, other) in zip(found[f"{TOPIC}/markers"], theirs[f"{TOPIC}/markers"], strict=True):
        assert [(mark.x, mark.y) for mark in one.points] == [(mark.x, mark.y) for mark in other.points]
    for one, (_, other) in zip(found[f"{TOPIC}/keypoints"], theirs[f"{TOPIC}/keypoints"], strict=True):
        assert bytes(one.data) == other.data.tobytes()


@pytest.mark.parametrize("suffix", [".jpg", ".png"])
def test_features_alone_of_compressed_images(
    server: Server, client: orbserve.Client, tmp_path: Path, suffix: str
) -> None:
    import cv2

    store = typestore()
    files = [cv2.imencode(suffix, frame)[1].tobytes() for frame in FRAMES]
    images = [compressed(store, stamp, "f", data) for stamp, data in zip(STAMPS, files, strict=True)]
    bag = write_bag(tmp_path / "in", (("/a/compressed", image) for image in images))
    convert(bag, tmp_path / "out", "--server", server.address, "--no-track", "--no-images", "--max-features", "50")
    found = read(tmp_path / "out")
    assert set(found) == {"/a/features", "/a/keypoints", "/a/markers"}
    for data, (_, message) in zip(files, found["/a/features"], strict=True):
        features = client.extract(data, orbserve.Orb(max_features=50))
        assert np.array_equal(np.stack([message.x, message.y], axis=1), features.xy)


def test_the_size_of_a_jpeg_file_is_that_of_its_frame(server: Server, tmp_path: Path) -> None:
    import cv2

    store = typestore()
    images = [compressed(store, STAMPS[0], "f", cv2.imencode(".jpg", FRAMES[0])[1].tobytes())]
    bag = write_bag(tmp_path / "in", (("/a", image) for image in images))
    convert(bag, tmp_path / "out", "--server", server.address, "--publish", "tracks", "--publish", "track_points")
    found = read(tmp_path / "out")
    assert set(found) == {"/a", "/a/tracks", "/a/track_points"}
    assert (found["/a/tracks"][0][1].width, found["/a/tracks"][0][1].height) == (320, 240)


def test_images_that_are_refused_do_not_stop_the_others(server: Server, tmp_path: Path) -> None:
    store = typestore()
    messages = []
    for i, (stamp, frame) in enumerate(zip(STAMPS, FRAMES, strict=True)):
        messages.append((TOPIC, raw(store, stamp, "f", frame, "mono8" if i % 3 else "32FC1")))
        messages.append(("/zip", compressed(store, stamp, "f", bytes(9), "zip")))
    bag = write_bag(tmp_path / "in", messages)
    done = convert(bag, tmp_path / "out", "--server", server.address, code=1)
    assert f"{TOPIC}: 12 images, 8 answered, 0 failed, 4 refused\n" in done.stdout
    assert "/zip: 12 images, 0 answered, 0 failed, 12 refused\n" in done.stdout
    assert "'32FC1' is not supported" in done.stderr
    assert "must be a JPEG or PNG file" in done.stderr
    assert len(read(tmp_path / "out")[f"{TOPIC}/tracks"]) == 8


def test_a_broken_message_does_not_stop_the_others(server: Server, tmp_path: Path) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer

    store = typestore()
    with Writer(tmp_path / "in", version=9, storage_plugin=StoragePlugin.MCAP) as writer:
        connection = writer.add_connection(TOPIC, IMAGE, typestore=store)
        for i, (stamp, frame) in enumerate(zip(STAMPS, FRAMES, strict=True)):
            data = bytes(store.serialize_cdr(raw(store, stamp, "f", frame), IMAGE))
            writer.write(connection, stamp, data[: i * 100] if i < 4 else data)
    done = convert(tmp_path / "in", tmp_path / "out", "--server", server.address, code=1)
    assert done.stdout == f"{TOPIC}: 12 images, 8 answered, 0 failed, 4 refused\n"
    assert "the message is broken: a message has at least 4 bytes; got 0" in done.stderr


def test_a_local_server_is_started(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORBSERVE_SERVER", find_program("ORBSERVE_SERVER", "orbserve-server"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    convert(camera_bag(tmp_path / "in"), tmp_path / "out.mcap")
    assert len(read(tmp_path / "out.mcap")[f"{TOPIC}/tracks"]) == 12


def test_nothing_is_left_of_a_conversion_that_is_ended(tmp_path: Path, server: Server) -> None:
    store = typestore()
    frames = flight(4, (640, 480))
    images = [raw(store, SECOND + i, "f", frames[i % 4]) for i in range(400)]
    bag = write_bag(tmp_path / "in", ((TOPIC, image) for image in images))
    command = [sys.executable, "-m", "orbserve.bag", str(bag), str(tmp_path / "out"), "--server", server.address]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not list(tmp_path.glob(".orbserve-*")) and time.monotonic() < end:
        time.sleep(0.01)
    process.terminate()
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert "interrupted; nothing was written" in errors
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_wrong_usage(server: Server, tmp_path: Path) -> None:
    bag = camera_bag(tmp_path / "in")
    to = ("--server", server.address)
    out = tmp_path / "out"
    assert "exists already" in convert(bag, bag, *to, code=2).stderr
    assert "give a folder for another storage" in convert(bag, "a.mcap", "--storage", "sqlite3", *to, code=2).stderr
    assert "preset must be one of" in convert(bag, out, "--preset", "orbb", *to, code=2).stderr
    wrong = convert(bag, out, "--topic", "/rear", *to, code=1).stderr
    assert f"has no topic /rear; images are in {TOPIC}" in wrong
    assert "nothing" in convert(tmp_path / "nothing", out, *to, code=1).stderr
    text = tmp_path / "text.mcap"
    text.write_text("This is no bag.")
    assert "text.mcap is not a bag" in convert(text, out, *to, code=1).stderr
    convert(bag, out, "--server", "unix:/nowhere/s", code=1)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "text.mcap"]


def test_bags_are_read_in_programs(client: orbserve.Client, tmp_path: Path) -> None:
    with Bag(camera_bag(tmp_path / "in"), [TOPIC]) as bag:
        assert bag.topics == {TOPIC: IMAGE}
        images = list(bag.images())
    assert [image.time_ns for image in images] == STAMPS
    features = client.extract(images[5].frame())
    assert features.timestamp_ns == STAMPS[5]
    assert np.array_equal(features.xy, client.extract(FRAMES[5]).xy)
    assert COMPRESSED_IMAGE not in bag.topics.values()
    assert os.fspath(tmp_path)
