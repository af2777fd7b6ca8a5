// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config/derived_limits.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/edge/listener.h"
#include "server/process/limits.h"

namespace orbserve {
namespace {

constexpr int64_t kKiB = int64_t{1} << 10;
constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();

constexpr int kReferencePerMille = 100;
constexpr int kMessagePerMille = 50;
constexpr int kMinReferences = 100'000;
constexpr int64_t kMaxReferences = 10'000'000;
constexpr int64_t kReferenceBytes = 11 * kKiB;  // some 200 features
constexpr int kMaxDecodeThreads = 256;
constexpr int64_t kLargestMessage = kGiB;

// With the references 950 thousandths. The rest is little for the program, messages that are being
// parsed, and free heap; but workspaces count by their worst case, of which photographs touch
// half.
constexpr Budget kBudgets[] = {
    {"receive buffers", 150, 2 * kGiB, 1, &DerivedLimits::receive_buffer_bytes,
     "gRPC's buffers of all connections"},
    {"message", kMessagePerMille, 96 * kMiB, 0, &DerivedLimits::message_bytes,
     "largest request, within the receive buffers; larger ones end with gRPC's own "
     "`RESOURCE_EXHAUSTED`. Where `limits.max_pixels` is raised: at most 1.5 bytes a pixel, 1 GiB"},
    {"queue", 400, kGiB, 0, &DerivedLimits::queue_bytes,
     "messages of frames that wait; beyond: `QUEUE_FULL`. While none waits, one of any size is "
     "taken"},
    {"kept queue", 100, kGiB, 1, &DerivedLimits::kept_queue_bytes,
     "always there; the rest of the queue while less than 60 % of the memory is used, or 75 % for "
     "messages of up to a MiB"},
    {"inputs", 100, kAny, 1, &DerivedLimits::input_bytes,
     "slots for decoded frames on the host; beyond: `OUT_OF_MEMORY`; one frame "
     "that needs more: `TOO_LARGE`"},
    {"workspaces", 300, 4 * kGiB, 1, &DerivedLimits::workspace_bytes,
     "of frames on the CPU; of JPEG files and large images with their pixels, from their decoding "
     "on. Beyond, frames wait in turn; one that needs more than 28 % is `TOO_LARGE`, with the "
     "bytes that it needs"},
    {"plans", 100, 2 * kGiB, 0, &DerivedLimits::plan_bytes,
     "on a GPU workspace of the plans kept, and as much of those in use"},
    {"decoding", 100, kGiB, 0, &DerivedLimits::decoding_bytes,
     "on a GPU pixels of JPEG files and large images, within inputs; beyond, frames wait as they "
     "came"},
    {"match queue", 50, kGiB, 1, &DerivedLimits::match_queue_bytes,
     "features of matches that wait; beyond: `QUEUE_FULL`"},
    {"track queue", 50, kGiB, 1, &DerivedLimits::track_queue_bytes,
     "states and points of searches for tracks that wait; beyond: `QUEUE_FULL`"},
    {"responses", 50, kGiB, 2, &DerivedLimits::response_bytes,
     "answers of streams that are owed or not sent yet, and as much for those of other calls. A "
     "client gets a share; beyond it, a stream has one frame in flight, and other calls end with "
     "`QUOTA_EXCEEDED`"},
};

int64_t ReferencePart(int64_t memory_bytes) { return memory_bytes / 1000 * kReferencePerMille; }

std::string Line(absl::string_view name, absl::string_view value, absl::string_view about = "") {
  std::string line = absl::StrCat("#   ", name);
  line.resize(std::max<size_t>(line.size(), 30) + 12 - std::min<size_t>(value.size(), 10), ' ');
  return absl::StrCat(line, value, about.empty() ? "" : ", ", about);
}

}  // namespace

int64_t DefaultReferenceBytes(int64_t memory_bytes) {
  return std::min(ReferencePart(memory_bytes), kGiB);
}

absl::Span<const Budget> Budgets() { return kBudgets; }

DerivedLimits Derive(const server::Config& config) {
  const auto& limits = config.limits();
  const auto memory = static_cast<int64_t>(limits.memory_bytes());
  DerivedLimits derived;
  derived.reference_bytes = static_cast<int64_t>(limits.max_reference_bytes());
  // References of more than their part take from all others alike.
  const int64_t usual = ReferencePart(memory);
  const int64_t whole = derived.reference_bytes <= usual ? memory
                                                         : (memory - derived.reference_bytes) /
                                                               (1000 - kReferencePerMille) * 1000;
  for (const Budget& budget : kBudgets) {
    derived.*budget.bytes = std::min(whole / 1000 * budget.per_mille, budget.max_bytes);
  }
  derived.max_pixels = static_cast<int64_t>(limits.max_pixels());
  // Uncompressed images of up to max_pixels have room in a message.
  const auto image_bytes = static_cast<int64_t>(limits.max_pixels()) / 2 * 3;
  if (image_bytes > derived.message_bytes) {
    derived.message_bytes =
        std::min({whole / 1000 * kMessagePerMille, image_bytes, kLargestMessage});
  }

  derived.references = static_cast<int>(std::clamp<int64_t>(
      derived.reference_bytes / kReferenceBytes, kMinReferences, kMaxReferences));
  const auto owner_bytes = static_cast<int64_t>(limits.max_reference_bytes_per_client());
  derived.references_per_client = derived.references;
  if (owner_bytes != 0 && owner_bytes < derived.reference_bytes) {
    const double part =
        static_cast<double>(owner_bytes) / static_cast<double>(derived.reference_bytes);
    derived.references_per_client = std::max(1, static_cast<int>(derived.references * part));
  }
  derived.queue_frames_per_client =
      std::max(1, static_cast<int>(config.batching().max_queue_frames() / 4));
  const auto connections = static_cast<int>(limits.max_connections());
  derived.connections_per_address =
      std::max(connections / 4, std::min(connections, kMinConnectionsPerAddress));
  const auto threads = static_cast<int>(config.backend().threads());
  derived.processors = FindProcessorLimit();
  derived.decode_threads = threads == 0 ? static_cast<int>(std::ceil(derived.processors))
                                        : std::min(threads, kMaxDecodeThreads);
  derived.keepalive_timeout = std::chrono::milliseconds(
      std::max<int64_t>(1000, static_cast<int64_t>(config.keepalive().time_ms()) / 2));
  return derived;
}

int64_t BudgetSum(const DerivedLimits& limits) {
  int64_t sum = limits.reference_bytes;
  for (const Budget& budget : kBudgets) sum += budget.count * (limits.*budget.bytes);
  return sum;
}

std::string DerivedLimitsText(const server::Config& config, const DerivedLimits& limits) {
  const auto mib = [](int64_t bytes) { return absl::StrCat(bytes / kMiB, " MiB"); };
  const auto memory = static_cast<int64_t>(config.limits().memory_bytes());
  std::string text = absl::StrCat(
      "# Derived (docs/configuration.md, Memory). Of limits.memory_bytes, ", mib(memory), ":\n");
  const auto add = [&](const std::string& line) { absl::StrAppend(&text, line, "\n"); };
  for (const Budget& budget : kBudgets) {
    add(Line(budget.name, mib(limits.*budget.bytes),
             budget.count == 0   ? "counted in others"
             : budget.count == 2 ? "counted twice"
                                 : ""));
  }
  add(Line("references", mib(limits.reference_bytes)));
  add(Line("all of these", mib(BudgetSum(limits))));
  add("# Of other fields:");
  add(Line("references", absl::StrCat(limits.references), "of all clients"));
  add(Line("references of a client", absl::StrCat(limits.references_per_client)));
  add(Line("queued frames of a client", absl::StrCat(limits.queue_frames_per_client)));
  add(Line("connections of an address", absl::StrCat(limits.connections_per_address)));
  add(Line("threads that decode", absl::StrCat(limits.decode_threads)));
  add(Line("keepalive timeout", absl::StrCat(limits.keepalive_timeout.count(), " ms")));
  return text;
}

}  // namespace orbserve
