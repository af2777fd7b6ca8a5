#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs the CPU benchmarks of a build, one after the other, and collects their tables and JSON. docs/benchmarks.md says
# how to read them.
#
#   bench/run_all.sh [--build FOLDER] [--out FOLDER] [--frames FOLDER] [PHOTOGRAPH...] [-- ARGUMENT...]
#
# --build   where the programs were built; build
# --out     where NAME.json and NAME.txt go; bench-results in the build folder
# --frames  frames of one video, for track_bench, and for `orbserve extract` beside a cv2 script (needs python3-opencv)
# PHOTOGRAPH...  images for the benchmarks that look at images
# ARGUMENT...    go to every compiled benchmark, e.g. -- --repeats 11 --threads 1
#
# A benchmark without its input is left out, and the output says so. Exit codes: 0 all that ran succeeded, 1 one failed or none is built,
# 2 wrong usage.

set -euo pipefail

usage() {
  echo "run_all.sh: $1; usage: bench/run_all.sh [--build FOLDER] [--out FOLDER] [--frames FOLDER] [PHOTOGRAPH...]" \
    "[-- ARGUMENT...]" >&2
  exit 2
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$here/../build
output=
frames=
photographs=()
while (($# > 0)); do
  case "$1" in
    --build | --out | --frames)
      (($# > 1)) || usage "$1 needs a folder"
      case "$1" in
        --build) build=$2 ;;
        --out) output=$2 ;;
        --frames) frames=$2 ;;
      esac
      shift
      ;;
    --)
      shift
      break
      ;;
    -*) usage "unknown argument '$1'" ;;
    *) photographs+=("$1") ;;
  esac
  shift
done
output=${output:-$build/bench-results}
if [[ ! -x $build/bin/match_bench ]]; then
  echo "run_all.sh: no benchmarks in $build/bin; configure with -DORBSERVE_BUILD_BENCH=ON and build" >&2
  exit 1
fi
mkdir -p "$output"

failed=0
run() { # run NAME COMMAND...: table to the terminal and to NAME.txt
  local name=$1
  shift
  "$@" --json "$output/$name.json" | tee "$output/$name.txt" || failed=1
  echo
}

run match_bench "$build/bin/match_bench" "$@"
for name in fast_bench orb_bench preset_bench; do
  if [[ ! -x $build/bin/$name ]]; then
    echo "$name: left out; it is built where OpenCV is found"
  elif ((${#photographs[@]} == 0)); then
    echo "$name: left out; it needs photographs"
  else
    run "$name" "$build/bin/$name" "${photographs[@]}" "$@"
  fi
done
if [[ ! -x $build/bin/track_bench ]]; then
  echo "track_bench: left out; it is built where OpenCV is found"
elif [[ -z $frames ]]; then
  echo "track_bench: left out; it needs --frames FOLDER"
else
  run track_bench "$build/bin/track_bench" "$frames"/* "$@"
fi
if [[ -z $frames ]]; then
  echo "cli_vs_cv2: left out; it needs --frames FOLDER"
elif [[ ! -x $build/bin/orbserve ]]; then
  echo "cli_vs_cv2: left out; $build/bin/orbserve is not built"
else
  run cli_vs_cv2 /usr/bin/python3 "$here/cli_vs_cv2.py" --orbserve "$build/bin/orbserve" --frames "$frames"
fi
echo "Results are in $output"
exit $failed
