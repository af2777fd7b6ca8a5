# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Requests and answers of every call, for both clients."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import grpc
from google.protobuf.message import DecodeError

from . import _codec
from ._codec import Bytes, field
from ._contract import wire
from ._errors import ServerError
from ._features import Features, Matches
from ._generated import Execution, MatchOptions, Pipeline, ReferenceInfo, ServerInfo, Timings
from ._images import Frame, Image, frame_parts
from ._options import PipelineBase

T = TypeVar("T")

_FEATURES = "/orbserve.v1.Features/"
HEALTH_METHOD = "/grpc.health.v1.Health/Check"
STREAM_METHOD = f"{_FEATURES}StreamFrames"
_SERVING = 1


@dataclass(frozen=True)
class Reference:
    """The name of a stored reference, as the train side of a match."""

    name: str
    """1..128 bytes of printable ASCII."""


@dataclass(frozen=True)
class StoredReference:
    """Answer to `put_reference`."""

    reference: ReferenceInfo
    """The reference that was stored."""

    evicted: tuple[str, ...]
    """References of this client that were deleted to make room, least recently used first."""


@dataclass(frozen=True)
class References:
    """Answer to `list_references`."""

    references: tuple[ReferenceInfo, ...]
    """The references of this client, sorted by name."""

    used_bytes: int
    """Bytes of all clients together."""

    capacity_bytes: int
    """Bytes of the store."""


@dataclass(frozen=True)
class Call(Generic[T]):
    """A call: its method, its request and the reader of its answer."""

    method: str
    request: bytes
    read: Callable[[bytes], T]

    def answer(self, data: bytes) -> T:
        """The answer. ServerError for bytes that are none."""
        return readable(self.read, data)


def readable(read: Callable[[bytes], T], data: bytes) -> T:
    """`read(data)`; ServerError for bytes that are no message."""
    try:
        return read(data)
    except (DecodeError, ValueError) as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> ServerError:
    """The error of an answer that is none."""
    return ServerError(grpc.StatusCode.INTERNAL, f"the answer of the server cannot be read: {error}")


@functools.lru_cache(maxsize=64)
def _pipeline_bytes(pipeline: Pipeline) -> bytes:
    data: bytes = pipeline._to_wire().SerializeToString()
    return data


def pipeline_field(number: int, pipeline: Pipeline | str) -> list[Bytes]:
    """The field `number` with a pipeline, or with a preset that is given by its name."""
    if isinstance(pipeline, str):
        pipeline = Pipeline(preset=pipeline)
    elif not isinstance(pipeline, PipelineBase):
        raise TypeError(f"a pipeline is the name of a preset, or options such as Orb(); got {type(pipeline).__name__}")
    return field(number, _pipeline_bytes(pipeline))


def _name_field(number: int, name: str) -> list[Bytes]:
    """The field `number` with a name."""
    if not isinstance(name, str):
        raise TypeError(f"a name is a str; got {type(name).__name__}")
    return field(number, name.encode())


def extract(image: Image | Frame, pipeline: Pipeline | str) -> Call[Features]:
    """One frame to its features."""
    request = b"".join(pipeline_field(1, pipeline) + field(15, *frame_parts(image)))
    return Call(f"{_FEATURES}Extract", request, _read_extract)


def _read_extract(data: bytes) -> Features:
    rest, found = _codec.split(data, (15,))
    answer = wire.ExtractResponse.FromString(rest)
    timings, execution = Timings._from_wire(answer.timings), Execution._from_wire(answer.execution)
    return Features._from_wire(_codec.join(found[15]), answer, timings, execution)


def match(
    query: Image | Frame | Features,
    train: Image | Frame | Features | Reference,
    options: MatchOptions | None,
    pipeline: Pipeline | str,
) -> Call[Matches]:
    """Two sides to their matches."""
    parts: list[Bytes] = []
    if options is not None:
        parts += field(1, options._to_wire(wire.MatchOptions()).SerializeToString())
    parts += pipeline_field(2, pipeline)
    if isinstance(train, Reference):
        parts += _name_field(3, train.name)
    elif isinstance(train, Features):
        parts += field(12, *train._to_wire())
    else:
        parts += field(14, *frame_parts(train))
    if isinstance(query, Features):
        parts += field(13, *query._to_wire())
    else:
        parts += field(15, *frame_parts(query))
    given = [side if isinstance(side, Features) else None for side in (query, train)]

    def read(data: bytes) -> Matches:
        rest, found = _codec.split(data, (1, 14, 15))
        answer = wire.MatchResponse.FromString(rest)
        # A side that was an image comes back as features, the query in field 14, the train side in field 15.
        computed = (Features._from_wire(_codec.join(found[n])) if found[n] else None for n in (14, 15))
        query_features, train_features = (c if c is not None else g for c, g in zip(computed, given, strict=True))
        return Matches._from_wire(
            _codec.join(found[1]),
            query=query_features,
            train=train_features,
            reference_version=answer.reference_version,
            timings=Timings._from_wire(answer.timings),
            execution=Execution._from_wire(answer.execution),
        )

    return Call(f"{_FEATURES}Match", b"".join(parts), read)


def put_reference(name: str, content: Image | Frame | Features, pipeline: Pipeline | str) -> Call[StoredReference]:
    """Features under a name."""
    parts = _name_field(1, name) + pipeline_field(2, pipeline)
    if isinstance(content, Features):
        parts += field(14, *content._to_wire())
    else:
        parts += field(15, *frame_parts(content))

    def read(data: bytes) -> StoredReference:
        answer = wire.PutReferenceResponse.FromString(data)
        return StoredReference(ReferenceInfo._from_wire(answer.reference), tuple(answer.evicted))

    return Call(f"{_FEATURES}PutReference", b"".join(parts), read)


def delete_reference(name: str) -> Call[None]:
    """A reference is no more."""
    request = wire.DeleteReferenceRequest(name=name).SerializeToString()
    return Call(f"{_FEATURES}DeleteReference", request, lambda data: None)


def list_references(page_token: str) -> Call[tuple[References, str]]:
    """One page of the references, and the token of the next one."""
    request = wire.ListReferencesRequest(page_token=page_token).SerializeToString()

    def read(data: bytes) -> tuple[References, str]:
        answer = wire.ListReferencesResponse.FromString(data)
        listed = tuple(ReferenceInfo._from_wire(reference) for reference in answer.references)
        return References(listed, answer.used_bytes, answer.capacity_bytes), answer.next_page_token

    return Call(f"{_FEATURES}ListReferences", request, read)


def info() -> Call[ServerInfo]:
    """What the server is and has."""

    def read(data: bytes) -> ServerInfo:
        return ServerInfo._from_wire(wire.GetServerInfoResponse.FromString(data))

    return Call(f"{_FEATURES}GetServerInfo", b"", read)


def health(service: str) -> Call[bool]:
    """True: serving."""
    # {string service = 1} and {ServingStatus status = 1} of grpc.health.v1.
    request = b"".join(_name_field(1, service)) if service else b""
    return Call(HEALTH_METHOD, request, lambda data: data == bytes((1 << 3, _SERVING)))
