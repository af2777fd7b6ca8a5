# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A server that breaks the contract: every wrong answer is refused by both clients, with the name of its field."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import numpy as np
import pytest

import orbserve
from orbserve import _errors
from orbserve._contract import wire

IMAGE = np.zeros((48, 64), np.uint8)
FEATURES = orbserve.Features(np.zeros((3, 2), np.float32), descriptors=np.zeros((3, 32), np.uint8))
NAN, INF = float("nan"), float("inf")

Change = Callable[[Any], object]


class LyingServer:
    """A server on a free port whose answers a test chooses."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {}  # of a method: bytes, or a function of the request
        self.stream: Callable[[Iterator[Any]], Iterable[Any]] = lambda requests: ()
        self._pool = ThreadPoolExecutor()
        self._server = grpc.server(self._pool)
        unary = grpc.unary_unary_rpc_method_handler
        names = ("Extract", "Match", "PutReference", "DeleteReference", "ListReferences", "GetServerInfo")
        handlers: dict[str, Any] = {name: unary(self._answer_of(name)) for name in names}
        handlers["StreamFrames"] = grpc.stream_stream_rpc_method_handler(self._run_stream)
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler("orbserve.v1.Features", handlers),),
        )
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        self._server.start()

    def _answer_of(self, name: str) -> Callable[[bytes, Any], bytes]:
        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            found = self.answers[name]
            data: bytes = found(request, context) if callable(found) else found
            return data

        return answer

    def _run_stream(self, requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        for message in self.stream(map(wire.StreamFramesRequest.FromString, requests)):
            yield message if isinstance(message, bytes) else message.SerializeToString()

    def stop(self) -> None:
        self._server.stop(0).wait()
        self._pool.shutdown(wait=False)


@pytest.fixture
def lying() -> Iterator[LyingServer]:
    server = LyingServer()
    yield server
    server.stop()


def feature_set() -> Any:
    """Three features of IMAGE, as a server sends them."""
    return wire.FeatureSet(
        x=[10, 20, 30],
        y=[10, 20, 30],
        size=[31, 31, 37],
        angle=[0, 90, 359.5],
        response=[3, -2, 1],
        octave=[0, 0, 1],
        descriptor_bytes=32,
        descriptor_type=orbserve.DescriptorType.RBRIEF_256,
        image_width_px=64,
        image_height_px=48,
        descriptors=bytes(96),
    )


def match_set() -> Any:
    return wire.MatchSet(query_index=[0, 1, 1], train_index=[2, 1, 0], distance=[0, 5, 256])


def status(code: int = 3) -> Any:
    return wire.Status(code=code, reason="BAD_IMAGE", message="no")


def reference(name: str = "a") -> Any:
    return wire.ReferenceInfo(name=name, version=1, feature_count=3, descriptor_bytes=32, size_bytes=700)


# Each call has its method, an honest answer, and the call itself.
CALLS: dict[str, tuple[str, Callable[[], Any], Callable[[Any], Any]]] = {
    "extract": (
        "Extract",
        lambda: wire.ExtractResponse(features=feature_set()),
        lambda client: client.extract(IMAGE),
    ),
    "given": (
        "Extract",
        lambda: wire.ExtractResponse(features=changed(feature_set(), lambda f: f.source_index.extend([0, 2, 3]))),
        lambda client: client.extract(IMAGE, keypoints=orbserve.Keypoints(np.ones((4, 2)))),
    ),
    "match": (
        "Match",
        lambda: wire.MatchResponse(matches=match_set(), query_features=feature_set()),
        lambda client: client.match(IMAGE, FEATURES),
    ),
    "put": (
        "PutReference",
        lambda: wire.PutReferenceResponse(reference=reference(), evicted=["b"]),
        lambda client: client.put_reference("a", FEATURES),
    ),
    "list": (
        "ListReferences",
        lambda: wire.ListReferencesResponse(references=[reference("a"), reference("b")]),
        lambda client: client.list_references(),
    ),
    "info": (
        "GetServerInfo",
        lambda: wire.GetServerInfoResponse(
            version="0.1.0",
            limits=wire.ServerLimits(max_side_px=8192, max_keypoints=100000),
            power_rails=[wire.PowerRail(rail="a", watts=3)],
        ),
        lambda client: client.info(),
    ),
}


def changed(message: Any, change: Change) -> Any:
    change(message)
    return message


def columns(change: Change) -> Change:
    """A change of the features of an answer."""
    return lambda answer: change(answer.features)


def put(column: str, row: int, value: float) -> Change:
    """A change of one number of a column."""
    return lambda message: getattr(message, column).__setitem__(row, value)


def set_to(**fields: Any) -> Change:
    def change(message: Any) -> None:
        for name, value in fields.items():
            setattr(message, name, value)

    return change


def without_last(name: str) -> Change:
    return lambda message: getattr(message, name).pop()


WRONG_CALLS: list[tuple[str, Change | bytes, str]] = [
    # Bytes that are no message.
    ("extract", b"\xff\xff\xff", "it cannot be read"),
    ("extract", b"", "features is not set; allowed: set"),
    ("extract", b"\x7a\x03\x0a\x01\x00", "it cannot be read: a column of floats has 1 bytes"),
    ("info", b"\x0a\x01\xff", "it cannot be read"),
    # The frame of the answer.
    ("extract", set_to(sequence=5), "sequence is 5; allowed: 0, that of the frame"),
    ("extract", set_to(timestamp_ns=-1), "timestamp_ns is -1; allowed: 0, that of the frame"),
    # Columns of other lengths.
    *(
        ("extract", columns(without_last(name)), f"features.{name} is a list of 2; allowed: 3")
        for name in ("y", "size", "angle", "response", "octave")
    ),
    ("extract", columns(without_last("x")), "features.y is a list of 3; allowed: 2"),
    ("extract", columns(lambda f: f.ClearField("size")), "features.size is a list of 0; allowed: 3"),
    ("extract", columns(lambda f: f.ClearField("octave")), "features.octave is a list of 0; allowed: 3"),
    ("extract", columns(lambda f: f.source_index.append(0)), "features.source_index is a list of 1; allowed: 0"),
    (
        "extract",
        columns(set_to(descriptors=bytes(95))),
        "features.descriptors is 95 bytes; allowed: 96 bytes, for 3 rows",
    ),
    ("extract", columns(set_to(descriptors=bytes(128))), "features.descriptors is 128 bytes; allowed: 96 bytes"),
    ("extract", columns(set_to(descriptor_bytes=0)), "features.descriptor_bytes is 0; allowed: 32, those of"),
    ("extract", columns(set_to(descriptor_bytes=2**32 - 1)), "features.descriptor_bytes is 4294967295; allowed: 32"),
    (
        "extract",
        columns(set_to(descriptor_bytes=7, descriptor_type=0)),
        "features.descriptor_bytes is 7; allowed: 0, 4, 32, 64 or 128",
    ),
    # Numbers that are none, or too large.
    ("extract", columns(put("x", 1, NAN)), "features.x[1] is nan; allowed: 0 to 64"),
    ("extract", columns(put("x", 2, 1e30)), "features.x[2] is 1"),
    ("extract", columns(put("x", 0, -1)), "features.x[0] is -1.0; allowed: 0 to 64"),
    ("extract", columns(put("y", 0, 49)), "features.y[0] is 49.0; allowed: 0 to 48"),
    ("extract", columns(put("y", 2, -INF)), "features.y[2] is -inf; allowed: 0 to 48"),
    ("extract", columns(put("size", 1, INF)), "features.size[1] is inf; allowed: finite numbers from 0"),
    ("extract", columns(put("size", 1, -1)), "features.size[1] is -1.0; allowed: finite numbers from 0"),
    ("extract", columns(put("angle", 0, 361)), "features.angle[0] is 361.0; allowed: -1 to 360"),
    ("extract", columns(put("response", 0, NAN)), "features.response[0] is nan; allowed: finite numbers"),
    ("extract", columns(put("octave", 0, -1)), "features.octave[0] is -1; allowed: 0 to 15"),
    ("extract", columns(put("octave", 0, 2**31 - 1)), "features.octave[0] is 2147483647; allowed: 0 to 15"),
    ("extract", columns(set_to(image_width_px=65)), "features.image_width_px is 65; allowed: 64 to 64"),
    ("extract", columns(set_to(image_height_px=0)), "features.image_height_px is 0; allowed: 48 to 48"),
    (
        "extract",
        lambda answer: setattr(answer.execution, "energy_joules", NAN),
        "execution.energy_joules is nan; allowed: a finite number from 0",
    ),
    # Keypoints that were given.
    ("given", columns(put("source_index", 2, 4)), "features.source_index[2] is 4; allowed: 0 to 3"),
    ("given", columns(put("source_index", 2, 2**32 - 1)), "features.source_index[2] is 4294967295; allowed: 0 to 3"),
    ("given", columns(put("source_index", 2, 2)), "features.source_index[2] is 2 behind 2; allowed: rows of the"),
    ("given", columns(lambda f: f.ClearField("source_index")), "features.source_index is a list of 0; allowed: 3"),
    ("given", columns(put("angle", 0, 1000)), "features.angle[0] is 1000.0; allowed: -720 to 720"),
    # Matches.
    ("match", lambda a: a.matches.train_index.pop(), "matches.train_index is a list of 2; allowed: 3"),
    ("match", lambda a: a.matches.ClearField("distance"), "matches.distance is a list of 0; allowed: 3"),
    ("match", lambda a: put("query_index", 2, 3)(a.matches), "matches.query_index[2] is 3; allowed: 0 to 2"),
    ("match", lambda a: put("train_index", 0, 3)(a.matches), "matches.train_index[0] is 3; allowed: 0 to 2"),
    ("match", lambda a: put("train_index", 0, 2**32 - 1)(a.matches), "matches.train_index[0] is 4294967295"),
    ("match", lambda a: put("distance", 2, 8323201)(a.matches), "distance[2] is 8323201; allowed: 0 to 8323200"),
    ("match", lambda a: put("query_index", 0, 2)(a.matches), "matches.query_index[1] is 1 behind 2; allowed: rows in"),
    ("match", lambda a: put("distance", 1, 256)(a.matches) or put("distance", 2, 1)(a.matches), "is 1 behind 256"),
    ("match", lambda a: a.ClearField("query_features"), "query_features is not set; allowed: set"),
    (
        "match",
        lambda a: a.train_features.SetInParent(),
        "train_features is set; allowed: not set, as features were sent",
    ),
    ("match", lambda a: a.query_features.y.pop(), "query_features.y is a list of 2; allowed: 3"),
    # References.
    ("put", lambda a: a.ClearField("reference"), "reference.name is ''; allowed: 1 to 128 bytes of printable ASCII"),
    ("put", lambda a: set_to(name="b")(a.reference), "reference.name is 'b'; allowed: 'a'"),
    ("put", lambda a: set_to(version=0)(a.reference), "reference.version is 0; allowed: 1 to"),
    (
        "put",
        lambda a: a.evicted.append("é\x1b[31m"),
        r"evicted[1] is 'é\x1b[31m'; allowed: 1 to 128 bytes of printable",
    ),
    ("list", lambda a: set_to(name="a\nb")(a.references[1]), r"references[1].name is 'a\nb'; allowed: 1 to 128 bytes"),
    ("list", lambda a: set_to(name="a")(a.references[1]), "references[1].name is 'a'; allowed: names behind 'a'"),
    ("list", lambda a: a.references.extend([reference()] * 999), "references is a list of 1001; allowed: 0 to 1000"),
    ("list", lambda a: set_to(feature_count=2**31)(a.references[0]), "references[0].feature_count is 2147483648"),
    ("list", set_to(next_page_token="b" * 5000), "next_page_token is a text of 5000 characters; allowed: up to 4096"),
    # The server.
    ("info", lambda a: a.ClearField("limits"), "limits is not set; allowed: set"),
    ("info", lambda a: set_to(max_side_px=0)(a.limits), "limits.max_side_px is 0; allowed: 1 to 32767"),
    ("info", lambda a: set_to(watts=NAN)(a.power_rails[0]), "power_rails[0].watts is nan; allowed: a finite number"),
    ("info", lambda a: a.backends.extend(["a"] * 1025), "backends is a list of 1025; allowed: 0 to 1024"),
    ("info", set_to(version="a" * 4097), "version is a text of 4097 characters; allowed: up to 4096"),
]


def run_call(address: str, call: Callable[[Any], Any], asynchronous: bool) -> Any:
    if asynchronous:

        async def run() -> Any:
            async with orbserve.AsyncClient(address, timeout=20) as client:
                return await call(client)

        return asyncio.run(run())
    with orbserve.Client(address, timeout=20) as client:
        return call(client)


def check_error(error: orbserve.OrbserveError, text: str) -> None:
    assert error.code == grpc.StatusCode.DATA_LOSS
    assert error.reason == ""
    assert not error.may_pass
    assert str(error).startswith("DATA_LOSS: the server's answer is wrong: ")
    assert text in error.message
    assert str(error).isprintable()


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("call", CALLS)
def test_right_answers_are_taken(lying: LyingServer, call: str, asynchronous: bool) -> None:
    method, honest, run = CALLS[call]
    lying.answers[method] = honest().SerializeToString()
    assert run_call(lying.address, run, asynchronous) is not None


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(("call", "change", "text"), WRONG_CALLS)
def test_wrong_answers_are_refused(
    lying: LyingServer, call: str, change: Change | bytes, text: str, asynchronous: bool
) -> None:
    method, honest, run = CALLS[call]
    lying.answers[method] = change if isinstance(change, bytes) else changed(honest(), change).SerializeToString()
    with pytest.raises(orbserve.ServerError) as caught:
        run_call(lying.address, run, asynchronous)
    check_error(caught.value, text)


def pages(kind: str) -> Callable[[bytes, Any], bytes]:
    """An answer to ListReferences that always names a further page; gives up after many of them."""
    numbers = itertools.count()

    def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
        number = next(numbers)
        if number > 500:
            context.abort(grpc.StatusCode.ABORTED, "the client has taken 500 pages")
        names = {
            "empty": [],
            "the same": [f"{i:03}" for i in range(10)],
            "falling": [f"{900 - number:03}"],
            "endless": [f"{number:06}-{i:03}" for i in range(10)],
        }[kind]
        listed = wire.ListReferencesResponse(references=map(reference, names), next_page_token=f"t{number}")
        data: bytes = listed.SerializeToString()
        return data

    return answer


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "empty",
            "next_page_token is set on a page without references; allowed: not set, as pages must come to an end",
        ),
        ("the same", "references[0].name is '000'; allowed: names behind '009', as they are sorted"),
        ("falling", "references[0].name is '899'; allowed: names behind '900', as they are sorted"),
        ("endless", "references of all pages is a list of 2010; allowed: 0 to 2000"),
    ],
)
def test_pages_come_to_an_end(
    lying: LyingServer, kind: str, text: str, asynchronous: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orbserve._check._MAX_LISTED", 2000)
    lying.answers["ListReferences"] = pages(kind)
    with pytest.raises(orbserve.ServerError) as caught:
        run_call(lying.address, lambda client: client.list_references(), asynchronous)
    check_error(caught.value, text)


# -- streams -----------------------------------------------------------------------------------------------------------


def opened(**fields: Any) -> Any:
    return wire.StreamFramesResponse(opened=wire.StreamOpened(**{"stream_id": 1, "max_in_flight": 8, **fields}))


def result(number: int, **fields: Any) -> Any:
    """The honest result of the frame with this number."""
    features = feature_set() if "status" not in fields else None
    values = {"sequence": number, "timestamp_ns": 100 + number, "features": features, **fields}
    return wire.StreamFramesResponse(result=wire.FrameResult(**values))


def going_away() -> Any:
    return wire.StreamFramesResponse(going_away=wire.GoingAway(status=wire.Status(code=14, reason="DRAINING")))


def track(number: int, **fields: Any) -> Any:
    return wire.Track(**{"id": number, "x": 5, "y": 5, "gain": 1, **fields})


def ended(number: int) -> Any:
    return wire.EndedTrack(id=number, reason=1)


def matched(target: int, **fields: Any) -> Any:
    return wire.FrameMatches(**{"target": target, "matches": match_set(), **fields})


PREVIOUS, KEYFRAME, REFERENCE = 1, 2, 3
MANY = 2000  # of what a test calls endless, so that a client that takes it comes back

# Answers to an opening and three frames.
WRONG_STREAMS: list[tuple[Callable[[], Iterable[Any]], str]] = [
    # The order of the messages.
    (lambda: [result(0)], "message is result; allowed: opened, as the first one"),
    (lambda: [b""], "message is not set; allowed: opened, as the first one"),
    (lambda: [b"\xff\xff"], "it cannot be read"),
    (lambda: [opened(max_in_flight=0)], "opened.max_in_flight is 0; allowed: 1 to 256"),
    (lambda: [opened(max_waiting=2**32 - 1)], "opened.max_waiting is 4294967295; allowed: 0 to 256"),
    (lambda: [opened(), result(1)], "result.sequence is 1; allowed: 0, that of the frame to be answered"),
    (lambda: [opened(), result(0), result(0)], "result.sequence is 0; allowed: 1, that of the frame to be answered"),
    (lambda: [opened(), result(0), result(2), result(1)], "result.sequence is 2; allowed: 1"),
    (lambda: [opened(), result(0, timestamp_ns=5)], "result.timestamp_ns is 5; allowed: 100, that of the frame"),
    (lambda: [opened(), *map(result, range(4))], "message is the result of frame 3; allowed: none, as every frame is"),
    (lambda: [opened(), result(0), opened()], "message is opened; allowed: the result of an earlier frame"),
    (lambda: [opened(), *map(result, range(3)), *[opened()] * MANY], "message is opened; allowed: none, as every"),
    (lambda: [opened(), *[going_away()] * MANY], "message is a second going_away; allowed: one in a stream"),
    (lambda: [opened(), wire.StreamFramesResponse(going_away={})], "going_away.status.code is 0; allowed: 1 to 16"),
    (lambda: [opened(), *[b""] * MANY], "message is not set; allowed: opened, result or going_away"),
    (lambda: [opened(), b"\x7a\x05\x08"], "it cannot be read: it is cut off"),
    # The content of a result.
    (
        lambda: [opened(), changed(result(0), lambda m: m.result.features.size.pop())],
        "result.features.size is a list of 2",
    ),
    (
        lambda: [opened(), changed(result(0), lambda m: put("x", 0, NAN)(m.result.features))],
        "result.features.x[0] is nan",
    ),
    (lambda: [opened(), result(0, status=status(17))], "result.status.code is 17; allowed: 0 to 16"),
    (
        lambda: [opened(), result(0, status=wire.Status(code=3, message="a" * 5000))],
        "result.status.message is a text of",
    ),
    (lambda: [opened(), result(0, execution=wire.Execution(energy_joules=-1))], "execution.energy_joules is -1.0"),
    # Tracks.
    (lambda: [opened(), result(0, tracks=[track(0)])], "result.tracks.id[0] is 0.0; allowed: 1 to"),
    (lambda: [opened(), result(0, tracks=[track(2**63)])], "result.tracks.id[0] is 9.2"),
    (
        lambda: [opened(), result(0, tracks=[track(2), track(1)])],
        "result.tracks.id[1] is 1 behind 2; allowed: ids that",
    ),
    (
        lambda: [opened(), result(0, tracks=[track(2), track(2)])],
        "result.tracks.id[1] is 2 behind 2; allowed: ids that",
    ),
    (lambda: [opened(), result(0, tracks=[track(1, x=NAN)])], "result.tracks.x[0] is nan; allowed: 0 to 64"),
    (lambda: [opened(), result(0, tracks=[track(1, y=1e9)])], "result.tracks.y[0] is 1000000000.0; allowed: 0 to 48"),
    (
        lambda: [opened(), result(0, tracks=[track(1, gain=0)])],
        "result.tracks.gain[0] is 0.0; allowed: 0.0625 to 1.9375",
    ),
    (lambda: [opened(), result(0, tracks=[track(1, offset=INF)])], "result.tracks.offset[0] is inf; allowed: finite"),
    (
        lambda: [opened(), result(0, tracks=[track(1, residual=-1)])],
        "result.tracks.residual[0] is -1.0; allowed: 0 to 128",
    ),
    (
        lambda: [opened(), result(0, tracks=[track(1, age_frames=2**32 - 1)])],
        "result.tracks.age_frames[0] is 4294967295",
    ),
    (
        lambda: [opened(), result(0, ended_tracks=[ended(3), ended(2)])],
        "result.ended_tracks.id[1] is 2 behind 3; allowed",
    ),
    (lambda: [opened(), result(0, ended_tracks=[ended(2**64 - 1)])], "result.ended_tracks.id[0] is 1.8"),
    # Matches.
    (lambda: [opened(), result(0, matches=[matched(0)])], "result.matches[0].target is not set; allowed: set"),
    (
        lambda: [opened(), result(0, matches=[matched(REFERENCE, reference="none")])],
        "result.matches[0].reference is 'none'; allowed: the references of the opening, in their order",
    ),
    (
        lambda: [opened(), result(0, matches=[matched(REFERENCE, reference=name) for name in "ba"])],
        "result.matches[1].reference is 'a'; allowed: the references of the opening, in their order",
    ),
    (lambda: [opened(), result(0, matches=[matched(PREVIOUS)] * 5)], "result.matches is a list of 5; allowed: 0 to 4"),
    (
        lambda: [
            opened(),
            result(0, matches=[changed(matched(PREVIOUS), lambda m: put("query_index", 2, 3)(m.matches))]),
        ],
        "result.matches[0].matches.query_index[2] is 3; allowed: 0 to 2",
    ),
    (
        lambda: [
            opened(),
            result(0),
            result(1, matches=[changed(matched(PREVIOUS), lambda m: put("train_index", 0, 3)(m.matches))]),
        ],
        "result.matches[0].matches.train_index[0] is 3; allowed: 0 to 2",
    ),
    (
        lambda: [opened(), result(0, matches=[matched(KEYFRAME, status=status(99))])],
        "result.matches[0].status.code is 99; allowed: 0 to 16",
    ),
]


def run_stream(address: str, asynchronous: bool, **options: Any) -> list[orbserve.FrameResult]:
    """Sends three frames and takes their results."""
    options = {"references": ["a", "b"], "timeout": 20, **options}
    frames = [orbserve.Frame(IMAGE, timestamp_ns=100 + i) for i in range(3)]
    if asynchronous:

        async def run() -> list[orbserve.FrameResult]:
            async with orbserve.AsyncClient(address) as client, client.stream(**options) as stream:
                for frame in frames:
                    await stream.send(frame)
                await stream.close_send()
                return [found async for found in stream]

        return asyncio.run(run())
    with orbserve.Client(address) as client, client.stream(**options) as stream:
        for frame in frames:
            stream.send(frame)
        stream.close_send()
        return list(stream)


def after_all(answers: Callable[[], Iterable[Any]]) -> Callable[[Iterator[Any]], Iterable[Any]]:
    """Sends the first of the answers, and the others when the last frame has come."""

    def stream(requests: Iterator[Any]) -> Iterator[Any]:
        assert next(requests).HasField("open")
        first, *others = answers()
        yield first
        for _ in requests:
            pass
        yield from others

    return stream


HONEST_STREAMS: list[Callable[[], Iterable[Any]]] = [
    lambda: [opened(), result(0), result(1), result(2)],
    lambda: [opened(), result(0), result(1, status=status()), going_away(), result(2)],
    lambda: [opened(), result(0), b"\x82\x06\x01a", result(1), result(2)],  # a message of a later version
    lambda: [
        opened(),
        result(0, tracks=[track(1), track(3)], matches=[matched(REFERENCE, reference="b")]),
        result(1, ended_tracks=[ended(1)], matches=[matched(PREVIOUS), matched(REFERENCE, reference="a")]),
        result(2, matches=[matched(KEYFRAME, status=status(), matches=None), matched(9)]),
    ],
]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("answers", HONEST_STREAMS)
def test_right_streams_are_taken(lying: LyingServer, answers: Callable[[], Iterable[Any]], asynchronous: bool) -> None:
    lying.stream = after_all(answers)
    assert [found.sequence for found in run_stream(lying.address, asynchronous)] == [0, 1, 2]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("reconnect", [0, 20])
@pytest.mark.parametrize(("answers", "text"), WRONG_STREAMS)
def test_wrong_streams_end_with_the_name_of_the_field(
    lying: LyingServer, answers: Callable[[], Iterable[Any]], text: str, reconnect: float, asynchronous: bool
) -> None:
    def complete() -> Iterable[Any]:
        # The frames that are left are answered well: a client that takes the wrong answer finds no other fault.
        given = list(answers())
        results = sum(not isinstance(message, bytes) and message.HasField("result") for message in given)
        return [*given, *map(result, range(results, 3))]

    lying.stream = after_all(complete)
    with pytest.raises(orbserve.ServerError) as caught:
        run_stream(lying.address, asynchronous, reconnect=reconnect)
    check_error(caught.value, text)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_going_away_without_end_ends_the_tries(lying: LyingServer, asynchronous: bool) -> None:
    """A server that opens every stream and then says that it stops."""
    connections = itertools.count()

    def stream(requests: Iterator[Any]) -> Iterator[Any]:
        next(connections)
        next(requests)
        yield opened()
        yield going_away()

    lying.stream = stream
    reconnect = orbserve.Reconnect(0.5, first_delay=0.05)

    async def run() -> None:
        async with orbserve.AsyncClient(lying.address) as client, client.stream(reconnect=reconnect) as stream:
            await stream.receive()

    with pytest.raises(orbserve.UnavailableError):
        if asynchronous:
            asyncio.run(run())
        else:
            with orbserve.Client(lying.address) as client, client.stream(reconnect=reconnect) as blocking:
                blocking.receive()
    assert next(connections) < 100


# -- texts -------------------------------------------------------------------------------------------------------------


def test_texts_of_the_server_are_shown_on_one_line(lying: LyingServer) -> None:
    evil = "no\x1b[2J\r\nroot: all is well\u202e\x00é"

    def refuse(request: bytes, context: grpc.ServicerContext) -> bytes:
        context.set_code(grpc.StatusCode.INVALID_ARGUMENT)
        entry = wire.Status(code=3, reason="BAD_IMAGE", message=evil, retry_after_ms=2**32 - 1)
        call = wire.CallStatus(code=3)
        call.details.add(type_url="type.googleapis.com/orbserve.v1.Status", value=entry.SerializeToString())
        context.set_trailing_metadata((("grpc-status-details-bin", call.SerializeToString()),))
        return b""

    lying.answers["Extract"] = refuse
    with orbserve.Client(lying.address) as client, pytest.raises(orbserve.InvalidInputError) as caught:
        client.extract(IMAGE)
    assert str(caught.value) == r"BAD_IMAGE: no\x1b[2J\r\nroot: all is well\u202e\x00é"
    assert caught.value.message == evil
    assert caught.value.retry_after == 60  # not 49 days


def test_long_texts_are_cut() -> None:
    assert re.fullmatch(r"a{4096}\.\.\.", _errors.shown("a" * 10**6))


def test_names_of_files_are_shown_on_one_line(tmp_path: Any) -> None:
    path = tmp_path / "a\nb.jpg"
    path.write_bytes(b"nothing")
    with orbserve.Client("unix:/nowhere") as client, pytest.raises(ValueError, match=r"a\\nb\.jpg: not a JPEG"):
        client.extract(path)
    with pytest.raises(ValueError, match=r"a\\nb\.jpg: not an NPZ file"):
        orbserve.Features.load(path)
