# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The measures of bench/quality/ and bench/papers/ on cases whose answers are known."""

import pathlib
import sys
import tempfile
import unittest

try:
    import cv2
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"
sys.path[:0] = [str(BENCH / folder) for folder in ("quality", "report", "papers")]
import planes  # noqa: E402
import pose  # noqa: E402
import tracks  # noqa: E402
from cells import Cells  # noqa: E402
from image_sets import Flight, Sequence, rotation_of  # noqa: E402
from methods import Features, Method, in_order, methods, mutual_matches, opencv_features  # noqa: E402
from turned_image import ANGLES_DEG, turned  # noqa: E402


def points(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 100, (count, 2))


class PlanesTest(unittest.TestCase):
    def test_near_pairs_are_those_of_a_search_over_all(self):
        a, b = points(200, 1) - 30, points(300, 2) - 30
        i, j, distance = planes.near_pairs(a, b, 4.0)
        every = np.hypot(a[:, None, 0] - b[None, :, 0], a[:, None, 1] - b[None, :, 1])
        self.assertEqual(set(zip(i.tolist(), j.tolist())), set(zip(*(x.tolist() for x in np.nonzero(every <= 4.0)))))
        self.assertTrue((np.diff(distance) >= 0).all())

    def test_a_point_is_paired_once_and_with_the_nearest_first(self):
        a = np.array([[0.0, 0.0], [3.0, 0.0]])
        b = np.array([[2.0, 0.0]])
        self.assertEqual(planes.one_to_one(a, b, 10).tolist(), [1.0])

    def test_counts_of_a_shifted_image(self):
        # The second image is the first one shifted by 20 pixels; one keypoint of each has no partner,
        # one is off by 2.5 pixels, and the descriptors of two are exchanged.
        shift = np.array([[1, 0, 20], [0, 1, 0], [0, 0, 1.0]])
        first = np.array([[10, 10], [30, 10], [50, 10], [70, 10], [95, 10]], np.float32)
        second = np.array([[30, 10], [52.5, 10], [70, 10], [90, 10], [5, 5]], np.float32)
        names = np.array([[1], [2], [3], [4], [255]], np.uint8)
        exchanged = np.array([[1], [2], [4], [3], [127]], np.uint8)
        result = planes.compare(
            Features(first, names), Features(second, exchanged), shift, (100, 50), (100, 50), cv2.NORM_HAMMING
        )
        self.assertEqual(result["shared"], 4)  # (95, 10) leaves the second image, (5, 5) comes from outside
        self.assertEqual(result["repeated"][:3], [3, 3, 4])
        self.assertEqual(result["matches"], 5)
        self.assertEqual(result["right"][:3], [1, 1, 2])

    def test_shares_are_means_over_pairs(self):
        pair = {"keypoints": [10, 20], "shared": 10, "repeated": [5] * 10, "matches": 4, "right": [1] * 10}
        none = {"keypoints": [10, 20], "shared": 0, "repeated": [0] * 10, "matches": 0, "right": [0] * 10}
        shares = planes.shares([pair, none])
        self.assertEqual(shares["repeatability"][0], 0.25)
        self.assertEqual(shares["accuracy"][9], 0.125)
        self.assertEqual(shares["matching_score"][4], 0.05)


class MethodsTest(unittest.TestCase):
    def test_order_is_level_response_row_column(self):
        columns = {
            "octave": np.array([1, 0, 0, 0]), "response": np.array([9, 1, 5, 5], np.float32),
            "xy": np.array([[0, 0], [0, 0], [7, 2], [3, 2]], np.float32),
            "angle": np.zeros(4), "size": np.zeros(4),
        }  # fmt: skip
        self.assertEqual(in_order(columns).tolist(), [3, 2, 1, 0])

    def test_matches_are_mutual_and_the_first_of_equal_ones(self):
        xy = np.zeros((3, 2), np.float32)
        first = Features(xy, np.array([[0], [1], [255]], np.uint8))
        second = Features(xy, np.array([[0], [0], [254]], np.uint8))
        self.assertEqual(mutual_matches(first, second, cv2.NORM_HAMMING).tolist(), [[0, 0], [2, 2]])

    def test_opencv_methods_keep_their_best(self):
        grey = np.random.default_rng(3).integers(0, 256, (200, 200), np.uint8)
        best = opencv_features(Method("cv::BRISK", 20), grey)
        more = opencv_features(Method("cv::BRISK", 40), grey)
        self.assertEqual(len(best["response"]), 20)
        self.assertGreaterEqual(best["response"].min(), np.sort(more["response"])[-20])

    def test_every_preset_is_there(self):
        self.assertEqual(len(methods(0)), 12)


class PoseTest(unittest.TestCase):
    def setUp(self):
        camera = np.array([[500.0, 0, 320], [0, 500, 240], [0, 0, 1]])
        second = np.eye(4)
        second[:3, :3] = rotation_of(0, 0.05, 0, 1)
        second[:3, 3] = 0.5, 0.1, 0.2
        self.sequence = Sequence("KITTI", ["a", "b"], camera, None, [np.eye(4), second])
        world = np.random.default_rng(4).uniform([-2, -2, 4], [2, 2, 9], (100, 3))
        self.places = []
        for p in self.sequence.poses:
            in_camera = (world - p[:3, 3]) @ p[:3, :3]
            self.places.append((in_camera @ camera.T)[:, :2] / in_camera[:, 2:])

    def test_the_pose_of_true_points_is_found(self):
        result = pose.pose_errors(self.sequence, (0, 1), *self.places)
        self.assertLess(max(result["rotation_deg"], result["direction_deg"]), 0.01)
        self.assertEqual(result["inliers"], 100)

    def test_another_motion_is_an_error(self):
        self.sequence.poses[1][:3, :3] = rotation_of(0, 0, 0, 1)
        result = pose.pose_errors(self.sequence, (0, 1), *self.places)
        self.assertAlmostEqual(result["rotation_deg"], 2 * np.degrees(np.arctan(0.05)), places=2)

    def test_too_few_points_give_no_pose(self):
        result = pose.pose_errors(self.sequence, (0, 1), self.places[0][:4], self.places[1][:4])
        self.assertIsNone(result["rotation_deg"])
        self.assertEqual(pose.summary([result])["auc"], [0, 0, 0])

    def test_area_under_the_curve(self):
        self.assertEqual(pose.auc([0, 5, 180], 10), 0.5)

    def test_true_places_lie_on_their_epipolar_lines(self):
        off = tracks.off_epipolar(self.sequence, 0, self.places[0], 1, self.places[1])
        self.assertLess(off.max(), 1e-6)
        off = tracks.off_epipolar(self.sequence, 0, self.places[0], 1, self.places[1] + [0, 5])
        self.assertGreater(off.min(), 1)

    def test_lives_and_steps_of_a_sequence(self):
        sequence = Sequence("KITTI", ["a", "b"], self.sequence.camera, None, self.sequence.poses)
        first, second = self.places
        frames = [{1: first[0], 2: first[1], 3: first[2]}, {1: second[0], 2: second[1] + [0, 9]}]
        summary = tracks.sequence_summary(sequence, frames)
        self.assertAlmostEqual(summary["life"], 2 / 3)
        self.assertEqual(summary["inlier_share"], 0.5)


class FlightTest(unittest.TestCase):
    def test_counts_of_tracks_that_stay_drift_end_and_leave(self):
        # The camera moves right by 2 pixels a frame.
        maps = [np.array([[1, 0, 2.0 * f], [0, 1, 0], [0, 0, 1]]) for f in range(4)]
        frames = [
            {
                1: (300 - 2 * f, 100),  # right
                2: (300 - 2 * f + 0.8 * f, 200),  # a pixel off from the second frame on
                **({3: (300 - 2 * f, 300)} if f < 2 else {}),  # ends
                4: (19 - 2 * f, 100),  # its true place comes too near to the border
            }
            for f in range(4)
        ]
        counts = tracks.flight_counts(Flight("", [""] * 4, maps), frames)
        self.assertEqual(counts["eligible"][1:4], [4, 3, 3])
        self.assertEqual(counts["alive"][1:4], [4, 2, 2])
        self.assertEqual(counts["right"][1:4], [4, 1, 1])
        self.assertEqual(counts["errors"]["1"], [0, 0.8, 0, 0])


class TurnedImageTest(unittest.TestCase):
    def test_the_map_leads_to_the_same_grey_level(self):
        grey = cv2.GaussianBlur(np.random.default_rng(5).integers(0, 256, (60, 80), np.uint8), (0, 0), 3)
        for angle in ANGLES_DEG:
            image, there = turned(grey, angle)
            x, y = planes.projected(there, np.array([[50.0, 20.0]]))[0]
            near = image[int(np.floor(y)) : int(np.ceil(y)) + 1, int(np.floor(x)) : int(np.ceil(x)) + 1].astype(int)
            self.assertLessEqual(near.min() - 4, int(grey[20, 50]))
            self.assertGreaterEqual(near.max() + 4, int(grey[20, 50]))

    def test_a_quarter_moves_pixels_only(self):
        grey = np.arange(12, dtype=np.uint8).reshape(3, 4)
        image, there = turned(grey, 90)
        x, y = planes.projected(there, np.array([[3.0, 0.0]]))[0]
        self.assertEqual((image.shape, image[round(y), round(x)]), ((4, 3), grey[0, 3]))


class CellsTest(unittest.TestCase):
    def test_a_cell_is_computed_once_until_its_inputs_change(self):
        calls = []

        def compute():
            calls.append(1)
            return {"value": len(calls)}

        with tempfile.TemporaryDirectory() as folder:
            for depends_on, value in ((["a"], 1), (["a"], 1), (["b"], 2), (["b"], 2)):
                cells = Cells(pathlib.Path(folder), 1)
                self.assertEqual(cells.get("x/y", depends_on, compute), {"value": value})


if __name__ == "__main__":
    unittest.main()
