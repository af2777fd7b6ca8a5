# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Publishers and subscriptions of ROS 2 over DDS, by the package `cyclonedds`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from typing import Any

from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
from cyclonedds.core import DDSException, Policy, Qos, ReadCondition, WaitSet
from cyclonedds.core import InstanceState as Instance
from cyclonedds.core import SampleState as Sample
from cyclonedds.core import ViewState as View
from cyclonedds.domain import Domain, DomainParticipant
from cyclonedds.idl import IdlStruct, make_idl_struct
from cyclonedds.idl.types import float32, float64, int32, sequence, uint8, uint32, uint64
from cyclonedds.pub import DataWriter
from cyclonedds.sub import DataReader
from cyclonedds.topic import Topic
from cyclonedds.util import duration

from . import messages
from .names import wire_topic, wire_type

_ANY = Sample.Any | View.Any | Instance.Any
# An image is a burst of packets, of which the usual buffer holds a megabyte. The kernel limits the wish (rmem_max).
_LARGE_BUFFERS = "<CycloneDDS><Domain><Internal><SocketReceiveBufferSize max='32MB'/></Internal></Domain></CycloneDDS>"
_LOOPBACK = (
    "<CycloneDDS><Domain>"
    "<General><Interfaces><NetworkInterface address='127.0.0.1'/></Interfaces></General>"
    "<Discovery><ParticipantIndex>auto</ParticipantIndex><MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
    "<Peers><Peer address='127.0.0.1'/></Peers></Discovery>"
    "</Domain></CycloneDDS>"
)
_DEPTH_OF_RESULTS = 5
# Numbers of the policies in a status of incompatible QoS (DDS 1.4, sec. 2.3.3).
_POLICIES = {
    2: "durability",
    4: "deadline",
    6: "ownership",
    8: "liveliness",
    11: "reliability",
    23: "representation of data",
}


def _struct(kind: str, **fields: Any) -> type[IdlStruct]:
    made: type[IdlStruct] = make_idl_struct(kind.rpartition("/")[2], wire_type(kind).replace("::", "."), fields)
    return made


_TIME = _struct("builtin_interfaces/msg/Time", sec=int32, nanosec=uint32)
_HEADER = _struct("std_msgs/msg/Header", stamp=_TIME, frame_id=str)
_POINT_FIELD = _struct("sensor_msgs/msg/PointField", name=str, offset=uint32, datatype=uint8, count=uint32)
_POINT = _struct("geometry_msgs/msg/Point", x=float64, y=float64, z=float64)
_COLOUR = _struct("std_msgs/msg/ColorRGBA", r=float32, g=float32, b=float32, a=float32)
_DURATION = _struct("builtin_interfaces/msg/Duration", sec=int32, nanosec=uint32)
_SIZE = {"width": uint32, "height": uint32}
_XY = {"x": sequence[float32], "y": sequence[float32]}
_FIELDS: dict[str, dict[str, Any]] = {
    messages.IMAGE: {
        "height": uint32,
        "width": uint32,
        "encoding": str,
        "is_bigendian": uint8,
        "step": uint32,
        "data": sequence[uint8],
    },
    messages.COMPRESSED_IMAGE: {"format": str, "data": sequence[uint8]},
    messages.POINT_CLOUD: {
        "height": uint32,
        "width": uint32,
        "fields": sequence[_POINT_FIELD],
        "is_bigendian": bool,
        "point_step": uint32,
        "row_step": uint32,
        "data": sequence[uint8],
        "is_dense": bool,
    },
    messages.IMAGE_MARKER: {
        "ns": str,
        "id": int32,
        "type": int32,
        "action": int32,
        "position": _POINT,
        "scale": float32,
        "outline_color": _COLOUR,
        "filled": uint8,
        "fill_color": _COLOUR,
        "lifetime": _DURATION,
        "points": sequence[_POINT],
        "outline_colors": sequence[_COLOUR],
    },
    messages.TRACKS: {
        "group": uint64,
        **_SIZE,
        "id": sequence[uint64],
        **_XY,
        "age": sequence[uint32],
        "residual": sequence[float32],
        "ended_id": sequence[uint64],
        "ended_reason": sequence[uint8],
    },
    messages.FEATURES: {
        "group": uint64,
        **_SIZE,
        **_XY,
        "size": sequence[float32],
        "angle": sequence[float32],
        "response": sequence[float32],
        "octave": sequence[int32],
        "descriptor_type": str,
        "descriptor_bytes": uint32,
        "descriptors": sequence[uint8],
    },
}
_TYPES = {kind: _struct(kind, header=_HEADER, **fields) for kind, fields in _FIELDS.items()}


class _Raw:
    """A message as its bytes: the package would make Python lists of its numbers."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.sample_info: Any = None  # set by the package

    @classmethod
    def deserialize(cls, data: bytes) -> _Raw:
        return cls(data)

    deserialize_key = deserialize

    def serialize(self, use_version_2: bool | None = None) -> bytes:
        return self.data


def socket_buffer_limit() -> int | None:
    """Largest buffer that the kernel gives a socket, bytes; None: not known."""
    try:
        with open("/proc/sys/net/core/rmem_max", encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return None


def _qos(kind: str, reliable: bool, depth: int) -> Qos:
    # A subscriber that does not keep up must not hold the bridge back: it loses messages.
    reliability = Policy.Reliability.Reliable(max_blocking_time=0) if reliable else Policy.Reliability.BestEffort
    return Qos(
        reliability,
        Policy.Durability.Volatile,
        Policy.History.KeepLast(depth),
        Policy.DataRepresentation(use_cdrv0_representation=True),
        # As publishers and subscriptions of ROS 2 Iron and later announce their types.
        Policy.Userdata(f"typehash={messages.TYPE_HASHES[kind]};".encode()),
    )


@dataclass(frozen=True)
class Received:
    """A message that came."""

    data: bytes
    time: float
    """`time.monotonic()` at which it was taken."""


class _Endpoint:
    """State that publishers and subscriptions share."""

    _incompatible = 0

    def _new_incompatible(self, status: Any) -> str | None:
        if status.total_count <= self._incompatible:
            return None
        self._incompatible = status.total_count
        return _POLICIES.get(status.last_policy_id, f"policy {status.last_policy_id}")


class Subscription(_Endpoint):
    """A subscription. Made by `Participant`."""

    def __init__(self, reader: Any, depth: int) -> None:
        """Takes a reader of the package."""
        self._reader = reader
        self._depth = depth
        self.condition = ReadCondition(reader, _ANY)

    def take(self) -> list[Received]:
        """The messages that have come, oldest first."""
        samples = self._reader.take(self._depth)
        now = time.monotonic()
        return [Received(one.data, now) for one in samples if isinstance(one, _Raw)]

    @property
    def publishers(self) -> int:
        """Publishers that are matched."""
        return int(self._reader.get_subscription_matched_status().current_count)

    def new_incompatible(self) -> str | None:
        """Name of the policy for which a publisher was not matched since the last call; None: there was none."""
        return self._new_incompatible(self._reader.get_requested_incompatible_qos_status())


class Publisher(_Endpoint):
    """A publisher. Made by `Participant`. One thread at a time may use it."""

    def __init__(self, writer: Any) -> None:
        """Takes a writer of the package."""
        self._writer = writer

    @property
    def subscribers(self) -> int:
        """Subscribers that are matched."""
        return int(self._writer.get_publication_matched_status().current_count)

    def write(self, message: bytes) -> bool:
        """Publishes a message. False: a reliable subscriber does not keep up, and it was dropped."""
        try:
            self._writer.write(_Raw(message))
        except DDSException as error:
            if error.code in (DDSException.DDS_RETCODE_TIMEOUT, -DDSException.DDS_RETCODE_TIMEOUT):
                return False
            raise
        return True

    def new_incompatible(self) -> str | None:
        """Name of the policy for which a subscriber was not matched since the last call; None: there was none."""
        return self._new_incompatible(self._writer.get_offered_incompatible_qos_status())


class Participant:
    """A participant of a DDS domain, as a node of ROS 2 is one."""

    def __init__(self, domain_id: int) -> None:
        """Joins the domain. `ROS_LOCALHOST_ONLY` and `ROS_AUTOMATIC_DISCOVERY_RANGE` keep it on this machine,
        `CYCLONEDDS_URI` has its meaning. OSError if DDS cannot start.
        """
        localhost = os.environ.get("ROS_LOCALHOST_ONLY") == "1"
        localhost |= os.environ.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").upper() == "LOCALHOST"
        # The later ones count.
        configuration = [_LARGE_BUFFERS, os.environ.get("CYCLONEDDS_URI", ""), _LOOPBACK if localhost else ""]
        try:
            # The domain has to live as long as the participant.
            self._domain = Domain(domain_id, ",".join(filter(None, configuration)))
            self._participant: Any = DomainParticipant(domain_id)
        except DDSException as error:
            raise OSError(f"DDS cannot start in the domain {domain_id}: {error}") from None
        self._waiting: Any = WaitSet(self._participant)

    def _topic(self, topic: str, kind: str) -> Any:
        made = Topic(self._participant, wire_topic(topic), _TYPES[kind])
        made.data_type = _Raw
        return made

    def subscribe(self, topic: str, kind: str, reliable: bool, depth: int) -> Subscription:
        """A subscription for messages of a type."""
        reader = DataReader(self._participant, self._topic(topic, kind), qos=_qos(kind, reliable, depth))
        subscription = Subscription(reader, depth)
        self._waiting.attach(subscription.condition)
        return subscription

    def advertise(self, topic: str, kind: str, reliable: bool) -> Publisher:
        """A publisher of messages of a type."""
        qos = _qos(kind, reliable, _DEPTH_OF_RESULTS)
        return Publisher(DataWriter(self._participant, self._topic(topic, kind), qos=qos))

    def wait(self, seconds: float) -> None:
        """Waits until a subscription has messages."""
        self._waiting.wait(duration(seconds=seconds))

    def published(self) -> dict[str, set[str]]:
        """Names in DDS of all topics with publishers that were found, with their types."""
        found: dict[str, set[str]] = {}
        # Not kept: it would hold what was received of every publisher that has ever been there.
        publications = BuiltinDataReader(self._participant, BuiltinTopicDcpsPublication)
        for sample in publications.read(10_000):
            if getattr(sample, "topic_name", None):
                found.setdefault(sample.topic_name, set()).add(sample.type_name)
        return found

    def close(self) -> None:
        """Leaves the domain."""
        # Entities are deleted when Python frees them; the participant's deletion takes its children along.
        self._participant = self._waiting = None
