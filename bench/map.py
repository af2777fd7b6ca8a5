#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Maps of a sequence: features and matches of `orbserve match --format colmap`, and of COLMAP's own SIFT, mapped by pycolmap.

Every front end matches each image with the --overlap images behind it; the mapper is the same, with the intrinsics given. Prints
a line for each: images registered, points, mean reprojection error, mean length of a track, seconds of the front end and of the
mapper. The exit code is 1 if a map has less than all images.

  python bench/map.py --images FOLDER --camera-params FX,FY,CX,CY [--presets orb orb-slam3 sift colmap] [--overlap 10]
      [--features 2000] [--threads 2] [--build build] [--json FILE]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import pycolmap


def orbserve_front_end(options, preset, folder):
    command = [options.build / "bin" / "orbserve", "match", "--pipeline", preset, "--max-features", str(options.features)]
    command += ["--sequential", str(options.overlap), "--cross-check", "--verify", "--format", "colmap", "--camera-model", "PINHOLE"]
    command += ["--camera-params", options.camera_params, "--out", folder, options.images]
    if preset == "sift":
        command += ["--ratio", "0.8"]  # as COLMAP's matcher
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def colmap_front_end(options, folder):
    extraction, matching = pycolmap.FeatureExtractionOptions(), pycolmap.FeatureMatchingOptions()
    extraction.use_gpu = matching.use_gpu = False
    extraction.num_threads = matching.num_threads = options.threads
    extraction.sift.max_num_features = options.features
    reader = pycolmap.ImageReaderOptions()
    reader.camera_model, reader.camera_params = "PINHOLE", options.camera_params
    pairs = pycolmap.SequentialPairingOptions()
    pairs.overlap, pairs.quadratic_overlap, pairs.loop_detection = options.overlap, False, False
    database = folder / "database.db"
    pycolmap.extract_features(
        database, options.images, camera_mode=pycolmap.CameraMode.SINGLE, reader_options=reader,
        extraction_options=extraction, device=pycolmap.Device.cpu)  # fmt: skip
    pycolmap.match_sequential(database, matching_options=matching, pairing_options=pairs, device=pycolmap.Device.cpu)


def make_map(options, folder):
    mapper = pycolmap.IncrementalPipelineOptions()
    mapper.num_threads = options.threads
    mapper.ba_refine_focal_length = mapper.ba_refine_principal_point = mapper.ba_refine_extra_params = False
    # A camera that drives forward sees its first two images from nearly the same direction.
    mapper.mapper.init_min_tri_angle, mapper.mapper.init_max_forward_motion = 4, 1
    maps = pycolmap.incremental_mapping(folder / "database.db", options.images, folder, options=mapper)
    return max(maps.values(), key=lambda each: each.num_reg_images(), default=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=pathlib.Path, required=True)
    parser.add_argument("--camera-params", required=True)
    parser.add_argument("--presets", nargs="+", default=["orb", "orb-slam3", "sift", "colmap"])
    parser.add_argument("--overlap", type=int, default=10)
    parser.add_argument("--features", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    pycolmap.logging.minloglevel = pycolmap.logging.Level.ERROR.value
    images = sum(path.suffix.lower() in (".png", ".jpg", ".jpeg") for path in options.images.iterdir())
    rows = []
    print("front end | images | points | error px | track | front end s | mapper s")
    for preset in options.presets:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            begin = time.monotonic()
            if preset == "colmap":
                colmap_front_end(options, folder)
            else:
                orbserve_front_end(options, preset, folder)
            middle = time.monotonic()
            found = make_map(options, folder)
            end = time.monotonic()
        row = {"front_end": preset, "images": 0, "front_end_s": middle - begin, "mapper_s": end - middle}
        if found is not None:
            row |= {"images": found.num_reg_images(), "points": found.num_points3D(),
                    "error_px": found.compute_mean_reprojection_error(), "track": found.compute_mean_track_length()}  # fmt: skip
        rows.append(row)
        print(f"{preset} | {row['images']} of {images} | {row.get('points', 0)} | {row.get('error_px', 0):.2f} | "
              f"{row.get('track', 0):.1f} | {row['front_end_s']:.1f} | {row['mapper_s']:.1f}", flush=True)  # fmt: skip
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    return 0 if all(row["images"] == images for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
