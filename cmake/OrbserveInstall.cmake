# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# What a machine gets by `cmake --install`: the programs, the client library with its headers, the wire contract, sample
# configuration, and the package `orbserve` for find_package(). The computing and serving libraries are no public API:
# whoever wants features inside a process talks to orbserve::client, or speaks the wire contract.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/orbserve)

install(TARGETS orbserve_server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(ORBSERVE_BUILD_CLIENT)
  install(TARGETS orbserve_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

install(TARGETS orbserve_version orbserve_proto orbserve_client
  EXPORT orbserve_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT orbserve_targets NAMESPACE orbserve:: FILE orbserveTargets.cmake DESTINATION ${package_dir})

install(DIRECTORY ${PROJECT_SOURCE_DIR}/client/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/orbserve
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.pb.h" PATTERN CMakeFiles EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/proto/orbserve/v1/orbserve.proto
  DESTINATION ${CMAKE_INSTALL_DATADIR}/orbserve/proto/orbserve/v1)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md
  ${PROJECT_SOURCE_DIR}/CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/deploy/orbserve-server.textproto
  DESTINATION ${CMAKE_INSTALL_DATADIR}/orbserve)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/orbserve-server.service
  DESTINATION ${CMAKE_INSTALL_DATADIR}/orbserve/systemd)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/orbserveConfig.cmake.in
  ${PROJECT_BINARY_DIR}/orbserveConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_DATADIR)
# Before 1.0 a new minor version may change the client library.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/orbserveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/orbserveConfig.cmake ${PROJECT_BINARY_DIR}/orbserveConfigVersion.cmake
  DESTINATION ${package_dir})
