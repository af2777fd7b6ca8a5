# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Whether the CUDA backend is built: ORBSERVE_HAS_CUDA. Needs a toolkit, not a GPU.

set(ORBSERVE_CUDA_ARCHITECTURES "90" CACHE STRING
    "Compute capabilities to compile for, as CMAKE_CUDA_ARCHITECTURES; the preset `cuda` names all that are supported")

set(ORBSERVE_HAS_CUDA OFF)
if(NOT ORBSERVE_ENABLE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    if(NOT CMAKE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES ${ORBSERVE_CUDA_ARCHITECTURES})
    endif()
    enable_language(CUDA)
    find_package(CUDAToolkit 12.0 REQUIRED)
    # Every toolkit since 12.0 has C++20; CMake 3.25 does not know how to ask for it.
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    endif()
    set(ORBSERVE_HAS_CUDA ON)
    message(STATUS "CUDA backend: toolkit ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  elseif(ORBSERVE_ENABLE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ORBSERVE_ENABLE_CUDA is ON and no CUDA compiler was found; put nvcc on the PATH or set CUDACXX")
  else()
    message(STATUS "CUDA backend: not built, no CUDA compiler found")
  endif()
endif()
