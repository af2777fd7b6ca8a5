// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Matches many pairs of images whose features are known, with several calls under way.

#ifndef ORBSERVE_CLIENT_CLI_COMMANDS_PAIR_RUN_H_
#define ORBSERVE_CLIENT_CLI_COMMANDS_PAIR_RUN_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/commands/image_pairs.h"
#include "client/cli/engine.h"
#include "client/cli/output/console.h"
#include "client/cli/output/files/feature_store.h"
#include "orbserve/v1/orbserve.pb.h"

namespace orbserve::cli {

// Features of one image, as far as matching needs them. No value: the image failed.
struct NamedFeatures {
  std::string name;
  std::optional<v1::FeatureSet> features;
};

// Removes the columns that matching does not need.
void KeepMatchingColumns(v1::FeatureSet* features);

// INTERNAL: an answer names a row that is in none of the features, or its columns differ in length.
absl::Status CheckRows(const v1::MatchSet& matches, int query_count, int train_count);

// Places of the matches in both images. The rows exist (CheckRows).
std::vector<PointPair> PlacesOf(const v1::MatchSet& matches, const v1::FeatureSet& query,
                                const v1::FeatureSet& train);

struct PairTotals {
  int64_t done = 0;
  int64_t failed = 0;
  int64_t matches = 0;
  int64_t verified = 0;  // pairs with a geometry
  int64_t inliers = 0;
  bool interrupted = false;
  absl::Status lost;  // not OK: the run ended early
};

class PairRun {
 public:
  struct Result {
    MatchedPair pair;
    v1::FrameTimings timings;
  };
  // Called once per pair that was tried, in the order of the pairs, by one thread at a time. An
  // error counts the pair as failed.
  using Report =
      std::function<absl::Status(const ImagePair& pair, const absl::StatusOr<Result>& result)>;

  struct Options {
    v1::Pipeline pipeline;  // its part `match` decides
    bool verify = false;
    FundamentalOptions geometry;
  };

  // Every pointer outlives the run.
  PairRun(Engine* engine, Console* console, const std::vector<NamedFeatures>* images,
          Options options, Report report);

  // Returns when every pair is reported, or when the run was interrupted or has ended early.
  PairTotals Run(const std::vector<ImagePair>& pairs);

 private:
  void Work();
  absl::StatusOr<Result> MatchPair(const ImagePair& pair);
  // Calls the engine, again if it says that a new try makes sense.
  absl::StatusOr<v1::MatchResponse> Call(const v1::MatchRequest& request);
  void Deliver(size_t index, absl::StatusOr<Result> result);
  bool Stopping() const ABSL_SHARED_LOCKS_REQUIRED(mutex_);

  Engine* const engine_;
  Console* const console_;
  const std::vector<NamedFeatures>& images_;
  const Options options_;
  const Report report_;
  const std::vector<ImagePair>* pairs_ = nullptr;

  mutable absl::Mutex mutex_;
  size_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t reported_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  bool reporting_ ABSL_GUARDED_BY(mutex_) = false;
  std::map<size_t, absl::StatusOr<Result>> ready_ ABSL_GUARDED_BY(mutex_);
  PairTotals totals_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_COMMANDS_PAIR_RUN_H_
