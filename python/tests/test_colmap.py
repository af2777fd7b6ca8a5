# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""COLMAP databases of the program, beside COLMAP's own SIFT. They skip without pycolmap."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import make_image, write_pgm

pycolmap: Any = pytest.importorskip("pycolmap", reason="pycolmap is not here: COLMAP databases are NOT compared")


class Features:
    """Keypoints and descriptors of the only image of a database."""

    def __init__(self, path: Path):
        database = pycolmap.Database.open(path)
        (image,) = database.read_all_images()
        keypoints = np.asarray(database.read_keypoints(image.image_id))
        descriptors = database.read_descriptors(image.image_id)
        database.close()
        assert descriptors.type == pycolmap.FeatureExtractorType.SIFT
        self.descriptors = np.asarray(descriptors.data, np.float64)
        self.xy = keypoints[:, :2]
        if keypoints.shape[1] == 4:
            self.scale, self.angle = keypoints[:, 2], keypoints[:, 3]
        else:  # the matrix of a rotation and a scale
            self.scale = np.hypot(keypoints[:, 2], keypoints[:, 4])
            self.angle = np.arctan2(keypoints[:, 4], keypoints[:, 2])


def angles_between(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs((first - second + np.pi) % (2 * np.pi) - np.pi))


# The doubled image of OpenCV 4.6 lies a quarter of a pixel further to the right and below.
@pytest.mark.parametrize(("first_octave", "shift"), [(-1, 0.25), (0, 0.0)])
def test_features_of_sift_are_those_of_colmap(program: str, tmp_path: Path, first_octave: int, shift: float) -> None:
    images = tmp_path / "images"
    images.mkdir()
    write_pgm(images / "a.pgm", make_image(400, 300))
    options = ["--pipeline", "sift", "--descriptor", "l1-root-sift", "--contrast-threshold", "0.02"]
    options += ["--first-octave", str(first_octave), "--format", "colmap"]
    done = subprocess.run(
        [program, "extract", "--quiet", *options, "--out", str(tmp_path), str(images)], capture_output=True, text=True
    )
    if "built without" in done.stderr:
        pytest.skip(f"this is NOT tested: {done.stderr}")
    assert done.returncode == 0, done.stderr
    extraction = pycolmap.FeatureExtractionOptions()
    extraction.use_gpu = False
    extraction.sift.first_octave = first_octave
    pycolmap.extract_features(tmp_path / "theirs.db", images, extraction_options=extraction, device=pycolmap.Device.cpu)
    ours, theirs = Features(tmp_path / "database.db"), Features(tmp_path / "theirs.db")

    pairs = []
    for i, place in enumerate(ours.xy):
        near = np.abs(theirs.xy - place).max(axis=1) < 1
        near &= np.abs(np.log(theirs.scale / ours.scale[i])) < 0.1
        near &= angles_between(theirs.angle, ours.angle[i]) < 0.1
        if near.sum() == 1:
            pairs.append((i, np.flatnonzero(near)[0]))
    assert len(pairs) > 0.4 * len(ours.xy) > 20
    a, b = np.array(pairs).T
    assert np.median(ours.xy[a] - theirs.xy[b], axis=0) == pytest.approx([shift, shift], abs=0.03)
    assert np.median(ours.scale[a] / theirs.scale[b]) == pytest.approx(1, abs=0.02)
    # Descriptors have a length of 512.
    distances = np.linalg.norm(ours.descriptors[a] - theirs.descriptors[b], axis=1)
    assert np.median(distances) < 60
