# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Base classes of the generated enums, options and records, and their way to the wire and back."""

from __future__ import annotations

import dataclasses
import enum
import operator
import os
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
from google.protobuf import text_format

from ._contract import wire
from ._errors import shown

_PipelineT = TypeVar("_PipelineT", bound="PipelineBase")
_RecordT = TypeVar("_RecordT", bound="Record")
_EnumT = TypeVar("_EnumT", bound="WireEnum")


class WireEnum(enum.IntEnum):
    """An enum of the wire contract. A value can be had by its name, too: `Detector("shi-tomasi")`."""

    @classmethod
    def of(cls: type[_EnumT], value: _EnumT | str | int) -> _EnumT:
        """The value itself, or the one of a name or a number. ValueError where there is none."""
        return cls(value)  # type: ignore[arg-type]  # _missing_() takes names

    @classmethod
    def _missing_(cls, value: object) -> WireEnum:
        if isinstance(value, str):
            member = cls.__members__.get(value.upper().replace("-", "_"))
            if member is not None:
                return member
        raise ValueError(f"{cls.__name__} must be one of {', '.join(cls.__members__)}; got {value!r}")


def enum_of(kind: type[_EnumT], number: int) -> _EnumT | None:
    """The value of a number of an answer. None if it is not set, or if only a newer server knows it."""
    return kind(number) if number in kind._value2member_map_ else None


def _option(path: str, default: Any = None) -> Any:
    """A field of options. `path` names its field in the message."""
    return dataclasses.field(default=default, metadata={"path": path})


_TYPES: dict[type, dict[str, Any]] = {}
_READERS: dict[type, list[tuple[str, Any]]] = {}


def _types(kind: type) -> dict[str, Any]:
    """Types of the fields of a dataclass, without None."""
    if kind in _TYPES:
        return _TYPES[kind]
    types = {}
    for name, hint in typing.get_type_hints(kind).items():
        members = [member for member in typing.get_args(hint) if member is not type(None)]
        types[name] = members[0] if len(members) == 1 else hint
    _TYPES[kind] = types  # complete, as other threads may take it
    return types


def assign(message: Any, path: str, value: Any, shown: str) -> None:
    """Sets the field `path` ("group.name" or "name") of a message."""
    *groups, name = path.split(".")
    for group in groups:
        message = getattr(message, group)
    try:
        if isinstance(value, tuple):
            getattr(message, name)[:] = value
        else:
            setattr(message, name, value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{shown}: {error}") from None


def _read(value: Any, kind: Any) -> Any:
    """Value of an attribute of type `kind` for the value of a message's field."""
    if kind is float:  # the shortest decimal that is the same float32, so that 1.2 comes back as 1.2
        return float(str(np.float32(value)))
    if typing.get_origin(kind) is tuple:
        return tuple(value)
    return enum_of(kind, value) if _is_enum(kind) else value


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, WireEnum)


def _named(options: Any) -> None:
    """Replaces names of enum values by the values, and arrays of numbers by tuples."""
    for name, kind in _types(type(options)).items():
        value = getattr(options, name)
        if isinstance(value, str) and _is_enum(kind):
            object.__setattr__(options, name, kind.of(value))
        elif value is not None and typing.get_origin(kind) is tuple:
            try:
                numbers = np.asarray(value, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise type(error)(f"{name}: {error}") from None
            object.__setattr__(options, name, tuple(numbers.ravel().tolist()))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Base of options: dataclasses whose attributes stand for the default where they are None."""

    def __post_init__(self) -> None:
        """Accepts names in the place of the values of enums, and arrays in the place of tuples."""
        _named(self)

    def _given(self, base: Options | None = None) -> Iterator[tuple[str, Any]]:
        """Names and values of the options that are not None and differ from those of `base`."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is not None and (base is None or value != getattr(base, field.name)):
                yield field.name, value

    def _to_wire(self, message: Any) -> Any:
        for name, value in self._given():
            assign(message, name, value, name)
        return message


@dataclass(frozen=True, kw_only=True)
class PipelineBase:
    """Base of `Pipeline`."""

    preset: str = "orb"

    def __post_init__(self) -> None:
        """Accepts names in the place of the values of enums."""
        _named(self)

    def _to_wire(self) -> Any:
        """Message with the preset and the options that differ from the defaults of the class."""
        message = wire.Pipeline(preset=self.preset)
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None or value == field.default or field.name == "preset":
                continue
            if isinstance(value, Options):
                base = field.default if isinstance(field.default, Options) else None
                for name, option in value._given(base):
                    assign(message, f"{field.name}.{name}", option, f"{field.name}.{name}")
            else:
                assign(message, field.metadata["path"], value, field.name)
        return message

    @classmethod
    def load(cls: type[_PipelineT], path: str | os.PathLike[str]) -> _PipelineT:
        """Reads a file with an `orbserve.v1.Pipeline` in protobuf's text format.

        Options that the file does not set are None. ValueError for a file that is no such text; it names the line.
        """
        with open(path, encoding="utf-8") as file:
            try:
                message = text_format.Parse(file.read(), wire.Pipeline())
            except text_format.ParseError as error:
                raise ValueError(shown(f"{os.fspath(path)}: {error}")) from None
        return cls._from_wire(message)

    @classmethod
    def _from_wire(cls: type[_PipelineT], message: Any) -> _PipelineT:
        """The options that are set in the message; all of them in an answer."""
        names = {field.metadata.get("path"): field.name for field in dataclasses.fields(cls)}
        types = _types(cls)
        values: dict[str, Any] = {}
        for group, content in message.ListFields():
            if group.name == "preset":
                values["preset"] = content
            elif group.name in types:
                kind = types[group.name]
                inner = _types(kind)
                values[group.name] = kind(**{f.name: _read(v, inner[f.name]) for f, v in content.ListFields()})
            else:
                for field, value in content.ListFields():
                    name = names[f"{group.name}.{field.name}"]
                    values[name] = _read(value, types[name])
        return cls(**values)


@dataclass(frozen=True, kw_only=True)
class Record:
    """Base of records: dataclasses with the fields of a message of an answer."""

    _message: ClassVar[str]  # name of the message

    @classmethod
    def _from_wire(cls: type[_RecordT], message: Any) -> _RecordT:
        record = object.__new__(cls)
        # The constructor of a frozen dataclass sets each attribute by a call, which takes longer than all else here.
        record.__dict__.update({name: read(message) for name, read in _READERS.get(cls) or _readers(cls)})
        return record


def _readers(cls: type[Record]) -> list[tuple[str, Any]]:
    """Functions that take the fields of a record from its message, by name."""
    fields = getattr(wire, cls._message).DESCRIPTOR.fields_by_name
    types = _types(cls)
    _READERS[cls] = [(f.name, _reader(f.name, types[f.name], fields[f.name])) for f in dataclasses.fields(cls)]
    return _READERS[cls]


def _reader(name: str, kind: Any, field: Any) -> Any:
    if typing.get_origin(kind) is tuple:
        item = typing.get_args(kind)[0]
        if isinstance(item, type) and issubclass(item, Record):
            return lambda message: tuple(item._from_wire(entry) for entry in getattr(message, name))
        return lambda message: tuple(getattr(message, name))
    if field.message_type is not None:
        return lambda message: kind._from_wire(getattr(message, name)) if message.HasField(name) else None
    if _is_enum(kind):
        return lambda message: enum_of(kind, getattr(message, name))
    if field.containing_oneof is not None:  # proto3's `optional`
        return lambda message: getattr(message, name) if message.HasField(name) else None
    return operator.attrgetter(name)
