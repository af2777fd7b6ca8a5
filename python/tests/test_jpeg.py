# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Frames that the client encodes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import orbserve
from orbserve import Frame, PixelFormat
from orbserve._jpeg import BEST_QUALITY, WORST_QUALITY, JpegEncoder

from .conftest import Server, make_image


@pytest.fixture(params=["cv2", "PIL"])
def encoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> JpegEncoder:
    """An encoder with each of the libraries."""
    pytest.importorskip(request.param)
    if request.param == "PIL":
        monkeypatch.setitem(sys.modules, "cv2", None)
    return JpegEncoder(0.1)


def formats() -> list[tuple[Any, PixelFormat | str | None]]:
    grey = make_image(480, 360)
    colours = np.stack([grey, np.roll(grey, 3, 0), 255 - grey], axis=2)
    return [
        (grey, None),
        (grey[:, :, None], None),
        (colours, None),
        (colours, "rgb"),
        (np.dstack([colours, grey]), None),
        (np.vstack([grey, grey[:180]]), "nv12"),
        (np.vstack([grey, grey[:180]]), "i420"),
        (np.dstack([grey, grey]), "yuyv"),
        (np.dstack([np.roll(grey, 9), grey]), "uyvy"),
        (np.dstack([colours, grey]), "rgba"),
    ]


def test_every_format_has_the_pixels_that_the_server_would_make_of_it(
    client: orbserve.Client, encoder: JpegEncoder
) -> None:
    encoder.quality = 95
    for pixels, kind in formats():
        frame = encoder.frame(Frame(pixels, kind, sequence=3))
        assert isinstance(frame.image, bytes)
        raw = client.extract(Frame(pixels, kind), orbserve.Orb(levels=1))
        coded = client.extract(frame, orbserve.Orb(levels=1))
        assert (coded.image_size, coded.sequence) == (raw.image_size, 3)
        near = np.abs(raw.xy[:, None] - coded.xy[None]).max(axis=2).min(axis=1) <= 1
        assert near.size > 20
        assert near.mean() > 0.7, kind


def test_files_and_what_jpeg_does_not_keep_stay_as_they_are(encoder: JpegEncoder) -> None:
    for frame in (Frame(np.zeros((8, 8), np.uint16)), Frame(np.zeros((8, 8), np.uint8), "bayer_rggb8")):
        assert encoder.frame(frame) is frame
    frame = Frame(b"\xff\xd8\xff file")
    assert encoder.frame(frame) is frame


def test_the_quality_follows_the_age(encoder: JpegEncoder) -> None:
    now, first = 100.0, encoder.quality

    def answer(age: float, on_server: float = 0.001) -> None:
        nonlocal now
        now += 1
        encoder.answered(now - age, age, age - on_server, on_server, now)

    assert first == 90  # the numbers of tests/client/jpeg_encoder_test.cc: the rule is one
    answer(0.15)
    assert encoder.quality == 80
    encoder.answered(now - 0.5, 0.5, 0.5, 0.0, now)  # of a frame from before the change
    answer(0.09)  # near what is wanted
    answer(0.3, on_server=0.2)  # it is not the link
    assert encoder.quality == 80
    answer(0.01)
    assert encoder.quality == 82
    for _ in range(100):
        answer(0.01)
    assert encoder.quality == BEST_QUALITY
    for _ in range(100):
        answer(1.0)
    assert encoder.quality == WORST_QUALITY


def test_what_is_missing_or_wrong_is_said_before_the_stream_is_opened(
    client: orbserve.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age in (0, -1, float("nan"), "fast"):
        with pytest.raises(ValueError, match=r"jpeg_age must be a number of seconds above 0"):
            client.stream(jpeg_age=age)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="jpeg_age needs OpenCV or Pillow: pip install"):
        client.stream(jpeg_age=0.1)


def test_a_stream_sends_jpeg_files(server: Server, client: orbserve.Client) -> None:
    image = make_image(320, 240)
    expected = client.extract(JpegEncoder(1.0).frame(Frame(image)))
    with client.stream(jpeg_age=1e-9) as stream:
        results = list(stream.run([image, Frame(image, format="gray"), np.zeros((3, 3, 7), np.uint8)]))
    assert results[0].features is not None
    assert np.array_equal(results[0].features.xy, expected.xy)
    assert results[1].error is None
    assert isinstance(results[2].error, orbserve.InvalidInputError)  # alone, as any frame that cannot be sent
