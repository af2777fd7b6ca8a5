# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Images from DDS to a server, and its results back.

One thread takes the images of all cameras and sends them. A thread for each camera opens its stream, and publishes its
results. The main thread waits for signals, and reports.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

import orbserve
from orbserve import FrameResult, StreamEvent, StreamEventKind

from . import dds, messages, results
from .grouping import Grouper
from .log import Log
from .messages import AnyImage, Header
from .names import topic_of_wire, wire_topic, wire_type
from .pixels import frame_of
from .settings import Settings, result_topic
from .tracks import TrackNumbers

_WAKE_SECONDS = 0.2  # most time until the taking thread sees that the bridge stops
_CHECK_SECONDS = 1.0  # between two looks at the QoS of others
_FIRST_RETRY, _LONGEST_RETRY = 0.2, 5.0  # seconds between two tries to reach the server for the first time
_TRY_SECONDS = 5.0
_NO_PUBLISHER_SECONDS = 5.0
# Names in the lines of counts. Each count has one thread that writes it.
_COUNTS = ("answered", "dropped", "late", "failed", "refused", "ungrouped", "unconnected", "unpublished")


@dataclass(frozen=True)
class _Taken:
    """An image on its way to the server."""

    image: AnyImage
    time: float
    """`time.monotonic()` at which it was taken."""


@dataclass(frozen=True)
class _Sent:
    """An image without a result."""

    header: Header
    size: tuple[int, int]
    group: int
    time: float


@dataclass(frozen=True)
class _Link:
    """A stream, and its images without a result, in their order."""

    stream: orbserve.FrameStream
    sent: deque[_Sent] = field(default_factory=deque)


class Camera:
    """A topic of images, its stream and its results."""

    def __init__(self, topic: str, compressed: bool, settings: Settings, participant: dds.Participant) -> None:
        """Subscribes, and advertises the results."""
        self.topic = topic
        self.kind = messages.COMPRESSED_IMAGE if compressed else messages.IMAGE
        self.subscription = participant.subscribe(topic, self.kind, settings.reliable, settings.depth)
        self.publishers = {
            name: participant.advertise(
                settings.remapping(result_topic(topic, name)), results.TYPES[name], settings.reliable_results
            )
            for name in settings.results
        }
        self.link: _Link | None = None  # None: not connected
        self.numbers = TrackNumbers()
        self.counts: Counter[str] = Counter()
        self.delays: deque[float] = deque(maxlen=10_000)  # from the taking to the publishing, seconds


class Bridge:
    """The node. `run()` returns when `stop()` was called, or when it cannot go on."""

    def __init__(self, settings: Settings, client: orbserve.Client, address: str, log: Log) -> None:
        """Joins the domain. OSError or ValueError."""
        self._settings = settings
        self._client = client
        self._address = address
        self._log = log
        self._pipeline = settings.make_pipeline()
        topics = settings.topics
        self._participant = dds.Participant(settings.domain_id)
        self._cameras = [Camera(topic, zipped, settings, self._participant) for topic, zipped in topics.items()]
        self._grouper: Grouper[_Taken] | None = None
        if settings.slop > 0 and len(self._cameras) > 1:
            slop_ns = round(settings.slop * 1e9)
            self._grouper = Grouper(len(self._cameras), slop_ns, settings.silent_after, time.monotonic())
        self._groups = 0
        self._left_out: list[int] = []
        self._stopping = threading.Event()
        self._failed = False
        self._link = threading.Lock()
        self._reached: bool | None = None  # None: not tried yet

    def stop(self) -> None:
        """Ends `run()`, from any thread or a signal handler."""
        self._stopping.set()

    def run(self) -> bool:
        """Serves the cameras. Returns False if it had to give up."""
        settings = self._settings
        for camera in self._cameras:
            outputs = ", ".join(camera.publishers)
            self._log(
                "INFO", f"{camera.topic}: subscribed; publishes {outputs} below it in domain {settings.domain_id}"
            )
        threads = [threading.Thread(target=self._guard, args=(self._take_all,), name="orbserve images")]
        threads += [
            threading.Thread(target=self._guard, args=(self._serve, camera), name=f"orbserve {camera.topic}")
            for camera in self._cameras
        ]
        for thread in threads:
            thread.start()
        try:
            self._report_until_stopped()
        finally:
            self._stopping.set()
            threads[0].join()
            for camera in self._cameras:
                if camera.link is not None:
                    camera.link.stream.cancel()
            self._client.close()  # ends a stream that is being opened
            for thread in threads[1:]:
                thread.join()
            self._report("in all", [Counter() for _ in self._cameras])
            self._participant.close()
        return not self._failed

    def _guard(self, work: Any, *arguments: Any) -> None:
        """Runs a thread. Its failure ends the bridge: a service manager starts it again."""
        try:
            work(*arguments)
        except Exception as error:
            self._fail(f"{type(error).__name__}: {error}")
            raise

    def _fail(self, text: str) -> None:
        self._log("ERROR", text)
        self._failed = True
        self._stopping.set()

    # -- the thread that takes images ----------------------------------------------------------------------------------

    def _take_all(self) -> None:
        next_check = time.monotonic() + _CHECK_SECONDS
        while not self._stopping.is_set():
            self._participant.wait(_WAKE_SECONDS)
            for number, camera in enumerate(self._cameras):
                for received in camera.subscription.take():
                    self._take(number, camera, received)
            if time.monotonic() >= next_check:
                self._check_cameras()
                next_check = time.monotonic() + _CHECK_SECONDS

    def _take(self, number: int, camera: Camera, received: dds.Received) -> None:
        camera.counts["received"] += 1
        try:
            taken = _Taken(messages.read_image(camera.kind, received.data), received.time)
        except ValueError as error:
            self._refuse(camera, error)
            return
        if self._grouper is None:
            self._send(camera, taken, 0)
            return
        groups, dropped = self._grouper.add(number, taken.image.header.stamp_ns, taken, received.time)
        for of, _ in dropped:
            self._cameras[of].counts["ungrouped"] += 1
        for group in groups:
            self._groups += 1
            for of, one in group.items():
                self._send(self._cameras[of], one, self._groups)

    def _refuse(self, camera: Camera, error: Exception) -> None:
        camera.counts["refused"] += 1
        self._log.every(1.0, f"{camera.topic} refused", "ERROR", f"{camera.topic}: an image is refused: {error}")

    def _send(self, camera: Camera, taken: _Taken, group: int) -> None:
        link = camera.link
        if link is None:
            camera.counts["unconnected"] += 1
            return
        image = taken.image
        try:
            frame = frame_of(image, taken.time, window=self._settings.window)
        except ValueError as error:
            self._refuse(camera, error)
            return
        link.sent.append(_Sent(image.header, results.size_of(image), group, taken.time))
        try:
            link.stream.send(frame)  # it keeps the newest frame, and does not wait
        except orbserve.OrbserveError:  # its own thread says why the stream has ended
            link.sent.pop()
            camera.counts["unconnected"] += 1

    def _check_cameras(self) -> None:
        """Says which publishers and subscribers were not matched, and which cameras the groups go on without."""
        for camera in self._cameras:
            policy = camera.subscription.new_incompatible()
            if policy is not None:
                hint = "; leave out --reliable" if policy == "reliability" and self._settings.reliable else ""
                text = f"{camera.topic}: the {policy} of a publisher is less than this subscription asks for{hint}"
                self._log("WARN", text)
            for name, publisher in camera.publishers.items():
                policy = publisher.new_incompatible()
                if policy is not None:
                    text = f"{camera.topic}: the {policy} of {name} is less than a subscriber asks for"
                    self._log("WARN", text)
        if self._grouper is None:
            return
        left_out = self._grouper.silent(time.monotonic())
        if left_out != self._left_out and len(left_out) < len(self._cameras):
            names = ", ".join(self._cameras[i].topic for i in left_out)
            self._log(
                "WARN" if names else "INFO", f"groups are made {f'without {names}' if names else 'of all cameras'}"
            )
            self._left_out = left_out

    # -- the thread of a camera ----------------------------------------------------------------------------------------

    def _serve(self, camera: Camera) -> None:
        """Opens streams, and publishes their results until the bridge stops."""
        while not self._stopping.is_set():
            try:
                if self._wait_for_server():
                    self._serve_stream(camera)
            except orbserve.DeadlineExceededError:
                pass  # servers end a stream without frames after some minutes: the camera was silent
            except orbserve.OrbserveError as error:
                if not self._stopping.is_set():
                    self._fail(f"{camera.topic}: {error}")
            finally:
                camera.link = None

    def _serve_stream(self, camera: Camera) -> None:
        settings = self._settings
        stream = self._client.stream(
            self._pipeline,
            drop_policy="newest",
            deadline_ms=settings.deadline_ms,
            track=settings.track,
            omit_features=results.omit_features(settings),
            reconnect=orbserve.Reconnect(float("inf")),
            on_event=self._tell,
        )
        camera.numbers.begin()
        camera.link = link = _Link(stream)
        for result in stream:
            self._publish(camera, link.sent.popleft(), result)

    def _wait_for_server(self) -> bool:
        """Waits until the server answers. False: the bridge stops before."""
        delay = _FIRST_RETRY
        while not self._stopping.is_set():
            try:
                if self._client.health(timeout=_TRY_SECONDS):
                    self._reach(True)
                    return True
                self._reach(False, "it is not serving")
            except (orbserve.UnavailableError, orbserve.DeadlineExceededError, orbserve.OverloadedError) as error:
                self._reach(False, error.message)
            self._stopping.wait(delay * random.uniform(0.5, 1.0))  # not all robots at once
            delay = min(2 * delay, _LONGEST_RETRY)
        return False

    def _tell(self, event: StreamEvent) -> None:
        if event.kind == StreamEventKind.LOST:
            self._reach(False, "" if event.error is None else event.error.message)
        elif event.kind == StreamEventKind.RECONNECTED:
            self._reach(True)

    def _reach(self, reached: bool, why: str = "") -> None:
        """The server is reached, or lost. Says so once."""
        with self._link:
            if self._reached is reached:
                return
            self._reached = reached
        if reached:
            self._log("INFO", f"connected to the server {self._address}")
        elif not self._stopping.is_set():
            self._log("WARN", f"the server {self._address} is not reached, trying again: {why}")

    def _publish(self, camera: Camera, sent: _Sent, result: FrameResult) -> None:
        counts = camera.counts
        if result.error is not None:
            name = "dropped" if result.dropped else "late" if result.late else "failed"
            counts[name] += 1
            if name == "failed" and not isinstance(result.error, orbserve.UnavailableError):
                key = f"{camera.topic} failed"
                self._log.every(1.0, key, "ERROR", f"{camera.topic}: an image failed: {result.error}")
            return
        counts["answered"] += 1
        result = camera.numbers.renumber(result)
        for name, publisher in camera.publishers.items():
            if publisher.subscribers == 0:
                continue
            message = results.write(name, sent.header, sent.group, sent.size, result, self._settings)
            if not publisher.write(message):
                counts["unpublished"] += 1
        camera.delays.append(time.monotonic() - sent.time)

    # -- the main thread -----------------------------------------------------------------------------------------------

    def _report_until_stopped(self) -> None:
        interval = self._settings.report
        begun = time.monotonic()
        self._stopping.wait(_NO_PUBLISHER_SECONDS)
        if not self._stopping.is_set():
            self._say_who_is_missing()
        before = [Counter[str]() for _ in self._cameras]
        while not self._stopping.wait(interval or None):
            before = self._report(f"in {time.monotonic() - begun:.0f} s", before)
            begun = time.monotonic()

    def _say_who_is_missing(self) -> None:
        """Names cameras without a publisher or an image, and topics that have images."""
        for camera in self._cameras:
            if camera.subscription.publishers > 0 and camera.counts["received"] == 0:
                limit = dds.socket_buffer_limit()
                hint = "" if limit is None else f"; large ones need a larger net.core.rmem_max than {limit}"
                self._log("WARN", f"{camera.topic}: a publisher is matched, but no image has come{hint}")
        lonely = [camera for camera in self._cameras if camera.subscription.publishers == 0]
        if not lonely:
            return
        found = self._participant.published()
        for camera in lonely:
            others = found.get(wire_topic(camera.topic), set()) - {wire_type(camera.kind)}
            hint = f"; it is published with the type {', '.join(sorted(others))}" if others else ""
            self._log("WARN", f"{camera.topic}: no publisher of {camera.kind} is matched{hint}")
        wanted = {wire_type(kind) for kind in (messages.IMAGE, messages.COMPRESSED_IMAGE)}
        topics = sorted(topic_of_wire(name) or name for name, types in found.items() if types & wanted)
        self._log("WARN", f"images are published on {', '.join(topics) or 'no topic of this domain'}")

    def _report(self, span: str, before: list[Counter[str]]) -> list[Counter[str]]:
        """Says what has come since `before`. Returns the counts of now."""
        now = [Counter(camera.counts) for camera in self._cameras]
        for camera, new, old in zip(self._cameras, now, before, strict=True):
            counts = {name: new[name] - old[name] for name in _COUNTS}
            parts = [f"{count} {name}" for name, count in counts.items() if count > 0 or name in _COUNTS[:2]]
            text = f"{camera.topic}: {new['received'] - old['received']} images {span}: {', '.join(parts)}"
            delays = sorted(camera.delays)
            camera.delays.clear()
            if delays:
                text += f"; {delays[len(delays) // 2] * 1e3:.1f} ms to the result, worst {delays[-1] * 1e3:.1f} ms"
            self._log("INFO", text)
        return now
