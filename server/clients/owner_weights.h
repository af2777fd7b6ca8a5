// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_CLIENTS_OWNER_WEIGHTS_H_
#define ORBSERVE_SERVER_CLIENTS_OWNER_WEIGHTS_H_

#include <string>

#include "absl/container/flat_hash_map.h"

namespace orbserve {

// Weights of owners (client_id.h), > 0. An owner without an entry has the weight 1.
using OwnerWeights = absl::flat_hash_map<std::string, double>;

inline double WeightOf(const OwnerWeights& weights, const std::string& owner) {
  const auto entry = weights.find(owner);
  return entry == weights.end() ? 1.0 : entry->second;
}

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_CLIENTS_OWNER_WEIGHTS_H_
