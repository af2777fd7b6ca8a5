# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Relative pose of two frames by OpenCV's RANSAC, and its error against the recorded poses.

The error of a pair is the larger of two angles: between the rotations, and between the directions of motion
(whose sign is not judged). The area under the curve (AUC) of errors up to a limit is the mean over pairs of the
share of limits below it at which the pair is right; pairs without a pose count as wrong at each.
"""

from collections.abc import Iterable

import cv2
import numpy as np

from image_sets import Sequence

LIMITS_DEG = [5, 10, 20]
THRESHOLD_PX = 1.0
CONFIDENCE = 0.99999
# A pair of frames is this many frames apart.
GAPS = {"KITTI": [1, 5, 10], "TUM": [2, 4, 8]}


def frame_pairs(sequence: Sequence, gaps: Iterable[int] = ()) -> list[tuple[int, int]]:
    """Pairs of frames that are GAPS apart, or `gaps`."""
    return [(i, i + gap) for gap in gaps or GAPS[sequence.name] for i in range(len(sequence.images) - gap)]


def angle_deg(cosine: float) -> float:
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))


def pose_errors(sequence: Sequence, pair: tuple[int, int], first: np.ndarray, second: np.ndarray) -> dict:
    """Errors of the pose that RANSAC finds from points, pixels of both frames; None where it finds none."""
    nothing = {"points": len(first), "inliers": 0, "rotation_deg": None, "direction_deg": None}
    if len(first) < 5:
        return nothing
    a, b = sequence.undistorted(first), sequence.undistorted(second)
    focal = (sequence.camera[0, 0] + sequence.camera[1, 1]) / 2
    cv2.setRNGSeed(1)
    essential, mask = cv2.findEssentialMat(
        a, b, np.eye(3), method=cv2.RANSAC, prob=CONFIDENCE, threshold=THRESHOLD_PX / focal
    )
    if essential is None:
        return nothing
    best = None
    for candidate in np.split(essential, len(essential) // 3):
        count, rotation, direction, _ = cv2.recoverPose(candidate, a, b, np.eye(3), mask=mask.copy())
        if best is None or count > best[0]:
            best = (count, rotation, direction[:, 0])
    count, rotation, direction = best
    if count == 0:
        return nothing
    truth = sequence.motion(*pair)
    true_direction = truth[:3, 3] / np.linalg.norm(truth[:3, 3])
    return {
        "points": len(first),
        "inliers": int(mask.sum()),
        "rotation_deg": angle_deg((np.trace(rotation @ truth[:3, :3].T) - 1) / 2),
        "direction_deg": angle_deg(abs(float(direction @ true_direction))),
    }


def auc(errors: list[float], limit: float) -> float:
    """Mean share of [0, limit] that lies above the error."""
    return float(np.mean([max(0.0, 1 - error / limit) for error in errors]))


def angles(pairs: list[dict], name: str) -> list[float]:
    """One angle of every pair, "rotation_deg" or "direction_deg". A pair without a pose has 180 degrees."""
    return [180.0 if p[name] is None else p[name] for p in pairs]


def summary(pairs: list[dict]) -> dict:
    """AUC for LIMITS_DEG, medians, and means over pairs."""
    rotation, direction = angles(pairs, "rotation_deg"), angles(pairs, "direction_deg")
    return {
        "auc": [auc([max(e) for e in zip(rotation, direction, strict=True)], limit) for limit in LIMITS_DEG],
        "median_rotation_deg": float(np.median(rotation)),
        "median_direction_deg": float(np.median(direction)),
        "points": float(np.mean([p["points"] for p in pairs])),
        "inliers": float(np.mean([p["inliers"] for p in pairs])),
    }
