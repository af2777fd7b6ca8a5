# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Names of ROS 2, as they are given and as they are on the wire of DDS."""

from __future__ import annotations

import re
from collections.abc import Iterable

_TOKEN = r"[A-Za-z_][A-Za-z0-9_]*"
_FULL_NAME = re.compile(rf"(/{_TOKEN})+")
_TOPIC_PREFIX = "rt"


def check_namespace(namespace: str) -> str:
    """A namespace with its leading slash. ValueError for one that ROS would refuse."""
    full = "/" + namespace.strip("/")
    if full != "/" and not _FULL_NAME.fullmatch(full):
        raise ValueError(f"a namespace is such as /robot1/front; got {namespace!r}")
    return full


def check_node(name: str) -> str:
    """The name of a node. ValueError for one that ROS would refuse."""
    if not re.fullmatch(_TOKEN, name):
        raise ValueError(f"the name of a node has letters, digits and underscores; got {name!r}")
    return name


def resolve(name: str, namespace: str, node: str) -> str:
    """The full name of a topic: of `image` /NAMESPACE/image, of `~/image` /NAMESPACE/NODE/image. ValueError."""
    prefix = "" if namespace == "/" else namespace
    if name.startswith("~/"):
        full = f"{prefix}/{node}/{name[2:]}"
    else:
        full = name if name.startswith("/") else f"{prefix}/{name}"
    if not _FULL_NAME.fullmatch(full):
        raise ValueError(f"a topic is such as /front/image_raw; got {name!r}")
    return full


class Remapping:
    """Rules FROM:=TO for topics of a node, as those of `ros2 run ... --ros-args -r FROM:=TO`."""

    def __init__(self, rules: Iterable[str], namespace: str, node: str) -> None:
        """Reads the rules. ValueError for a wrong one."""
        self._namespace, self._node = namespace, node
        self._rules: dict[str, str] = {}
        for rule in rules:
            source, separator, target = rule.partition(":=")
            if not separator:
                raise ValueError(f"a remapping is FROM:=TO; got {rule!r}")
            of, colon, rest = source.partition(":")
            if colon and of != node:  # a rule of another node
                continue
            source = rest if colon else source
            self._rules.setdefault(resolve(source, namespace, node), resolve(target, namespace, node))

    def __call__(self, name: str) -> str:
        """The full name of a topic, after its rule."""
        full = resolve(name, self._namespace, self._node)
        return self._rules.get(full, full)


def wire_topic(topic: str) -> str:
    """Name in DDS of a topic."""
    return _TOPIC_PREFIX + topic


def wire_type(kind: str) -> str:
    """Name in DDS of a type such as sensor_msgs/msg/Image."""
    package, group, name = kind.split("/")
    return f"{package}::{group}::dds_::{name}_"


def topic_of_wire(name: str) -> str | None:
    """The topic of a name in DDS; None: it is not a topic of ROS."""
    return name.removeprefix(_TOPIC_PREFIX) if name.startswith(_TOPIC_PREFIX + "/") else None
