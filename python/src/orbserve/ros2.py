# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A node of ROS 2 without a ROS installation: images of cameras to a server, features and tracks back.

    python -m orbserve.ros2 --image /front/image_raw --server robot:50051
    python -m orbserve.ros2 --compressed /left/compressed --compressed /right/compressed --slop 0.01
    python -m orbserve.ros2 --params-file cameras.yaml -r /front/image_raw/tracks:=/vio/tracks

It talks DDS by the package cyclonedds, in the domain ROS_DOMAIN_ID. ROS_LOCALHOST_ONLY=1 keeps it on this machine;
CYCLONEDDS_URI configures DDS. Needs: pip install 'orbserve[ros2]'.

Below each topic TOPIC of images, without a last /compressed, it publishes with the header of the image:

    TOPIC/tracks        orbserve_msgs/msg/Tracks
    TOPIC/track_points  sensor_msgs/msg/PointCloud2 of the tracks, for RViz and Foxglove
    TOPIC/features      orbserve_msgs/msg/Features
    TOPIC/keypoints     sensor_msgs/msg/PointCloud2 of the features
    TOPIC/markers       visualization_msgs/msg/ImageMarker of the tracks, or features, on the images of Foxglove

The points of a cloud lie on the plane at 1 m before the camera, in its optical frame; u and v are pixels. Nothing is
made for a topic without a subscriber. Nodes that read orbserve_msgs have to build that package: --messages prints its
folder.

Images: mono8, rgb8, bgr8, rgba8, bgra8, YUV 4:2:2, NV12, I420, and JPEG in CompressedImage. Bayer patterns, 16 bits and
PNG are refused. Like a sensor it keeps the newest image where the server or the link is slow, and counts the others as
dropped. A server that is not reached is tried for as long as the node runs; ids of tracks go on. With --slop, an image
without partners of the other cameras is dropped, and a silent camera is left out.

A file of parameters has the names of the flags with underscores:

    orbserve:
      ros__parameters:
        server: robot:50051
        image: [/left/image_raw, /right/image_raw]
        slop: 0.01

Images that are larger than the buffer of a socket get lost on their way: sysctl -w net.core.rmem_max=33554432 on the
machines that receive them.

Exit codes: 0 stopped by SIGINT or SIGTERM, 1 it had to give up, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from importlib import resources

import orbserve

from ._ros import settings as options
from ._ros.log import Log


def _parser() -> argparse.ArgumentParser:
    title, _, text = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        "python -m orbserve.ros2",
        description=f"{title}\n{text}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    options.add_arguments(parser)
    parser.add_argument("--params-file", metavar="FILE", action="append", default=[], help="parameters of ROS 2 (YAML)")
    parser.add_argument(
        "-r", "--remap", metavar="FROM:=TO", action="append", default=[], help="another name for a topic"
    )
    parser.add_argument("--namespace", metavar="NAME", help="of the node, for names of topics without a slash")
    parser.add_argument("--node", metavar="NAME", help="name of the node in files of parameters (orbserve)")
    parser.add_argument(
        "--messages", action="store_true", help="print the folder of the package orbserve_msgs, and end"
    )
    parser.epilog = "The arguments of `ros2 run`, such as --ros-args -p slop:=0.01 -r __ns:=/robot1, work too."
    return parser


def _client(settings: options.Settings) -> tuple[orbserve.Client, str]:
    """The client, and the address for people."""
    if not settings.server:
        return orbserve.local(client_id=settings.client_id or None), "of this machine"
    client = orbserve.Client(
        settings.server,
        client_id=settings.client_id or None,
        tls_ca=settings.tls_ca or None,
        tls_cert=settings.tls_cert or None,
        tls_key=settings.tls_key or None,
        token_file=settings.token_file or None,
    )
    return client, settings.server


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the node. Returns its exit code."""
    parser = _parser()
    try:
        rest, ros = options.split_ros_arguments(sys.argv[1:] if arguments is None else arguments)
        parsed = parser.parse_args(rest)
        if parsed.messages:
            print(resources.files("orbserve") / "orbserve_msgs")
            return 0
        for module, package in (("cyclonedds", "cyclonedds"), ("yaml", "pyyaml")):
            if importlib.util.find_spec(module) is None:
                parser.error(f"the package {package} is missing: pip install 'orbserve[ros2]'")
        settings = options.make_settings(parsed, ros)
        _ = settings.topics, settings.domain_id, settings.make_pipeline()
    except (ValueError, OSError) as error:
        parser.error(str(error))
    from ._ros.bridge import Bridge

    log = Log(settings.node)
    with contextlib.ExitStack() as stack:
        try:
            client, address = _client(settings)
            stack.callback(client.close)
            bridge = Bridge(settings, client, address, log)
        except (orbserve.OrbserveError, RuntimeError, ValueError, OSError) as error:
            log("ERROR", str(error))
            return 1
        _stop_at_signals(bridge.stop)
        return 0 if bridge.run() else 1


def _stop_at_signals(stop: Callable[[], None]) -> None:
    """Calls `stop` at the first signal, from a thread: in a handler it could wait for a lock that the main thread has.
    A second signal ends the process.
    """
    reading, writing = os.pipe()

    def handle(number: int, _: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.write(writing, b"\0")

    def wait() -> None:
        os.read(reading, 1)
        stop()

    threading.Thread(target=wait, name="orbserve signals", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handle)


if __name__ == "__main__":
    sys.exit(main())
