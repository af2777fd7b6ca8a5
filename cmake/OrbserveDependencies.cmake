# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Minimum versions are those of Debian 12.

find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(OpenSSL 3.0 REQUIRED)  # gRPC's own
find_package(gRPC 1.51 CONFIG REQUIRED)
if(CMAKE_CROSSCOMPILING)
  # gRPC's package names the program of the other machine.
  find_program(ORBSERVE_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  mark_as_advanced(ORBSERVE_GRPC_CPP_PLUGIN)
  set_target_properties(gRPC::grpc_cpp_plugin PROPERTIES
    IMPORTED_LOCATION ${ORBSERVE_GRPC_CPP_PLUGIN} IMPORTED_LOCATION_NONE ${ORBSERVE_GRPC_CPP_PLUGIN})
endif()
find_package(absl 20220623 CONFIG REQUIRED)
find_package(hwy 1.0.3 CONFIG REQUIRED)
find_package(TBB 2021.8 CONFIG REQUIRED)
find_package(spdlog 1.10 CONFIG REQUIRED)
find_package(CLI11 2.1 CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(libjpeg-turbo 2.1 CONFIG REQUIRED)
find_package(PNG 1.6 REQUIRED)

if(ORBSERVE_BUILD_TESTS)
  find_package(GTest 1.12 CONFIG REQUIRED)
endif()

# Exports of the program. CMake's own search for HDF5 wants a C compiler and its wrapper scripts.
if(ORBSERVE_BUILD_CLIENT AND ORBSERVE_HDF5)
  find_path(ORBSERVE_HDF5_INCLUDE_DIR hdf5.h PATH_SUFFIXES hdf5/serial)
  find_library(ORBSERVE_HDF5_LIBRARY NAMES hdf5_serial hdf5)
  mark_as_advanced(ORBSERVE_HDF5_INCLUDE_DIR ORBSERVE_HDF5_LIBRARY)
  if(NOT ORBSERVE_HDF5_INCLUDE_DIR OR NOT ORBSERVE_HDF5_LIBRARY)
    message(FATAL_ERROR "HDF5 is missing (Debian: libhdf5-dev). -DORBSERVE_HDF5=OFF builds without `--format hdf5`.")
  endif()
  add_library(orbserve_hdf5 INTERFACE)
  target_include_directories(orbserve_hdf5 SYSTEM INTERFACE ${ORBSERVE_HDF5_INCLUDE_DIR})
  target_link_libraries(orbserve_hdf5 INTERFACE ${ORBSERVE_HDF5_LIBRARY})
endif()
if(ORBSERVE_BUILD_CLIENT AND ORBSERVE_SQLITE)
  find_package(SQLite3 3.31)
  if(NOT SQLite3_FOUND)
    message(FATAL_ERROR "SQLite is missing (Debian: libsqlite3-dev). -DORBSERVE_SQLITE=OFF builds without `--format colmap`.")
  endif()
endif()
