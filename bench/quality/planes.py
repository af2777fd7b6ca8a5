# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Repeatability, matching score and matching accuracy between images of a plane.

Distances are pixels of the second image, between where the homography takes the first point and the second
point. All three are given for distances up to 1, 2, ... 10 pixels.

  repeatability     pairs of keypoints, one to one, nearest pairs first; per keypoint of the smaller set
  matching score    right mutual nearest neighbours; per keypoint of the smaller set
  matching accuracy right mutual nearest neighbours; per mutual nearest neighbour. 0 where there is none

Sets are the keypoints that the homography keeps inside the other image.
"""

import numpy as np

from methods import Features, mutual_matches

DISTANCES = list(range(1, 11))


def projected(homography: np.ndarray, points: np.ndarray) -> np.ndarray:
    points = np.asarray(points, np.float64)
    x, y, w = homography @ np.stack([points[:, 0], points[:, 1], np.ones(len(points))])
    return np.stack([x / w, y / w], axis=1)


def is_inside(points: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """`size`: width, height. Pixel centres are integers."""
    return (points >= -0.5).all(axis=1) & (points[:, 0] < size[0] - 0.5) & (points[:, 1] < size[1] - 0.5)


def near_pairs(a: np.ndarray, b: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices of all pairs within a distance, and their distances, sorted by distance and indices."""
    if len(a) == 0 or len(b) == 0:
        return np.zeros(0, int), np.zeros(0, int), np.zeros(0)
    wide = 1 << 20
    key_a = np.floor(a / most).astype(np.int64)
    key_b = np.floor(b / most).astype(np.int64)
    code_b = key_b[:, 1] * wide + key_b[:, 0]
    order = np.argsort(code_b, kind="stable")
    code_b = code_b[order]
    found_a, found_b = [], []
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            code = (key_a[:, 1] + dy) * wide + key_a[:, 0] + dx
            begin, end = np.searchsorted(code_b, code, "left"), np.searchsorted(code_b, code, "right")
            count = end - begin
            index_a = np.repeat(np.arange(len(a)), count)
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            found_a.append(index_a)
            found_b.append(order[begin[index_a] + within])
    i, j = np.concatenate(found_a), np.concatenate(found_b)
    distance = np.hypot(*(a[i] - b[j]).T)
    keep = distance <= most
    i, j, distance = i[keep], j[keep], distance[keep]
    sorted_ = np.lexsort((j, i, distance))
    return i[sorted_], j[sorted_], distance[sorted_]


def one_to_one(a: np.ndarray, b: np.ndarray, most: float) -> np.ndarray:
    """Distances of pairs that are taken nearest first, each point once."""
    free_a, free_b = [True] * len(a), [True] * len(b)
    taken = []
    for i, j, distance in zip(*(column.tolist() for column in near_pairs(a, b, most)), strict=True):
        if free_a[i] and free_b[j]:
            free_a[i] = free_b[j] = False
            taken.append(distance)
    return np.array(taken)


def counts_within(distances: np.ndarray) -> list[int]:
    return [int((distances <= most).sum()) for most in DISTANCES]


def compare(
    first: Features, second: Features, homography: np.ndarray, size1: tuple[int, int], size2: tuple[int, int], norm: int
) -> dict:
    """Counts of one pair of images; lists are by DISTANCES."""
    there = projected(homography, first.xy)
    back = projected(np.linalg.inv(homography), second.xy)
    in_second, in_first = is_inside(there, size2), is_inside(back, size1)
    result = {
        "keypoints": [len(first.xy), len(second.xy)],
        "shared": int(min(in_second.sum(), in_first.sum())),
        "repeated": counts_within(one_to_one(there[in_second], second.xy[in_first].astype(np.float64), DISTANCES[-1])),
    }
    if first.descriptors is None:
        return result
    matches = mutual_matches(first, second, norm)
    distances = np.hypot(*(there[matches[:, 0]] - second.xy[matches[:, 1]]).T)
    result["matches"] = len(matches)
    result["right"] = counts_within(distances)
    return result


def shares(pairs: list[dict]) -> dict:
    """Means over pairs of images, lists by DISTANCES; without descriptors only the repeatability."""

    def mean(count: str, of: str) -> list[float]:
        return np.mean([[c / max(pair[of], 1) for c in pair[count]] for pair in pairs], axis=0).tolist()

    result = {
        "keypoints": float(np.mean([pair["keypoints"] for pair in pairs])),
        "repeatability": mean("repeated", "shared"),
    }
    if "matches" in pairs[0]:
        result["matching_score"] = mean("right", "shared")
        result["accuracy"] = mean("right", "matches")
        result["matches"] = float(np.mean([pair["matches"] for pair in pairs]))
    return result
