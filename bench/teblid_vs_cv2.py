#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Processor time of TEBLID and BEBLID of given keypoints: a server with one thread beside cv::xfeatures2d.

  bench/teblid_vs_cv2.py --server build/bin/orbserve-server [--turns N] IMAGE[:FEATURES]...

The keypoints are those of cv::ORB. Both sides describe them turn by turn, and must give equal bits. Time of the server is that
of its stage `describe`, which includes the integral image; time of OpenCV is that of its call, whose keypoints were made
before. Needs the package of python/ and opencv-contrib-python. Exit codes: 0 done, 1 bits differ.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import cv2
import numpy as np

import orbserve

NAMES = ("TEBLID_256", "TEBLID_512", "BEBLID_256", "BEBLID_512")


def compare(client: orbserve.Client, grey: np.ndarray, wanted: int, name: str, turns: int) -> str:
    kind, bits = name.split("_")
    opencv = getattr(cv2.xfeatures2d, f"{kind}_create")(1.0, getattr(cv2.xfeatures2d, f"{kind}_SIZE_{bits}_BITS"))
    keypoints = cv2.ORB_create(wanted).detect(grey)
    given = orbserve.Features.from_cv2(keypoints)
    pipeline = orbserve.Orb(descriptor_type=orbserve.DescriptorType[name], capacity=100_000)
    ours, theirs = [], []
    for _ in range(turns):
        start = time.process_time_ns()
        kept, expected = opencv.compute(grey, keypoints)
        theirs.append(time.process_time_ns() - start)
        features = client.extract(grey, pipeline, keypoints=given)
        ours.append(sum(s.duration_ns for s in features.timings.stages if s.stage == "describe"))
        if not np.array_equal(features.descriptors, expected):
            sys.exit(f"{name}: descriptors differ")
    us = [statistics.median(times) / 1000 for times in (ours, theirs)]
    return f"{name}, {len(kept)} keypoints: {us[0]:.0f} us, OpenCV {us[1]:.0f} us, {us[1] / us[0]:.2f}x"


def main() -> None:
    parser = argparse.ArgumentParser(description="TEBLID and BEBLID beside OpenCV's.")
    parser.add_argument("--server", required=True, type=pathlib.Path)
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("images", nargs="+")
    arguments = parser.parse_args()
    cv2.setNumThreads(1)
    with tempfile.TemporaryDirectory(prefix="orb") as folder:
        options = ["--backend", "cpu", "--threads", "1"]
        with orbserve.local(socket=f"{folder}/s", program=arguments.server, arguments=options) as client:
            print(f"OpenCV {cv2.__version__}, medians of {arguments.turns} turns")
            for image in arguments.images:
                path, _, wanted = image.partition(":")
                grey = cv2.imread(path, cv2.IMREAD_GRAYSCALE)
                print(f"{path}, {grey.shape[1]}x{grey.shape[0]}")
                for name in NAMES:
                    print("  " + compare(client, grey, int(wanted or 2000), name, arguments.turns), flush=True)


main()
