# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Streams of both clients over links that are slow, or cut, or whose server is gone."""

from __future__ import annotations

import signal
import time
from typing import Any

import pytest

import orbserve
from orbserve import Frame, FrameResult, StreamEvent, StreamEventKind

from .conftest import Server, make_image
from .either_stream import EitherStream
from .relay import Relay

IMAGE = make_image(64, 64)
BOTH = pytest.mark.parametrize("asynchronous", [False, True])


def reasons(results: list[FrameResult]) -> list[tuple[int, str]]:
    return [(r.sequence, "" if r.error is None else r.error.reason) for r in results]


def wait_for_answer(stream: EitherStream) -> None:
    while stream.stream._session._outbox.window.least_delay is None:
        time.sleep(0.01)


@BOTH
@pytest.mark.parametrize("policy", ["newest", "oldest"])
def test_a_live_stream_sends_on_without_a_connection(own_server: Server, policy: str, asynchronous: bool) -> None:
    with EitherStream(asynchronous, own_server.address, drop_policy=policy) as stream:
        stream.send(IMAGE)
        wait_for_answer(stream)
        own_server.end(signal.SIGKILL)
        assert stream.lost.wait(30)
        for _ in range(5):
            stream.send(IMAGE)
        own_server.start()
        results = stream.finish()
    assert [r.sequence for r in results] == list(range(6))
    kept = 5 if policy == "newest" else 1
    assert results[kept].error is None
    for result in results[1:]:
        if result.sequence != kept:
            assert result.error is not None
            assert result.dropped
            assert result.error.message.endswith("on the client")


@BOTH
def test_block_waits_without_a_connection(own_server: Server, asynchronous: bool) -> None:
    with EitherStream(asynchronous, own_server.address) as stream:
        own_server.end(signal.SIGKILL)
        assert stream.lost.wait(30)
        stream.send(IMAGE)
        second = stream.start("send", IMAGE)
        time.sleep(0.3)
        assert not second.done()
        own_server.start()
        second.result(60)
        results = stream.finish()
    assert reasons(results) == [(0, ""), (1, "")]


@BOTH
@pytest.mark.parametrize("policy", ["block", "newest"])
def test_a_frame_grows_too_old_without_a_connection(own_server: Server, policy: str, asynchronous: bool) -> None:
    """Its result comes without an answer of any server, and nothing is left to connect for."""
    with EitherStream(asynchronous, own_server.address, drop_policy=policy, deadline_ms=300) as stream:
        own_server.end(signal.SIGKILL)
        assert stream.lost.wait(30)
        stream.send(IMAGE)
        begun = time.monotonic()
        (result,) = stream.finish()
        assert time.monotonic() - begun < 9  # a try to connect takes ten seconds
    assert result.late
    assert result.error is not None
    assert result.error.message.endswith("on the client")
    assert result.round_trip is None
    assert result.age >= 0.299


@BOTH
def test_a_result_that_was_long_on_its_way_is_late(server: Server, asynchronous: bool) -> None:
    with Relay(server.address, delay_down=1.0) as relay:
        with EitherStream(asynchronous, relay.address) as stream:
            stream.send(IMAGE)
            wait_for_answer(stream)  # frames behind it do not wait for it here
            stream.send(Frame(IMAGE, deadline_ms=900))
            stream.send(Frame(IMAGE, deadline_ms=60_000))
            good, late, good_too = stream.finish()
            link = stream.stream.link
    assert good.error is None
    assert good_too.error is None
    assert late.late
    assert late.error is not None
    assert late.error.message.endswith("on the client")  # for the server it was in time
    for result in (good, late, good_too):
        assert result.round_trip is not None
        assert result.age >= result.round_trip >= 1.0
        assert 0 < result.server_time < result.round_trip - 0.99
    assert (link.late, link.expired, link.dropped) == (1, 0, 0)
    assert link.delay is not None
    assert link.delay >= 0.99


@BOTH
def test_a_stream_knows_from_its_opening_that_results_cannot_be_in_time(server: Server, asynchronous: bool) -> None:
    with Relay(server.address, delay_down=0.5) as relay:
        for deadline_ms, limits in ((20, True), (60_000, False)):
            with EitherStream(asynchronous, relay.address, deadline_ms=deadline_ms) as stream:
                link = stream.stream.link
            assert link.delay is not None
            assert link.delay > 0.02
            assert link.limits == limits


@BOTH
def test_frames_wait_in_the_client_and_not_in_the_network(server: Server, asynchronous: bool) -> None:
    """Two seconds of frames would take ten over this link. Those that are answered are fresh nevertheless."""
    image = make_image(640, 480)
    with Relay(server.address, bits_per_second=15e6) as relay:
        with EitherStream(asynchronous, relay.address, drop_policy="newest") as stream:
            for _ in range(60):
                stream.send(image)
                time.sleep(1 / 30)
            results = stream.finish()
    assert [r.sequence for r in results] == list(range(60))
    assert results[-1].error is None
    answered = [r for r in results if not r.dropped]
    assert 3 < len(answered) < 40
    assert all(r.error is None for r in answered)
    assert sorted(r.age for r in answered)[len(answered) // 2] < 0.8


@BOTH
@pytest.mark.parametrize("idle", [False, True])
def test_a_silent_cut_is_noticed(server: Server, idle: bool, asynchronous: bool) -> None:
    with Relay(server.address) as relay:
        with EitherStream(asynchronous, relay.address, drop_policy="newest") as stream:
            if idle:
                time.sleep(4)  # the server bears several questions without a frame between them
            cut_at = relay.cut()
            while not stream.lost.wait(1 / 30):
                assert time.monotonic() - cut_at < 10
                if not idle:
                    stream.send(IMAGE)
            relay.mend()
            stream.send(IMAGE)
            results = stream.finish()
    assert [e.kind for e in stream.events] == [StreamEventKind.LOST, StreamEventKind.RECONNECTED]
    assert [r.sequence for r in results] == list(range(len(results)))
    lost = [r.sequence for r in results if isinstance(r.error, orbserve.UnavailableError)]
    assert lost == list(stream.events[0].lost_sequences)
    assert bool(lost) != idle
    assert results[-1].error is None


@BOTH
@pytest.mark.parametrize(("bits_per_second", "count"), [(1.1e6, 3), (6e6, 16)])
def test_a_slow_link_is_not_taken_for_a_cut(
    server: Server, bits_per_second: float, count: int, asynchronous: bool
) -> None:
    """A frame is on its way for longer than the silence after which gRPC asks, or many wait in the network."""
    image = make_image(640, 480)
    with Relay(server.address, bits_per_second=bits_per_second) as relay:
        with EitherStream(asynchronous, relay.address) as stream:
            for _ in range(count):
                stream.send(image)
            results = stream.finish()
    assert reasons(results) == [(n, "") for n in range(count)]
    assert stream.events == []


@BOTH
def test_an_idle_stream_lasts(own_server: Server, asynchronous: bool) -> None:
    """A server that is asked often finds nothing wrong with it."""
    with EitherStream(asynchronous, own_server.address) as stream:
        stream.send(IMAGE)
        time.sleep(5)
        stream.send(IMAGE)
        assert reasons(stream.finish()) == [(0, ""), (1, "")]
    assert stream.events == []


def test_one_thread_sends_and_polls(own_server: Server) -> None:
    with orbserve.Client(own_server.address) as client, client.stream(reconnect=30) as stream:
        assert stream.poll() is None
        assert not stream.finished
        results = []
        for _ in range(20):
            while not stream.try_send(IMAGE):
                result = stream.poll(1)
                if result is not None:
                    results.append(result)
        stream.close_send()
        with pytest.raises(ValueError, match=r"after close_send\(\)"):
            stream.try_send(IMAGE)
        while not stream.finished:
            result = stream.poll(0.01)
            if result is not None:
                results.append(result)
        assert stream.poll() is None
    assert reasons(results) == [(n, "") for n in range(20)]


def test_try_send_does_not_wait_for_a_server(own_server: Server) -> None:
    events: list[StreamEvent] = []
    with orbserve.Client(own_server.address) as client:
        with client.stream(reconnect=30, on_event=events.append) as stream:
            own_server.end(signal.SIGKILL)
            while not events:
                assert stream.poll(0.05) is None
            assert stream.try_send(IMAGE)
            assert not stream.try_send(IMAGE)
            assert not stream.try_send(None)  # type: ignore[arg-type]
            own_server.start()
            first = stream.receive()
            while not stream.try_send(IMAGE):
                pass
            second = stream.receive()
            stream.cancel()
            with pytest.raises(orbserve.CancelledError):
                stream.try_send(IMAGE)
            with pytest.raises(orbserve.CancelledError):
                while stream.poll() is None:
                    pass
    assert first is not None
    assert second is not None
    assert reasons([first, second]) == [(0, ""), (1, "")]


def test_tracks_need_no_preset(client: orbserve.Client) -> None:
    with client.stream(track=True) as stream:
        assert stream.opened.pipeline.preset == orbserve.StreamOptions(track=True).pipeline
        (result,) = stream.run([make_image(320, 240)])
    assert len(result.tracks) > 0
    assert orbserve.StreamOptions().pipeline == "orb"


def test_matches_without_features_are_refused(client: orbserve.Client) -> None:
    with pytest.raises(ValueError, match="match_previous names rows of the features, which omit_features leaves out"):
        client.stream(match_previous=True, omit_features=True)


@pytest.mark.parametrize("keepalive", [0, 1.4, float("nan"), float("inf"), "often"])
def test_a_keepalive_that_servers_do_not_allow_is_refused(keepalive: Any) -> None:
    for kind in (orbserve.Client, orbserve.AsyncClient):
        with pytest.raises(ValueError, match=r"keepalive must be 1\.5 to 86400 seconds; got"):
            kind("127.0.0.1:1", keepalive=keepalive)
