# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# The steps that pipelines are made of. A step is called STAGE/NAME after its folder and its file (STAGE is detect, suppress,
# select or describe; the pyramid has no folder). It is the file pair cpu/steps/STAGE/NAME.{h,cc} of the CPU backend and
# gpu/steps/STAGE/NAME.{h,cu} of the CUDA backend; cpu/simd/NAME_simd.cc is the SIMD twin of the former's kernel, if it has
# one, and tests/cpu/steps/STAGE/NAME_test.cc its test. The lists follow from the files. cpu/compile.cc and gpu/compile.cc
# say which steps a pipeline runs, and in which order.

foreach(backend_and_suffix cpu/cc gpu/cu)
  string(REGEX REPLACE "(.+)/(.+)" "\\1;\\2" parts ${backend_and_suffix})
  list(GET parts 0 backend)
  list(GET parts 1 suffix)
  file(GLOB_RECURSE steps_of_${backend} CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/${backend}/steps
       ${PROJECT_SOURCE_DIR}/${backend}/steps/*.${suffix})
  list(TRANSFORM steps_of_${backend} REPLACE "\\.${suffix}$" "")
endforeach()
file(GLOB twins_of_cpu CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cpu/simd/*_simd.cc)
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
# Steps of the CPU backend whose kernel has a SIMD twin, by name. Twins of other kernels are no steps.
set(ORBSERVE_CPU_SIMD_STEPS ${twins_of_cpu})
list(FILTER ORBSERVE_CPU_SIMD_STEPS EXCLUDE REGEX "^(lucas_kanade|match|sad_score|sift|window_maximum)$")
