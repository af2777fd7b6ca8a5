# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Options of the bridge, from the command line and from files of ROS 2 parameters."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orbserve

from . import names

RESULTS = ("tracks", "track_points", "features", "keypoints", "markers")

# Options of --ros-args that have a value and mean nothing here.
_IGNORED_WITH_VALUE = ("--log-level", "--log-config-file", "--log-file-name", "-e", "--enclave")


def result_topic(images: str, name: str) -> str:
    """Topic of a result, by that of the images."""
    return f"{images.removesuffix('/compressed')}/{name}"


def _option(default: Any, help: str, metavar: str | None = None, choices: Sequence[str] | None = None) -> Any:
    return dataclasses.field(default=default, metadata={"help": help, "metavar": metavar, "choices": choices})


@dataclass(frozen=True)
class Settings:
    """All options. Each is a flag, and a parameter with an underscore for the hyphen."""

    image: tuple[str, ...] = _option((), "topic of sensor_msgs/Image; again for each camera", "TOPIC")
    compressed: tuple[str, ...] = _option((), "topic of sensor_msgs/CompressedImage with JPEG files", "TOPIC")
    server: str = _option("", "address, such as robot:50051; default: a local server, started if none runs", "ADDRESS")
    track: bool = _option(True, "keep tracks")
    preset: str = _option("", "preset of the pipeline; default: odometry, without tracks orb", "NAME")
    pipeline: str = _option("", "file of a pipeline, as that of `orbserve --pipeline`", "FILE")
    max_features: int = _option(0, "wanted number of features, and of tracks; 0 = the preset's", "N")
    publish: tuple[str, ...] = _option((), "what to publish; again for more; default: all", None, RESULTS)
    slop: float = _option(
        0.0, "group the images of all cameras whose stamps differ by so many seconds at most; 0 = no groups", "SECONDS"
    )
    silent_after: float = _option(1.0, "groups go on without a camera that is silent for so long", "SECONDS")
    deadline_ms: int = _option(0, "results that come later than this after the image are left out; 0 = none", "MS")
    reliable: bool = _option(False, "subscribe reliable; default: best effort, as sensors publish")
    depth: int = _option(5, "images that a subscription keeps", "N")
    reliable_results: bool = _option(True, "publish reliable, which every subscriber takes; otherwise best effort")
    window_low: int = _option(0, "value of images of 16 bits that becomes black", "N")
    window_high: int = _option(65535, "value that becomes white", "N")
    focal_px: float = _option(0.0, "focal length for the point clouds, pixels; 0 = the width of the image", "PIXELS")
    report: float = _option(10.0, "seconds between two lines of counts; 0 = none", "SECONDS")
    domain: int = _option(-1, "DDS domain; default: ROS_DOMAIN_ID, or 0", "N")
    tls_ca: str = _option("", "certificates to check the server with", "FILE")
    tls_cert: str = _option("", "certificate of this client", "FILE")
    tls_key: str = _option("", "its key", "FILE")
    token_file: str = _option("", "file with the token of this client", "FILE")
    client_id: str = _option("", "name of this client", "NAME")
    # Not parameters.
    namespace: str = "/"
    node: str = "orbserve"
    remap: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """ValueError for a value that is not allowed."""
        for name, least in (("slop", 0), ("silent_after", 0), ("focal_px", 0), ("report", 0), ("depth", 1)):
            if not getattr(self, name) >= least:  # NaN fails, too
                raise ValueError(f"{name} must be {least} or more; got {getattr(self, name)}")
        for name in ("max_features", "deadline_ms"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must be 0 or more; got {getattr(self, name)}")
        if not 0 <= self.window_low < self.window_high <= 65535:
            both = f"{self.window_low} and {self.window_high}"
            raise ValueError(f"window_low and window_high must be 0 <= low < high <= 65535; got {both}")
        if unknown := [name for name in self.publish if name not in RESULTS]:
            raise ValueError(f"publish must be of {', '.join(RESULTS)}; got {unknown[0]!r}")
        if self.preset and self.preset not in orbserve.PRESETS:
            raise ValueError(f"preset must be one of {', '.join(sorted(orbserve.PRESETS))}; got {self.preset!r}")
        if self.preset and self.pipeline:
            raise ValueError("give preset or pipeline, not both")
        if not self.track and (wrong := [name for name in self.publish if name.startswith("track")]):
            raise ValueError(f"{wrong[0]} cannot be published without track")
        names.check_namespace(self.namespace)
        names.check_node(self.node)

    @property
    def window(self) -> tuple[int, int]:
        """Of images of 16 bits."""
        return self.window_low, self.window_high

    @property
    def results(self) -> tuple[str, ...]:
        """What is published."""
        return self.publish or (RESULTS if self.track else RESULTS[2:])

    @property
    def topics(self) -> dict[str, bool]:
        """Full names of the topics of images; True for compressed ones. ValueError for a wrong or doubled one."""
        remapping = self.remapping
        topics = [(remapping(name), False) for name in self.image]
        topics += [(remapping(name), True) for name in self.compressed]
        if not topics:
            raise ValueError("no camera: give --image or --compressed, or the parameter image or compressed")
        for topic, _ in topics:
            if sum(topic == other for other, _ in topics) > 1:
                raise ValueError(f"the topic {topic} is given twice")
        published: set[str] = set()
        for topic, _ in topics:
            own = {remapping(result_topic(topic, name)) for name in self.results}
            if len(own) < len(self.results) or own & published:
                both = ", ".join(sorted(own & published or own))
                raise ValueError(f"several results would have the topics {both}; remap those of {topic}")
            published |= own
        return dict(topics)

    @property
    def remapping(self) -> names.Remapping:
        """The rules for names of topics."""
        return names.Remapping(self.remap, self.namespace, self.node)

    @property
    def domain_id(self) -> int:
        """The DDS domain. ValueError for none of ROS 2."""
        text = str(self.domain) if self.domain >= 0 else os.environ.get("ROS_DOMAIN_ID", "") or "0"
        if not text.isdecimal() or int(text) > 232:
            raise ValueError(f"the domain, or ROS_DOMAIN_ID, must be 0..232; got {text!r}")
        return int(text)

    def make_pipeline(self) -> orbserve.Pipeline:
        """The pipeline. OSError or ValueError for a file that is none."""
        if self.pipeline:
            pipeline = orbserve.Pipeline.load(self.pipeline)
        else:
            pipeline = orbserve.PRESETS[self.preset or str(orbserve.StreamOptions(track=self.track).pipeline)]()
        return dataclasses.replace(pipeline, max_features=self.max_features) if self.max_features else pipeline


OPTIONS = {one.name: one for one in dataclasses.fields(Settings) if one.metadata}


def add_arguments(parser: argparse.ArgumentParser, wanted: Sequence[str] = tuple(OPTIONS)) -> None:
    """Adds a flag for each option that is wanted. Flags that are not given are None."""
    for name in wanted:
        option = OPTIONS[name]
        given: dict[str, Any] = {"help": option.metadata["help"], "default": None}
        default = option.default
        if isinstance(default, bool):
            given["action"] = argparse.BooleanOptionalAction
            if default:
                given["help"] += " (the default)"
        else:
            given["metavar"] = option.metadata["metavar"]
            given["choices"] = option.metadata["choices"]
            if isinstance(default, tuple):
                given["action"] = "append"
            else:
                given["type"] = type(default)
                if default and name != "domain":
                    given["help"] += f" ({default})"
        parser.add_argument("--" + name.replace("_", "-"), **given)


@dataclass
class RosArguments:
    """What `--ros-args` has."""

    files: list[str] = dataclasses.field(default_factory=list)
    parameters: list[str] = dataclasses.field(default_factory=list)
    remap: list[str] = dataclasses.field(default_factory=list)


def split_ros_arguments(arguments: Sequence[str]) -> tuple[list[str], RosArguments]:
    """Takes what stands between `--ros-args` and `--`, or the end, out of the arguments. ValueError."""
    rest: list[str] = []
    ros = RosArguments()
    lists = {"--params-file": ros.files, "-p": ros.parameters, "--param": ros.parameters}
    lists |= {"-r": ros.remap, "--remap": ros.remap}
    inside = False
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--ros-args":
            inside = True
        elif not inside:
            rest.append(argument)
        elif argument == "--":
            inside = False
        elif argument in lists or argument in _IGNORED_WITH_VALUE:
            value = next(waiting, None)
            if value is None:
                raise ValueError(f"{argument} of --ros-args needs a value")
            if argument in lists:
                lists[argument].append(value)
        elif not argument.startswith(("--enable-", "--disable-")):
            raise ValueError(f"{argument} of --ros-args is not known")
    return rest, ros


def _matches(pattern: str, full_name: str) -> bool:
    """True if a key of a file of parameters, such as /** or /ns/node or node, is that of the node."""
    wild = {"**": "(/[^/]+)*", "*": "/[^/]+"}
    parts = (wild.get(part, "/" + re.escape(part)) for part in pattern.strip("/").split("/"))
    return re.fullmatch("".join(parts), full_name) is not None


def parameters_of(tree: Any, full_name: str, prefix: str = "") -> dict[str, Any]:
    """Parameters of a node in the content of a file; later keys win."""
    found: dict[str, Any] = {}
    if not isinstance(tree, Mapping):
        raise ValueError("names of nodes with `ros__parameters` below them are missing")
    for key, below in tree.items():
        if key == "ros__parameters":
            if not isinstance(below, Mapping):
                raise ValueError(f"{prefix}: ros__parameters must have names and values")
            if _matches(prefix, full_name):
                found |= below
        else:
            found |= parameters_of(below, full_name, f"{prefix}/{key}".replace("//", "/"))
    return found


def read_parameters(path: str | Path, full_name: str) -> dict[str, Any]:
    """Parameters of a node in a file of ROS 2. OSError or ValueError."""
    import yaml

    with open(path, encoding="utf-8") as file:
        try:
            return parameters_of(yaml.safe_load(file), full_name)
        except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
            raise ValueError(f"{path} is not a file of ROS 2 parameters: {error}") from None


def check_parameter(name: str, value: Any) -> Any:
    """The value of an option. ValueError for a wrong type, or a parameter that is not there."""
    option = OPTIONS.get(name)
    if option is None:
        raise ValueError(f"there is no parameter {name!r}; there are {', '.join(OPTIONS)}")
    default = option.default
    if isinstance(default, tuple):
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise ValueError(f"the parameter {name} must be a text or a list of texts; got {value!r}")
        return tuple(value)
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        raise ValueError(f"the parameter {name} must be of the type {type(default).__name__}; got {value!r}")
    return value


def make_settings(parsed: argparse.Namespace, ros: RosArguments) -> Settings:
    """Options of flags, of -p, of files, in this order, or else their defaults. OSError or ValueError."""
    special = {"__ns": parsed.namespace, "__node": parsed.node}
    remap = list(parsed.remap)
    for rule in ros.remap:
        source, _, target = rule.partition(":=")
        if source in ("__ns", "__node", "__name"):
            special["__node" if source == "__name" else source] = target
        else:
            remap.append(rule)
    namespace = names.check_namespace(special["__ns"] or "/")
    node = names.check_node(special["__node"] or "orbserve")
    full_name = names.resolve(node, namespace, node)
    values: dict[str, Any] = {}
    for path in [*parsed.params_file, *ros.files]:
        values |= read_parameters(path, full_name)
    for rule in ros.parameters:
        name, separator, text = rule.partition(":=")
        if not separator:
            raise ValueError(f"a parameter is NAME:=VALUE; got {rule!r}")
        import yaml

        values[name] = yaml.safe_load(text)
    values.pop("use_sim_time", None)  # every node has it; stamps are those of the images here
    values = {name: check_parameter(name, value) for name, value in values.items()}
    for name in OPTIONS:
        flag = getattr(parsed, name, None)
        if flag is not None:
            values[name] = tuple(flag) if isinstance(flag, list) else flag
    return Settings(**values, namespace=namespace, node=node, remap=tuple(remap))
