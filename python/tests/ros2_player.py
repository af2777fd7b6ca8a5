# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A second DDS participant: plays a bag as `ros2 bag play` does, and prints the results of the bridge as JSON lines.

It shares no code with the bridge. Types are those of cyclonedds alone, messages those that rosbags has written.

    ros2_player.py BAG DOMAIN --rate 30 --tracks TOPIC --features TOPIC --clouds TOPIC --markers TOPIC

It waits until somebody subscribes, and for results until there were none for two seconds.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from cyclonedds.core import Policy, Qos
from cyclonedds.domain import DomainParticipant
from cyclonedds.idl import IdlStruct, make_idl_struct
from cyclonedds.idl.types import float32, float64, int32, sequence, uint8, uint32, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from rosbags.highlevel import AnyReader

TIME = make_idl_struct("Time", "builtin_interfaces.msg.dds_.Time_", {"sec": int32, "nanosec": uint32})
HEADER = make_idl_struct("Header", "std_msgs.msg.dds_.Header_", {"stamp": TIME, "frame_id": str})
IMAGE = make_idl_struct(
    "Image",
    "sensor_msgs.msg.dds_.Image_",
    {
        "header": HEADER,
        "height": uint32,
        "width": uint32,
        "encoding": str,
        "is_bigendian": uint8,
        "step": uint32,
        "data": sequence[uint8],
    },
)
COMPRESSED_IMAGE = make_idl_struct(
    "CompressedImage",
    "sensor_msgs.msg.dds_.CompressedImage_",
    {"header": HEADER, "format": str, "data": sequence[uint8]},
)
POINT_FIELD = make_idl_struct(
    "PointField",
    "sensor_msgs.msg.dds_.PointField_",
    {"name": str, "offset": uint32, "datatype": uint8, "count": uint32},
)
POINT_CLOUD = make_idl_struct(
    "PointCloud2",
    "sensor_msgs.msg.dds_.PointCloud2_",
    {
        "header": HEADER,
        "height": uint32,
        "width": uint32,
        "fields": sequence[POINT_FIELD],
        "is_bigendian": bool,
        "point_step": uint32,
        "row_step": uint32,
        "data": sequence[uint8],
        "is_dense": bool,
    },
)
POINT = make_idl_struct("Point", "geometry_msgs.msg.dds_.Point_", {"x": float64, "y": float64, "z": float64})
COLOUR = make_idl_struct("ColorRGBA", "std_msgs.msg.dds_.ColorRGBA_", dict.fromkeys("rgba", float32))
DURATION = make_idl_struct("Duration", "builtin_interfaces.msg.dds_.Duration_", {"sec": int32, "nanosec": uint32})
IMAGE_MARKER = make_idl_struct(
    "ImageMarker",
    "visualization_msgs.msg.dds_.ImageMarker_",
    {
        "header": HEADER,
        "ns": str,
        "id": int32,
        "type": int32,
        "action": int32,
        "position": POINT,
        "scale": float32,
        "outline_color": COLOUR,
        "filled": uint8,
        "fill_color": COLOUR,
        "lifetime": DURATION,
        "points": sequence[POINT],
        "outline_colors": sequence[COLOUR],
    },
)
TRACKS = make_idl_struct(
    "Tracks",
    "orbserve_msgs.msg.dds_.Tracks_",
    {
        "header": HEADER,
        "group": uint64,
        "width": uint32,
        "height": uint32,
        "id": sequence[uint64],
        "x": sequence[float32],
        "y": sequence[float32],
        "age": sequence[uint32],
        "residual": sequence[float32],
        "ended_id": sequence[uint64],
        "ended_reason": sequence[uint8],
    },
)
FEATURES = make_idl_struct(
    "Features",
    "orbserve_msgs.msg.dds_.Features_",
    {
        "header": HEADER,
        "group": uint64,
        "width": uint32,
        "height": uint32,
        "x": sequence[float32],
        "y": sequence[float32],
        "size": sequence[float32],
        "angle": sequence[float32],
        "response": sequence[float32],
        "octave": sequence[int32],
        "descriptor_type": str,
        "descriptor_bytes": uint32,
        "descriptors": sequence[uint8],
    },
)


class Recorded:
    """A message of the bag, which is written as it is."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def serialize(self, use_version_2: bool | None = None) -> bytes:
        return self.data


def as_json(value: Any) -> Any:
    if isinstance(value, IdlStruct):
        return {name: as_json(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, list):
        return [as_json(one) for one in value]
    return value.hex() if isinstance(value, bytes) else value


class Player:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.participant = DomainParticipant(arguments.domain)
        reliability: Any = Policy.Reliability.Reliable(0) if arguments.reliable else Policy.Reliability.BestEffort
        self.qos = Qos(reliability, Policy.History.KeepLast(20))
        self.readers: list[tuple[str, Any]] = []
        kinds: dict[str, Any] = {"tracks": TRACKS, "features": FEATURES, "clouds": POINT_CLOUD, "markers": IMAGE_MARKER}
        for option, kind in kinds.items():
            for name in getattr(arguments, option):
                reader = DataReader(self.participant, Topic(self.participant, "rt" + name, kind), qos=self.qos)
                self.readers.append((name, reader))
        self.sent: dict[tuple[int, int], float] = {}
        self.received = 0
        self.latest = time.monotonic()

    def writer(self, topic: str, kind: str) -> Any:
        made: Any = Topic(self.participant, "rt" + topic, {"Image": IMAGE, "CompressedImage": COMPRESSED_IMAGE}[kind])
        made.data_type = Recorded
        return DataWriter(self.participant, made, qos=self.qos)

    def print_results(self) -> None:
        for name, reader in self.readers:
            for message in reader.take(20):
                if not isinstance(message, IdlStruct):
                    continue
                self.received += 1
                self.latest = time.monotonic()
                stamp = message.header.stamp
                delay = self.latest - self.sent.get((stamp.sec, stamp.nanosec), float("nan"))
                print(json.dumps({"topic": name, "delay": delay, "message": as_json(message)}), flush=True)

    def play(self, bag: Path, rate: float) -> None:
        with AnyReader([bag]) as reader:
            played = [(c.topic, c.msgtype.rpartition("/")[2], bytes(data)) for c, _, data in reader.messages()]
        writers = {topic: self.writer(topic, kind) for topic, kind, _ in played}
        while any(one.get_publication_matched_status().current_count == 0 for one in writers.values()) or any(
            one.get_subscription_matched_status().current_count == 0 for _, one in self.readers
        ):
            time.sleep(0.02)
        print(json.dumps({"matched": True}), flush=True)
        begun = time.monotonic()
        for i, (topic, _, data) in enumerate(played):
            while (left := begun + i / rate - time.monotonic()) > 0:
                self.print_results()
                time.sleep(min(left, 0.0005))
            sec, nanosec = (int.from_bytes(data[at : at + 4], "little") for at in (4, 8))
            self.sent[sec, nanosec] = time.monotonic()
            writers[topic].write(Recorded(data))
        self.latest = time.monotonic()
        while time.monotonic() - self.latest < 2.0:
            self.print_results()
            time.sleep(0.0005)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("bag", type=Path)
    parser.add_argument("domain", type=int)
    parser.add_argument("--rate", type=float, default=30.0, help="messages per second, of all topics together")
    parser.add_argument("--reliable", action="store_true")
    for option in ("--tracks", "--features", "--clouds", "--markers"):
        parser.add_argument(option, action="append", default=[])
    arguments = parser.parse_args()
    Player(arguments).play(arguments.bag, arguments.rate)


if __name__ == "__main__":
    main()
