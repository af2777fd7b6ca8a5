// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/matching/match_lane.h"

#include <algorithm>
#include <cfloat>
#include <cstring>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "features/algo/match_window.h"
#include "features/algo/metric.h"
#include "features/errors.h"
#include "features/host_device.h"
#include "features/match_sides.h"
#include "gpu/device_request.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/device.h"
#include "gpu/runtime/trace.h"

namespace orbserve::gpu {
namespace {

// Small matches take some ten microseconds, and a thread that sleeps wakes up late.
constexpr std::chrono::microseconds kMatchSpin{200};
constexpr size_t kStagingBytes = size_t{2} << 20;
constexpr size_t kMaxRows = size_t{1} << kNeighbourIndexBits;
constexpr size_t kResultAlignment = 64;  // in entries

// Slices. A new one starts when the host has seen the end of the last, which costs some 30
// microseconds; what is urgent waits for one at most.
constexpr int64_t kSliceNs = 1'000'000;
// Distances of the first slice of a pass, 0.2 ms of an H200; then what the time of slices says.
constexpr int64_t kFirstSliceDistances = int64_t{1} << 26;
constexpr int64_t kLeastSliceDistances = int64_t{1} << 18;
constexpr int64_t kMaxSliceDistances = int64_t{1} << 34;
constexpr int kSliceGranule = kMaxBlockQueries;
// Beside others a slice leaves them three quarters of the multiprocessors: blocks of the tensor
// cores fill one with 32 queries, bit counts with 64.
constexpr int kShareBesideOthers = 4;
constexpr int kQueriesOfMultiprocessor = kMaxBlockQueries;
constexpr int kBitCountsOfMultiprocessor = 64;

int NeighboursOf(const MatchOptions& options) { return options.ratio > 0.0f ? 2 : options.k; }

void ReserveMatches(const MatchJob& job, Matches* matches) {
  const size_t most = job.query->feature_count() * static_cast<size_t>(job.options.k);
  matches->query_index.reserve(most);
  matches->train_index.reserve(most);
  matches->distance.reserve(most);
}

// Returns true if the best of a query passes the ratio test. Its second best need not exist.
template <typename Neighbour>
bool BestStandsOut(const Neighbour* list, int descriptor_bytes, float ratio) {
  if (list[0] == kNobody<Neighbour>) return false;
  const int second = list[1] == kNobody<Neighbour> ? algo::MissingSecondDistance(descriptor_bytes)
                                                   : static_cast<int>(DistanceOfPacked(list[1]));
  return algo::StandsOut(static_cast<int>(DistanceOfPacked(list[0])), second, ratio,
                         descriptor_bytes);
}

// Appends the matches of queries `first`..`first + count`. `nearest`: theirs, [count][k];
// `reverse`: the nearest query of each train descriptor, read for a cross-check only.
template <typename Neighbour>
void Filter(const MatchOptions& options, int descriptor_bytes, int k, int first, int count,
            const Neighbour* nearest, const Neighbour* reverse, Matches* matches) {
  const bool with_ratio = options.ratio > 0.0f;
  const auto max_distance = static_cast<uint32_t>(options.max_distance);
  for (int row = 0; row < count; ++row) {
    const auto query = static_cast<uint32_t>(first + row);
    const Neighbour* const list = nearest + static_cast<ptrdiff_t>(row) * k;
    if (with_ratio && !BestStandsOut(list, descriptor_bytes, options.ratio)) continue;
    for (int i = 0; i < options.k; ++i) {
      const uint32_t distance = DistanceOfPacked(list[i]);
      // Ascending, and nobody comes last.
      if (list[i] == kNobody<Neighbour> || distance > max_distance) break;
      const uint32_t train = IndexOfPacked(list[i]);
      if (options.cross_check && IndexOfPacked(reverse[train]) != query) continue;
      matches->query_index.push_back(query);
      matches->train_index.push_back(train);
      matches->distance.push_back(distance);
    }
  }
}

// Filters neighbours of the size that the descriptors need.
void FilterUnits(const MatchOptions& options, int descriptor_bytes, int k, int first, int count,
                 const PackedNeighbour* nearest, const PackedNeighbour* reverse, Matches* matches) {
  if (UnitsOfNeighbour(descriptor_bytes) == 1) {
    Filter(options, descriptor_bytes, k, first, count, nearest, reverse, matches);
  } else {
    Filter(options, descriptor_bytes, k, first, count,
           reinterpret_cast<const WideNeighbour*>(nearest),
           reinterpret_cast<const WideNeighbour*>(reverse), matches);
  }
}

}  // namespace

WindowPair MatchWork::window() const {
  const auto places = [](const DeviceBuffer& buffer, int count) -> MatchPlaces {
    const auto* const x = reinterpret_cast<const float*>(buffer.data());
    return {x, x + count, 0.0f, 0.0f};
  };
  const MatchOptions& options = job->options;
  WindowPair window = {};
  window.query = places(*query_places, queries);
  window.train = places(*train_places, trains);
  window.half_side_px = options.has_window() ? options.window_px : FLT_MAX;
  window.query.offset_x_px = options.offset_x_px;
  window.query.offset_y_px = options.offset_y_px;
  window.has_band = has_band();
  if (!window.has_band) return window;
  window.band = algo::BandOf(options.min_dx_px, options.max_dx_px, options.max_dy_px, kMaxBandPx);
  if (options.has_epipolar()) {
    window.epipolar = algo::MakeEpipolarBand(options.fundamental, options.max_epipolar_px);
  }
  return window;
}

bool MatchWork::has_band() const {
  return job->options.has_limits() || job->options.has_epipolar();
}

absl::StatusOr<std::unique_ptr<MatchLane>> MatchLane::Create(const LaneContext& context,
                                                             const Device& device,
                                                             Stream::Priority priority) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context.device));
  std::unique_ptr<MatchLane> lane(new MatchLane(context, device));
  ORBSERVE_ASSIGN_OR_RETURN(lane->stream_, Stream::Create(priority));
  ORBSERVE_ASSIGN_OR_RETURN(lane->begin_, Event::Create(Event::Timing::kOn));
  ORBSERVE_ASSIGN_OR_RETURN(lane->end_, Event::Create(Event::Timing::kOn));
  constexpr size_t kResultBytes = kMaxResults * sizeof(PackedNeighbour);
  ORBSERVE_ASSIGN_OR_RETURN(
      lane->memory_, PinnedBuffer::Create(kResultBytes + kStagingBytes, context.pinned_budget));
  lane->results_ = reinterpret_cast<PackedNeighbour*>(lane->memory_.data());
  lane->staging_ = lane->memory_.data() + kResultBytes;
  ORBSERVE_ASSIGN_OR_RETURN(
      lane->scratch_,
      DeviceBuffer::Create(context.device, MatchScratchBytes(device.multiprocessors),
                           context.arena_budget));
  ORBSERVE_ASSIGN_OR_RETURN(
      lane->tickets_, DeviceBuffer::Create(context.device, MatchTicketBytes(device.multiprocessors),
                                           context.arena_budget));
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(lane->tickets_.data(), 0, lane->tickets_.size_bytes(), lane->stream_.get()));
  return lane;
}

size_t MatchLane::ResultsOf(const MatchJob& job) {
  const auto units = static_cast<size_t>(UnitsOfNeighbour(job.query->descriptor_bytes()));
  const size_t nearest =
      units * job.query->feature_count() * static_cast<size_t>(NeighboursOf(job.options));
  const size_t reverse = job.options.cross_check ? units * job.train->feature_count() : 0;
  return RoundUp(nearest, kResultAlignment) + RoundUp(reverse, kResultAlignment);
}

absl::Status MatchLane::Check(MatchWork* work) {
  const MatchJob& job = *work->job;
  if (IsCancelled(job.cancelled)) {
    return MakeError(ErrorReason::kCancelled, "cancelled before it was matched");
  }
  ORBSERVE_RETURN_IF_ERROR(job.options.Validate());
  const auto* const query = dynamic_cast<const GpuFrameState*>(job.query.get());
  const auto* const train = dynamic_cast<const GpuFrameState*>(job.train.get());
  if (query == nullptr || train == nullptr) {
    return MakeError(ErrorReason::kInternal, "a match without two states of this backend");
  }
  ORBSERVE_RETURN_IF_ERROR(CheckMatchSides(*query, *train));
  for (const GpuFrameState* side : {query, train}) {
    if (side->feature_count() > kMaxRows) {
      return MakeError(ErrorReason::kTooLarge,
                       absl::StrCat("a side of a match may have ", kMaxRows, " descriptors; got ",
                                    side->feature_count()));
    }
  }
  const bool with_ratio = job.options.ratio > 0.0f;
  work->matches->ratio_undefined = with_ratio && train->feature_count() == 1;
  if (query->feature_count() == 0 || train->feature_count() == 0 ||
      work->matches->ratio_undefined) {
    return absl::OkStatus();
  }
  ORBSERVE_ASSIGN_OR_RETURN(work->query, OnDevice(*query, StatePart::kDescriptors));
  ORBSERVE_ASSIGN_OR_RETURN(work->train, OnDevice(*train, StatePart::kDescriptors));
  if (job.options.needs_places()) {
    ORBSERVE_ASSIGN_OR_RETURN(work->query_places, OnDevice(*query, StatePart::kPlaces));
    ORBSERVE_ASSIGN_OR_RETURN(work->train_places, OnDevice(*train, StatePart::kPlaces));
  }
  work->queries = static_cast<int>(query->feature_count());
  work->trains = static_cast<int>(train->feature_count());
  work->descriptor_bytes = query->descriptor_bytes();
  work->k = NeighboursOf(job.options);
  return absl::OkStatus();
}

absl::Status MatchLane::BeginTime() {
  if (time_begun_) return absl::OkStatus();
  ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
  time_begun_ = true;
  return absl::OkStatus();
}

absl::Status MatchLane::Send(const void* source, size_t bytes, uint8_t* device) {
  ORBSERVE_RETURN_IF_ERROR(BeginTime());
  // From pinned memory the call does not wait. What does not fit there is read before it returns.
  if (bytes <= kStagingBytes - staged_bytes_) {
    std::memcpy(staging_ + staged_bytes_, source, bytes);
    source = staging_ + staged_bytes_;
    staged_bytes_ += bytes;
  }
  ORBSERVE_CUDA_RETURN_IF_ERROR(
      cudaMemcpyAsync(device, source, bytes, cudaMemcpyHostToDevice, stream_.get()));
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const DeviceBuffer>> MatchLane::OnDevice(const GpuFrameState& state,
                                                                        StatePart part) {
  if (auto there = state.OnDevice(context_.device_index, part)) return there;
  for (const Upload& upload : uploads_) {
    if (upload.state == &state && upload.part == part) return upload.buffer;
  }
  const Features& features = *state.features();
  const bool is_places = part == StatePart::kPlaces;
  const size_t column_bytes =
      is_places ? features.count() * sizeof(float) : features.descriptors.size();
  const size_t bytes = is_places ? 2 * column_bytes : column_bytes;
  const std::shared_ptr<DeviceBuffer> buffer = context_.state_buffers->Lease(bytes);
  if (buffer == nullptr) {
    return MakeError(ErrorReason::kOutOfMemory,
                     absl::StrCat("no memory of the device for ", bytes, " bytes of ",
                                  is_places ? "places" : "descriptors", "; of its limit, ",
                                  context_.budget->limit_bytes(), " bytes, ",
                                  context_.budget->used_bytes(), " are used"));
  }
  uploads_.push_back({&state, part, buffer});
  absl::Status sent;
  if (is_places) {
    sent = Send(features.x.data(), column_bytes, buffer->data());
    if (sent.ok()) sent = Send(features.y.data(), column_bytes, buffer->data() + column_bytes);
  } else {
    sent = Send(features.descriptors.data(), column_bytes, buffer->data());
  }
  if (!sent.ok()) {
    // The buffer stays until the device was waited for, as a part may be on its way.
    uploads_.back().state = nullptr;
    return sent;
  }
  return std::shared_ptr<const DeviceBuffer>(buffer);
}

void MatchLane::PublishUploads() {
  for (Upload& upload : uploads_) {
    if (upload.state == nullptr) continue;
    upload.state->SetOnDevice(context_.device_index, std::move(upload.buffer), upload.part);
  }
}

MatchParams MatchLane::Params() const {
  MatchParams params = {};
  params.tensor_cores = device_.tensor_cores;
  params.multiprocessors = device_.multiprocessors;
  params.scratch = scratch_.data();
  params.tickets = reinterpret_cast<uint32_t*>(tickets_.data());
  return params;
}

absl::Status MatchLane::Wait(std::chrono::microseconds spin) {
  ORBSERVE_RETURN_IF_ERROR(end_.Record(stream_.get()));
  return end_.Wait(std::chrono::steady_clock::now() + context_.deadline, spin);
}

// Pairs of one kind share launches, those of similar size first: the largest sets the grid.
absl::Status MatchLane::Launch(std::vector<MatchWork>* works) {
  size_t end = 0;
  order_.clear();
  for (MatchWork& work : *works) {
    if (!work.status.ok() || work.k == 0) continue;
    const auto units = static_cast<size_t>(UnitsOfNeighbour(work.descriptor_bytes));
    work.nearest = end;
    end += RoundUp(units * static_cast<size_t>(work.queries) * static_cast<size_t>(work.k),
                   kResultAlignment);
    work.reverse = end;
    if (work.job->options.cross_check) {
      end += RoundUp(units * static_cast<size_t>(work.trains), kResultAlignment);
    }
    order_.push_back(&work);
  }
  const auto kind = [](const MatchWork& work) {
    return std::make_tuple(work.has_window(), work.has_band(), work.descriptor_bytes, work.k,
                           work.job->options.cross_check);
  };
  std::sort(order_.begin(), order_.end(), [&](const MatchWork* a, const MatchWork* b) {
    return std::make_tuple(kind(*a), std::max(a->queries, a->trains)) <
           std::make_tuple(kind(*b), std::max(b->queries, b->trains));
  });
  if (!order_.empty()) ORBSERVE_RETURN_IF_ERROR(BeginTime());
  for (size_t first = 0; first < order_.size();) {
    MatchParams params = Params();
    MatchWindows windows;  // of its pairs, where they have any
    const bool has_window = order_[first]->has_window();
    params.k = order_[first]->k;
    params.descriptor_bytes = order_[first]->descriptor_bytes;
    params.split_trains = true;
    size_t i = first;
    for (; i < order_.size() && params.pairs < kMaxMatchPairs; ++i) {
      const MatchWork& work = *order_[i];
      if (kind(work) != kind(*order_[first])) break;
      if (has_window) windows.pair[params.pairs] = work.window();
      params.pair[params.pairs++] = {
          work.query->data(),
          work.train->data(),
          work.queries,
          work.trains,
          results_ + work.nearest,
          work.job->options.cross_check ? results_ + work.reverse : nullptr};
    }
    first = i;
    ORBSERVE_RETURN_IF_ERROR(has_window ? LaunchWindowMatch(params, windows, stream_.get())
                                        : LaunchMatch(params, stream_.get()));
  }
  return absl::OkStatus();
}

void MatchLane::Compute(std::vector<MatchWork>* works,
                        absl::FunctionRef<void(MatchWork&)> answered) {
  const TraceRange trace("match pairs");
  uploads_.clear();
  staged_bytes_ = 0;
  time_begun_ = false;
  absl::Status status = UseDevice(context_.device);
  double distances = 0.0;
  for (MatchWork& work : *works) {
    work.status = status.ok() ? Guarded([&] { return Check(&work); }) : status;
    if (work.status.ok() && work.k > 0) distances += static_cast<double>(work.job->pair_count());
  }
  if (status.ok() && (distances > 0.0 || !uploads_.empty())) {
    status = Guarded([&] { return Launch(works); });
    // Also after a launch that was refused: what went before it uses the buffers.
    const absl::Status waited = Wait(kMatchSpin);
    if (status.ok()) status = waited;
    if (waited.ok()) PublishUploads();
  }
  double elapsed_ns = 0.0;
  if (status.ok() && distances > 0.0) {
    const auto elapsed = end_.ElapsedSince(begin_);
    if (elapsed.ok()) elapsed_ns = static_cast<double>(*elapsed);
  }
  for (MatchWork& work : *works) {
    if (work.status.ok() && work.k > 0) {
      work.status = status;
      if (status.ok()) Finish(elapsed_ns / distances, &work);
    }
    work.FreeMemory();
    answered(work);
  }
}

// `ns_per_distance`: of the pairs that were computed together.
void MatchLane::Finish(double ns_per_distance, MatchWork* work) const {
  work->compute_ns =
      static_cast<int64_t>(ns_per_distance * static_cast<double>(work->job->pair_count()));
  work->status = Guarded([&] {
    ReserveMatches(*work->job, work->matches);
    FilterUnits(work->job->options, work->descriptor_bytes, work->k, 0, work->queries,
                results_ + work->nearest, results_ + work->reverse, work->matches);
    return absl::OkStatus();
  });
}

absl::Status MatchLane::RunSlices(const Pass& pass,
                                  absl::FunctionRef<absl::StatusOr<bool>()> before_slice,
                                  int64_t* compute_ns, TakeSlice take) {
  // The host takes one half of the results while the device fills the other.
  constexpr int kHalf = static_cast<int>(kMaxResults / 2);
  const int units = UnitsOfNeighbour(pass.descriptor_bytes);
  int64_t distances = kFirstSliceDistances;
  const PackedNeighbour* done = nullptr;
  int done_first = 0;
  int done_count = 0;
  for (int first = 0; first < pass.queries;) {
    // Nothing of this pass is on the device now.
    ORBSERVE_ASSIGN_OR_RETURN(const bool beside_others, before_slice());
    MatchParams params = Params();
    params.k = pass.k;
    params.descriptor_bytes = pass.descriptor_bytes;
    params.split_trains = !beside_others;
    int64_t most = std::min<int64_t>(distances / pass.trains, kHalf / (pass.k * units));
    if (beside_others) {
      const int each = pass.window == nullptr && MatchUsesTensorCores(params)
                           ? kQueriesOfMultiprocessor
                           : kBitCountsOfMultiprocessor;
      most = std::min<int64_t>(most, device_.multiprocessors / kShareBesideOthers * each);
    }
    most = std::max<int64_t>(most / kSliceGranule * kSliceGranule, kSliceGranule);
    const int count = std::min(static_cast<int>(most), pass.queries - first);
    PackedNeighbour* const half = done == results_ ? results_ + kHalf : results_;
    params.pairs = 1;
    params.pair[0] = {pass.query + static_cast<ptrdiff_t>(first) * pass.descriptor_bytes,
                      pass.train,
                      count,
                      pass.trains,
                      half,
                      nullptr};
    MatchWindows windows;  // of the slice, where there is one
    if (pass.window != nullptr) {
      windows.pair[0] = *pass.window;
      windows.pair[0].query.x += first;
      windows.pair[0].query.y += first;
    }
    ORBSERVE_RETURN_IF_ERROR(begin_.Record(stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(pass.window != nullptr
                                 ? LaunchWindowMatch(params, windows, stream_.get())
                                 : LaunchMatch(params, stream_.get()));
    ORBSERVE_RETURN_IF_ERROR(end_.Record(stream_.get()));
    if (done != nullptr) take(done_first, done_count, done);
    ORBSERVE_RETURN_IF_ERROR(end_.Wait(std::chrono::steady_clock::now() + context_.deadline,
                                       std::chrono::microseconds(0)));
    ORBSERVE_ASSIGN_OR_RETURN(const int64_t elapsed, end_.ElapsedSince(begin_));
    *compute_ns += elapsed;
    const int64_t measured = static_cast<int64_t>(count) * pass.trains;
    if (elapsed > 2 * kSliceNs) {
      distances = std::max(std::min(distances, measured) / 2, kLeastSliceDistances);
    } else if (elapsed < kSliceNs / 2 && measured >= distances / 2) {
      distances = std::min(2 * distances, kMaxSliceDistances);
    }
    done = half;
    done_first = first;
    done_count = count;
    first += count;
  }
  take(done_first, done_count, done);
  return absl::OkStatus();
}

absl::Status MatchLane::Slices(MatchWork* work,
                               absl::FunctionRef<absl::StatusOr<bool>()> before_slice) {
  ORBSERVE_RETURN_IF_ERROR(UseDevice(context_.device));
  const absl::Status checked = Guarded([&] { return Check(work); });
  if (!uploads_.empty()) {
    const absl::Status waited = Wait(std::chrono::microseconds(0));
    if (waited.ok()) PublishUploads();
    if (checked.ok()) ORBSERVE_RETURN_IF_ERROR(waited);
  }
  ORBSERVE_RETURN_IF_ERROR(checked);
  if (work->k == 0) return absl::OkStatus();
  const MatchOptions& options = work->job->options;
  // All that this needs is taken first, so that nothing throws while the device works.
  const auto units = static_cast<size_t>(UnitsOfNeighbour(work->descriptor_bytes));
  std::vector<PackedNeighbour> reverse;
  ORBSERVE_RETURN_IF_ERROR(Guarded([&] {
    ReserveMatches(*work->job, work->matches);
    if (options.cross_check) reverse.resize(static_cast<size_t>(work->trains) * units);
    return absl::OkStatus();
  }));
  WindowPair window = {};
  WindowPair backwards_window = {};
  if (work->has_window()) {
    window = work->window();
    backwards_window = window.Backwards();
  }
  const Pass pass = {work->query->data(),
                     work->train->data(),
                     work->queries,
                     work->trains,
                     work->descriptor_bytes,
                     work->k,
                     work->has_window() ? &window : nullptr};
  if (options.cross_check) {
    const Pass backwards = {pass.train,
                            pass.query,
                            pass.trains,
                            pass.queries,
                            pass.descriptor_bytes,
                            1,
                            work->has_window() ? &backwards_window : nullptr};
    ORBSERVE_RETURN_IF_ERROR(RunSlices(backwards, before_slice, &work->compute_ns,
                                       [&](int first, int count, const PackedNeighbour* nearest) {
                                         const auto begin = static_cast<size_t>(first) * units;
                                         std::copy_n(nearest, static_cast<size_t>(count) * units,
                                                     reverse.data() + begin);
                                       }));
  }
  return RunSlices(pass, before_slice, &work->compute_ns,
                   [&](int first, int count, const PackedNeighbour* nearest) {
                     FilterUnits(options, work->descriptor_bytes, work->k, first, count, nearest,
                                 reverse.data(), work->matches);
                   });
}

void MatchLane::ComputeInSlices(MatchWork* work,
                                absl::FunctionRef<absl::StatusOr<bool>()> before_slice) {
  const TraceRange trace("match in slices");
  uploads_.clear();
  staged_bytes_ = 0;
  time_begun_ = false;
  work->status = Slices(work, before_slice);
  if (!work->status.ok()) *work->matches = {};
  work->FreeMemory();
}

}  // namespace orbserve::gpu
