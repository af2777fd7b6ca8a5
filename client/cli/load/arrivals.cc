// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/arrivals.h"

#include <cmath>

namespace orbserve::cli {

double Arrivals::Next() {
  if (kind_ == ArrivalKind::kConstant) return static_cast<double>(index_++) / rate_;
  // SplitMix64; the upper 53 bits make a number in (0, 1].
  random_ += 0x9e3779b97f4a7c15;
  uint64_t value = random_;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  value ^= value >> 31;
  const double uniform = static_cast<double>((value >> 11) + 1) * 0x1p-53;
  time_s_ -= std::log(uniform) / rate_;
  return time_s_;
}

}  // namespace orbserve::cli
