# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# The steps that pipelines are made of. Step NAME is the file pair cpu/steps/NAME.{h,cc} of the CPU backend and
# gpu/steps/NAME.{h,cu} of the CUDA backend; tests/cpu/steps/NAME_test.cc tests the former. cpu/compile.cc and
# gpu/compile.cc say which steps a pipeline runs, and in which order.

# Steps of both backends.
set(ORBSERVE_STEPS
  pyramid
  fast
  survivors
  rank
  rbrief256
  rbrief32
  integral
  bfrost256)

# Steps of the CPU backend alone. On the GPU, survivors also computes Harris responses, the steps that describe
# also orient (gpu/steps/orientation.cuh), and rbrief256 also smooths.
set(ORBSERVE_CPU_ONLY_STEPS
  arc_middle
  gaussian
  harris
  intensity_centroid)

# Steps of the CUDA backend alone.
set(ORBSERVE_GPU_ONLY_STEPS
  clear_counters)

# Steps of the CPU backend whose kernel has a SIMD twin, cpu/simd/NAME_simd.cc.
set(ORBSERVE_CPU_SIMD_STEPS
  pyramid
  fast
  harris
  intensity_centroid
  gaussian
  rbrief256
  rbrief32
  integral
  bfrost256)
