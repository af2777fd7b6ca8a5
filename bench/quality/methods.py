# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Features of images: by the presets of orbserve through its program, and by OpenCV."""

import dataclasses
import hashlib
import pathlib
import subprocess

import cv2
import numpy as np

from image_sets import file_digest

PRESETS = ["orb", "orb-slam", "oriented-fast", "vio", "bfrost", "orb-32", "harris-corners", "klt-corners"]
OPENCV = ["cv::ORB", "cv::SIFT", "cv::BRISK", "cv::AKAZE"]
# Features of OpenCV's methods where presets have their own numbers. A method that finds more keeps its best; cv::ORB
# may exceed the number where responses are equal, as `orb` does.
OPENCV_FEATURES = 500


@dataclasses.dataclass
class Features:
    """Features of an image in one order for all methods: level, response, row, column, angle.

    A matcher takes the first of equal distances, so equal sets of features must have equal orders.
    """

    xy: np.ndarray  # float32, pixels of the image
    descriptors: np.ndarray | None


@dataclasses.dataclass(frozen=True)
class Method:
    """A preset or a method of OpenCV. `features` is the wanted number; 0 = the preset's own. `descriptor` replaces that of a
    preset."""

    name: str
    features: int
    descriptor: str = ""

    @property
    def label(self) -> str:
        return f"{self.name}, {self.descriptor}" if self.descriptor else self.name

    @property
    def is_preset(self) -> bool:
        return self.name not in OPENCV

    @property
    def norm(self) -> int:
        return cv2.NORM_L2 if self.name in ("cv::SIFT", "sift") else cv2.NORM_HAMMING


# Presets with other descriptors, `orb-slam3`, which takes no other, and OpenCV's. `sift` has as many features as cv::SIFT.
DESCRIBED = [
    Method(name, 0, descriptor)
    for name in ("orb", "orb-slam", "bfrost")
    for descriptor in ("", "TEBLID_256", "TEBLID_512", "BEBLID_256", "BEBLID_512")
] + [
    Method("orb-slam3", 0),
    *(Method("sift", OPENCV_FEATURES, descriptor) for descriptor in ("", "ROOT_SIFT", "L1_ROOT_SIFT")),
    *(Method(name, OPENCV_FEATURES) for name in ("cv::ORB", "cv::SIFT")),
]


def methods(features: int) -> list[Method]:
    """All presets and OpenCV's methods. 0 leaves every preset its own number and gives OpenCV's methods 500."""
    return [Method(name, features) for name in PRESETS] + [Method(name, features or OPENCV_FEATURES) for name in OPENCV]


def opencv_detector(method: Method):
    if method.name == "cv::ORB":
        return cv2.ORB_create(nfeatures=method.features)
    if method.name == "cv::SIFT":
        return cv2.SIFT_create(nfeatures=method.features)
    return cv2.BRISK_create() if method.name == "cv::BRISK" else cv2.AKAZE_create()


def in_order(columns: dict[str, np.ndarray]) -> np.ndarray:
    """Indices of the features by level, then response down, row, column, size, angle."""
    return np.lexsort(
        (columns["angle"], columns["size"], columns["xy"][:, 0], columns["xy"][:, 1],
         -columns["response"], columns["octave"])
    )  # fmt: skip


def opencv_features(method: Method, grey: np.ndarray) -> dict[str, np.ndarray]:
    keypoints, descriptors = opencv_detector(method).detectAndCompute(grey, None)
    columns = {
        "xy": np.array([k.pt for k in keypoints], np.float32).reshape(-1, 2),
        "size": np.array([k.size for k in keypoints], np.float32),
        "angle": np.array([k.angle for k in keypoints], np.float32),
        "response": np.array([k.response for k in keypoints], np.float32),
        "octave": np.array([k.octave for k in keypoints], np.int32),
        "descriptors": np.zeros((0, 32), np.uint8) if descriptors is None else descriptors,
    }
    if method.name != "cv::ORB" and len(keypoints) > method.features:  # cv::ORB keeps equal responses
        best = np.lexsort(
            (columns["angle"], columns["size"], columns["xy"][:, 0], columns["xy"][:, 1], -columns["response"])
        )[: method.features]
        columns = {name: column[best] for name, column in columns.items()}
    return columns


class Extractor:
    """Makes and reads the feature files below one folder: FOLDER/METHOD-IDENTITY/IMAGE.npz."""

    def __init__(self, program: pathlib.Path, images: pathlib.Path, folder: pathlib.Path):
        self.program, self.images, self.folder = program, images, folder
        self.program_digest = file_digest(program)

    def identity(self, method: Method) -> str:
        """Changes when the features may change."""
        maker = self.program_digest if method.is_preset else cv2.__version__ + cv2.getBuildInformation()
        source = file_digest(pathlib.Path(__file__))
        return hashlib.sha256(f"{method} {maker} {source}".encode()).hexdigest()[:16]

    def path(self, method: Method, image: str) -> pathlib.Path:
        name = method.name.replace("::", "-").lower()
        return self.folder / f"{name}-{method.features}-{self.identity(method)}" / f"{image}.npz"

    def extract(self, method: Method, images: list[str]) -> None:
        """Makes the files that are not there. A preset does all images in one process."""
        missing = [image for image in images if not self.path(method, image).exists()]
        if not missing:
            return
        if not method.is_preset:
            for image in missing:
                target = self.path(method, image)
                target.parent.mkdir(parents=True, exist_ok=True)
                grey = cv2.imread(str(self.images / f"{image}.pgm"), cv2.IMREAD_GRAYSCALE)
                partial = target.with_suffix(".part.npz")
                np.savez(partial, **opencv_features(method, grey))
                partial.rename(target)
            return
        folder = self.path(method, "").parent
        command = [self.program, "extract", "--quiet", "--backend", "cpu", "--pipeline", method.name, "--out", folder]
        if method.descriptor:
            command += ["--descriptor", method.descriptor.lower().replace("_", "-")]
        if method.features:
            command += ["--max-features", str(method.features), "--capacity", "100000"]
        names = "\n".join(f"{image}.pgm" for image in missing)
        subprocess.run(command + ["-"], input=names, text=True, check=True, cwd=self.images)
        for image in missing:
            (folder / f"{image}.pgm.npz").rename(folder / f"{image}.npz")

    def load(self, method: Method, image: str) -> Features:
        with np.load(self.path(method, image)) as file:
            columns = {name: file[name] for name in file.files}
        order = in_order(columns)
        descriptors = columns["descriptors"]
        if descriptors.shape[1] == 0:
            return Features(columns["xy"][order], None)
        return Features(columns["xy"][order], np.ascontiguousarray(descriptors[order]))


def mutual_matches(first: Features, second: Features, norm: int) -> np.ndarray:
    """(M, 2) indices of features that are each other's nearest; the first of equal distances counts."""
    if len(first.xy) == 0 or len(second.xy) == 0:
        return np.zeros((0, 2), int)
    matcher = cv2.BFMatcher(norm)
    there = np.array([m.trainIdx for m in matcher.match(first.descriptors, second.descriptors)])
    back = np.array([m.trainIdx for m in matcher.match(second.descriptors, first.descriptors)])
    query = np.arange(len(there))
    keep = back[there] == query
    return np.stack([query[keep], there[keep]], axis=1)
