# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# ORBSERVE_HAS_CUDA says whether the CUDA backend is built. That needs a toolkit, not a GPU.

set(ORBSERVE_CUDA_ARCHITECTURES "" CACHE STRING
    "Compute capabilities to compile for, as CMAKE_CUDA_ARCHITECTURES; the preset `cuda` names all that are supported; \
empty = those of this machine's devices, else 9.0")

# The compute capabilities of this machine's devices, as far as the compiler knows them. Where there are none: 9.0, and
# PTX for what comes after.
function(orbserve_default_cuda_architectures result)
  execute_process(COMMAND ${CMAKE_CUDA_COMPILER} --list-gpu-code OUTPUT_VARIABLE known ERROR_QUIET)
  set(found "")
  foreach(native IN LISTS CMAKE_CUDA_ARCHITECTURES_NATIVE)  # "86-real"
    string(REGEX MATCH "^[0-9]+" number "${native}")
    if(number AND known MATCHES "sm_${number}\n")
      list(APPEND found ${number}-real)
    endif()
  endforeach()
  if(NOT found)
    set(found 90)
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

set(ORBSERVE_HAS_CUDA OFF)
if(NOT ORBSERVE_ENABLE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    # Set before the language is enabled, or CMake caches the compiler's default.
    set(choose_architectures OFF)
    if(NOT CMAKE_CUDA_ARCHITECTURES AND ORBSERVE_CUDA_ARCHITECTURES)
      set(CMAKE_CUDA_ARCHITECTURES ${ORBSERVE_CUDA_ARCHITECTURES})
    elseif(NOT CMAKE_CUDA_ARCHITECTURES)
      set(choose_architectures ON)
      set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
    enable_language(CUDA)
    if(choose_architectures)
      orbserve_default_cuda_architectures(CMAKE_CUDA_ARCHITECTURES)
    endif()
    # FindCUDAToolkit of CMake 3.25 sets a property of this target, whose library CUDA 13 no longer has.
    if(NOT TARGET CUDA::nvToolsExt)
      add_library(CUDA::nvToolsExt INTERFACE IMPORTED)
    endif()
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
