#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
#
# Runs every benchmark of a build, one after the other, and collects their tables and JSON.
#
#   bench/run_all.sh [BUILD_FOLDER] [OUTPUT_FOLDER] [-- BENCHMARK-ARGUMENT...]
#
# BUILD_FOLDER: build. OUTPUT_FOLDER: BUILD_FOLDER/bench-results; one NAME.json and NAME.txt a benchmark.
# Arguments after -- go to every compiled benchmark, e.g. -- --repeats 11 --threads 1.
# ORBSERVE_BENCH_FRAMES=FOLDER, a folder of video frames, adds the comparison of `orbserve extract` with a cv2 script.
#
# Exit codes: 0 all ran, 1 one failed or none is built (cmake -DORBSERVE_BUILD_BENCH=ON), 2 wrong usage.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folders=()
while (($# > 0)); do
  case "$1" in
    --)
      shift
      break
      ;;
    -*)
      echo "run_all.sh: unknown argument '$1'; usage: bench/run_all.sh [BUILD_FOLDER] [OUTPUT_FOLDER] [-- ARGUMENT...]" >&2
      exit 2
      ;;
    *) folders+=("$1") ;;
  esac
  shift
done
if ((${#folders[@]} > 2)); then
  echo "run_all.sh: at most two folders; got ${#folders[@]}" >&2
  exit 2
fi
build=${folders[0]:-build}
output=${folders[1]:-$build/bench-results}
mkdir -p "$output"

shopt -s nullglob
programs=("$build"/bin/*_bench)
if ((${#programs[@]} == 0)); then
  echo "run_all.sh: no benchmarks in $build/bin; configure with -DORBSERVE_BUILD_BENCH=ON and build" >&2
  exit 1
fi

failed=0
for program in "${programs[@]}"; do
  name=$(basename "$program")
  "$program" --json "$output/$name.json" "$@" | tee "$output/$name.txt" || failed=1
  echo
done
if [[ -n ${ORBSERVE_BENCH_FRAMES:-} ]]; then
  /usr/bin/python3 bench/cli_vs_cv2.py --orbserve "$build/bin/orbserve" --frames "$ORBSERVE_BENCH_FRAMES" \
    --json "$output/cli_vs_cv2.json" | tee "$output/cli_vs_cv2.txt" || failed=1
else
  echo "cli_vs_cv2: left out; set ORBSERVE_BENCH_FRAMES to a folder of frames"
fi
echo "Results are in $output"
exit $failed
