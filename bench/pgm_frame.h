// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_BENCH_PGM_FRAME_H_
#define ORBSERVE_BENCH_PGM_FRAME_H_

#include <string>

#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::bench {

// Makes a GRAY8 frame of a binary PGM of 8 bits. False when `path` is something else.
bool ReadPgmFrame(const std::string& path, v1::Frame* frame);

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PGM_FRAME_H_
