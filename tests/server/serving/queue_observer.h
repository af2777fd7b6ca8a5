// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_TESTS_SERVER_SERVING_QUEUE_OBSERVER_H_
#define ORBSERVE_TESTS_SERVER_SERVING_QUEUE_OBSERVER_H_

#include <optional>
#include <vector>

#include "gtest/gtest.h"
#include "server/serving/observer.h"

namespace orbserve {

// Remembers the batches of a queue, and expects that all are of one kind.
class QueueObserver final : public ServingObserver {
 public:
  explicit QueueObserver(WorkKind kind) : kind_(kind) {}

  std::optional<double> OnBatchFinished(WorkKind kind, int items, const BatchCost&) override {
    EXPECT_EQ(kind, kind_);
    batches.push_back(items);
    return joules;
  }

  std::vector<int> batches;  // their items
  std::optional<double> joules;

 private:
  const WorkKind kind_;
};

}  // namespace orbserve

#endif  // ORBSERVE_TESTS_SERVER_SERVING_QUEUE_OBSERVER_H_
