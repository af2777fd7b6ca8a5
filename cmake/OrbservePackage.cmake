# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Debian packages, by CPack: orbserve-server, orbserve (the command line), liborbserve-client-dev, and the debug symbols of
# the first two. script/package sets what is asked for here and calls CPack.

option(ORBSERVE_PACKAGE "Build for Debian packages: debug symbols, hardening, paths that do not name this folder" OFF)
if(NOT ORBSERVE_PACKAGE)
  return()
endif()

# Where the folder of the build lies inside that of the sources, Ninja may name sources relative to it.
set(path_maps "-ffile-prefix-map=${PROJECT_SOURCE_DIR}=/usr/src/orbserve;-ffile-prefix-map=${PROJECT_BINARY_DIR}=/usr/src/orbserve/build")
file(RELATIVE_PATH to_sources "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}/CMakeLists.txt")
if(to_sources MATCHES "^([./]+)/CMakeLists.txt$")
  list(APPEND path_maps "-ffile-prefix-map=${CMAKE_MATCH_1}=/usr/src/orbserve")
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:-g;${path_maps};\
-fstack-protector-strong;-D_FORTIFY_SOURCE=2;-Wformat;-Werror=format-security>")
add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,--build-id=sha1)
