# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# CPack makes Debian packages (script/package): one for each component, and one of the debug symbols of the programs.

set(ORBSERVE_PACKAGE_RELEASE "1" CACHE STRING "Debian revision of the packages")
set(ORBSERVE_PACKAGE_DISTRIBUTION "unstable" CACHE STRING "Distribution that the packages are made for")
set(ORBSERVE_PACKAGE_MAINTAINER "The orbserve authors <orbserve@packages.invalid>" CACHE STRING
    "Who maintains the packages: NAME <ADDRESS>")

set(server_package orbserve-server)
set(tools_package orbserve)
set(dev_package liborbserve-client-dev)

# Documents that Debian asks for.
file(READ ${PROJECT_SOURCE_DIR}/NOTICE notice)
string(REGEX MATCH "Redistribution.*DAMAGE\\." bsd_licence "${notice}")
string(REGEX REPLACE "\n *\n" "\n.\n" bsd_licence "${bsd_licence}")
string(REGEX REPLACE "\n *" "\n " bsd_licence " ${bsd_licence}")
configure_file(${PROJECT_SOURCE_DIR}/deploy/debian/copyright.in ${PROJECT_BINARY_DIR}/debian/copyright @ONLY)
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # of SOURCE_DATE_EPOCH, where that is set
foreach(component server tools dev)
  set(package ${${component}_package})
  set(folder ${PROJECT_BINARY_DIR}/debian/${package})
  file(WRITE ${folder}/changelog.Debian
"${package} (${PROJECT_VERSION}-${ORBSERVE_PACKAGE_RELEASE}) ${ORBSERVE_PACKAGE_DISTRIBUTION}; urgency=medium

  * Version ${PROJECT_VERSION}. changelog.gz says what has changed.

 -- ${ORBSERVE_PACKAGE_MAINTAINER}  ${date}
")
  file(COPY_FILE ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${folder}/changelog)
  execute_process(COMMAND gzip -9nf ${folder}/changelog.Debian ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
  install(FILES ${PROJECT_BINARY_DIR}/debian/copyright ${folder}/changelog.Debian.gz ${folder}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()

# A bill of materials of each program. The libraries of another machine are not registered with this one's dpkg.
set(compiled_in --compiled-in libcli11-dev)
if(ORBSERVE_HAS_CUDA)
  list(APPEND compiled_in --compiled-in cuda-runtime=${CUDAToolkit_VERSION})
endif()
if(NOT CMAKE_CROSSCOMPILING)
  foreach(part server:orbserve_server tools:orbserve_cli)
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 component)
    list(GET part 1 target)
    set(package ${${component}_package})
    set(bill ${PROJECT_BINARY_DIR}/debian/${package}/${package}.spdx.json)
    add_custom_command(
      OUTPUT ${bill}
      COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/script/sbom --name ${package} --version ${ORBSERVE_FULL_VERSION}
              ${compiled_in} --out ${bill} $<TARGET_FILE:${target}>
      DEPENDS ${target} ${PROJECT_SOURCE_DIR}/script/sbom
      VERBATIM)
    add_custom_target(${target}_bill ALL DEPENDS ${bill})
    install(FILES ${bill} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
  endforeach()
endif()

file(WRITE ${PROJECT_BINARY_DIR}/debian/conffiles "${CMAKE_INSTALL_FULL_SYSCONFDIR}/orbserve/server.textproto\n")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME orbserve)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT ${ORBSERVE_PACKAGE_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # every package has its own
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_COMPONENTS_ALL server tools dev)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_SET_DESTDIR ON)  # configuration lies outside of the prefix
set(CPACK_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_THREADS 1)  # more compress to other bytes

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${ORBSERVE_PACKAGE_RELEASE})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(what "orbserve finds keypoints in images, describes, matches and tracks them,
on NVIDIA devices and on the CPU with the same bits.")

set(CPACK_DEBIAN_SERVER_PACKAGE_NAME ${server_package})
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION net)
set(CPACK_DEBIAN_SERVER_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "systemd | systemd-standalone-sysusers | systemd-sysusers, passwd, procps")
set(CPACK_DEBIAN_SERVER_PACKAGE_SUGGESTS "${tools_package}, prometheus")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  ${PROJECT_SOURCE_DIR}/deploy/debian/server/postinst ${PROJECT_SOURCE_DIR}/deploy/debian/server/prerm
  ${PROJECT_SOURCE_DIR}/deploy/debian/server/postrm ${PROJECT_BINARY_DIR}/debian/conffiles)
set(CPACK_DEBIAN_SERVER_DESCRIPTION "visual features over gRPC, server
${what}
.
This package has the gRPC server, its systemd unit and its configuration.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME ${tools_package})
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION graphics)
set(CPACK_DEBIAN_TOOLS_DEBUGINFO_PACKAGE ON)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS ${server_package})
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "visual features of images, command line
${what}
.
This package has the program orbserve, which computes by itself or asks a
server.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME ${dev_package})
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libgrpc++-dev, libprotobuf-dev, libabsl-dev, libssl-dev, libturbojpeg0-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "visual features over gRPC, C++ client library
${what}
.
This package has the C++ client library with its headers, a CMake package,
and the wire contract for clients in other languages.")

include(CPack)
