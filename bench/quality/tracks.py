# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Tracks over a sequence: by `orbserve stream --track`, and by OpenCV's pyramidal Lucas-Kanade.

A track has a number and a place in each frame from its first to its last one. All trackers begin new tracks
where fewer than a share of the wanted number are left.
"""

import dataclasses
import hashlib
import json
import pathlib
import subprocess
from collections.abc import Iterable, Iterator

import cv2
import numpy as np

from image_sets import Flight, Sequence
from methods import Extractor
from planes import is_inside, projected

# Lives are followed up to this many frames.
LIFE_FRAMES = {"flight": 30, "KITTI": 10, "TUM": 10}
# End-point errors are taken after this many frames.
ERROR_FRAMES = [1, 10, 30]
RIGHT_PX = {"flight": 1.0, "KITTI": 1.0, "TUM": 3.0}
# Points whose true places come nearer to the border than this are not followed to their end.
BORDER_PX = 16

LEVELS = 5
WINDOW = (16, 16)
RETURN_PX = 1.0
OPENCV_DISTANCE_PX = 10

Frame = dict[int, tuple[float, float]]  # number of a track -> place


@dataclasses.dataclass(frozen=True)
class Tracker:
    """A way to make tracks. `arguments` go to `orbserve stream`; `check`: OpenCV follows back, too."""

    name: str
    arguments: tuple[str, ...] = ()
    check: bool = False

    @property
    def is_opencv(self) -> bool:
        return self.name.startswith("cv::")


STRICT = ("--track-illumination", "OFFSET", "--track-max-residual", "12")
TRACKERS = [
    Tracker("vio", ("--pipeline", "vio")),
    Tracker("vio, `OFFSET`, `max_residual` 12", ("--pipeline", "vio", *STRICT)),
    Tracker("harris-corners", ("--pipeline", "harris-corners")),
    Tracker("klt-corners", ("--pipeline", "klt-corners")),
    Tracker("klt-corners, `OFFSET`, `max_residual` 12", ("--pipeline", "klt-corners", *STRICT)),
    Tracker("oriented-fast", ("--pipeline", "oriented-fast")),
    Tracker("bfrost", ("--pipeline", "bfrost")),
    Tracker("cv::goodFeaturesToTrack, pyrLK"),
    Tracker("cv::goodFeaturesToTrack, pyrLK, forward and back", check=True),
]


def new_corners(grey: np.ndarray, places: list, wanted: int) -> np.ndarray:
    mask = np.full(grey.shape, 255, np.uint8)
    for x, y in places:
        cv2.circle(mask, (round(x), round(y)), OPENCV_DISTANCE_PX, 0, -1)
    corners = cv2.goodFeaturesToTrack(grey, wanted, 0.01, OPENCV_DISTANCE_PX, mask=mask, blockSize=7)
    return np.zeros((0, 2), np.float32) if corners is None else corners.reshape(-1, 2)


def follow(before: np.ndarray, after: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    criteria = (cv2.TERM_CRITERIA_COUNT | cv2.TERM_CRITERIA_EPS, 30, 0.01)
    places, found, _ = cv2.calcOpticalFlowPyrLK(
        before, after, points.reshape(-1, 1, 2), None, winSize=WINDOW, maxLevel=LEVELS - 1, criteria=criteria
    )
    return places.reshape(-1, 2), found.reshape(-1) == 1


def opencv_tracks(tracker: Tracker, images: Iterable[np.ndarray], wanted: int, redetect_percent: int) -> Iterator[Frame]:
    """Tracks of each image, computed when they are asked for."""
    previous = None
    tracks: Frame = {}
    next_id = 1
    for grey in images:
        if tracks:
            ids = list(tracks)
            start = np.array(list(tracks.values()), np.float32)
            places, found = follow(previous, grey, start)
            found &= is_inside(places, (grey.shape[1], grey.shape[0]))
            if tracker.check:
                back, returned = follow(grey, previous, places)
                found &= returned & (np.hypot(*(back - start).T) <= RETURN_PX)
            tracks = {i: tuple(p.tolist()) for i, p, ok in zip(ids, places, found, strict=True) if ok}
        if not tracks or 100 * len(tracks) < redetect_percent * wanted:
            for corner in new_corners(grey, list(tracks.values()), wanted - len(tracks)):
                tracks[next_id] = tuple(corner.tolist())
                next_id += 1
        yield dict(tracks)
        previous = grey


class TrackMaker:
    """Makes tracks once and keeps them below one folder."""

    def __init__(self, extractor: Extractor, folder: pathlib.Path):
        self.extractor, self.folder = extractor, folder

    def identity(self, tracker: Tracker) -> str:
        maker = cv2.__version__ + cv2.getBuildInformation() if tracker.is_opencv else self.extractor.program_digest
        source = pathlib.Path(__file__).read_text()
        return hashlib.sha256(f"{tracker} {maker} {source}".encode()).hexdigest()[:16]

    def tracks(
        self, tracker: Tracker, name: str, images: list[str], wanted: int = 0, redetect_percent: int = 0
    ) -> list[Frame]:
        """Tracks of a sequence. Numbers of 0 leave a preset its own ones."""
        file = self.folder / f"{name}-{wanted}-{redetect_percent}-{self.identity(tracker)}.json"
        if not file.exists():
            paths = [self.extractor.images / f"{image}.pgm" for image in images]
            if tracker.is_opencv:
                images = (cv2.imread(str(path), cv2.IMREAD_GRAYSCALE) for path in paths)
                frames = list(opencv_tracks(tracker, images, wanted, redetect_percent))
            else:
                frames = self.orbserve_tracks(tracker, paths, wanted, redetect_percent)
            file.parent.mkdir(parents=True, exist_ok=True)
            partial = file.with_suffix(".part")
            partial.write_text(json.dumps(frames))
            partial.rename(file)
        return [{int(i): tuple(p) for i, p in frame.items()} for frame in json.loads(file.read_text())]

    def orbserve_tracks(
        self, tracker: Tracker, paths: list[pathlib.Path], wanted: int, redetect_percent: int
    ) -> list[Frame]:
        command = [self.extractor.program, "stream", "--track", "--json", "--quiet", "--backend", "cpu"]
        command += tracker.arguments
        command += ["--max-features", str(wanted)] if wanted else []
        command += ["--track-redetect", str(redetect_percent)] if redetect_percent else []
        command += [paths[0].parent]
        listing = subprocess.run(command, check=True, capture_output=True, text=True)
        rows = [json.loads(line) for line in listing.stdout.splitlines()]
        if [row["frame"] for row in rows] != [path.name for path in paths]:
            raise SystemExit(f"{paths[0].parent} has other frames than are wanted")
        return [{t["id"]: (t["x"], t["y"]) for t in row["tracks"]} for row in rows]


def beginnings(frames: list[Frame]) -> list[tuple[int, int]]:
    """Number and first frame of every track."""
    first: dict[int, int] = {}
    for f, frame in enumerate(frames):
        for i in frame:
            first.setdefault(i, f)
    return list(first.items())


def flight_counts(flight: Flight, frames: list[Frame]) -> dict:
    """Counts over the tracks of a flight.

    Counts are lists over h = 1, 2, ... frames since a track began. `eligible` are tracks whose true places have stayed
    on the frames, `alive` those of them that still exist, `right` those within RIGHT_PX of their true places. `errors`
    are distances from the true places after ERROR_FRAMES.
    """
    most = LIFE_FRAMES["flight"]
    eligible, alive, right = ([0] * (most + 1) for _ in range(3))
    errors: dict[int, list[float]] = {h: [] for h in ERROR_FRAMES}
    from_photo = [np.linalg.inv(m) for m in flight.to_photo]
    size = (640 - 2 * BORDER_PX, 480 - 2 * BORDER_PX)
    for i, first in beginnings(frames):
        start = projected(flight.to_photo[first], np.array([frames[first][i]]))
        for h in range(1, min(most, len(frames) - 1 - first) + 1):
            truth = projected(from_photo[first + h], start)
            if not is_inside(truth - BORDER_PX, size)[0]:
                break
            eligible[h] += 1
            place = frames[first + h].get(i)
            if place is None:
                continue
            alive[h] += 1
            error = float(np.hypot(*(truth[0] - place)))
            right[h] += error <= RIGHT_PX["flight"]
            if h in errors:
                errors[h].append(round(error, 6))
    return {"eligible": eligible, "alive": alive, "right": right, "errors": {str(h): e for h, e in errors.items()}}


def flight_summary(counts: list[dict]) -> dict:
    """Over several flights: shares after ERROR_FRAMES, errors, and the mean life as a right track."""
    total = {name: np.sum([c[name] for c in counts], axis=0) for name in ("eligible", "alive", "right")}
    share = {name: total[name][1:] / np.maximum(total["eligible"][1:], 1) for name in ("alive", "right")}
    errors = {h: np.concatenate([c["errors"][str(h)] for c in counts]) for h in ERROR_FRAMES}
    return {
        "tracks": int(total["eligible"][1]),
        "life": float(share["alive"].sum()),
        "right_life": float(share["right"].sum()),
        "right_share": [float(share["right"][h - 1]) for h in ERROR_FRAMES],
        "median_error_px": [float(np.median(errors[h])) if len(errors[h]) else None for h in ERROR_FRAMES],
        "mean_error_px": [float(np.mean(errors[h])) if len(errors[h]) else None for h in ERROR_FRAMES],
    }


def off_epipolar(sequence: Sequence, first: int, a: np.ndarray, second: int, b: np.ndarray) -> np.ndarray:
    """Distance of pairs of places from the true epipolar geometry: the larger one of both frames, pixels."""
    if len(a) == 0:
        return np.zeros(0)
    motion = sequence.motion(first, second)
    x, y, z = motion[:3, 3]
    essential = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]]) @ motion[:3, :3]
    inverse = np.linalg.inv(sequence.camera)
    fundamental = inverse.T @ essential @ inverse
    pixels = [sequence.undistorted(p) @ sequence.camera[:2, :2].T + sequence.camera[:2, 2] for p in (a, b)]
    p, q = (np.column_stack([points, np.ones(len(points))]) for points in pixels)
    lines_q, lines_p = p @ fundamental.T, q @ fundamental
    off = np.abs(np.sum(q * lines_q, axis=1))
    return np.maximum(off / np.hypot(*lines_q.T[:2]), off / np.hypot(*lines_p.T[:2]))


def sequence_summary(sequence: Sequence, frames: list[Frame]) -> dict:
    """Lives, and steps from one frame to the next whose places fit the true epipolar geometry."""
    most = LIFE_FRAMES[sequence.name]
    eligible, alive = [0] * (most + 1), [0] * (most + 1)
    for i, first in beginnings(frames):
        for h in range(1, min(most, len(frames) - 1 - first) + 1):
            eligible[h] += 1
            alive[h] += i in frames[first + h]
    steps = inliers = 0
    for f in range(1, len(frames)):
        both = [i for i in frames[f] if i in frames[f - 1]]
        a, b = (np.array([frames[g][i] for i in both]).reshape(-1, 2) for g in (f - 1, f))
        off = off_epipolar(sequence, f - 1, a, f, b)
        steps += len(both)
        inliers += int((off <= RIGHT_PX[sequence.name]).sum())
    return {
        "tracks": len(beginnings(frames)),
        "life": float(sum(alive[h] / max(eligible[h], 1) for h in range(1, most + 1))),
        "inlier_share": inliers / max(steps, 1),
        "right_a_frame": inliers / (len(frames) - 1),
    }


def points_of_both(frames: list[Frame], pair: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Places of the tracks that exist in both frames, in the order of their numbers."""
    both = sorted(set(frames[pair[0]]) & set(frames[pair[1]]))
    first, second = (np.array([frames[f][i] for i in both]).reshape(-1, 2) for f in pair)
    return first, second
