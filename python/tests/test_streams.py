# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of both clients: results, policies, tracks."""

from __future__ import annotations

import asyncio
import signal
import socket
import threading
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import orbserve
from orbserve import Frame, FrameResult, StreamEvent, StreamEventKind, StreamOptions

from .conftest import Pixels, Server, flight, make_image


def test_every_frame_has_its_result_in_order(client: orbserve.Client) -> None:
    frames = flight(20)
    with client.stream(match_previous=True) as stream:
        results = list(stream.run(Frame(frame, timestamp_ns=1000 + i) for i, frame in enumerate(frames)))
    assert [r.sequence for r in results] == list(range(20))
    assert [r.timestamp_ns for r in results] == list(range(1000, 1020))
    assert results[0].previous is None
    for before, result, frame in zip(results, results[1:], frames[1:], strict=False):
        assert result.error is None
        assert before.features is not None
        assert result.features is not None
        alone = client.extract(frame)
        assert np.array_equal(result.features.xy, alone.xy)
        assert np.array_equal(result.features.descriptors, alone.descriptors)
        matched = client.match(result.features, before.features)
        assert result.previous is not None
        for name in ("query_index", "train_index", "distance"):
            assert np.array_equal(getattr(result.previous, name), getattr(matched, name))
        assert result.matches[0].target_sequence == before.sequence
        assert result.timings.total_ns > 0
        assert result.execution.backend == "cpu"


def test_tracks_follow_and_end(client: orbserve.Client) -> None:
    frames = flight(12)
    known: dict[int, npt.NDArray[np.float32]] = {}
    moves = []
    with client.stream(orbserve.Vio(max_features=60), track=True, omit_features=True, keyframe_every=5) as stream:
        for result in stream.run(frames):
            assert result.features is None
            tracks = result.tracks
            for number in result.ended_tracks:
                del known[number]
            current = dict(zip(tracks.id.tolist(), tracks.xy, strict=True))
            moves += [current[n] - place for n, place in known.items()]
            assert known.keys() <= current.keys()
            assert tracks.age_frames.max() == result.sequence
            known = current
            assert result.keyframe == (result.sequence % 5 == 0)
    assert len(known) > 20
    assert np.median(np.array(moves), axis=0) == pytest.approx([-2, 0], abs=0.05)


# A frame that fails, and the start of its error's text. The last one is refused by the server.
BAD_FRAMES: list[tuple[Any, str]] = [
    (None, "the frame cannot be sent: an image is an array of uint8, the bytes of a file, or a path; got NoneType"),
    (np.zeros((48, 64), np.int16), "the frame cannot be sent: an image must be an array of uint8 or uint16; got int16"),
    (np.zeros(3, np.uint8), "the frame cannot be sent: an image must have the shape (H, W)"),
    (b"", "the frame cannot be sent: not a JPEG, PNG, binary PGM or binary PPM file; it begins with b''"),
    ("/none/a.jpg", "the frame cannot be sent: [Errno 2] No such file or directory: '/none/a.jpg'"),
    (Frame(np.zeros((48, 64), np.uint8), sequence=-1), "the frame cannot be sent: "),
    (Frame(None, sequence="no", timestamp_ns=b"no"), "the frame cannot be sent: "),  # type: ignore[arg-type]
    (Frame(np.zeros((48, 64), np.uint8), mask=np.zeros(3)), "the frame cannot be sent: a mask must be"),
    (b"\xff\xd8\xff broken", ""),
]


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("runs", [False, True])
def test_a_frame_that_fails_does_not_end_the_stream(server: Server, runs: bool, asynchronous: bool) -> None:
    good = make_image(200, 150)
    frames: list[Any] = [good]
    for bad, _ in BAD_FRAMES:
        frames += [bad, bad, good]
    frames[-1] = Frame(good, sequence=77, timestamp_ns=5)

    async def run() -> list[FrameResult]:
        async with orbserve.AsyncClient(server.address) as client, client.stream(match_previous=True) as stream:
            if runs:
                return [result async for result in stream.run(frames)]
            for frame in frames:
                await stream.send(frame)
            await stream.close_send()
            with pytest.raises(ValueError, match=r"after close_send\(\)"):
                await stream.send(good)
            return [result async for result in stream]

    if asynchronous:
        results = asyncio.run(run())
    else:
        with orbserve.Client(server.address) as client, client.stream(match_previous=True) as stream:
            if runs:
                results = list(stream.run(frames))
            else:
                with ThreadPoolExecutor() as pool:
                    receiver = pool.submit(list, stream)
                    for frame in frames:
                        stream.send(frame)
                    stream.close_send()
                    with pytest.raises(ValueError, match=r"after close_send\(\)"):
                        stream.send(good)
                    results = receiver.result(60)
    sequences = list(range(len(frames)))
    sequences[16:18] = [-1, -1]
    sequences[-1] = 77
    assert [r.sequence for r in results] == sequences
    assert results[-1].timestamp_ns == 5
    for i, (bad, text) in enumerate(BAD_FRAMES):
        for result in results[1 + 3 * i : 3 + 3 * i]:
            assert type(result.error) is orbserve.InvalidInputError, bad
            assert result.error.message.startswith(text)
            assert result.error.reason == ("" if text else "BAD_IMAGE")
            assert (result.error.__cause__ is not None) == bool(text)
            assert result.features is None
            assert len(result.tracks) == 0
        assert results[3 + 3 * i].error is None
        assert results[3 + 3 * i].previous is not None  # with the good frame before the bad ones


@pytest.mark.parametrize("asynchronous", [False, True])
def test_frames_that_fail_wait_for_a_caller_who_reads(server: Server, asynchronous: bool) -> None:
    """A sender of nothing but bad frames is held back as one of good frames, and freed by the end of the stream."""
    sent = 0

    async def run() -> None:
        nonlocal sent
        async with orbserve.AsyncClient(server.address) as client, client.stream() as stream:

            async def feed() -> None:
                nonlocal sent
                while True:
                    await stream.send(None)  # type: ignore[arg-type]
                    sent += 1

            task = asyncio.create_task(feed())
            while sent <= stream.opened.max_in_flight:
                await asyncio.sleep(0)
            for _ in range(1000):
                await asyncio.sleep(0)
            await stream.cancel()
            with pytest.raises(orbserve.CancelledError):
                await task

    if asynchronous:
        asyncio.run(run())
    else:
        with orbserve.Client(server.address) as client, client.stream() as stream:

            def feed() -> None:
                nonlocal sent
                with pytest.raises(orbserve.CancelledError):
                    while sent < 10_000:
                        stream.send(None)  # type: ignore[arg-type]
                        sent += 1

            thread = threading.Thread(target=feed)
            thread.start()
            thread.join(1)
            assert thread.is_alive()
            assert sent > stream.opened.max_in_flight
            stream.cancel()
            thread.join(20)
            assert not thread.is_alive()
    assert sent < 400


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_frame_that_fails_is_not_lost_with_a_connection(own_server: Server, asynchronous: bool) -> None:
    """Bad frames keep their errors where good ones are lost, and their places in the order."""
    good, events = make_image(1600, 1200), list[StreamEvent]()
    frames: list[Any] = [good, None, good, good, None, good, None]

    async def run() -> list[FrameResult]:
        async with orbserve.AsyncClient(own_server.address) as client:
            async with client.stream(reconnect=20, on_event=events.append) as stream:
                for frame in frames:
                    await stream.send(frame)
                own_server.end(signal.SIGKILL)
                own_server.start()
                await stream.send(make_image(64, 64))
                await stream.close_send()
                return [result async for result in stream]

    if asynchronous:
        results = asyncio.run(run())
    else:
        with orbserve.Client(own_server.address) as client:
            with client.stream(reconnect=20, on_event=events.append) as stream:
                for frame in frames:
                    stream.send(frame)
                own_server.end(signal.SIGKILL)
                own_server.start()
                stream.send(make_image(64, 64))
                stream.close_send()
                results = list(stream)
    assert [r.sequence for r in results] == list(range(8))
    assert [isinstance(r.error, orbserve.InvalidInputError) for r in results[:7]] == [f is None for f in frames]
    lost = [n for event in events for n in event.lost_sequences]
    assert lost == [r.sequence for r in results if isinstance(r.error, orbserve.UnavailableError)]


def test_options_that_are_refused_end_the_stream(client: orbserve.Client) -> None:
    with pytest.raises(orbserve.InvalidInputError) as caught:
        client.stream(orbserve.Orb(levels=99))
    assert caught.value.reason == "BAD_OPTIONS"
    with client.stream() as stream:
        stream.send(make_image(200, 150))
        stream.reopen(StreamOptions(pipeline=orbserve.Orb(levels=99)))
        assert stream.receive() is not None
        with pytest.raises(orbserve.InvalidInputError):
            stream.receive()
        with pytest.raises(orbserve.InvalidInputError):
            stream.send(make_image(200, 150))


def test_a_stream_is_opened_again_with_other_options(client: orbserve.Client) -> None:
    image = make_image(200, 150)
    events: list[StreamEvent] = []
    with client.stream("orb", on_event=events.append) as stream:
        stream.send(image)
        stream.reopen(StreamOptions(pipeline=orbserve.Orb(max_features=10), match_previous=True, drop_policy="block"))
        stream.send(image)
        first, second = stream.receive(), stream.receive()
        assert first is not None
        assert second is not None
        assert first.features is not None
        assert second.features is not None
        assert len(first.features) > 10 >= len(second.features)
        assert [e.kind for e in events] == [StreamEventKind.REOPENED]
        assert stream.opened.pipeline.max_features == 10


def test_drop_policies_and_deadlines(client: orbserve.Client) -> None:
    large = make_image(1600, 1200)
    slow = orbserve.Orb(max_features=20000)
    with client.stream(slow, drop_policy="newest") as stream:
        assert stream.opened.max_waiting > 0
        results = list(stream.run([large] * 30))
    dropped = [r for r in results if r.dropped]
    assert len(results) == 30
    assert 0 < len(dropped) < 30
    assert all(r.error is not None and r.error.reason == "DROPPED" for r in dropped)
    assert not results[-1].dropped  # the newest survive
    with client.stream(slow, deadline_ms=1) as stream:
        assert all(r.late for r in stream.run([large] * 3))


def test_references_are_matched(server: Server) -> None:
    image = make_image(200, 150)
    with orbserve.Client(server.address, client_id="streams") as client:
        version = client.put_reference("map", image).reference.version
        with client.stream(references=["map", "none"], match_keyframe=True) as stream:
            stream.send(Frame(image, keyframe=True))
            stream.send(image)
            stream.close_send()
            results = list(stream)
        assert [m.target for m in results[0].matches] == [orbserve.MatchTarget.REFERENCE] * 2
        key, found, missing = results[1].matches
        assert key.target == orbserve.MatchTarget.KEYFRAME
        assert (found.reference, found.reference_version) == ("map", version)
        assert found.matches is not None
        assert len(found.matches) > 0
        assert isinstance(missing.error, orbserve.ReferenceNotFoundError)
        assert missing.matches is None
        client.delete_reference("map")


def test_cancel_frees_both_threads(client: orbserve.Client) -> None:
    stream = client.stream()
    caught: list[Exception] = []

    def wait() -> None:
        try:
            stream.receive()
        except orbserve.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    stream.cancel()
    thread.join(5)
    assert len(caught) == 1
    with pytest.raises(orbserve.CancelledError):
        stream.send(make_image(64, 64))
    stream.close()


def test_closing_the_client_ends_its_streams_and_calls(server: Server) -> None:
    client = orbserve.Client(server.address)
    stream = client.stream(reconnect=20)
    client.close()
    with pytest.raises(orbserve.CancelledError):
        stream.receive()
    stream.close()
    with pytest.raises(ValueError, match="closed"):
        client.info()

    async def main() -> None:
        asynchronous = orbserve.AsyncClient(server.address)
        async with asynchronous.stream(reconnect=20) as running:
            waiting = asyncio.create_task(running.receive())
            await asyncio.sleep(0.05)
            await asynchronous.close()
            with pytest.raises(orbserve.CancelledError):
                await waiting

    asyncio.run(main())


def test_run_passes_on_errors_of_its_frames_and_may_be_given_up(client: orbserve.Client) -> None:
    def frames() -> Iterator[Pixels]:
        yield from flight(3)
        raise RuntimeError("camera unplugged")

    with client.stream() as stream:
        results = stream.run(frames())
        assert [next(results).sequence for _ in range(3)] == [0, 1, 2]
        with pytest.raises(RuntimeError, match="camera unplugged"):
            next(results)
    with client.stream() as stream:
        for _ in stream.run(flight(50)):
            break
    with pytest.raises(orbserve.CancelledError):
        list(stream)  # behind the results that were there already


def test_the_server_holds_back_a_client_that_does_not_read(client: orbserve.Client) -> None:
    frames = flight(3, (640, 480))
    sent = 0
    with client.stream(orbserve.Orb(max_features=2000)) as stream:
        stop = threading.Event()

        def feed() -> None:
            nonlocal sent
            try:
                while not stop.is_set():
                    stream.send(frames[sent % 3])
                    sent += 1
            except orbserve.CancelledError:
                pass

        thread = threading.Thread(target=feed)
        thread.start()
        time.sleep(2.5)
        before = sent
        time.sleep(0.5)
        stop.set()
        assert sent == before  # nothing moves any more
        stream.cancel()
        thread.join(5)
    assert before < 600


def test_the_asynchronous_stream_answers_as_the_blocking_one(server: Server, client: orbserve.Client) -> None:
    frames = flight(12)
    with client.stream("orb", match_previous=True) as stream:
        expected = list(stream.run(frames))

    async def main() -> None:
        async with orbserve.AsyncClient(server.address) as c:
            async with c.stream("orb", match_previous=True) as stream:
                results = [r async for r in stream.run(frames)]
            for mine, other in zip(results, expected, strict=True):
                assert mine.features is not None
                assert other.features is not None
                assert np.array_equal(mine.features.descriptors, other.features.descriptors)
                assert (mine.previous is None) == (other.previous is None)
            async with c.stream() as stream:
                await stream.send(frames[0])
                await stream.reopen(StreamOptions(pipeline=orbserve.Orb(levels=99)))
                assert await stream.receive() is not None
                with pytest.raises(orbserve.InvalidInputError):
                    await stream.receive()
            with pytest.raises(orbserve.InvalidInputError):
                async with c.stream("nope"):
                    pass
            async with c.stream() as stream:
                waiting = asyncio.create_task(stream.receive())
                await asyncio.sleep(0.05)
                await stream.cancel()
                with pytest.raises(orbserve.CancelledError):
                    await waiting
            with pytest.raises(RuntimeError, match="unplugged"):
                async with c.stream() as stream:
                    async for _ in stream.run(unplugged(frames)):
                        pass
            async with c.stream() as stream:
                async for _ in stream.run(frames * 10):
                    break

    asyncio.run(main())


async def unplugged(frames: list[Pixels]) -> AsyncIterator[Pixels]:
    for frame in frames:
        yield frame
    raise RuntimeError("unplugged")


def test_the_opening_has_a_time_limit(server: Server) -> None:

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with orbserve.Client(f"127.0.0.1:{silent.getsockname()[1]}") as client:
            with pytest.raises(orbserve.DeadlineExceededError, match=r"within 0\.3 s"):
                client.stream(timeout=0.3)
