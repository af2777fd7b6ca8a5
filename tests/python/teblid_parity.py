# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Compares TEBLID, BEBLID and their matches with cv::xfeatures2d of OpenCV's contributed modules and with counted bits.

Usage: teblid_parity.py --server PROGRAM [--backend cpu|gpu] [--features N] [FOLDER...]

Described are keypoints that the server detects, and given ones of every kind: of cv::ORB, cv::FAST and cv::SIFT, at random
places, sizes and angles, and at the edges; on an image made by rule and on all PNG and JPEG files of the folders. N: of each
kind and image. The environment of python/run_tests has all that it needs but opencv-contrib-python-headless, which takes the
place of another OpenCV: pip install --target FOLDER, PYTHONPATH=FOLDER.
Exit codes: 0 all bits equal, 1 some differ, 77 a library is missing.
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import sys
import tempfile

try:
    import cv2
    import numpy as np

    import orbserve
except ImportError as error:
    print(f"TEBLID PARITY SKIPPED: {error}", file=sys.stderr)
    sys.exit(77)
if not hasattr(cv2, "xfeatures2d"):
    print(f"TEBLID PARITY SKIPPED: cv2 {cv2.__version__} lacks opencv-contrib-python", file=sys.stderr)
    sys.exit(77)

NAMES = ("TEBLID_256", "TEBLID_512", "BEBLID_256", "BEBLID_512")
SEED = 20264
LEAST_PATCH_PX = 11.0625
MOST_KEYPOINTS = 100_000


def opencv(name: str, factor: float):
    """The descriptor of OpenCV, or None: TEBLID is younger than BEBLID."""
    kind, bits = name.split("_")
    create = getattr(cv2.xfeatures2d, f"{kind}_create", None)
    return create and create(factor, getattr(cv2.xfeatures2d, f"{kind}_SIZE_{bits}_BITS"))


def rows_of(keypoints) -> np.ndarray:
    return np.array([(*k.pt, k.size, k.angle) for k in keypoints], np.float32).reshape(-1, 4)


def made_image(width: int, height: int) -> np.ndarray:
    random = np.random.default_rng(SEED)
    image = np.full((height, width), 96, np.uint8)
    for _ in range(width * height // 900):
        x, y = random.integers(0, width), random.integers(0, height)
        w, h = random.integers(4, 40, 2)
        image[y : y + h, x : x + w] = random.integers(0, 256)
    return cv2.add(image, random.integers(0, 9, image.shape, np.uint8))


def given_keypoints(grey: np.ndarray, wanted: int, random: np.random.Generator) -> dict:
    """{kind: ((N, 4) x, y, size, angle; factor by which the server multiplies sizes)}."""
    height, width = grey.shape
    fast = rows_of(cv2.FastFeatureDetector_create(20).detect(grey))
    random.shuffle(fast)
    anywhere = np.empty((wanted, 4), np.float32)
    anywhere[:, 0] = random.uniform(0, width, wanted)
    anywhere[:, 1] = random.uniform(0, height, wanted)
    anywhere[:, 2] = np.exp(random.uniform(np.log(12), np.log(120), wanted))
    anywhere[:, 3] = random.uniform(0, 360, wanted)
    whole = anywhere.copy()
    whole[:, :2] = np.round(whole[:, :2])
    whole[:, 2] = random.choice([31, 37.2, 44.64, 62, 89, 32, 64], wanted)
    whole[:, 3] = random.choice([-1, 0, 45, 90, 180, 270, 359.99997, 22.5, -0.5, 360, 719], wanted)
    edges = anywhere.copy()
    side, distance = random.integers(0, 4, wanted), random.uniform(0, 40, wanted)
    edges[:, 0] = np.select([side == 0, side == 1], [distance, width - distance], edges[:, 0])
    edges[:, 1] = np.select([side == 2, side == 3], [distance, height - distance], edges[:, 1])
    edges[:, 2] = random.choice([31 / 5, 37.2 / 5, 53.568, 111.07, 3, 300], wanted)
    sift = rows_of(cv2.SIFT_create(wanted).detect(grey))
    sift[:, 2] *= np.float32(6.75)
    return {
        "cv::ORB": (rows_of(cv2.ORB_create(wanted).detect(grey)), 1.0),
        "cv::FAST": (fast[:wanted], 5.0),
        "cv::SIFT": (sift, 1.0),
        "anywhere": (anywhere, 1.0),
        "whole places": (whole, 1.0),
        "edges": (edges, 5.0),
    }


def pipeline(name: str, factor: float) -> orbserve.Orb:
    """Keypoints near the edges are kept. Without an angle the factor is 5."""
    upright = factor != 1
    return orbserve.Orb(
        descriptor_type=orbserve.DescriptorType[name],
        orientation="none" if upright else "intensity-centroid",
        border_px=5 if upright else 16,
        capacity=MOST_KEYPOINTS,
    )


class Comparison:
    def __init__(self, client: orbserve.Client, wanted: int) -> None:
        self.client = client
        self.wanted = wanted
        self.random = np.random.default_rng(SEED)
        self.compared: collections.Counter = collections.Counter()
        self.different: collections.Counter = collections.Counter()
        self.left_out: set[str] = set()

    def count(self, what: str, actual: np.ndarray, expected: np.ndarray) -> None:
        self.compared[what] += len(expected)
        if len(actual) != len(expected):
            self.different[what] += max(len(expected), 1)
            return
        rows = (actual != expected).any(axis=1)
        self.different[what] += int(rows.sum())
        if rows.any():
            print(f"DIFFERS {what}: row {int(np.argmax(rows))} and {int(rows.sum()) - 1} more", flush=True)

    def descriptors(self, grey: np.ndarray, features: orbserve.Features, kind: str, name: str, factor: float) -> None:
        """The answer has the descriptors that OpenCV gives its keypoints."""
        theirs = opencv(name, factor)
        if theirs is None:
            self.left_out.add(name)
            return
        keypoints, _ = features.to_cv2()
        if not keypoints:
            return
        _, expected = theirs.compute(grey, keypoints)
        self.count(f"{name} of {kind}", features.descriptors, expected)

    def matches(self, query: orbserve.Features, train: orbserve.Features, name: str) -> None:
        """The two nearest of each, the lower row first among equals."""
        if len(train) < 2:
            return
        a, b = (np.unpackbits(f.descriptors, axis=1).astype(np.int32) for f in (query, train))
        distance = a.sum(1)[:, None] + b.sum(1)[None, :] - 2 * (a.astype(np.float32) @ b.astype(np.float32).T).astype(
            np.int32
        )
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :2]
        expected = np.stack(
            [np.repeat(np.arange(len(query)), 2), nearest.ravel(), np.take_along_axis(distance, nearest, 1).ravel()], 1
        )
        matches = self.client.match(
            query, train, orbserve.MatchOptions(selection="k-best", k=2, max_distance=512)
        )
        actual = np.stack([matches.query_index, matches.train_index, matches.distance], axis=1)
        self.count(f"matches of {name}", actual, expected)

    def image(self, grey: np.ndarray) -> None:
        given = given_keypoints(grey, self.wanted, self.random)
        for name in NAMES:
            found = {}
            for factor, kind in ((1.0, "orb"), (5.0, "FAST")):
                options = pipeline(name, factor)
                wanted = orbserve.FrameParameters(max_features=self.wanted)
                found[kind] = self.client.extract(grey, options, parameters=wanted)
                self.descriptors(grey, found[kind], kind, name, factor)
            for kind, (rows, factor) in given.items():
                rows = rows[np.float32(factor) * rows[:, 2] >= LEAST_PATCH_PX]
                keypoints = orbserve.Keypoints(rows[:, :2], angle=rows[:, 3], size=rows[:, 2])
                features = self.client.extract(grey, pipeline(name, factor), keypoints=keypoints)
                self.descriptors(grey, features, kind, name, factor)
            if name.endswith("512"):
                self.matches(found["orb"], found["FAST"], name)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares TEBLID and BEBLID with OpenCV's.")
    parser.add_argument("--server", required=True, type=pathlib.Path)
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--features", type=int, default=500)
    parser.add_argument("folders", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    files = sorted(f for folder in arguments.folders for f in folder.rglob("*") if f.suffix in (".png", ".jpg"))
    cv2.setNumThreads(1)
    images = 0
    with tempfile.TemporaryDirectory(prefix="orb") as folder:
        with orbserve.local(
            socket=f"{folder}/s", program=arguments.server, arguments=["--backend", arguments.backend]
        ) as client:
            comparison = Comparison(client, arguments.features)
            comparison.image(made_image(641, 479))
            for file in files:
                grey = cv2.imread(str(file), cv2.IMREAD_GRAYSCALE)
                if grey is None or min(grey.shape) < 64:
                    continue
                comparison.image(grey)
                images += 1
    for what, count in sorted(comparison.compared.items()):
        print(f"{what}: {count} compared, {comparison.different[what]} different")
    if comparison.left_out:
        print(f"TEBLID PARITY: cv2 {cv2.__version__} lacks {', '.join(sorted(comparison.left_out))}", file=sys.stderr)
    total, different = sum(comparison.compared.values()), sum(comparison.different.values())
    print(f"cv2 {cv2.__version__}, {images + 1} images, {arguments.backend}: {total} rows compared, {different} different")
    return 1 if different or not total else 0


sys.exit(main())
