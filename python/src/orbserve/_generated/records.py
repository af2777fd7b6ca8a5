# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""Records of the wire contract."""

from __future__ import annotations

from dataclasses import dataclass

from .._options import Record
from .enums import DescriptorType, DropPolicy
from .options import Pipeline


@dataclass(frozen=True, kw_only=True)
class StageTime(Record):
    """Time of one step of the pipeline. A step carries out one stage, or several at once."""

    _message = "StageTime"

    stage: str
    """Names of its stages in the order in which a frame passes them: decode, pyramid, detect,
    suppress, select, orient, describe, match, track. Joined by '+' where there are several:
    "detect+suppress". Later versions add names.
    """

    duration_ns: int
    """Nanoseconds. On a CPU the processor time of this frame's tasks, summed over threads. On CUDA
    the elapsed time of the whole batch. "match" is the frame's `match_ns` and "track" its
    `track_ns`, on both.
    """

    sampled: bool
    """True where the server times one batch in N only (a CUDA device). Most frames then have no
    such entry.
    """


@dataclass(frozen=True, kw_only=True)
class Timings(Record):
    """Times of a frame in nanoseconds of the server's steady clock; 0 = did not happen. The others
    add up to `total_ns`, but where an answer has two images (Match): those are computed at the
    same time, so waits are the longer ones and work is the sum.
    """

    _message = "FrameTimings"

    queue_ns: int
    """Waiting for a batch and for the device, once its pixels are ready."""

    decode_ns: int
    """JPEG or raw bytes to grey."""

    upload_ns: int
    """Host to device, the whole batch; 0 on a CPU."""

    compute_ns: int
    """Computing on the backend, the whole batch. On CUDA it includes the results' way to the host,
    and is measured by the host for frames with very many features.
    """

    download_ns: int
    """Device to host, the whole batch; so far always 0, as it is a part of compute_ns."""

    match_ns: int
    """From features to the matches with all targets, beyond the time of the tracks; else 0."""

    total_ns: int
    """From the arrival of the whole request (stream: message) to the answer, ready to be sent."""

    stages: tuple[StageTime, ...]
    """Parts of compute_ns, in the order of the steps, then "match" and "track" where match_ns and
    track_ns are set. A step that was not timed has no entry; all are missing for a frame of a
    batch that was not sampled.
    """

    track_ns: int
    """From features to the tracks; else 0."""

    admit_ns: int
    """From its arrival to the begin of its decoding, or of the wait for that."""

    decode_queue_ns: int
    """Waiting for a thread that decodes."""

    track_queue_ns: int
    """Waiting for the tracks of the frame before, and for a place."""

    match_queue_ns: int
    """Waiting for the frame before, and for a place, beyond the time of the tracks."""

    send_ns: int
    """Waiting for the results before it, and becoming a message, until now."""


@dataclass(frozen=True, kw_only=True)
class Execution(Record):
    """Batch, backend and device that computed a frame. Empty for a frame that failed before its
    batch ran.
    """

    _message = "Execution"

    batch_size: int
    """Frames in the batch that this frame was part of, 1..256; 0 = no frame was computed."""

    backend: str
    """"cpu", "cpu-reference", "cuda"."""

    device: str
    """"cpu", "cuda:0"."""

    lane: int
    """Number of the device's pair of streams that computed the batch, 0..15; 0 on a CPU."""

    energy_joules: float | None
    """Energy of this answer in joules, from 0: an estimate made when its batch ended. It is the
    mean power of the device over the last second, times the batch's time on it, shared among the
    batches at the same time and the frames of the batch. Matches and tracks are included. Absent
    where the power of the device cannot be read. The server's metrics have the measured energy.
    """

    hardware_decoded: bool
    """True for a JPEG from a hardware decoder, whose bits may differ; so far always false."""


@dataclass(frozen=True, kw_only=True)
class ReferenceInfo(Record):
    """`ReferenceInfo` of the wire contract."""

    _message = "ReferenceInfo"

    name: str
    """1..128 bytes of printable ASCII."""

    version: int
    """From 1; grows with every reference that any client puts."""

    feature_count: int
    """0..100000."""

    descriptor_bytes: int
    """Bytes per descriptor: 128, 64, 32 or 4."""

    size_bytes: int
    """Share of the store's capacity: columns, name and 512 bytes; once it was matched, the copies
    on all devices, too.
    """

    descriptor_type: DescriptorType | None
    """Kind of its descriptors, with which alone it can be matched."""


@dataclass(frozen=True, kw_only=True)
class DeviceClock(Record):
    """`DeviceClock` of the wire contract."""

    _message = "DeviceClock"

    clock: str
    """"gpu", "memory", "cpu"."""

    hertz: float

    limit_hertz: float | None
    """Highest clock that is allowed now."""


@dataclass(frozen=True, kw_only=True)
class DeviceTemperature(Record):
    """`DeviceTemperature` of the wire contract."""

    _message = "DeviceTemperature"

    sensor: str
    """"gpu", "cpu", "tj"."""

    celsius: float


@dataclass(frozen=True, kw_only=True)
class DeviceInfo(Record):
    """`DeviceInfo` of the wire contract."""

    _message = "DeviceInfo"

    device: str
    """"cpu", "cuda:0"; as in `Execution`."""

    name: str
    """Of the hardware."""

    details: str
    """CPU: the SIMD target in use and the threads; CUDA: compute capability, multiprocessors,
    memory.
    """

    board: str
    """Condition of the device now. Fields 4 to 9 are empty where the machine does not tell. that it
    is on: "NVIDIA Jetson AGX Orin Developer Kit".
    """

    power_mode: str
    """Of nvpmodel: "MAXN"."""

    clock_mode: str
    """"fixed", "dynamic"."""

    clocks: tuple[DeviceClock, ...]

    temperatures: tuple[DeviceTemperature, ...]

    throttled: tuple[str, ...]
    """Reasons for which its clocks are held down: "power_cap", "gpu-throttle-alert"."""

    jpeg_decoder: str
    """First decoder of the JPEG files of its frames, as in `JpegFrames`: "device" or "host". Later
    ones take what it leaves.
    """

    jpeg_reason: str
    """Reason for which `jpeg_decoder` is not "device"; else empty."""


@dataclass(frozen=True, kw_only=True)
class PresetInfo(Record):
    """`PresetInfo` of the wire contract."""

    _message = "PresetInfo"

    name: str
    """As in `Pipeline.preset`."""

    available: bool
    """False: known, and answered with UNIMPLEMENTED by this version."""

    description: str
    """One line."""

    pipeline: Pipeline | None
    """Every option resolved; not set unless available."""


@dataclass(frozen=True, kw_only=True)
class ServerLimits(Record):
    """Limits of this server by its configuration (docs/configuration.md). A request beyond a limit
    fails with the reason named.
    """

    _message = "ServerLimits"

    max_side_px: int
    """Width and height of an image, pixels, 1..32767; default 8192; TOO_LARGE."""

    max_pixels: int
    """Width times height that fits with every preset, 1..2^30; default 67,108,864 or what memory
    allows. A larger image may fit with options that need less memory, or fails with TOO_LARGE.
    """

    max_message_bytes: int
    """Of a message to the server, 64 KiB..1 GiB; default 96 MiB; gRPC's RESOURCE_EXHAUSTED."""

    max_keypoints: int
    """Features of an answer (BAD_OPTIONS), rows of a set that is sent (TOO_LARGE): 100,000."""

    max_levels: int
    """Of a pyramid: 16; BAD_OPTIONS."""

    max_batch: int
    """Frames of a batch, 1..256; default 16."""

    max_queue_delay_us: int
    """Longest wait for a fuller batch, microseconds, 0..1000000; default 0."""

    max_queue_frames: int
    """Admitted and not begun, of all clients, 1..100000; default 1024; QUEUE_FULL."""

    max_queue_frames_per_client: int
    """As max_queue_frames, of one client, 1..100000; default 256; QUOTA_EXCEEDED."""

    max_streams: int
    """Open at a time, of all clients, 1..100000; default 256; QUOTA_EXCEEDED."""

    max_reference_bytes: int
    """Of all references, 1 KiB..1 TiB; default 1 GiB; a larger one: TOO_LARGE."""

    max_references: int
    """Of all clients, 1..10000000; default 100,000; beyond it references are evicted."""

    max_reference_bytes_per_client: int
    """Of one owner of clients (docs/configuration.md); default: as much as of all. A larger
    reference: TOO_LARGE; beyond it references of this owner are evicted.
    """

    max_references_per_client: int


@dataclass(frozen=True, kw_only=True)
class PowerRail(Record):
    """Power and energy of one rail, that is, of one thing that is measured (docs/metrics.md)."""

    _message = "PowerRail"

    rail: str
    """"cuda:0", "VDD_IN", "package-0"."""

    source: str
    """"nvml", "ina", "rapl"."""

    scope: str
    """"total" = everything that is known of `device`; rails of other scopes are parts of a total or
    lie beside it.
    """

    device: str
    """As in `Execution`; set for totals."""

    watts: float | None
    """Now; absent while the rail cannot be read."""

    joules: float | None
    """Since the server started; absent while the rail cannot be read."""


@dataclass(frozen=True, kw_only=True)
class FrameEnergy(Record):
    """Measured energy of the frames that a device has computed, a second or so late."""

    _message = "FrameEnergy"

    device: str

    frames: int
    """Since the server started."""

    joules: float
    """Of these frames."""


@dataclass(frozen=True, kw_only=True)
class JpegFrames(Record):
    """JPEG frames that one decoder has decoded or refused for one reason."""

    _message = "JpegFrames"

    decoder: str
    """"device"; "host" = the strict decoder of the processor; "libjpeg" = libjpeg-turbo. Each takes
    what the one before leaves.
    """

    reason: str
    """Reason for which "libjpeg" decoded: "progressive", "scans", "components", "values"; else
    empty.
    """

    frames: int
    """Since the process started."""


@dataclass(frozen=True, kw_only=True)
class ServerInfo(Record):
    """`GetServerInfoResponse` of the wire contract."""

    _message = "GetServerInfoResponse"

    version: str
    """Of the server, MAJOR.MINOR.PATCH."""

    backends: tuple[str, ...]
    """Built into this server: "cpu", "cpu-reference", "cuda"."""

    active_backend: str
    """The one in use, of `backends`."""

    devices: tuple[DeviceInfo, ...]
    """In use, 1 or more."""

    presets: tuple[PresetInfo, ...]
    """Every one of `Pipeline.preset`, available or not."""

    limits: ServerLimits
    """In force."""

    power_source: str
    """Source of power figures: "nvml"; "none" when no rail can be read."""

    power_rails: tuple[PowerRail, ...]
    """As last read."""

    frame_energy: tuple[FrameEnergy, ...]
    """Of each device with a total."""

    jpeg_frames: tuple[JpegFrames, ...]
    """Of every decoder and reason."""


@dataclass(frozen=True, kw_only=True)
class StreamOpened(Record):
    """`StreamOpened` of the wire contract."""

    _message = "StreamOpened"

    stream_id: int
    """Number of the stream on this server, for its logs, from 1."""

    max_in_flight: int
    """Frames that are computed at a time, 1..256; with BLOCK the server then stops reading."""

    pipeline: Pipeline
    """The pipeline in force, every option resolved."""

    drop_policy: DropPolicy | None
    """The policy in force."""

    max_waiting: int
    """NEWEST and OLDEST: frames that wait behind those in flight before one is dropped, 1..256;
    else 0.
    """

    deadline_ms: int
    """The deadline in force, milliseconds; 0 = none."""

    limits: ServerLimits
    """In force on this server."""

__all__ = [
    "DeviceClock",
    "DeviceInfo",
    "DeviceTemperature",
    "Execution",
    "FrameEnergy",
    "JpegFrames",
    "PowerRail",
    "PresetInfo",
    "ReferenceInfo",
    "ServerInfo",
    "ServerLimits",
    "StageTime",
    "StreamOpened",
    "Timings",
]
