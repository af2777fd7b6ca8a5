// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CMAKE_PRECOMPILED_TESTS_H_
#define ORBSERVE_CMAKE_PRECOMPILED_TESTS_H_

#include <filesystem>
#include <fstream>
#include <random>

#include "absl/strings/str_format.h"
#include "cmake/precompiled/wire.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#endif  // ORBSERVE_CMAKE_PRECOMPILED_TESTS_H_
