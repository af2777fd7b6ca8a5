# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# The steps that pipelines are made of. Step NAME is the file pair cpu/steps/NAME.{h,cc} of the CPU backend and
# gpu/steps/NAME.{h,cu} of the CUDA backend; cpu/simd/NAME_simd.cc is the SIMD twin of the former's kernel, if it has one,
# and tests/cpu/steps/NAME_test.cc its test. The lists follow from the files. cpu/compile.cc and gpu/compile.cc say which
# steps a pipeline runs, and in which order.

file(GLOB steps_of_cpu CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpu/steps/*.cc)
file(GLOB steps_of_gpu CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/gpu/steps/*.cu)
file(GLOB twins_of_cpu CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpu/simd/*_simd.cc)
list(TRANSFORM steps_of_cpu REPLACE ".*/(.+)\\.cc" "\\1")
list(TRANSFORM steps_of_gpu REPLACE ".*/(.+)\\.cu" "\\1")
list(TRANSFORM twins_of_cpu REPLACE ".*/(.+)_simd\\.cc" "\\1")

# Steps of both backends.
set(ORBSERVE_STEPS ${steps_of_cpu})
# Steps of the CPU backend alone: those of the CUDA backend also do their work.
set(ORBSERVE_CPU_ONLY_STEPS ${steps_of_cpu})
# Steps of the CUDA backend alone.
set(ORBSERVE_GPU_ONLY_STEPS ${steps_of_gpu})
list(REMOVE_ITEM ORBSERVE_CPU_ONLY_STEPS ${steps_of_gpu})
list(REMOVE_ITEM ORBSERVE_GPU_ONLY_STEPS ${steps_of_cpu})
list(REMOVE_ITEM ORBSERVE_STEPS ${ORBSERVE_CPU_ONLY_STEPS})
# Steps of the CPU backend whose kernel has a SIMD twin. Twins of other kernels, such as matching, are no steps.
set(ORBSERVE_CPU_SIMD_STEPS ${twins_of_cpu})
list(FILTER ORBSERVE_CPU_SIMD_STEPS EXCLUDE REGEX "^(match|sad_score|window_maximum)$")
