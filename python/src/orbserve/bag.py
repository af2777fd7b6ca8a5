# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Features and tracks of the images of a bag, as a bag for RViz and Foxglove.

    python -m orbserve.bag drive.mcap tracks.mcap
    python -m orbserve.bag recording/ results/ --topic /front/image_raw --storage sqlite3 --server robot:50051

IN is a bag of ROS 2 (a folder, or an MCAP file) or of ROS 1. OUT is a folder with a bag of ROS 2, or a single file
where its name ends with .mcap. It has the images, and below their topics the messages that `python -m orbserve.ros2`
publishes, with the headers and the times of the images. It appears when it is complete. Needs: pip install
'orbserve[bag]'.

Exit codes: 0 good, 1 an image failed or was refused, or nothing was written, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import signal
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orbserve

from ._errors import shown
from ._images import Frame
from ._ros import messages, results
from ._ros import settings as options
from ._ros.log import Log
from ._ros.messages import AnyImage
from ._ros.pixels import frame_of
from ._ros.tracks import TrackNumbers

_OPTIONS = ("server", "track", "preset", "pipeline", "max_features", "publish", "focal_px")
_IMAGE_TYPES = (messages.IMAGE, messages.COMPRESSED_IMAGE)


@dataclass(frozen=True, eq=False)
class BagImage:
    """An image of a bag."""

    topic: str
    """Its topic."""

    time_ns: int
    """Time at which it was recorded, nanoseconds."""

    message: AnyImage | None
    """The message; None: it could not be read, and `error` is set."""

    error: ValueError | None = None
    """Why it could not be read."""

    def frame(self, window: tuple[int, int] | None = None) -> Frame:
        """The frame of the image, with the time of its header. ValueError for an image that no server takes.

        window: values of images of 16 bits that become black and white (`Frame.window`).
        """
        if self.message is None:
            raise self.error or ValueError("the message could not be read")
        return frame_of(self.message, png=True, window=window)


class Bag:
    """A bag of ROS 2 or ROS 1 that is open for reading. Use it in a `with` statement. Needs rosbags."""

    def __init__(self, path: str | os.PathLike[str], topics: Sequence[str] = ()) -> None:
        """path: a folder, an MCAP file, or a bag of ROS 1.

        topics: topics of images; none: all. ValueError for one that is not there, or for a file that is no bag.
        """
        from rosbags.highlevel import AnyReader, AnyReaderError
        from rosbags.typesys import Stores, get_typestore

        self._stack = contextlib.ExitStack()
        try:
            # Older bags of ROS 2 lack the definitions of their types.
            reader = AnyReader([Path(path)], default_typestore=get_typestore(Stores.ROS2_HUMBLE))
            self._reader: Any = self._stack.enter_context(reader)
        except AnyReaderError as error:
            raise ValueError(f"{shown(os.fspath(path))} is not a bag: {shown(str(error))}") from None
        found = [one for one in self._reader.connections if one.msgtype in _IMAGE_TYPES]
        self._connections = [one for one in found if not topics or one.topic in topics]
        known = {one.topic for one in found}
        if missing := sorted(set(topics) - known) or ([] if known else ["with images"]):
            self._stack.close()
            listed = ", ".join(map(shown, sorted(known))) or "no topic"
            raise ValueError(f"{shown(os.fspath(path))} has no topic {missing[0]}; images are in {listed}")

    def __enter__(self) -> Bag:
        """Returns the bag itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the file."""
        self._stack.close()

    @property
    def topics(self) -> dict[str, str]:
        """Topics of images that were chosen, and their types."""
        return {one.topic: one.msgtype for one in self._connections}

    def images(self) -> Iterator[BagImage]:
        """The images in the order of their times. One that cannot be read has its `error` set."""
        for connection, time_ns, data in self._reader.messages(connections=self._connections):
            try:
                if self._reader.is2:
                    message = messages.read_image(connection.msgtype, data)
                else:
                    message = messages.image_of(self._reader.deserialize(data, connection.msgtype))
            except Exception as error:  # rosbags has no class for the errors of a broken message
                yield BagImage(connection.topic, time_ns, None, ValueError(f"the message is broken: {error}"))
            else:
                yield BagImage(connection.topic, time_ns, message)


class _Output:
    """A bag of ROS 2 that appears under its name when it is complete."""

    def __init__(self, path: Path, storage: str, stack: contextlib.ExitStack) -> None:
        from rosbags.rosbag2 import StoragePlugin, Writer
        from rosbags.typesys import Stores, get_types_from_msg, get_typestore

        self._path = path
        self._is_file = path.suffix == ".mcap"
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix=".orbserve-", dir=path.absolute().parent))
        self._made = Path(folder) / path.stem
        self._store = get_typestore(Stores.ROS2_HUMBLE)
        for kind in (messages.TRACKS, messages.FEATURES):
            self._store.register(get_types_from_msg(messages.definition(kind), kind))
        self._writer: Any = Writer(self._made, version=9, storage_plugin=StoragePlugin[storage.upper()])
        self._connections: dict[str, Any] = {}
        self._writer.open()

    def write(self, topic: str, kind: str, time_ns: int, data: bytes) -> None:
        """Writes a message."""
        if topic not in self._connections:
            self._connections[topic] = self._writer.add_connection(topic, kind, typestore=self._store)
        self._writer.write(self._connections[topic], time_ns, data)

    def finish(self) -> None:
        """Completes the bag, and moves it to its place. OSError where something is there."""
        self._writer.close()
        if self._path.exists():
            raise FileExistsError(f"{self._path} exists already")
        (self._made / f"{self._made.name}.mcap" if self._is_file else self._made).rename(self._path)


class _Topic:
    """Results of one topic."""

    def __init__(self, topic: str, kind: str, stream: orbserve.FrameStream) -> None:
        self.topic = topic
        self.kind = kind
        self.stream = stream
        self.sent: deque[BagImage] = deque()
        self.numbers = TrackNumbers()
        self.counts: Counter[str] = Counter()


class _Conversion:
    def __init__(self, settings: options.Settings, output: _Output, with_images: bool, log: Log) -> None:
        self._settings = settings
        self._output = output
        self._with_images = with_images
        self._log = log

    def run(self, bag: Bag, client: orbserve.Client, stack: contextlib.ExitStack) -> list[_Topic]:
        """Writes the results of all images."""
        settings = self._settings
        topics: dict[str, _Topic] = {}
        for topic, kind in bag.topics.items():
            stream = client.stream(
                settings.make_pipeline(),
                track=settings.track,
                omit_features=results.omit_features(settings),
                reconnect=30,
            )
            topics[topic] = _Topic(topic, kind, stack.enter_context(stream))
        for image in bag.images():
            topic_state = topics[image.topic]
            topic_state.counts["images"] += 1
            if self._with_images and image.message is not None:
                data = messages.write_image(image.message)
                self._output.write(image.topic, topic_state.kind, image.time_ns, data)
            self._send(topic_state, image)
        for one in topics.values():
            one.stream.close_send()
            for result in one.stream:
                self._take(one, result)
        return list(topics.values())

    def _send(self, topic: _Topic, image: BagImage) -> None:
        try:
            frame = image.frame()
        except ValueError as error:
            topic.counts["refused"] += 1
            self._log.every(1.0, topic.topic, "ERROR", f"{topic.topic}: an image is refused: {error}")
            return
        topic.sent.append(image)
        while not topic.stream.try_send(frame):
            if (result := topic.stream.poll(1.0)) is not None:
                self._take(topic, result)
        while (result := topic.stream.poll()) is not None:
            self._take(topic, result)

    def _take(self, topic: _Topic, result: orbserve.FrameResult) -> None:
        image = topic.sent.popleft()
        assert image.message is not None  # it was sent
        if result.error is not None:
            topic.counts["failed"] += 1
            self._log.every(1.0, f"{topic.topic} failed", "ERROR", f"{topic.topic}: an image failed: {result.error}")
            return
        topic.counts["answered"] += 1
        result = topic.numbers.renumber(result)
        for name in self._settings.results:
            data = results.write(name, image.message.header, 0, results.size_of(image.message), result, self._settings)
            self._output.write(options.result_topic(topic.topic, name), results.TYPES[name], image.time_ns, data)


def main(arguments: Sequence[str] | None = None) -> int:
    """Converts a bag. Returns the exit code."""
    title, _, text = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        "python -m orbserve.bag",
        description=f"{title}\n{text}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("bag", metavar="IN", type=Path, help="bag to read")
    parser.add_argument("out", metavar="OUT", type=Path, help="bag to write")
    parser.add_argument("--topic", action="append", default=[], help="topic of images; again for more; default: all")
    parser.add_argument(
        "--storage", choices=("mcap", "sqlite3"), default="mcap", help="storage of a folder (%(default)s)"
    )
    parser.add_argument("--images", action=argparse.BooleanOptionalAction, default=True, help="write the images, too")
    options.add_arguments(parser, _OPTIONS)
    parsed = parser.parse_args(arguments)
    if importlib.util.find_spec("rosbags") is None:
        parser.error("the package rosbags is missing: pip install 'orbserve[bag]'")
    try:
        given: dict[str, Any] = {name: getattr(parsed, name) for name in _OPTIONS}
        given["publish"] = tuple(parsed.publish or ())
        settings = options.Settings(**{name: value for name, value in given.items() if value is not None})
        settings.make_pipeline()
        if parsed.out.exists():
            raise ValueError(f"{parsed.out} exists already")
        if parsed.out.suffix == ".mcap" and parsed.storage != "mcap":
            raise ValueError(f"{parsed.out} is an MCAP file; give a folder for another storage")
    except (ValueError, OSError) as error:
        parser.error(shown(str(error)))
    log = Log("orbserve.bag")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what is half written is removed
    with contextlib.ExitStack() as stack:
        try:
            bag = stack.enter_context(Bag(parsed.bag, parsed.topic))
            output = _Output(parsed.out, parsed.storage, stack)
            client = stack.enter_context(orbserve.Client(settings.server) if settings.server else orbserve.local())
            client.health()  # fails at once where no server is reached
            topics = _Conversion(settings, output, parsed.images, log).run(bag, client, stack)
            output.finish()
        except (orbserve.OrbserveError, RuntimeError, ValueError, OSError) as error:
            log("ERROR", str(error))
            return 1
        except KeyboardInterrupt:
            log("ERROR", "interrupted; nothing was written")
            return 1
    for topic in topics:
        counts = ", ".join(f"{topic.counts[name]} {name}" for name in ("images", "answered", "failed", "refused"))
        print(f"{shown(topic.topic)}: {counts}")
    return 1 if any(topic.counts["answered"] < topic.counts["images"] for topic in topics) else 0


if __name__ == "__main__":
    sys.exit(main())
