# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Every kind of image, against the same pixels in another form."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt
import pytest

import orbserve

from .conftest import make_image, write_pgm

Pixels = npt.NDArray[np.uint8]


def same(a: orbserve.Features, b: orbserve.Features) -> bool:
    return len(a) > 0 and np.array_equal(a.xy, b.xy) and np.array_equal(a.descriptors, b.descriptors)


@pytest.fixture(scope="module")
def colour() -> Pixels:
    return np.stack([make_image(320, 240, seed) for seed in (1, 2, 3)], axis=2)


def test_channel_orders_are_told_apart(client: orbserve.Client, colour: Pixels) -> None:
    bgr = client.extract(colour)
    assert same(bgr, client.extract(np.ascontiguousarray(colour[:, :, ::-1]), format="rgb"))
    assert same(bgr, client.extract(colour[:, :, ::-1], format=orbserve.PixelFormat.RGB8))
    assert same(bgr, client.extract(np.dstack([colour, colour[:, :, 0]])))
    assert same(bgr, client.extract(np.dstack([colour[:, :, ::-1], colour[:, :, 0]]), format="rgba"))
    assert not same(bgr, client.extract(colour, format="rgb"))


def test_grey_formats_have_one_answer(client: orbserve.Client, image: Pixels) -> None:
    grey = client.extract(image)
    height, width = image.shape
    noise = make_image(width, height // 2, 9)
    assert same(grey, client.extract(image[:, :, None]))
    assert same(grey, client.extract(np.asfortranarray(image)))
    wide = make_image(width + 50, height + 10, 4)
    wide[3 : 3 + height, 11 : 11 + width] = image
    assert same(grey, client.extract(wide[3 : 3 + height, 11 : 11 + width]))
    assert same(grey, client.extract(np.vstack([image, noise]), format="nv12"))
    assert same(grey, client.extract(np.vstack([image, noise]), format="i420"))
    assert same(grey, client.extract(np.dstack([image, make_image(width, height, 8)]), format="yuyv"))
    assert same(grey, client.extract(np.dstack([make_image(width, height, 8), image]), format="uyvy"))


def test_grey_of_16_bits_goes_through_its_window(client: orbserve.Client, image: Pixels) -> None:
    grey = client.extract(image)
    deep = image.astype(np.uint16)
    assert same(grey, client.extract((deep * 257).astype(np.uint16)))
    assert same(grey, client.extract((deep * 257).astype(">u2"), window=(0, 0)))
    thermal: npt.NDArray[np.uint16] = (29_000 + 4 * deep).astype(np.uint16)
    assert same(grey, client.extract(thermal, window=(29_000, 29_000 + 4 * 255)))
    assert same(grey, client.extract(orbserve.Frame(thermal[:, :, None], "gray16", window=(29_000, 30_020))))
    noise = np.random.default_rng(5).integers(0, 65536, image.shape).astype(np.uint16)
    low, high = 12_345, 50_001
    clipped = np.clip(noise.astype(np.int64), low, high) - low
    expected = ((510 * clipped + high - low) // (2 * (high - low))).astype(np.uint8)
    assert same(client.extract(expected), client.extract(noise, window=(low, high)))


@pytest.mark.parametrize("pattern", ["RGGB", "BGGR", "GBRG", "GRBG"])
def test_mosaics_are_those_of_opencv_but_for_the_outermost_pixels(
    client: orbserve.Client, image: Pixels, pattern: str
) -> None:
    colours = cv2.cvtColor(image, getattr(cv2, f"COLOR_Bayer{pattern}2BGR"))
    grey: Any = cv2.cvtColor(colours, cv2.COLOR_BGR2GRAY)
    # No keypoint of level 0 sees the outermost pixels.
    levels = orbserve.Orb(levels=1)
    assert same(client.extract(grey, levels), client.extract(image, levels, format=f"bayer_{pattern.lower()}8"))


def test_files_are_read_by_their_content(client: orbserve.Client, colour: Pixels, tmp_path: Path) -> None:
    grey = colour[:, :, 0].copy()
    path = write_pgm(tmp_path / "odd.name", grey)
    expected = client.extract(grey)
    assert same(expected, client.extract(path))
    assert same(expected, client.extract(str(path)))
    assert same(expected, client.extract(path.read_bytes()))
    ppm = b"P6 320 240 255\n" + colour[:, :, ::-1].tobytes()
    assert same(client.extract(colour), client.extract(ppm))
    dark = b"P5 320 240 85\n" + (grey // 3).tobytes()
    assert same(client.extract((grey // 3 * 3).astype(np.uint8)), client.extract(dark))


@pytest.mark.parametrize("library", ["cv2", "PIL"])
def test_png_files_of_every_kind(
    client: orbserve.Client, colour: Pixels, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    if library == "PIL":
        pytest.importorskip("PIL")
        monkeypatch.setattr(builtins, "__import__", without("cv2"))
    grey = colour[:, :, 0]
    for pixels, expected in (
        (grey, grey),
        (grey.astype(np.uint16) * 256 + 77, grey),
        (colour, colour),
        (np.dstack([colour, grey]), colour),
    ):
        data = cv2.imencode(".png", pixels)[1].tobytes()
        assert same(client.extract(np.ascontiguousarray(expected)), client.extract(data))
    with pytest.raises(ValueError, match="the PNG file is damaged"):
        client.extract(data[:100])


def without(*names: str) -> Any:
    original = builtins.__import__

    def load(name: str, *arguments: Any, **more: Any) -> Any:
        if name.split(".")[0] in names:
            raise ImportError(name)
        return original(name, *arguments, **more)

    return load


def test_png_without_a_decoder_says_what_to_install(monkeypatch: pytest.MonkeyPatch, client: orbserve.Client) -> None:
    monkeypatch.setattr(builtins, "__import__", without("cv2", "PIL"))
    with pytest.raises(ImportError, match="pip install opencv-python-headless, or pillow"):
        client.extract(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize(
    ("image", "error", "text"),
    [
        (np.zeros((4, 4), np.float32), TypeError, "must be an array of uint8 or uint16; got float32"),
        (np.zeros((4, 4, 2), np.uint8), ValueError, r"or a `format`; got \(4, 4, 2\)"),
        (np.zeros(4, np.uint8), ValueError, r"got \(4,\)"),
        (b"GIF89a", ValueError, "not a JPEG, PNG, binary PGM or binary PPM file; it begins with b'GIF89a'"),
        (b"", ValueError, "it begins with b''"),
        (b"P5 3 x", ValueError, "the PNM header must give"),
        (b"P5 3 3 255 1234", ValueError, "ends early: it has 4 bytes of 9"),
        (b"P5 1 1 300 1234", ValueError, r"must be in \[1, 255\]; got 300"),
        (b"P5 2 1 100\n\x01\xff", ValueError, "above its largest value 100"),
        (17, TypeError, "an image is an array of uint8, the bytes of a file, or a path; got int"),
        (orbserve.Frame(np.zeros((4, 4), np.uint8), format="rgb"), ValueError, "RGB8 has 3 channels"),
        (orbserve.Frame(np.zeros((4, 4), np.uint8), format="nv12"), ValueError, r"shape \(H \* 3 / 2, W\)"),
        (orbserve.Frame(b"\xff\xd8\xff", format="rgb"), ValueError, "format is for arrays"),
        (
            orbserve.Frame(np.zeros((4, 4), np.uint8), format="gray16"),
            TypeError,
            "must be an array of uint16; got uint8",
        ),
        (
            orbserve.Frame(np.zeros((4, 4), np.uint16), format="gray"),
            TypeError,
            "must be an array of uint8; got uint16",
        ),
        (np.zeros((4, 4, 3), np.uint16), ValueError, "GRAY16 has 1 channels"),
        (orbserve.Frame(np.zeros((4, 4), np.uint16), window=(7, 7)), ValueError, r"65535; got \(7, 7\)"),
        (orbserve.Frame(np.zeros((4, 4), np.uint16), window=(0, 65536)), ValueError, "low < high <= 65535"),
        (orbserve.Frame(np.zeros((4, 4), np.uint8), window=(0, 9)), ValueError, "window is for arrays of uint16"),
        (orbserve.Frame(b"\xff\xd8\xff", window=(0, 9)), ValueError, "window is for arrays of uint16"),
    ],
)
def test_wrong_images_are_refused_before_anything_is_sent(image: Any, error: type[Exception], text: str) -> None:
    with orbserve.Client("unix:/nonexistent") as client, pytest.raises(error, match=text):
        client.extract(image)


def test_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gif"
    path.write_bytes(b"GIF89a")
    with orbserve.Client("unix:/nonexistent") as client:
        with pytest.raises(ValueError, match=r"a\.gif: not a JPEG"):
            client.extract(path)
        with pytest.raises(FileNotFoundError):
            client.extract(tmp_path / "none.jpg")


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (5, 0)])
def test_empty_images_are_refused_by_the_server(client: orbserve.Client, shape: tuple[int, int]) -> None:
    with pytest.raises(orbserve.InvalidInputError) as caught:
        client.extract(np.zeros(shape, np.uint8))
    assert caught.value.reason in ("BAD_IMAGE", "BAD_REQUEST")
