# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Messages, names, groups and parameters of ROS 2, without DDS and without a server."""

from __future__ import annotations

import argparse
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import orbserve
from orbserve import TrackEnd
from orbserve._ros import messages, names, settings
from orbserve._ros.cdr import CdrError, Reader, Writer
from orbserve._ros.grouping import Grouper
from orbserve._ros.pixels import frame_of
from orbserve._ros.tracks import TrackNumbers

from .conftest import make_image
from .ros_bags import compressed, need, raw, typestore

# -- CDR ---------------------------------------------------------------------------------------------------------------


def image_message(order: str = "<", representation: int = 1) -> bytes:
    """An Image with a frame_id of two letters, written by hand."""
    return bytes([0, representation, 0, 0]) + b"".join(
        (
            struct.pack(order + "iI", -3, 7),
            struct.pack(order + "I", 3) + b"ab\0" + b"\0",
            struct.pack(order + "II", 2, 3),
            struct.pack(order + "I", 6) + b"mono8\0",
            b"\1" + b"\0",  # is_bigendian, and padding
            struct.pack(order + "II", 3, 6),
            bytes(range(6)),
        )
    )


@pytest.mark.parametrize(("order", "representation"), [(">", 0), ("<", 1), (">", 6), ("<", 7)])
def test_an_image_is_read_in_both_byte_orders(order: str, representation: int) -> None:
    image = messages.read_image(messages.IMAGE, image_message(order, representation))
    assert isinstance(image, messages.Image)
    assert image.header == messages.Header(-3, 7, "ab")
    assert (image.height, image.width, image.encoding, image.is_bigendian, image.step) == (2, 3, "mono8", 1, 3)
    assert image.data.tolist() == list(range(6))


def test_a_message_that_ends_early_is_an_error_at_every_byte() -> None:
    whole = image_message()
    for size in range(len(whole)):
        with pytest.raises(CdrError):
            messages.read_image(messages.IMAGE, whole[:size])


@pytest.mark.parametrize("start", ["00080000", "000a0000", "00020000", "01010000"])
def test_another_representation_is_an_error(start: str) -> None:
    with pytest.raises(CdrError, match=start):
        Reader(bytes.fromhex(start) + bytes(60))


def test_an_empty_sequence_of_eight_bytes_has_no_padding() -> None:
    writer = Writer()
    writer.column([], "Q")
    writer.number("I", 5)
    assert writer.message() == bytes.fromhex("00010000" + "00000000" + "05000000")


# -- types -------------------------------------------------------------------------------------------------------------


def own_typestore(name: str = "ROS2_HUMBLE") -> Any:
    from rosbags.typesys import get_types_from_msg

    store = typestore(name)
    for kind in (messages.TRACKS, messages.FEATURES):
        store.register(get_types_from_msg(messages.definition(kind), kind))
    return store


@pytest.mark.parametrize("distribution", ["FOXY", "GALACTIC", "HUMBLE", "IRON", "JAZZY", "KILTED"])
def test_types_are_those_of_the_distribution(distribution: str) -> None:
    need("rosbags")
    store = own_typestore(f"ROS2_{distribution}")
    for kind, expected in messages.TYPE_HASHES.items():
        assert store.hash_rihs01(kind) == expected


def test_messages_of_rosbags_are_read() -> None:
    need("rosbags")
    store = typestore()
    image = make_image(31, 17)
    message = raw(store, 5_000_000_007, "camera", image, padding=6)
    for little in (True, False):
        data = store.serialize_cdr(message, messages.IMAGE, little_endian=little)
        read = messages.read_image(messages.IMAGE, data)
        assert read.header == messages.Header(5, 7, "camera")
        pixels = frame_of(read).image
        assert isinstance(pixels, np.ndarray)
        assert np.array_equal(pixels, image)
    assert messages.write_image(read) == bytes(store.serialize_cdr(message, messages.IMAGE))
    zipped = compressed(store, 5_000_000_007, "camera", b"\xff\xd8\xff\xe0 rest")
    data = bytes(store.serialize_cdr(zipped, messages.COMPRESSED_IMAGE))
    read = messages.read_image(messages.COMPRESSED_IMAGE, data)
    assert isinstance(read, messages.CompressedImage)
    assert (read.format, read.data.tobytes()) == ("jpeg", b"\xff\xd8\xff\xe0 rest")
    assert messages.write_image(read) == data
    assert messages.write_image(messages.image_of(zipped)) == data


def result_of(ids: list[int], ended: dict[int, TrackEnd | None] | None = None) -> orbserve.FrameResult:
    """A result with tracks."""
    count = len(ids)
    tracks = orbserve.Tracks(
        id=np.array(ids, np.int64),
        xy=np.arange(2 * count, dtype=np.float32).reshape(count, 2),
        age_frames=np.arange(count, dtype=np.int32),
        residual=np.full(count, 0.5, np.float32),
        gain=np.ones(count, np.float32),
        offset=np.zeros(count, np.float32),
    )
    unused: Any = None
    return orbserve.FrameResult(0, 0, None, None, (), tracks, ended or {}, False, unused, unused, 0.0, None)


@pytest.mark.parametrize("count", [0, 1, 5])
def test_results_are_read_by_rosbags(count: int) -> None:
    need("rosbags")
    store = own_typestore()
    header = messages.Header(12, 34, "front")
    result = result_of(list(range(2**40, 2**40 + count)), {7: TrackEnd.MASKED, 9: None})
    message = store.deserialize_cdr(messages.write_tracks(header, 3, (640, 480), result), messages.TRACKS)
    assert (message.header.stamp.sec, message.header.stamp.nanosec, message.header.frame_id) == (12, 34, "front")
    assert (message.group, message.width, message.height) == (3, 640, 480)
    assert np.array_equal(message.id, result.tracks.id)
    assert np.array_equal(np.stack([message.x, message.y], axis=1), result.tracks.xy)
    assert np.array_equal(message.age, result.tracks.age_frames)
    assert np.array_equal(message.residual, result.tracks.residual)
    assert message.ended_id.tolist() == [7, 9]
    assert message.ended_reason.tolist() == [message.MASKED, message.UNKNOWN]

    features = orbserve.Features(
        xy=np.arange(2 * count, dtype=np.float32).reshape(count, 2),
        angle=np.arange(count, dtype=np.float32),
        octave=np.arange(-1, count - 1, dtype=np.int32),
        descriptors=np.arange(32 * count, dtype=np.uint32).astype(np.uint8).reshape(count, 32),
        image_size=(640, 480),
    )
    message = store.deserialize_cdr(messages.write_features(header, 0, features), messages.FEATURES)
    assert np.array_equal(np.stack([message.x, message.y], axis=1), features.xy)
    for name in ("size", "angle", "response", "octave"):
        assert np.array_equal(getattr(message, name), getattr(features, name))
    assert (message.descriptor_type, message.descriptor_bytes) == ("RBRIEF_256", 32)
    assert np.array_equal(message.descriptors.reshape(count, 32), features.descriptors)

    cloud = store.deserialize_cdr(messages.write_keypoints(header, features, 320.0), messages.POINT_CLOUD)
    assert [field.name for field in cloud.fields] == ["x", "y", "z", "u", "v", "response", "size", "angle", "octave"]
    assert [field.offset for field in cloud.fields] == list(range(0, 36, 4))
    assert {(field.datatype, field.count) for field in cloud.fields} == {(7, 1)}
    assert (cloud.height, cloud.width, cloud.point_step, cloud.row_step) == (1, count, 36, 36 * count)
    points = cloud.data.view("<f4").reshape(count, 9)
    assert np.allclose(points[:, 0], (features.xy[:, 0] - 319.5) / 320)
    assert np.allclose(points[:, 1], (features.xy[:, 1] - 239.5) / 320)
    assert np.array_equal(points[:, 3:5], features.xy)
    assert np.all(points[:, 2] == 1)
    cloud = store.deserialize_cdr(messages.write_track_points(header, (640, 480), result, 0.0), messages.POINT_CLOUD)
    points = cloud.data.view("<f4").reshape(count, 8)
    assert np.array_equal(points[:, 5], result.tracks.id & 0xFFFFFF)
    assert np.allclose(points[:, 0], (result.tracks.xy[:, 0] - 319.5) / 640)

    data = messages.write_markers(header, features.xy, np.arange(count))
    marker = store.deserialize_cdr(data, messages.IMAGE_MARKER)
    assert (marker.type, marker.action, marker.scale, marker.outline_color.g) == (marker.POINTS, marker.ADD, 3.0, 1.0)
    assert [[point.x, point.y, point.z] for point in marker.points] == [[x, y, 0.0] for x, y in features.xy.tolist()]
    colours = {(colour.r, colour.g, colour.b) for colour in marker.outline_colors}
    assert len(colours) == len(marker.outline_colors) == count
    assert all(max(colour) == 1.0 and min(colour) == 0.0 for colour in colours)


def test_every_reason_of_an_ended_track_is_in_the_definition() -> None:
    text = messages.definition(messages.TRACKS)
    for reason in TrackEnd:
        assert f"uint8 {reason.name}={int(reason)}\n" in text


# -- pixels ------------------------------------------------------------------------------------------------------------


def image_of(encoding: str, channels: int, padding: int = 0, rows: int = 4) -> tuple[messages.Image, Any]:
    """An image of 6x4 pixels with its bytes, (rows, 6, channels)."""
    step = 6 * channels + padding
    data = np.arange(rows * step, dtype=np.uint8)
    pixels = data.reshape(rows, step)[:, : 6 * channels].reshape(rows, 6, channels)
    return messages.Image(messages.Header(1, 2, "c"), 4, 6, encoding, 0, step, data), pixels


@pytest.mark.parametrize("padding", [0, 5])
@pytest.mark.parametrize(
    ("encoding", "channels", "format"),
    [
        ("mono8", 1, "gray"),
        ("8UC1", 1, "gray"),
        ("rgb8", 3, "rgb"),
        ("bgr8", 3, "bgr"),
        ("8UC3", 3, "bgr"),
        ("bgra8", 4, "bgra"),
        ("8UC4", 4, "bgra"),
        ("rgba8", 4, "rgb"),
        ("yuv422_yuy2", 2, "yuyv"),
        ("uyvy", 2, "gray"),
    ],
)
def test_pixels_of_an_encoding(encoding: str, channels: int, format: str, padding: int) -> None:
    image, pixels = image_of(encoding, channels, padding)
    expected = {"rgba8": pixels[:, :, :3], "uyvy": pixels[:, :, -1]}.get(encoding, pixels)
    frame = frame_of(image, 5.0)
    assert isinstance(frame.image, np.ndarray)
    assert np.array_equal(frame.image, expected.squeeze())
    assert (frame.format, frame.timestamp_ns, frame.capture_time) == (format, 1_000_000_002, 5.0)


@pytest.mark.parametrize("big", [False, True])
def test_images_of_16_bits_have_a_window(big: bool) -> None:
    image, pixels = image_of("mono16", 2, 3)
    object.__setattr__(image, "is_bigendian", big)
    frame = frame_of(image, window=(100, 4000))
    expected = np.ascontiguousarray(pixels).view(">u2" if big else "<u2")[:, :, 0]
    assert isinstance(frame.image, np.ndarray)
    assert frame.image.dtype == np.uint16
    assert np.array_equal(frame.image, expected)
    assert frame.window == (100, 4000)


@pytest.mark.parametrize("encoding", ["nv12", "nv21", "i420"])
def test_only_the_y_plane_of_planar_images_is_sent(encoding: str) -> None:
    image, pixels = image_of(encoding, 1, rows=6)
    frame = frame_of(image)
    assert isinstance(frame.image, np.ndarray)
    assert np.array_equal(frame.image, pixels[:4, :, 0])
    assert frame.format == "gray"


def test_the_last_row_may_lack_its_padding() -> None:
    image, _ = image_of("mono8", 1, 5)
    object.__setattr__(image, "data", image.data[:-5])
    assert np.asarray(frame_of(image).image).shape == (4, 6)
    object.__setattr__(image, "data", image.data[:-1])
    with pytest.raises(ValueError, match="has 39 bytes or more; got 38"):
        frame_of(image)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"encoding": "bayer_rggb16"}, "'bayer_rggb16' is not supported .debayer it.*supported are mono8, "),
        ({"encoding": "32FC1"}, "'32FC1' is not supported; supported are mono8, "),
        ({"encoding": "a\x1b[1mb\n"}, r"'a\\\\x1b\[1mb\\\\n' is not"),
        ({"step": 5}, "step must be 6 or more for 6 pixels of mono8; got 5"),
        ({"width": 0}, "the image is empty: 0x4"),
        ({"height": 2**32 - 1}, "4294967295 rows"),
        ({"height": 2**32 - 1, "width": 2**32 - 1, "step": 2**32 - 1}, "4294967295 rows"),
    ],
)
def test_images_that_no_server_takes_are_refused(changes: dict[str, Any], message: str) -> None:
    image, _ = image_of("mono8", 1)
    for name, value in changes.items():
        object.__setattr__(image, name, value)
    with pytest.raises(ValueError, match=message):
        frame_of(image)


@pytest.mark.parametrize(
    ("format", "start"),
    [
        ("png", b"\x89PNG\r\n\x1a\n"),
        ("jpeg", b"\x89PNG\r\n\x1a\n"),
        ("jpeg", b""),
        ("16UC1; compressedDepth", bytes(12)),
    ],
)
def test_a_compressed_image_must_be_a_jpeg_file(format: str, start: bytes) -> None:
    image = messages.CompressedImage(messages.Header(), format, np.frombuffer(start, np.uint8))
    with pytest.raises(ValueError, match=f"must be a JPEG file; got format '{format}'"):
        frame_of(image)


# -- groups ------------------------------------------------------------------------------------------------------------


def grouper(cameras: int = 2, slop_ns: int = 10) -> Grouper[str]:
    return Grouper(cameras, slop_ns, 1.0, 0.0)


def test_images_within_the_slop_are_a_group() -> None:
    groups = grouper(3)
    assert groups.add(0, 100, "a", 0.0) == ([], [])
    assert groups.add(2, 105, "c", 0.0) == ([], [])
    assert groups.add(1, 110, "b", 0.0) == ([{0: "a", 1: "b", 2: "c"}], [])


def test_an_image_without_partners_is_dropped() -> None:
    groups = grouper()
    groups.add(0, 100, "a0", 0.0)
    groups.add(0, 200, "a1", 0.0)
    assert groups.add(1, 205, "b1", 0.0) == ([{0: "a1", 1: "b1"}], [(0, "a0")])


def test_the_nearest_of_several_images_is_taken() -> None:
    groups = grouper()
    for stamp in (100, 104, 108):
        groups.add(0, stamp, f"a{stamp}", 0.0)
    assert groups.add(1, 105, "b", 0.0) == ([{0: "a104", 1: "b"}], [(0, "a100")])


@pytest.mark.parametrize("seed", range(20))
def test_stamps_of_a_group_never_differ_by_more_than_the_slop(seed: int) -> None:
    random = np.random.default_rng(seed)
    groups: Grouper[int] = Grouper(3, 10, 1.0, 0.0)
    stamp = made = given = lost = 0
    for _ in range(500):
        camera = int(random.integers(0, 3))
        stamp += int(random.integers(1, 6))
        complete, dropped = groups.add(camera, stamp, stamp, 0.0)
        given += 1
        lost += len(dropped)
        for group in complete:
            made += 1
            assert sorted(group) == [0, 1, 2]
            assert max(group.values()) - min(group.values()) <= 10
    assert made > 10
    assert 0 <= given - lost - 3 * made <= 3 * 16


def test_a_silent_camera_is_left_out_until_it_sends_again() -> None:
    groups = grouper()
    assert groups.add(0, 100, "a0", 0.5) == ([], [])
    assert groups.silent(0.9) == []
    assert groups.add(0, 200, "a1", 1.1) == ([{0: "a0"}, {0: "a1"}], [])
    assert groups.silent(1.1) == [1]
    assert groups.add(1, 305, "b", 1.2) == ([], [])
    assert groups.add(0, 300, "a2", 1.3) == ([{0: "a2", 1: "b"}], [])


def test_a_clock_that_is_set_back_begins_anew() -> None:
    groups = grouper()
    groups.add(0, 1_000_000, "old", 0.0)
    assert groups.add(0, 5, "a", 0.0) == ([], [(0, "old")])
    assert groups.add(1, 7, "b", 0.0) == ([{0: "a", 1: "b"}], [])


def test_images_that_wait_are_bounded() -> None:
    groups = grouper()
    dropped = [len(groups.add(0, i, "a", 0.0)[1]) for i in range(40)]
    assert dropped == [0] * 16 + [1] * 24


# -- names -------------------------------------------------------------------------------------------------------------


def test_names_on_the_wire() -> None:
    assert names.wire_topic("/front/image_raw") == "rt/front/image_raw"
    assert names.wire_type(messages.IMAGE) == "sensor_msgs::msg::dds_::Image_"
    assert names.topic_of_wire("rt/front") == "/front"
    assert names.topic_of_wire("rq/front") is None


@pytest.mark.parametrize(
    ("name", "full"), [("image", "/robot/image"), ("/image", "/image"), ("~/image", "/robot/orbserve/image")]
)
def test_a_name_is_resolved(name: str, full: str) -> None:
    assert names.resolve(name, "/robot", "orbserve") == full


@pytest.mark.parametrize("name", ["", "/", "a//b", "a/", "1a", "a-b", "a b", "~", "/a\n"])
def test_a_wrong_name_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match="a topic is such as"):
        names.resolve(name, "/", "orbserve")


def test_topics_are_remapped() -> None:
    remapping = names.Remapping(["image:=/front/image_raw", "other:/x:=/y", "orbserve:/a:=b"], "/robot", "orbserve")
    assert remapping("image") == "/front/image_raw"
    assert remapping("/x") == "/x"
    assert remapping("/a") == "/robot/b"
    with pytest.raises(ValueError, match="FROM:=TO"):
        names.Remapping(["image"], "/", "orbserve")


# -- options -----------------------------------------------------------------------------------------------------------


def parse(*arguments: str) -> settings.Settings:
    from orbserve.ros2 import _parser

    rest, ros = settings.split_ros_arguments(arguments)
    parsed: argparse.Namespace = _parser().parse_args(rest)
    return settings.make_settings(parsed, ros)


def test_flags_come_before_parameters_and_files(tmp_path: Path) -> None:
    need("yaml")
    file = tmp_path / "p.yaml"
    file.write_text(
        "/**:\n  ros__parameters: {slop: 1, depth: 3, report: 2.5, use_sim_time: true}\n"
        "robot:\n  orbserve:\n    ros__parameters:\n      image: [/left, /right]\n      depth: 4\n"
        "other:\n  ros__parameters: {depth: 9}\n"
    )
    arguments = ("--params-file", str(file), "--namespace", "robot", "--report", "7")
    made = parse(*arguments, "--ros-args", "-p", "slop:=0.5", "--log-level", "debug", "--", "--max-features", "9")
    assert (made.image, made.slop, made.depth, made.report) == (("/left", "/right"), 0.5, 4, 7.0)
    assert made.max_features == 9
    assert list(made.topics) == ["/left", "/right"]
    assert parse("--params-file", str(file), "--image", "a", "--ros-args", "-r", "__node:=other").depth == 9


def test_namespace_and_remapping_of_ros_arguments() -> None:
    made = parse("--image", "image", "--no-track", "--ros-args", "-r", "__ns:=/robot", "-r", "image:=camera/image")
    assert made.topics == {"/robot/camera/image": False}
    assert made.results == ("features", "keypoints", "markers")
    assert made.make_pipeline() == orbserve.PRESETS["orb"]()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("orbserve: {ros__parameters: {slopp: 1}}", "no parameter 'slopp'; there are image, "),
        ("orbserve: {ros__parameters: {depth: 1.5}}", "depth must be of the type int; got 1.5"),
        ("orbserve: {ros__parameters: {depth: true}}", "depth must be of the type int; got True"),
        ("orbserve: {ros__parameters: {image: 3}}", "image must be a text or a list of texts"),
        ("orbserve: {ros__parameters: {publish: [all]}}", "publish must be of tracks, .*; got 'all'"),
        ("orbserve: {ros__parameters: {slop: -1.0}}", "slop must be 0 or more; got -1.0"),
        ("orbserve: {ros__parameters: {slop: .nan}}", "slop must be 0 or more; got nan"),
        ("orbserve: {ros__parameters: {preset: orbb}}", "preset must be one of .*; got 'orbb'"),
        ("orbserve: {ros__parameters: 3}", "must have names and values"),
        ("orbserve: 3", "not a file of ROS 2 parameters"),
        ("a: [", "not a file of ROS 2 parameters"),
        ("", "not a file of ROS 2 parameters"),
    ],
)
def test_a_wrong_file_of_parameters_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    need("yaml")
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        parse("--params-file", str(file))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "no camera"),
        (("--image", "a", "--compressed", "/a"), "/a is given twice"),
        (("--image", "a-b"), "a topic is such as"),
        (("--image", "/a", "--compressed", "/a/compressed"), "results would have the topics /a/features, /a/keypoints"),
        (("--image", "/a", "-r", "/a/tracks:=/a/features"), "results would have the topics /a/features"),
    ],
)
def test_wrong_topics_are_an_error(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _ = parse(*arguments).topics


def test_remapped_results_of_two_topics_are_allowed() -> None:
    names = ("tracks", "track_points", "features", "keypoints", "markers")
    rules = [text for name in names for text in ("-r", f"/a/{name}:=/b/{name}")]
    parse("--image", "/a", *rules)
    made = parse("--image", "/a", "--compressed", "/a/compressed", "--publish", "tracks", "--node", "n")
    with pytest.raises(ValueError, match="remap those of /a/compressed"):
        _ = made.topics


@pytest.mark.parametrize("domain", ["233", "-1", "x", "1.0"])
def test_a_wrong_domain_is_an_error(monkeypatch: pytest.MonkeyPatch, domain: str) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", domain)
    with pytest.raises(ValueError, match=r"must be 0\.\.232"):
        _ = parse("--image", "a").domain_id
    assert parse("--image", "a", "--domain", "5").domain_id == 5


# -- tracks ------------------------------------------------------------------------------------------------------------


def test_ids_of_tracks_go_on_over_streams() -> None:
    numbers = TrackNumbers()
    numbers.begin()
    first = result_of([1, 2, 3])
    assert numbers.renumber(first) is first
    numbers.renumber(result_of([2, 3], {1: TrackEnd.MASKED}))
    numbers.begin()
    again = numbers.renumber(result_of([1, 2], {3: TrackEnd.MASKED}))
    assert again.tracks.id.tolist() == [4, 5]
    assert again.ended_tracks == {2: TrackEnd.RECONNECTED, 3: TrackEnd.RECONNECTED, 6: TrackEnd.MASKED}
    assert numbers.renumber(result_of([4])).tracks.id.tolist() == [7]
    numbers.begin()
    numbers.begin()
    last = numbers.renumber(result_of([]))
    assert last.ended_tracks == {7: TrackEnd.RECONNECTED}
