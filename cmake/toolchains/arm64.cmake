# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Cross-compilation for arm64 with Debian's aarch64-linux-gnu-g++. The libraries and, if there is one, the CUDA toolkit
# are those of ORBSERVE_SYSROOT, which script/sysroot-arm64 makes. Programs of the build run under qemu-aarch64-static.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)

set(ORBSERVE_SYSROOT "$ENV{ORBSERVE_SYSROOT}" CACHE PATH "Folder that script/sysroot-arm64 made")
# CMake reads this file again for each of its trials.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES ORBSERVE_SYSROOT)
if(NOT EXISTS ${ORBSERVE_SYSROOT}/root/usr/include)
  message(FATAL_ERROR "ORBSERVE_SYSROOT is '${ORBSERVE_SYSROOT}', which has no root/usr/include; "
                      "make one with script/sysroot-arm64 FOLDER and name the folder")
endif()

set(CMAKE_SYSROOT ${ORBSERVE_SYSROOT}/root)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})

if(EXISTS ${ORBSERVE_SYSROOT}/cuda/bin/nvcc)
  set(CMAKE_CUDA_COMPILER ${ORBSERVE_SYSROOT}/cuda/bin/nvcc)
  set(CMAKE_CUDA_HOST_COMPILER aarch64-linux-gnu-g++)
  # CMake tells nvcc nothing of the sysroot. Without it the host compiler would read this machine's headers, and CMake would name
  # the sysroot's /usr/include to it, in front of the C++ library, whose <math.h> is then not found.
  set(CMAKE_CUDA_FLAGS_INIT "--target-directory aarch64-linux -Xcompiler=--sysroot=${CMAKE_SYSROOT}")
  set(CUDAToolkit_ROOT ${ORBSERVE_SYSROOT}/cuda)
endif()

find_program(ORBSERVE_QEMU qemu-aarch64-static)
mark_as_advanced(ORBSERVE_QEMU)
if(ORBSERVE_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ORBSERVE_QEMU};-L;${CMAKE_SYSROOT})
endif()
