// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Published code of others and ours on the same work, call by call in turn: what disturbs the
// machine or moves its clocks then hits all of them.

#ifndef ORBSERVE_BENCH_PEERS_TURNS_H_
#define ORBSERVE_BENCH_PEERS_TURNS_H_

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bench/json_list.h"

namespace orbserve::bench {

// One way of doing the work.
struct Contender {
  std::string code;  // whose it is, and how it is called
  // Does the work once and returns how many features or points came out of it.
  std::function<absl::StatusOr<size_t>()> call;
  // Runs before each call and is not timed; may be empty.
  std::function<absl::Status()> prepare = {};
};

class Turns {
 public:
  // `runs`: timed calls of each contender.
  explicit Turns(int runs) : runs_(runs) {}

  // Calls every contender once a round, and begins each round with another one. A tenth as many
  // rounds before are not counted. `what`: members of a JSON object that name the work.
  absl::Status Time(const std::string& what, const std::vector<Contender>& contenders);

  // Prints a JSON object and keeps it. `members`: without the braces.
  void Row(const std::string& members);

  // False where the file cannot be written; an empty `path` asks for none.
  bool WriteTo(const std::string& path) const { return rows_.WriteTo(path); }

 private:
  int runs_;
  JsonList rows_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_PEERS_TURNS_H_
