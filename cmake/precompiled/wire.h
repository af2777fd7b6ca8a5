// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CMAKE_PRECOMPILED_WIRE_H_
#define ORBSERVE_CMAKE_PRECOMPILED_WIRE_H_

#include "cmake/precompiled/basis.h"
#include "grpcpp/grpcpp.h"
#include "orbserve/v1/orbserve.grpc.pb.h"

#endif  // ORBSERVE_CMAKE_PRECOMPILED_WIRE_H_
