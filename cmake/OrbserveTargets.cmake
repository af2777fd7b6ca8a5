# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0

# Interface targets that every library links, and the function that makes a library.

add_library(orbserve_warnings INTERFACE)
target_compile_options(orbserve_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wnon-virtual-dtor;-Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${ORBSERVE_WERROR}>>:-Werror>)

# Linked by everything that includes features/algo/: results are part of the contract (docs/determinism.md). Compilers
# for arm64 fuse multiply and add unasked; nvcc does so by default.
add_library(orbserve_exact_math INTERFACE)
target_compile_options(orbserve_exact_math INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-ffp-contract=off>
  $<$<COMPILE_LANGUAGE:CUDA>:--fmad=false;--ftz=false;--prec-div=true;--prec-sqrt=true;-Xcompiler=-ffp-contract=off>)

# The header <orbserve/version.h>, made from project(VERSION), the only place that names the version. Builds of every day name
# no commit, as it would soon be another one.
set(ORBSERVE_REVISION "" CACHE STRING "Commit that is built; part of the version that the programs say")
set(ORBSERVE_FULL_VERSION ${PROJECT_VERSION})
if(ORBSERVE_REVISION)
  string(APPEND ORBSERVE_FULL_VERSION +${ORBSERVE_REVISION})
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/version.h.in ${PROJECT_BINARY_DIR}/include/orbserve/version.h @ONLY)
add_library(orbserve_version INTERFACE)
add_library(orbserve::version ALIAS orbserve_version)
set_target_properties(orbserve_version PROPERTIES EXPORT_NAME version)
target_include_directories(orbserve_version INTERFACE
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

if(ORBSERVE_SANITIZE)
  add_compile_options(-fsanitize=${ORBSERVE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${ORBSERVE_SANITIZE})
  if(ORBSERVE_SANITIZE MATCHES "thread")
    # Before everything else on each link line, so that its functions come before those of the libraries.
    find_package(absl 20220623 CONFIG REQUIRED)
    set(sanitizers ${PROJECT_SOURCE_DIR}/cmake/sanitizers)
    add_library(orbserve_tsan SHARED
      ${sanitizers}/abseil_tsan.cc ${sanitizers}/grpc_tsan.cc ${sanitizers}/string_tsan.cc ${sanitizers}/tbb_tsan.cc)
    target_compile_options(orbserve_tsan PRIVATE -fno-sanitize=thread)  # tsan.supp names it
    target_link_libraries(orbserve_tsan PRIVATE absl::status absl::synchronization absl::time ${CMAKE_DL_LIBS})
    link_libraries($<BUILD_INTERFACE:orbserve_tsan>)
    set(ORBSERVE_TSAN_LINK_OPTIONS
      -Wl,--push-state,--no-as-needed,$<TARGET_FILE:orbserve_tsan>,--pop-state,--version-script=${sanitizers}/programs.map)
    add_link_options("$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${ORBSERVE_TSAN_LINK_OPTIONS}>")
  endif()
endif()

# Several source files of a target are compiled as one, which takes a third of the time: the compiler instantiates the same
# templates once for all. Names of unnamed namespaces must differ in a target for it. A file that is changed often is
# quicker without; so every preset but `ci` has it off, and shows what a file forgot to include.
option(ORBSERVE_UNITY "Compile several source files as one" OFF)
function(orbserve_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ORBSERVE_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()

# orbserve_add_library(NAME SOURCES... [PUBLIC lib...] [PRIVATE lib...]): static library orbserve_NAME with the alias
# orbserve::NAME, includes relative to the project's root and <orbserve/version.h>.
function(orbserve_add_library name)
  cmake_parse_arguments(ARG "" "PRECOMPILED" "SOURCES;PUBLIC;PRIVATE" ${ARGN})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED basis)
  endif()
  add_library(orbserve_${name} STATIC ${ARG_SOURCES})
  add_library(orbserve::${name} ALIAS orbserve_${name})
  set_target_properties(orbserve_${name} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  orbserve_compile_together(orbserve_${name})
  target_include_directories(orbserve_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
  target_link_libraries(orbserve_${name} PUBLIC orbserve_version ${ARG_PUBLIC} PRIVATE $<BUILD_INTERFACE:orbserve_warnings> ${ARG_PRIVATE})
  orbserve_precompile(orbserve_${name} ${ARG_PRECOMPILED})
endfunction()
