// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_CLIENT_CLI_LOAD_ARRIVALS_H_
#define ORBSERVE_CLIENT_CLI_LOAD_ARRIVALS_H_

#include <cstdint>

namespace orbserve::cli {

enum class ArrivalKind { kConstant, kPoisson };

// Times at which the frames of an open loop shall start. They do not depend on answers, and are the
// same in every run.
class Arrivals {
 public:
  // `rate`: frames per second, above 0.
  Arrivals(ArrivalKind kind, double rate) : kind_(kind), rate_(rate) {}

  // Returns the next time, seconds since the first frame could start. Constant gaps are counted
  // from 0 and add no rounding errors.
  double Next();

 private:
  const ArrivalKind kind_;
  const double rate_;
  uint64_t random_ = 0x6265'6e63'6821'2121;
  uint64_t index_ = 0;
  double time_s_ = 0;
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_LOAD_ARRIVALS_H_
