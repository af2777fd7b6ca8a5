# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Features and matches: equal to the program's, to files, to OpenCV."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import cv2
import numpy as np
import numpy.typing as npt
import pytest

import orbserve

from .conftest import make_image, write_pgm

ALL = [
    *(kind() for kind in orbserve.PRESETS.values()),
    orbserve.Orb(max_features=2000, levels=3),
    orbserve.Orb(suppression=orbserve.Suppression.MINIMUM_DISTANCE),
]
FLAGS = [
    *(["--pipeline", name] for name in orbserve.PRESETS),
    ["--max-features", "2000", "--levels", "3"],
    ["--suppress", "MINIMUM_DISTANCE"],
]


def saved(features: orbserve.Features) -> bytes:
    out = io.BytesIO()
    features.save(out)
    return out.getvalue()


@pytest.mark.parametrize(("pipeline", "flags"), list(zip(ALL, FLAGS, strict=True)))
def test_files_are_those_of_the_program_byte_for_byte(
    client: orbserve.Client,
    program: str,
    image: npt.NDArray[np.uint8],
    tmp_path: Path,
    pipeline: orbserve.Pipeline,
    flags: list[str],
) -> None:
    jpeg = tmp_path / "b.jpg"
    png = tmp_path / "c.png"
    colour = np.stack([image, image[::-1], image.T.copy().reshape(image.shape)], axis=2)
    assert cv2.imwrite(str(jpeg), colour)
    assert cv2.imwrite(str(png), colour)
    paths = [write_pgm(tmp_path / "a.pgm", image), jpeg, png]
    subprocess.run(
        [program, "extract", "--quiet", *flags, "--out", str(tmp_path / "out"), *map(str, paths)],
        check=True,
        cwd=tmp_path,
    )
    for path, features in zip(paths, client.extract_many(paths, pipeline), strict=True):
        assert len(features) > 0
        expected = (tmp_path / "out" / f"{path.name}.npz").read_bytes()
        assert saved(features) == expected
        loaded = orbserve.Features.load(tmp_path / "out" / f"{path.name}.npz")
        assert saved(loaded) == expected
        assert loaded.descriptor_type == features.descriptor_type
        assert loaded.suppression_passes == features.suppression_passes


def test_files_without_features_are_those_of_the_program(client: orbserve.Client, program: str, tmp_path: Path) -> None:
    path = write_pgm(tmp_path / "a.pgm", np.zeros((90, 120), np.uint8))
    subprocess.run([program, "extract", "--quiet", "--out", str(tmp_path), str(path)], check=True, cwd=tmp_path)
    features = client.extract(path)
    assert len(features) == 0
    assert features.descriptors.shape == (0, 32)
    assert saved(features) == (tmp_path / "a.pgm.npz").read_bytes()


def test_numpy_reads_saved_files_and_numpys_files_are_read(
    client: orbserve.Client, image: npt.NDArray[np.uint8], tmp_path: Path
) -> None:
    features = client.extract(image)
    path = tmp_path / "a.npz"
    features.save(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.npz"]
    with np.load(path) as arrays:
        for name in ("xy", "size", "angle", "response", "octave", "descriptors"):
            assert np.array_equal(arrays[name], getattr(features, name))
            assert arrays[name].dtype == getattr(features, name).dtype
    np.savez_compressed(tmp_path / "b.npz", xy=features.xy, descriptors=features.descriptors)
    other = orbserve.Features.load(tmp_path / "b.npz")
    assert np.array_equal(other.xy, features.xy)
    assert (other.size == 31).all()
    assert (other.angle == -1).all()
    np.savez(tmp_path / "c.npz", points=features.xy)
    with pytest.raises(ValueError, match="need the array xy; there are points"):
        orbserve.Features.load(tmp_path / "c.npz")
    whole = path.read_bytes()
    damaged = whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]
    np.save(tmp_path / "one.npy", features.xy)
    others = [b"", b"no archive", whole[: len(whole) // 2], damaged, (tmp_path / "one.npy").read_bytes()]
    for number, content in enumerate(others):
        other_file = tmp_path / f"{number}.npz"
        other_file.write_bytes(content)
        with pytest.raises(ValueError, match=f"{number}.npz: not an NPZ file of numbers, or a damaged one"):
            orbserve.Features.load(other_file)
    with pytest.raises(FileNotFoundError):
        orbserve.Features.load(tmp_path / "none.npz")


def test_features_of_ones_own_are_checked() -> None:
    assert len(orbserve.Features(np.zeros((3, 2), np.float32))) == 3
    with pytest.raises(ValueError, match=r"xy must have the shape \(N, 2\); got \(3,\)"):
        orbserve.Features(np.zeros(3, np.float32))
    with pytest.raises(ValueError, match=r"angle must have the shape \(3,\)"):
        orbserve.Features(np.zeros((3, 2), np.float32), angle=np.zeros(2, np.float32))
    with pytest.raises(ValueError, match="descriptors must be uint8"):
        orbserve.Features(np.zeros((3, 2), np.float32), descriptors=np.zeros((3, 32)))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must have 0, 4 or 32 bytes; got 8"):
        orbserve.Features(np.zeros((3, 2), np.float32), descriptors=np.zeros((3, 8), np.uint8))
    named = orbserve.Features(np.zeros((3, 2)), descriptors=np.zeros((3, 32), np.uint8), descriptor_type="bfrost-256")  # type: ignore[arg-type]
    assert named.descriptor_type is orbserve.DescriptorType.BFROST_256
    with pytest.raises(ValueError, match=r"DescriptorType must be one of .*; got 'surf'"):
        orbserve.Features(np.zeros((3, 2)), descriptors=np.zeros((3, 32), np.uint8), descriptor_type="surf")  # type: ignore[arg-type]


def test_arrays_of_answers_are_read_only(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    features = client.extract(image)
    given = client.extract(image, keypoints=features)
    assert given.source_index is not None
    matches = client.match(features, given)
    for array in (
        *(getattr(features, name) for name in ("xy", "size", "angle", "response", "octave", "descriptors")),
        given.source_index,
        *(matches.query_index, matches.train_index, matches.distance),
    ):
        assert len(array) > 0
        assert not array.flags.writeable


def test_features_go_to_opencv_and_back(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    features = client.extract(image)
    keypoints, descriptors = features.to_cv2()
    ours = orbserve.Features.from_cv2(keypoints, descriptors, image_size=features.image_size)
    assert saved(ours) == saved(features)
    assert len(orbserve.Features.from_cv2([])) == 0


def test_orb_is_the_orb_of_opencv(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    # Versions of OpenCV resize and smooth differently in the last bit, so that the first level alone is compared, by
    # place.
    features = client.extract(image, orbserve.Orb(levels=1))
    keypoints = cv2.ORB_create(nlevels=1).detect(image)  # type: ignore[attr-defined]
    assert {k.pt for k in keypoints} == set(map(tuple, features.xy.tolist()))


def opencv_is_the_reference_of_sift() -> bool:
    """OpenCV 4.6.0 with its code for AVX2, not that for AVX-512 (OPENCV_CPU_DISABLE=AVX512-SKX)."""
    avx2, fma3, avx512_skx = 11, 12, 256  # CV_CPU_* of OpenCV's interface.h
    has = cv2.checkHardwareSupport
    return (
        cv2.__version__ == "4.6.0"
        and "(ver 12." in cv2.getBuildInformation()
        and has(avx2)
        and has(fma3)
        and not has(avx512_skx)
    )


def test_sift_goes_to_opencv_and_back(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    features = client.extract(image, orbserve.Sift(contrast_threshold=0.01))
    assert features.layer is not None
    assert features.octave.min() == -1
    keypoints, descriptors = features.to_cv2()
    kind = orbserve.DescriptorType.SIFT
    size = features.image_size
    for numbers in (descriptors, descriptors.astype(np.float32)):
        ours = orbserve.Features.from_cv2(keypoints, numbers, image_size=size, descriptor_type=kind)
        assert saved(ours) == saved(features)
    if not opencv_is_the_reference_of_sift():
        pytest.skip("NOT COMPARED: this OpenCV is not 4.6.0, or does not run its code for AVX2")
    sift = cv2.SIFT_create(contrastThreshold=0.01)  # type: ignore[attr-defined]
    expected, numbers = sift.detectAndCompute(image, None)
    rows = [(*k.pt, k.size, k.angle, k.response, k.octave) for k in keypoints]
    assert rows == [(*k.pt, k.size, k.angle, k.response, k.octave) for k in expected]
    assert np.array_equal(descriptors, numbers)


def test_root_sift_is_that_of_numpy(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    kinds = orbserve.DescriptorType
    plain, root, l1_root = (
        client.extract(image, orbserve.Sift(contrast_threshold=0.01, descriptor_type=kind)).descriptors
        for kind in (kinds.SIFT, kinds.ROOT_SIFT, kinds.L1_ROOT_SIFT)
    )
    numbers = plain.astype(np.float32)
    share = numbers / np.maximum(numbers.sum(axis=1, keepdims=True), np.float32(1))
    expected = np.minimum(np.rint(np.sqrt(share) * np.float32(512)), 255).astype(np.uint8)
    assert len(root) > 0
    assert np.array_equal(root, expected)
    # The numbers are rounded before the root is taken of them, or after.
    assert np.abs(l1_root.astype(np.int32) - root)[plain > 4].max() <= 10


def test_matches_of_sift_have_the_distances_of_opencv(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    pipeline = orbserve.Sift(contrast_threshold=0.01)
    query, train = client.extract(image, pipeline), client.extract(np.roll(image, 7, axis=1), pipeline)
    matches = client.match(query, train, orbserve.MatchOptions(cross_check=True))
    assert matches.descriptor_type == orbserve.DescriptorType.SIFT
    sides = (query.descriptors.astype(np.float32), train.descriptors.astype(np.float32))
    expected = cv2.BFMatcher(cv2.NORM_L2, crossCheck=True).match(*sides)
    assert len(matches) == len(expected) > 0
    ours = matches.to_cv2()
    assert [m.queryIdx for m in ours] == [m.queryIdx for m in expected]
    assert [m.distance for m in ours] == [m.distance for m in expected]
    for row in matches.distance.tolist()[:1]:
        assert ours[0].distance == np.sqrt(np.float32(row))


def test_matches_are_those_of_opencv(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    query, train = client.extract(image), client.extract(np.roll(image, 7, axis=1))
    matches = client.match(query, train, orbserve.MatchOptions(cross_check=True))
    assert matches.query is query
    assert matches.train is train
    expected = cv2.BFMatcher(cv2.NORM_HAMMING, crossCheck=True).match(query.descriptors, train.descriptors)
    assert len(matches) == len(expected) > 0
    rows = [(m.queryIdx, m.trainIdx, int(m.distance)) for m in orbserve.match_to_cv2(matches)]
    assert [row[0] for row in rows] == [m.queryIdx for m in expected]
    assert [row[2] for row in rows] == [int(m.distance) for m in expected]


def test_matches_in_a_band(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    # The second image lies 7 pixels to the left of the first: the disparity is 7.
    left, right = client.extract(image), client.extract(np.roll(image, -7, axis=1))
    band = client.match(left, right, orbserve.MatchOptions(min_dx=6.5, max_dx=7.5, max_dy=0.5))
    assert len(band) > 50
    moved = left.xy[band.query_index] - right.xy[band.train_index]
    assert np.all((moved[:, 0] >= 6.5) & (moved[:, 0] <= 7.5) & (np.abs(moved[:, 1]) <= 0.5))
    rows = np.array([[0, 0, 0], [0, 0, -1], [0, 1, 0]])
    lines = orbserve.MatchOptions(min_dx=6.5, max_dx=7.5, fundamental=rows, max_epipolar_px=0.5)  # type: ignore[arg-type]
    again = client.match(left, right, lines)
    assert np.array_equal(band.query_index, again.query_index)
    assert np.array_equal(band.train_index, again.train_index)
    with pytest.raises(orbserve.InvalidInputError, match="must be nine numbers, row by row; got 3"):
        client.match(left, right, orbserve.MatchOptions(fundamental=(1, 2, 3), max_epipolar_px=1))


def test_matches_of_images_have_their_features(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    other = np.roll(image, 7, axis=1)
    matches = client.match(image, other, pipeline="bfrost")
    assert matches.query is not None
    assert matches.train is not None
    assert saved(matches.query) == saved(client.extract(image, "bfrost"))
    assert saved(matches.train) == saved(client.extract(other, "bfrost"))
    bits = np.unpackbits(matches.query.descriptors, axis=1).astype(np.int32)
    distances = (bits[:, None, :] != np.unpackbits(matches.train.descriptors, axis=1)[None]).sum(axis=2)
    assert np.array_equal(matches.distance, distances[matches.query_index, matches.train_index])
    nearest = orbserve.MatchOptions(k=3, selection=orbserve.MatchSelection.K_BEST)
    several = client.match(matches.query, matches.train, nearest)
    assert np.array_equal(several.distance.reshape(-1, 3), np.sort(distances, axis=1)[:, :3])


def test_given_keypoints_are_described(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    found = client.extract(image)
    again = client.extract(image, keypoints=found)
    assert np.array_equal(again.descriptors, found.descriptors)
    assert np.array_equal(again.response, found.response)
    assert again.source_index is not None
    assert again.source_index.tolist() == list(range(len(found)))
    points = orbserve.Keypoints(np.concatenate([[[1.0, 1.0]], found.xy]), angle=30, octave=0)
    turned = client.extract(image, keypoints=points)
    assert turned.source_index is not None
    assert 0 not in turned.source_index  # too near to the border
    assert (turned.angle == 30).all()
    empty = client.extract(image, keypoints=orbserve.Keypoints(np.zeros((0, 2))))
    assert len(empty) == 0
    with pytest.raises(ValueError, match=r"angle of the keypoints must have the shape \(2,\) of xy"):
        client.extract(image, keypoints=orbserve.Keypoints([[1, 2], [3, 4]], angle=[1, 2, 3]))
    with pytest.raises(TypeError, match="octave of the keypoints must be integers; got float64"):
        client.extract(image, keypoints=orbserve.Keypoints([[1, 2], [3, 4]], octave=[1.5, 2]))


def test_masks_keep_features_out(client: orbserve.Client, image: npt.NDArray[np.uint8]) -> None:
    mask = np.zeros(image.shape, bool)
    mask[:, :200] = True
    left = client.extract(image, orbserve.Orb(levels=1), mask=mask)
    assert len(left) > 0
    assert left.xy[:, 0].max() < 200
    assert saved(client.extract(image, orbserve.Orb(levels=1), mask=mask.astype(np.uint8) * 7)) == saved(left)
    with pytest.raises(ValueError, match="a mask must be an array of uint8 or bool"):
        client.extract(image, mask=mask.astype(float))
    with pytest.raises(orbserve.InvalidInputError):
        client.extract(image, mask=mask[:-1])


def test_parameters_of_one_frame_replace_the_pipelines(client: orbserve.Client) -> None:
    image = make_image(300, 200, seed=5)
    few = client.extract(image, parameters=orbserve.FrameParameters(max_features=20, fast_threshold=40))
    assert saved(few) == saved(client.extract(image, orbserve.Orb(max_features=20, fast_threshold=40)))
