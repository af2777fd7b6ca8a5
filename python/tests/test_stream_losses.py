# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of both clients whose server is lost, stops or is not up yet."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import grpc
import pytest

import orbserve
from orbserve import FrameResult, StreamEvent, StreamEventKind, TrackEnd
from orbserve._contract import wire

from .conftest import Pixels, Server, flight, make_image


def test_a_loss_ends_a_stream_that_does_not_reconnect(own_server: Server) -> None:
    with orbserve.Client(own_server.address) as client, client.stream() as stream:
        own_server.end(signal.SIGKILL)
        with pytest.raises(orbserve.UnavailableError):
            stream.receive()
        with pytest.raises(orbserve.UnavailableError):
            stream.send(make_image(64, 64))


def check_after_loss(count: int, results: list[FrameResult], events: list[StreamEvent]) -> None:
    """Every frame has one result, in order; lost ones are announced; ids of tracks are never used again."""
    assert [r.sequence for r in results] == list(range(count))
    kinds = [e.kind for e in events]
    assert kinds == [StreamEventKind.LOST, StreamEventKind.RECONNECTED] * (len(kinds) // 2)
    assert kinds
    lost = [n for e in events for n in e.lost_sequences]
    failed = [r for r in results if r.error is not None]
    assert [r.sequence for r in failed] == lost
    assert all(isinstance(r.error, orbserve.UnavailableError) for r in failed)
    assert all(e.attempts >= 1 and e.opened is not None for e in events[1::2])
    assert all(e.error is not None for e in events[::2])
    first_after = next(r for r in results if r.error is None and r.sequence > max(lost, default=-1))
    before = [r for r in results if r.error is None and r.sequence < first_after.sequence]
    used = {n for r in before for n in r.tracks.id.tolist()}
    assert used
    restarted = next(r for r in results[max(lost, default=0) :] if r.error is None and r.tracks.age_frames.max() == 0)
    assert restarted.tracks.id.min() > max(used)
    for before_it, result in pairwise(r for r in results if r.error is None):
        gone = set(before_it.tracks.id.tolist()) - set(result.tracks.id.tolist())
        assert gone <= result.ended_tracks.keys()
        assert (TrackEnd.RECONNECTED in result.ended_tracks.values()) == (result is restarted)


@contextlib.contextmanager
def refusing(address: str) -> Iterator[socket.socket]:
    """A Unix socket in the place of a server's, whose connections `refuse` ends."""
    path = Path(address.removeprefix("unix:"))
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        yield listener
    path.unlink()


def refuse(listener: socket.socket, count: int) -> None:
    """Waits for so many connections, and ends each."""
    listener.settimeout(30)
    for _ in range(count):
        listener.accept()[0].close()


def run_one(
    asynchronous: bool, address: str, events: list[StreamEvent], lose: threading.Event | None = None
) -> FrameResult | None:
    """The result of a frame that is sent on a new stream; with `lose`, once the stream has lost its connection."""
    lost = threading.Event()

    def note(event: StreamEvent) -> None:
        events.append(event)
        lost.set()

    async def main() -> FrameResult | None:
        async with orbserve.AsyncClient(address) as client, client.stream(reconnect=30, on_event=note) as stream:
            receiver = asyncio.create_task(stream.receive())
            if lose is not None:
                lose.set()
                await asyncio.to_thread(lost.wait, 30)
            await stream.send(make_image(64, 64))
            return await receiver

    if asynchronous:
        return asyncio.run(main())
    with orbserve.Client(address) as client, client.stream(reconnect=30, on_event=note) as stream:
        receiver = ThreadPoolExecutor().submit(stream.receive)
        if lose is not None:
            lose.set()
            assert lost.wait(30)
        stream.send(make_image(64, 64))
        return receiver.result(60)


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_may_be_opened_before_its_server_is_up(own_server: Server, asynchronous: bool) -> None:
    own_server.end(signal.SIGKILL)
    events: list[StreamEvent] = []
    with ThreadPoolExecutor() as pool:
        with refusing(own_server.address) as listener:
            result = pool.submit(run_one, asynchronous, own_server.address, events)
            refuse(listener, 1)
        own_server.start()
        found = result.result(60)
    assert found is not None
    assert found.error is None
    assert events == []


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_try_waits_for_a_server_that_cannot_be_reached(own_server: Server, asynchronous: bool) -> None:
    events: list[StreamEvent] = []
    opened = threading.Event()
    with ThreadPoolExecutor() as pool:
        result = pool.submit(run_one, asynchronous, own_server.address, events, opened)
        assert opened.wait(30)
        own_server.end(signal.SIGKILL)
        with refusing(own_server.address) as listener:
            refuse(listener, 3)
        own_server.start()
        found = result.result(60)
    assert found is not None
    assert found.error is None
    assert [e.kind for e in events] == [StreamEventKind.LOST, StreamEventKind.RECONNECTED]
    assert events[1].attempts == 1


@pytest.mark.parametrize("asynchronous", [False, True])
def test_close_send_ends_the_wait_for_a_server(own_server: Server, asynchronous: bool) -> None:
    own_server.wait()

    async def main() -> FrameResult | None:
        async with orbserve.AsyncClient(own_server.address) as client, client.stream(reconnect=60) as stream:
            await asyncio.to_thread(own_server.end, signal.SIGKILL)
            with refusing(own_server.address) as listener:
                await asyncio.to_thread(refuse, listener, 1)
                await stream.close_send()
                return await asyncio.wait_for(stream.receive(), 30)

    if asynchronous:
        assert asyncio.run(main()) is None
        return
    with orbserve.Client(own_server.address) as client, client.stream(reconnect=60) as stream:
        own_server.end(signal.SIGKILL)
        with refusing(own_server.address) as listener:
            refuse(listener, 1)
            stream.close_send()
            assert stream.receive() is None


def test_a_server_that_cannot_be_reached_is_given_up_with_the_reason(tmp_path: Path) -> None:
    address = f"unix:{tmp_path / 'none'}"
    for reconnect in (0, 0.1):
        with orbserve.Client(address) as client, pytest.raises(orbserve.UnavailableError, match="No such file"):
            client.stream(reconnect=reconnect)

        async def main(seconds: float = reconnect) -> None:
            async with orbserve.AsyncClient(address) as client, client.stream(reconnect=seconds):
                pass

        with pytest.raises(orbserve.UnavailableError, match="No such file"):
            asyncio.run(main())


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_stream_connects_again_after_a_kill(own_server: Server, asynchronous: bool) -> None:
    count = 150
    wide = flight(count)
    events: list[StreamEvent] = []

    def restart() -> None:
        own_server.end(signal.SIGKILL)
        time.sleep(0.3)
        own_server.start()

    def frames() -> Iterator[Pixels]:
        for i, frame in enumerate(wide):
            if i == 50:
                restart()
            yield frame

    results = run_to_end(asynchronous, own_server.address, frames(), events)
    check_after_loss(count, results, events)


def run_to_end(
    asynchronous: bool, address: str, frames: Iterator[Pixels], events: list[StreamEvent]
) -> list[FrameResult]:
    if asynchronous:
        return asyncio.run(run_async(address, frames, events))
    with orbserve.Client(address) as client:
        with client.stream("vio", track=True, reconnect=20, on_event=events.append) as stream:
            return list(stream.run(frames))


async def run_async(address: str, frames: Iterator[Pixels], events: list[StreamEvent]) -> list[FrameResult]:
    async def later() -> AsyncIterator[Pixels]:
        for frame in frames:
            yield frame
            await asyncio.sleep(0)

    async with orbserve.AsyncClient(address) as client:
        async with client.stream("vio", track=True, reconnect=20, on_event=events.append) as stream:
            return [result async for result in stream.run(later())]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_server_that_stops_in_order_costs_no_frame(own_server: Server, asynchronous: bool) -> None:
    count = 60
    events: list[StreamEvent] = []

    def replace() -> None:
        own_server.end()
        own_server.start()

    def frames() -> Iterator[Pixels]:
        for i, frame in enumerate(flight(count)):
            if i == 20:
                threading.Thread(target=replace).start()
            time.sleep(0.02)
            yield frame

    results = run_to_end(asynchronous, own_server.address, frames(), events)
    assert [r.sequence for r in results] == list(range(count))
    assert all(r.error is None for r in results)
    assert [e.kind for e in events] == [StreamEventKind.GOING_AWAY, StreamEventKind.RECONNECTED]
    assert events[0].error is not None
    assert events[0].error.reason == "DRAINING"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_frame_waits_until_a_connection_is_open(tmp_path: Path, asynchronous: bool) -> None:
    """The second connection is refused late enough for a frame to go over it."""
    connections = 0

    def answer(requests: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        nonlocal connections
        connections += 1
        assert wire.StreamFramesRequest.FromString(next(requests)).HasField("open")
        if connections == 2:
            time.sleep(0.3)
        else:
            yield wire.StreamFramesResponse(opened={"max_in_flight": 1}).SerializeToString()
        if connections < 3:
            context.abort(grpc.StatusCode.UNAVAILABLE, "not now")
        for data in requests:
            frame = wire.StreamFramesRequest.FromString(data).frame
            yield wire.StreamFramesResponse(result={"sequence": frame.sequence}).SerializeToString()

    address = f"unix:{tmp_path / 's'}"
    server = grpc.server(ThreadPoolExecutor())
    handlers = {"StreamFrames": grpc.stream_stream_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("orbserve.v1.Features", handlers),))
    server.add_insecure_port(address)
    server.start()
    events: list[StreamEvent] = []
    lost = threading.Event()

    def note(event: StreamEvent) -> None:
        events.append(event)
        lost.set()

    async def run_both() -> FrameResult | None:
        async with orbserve.AsyncClient(address) as client, client.stream(reconnect=20, on_event=note) as stream:
            receiver = asyncio.create_task(stream.receive())
            await asyncio.to_thread(lost.wait, 20)
            await stream.send(make_image(64, 64))
            return await receiver

    try:
        if asynchronous:
            result = asyncio.run(run_both())
        else:
            with orbserve.Client(address) as client, client.stream(reconnect=20, on_event=note) as stream:
                receiver = ThreadPoolExecutor().submit(stream.receive)
                assert lost.wait(20)
                stream.send(make_image(64, 64))
                result = receiver.result(20)
    finally:
        server.stop(0)
    assert result is not None
    assert result.sequence == 0
    assert result.error is None
    assert [e.kind for e in events] == [StreamEventKind.LOST, StreamEventKind.RECONNECTED]
    assert connections == 3


def test_a_stream_gives_up_after_its_time(own_server: Server) -> None:
    reconnect = orbserve.Reconnect(0.5, first_delay=0.05)
    events: list[StreamEvent] = []
    with orbserve.Client(own_server.address) as client:
        with client.stream(reconnect=reconnect, on_event=events.append) as stream:
            own_server.end(signal.SIGKILL)
            begun = time.monotonic()
            with pytest.raises(orbserve.UnavailableError):
                while stream.receive() is not None:
                    pass
            assert 0.3 < time.monotonic() - begun < 10
    assert [e.kind for e in events] == [StreamEventKind.LOST]
