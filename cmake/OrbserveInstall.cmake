# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# `cmake --install` gives a machine the programs with their manual and completion, a systemd unit, sample
# configuration, the client library with its headers, the wire contract, and the package `orbserve` for find_package(). The
# computing and serving libraries are no public API: whoever wants features inside a process talks to orbserve::client, or
# speaks the wire contract. Components: server, tools, dev; each is a Debian package (OrbserveDebian.cmake).
#
# The systemd unit names the programs and the configuration where CMAKE_INSTALL_PREFIX and CMAKE_INSTALL_SYSCONFDIR of the
# configuration put them.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/orbserve)
set(server_doc_dir ${CMAKE_INSTALL_DATADIR}/doc/orbserve-server)

install(TARGETS orbserve_server RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
if(ORBSERVE_BUILD_CLIENT)
  install(TARGETS orbserve_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
endif()

# --- server
configure_file(${PROJECT_SOURCE_DIR}/deploy/systemd/orbserve-server.service.in
  ${PROJECT_BINARY_DIR}/orbserve-server.service @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/orbserve-server.service DESTINATION lib/systemd/system COMPONENT server)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/systemd/orbserve.sysusers
  DESTINATION lib/sysusers.d RENAME orbserve.conf COMPONENT server)
install(FILES ${PROJECT_SOURCE_DIR}/deploy/orbserve-server.textproto
  DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/orbserve RENAME server.textproto COMPONENT server)
install(DIRECTORY DESTINATION ${CMAKE_INSTALL_SYSCONFDIR}/orbserve/secrets
  DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE COMPONENT server)
install(FILES ${PROJECT_SOURCE_DIR}/NOTICE DESTINATION ${server_doc_dir} COMPONENT server)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/docs/ DESTINATION ${server_doc_dir} COMPONENT server
  FILES_MATCHING PATTERN "*.md" PATTERN decisions EXCLUDE PATTERN man EXCLUDE)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/deploy/ DESTINATION ${server_doc_dir}/examples COMPONENT server
  PATTERN debian EXCLUDE PATTERN systemd EXCLUDE PATTERN orbserve-server.textproto EXCLUDE)

# --- tools
install(FILES ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/docs/cli.md
  ${PROJECT_SOURCE_DIR}/docs/formats.md ${PROJECT_SOURCE_DIR}/docs/presets.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tools)

# --- dev
install(TARGETS orbserve_version orbserve_proto orbserve_client
  EXPORT orbserve_targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT orbserve_targets NAMESPACE orbserve:: FILE orbserveTargets.cmake DESTINATION ${package_dir} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/client/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto/orbserve
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.pb.h" PATTERN CMakeFiles EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/proto/orbserve/v1/orbserve.proto
  DESTINATION ${CMAKE_INSTALL_DATADIR}/orbserve/proto/orbserve/v1 COMPONENT dev)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/orbserveConfig.cmake.in
  ${PROJECT_BINARY_DIR}/orbserveConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_DATADIR)
# Before 1.0 a new minor version may change the client library.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/orbserveConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/orbserveConfig.cmake ${PROJECT_BINARY_DIR}/orbserveConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT dev)

# --- manual and completion, made from what the programs' --help prints. Sanitized programs take too long to start.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)

# orbserve_add_pages(TARGET SECTION COMPONENT [--related NAME SECTION]...)
function(orbserve_add_pages target section component)
  get_target_property(name ${target} OUTPUT_NAME)
  set(out ${PROJECT_BINARY_DIR}/pages/${name})
  file(GLOB sections CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/man/*.roff)
  add_custom_command(
    OUTPUT ${out}.stamp
    COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/cmake/command_pages.py --name ${name} --section ${section}
            --version ${PROJECT_VERSION} --pages ${PROJECT_SOURCE_DIR}/docs/man --out ${out} ${ARGN}
            ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${target}>
    COMMAND ${CMAKE_COMMAND} -E touch ${out}.stamp
    DEPENDS ${target} ${PROJECT_SOURCE_DIR}/cmake/command_pages.py ${sections}
    VERBATIM)
  add_custom_target(${target}_pages ALL DEPENDS ${out}.stamp)
  install(DIRECTORY ${out}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT ${component} OPTIONAL)
  install(DIRECTORY ${out}/bash/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    COMPONENT ${component} OPTIONAL)
  install(DIRECTORY ${out}/zsh/ DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
    COMPONENT ${component} OPTIONAL)
endfunction()

if(NOT Python3_FOUND)
  message(STATUS "Python 3.9 was not found: manual pages and completion are left out")
elseif(ORBSERVE_SANITIZE OR (CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR))
  message(STATUS "Programs of this build are not run: manual pages and completion are left out")
else()
  orbserve_add_pages(orbserve_server 8 server --related orbserve 1)
  if(ORBSERVE_BUILD_CLIENT)
    orbserve_add_pages(orbserve_cli 1 tools --related orbserve-server 8)
  endif()
endif()

if(ORBSERVE_PACKAGE)
  include(OrbserveDebian)
endif()
