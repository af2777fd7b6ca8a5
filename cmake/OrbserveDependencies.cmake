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
