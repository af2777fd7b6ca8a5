# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Writes the generated files of the package: src/orbserve/contract.binpb and the folder src/orbserve/_generated.

Usage: generate.py [--check] [--protoc PROTOC] [--program ORBSERVE]

The file is the wire contract as a descriptor set. The folder has its enums, its options and its records as Python
classes with the comments of the contract, and one class for each preset with the values of `orbserve presets --json`.
With --check nothing is written, and the exit code is 1 if a file differs from what would be written.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "orbserve"
PROTO_ROOT = Path(__file__).resolve().parents[2] / "proto"
PROTO = "orbserve/v1/orbserve.proto"
WIDTH = 100
HEAD = """\
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Written by tools/generate.py from the wire contract and the server's presets. Do not edit.
"""
# The generated classes stand on these classes of `_options`.
BASES = ("Options", "PipelineBase", "Record", "WireEnum", "_option")

# Groups of a pipeline whose options are attributes of `Pipeline` itself; `match` and `track` are classes of their own,
# as their names of options are used in the other groups, too.
FLAT_GROUPS = ("pyramid", "detect", "suppress", "select", "describe", "sift")
# Names of `Pipeline` that differ from the contract, where they stand without their group.
RENAMED = {"pyramid.source": "pyramid_source"}

# Messages with options: every attribute may be None. Class name by message name.
OPTIONS = {"MatchOptions": "MatchOptions", "TrackOptions": "TrackOptions", "FrameParameters": "FrameParameters"}
# Messages of answers, which become records with all messages in them: every attribute is set.
RECORDS = ("FrameTimings", "Execution", "ReferenceInfo", "GetServerInfoResponse", "StreamOpened")
# Records with another name than their message.
RECORD_NAMES = {"FrameTimings": "Timings", "GetServerInfoResponse": "ServerInfo"}
# Fields of records that may be absent.
OPTIONAL = {"PresetInfo.pipeline"}

Field = descriptor_pb2.FieldDescriptorProto
SCALARS: dict[int, str] = {
    Field.TYPE_UINT32: "int",
    Field.TYPE_UINT64: "int",
    Field.TYPE_INT32: "int",
    Field.TYPE_INT64: "int",
    Field.TYPE_FLOAT: "float",
    Field.TYPE_DOUBLE: "float",
    Field.TYPE_BOOL: "bool",
    Field.TYPE_STRING: "str",
}


def run_protoc(protoc: str, source_info: bool) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        command = [protoc, f"--proto_path={PROTO_ROOT}", f"--descriptor_set_out={out}", "--include_imports"]
        subprocess.run([*command, *(["--include_source_info"] if source_info else []), PROTO], check=True)
        return out.read_bytes()


class Contract:
    """The contract's file with its comments."""

    def __init__(self, descriptor_set: bytes) -> None:
        files = descriptor_pb2.FileDescriptorSet.FromString(descriptor_set)
        self.file = next(file for file in files.file if file.name == PROTO)
        self._comments = {
            tuple(l.path): l.leading_comments + l.trailing_comments for l in self.file.source_code_info.location
        }
        self.messages = {m.name: (m, (4, i)) for i, m in enumerate(self.file.message_type)}
        self.enums = {e.name: (e, (5, i)) for i, e in enumerate(self.file.enum_type)}

    def comment(self, *path: int) -> str:
        """What the contract says of a descriptor."""
        text = " ".join(self._comments.get(path, "").split())
        text = re.sub(r"^-{10,}.*", "", text)
        return text if text.startswith("orb: ") else text[:1].upper() + text[1:]

    def fields(self, message: str) -> list[tuple[Any, str]]:
        """Fields with their comments, in the order of the file."""
        descriptor, path = self.messages[message]
        return [(field, self.comment(*path, 2, i)) for i, field in enumerate(descriptor.field)]


def docstring(text: str, indent: int) -> str:
    if not text:
        return ""
    margin = " " * indent
    text = text.rstrip(".") + "."
    if len(text) + indent + 6 <= WIDTH:
        return f'{margin}"""{text}"""\n'
    lines = textwrap.wrap(text, WIDTH - indent - 3, break_long_words=False, break_on_hyphens=False)
    return f'{margin}"""' + f"\n{margin}".join(lines) + f'\n{margin}"""\n'


def prefix_of(enum: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", enum).upper() + "_"


def python_type(field: Any) -> str:
    name: str = field.type_name.rpartition(".")[2]
    if field.type == Field.TYPE_ENUM:
        return name
    if field.type == Field.TYPE_MESSAGE:
        return RECORD_NAMES.get(name, name)
    return SCALARS[int(field.type)]


def write_enum(contract: Contract, name: str) -> str:
    enum, path = contract.enums[name]
    text = f"\n\nclass {name}(WireEnum):\n" + docstring(contract.comment(*path) or f"`{name}` of the wire contract", 4)
    for i, value in enumerate(enum.value):
        if value.number == 0:
            continue  # "not given", for which None stands here
        text += f"\n    {value.name.removeprefix(prefix_of(name))} = {value.number}\n"
        text += docstring(contract.comment(*path, 2, i), 4)
    return text


def write_option(name: str, field: Any, comment: str, path: str) -> str:
    kind = python_type(field)
    if field.label == Field.LABEL_REPEATED:
        kind = f"tuple[{kind}, ...]"
    text = f'\n    {name}: {kind} | None = _option("{path}")\n'
    return text + docstring(comment, 4)


def write_options(contract: Contract, message: str, name: str) -> str:
    _, path = contract.messages[message]
    text = f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}(Options):\n"
    text += docstring(f"{contract.comment(*path).rstrip('.')}. None stands for the default", 4)
    for field, comment in contract.fields(message):
        text += write_option(field.name, field, comment, field.name)
    return text


def write_record(contract: Contract, message: str, name: str) -> str:
    _, path = contract.messages[message]
    text = f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}(Record):\n"
    text += docstring(contract.comment(*path) or f"`{message}` of the wire contract", 4)
    text += f'\n    _message = "{message}"\n'
    for field, comment in contract.fields(message):
        kind = python_type(field)
        if field.label == Field.LABEL_REPEATED:
            kind = f"tuple[{kind}, ...]"
        elif field.proto3_optional or field.type == Field.TYPE_ENUM or f"{message}.{field.name}" in OPTIONAL:
            kind += " | None"
        text += f"\n    {field.name}: {kind}\n" + docstring(comment, 4)
    return text


def records(contract: Contract, messages: Iterable[str]) -> list[str]:
    """The messages with all messages in them, each behind those that it has."""
    ordered: list[str] = []
    for message in messages:
        inner = (f.type_name.rpartition(".")[2] for f, _ in contract.fields(message) if f.type == Field.TYPE_MESSAGE)
        for name in [*records(contract, (name for name in inner if name != "Pipeline")), message]:
            if name not in ordered:
                ordered.append(name)
    return ordered


def pipeline_attributes(contract: Contract) -> list[tuple[str, str, Any, str]]:
    """Name of the attribute, its path in the contract, its field and its comment, for all groups that are flat."""
    attributes = []
    for group, _ in contract.fields("Pipeline"):
        if group.name in FLAT_GROUPS:
            for field, comment in contract.fields(group.type_name.rpartition(".")[2]):
                path = f"{group.name}.{field.name}"
                attributes.append((RENAMED.get(path, field.name), path, field, comment))
    return attributes


def write_pipeline(contract: Contract) -> str:
    text = "\n\n@dataclass(frozen=True, kw_only=True)\nclass Pipeline(PipelineBase):\n"
    text += docstring(
        "Options of the pipeline: which stages run and with which parameters. None stands for the preset's value. "
        "Names and values are those of the wire contract. A preset's class, such as `Orb`, has its values. "
        + contract.comment(*contract.messages["Pipeline"][1]),
        4,
    )
    comments = {field.name: comment for field, comment in contract.fields("Pipeline")}
    text += '\n    preset: str = "orb"\n' + docstring(comments["preset"], 4)
    for name, path, field, comment in pipeline_attributes(contract):
        text += write_option(name, field, comment, path)
    for name, kind in (("match", "MatchOptions"), ("track", "TrackOptions")):
        text += f"\n    {name}: {kind} | None = None\n" + docstring(comments[name], 4)
    return text


def literal(field: Any, value: Any) -> str:
    if field.type == Field.TYPE_ENUM:
        return "None" if value == "UNSPECIFIED" else f"{python_type(field)}.{value}"
    if field.label == Field.LABEL_REPEATED:
        return repr(tuple(value)) if value else "None"
    if field.type in (Field.TYPE_FLOAT, Field.TYPE_DOUBLE):
        return repr(float(value))
    return repr(value)


def preset_attributes(contract: Contract, preset: dict[str, Any]) -> dict[str, str]:
    """The text of each attribute that a preset gives a value."""
    values = preset["pipeline"]
    attributes = {}
    for attribute, path, field, _ in pipeline_attributes(contract):
        group, key = path.split(".")
        kind = python_type(field) + (" | None" if values[group][key] == "UNSPECIFIED" else "")
        attributes[attribute] = f'    {attribute}: {kind} = _option("{path}", {literal(field, values[group][key])})\n'
    for group, kind in (("match", "MatchOptions"), ("track", "TrackOptions")):
        arguments = [f"{f.name}={literal(f, values[group][f.name])}" for f, _ in contract.fields(kind)]
        attributes[group] = f"    {group}: {kind} = {kind}(\n        " + ",\n        ".join(arguments) + ",\n    )\n"
    return attributes


def write_presets(contract: Contract, presets: list[dict[str, Any]]) -> str:
    """Classes with the values of the presets: those of `orb`, and what the others have in their place."""
    common = preset_attributes(contract, next(preset for preset in presets if preset["name"] == "orb"))
    text = "\n\n@dataclass(frozen=True, kw_only=True)\nclass _Values(Pipeline):\n"
    text += docstring("Values of `orb`. A preset below has them where it does not name its own", 4) + "\n"
    text += "".join(common.values())
    classes = []
    for preset in presets:
        name = "".join(word.capitalize() for word in preset["name"].split("-"))
        text += f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}(_Values):\n"
        text += docstring(f"The preset `{preset['name']}`: {preset['description']}", 4)
        text += f'\n    preset: str = "{preset["name"]}"\n'
        own = preset_attributes(contract, preset)
        text += "".join(line for attribute, line in own.items() if line != common[attribute])
        classes.append((preset["name"], name))
    text += "\n\nPRESETS: dict[str, type[Pipeline]] = {\n"
    text += "".join(f'    "{preset}": {name},\n' for preset, name in classes)
    return text + '}\n"""Classes of the presets by the names of the presets."""\n'


def write_module(title: str, body: str, others: dict[str, str]) -> str:
    """A module with `body`, and what it imports: names that it uses, of the package and of the modules `others`."""
    imports = []
    for module, names in {".._options": BASES, **{f".{other}": public_names(t) for other, t in others.items()}}.items():
        used = sorted(name for name in names if re.search(rf"(?<![\w`\"]){name}(?![\w`\"])", body))
        if used:
            line = f"from {module} import {', '.join(used)}\n"
            if len(line) > WIDTH:
                line = f"from {module} import (\n" + "".join(f"    {name},\n" for name in used) + ")\n"
            imports.append(line)
    head = HEAD + f'"""{title} of the wire contract."""\n\nfrom __future__ import annotations\n\n'
    if "@dataclass" in body:
        head += "from dataclasses import dataclass\n\n"
    listed = "".join(f'    "{name}",\n' for name in sorted(public_names(body)))
    return head + "".join(imports) + body + f"\n__all__ = [\n{listed}]\n"


def public_names(text: str) -> list[str]:
    return re.findall(r"(?m)^(?:class )?([A-Z]\w*)(?=[(:])", text)


def write_modules(contract: Contract, presets: list[dict[str, Any]]) -> dict[str, str]:
    """The text of each file of the folder `_generated`."""
    enums = "".join(write_enum(contract, name) for name in contract.enums)
    options = "".join(write_options(contract, message, name) for message, name in OPTIONS.items())
    options += write_pipeline(contract)
    values = write_presets(contract, presets)
    answers = "".join(write_record(contract, m, RECORD_NAMES.get(m, m)) for m in records(contract, RECORDS))
    modules = {
        "enums": write_module("Enums", enums, {}),
        "options": write_module("Options", options, {"enums": enums}),
        "presets": write_module("Presets", values, {"enums": enums, "options": options}),
        "records": write_module("Records", answers, {"enums": enums, "options": options}),
    }
    package = HEAD + '"""Enums, options, presets and records of the wire contract."""\n\n'
    package += "".join(f"from .{name} import *  # noqa: F403\n" for name in modules)
    listed = sorted(name for text in (enums, options, values, answers) for name in public_names(text))
    package += "\n__all__ = [\n" + "".join(f'    "{name}",\n' for name in listed) + "]\n"
    return {"__init__.py": package, **{f"{name}.py": text for name, text in modules.items()}}


def descriptors(data: bytes) -> list[Any]:
    """The files of a descriptor set, without what versions of protoc write differently."""
    files = descriptor_pb2.FileDescriptorSet.FromString(data).file
    return [file for file in files if file.package == "orbserve.v1"]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only")
    parser.add_argument("--protoc", default="protoc", help="the protobuf compiler")
    parser.add_argument("--program", default="orbserve", help="the program orbserve, whose presets are written")
    arguments = parser.parse_args()
    listed = subprocess.run([arguments.program, "presets", "--json"], check=True, capture_output=True).stdout
    presets = [preset for preset in json.loads(listed)["presets"] if preset["available"]]
    binary = run_protoc(arguments.protoc, source_info=False)
    modules = write_modules(Contract(run_protoc(arguments.protoc, source_info=True)), presets)
    if not arguments.check:
        (PACKAGE / "contract.binpb").write_bytes(binary)
        (PACKAGE / "_generated").mkdir(exist_ok=True)
        for name, text in modules.items():
            (PACKAGE / "_generated" / name).write_text(text)
        return 0
    differing = []
    if descriptors((PACKAGE / "contract.binpb").read_bytes()) != descriptors(binary):
        differing.append("contract.binpb")
    for name, text in modules.items():
        path = PACKAGE / "_generated" / name
        if not path.exists() or path.read_text() != text:
            differing.append(f"_generated/{name}")
    for name in differing:
        print(f"src/orbserve/{name} differs from the contract or the presets: run tools/generate.py", file=sys.stderr)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
