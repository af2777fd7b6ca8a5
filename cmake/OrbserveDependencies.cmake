# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Minimum versions are those of Debian 12.

find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(gRPC 1.51 CONFIG REQUIRED)
find_package(absl 20220623 CONFIG REQUIRED)
find_package(hwy 1.0.3 CONFIG REQUIRED)
find_package(TBB 2021.8 CONFIG REQUIRED)
find_package(spdlog 1.10 CONFIG REQUIRED)
find_package(CLI11 2.1 CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(civetweb 1.15 CONFIG REQUIRED)
find_package(libjpeg-turbo 2.1 CONFIG REQUIRED)
find_package(PNG 1.6 REQUIRED)

# ON is a promise that cannot be kept without a toolkit; AUTO takes what is there.
if(NOT ORBSERVE_ENABLE_CUDA STREQUAL "OFF")
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    message(STATUS "CUDA ${CMAKE_CUDA_COMPILER}: this version has no CUDA kernels yet; its GPU backend reports no device")
  elseif(ORBSERVE_ENABLE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ORBSERVE_ENABLE_CUDA is ON and no CUDA compiler was found; set CMAKE_CUDA_COMPILER, or use "
                        "AUTO or OFF")
  endif()
endif()

if(ORBSERVE_BUILD_TESTS)
  find_package(GTest 1.12 CONFIG REQUIRED)
endif()
