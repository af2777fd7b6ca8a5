# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Images turned in their plane, as in figure 7 and table II of the BFROST paper."""

import math
import pathlib
import sys

import cv2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "quality"))
from methods import Extractor, Method, mutual_matches  # noqa: E402
from planes import projected  # noqa: E402

ANGLES_DEG = range(0, 360, 5)
RIGHT_PX = 3.0


def turned(grey: np.ndarray, angle_deg: int) -> tuple[np.ndarray, np.ndarray]:
    """The image turned clockwise on a black canvas that holds it whole, and the 3x3 map of its pixels.

    Multiples of 90 degrees move pixels only, and need no canvas.
    """
    height, width = grey.shape
    cosine, sine = (round(f(math.radians(angle_deg)), 15) for f in (math.cos, math.sin))
    turn = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1.0]])
    if angle_deg % 90 == 0:
        image = np.ascontiguousarray(np.rot90(grey, -(angle_deg // 90)))
    else:
        side = math.ceil(math.hypot(width, height))
        image = np.zeros((side, side), np.uint8)
    to_middle = np.eye(3)
    to_middle[:2, 2] = -(width - 1) / 2, -(height - 1) / 2
    from_middle = np.eye(3)
    from_middle[:2, 2] = (image.shape[1] - 1) / 2, (image.shape[0] - 1) / 2
    there = from_middle @ turn @ to_middle
    if angle_deg % 90 != 0:
        image = cv2.warpAffine(grey, there[:2], (image.shape[1], image.shape[0]), flags=cv2.INTER_LINEAR)
    return image, there


def matching_scores(extractor: Extractor, method: Method, images: list[str], maps: list[np.ndarray]) -> dict:
    """Matches of the first image with each: how many are right, and their share of the mutual nearest neighbours."""
    extractor.extract(method, images)
    first = extractor.load(method, images[0])
    result: dict = {"score": [], "right": []}
    for image, there in zip(images, maps, strict=True):
        second = extractor.load(method, image)
        matches = mutual_matches(first, second, method.norm)
        off = projected(there, first.xy[matches[:, 0]]) - second.xy[matches[:, 1]]
        right = int((np.hypot(*off.T) <= RIGHT_PX).sum())
        result["right"].append(right)
        result["score"].append(right / max(len(matches), 1))
    return result
