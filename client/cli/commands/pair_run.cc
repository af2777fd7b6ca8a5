// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/commands/pair_run.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/cli/commands/request_setup.h"
#include "client/cli/interrupt.h"

namespace orbserve::cli {
namespace {

constexpr int kCalls = 16;          // under way at once
constexpr size_t kMaxAhead = 4096;  // pairs, of the oldest that is not reported
constexpr int kTries = 6;
constexpr absl::Duration kFirstWait = absl::Milliseconds(100);

// RESOURCE_EXHAUSTED without a reason is gRPC's own: the message is larger than the server takes.
bool MayTryAgain(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return !client::WireStatusOf(status).reason().empty();
  return absl::IsUnavailable(status);
}

bool EndsTheRun(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnauthenticated(status);
}

}  // namespace

absl::Status CheckRows(const v1::MatchSet& matches, int query_count, int train_count) {
  const auto below = [](const google::protobuf::RepeatedField<uint32_t>& rows, int count) {
    return std::all_of(rows.begin(), rows.end(),
                       [count](uint32_t row) { return row < static_cast<uint32_t>(count); });
  };
  if (matches.query_index_size() == matches.train_index_size() &&
      matches.query_index_size() == matches.distance_size() &&
      below(matches.query_index(), query_count) && below(matches.train_index(), train_count)) {
    return absl::OkStatus();
  }
  return absl::InternalError("the server's answer names features that do not exist");
}

void KeepMatchingColumns(v1::FeatureSet* features) {
  features->clear_size();
  features->clear_angle();
  features->clear_response();
  features->clear_octave();
  features->clear_layer();
  features->clear_layer_fraction();
  features->clear_source_index();
}

std::vector<PointPair> PlacesOf(const v1::MatchSet& matches, const v1::FeatureSet& query,
                                const v1::FeatureSet& train) {
  std::vector<PointPair> places;
  places.reserve(static_cast<size_t>(matches.query_index_size()));
  for (int i = 0; i < matches.query_index_size(); ++i) {
    const auto q = static_cast<int>(matches.query_index(i));
    const auto t = static_cast<int>(matches.train_index(i));
    places.push_back({.x0 = query.x(q), .y0 = query.y(q), .x1 = train.x(t), .y1 = train.y(t)});
  }
  return places;
}

PairRun::PairRun(Engine* engine, Console* console, const std::vector<NamedFeatures>* images,
                 Options options, Report report)
    : engine_(engine),
      console_(console),
      images_(*images),
      options_(std::move(options)),
      report_(std::move(report)) {}

bool PairRun::Stopping() const { return stop_ || Interrupted(); }

PairTotals PairRun::Run(const std::vector<ImagePair>& pairs) {
  pairs_ = &pairs;
  std::vector<std::thread> threads;
  for (int i = 0; i < kCalls; ++i) threads.emplace_back([this] { Work(); });
  for (std::thread& thread : threads) thread.join();
  absl::MutexLock lock(&mutex_);
  totals_.interrupted = Interrupted();
  return totals_;
}

void PairRun::Work() {
  for (;;) {
    size_t index = 0;
    {
      absl::MutexLock lock(&mutex_);
      const auto may_take = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return Stopping() || next_ == pairs_->size() || next_ - reported_ < kMaxAhead;
      };
      // An interrupt does not wake this thread: the wait checks for it periodically.
      while (!mutex_.AwaitWithTimeout(absl::Condition(&may_take), kInterruptPoll)) {
      }
      if (Stopping() || next_ == pairs_->size()) return;
      index = next_++;
    }
    Deliver(index, MatchPair((*pairs_)[index]));
  }
}

absl::StatusOr<PairRun::Result> PairRun::MatchPair(const ImagePair& pair) {
  const NamedFeatures& query = images_[pair.query];
  const NamedFeatures& train = images_[pair.train];
  for (const NamedFeatures* const side : {&query, &train}) {
    if (!side->features.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat("no features of ", side->name));
    }
  }
  v1::MatchRequest request;
  *request.mutable_pipeline() = options_.pipeline;
  *request.mutable_query_features() = *query.features;
  *request.mutable_train_features() = *train.features;
  if (absl::Status size = CheckMessageSize(request, engine_->info().limits()); !size.ok()) {
    return size;
  }
  absl::StatusOr<v1::MatchResponse> response = Call(request);
  if (!response.ok()) return response.status();
  if (absl::Status rows =
          CheckRows(response->matches(), query.features->x_size(), train.features->x_size());
      !rows.ok()) {
    return rows;
  }
  Result result;
  result.timings = response->timings();
  result.pair = {.query = query.name,
                 .train = train.name,
                 .matches = std::move(*response->mutable_matches()),
                 .verify = options_.verify};
  if (options_.verify) {
    result.pair.geometry = EstimateFundamental(
        PlacesOf(result.pair.matches, *query.features, *train.features), options_.geometry);
  }
  return result;
}

absl::StatusOr<v1::MatchResponse> PairRun::Call(const v1::MatchRequest& request) {
  absl::Duration wait = kFirstWait;
  for (int tries = 1;; ++tries) {
    absl::StatusOr<v1::MatchResponse> response = engine_->client()->Match(request);
    if (response.ok() || !MayTryAgain(response.status()) || tries == kTries) return response;
    const absl::Duration advised =
        absl::Milliseconds(client::WireStatusOf(response.status()).retry_after_ms());
    const absl::Time turn = absl::Now() + std::max(wait, advised);
    wait *= 2;
    absl::MutexLock lock(&mutex_);
    const auto stopping = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return Stopping(); };
    while (absl::Now() < turn) {
      if (mutex_.AwaitWithTimeout(absl::Condition(&stopping),
                                  std::min(kInterruptPoll, turn - absl::Now()))) {
        return response;
      }
    }
  }
}

void PairRun::Deliver(size_t index, absl::StatusOr<Result> result) {
  absl::MutexLock lock(&mutex_);
  ready_.emplace(index, std::move(result));
  // One thread reports at a time, also the results that other threads have stored.
  if (reporting_) return;
  reporting_ = true;
  while (!ready_.empty() && ready_.begin()->first == reported_) {
    auto first = ready_.extract(ready_.begin());
    const absl::StatusOr<Result>& ready = first.mapped();
    if (!ready.ok() && EndsTheRun(ready.status())) {
      stop_ = true;
      totals_.lost = ready.status();
      break;
    }
    mutex_.Unlock();
    const absl::Status status = report_((*pairs_)[first.key()], ready);
    mutex_.Lock();
    ++reported_;
    if (!status.ok()) {
      ++totals_.failed;
    } else {
      ++totals_.done;
      totals_.matches += ready->pair.matches.query_index_size();
      if (ready->pair.geometry.has_value()) {
        ++totals_.verified;
        totals_.inliers += ready->pair.geometry->inlier_count;
      }
    }
    console_->Progress(totals_.done + totals_.failed, totals_.failed);
  }
  reporting_ = false;
}

}  // namespace orbserve::cli
