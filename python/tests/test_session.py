# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""A stream's state on a clock that the test moves, with answers that the test writes."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import pytest

import orbserve
from orbserve import Frame, FrameResult, Reconnect, StreamEvent, StreamOptions, TrackEnd
from orbserve._contract import wire
from orbserve._errors import error_of
from orbserve._outbox import opening
from orbserve._session import MAX_UNREAD, Session

IMAGE = np.zeros((48, 64), np.uint8)
LARGE = np.zeros((480, 640), np.uint8)


class Clock:
    """A steady clock that stands still."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Peer:
    """A session and the server that it talks to."""

    def __init__(self, waiting_frames: int = 1, is_slow: bool = False, **options: Any) -> None:
        self.clock = Clock()
        self.session = Session(StreamOptions(**options), Reconnect(30), waiting_frames, clock=self.clock)
        self.session.open(None)
        self.connect()
        self.session._outbox.is_slow = is_slow  # a link that is known not to be slow bounds no frames of BLOCK

    def connect(self) -> None:
        self.session.tries.begin(None)
        opened = wire.StreamFramesResponse(opened={"max_in_flight": 8})
        self.session.connected(opened.SerializeToString(), self.clock.now - 0.03)

    def send(self, image: Any = IMAGE) -> bool:
        return self.session.offer(self.session.frame_request(image))

    def written(self) -> list[Any]:
        """The frames that the session writes now."""
        frames = []
        while (data := self.session.next_message()) is not None:
            frames.append(wire.StreamFramesRequest.FromString(data).frame)
        return frames

    def answer(self, sequence: int, **fields: Any) -> None:
        result = wire.FrameResult(sequence=sequence, **fields)
        self.session.take(wire.StreamFramesResponse(result=result).SerializeToString())

    def lose(self) -> None:
        self.session.ended(error_of(grpc.StatusCode.UNAVAILABLE, "cut"))

    def results(self) -> list[FrameResult]:
        """The results that are there, without the events between them."""
        found = []
        while self.session.deliveries:
            found.append(self.session.deliver())
        return [one for one in found if isinstance(one, FrameResult)]


def reasons(results: list[FrameResult]) -> list[tuple[int, str]]:
    return [(r.sequence, "" if r.error is None else r.error.reason) for r in results]


# -- budgets -----------------------------------------------------------------------------------------------------------


def test_a_frame_takes_the_rest_of_its_budget_along() -> None:
    peer = Peer(deadline_ms=100)
    peer.send(Frame(IMAGE, capture_time=peer.clock.now - 0.03))
    peer.clock.now += 0.0205
    (frame,) = peer.written()
    assert frame.deadline_ms == 49  # 49.5 ms, rounded down
    peer.send(Frame(IMAGE, deadline_ms=500, timestamp_ns=1))  # its own deadline counts, and its timestamp does not
    peer.clock.now += 0.0995
    (frame,) = peer.written()
    assert frame.deadline_ms == 400
    assert (frame.sequence, frame.timestamp_ns, frame.width_px, frame.pixels) == (1, 1, 64, IMAGE.tobytes())


def test_a_frame_without_a_budget_has_none_on_the_wire_however_old_it_is() -> None:
    peer = Peer()
    peer.send(Frame(IMAGE, capture_time=peer.clock.now - 1000))
    (frame,) = peer.written()
    assert frame.deadline_ms == 0
    peer.answer(0)
    (result,) = peer.results()
    assert result.error is None
    assert result.age == pytest.approx(1000)


@pytest.mark.parametrize("policy", ["block", "newest", "oldest"])
def test_a_frame_that_is_too_old_is_not_written(policy: str) -> None:
    peer = Peer(deadline_ms=100, drop_policy=policy)
    peer.send()
    assert peer.session.until_expiry() == pytest.approx(0.099)
    peer.clock.now += 0.0995  # less than a millisecond is left
    assert peer.written() == []
    (result,) = peer.results()
    assert result.late
    assert result.error is not None
    assert result.error.reason == "DEADLINE_EXCEEDED"
    assert result.error.message.endswith("on the client")
    assert result.round_trip is None
    assert result.age == pytest.approx(0.0995)
    assert peer.session.link.expired == 1
    # One that was too old from the beginning has its result at once.
    peer.send(Frame(IMAGE, capture_time=peer.clock.now - 0.1))
    assert reasons(peer.results()) == [(1, "DEADLINE_EXCEEDED")]


def test_a_frame_that_waits_for_its_place_grows_old() -> None:
    peer = Peer(deadline_ms=100)
    assert peer.send(Frame(IMAGE, deadline_ms=1000))
    request = peer.session.frame_request(IMAGE)
    assert not peer.session.offer(request)
    assert peer.session.until_expiry(request) == pytest.approx(0.099)
    peer.clock.now += 0.1
    assert peer.session.offer(request)
    assert [f.sequence for f in peer.written()] == [0]
    assert peer.results() == []  # frame 0 comes first
    peer.answer(0)
    assert reasons(peer.results()) == [(0, ""), (1, "DEADLINE_EXCEEDED")]


def test_a_result_that_comes_after_the_budget_is_late() -> None:
    peer = Peer(deadline_ms=100)
    for _ in range(2):
        peer.send()
        peer.written()
    peer.clock.now += 0.0995
    peer.answer(0, timings={"total_ns": 5_000_000})  # just in time
    peer.clock.now += 0.0105
    peer.answer(1, keyframe=True, timings={"total_ns": 5_000_000})
    in_time, late = peer.results()
    assert in_time.error is None
    assert in_time.age == in_time.round_trip == pytest.approx(0.0995)
    assert in_time.server_time == pytest.approx(0.005)
    assert late.late
    assert late.error is not None
    assert late.error.reason == "DEADLINE_EXCEEDED"
    assert late.error.message == "the frame is 110 ms old, and its deadline is 100 ms, on the client"
    assert late.features is None
    assert late.keyframe
    assert late.round_trip == pytest.approx(0.11)
    assert peer.session.link.late == 1


def test_tracks_that_end_in_a_late_result_are_told_by_the_next_one() -> None:
    def tracks(*ids: int) -> list[dict[str, float]]:
        return [{"id": n, "x": 5, "y": 5, "gain": 1} for n in ids]

    peer = Peer(track=True, deadline_ms=100)
    for _ in range(4):
        peer.send()
        peer.written()
    peer.answer(0, tracks=tracks(1, 2, 3))
    peer.clock.now += 0.2
    peer.answer(1, tracks=tracks(1, 2, 4), ended_tracks=[{"id": 3, "reason": TrackEnd.LEFT_IMAGE}])
    peer.clock.now -= 0.2
    peer.answer(2, tracks=tracks(1), ended_tracks=[{"id": n, "reason": TrackEnd.DIFFERENT} for n in (2, 4)])
    peer.answer(3, tracks=tracks(1))
    first, late, after, last = peer.results()
    assert first.tracks.id.tolist() == [1, 2, 3]
    assert late.late
    assert len(late.tracks) == 0
    assert late.ended_tracks == {}
    assert after.tracks.id.tolist() == [1]
    # Nobody has seen track 4.
    assert after.ended_tracks == {2: TrackEnd.DIFFERENT, 3: TrackEnd.LEFT_IMAGE}
    assert last.ended_tracks == {}
    # Nor does a number come again after a loss.
    peer.lose()
    peer.connect()
    peer.send()
    peer.written()
    peer.answer(4, tracks=tracks(1))
    (again,) = peer.results()
    assert again.tracks.id.tolist() == [5]
    assert again.ended_tracks == {1: TrackEnd.RECONNECTED}


@pytest.mark.parametrize("time", [float("nan"), 1e9, "soon"])
def test_a_frame_from_the_future_fails_alone(time: Any) -> None:
    peer = Peer(deadline_ms=100)
    peer.send(Frame(IMAGE, capture_time=time))
    (result,) = peer.results()
    assert type(result.error) is orbserve.InvalidInputError
    peer.send(Frame(IMAGE, capture_time=peer.clock.now))
    assert len(peer.written()) == 1


# -- the slot ----------------------------------------------------------------------------------------------------------


def test_the_newest_frame_takes_the_place_of_the_one_that_waits() -> None:
    peer = Peer(drop_policy="newest")
    for _ in range(6):
        assert peer.send()
    assert [f.sequence for f in peer.written()] == [5]
    results = peer.results()
    assert reasons(results) == [(n, "DROPPED") for n in range(5)]
    assert all(r.dropped and r.error is not None and r.error.code == grpc.StatusCode.ABORTED for r in results)
    assert all(r.error is not None and r.error.message.endswith("on the client") for r in results)
    assert peer.session.link.dropped == 5


def test_the_oldest_frames_keep_their_place() -> None:
    peer = Peer(drop_policy="oldest")
    for _ in range(3):
        assert peer.send()
    assert [f.sequence for f in peer.written()] == [0]
    assert peer.results() == []  # each in its place of the order
    peer.answer(0)
    assert reasons(peer.results()) == [(0, ""), (1, "DROPPED"), (2, "DROPPED")]


def test_as_many_frames_wait_as_there_are_places() -> None:
    for policy, kept in (("newest", [3, 4, 5]), ("oldest", [0, 1, 2])):
        peer = Peer(waiting_frames=3, drop_policy=policy)
        for _ in range(6):
            peer.send()
        assert [r.sequence for r in peer.results()] == ([0, 1, 2] if policy == "newest" else [])
        frames = peer.written()
        peer.answer(frames[0].sequence)
        frames += peer.written()
        assert [f.sequence for f in frames] == kept
    with pytest.raises(ValueError, match="waiting_frames must be at least 1; got 0"):
        Peer(waiting_frames=0)


@pytest.mark.parametrize("policy", ["newest", "oldest"])
def test_a_live_stream_has_only_as_much_on_its_way_as_the_link_holds(policy: str) -> None:
    peer = Peer(drop_policy=policy)
    for _ in range(4):
        peer.send()
    (frame,) = peer.written()
    assert peer.session.link.in_flight == peer.session.link.window == 1
    peer.send()
    assert peer.written() == []
    peer.answer(frame.sequence)
    (frame,) = peer.written()
    peer.send()
    assert len(peer.written()) == 1  # it is known to be fast by now
    assert peer.session.link.in_flight == peer.session.link.window == 2


def test_the_link_limits_while_frames_wait_for_it_and_the_server_is_faster() -> None:
    for server_time, limits in ((0.01, True), (0.09, False)):
        peer = Peer(drop_policy="newest")
        assert not peer.session.link.limits
        peer.send()
        peer.written()
        peer.send()
        assert peer.written() == []  # waits
        peer.clock.now += 0.1
        peer.answer(0, timings={"total_ns": int(server_time * 1e9)})
        assert peer.session.link.limits == limits
        peer.clock.now += 1.1  # no frame has waited since
        assert not peer.session.link.limits


def test_the_link_limits_where_its_delay_is_longer_than_the_deadline() -> None:
    for deadline_ms, limits in ((0, False), (29, True), (31, False)):
        peer = Peer(deadline_ms=deadline_ms)
        link = peer.session.link
        assert link.delay == pytest.approx(0.03)  # of the opening
        assert link.limits == limits
    peer.send()
    peer.written()
    peer.clock.now += 0.05
    peer.answer(0, timings={"total_ns": 10_000_000})
    assert peer.session.link.delay == pytest.approx(0.04)
    assert peer.session.link.limits
    peer.lose()
    assert peer.session.link.delay is None
    assert not peer.session.link.limits


def test_the_link_limits_no_frames_of_block() -> None:
    peer = Peer(is_slow=True, drop_policy="block")
    peer.send(LARGE)
    peer.written()
    peer.send(LARGE)
    assert peer.written() == []
    peer.clock.now += 0.1
    peer.answer(0)
    assert not peer.session.link.limits


def test_block_drops_nothing_and_leaves_the_bound_to_the_server() -> None:
    peer = Peer(is_slow=True, drop_policy="block")
    assert peer.send(LARGE)
    assert len(peer.written()) == 1
    assert peer.send(LARGE)
    assert peer.session.is_full()
    assert not peer.session.offer(peer.session.frame_request(LARGE))
    assert peer.written() == []  # the first one goes alone
    peer.answer(0)
    assert len(peer.written()) == 1
    for _ in range(50):
        assert peer.send(LARGE)
        assert len(peer.written()) == 1


def test_block_has_no_more_on_its_way_than_a_slow_link_holds() -> None:
    """And a slow server is no slow link."""
    for server_time, bound in ((0.01, 1), (0.5, 5)):
        peer = Peer(is_slow=True, drop_policy="block")
        peer.send(LARGE)
        peer.written()
        peer.clock.now += 1.2
        peer.answer(0, timings={"total_ns": int(server_time * 1e9)})
        written = 0
        for _ in range(5):
            peer.send(LARGE)
            written += len(peer.written())
        assert written == bound


def test_small_frames_are_no_load_for_a_slow_link() -> None:
    peer = Peer(is_slow=True, drop_policy="block")
    written = 0
    while peer.send():
        written += len(peer.written())
    assert 20 < written < 50  # of 3 KiB


def test_frames_wait_for_the_next_connection() -> None:
    peer = Peer(drop_policy="newest")
    peer.send()
    peer.written()
    peer.send(None)
    peer.send()
    peer.lose()
    events = [one for one in peer.session.deliveries if isinstance(one, StreamEvent)]
    assert [e.lost_sequences for e in events] == [(0,)]
    for _ in range(3):
        assert peer.send()
    lost, broken, *dropped = peer.results()
    assert isinstance(lost.error, orbserve.UnavailableError)
    assert isinstance(broken.error, orbserve.InvalidInputError)
    assert reasons(dropped) == [(2, "DROPPED"), (3, "DROPPED"), (4, "DROPPED")]
    peer.connect()
    assert [f.sequence for f in peer.written()] == [5]


def test_the_last_frame_is_sent_after_close_send() -> None:
    peer = Peer(drop_policy="newest")
    peer.lose()
    peer.send()
    peer.session.send_closed = True
    assert not peer.session.is_left()
    peer.connect()
    assert len(peer.written()) == 1
    assert peer.session.is_left()


def test_options_keep_their_place_among_the_frames() -> None:
    peer = Peer(drop_policy="block", deadline_ms=100)
    peer.send()
    change = opening(StreamOptions(drop_policy="newest", deadline_ms=300))
    assert peer.session.offer(change)
    assert not peer.session.offer(opening(StreamOptions()))  # one at a time
    for _ in range(3):
        assert peer.send()
    messages = []
    while (data := peer.session.next_message()) is not None:
        messages.append(wire.StreamFramesRequest.FromString(data))
    assert [m.WhichOneof("message") for m in messages] == ["open", "frame"]
    assert messages[1].frame.deadline_ms == 300


def test_a_caller_who_never_reads_is_held_back_in_the_end() -> None:
    peer = Peer(drop_policy="newest")
    peer.lose()
    sent = 0
    while peer.send():
        sent += 1
        assert sent <= MAX_UNREAD
    assert sent > MAX_UNREAD / 2
    assert peer.session.may_read()  # results that were made here stop no reading
