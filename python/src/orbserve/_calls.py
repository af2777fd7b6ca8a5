# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Requests and answers of every call, for both clients."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import grpc
from google.protobuf.message import DecodeError

from . import _check, _codec
from ._check import SentFrame
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

# Requests under way of extract_many(): a server that may use 256 MiB has room for so many unfinished bytes.
MOST_BYTES = 16 << 20


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
    """`read(data)`; ServerError for an answer that is no message, or breaks the contract."""
    try:
        return read(data)
    except (DecodeError, ValueError) as error:
        raise unreadable(error) from error


def unreadable(error: Exception) -> ServerError:
    """The error of an answer that is no message, or breaks the contract."""
    text = str(error) if isinstance(error, _check.WrongAnswerError) else f"it cannot be read: {error}"
    return ServerError(grpc.StatusCode.DATA_LOSS, f"the server's answer is wrong: {text}")


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
    parts, sent = frame_parts(image)
    request = b"".join(pipeline_field(1, pipeline) + field(15, *parts))

    def read(data: bytes) -> Features:
        rest, found = _codec.split(data, (15,))
        answer = wire.ExtractResponse.FromString(rest)
        _check.identity("", answer, sent)
        _check.is_set("features", bool(found[15]))
        _check.execution(answer.execution)
        timings, execution = Timings._from_wire(answer.timings), Execution._from_wire(answer.execution)
        return Features._from_wire("features", _codec.join(found[15]), sent, timings, execution)

    return Call(f"{_FEATURES}Extract", request, read)


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
    train_sent = None
    if isinstance(train, Reference):
        parts += _name_field(3, train.name)
    elif isinstance(train, Features):
        parts += field(12, *train._to_wire())
    else:
        frame, train_sent = frame_parts(train)
        parts += field(14, *frame)
    query_sent = None
    if isinstance(query, Features):
        parts += field(13, *query._to_wire())
    else:
        frame, query_sent = frame_parts(query)
        parts += field(15, *frame)

    def side(where: str, given: Any, sent: SentFrame | None, contents: list[memoryview]) -> Features | None:
        _check.side(where, sent is not None, bool(contents))
        if sent is not None:
            return Features._from_wire(where, _codec.join(contents), sent)
        return given if isinstance(given, Features) else None

    def read(data: bytes) -> Matches:
        rest, found = _codec.split(data, (1, 14, 15))
        answer = wire.MatchResponse.FromString(rest)
        _check.execution(answer.execution)
        # A side that was an image comes back as features.
        query_features = side("query_features", query, query_sent, found[14])
        train_features = side("train_features", train, train_sent, found[15])
        query_rows, train_rows = (None if s is None else len(s) for s in (query_features, train_features))
        return Matches._from_wire(
            "matches",
            _codec.join(found[1]),
            query_rows,
            train_rows,
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
        parts += field(15, *frame_parts(content)[0])

    def read(data: bytes) -> StoredReference:
        answer = wire.PutReferenceResponse.FromString(data)
        _check.stored(answer, name)
        return StoredReference(ReferenceInfo._from_wire(answer.reference), tuple(answer.evicted))

    return Call(f"{_FEATURES}PutReference", b"".join(parts), read)


def delete_reference(name: str) -> Call[None]:
    """A reference is no more."""
    request = b"".join(_name_field(1, name))

    def read(data: bytes) -> None:
        wire.DeleteReferenceResponse.FromString(data)

    return Call(f"{_FEATURES}DeleteReference", request, read)


def list_references(page_token: str, listed: Sequence[ReferenceInfo]) -> Call[tuple[References, str]]:
    """One page of the references, and the token of the next one. `listed`: the references of the pages before it."""
    request = wire.ListReferencesRequest(page_token=page_token).SerializeToString()

    def read(data: bytes) -> tuple[References, str]:
        answer = wire.ListReferencesResponse.FromString(data)
        _check.page(answer, listed)
        page = tuple(ReferenceInfo._from_wire(reference) for reference in answer.references)
        return References(page, answer.used_bytes, answer.capacity_bytes), answer.next_page_token

    return Call(f"{_FEATURES}ListReferences", request, read)


def info() -> Call[ServerInfo]:
    """What the server is and has."""

    def read(data: bytes) -> ServerInfo:
        answer = wire.GetServerInfoResponse.FromString(data)
        _check.server_info(answer)
        return ServerInfo._from_wire(answer)

    return Call(f"{_FEATURES}GetServerInfo", b"", read)


def health(service: str) -> Call[bool]:
    """True: serving."""
    # {string service = 1} and {ServingStatus status = 1} of grpc.health.v1.
    request = b"".join(_name_field(1, service)) if service else b""
    return Call(HEALTH_METHOD, request, lambda data: data == bytes((1 << 3, _SERVING)))
