# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Images with ground truth: planes with homographies, sequences with poses, flights with known motion."""

import dataclasses
import hashlib
import json
import math
import pathlib
import subprocess

import cv2
import numpy as np

OXFORD = ["bark", "bikes", "boat", "graf", "leuven", "wall"]
HPATCHES = ["v_churchill", "v_dogman"]
PHOTOGRAPHS = [
    "bridge_cables_sky", "castle_sceaux", "cathedral_berlin", "dandelion", "fig_on_concrete",
    "forest_path", "leaves_dragonfly", "mountains", "stream_forest",
]  # fmt: skip
FLIGHT_FRAMES = 60
FLIGHT_LIGHTS = ["plain", "light", "noise"]
NOISE_GREY = 4.0


@dataclasses.dataclass
class PlaneSet:
    """Six images of a plane; the first one is compared with each of the others."""

    name: str
    images: list[str]  # names below the folder of images, without extension
    homographies: list[np.ndarray]  # from the first image to the second, third, ...


@dataclasses.dataclass
class Sequence:
    """Frames of a moving camera."""

    name: str
    images: list[str]
    camera: np.ndarray  # 3x3
    distortion: np.ndarray | None  # k1 k2 p1 p2 k3
    poses: list[np.ndarray]  # 4x4, camera to world

    def undistorted(self, points: np.ndarray) -> np.ndarray:
        """Points on a plane at distance 1 before the camera."""
        if len(points) == 0:
            return np.zeros((0, 2))
        points = np.asarray(points, np.float64).reshape(-1, 1, 2)
        return cv2.undistortPoints(points, self.camera, self.distortion).reshape(-1, 2)

    def motion(self, first: int, second: int) -> np.ndarray:
        """4x4, coordinates of the first camera to those of the second."""
        return np.linalg.inv(self.poses[second]) @ self.poses[first]


@dataclasses.dataclass
class Flight:
    """A virtual camera over a photograph."""

    name: str
    images: list[str]
    to_photo: list[np.ndarray]  # 3x3 of each frame: its pixels to those of the photograph


def file_digest(path: pathlib.Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_pgm(path: pathlib.Path, grey: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    height, width = grey.shape
    path.write_bytes(b"P5\n%d %d\n255\n" % (width, height) + np.ascontiguousarray(grey).tobytes())


def read_grey(path: pathlib.Path) -> np.ndarray:
    """Grey by OpenCV's formula for colours. JPEG files that are grey already stay as they are."""
    image = cv2.imread(str(path), cv2.IMREAD_UNCHANGED | cv2.IMREAD_IGNORE_ORIENTATION)
    if image is None:
        raise SystemExit(f"cannot read {path}")
    if image.ndim == 2:
        return image
    return cv2.cvtColor(image[:, :, :3], cv2.COLOR_BGR2GRAY)


def as_pgm(source: pathlib.Path, images: pathlib.Path, name: str) -> str:
    """Every method reads these files, so that all work on the same pixels."""
    target = images / f"{name}.pgm"
    if not target.exists():
        write_pgm(target, read_grey(source))
    return name


def plane_sets(data: pathlib.Path, images: pathlib.Path) -> list[PlaneSet]:
    sets = []
    for name in OXFORD:
        folder = data / "oxford-affine" / name
        sets.append(
            PlaneSet(
                name,
                [as_pgm(folder / f"img{i}.png", images, f"oxford/{name}/{i}") for i in range(1, 7)],
                [np.loadtxt(folder / f"H1to{i}p") for i in range(2, 7)],
            )
        )
    for name in HPATCHES:
        folder = data / "hpatches" / name
        sets.append(
            PlaneSet(
                name,
                [as_pgm(folder / f"{i}.png", images, f"hpatches/{name}/{i}") for i in range(1, 7)],
                [np.loadtxt(folder / f"H_1_{i}") for i in range(2, 7)],
            )
        )
    return sets


def kitti(data: pathlib.Path, images: pathlib.Path) -> Sequence:
    folder = data / "seq-kitti-a"
    files = sorted((folder / "image_0").iterdir())
    calibration = {line.split(":")[0]: line.split(":")[1] for line in (folder / "calib.txt").read_text().splitlines()}
    projection = np.array(calibration["P0"].split(), float).reshape(3, 4)
    poses = [np.vstack([row.reshape(3, 4), [0, 0, 0, 1]]) for row in np.loadtxt(folder / "poses.txt")]
    names = [as_pgm(p, images, f"kitti/{p.stem}") for p in files]
    return Sequence("KITTI", names, projection[:, :3], None, poses[: len(names)])


def rotation_of(x: float, y: float, z: float, w: float) -> np.ndarray:
    """3x3 of a quaternion."""
    x, y, z, w = np.array([x, y, z, w]) / math.sqrt(x * x + y * y + z * z + w * w)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def tum(data: pathlib.Path, images: pathlib.Path) -> Sequence:
    folder = data / "seq-tum-fr2desk"
    files = sorted((folder / "rgb").iterdir())
    lines = [line.split() for line in (folder / "calib.txt").read_text().splitlines() if not line.startswith("#")]
    fx, fy, cx, cy = map(float, lines[0])
    poses = []
    for row in np.loadtxt(folder / "poses.txt"):
        pose = np.eye(4)
        pose[:3, :3] = rotation_of(*row[4:8])
        pose[:3, 3] = row[1:4]
        poses.append(pose)
    names = [as_pgm(p, images, f"tum/{p.stem}") for p in files]
    return Sequence(
        "TUM", names, np.array([[fx, 0, cx], [0, fy, cy], [0, 0, 1]]), np.array(lines[1], float), poses
    )


def euroc(data: pathlib.Path, images: pathlib.Path) -> list[str]:
    """Frames of a camera that stands still."""
    files = sorted((data / "seq-euroc-v101-static" / "cam0").iterdir())
    return [as_pgm(p, images, f"euroc/{p.stem}") for p in files]


def lit(grey: np.ndarray, light: str, photograph: int, frame: int) -> np.ndarray:
    """A frame under changing light, or with noise; both are the same in every run."""
    if light == "light":
        gain = 1 + 0.25 * math.sin(2 * math.pi * frame / 20)
        offset = 12 * math.sin(2 * math.pi * frame / 13)
        return np.clip(np.rint(grey * gain + offset), 0, 255).astype(np.uint8)
    if light == "noise":
        noise = np.random.default_rng([photograph, frame]).normal(0, NOISE_GREY, grey.shape)
        return np.clip(np.rint(grey + noise), 0, 255).astype(np.uint8)
    return grey


def flight(data: pathlib.Path, images: pathlib.Path, program: pathlib.Path, photograph: str, light: str) -> Flight:
    """The path of `orbserve stream --simulate`, rendered by OpenCV: all trackers see the same frames.

    warpAffine() rounds places to 1/32 of a pixel, so the truth is good to 0.02 pixels.
    """
    name = f"flight/{photograph}-{light}"
    folder = images / name
    truth_file = folder / "truth.json"
    if not truth_file.exists():
        source = data / "photos" / f"{photograph}.jpg"
        listing = subprocess.run(
            [program, "stream", "--json", "--quiet", "--frames", str(FLIGHT_FRAMES), "--simulate", source],
            check=True, capture_output=True, text=True,
        )  # fmt: skip
        maps = [json.loads(line)["truth"]["to_photo"] for line in listing.stdout.splitlines()]
        photo = read_grey(source)
        for i, to_photo in enumerate(maps):
            frame = cv2.warpAffine(
                photo, np.array(to_photo, float).reshape(2, 3), (640, 480),
                flags=cv2.INTER_LANCZOS4 | cv2.WARP_INVERSE_MAP, borderMode=cv2.BORDER_REPLICATE,
            )  # fmt: skip
            write_pgm(folder / f"{i:03}.pgm", lit(frame, light, PHOTOGRAPHS.index(photograph), i))
        truth_file.write_text(json.dumps(maps))
    maps = [np.vstack([np.array(m, float).reshape(2, 3), [0, 0, 1]]) for m in json.loads(truth_file.read_text())]
    return Flight(f"{photograph}-{light}", [f"{name}/{i:03}" for i in range(len(maps))], maps)
