// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/matcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/hamming.h"
#include "features/errors.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

constexpr std::chrono::microseconds kSpin{200};
constexpr size_t kMostRows = size_t{1} << kNeighbourIndexBits;

size_t Reserve(size_t amount, size_t multiple, size_t* end) {
  return std::exchange(*end, *end + RoundUp(amount, multiple));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Matcher>> Matcher::Create(
    const LaneContext& context, bool tensor_cores, std::function<void(const absl::Status&)> note) {
  const DeviceGuard guard(context.device);
  ORBSERVE_RETURN_IF_ERROR(guard.status());
  std::unique_ptr<Matcher> matcher(new Matcher(context, tensor_cores, std::move(note)));
  ORBSERVE_ASSIGN_OR_RETURN(matcher->stream_, Stream::Create());
  ORBSERVE_ASSIGN_OR_RETURN(matcher->begin_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(matcher->end_, Event::Create(Event::Timing::kOn));
  matcher->thread_ = std::thread([self = matcher.get()] { self->Run(); });
  return matcher;
}

Matcher::~Matcher() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Matcher::Submit(std::vector<MatchJob> jobs, MatchBatchDone done) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    queue_.push_back({std::move(jobs), std::move(done)});
  }
  wake_.notify_one();
}

void Matcher::Run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return !queue_.empty() || stopping_; });
    if (queue_.empty()) return;
    Batch batch = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    Answer(std::move(batch));
    lock.lock();
  }
}

void Matcher::Answer(Batch batch) {
  const TraceRange trace("match batch");
  MatchBatchAnswer answer;
  answer.pairs.resize(batch.jobs.size());
  answer.cost.backend = kBackendName;
  answer.cost.device = context_.device_name;
  answer.cost.busy_begin = std::chrono::steady_clock::now();
  std::vector<Work> works(batch.jobs.size());
  const DeviceGuard guard(context_.device);
  absl::Status status = guard.status();
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    MatchAnswer& pair = answer.pairs[i];
    pair.status = status.ok() ? CheckJob(batch.jobs[i], &works[i], &pair.matches) : status;
    if (!pair.status.ok()) {
      works[i] = {};
      note_(pair.status);
    }
  }
  if (status.ok()) status = Compute(batch.jobs, &works);
  if (status.ok()) {
    const auto elapsed = end_.ElapsedSince(begin_);
    if (elapsed.ok()) answer.cost.timings.compute_ns = *elapsed;
  } else {
    note_(status);
  }
  for (size_t i = 0; i < batch.jobs.size(); ++i) {
    if (works[i].k == 0) continue;  // failed, or nothing to compare
    if (status.ok()) {
      Filter(batch.jobs[i], works[i], &answer.pairs[i].matches);
    } else {
      answer.pairs[i].status = status;
    }
  }
  answer.cost.busy_end = std::chrono::steady_clock::now();
  std::move(batch.done)(std::move(answer));
}

absl::Status Matcher::CheckJob(const MatchJob& job, Work* work, Matches* matches) {
  if (job.cancelled != nullptr && job.cancelled->load(std::memory_order_relaxed)) {
    return MakeError(ErrorReason::kCancelled, "cancelled before it was matched");
  }
  ORBSERVE_RETURN_IF_ERROR(job.options.Validate());
  const auto* const query = dynamic_cast<const GpuFrameState*>(job.query.get());
  const auto* const train = dynamic_cast<const GpuFrameState*>(job.train.get());
  if (query == nullptr || train == nullptr) {
    return MakeError(ErrorReason::kInternal, "a match without two states of this backend");
  }
  if (query->descriptor_bytes() == 0 || query->descriptor_bytes() != train->descriptor_bytes()) {
    return MakeError(ErrorReason::kBadOptions,
                     absl::StrCat("both sides of a match must have descriptors of one kind; got ",
                                  query->descriptor_bytes(), " bytes and ",
                                  train->descriptor_bytes(), " bytes each"));
  }
  for (const GpuFrameState* side : {query, train}) {
    if (side->feature_count() > kMostRows) {
      return MakeError(ErrorReason::kTooLarge,
                       absl::StrCat("a side of a match may have ", kMostRows, " descriptors; got ",
                                    side->feature_count()));
    }
  }
  const bool with_ratio = job.options.ratio > 0.0f;
  matches->ratio_undefined = with_ratio && train->feature_count() == 1;
  if (query->feature_count() == 0 || train->feature_count() == 0 || matches->ratio_undefined) {
    return absl::OkStatus();
  }
  ORBSERVE_ASSIGN_OR_RETURN(work->query, OnDevice(*query));
  ORBSERVE_ASSIGN_OR_RETURN(work->train, OnDevice(*train));
  work->k = with_ratio ? 2 : job.options.k;
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const DeviceBuffer>> Matcher::OnDevice(const GpuFrameState& state) {
  if (auto there = state.OnDevice(context_.device_index)) return there;
  const std::vector<uint8_t>& descriptors = state.features()->descriptors;
  ORBSERVE_ASSIGN_OR_RETURN(
      DeviceBuffer made,
      DeviceBuffer::Create(context_.device, descriptors.size(), context_.budget));
  auto buffer = std::make_shared<DeviceBuffer>(std::move(made));
  // From pageable memory: the call returns when the source has been read.
  ORBSERVE_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(buffer->data(), descriptors.data(),
                                                descriptors.size(), cudaMemcpyHostToDevice,
                                                stream_.get()));
  state.SetOnDevice(context_.device_index, buffer);
  return buffer;
}

absl::Status Matcher::Compute(const std::vector<MatchJob>& jobs, std::vector<Work>* works) {
  size_t entries = 0;
  size_t scratch = 0;
  size_t tickets = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Work& work = (*works)[i];
    if (work.k == 0) continue;
    const size_t queries = jobs[i].query->feature_count();
    const size_t trains = jobs[i].train->feature_count();
    work.nearest = Reserve(queries * static_cast<size_t>(work.k), 64, &entries);
    if (jobs[i].options.cross_check) work.reverse = Reserve(trains, 64, &entries);
    work.scratch = Reserve(MatchScratchBytes(static_cast<int>(queries), static_cast<int>(trains)),
                           256, &scratch);
    work.tickets =
        Reserve(MatchTickets(static_cast<int>(queries), static_cast<int>(trains)), 32, &tickets);
  }
  if (results_.size_bytes() < entries * sizeof(PackedNeighbour)) {
    results_.Reset();
    ORBSERVE_ASSIGN_OR_RETURN(results_,
                              PinnedBuffer::Create(2 * entries * sizeof(PackedNeighbour), nullptr));
  }
  if (scratch_.size_bytes() < scratch) {
    scratch_.Reset();
    ORBSERVE_ASSIGN_OR_RETURN(scratch_,
                              DeviceBuffer::Create(context_.device, 2 * scratch, context_.budget));
  }
  if (tickets_.size_bytes() < tickets * sizeof(uint32_t)) {
    tickets_.Reset();
    ORBSERVE_ASSIGN_OR_RETURN(
        tickets_,
        DeviceBuffer::Create(context_.device, 2 * tickets * sizeof(uint32_t), context_.budget));
    ORBSERVE_CUDA_RETURN_IF_ERROR(
        cudaMemsetAsync(tickets_.data(), 0, tickets_.size_bytes(), stream_.get()));
  }
  auto* const results = reinterpret_cast<PackedNeighbour*>(results_.data());
  ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
  // Pairs with the same number of neighbours and the same kind of descriptor share a launch.
  for (size_t first = 0; first < jobs.size();) {
    MatchParams params = {};
    params.tensor_cores = tensor_cores_;
    size_t i = first;
    for (; i < jobs.size() && params.pairs < kMaxMatchPairs; ++i) {
      const Work& work = (*works)[i];
      if (work.k == 0) continue;
      const int bytes = jobs[i].query->descriptor_bytes();
      if (params.pairs > 0 && (params.k != work.k || params.descriptor_bytes != bytes)) break;
      params.k = work.k;
      params.descriptor_bytes = bytes;
      params.pair[params.pairs++] = {work.query->data(),
                                     work.train->data(),
                                     static_cast<int32_t>(jobs[i].query->feature_count()),
                                     static_cast<int32_t>(jobs[i].train->feature_count()),
                                     results + work.nearest,
                                     jobs[i].options.cross_check ? results + work.reverse : nullptr,
                                     scratch_.data() + work.scratch,
                                     reinterpret_cast<uint32_t*>(tickets_.data()) + work.tickets};
    }
    first = i;
    ORBSERVE_RETURN_IF_ERROR(LaunchMatch(params, stream_.get()));
  }
  ORBSERVE_RETURN_IF_ERROR(end_.Record(stream_.get()));
  return end_.Wait(std::chrono::steady_clock::now() + context_.deadline, kSpin);
}

void Matcher::Filter(const MatchJob& job, const Work& work, Matches* matches) const {
  const auto* const results = reinterpret_cast<const PackedNeighbour*>(results_.data());
  const MatchOptions& options = job.options;
  const bool with_ratio = options.ratio > 0.0f;
  const auto max_distance = static_cast<uint32_t>(options.max_distance);
  const size_t queries = job.query->feature_count();
  matches->query_index.reserve(queries * static_cast<size_t>(options.k));
  matches->train_index.reserve(queries * static_cast<size_t>(options.k));
  matches->distance.reserve(queries * static_cast<size_t>(options.k));
  for (size_t q = 0; q < queries; ++q) {
    const PackedNeighbour* const list = results + work.nearest + q * static_cast<size_t>(work.k);
    if (with_ratio &&
        !PassesRatioTest(static_cast<int>(DistanceOfPacked(list[0])),
                         static_cast<int>(DistanceOfPacked(list[1])), options.ratio)) {
      continue;
    }
    for (int i = 0; i < options.k; ++i) {
      const uint32_t distance = DistanceOfPacked(list[i]);
      // Ascending, and kNoPackedNeighbour is farther than any limit.
      if (distance > max_distance) break;
      const uint32_t train = IndexOfPacked(list[i]);
      if (options.cross_check && IndexOfPacked(results[work.reverse + train]) != q) continue;
      matches->query_index.push_back(static_cast<uint32_t>(q));
      matches->train_index.push_back(train);
      matches->distance.push_back(distance);
    }
  }
}

}  // namespace orbserve::gpu
