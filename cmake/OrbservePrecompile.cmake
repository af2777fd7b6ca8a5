# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Precompiled headers: sets of headers of other projects (cmake/precompiled/SET.h), each compiled once for many targets.
# Without them the compiler spends two thirds of its time on parsing them anew for each file.

option(ORBSERVE_PRECOMPILE "Precompile the headers of other projects" ON)
if(ORBSERVE_BUILD_FUZZERS)  # some targets have flags of their own then
  set(ORBSERVE_PRECOMPILE OFF)
endif()

# orbserve_add_precompiled(SET [POSITION_INDEPENDENT] LIBS lib...): compiles the set with the flags of targets that link
# these libraries.
function(orbserve_add_precompiled set)
  cmake_parse_arguments(ARG "POSITION_INDEPENDENT" "" "LIBS" ${ARGN})
  if(NOT ORBSERVE_PRECOMPILE)
    return()
  endif()
  set(target orbserve_precompiled_${set})
  add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled/empty.cc)
  # Not through ccache: while the header of the last build is still there, ccache looks at that one in place of its sources,
  # and may answer with one from before a change of them.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ${ARG_POSITION_INDEPENDENT} CXX_COMPILER_LAUNCHER "")
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${ARG_LIBS} orbserve_warnings orbserve_exact_math)
  target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/precompiled/${set}.h)
endfunction()

# Compiles `target` with a precompiled set.
function(orbserve_precompile target set)
  if(ORBSERVE_PRECOMPILE)
    target_precompile_headers(${target} REUSE_FROM orbserve_precompiled_${set})
  endif()
endfunction()
