// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/resource_metrics.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "decode/jpeg_ways.h"
#include "server/process/log.h"
#include "server/process/upkeep.h"
#include "server/telemetry/family_builder.h"

namespace orbserve {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Families = std::vector<MetricFamily>;

// What clients hold: the gauge orbserve_NAME, its limit, and that of one client's part.
struct Shared {
  Resource resource;
  const char* name;
  const char* help;
  bool has_client_limit = false;
};

constexpr Shared kShared[] = {
    {Resource::kFrames, "queue_frames", "Frames that are admitted and not yet in a batch.", true},
    {Resource::kFrameBytes, "queue_bytes", "Messages of the frames in orbserve_queue_frames."},
    {Resource::kMatches, "match_queue_requests",
     "Match requests that are admitted and not yet in a batch."},
    {Resource::kMatchBytes, "match_queue_bytes",
     "Features that the requests in orbserve_match_queue_requests hold, each set once."},
    {Resource::kTracks, "track_queue_requests",
     "Frames whose search for tracks is admitted and not yet in a batch."},
    {Resource::kTrackBytes, "track_queue_bytes",
     "States of frames, with pyramids, and points that the requests in "
     "orbserve_track_queue_requests hold."},
    {Resource::kReferences, "references", "References that clients keep on the server.", true},
    {Resource::kReferenceBytes, "reference_bytes",
     "Features of these references, and the copies that the backend holds of them.", true},
    {Resource::kStreamResponseBytes, "stream_response_bytes",
     "Answers that streams owe or have not sent yet."},
    {Resource::kUnaryResponseBytes, "call_response_bytes",
     "Answers that unary calls owe or have not sent yet, as messages and as bytes."},
};

void AddShared(const Ledger& ledger, Families& page) {
  for (const Shared& shared : kShared) {
    const ResourceBounds& bounds = ledger.bounds(shared.resource);
    const std::string name = absl::StrCat("orbserve_", shared.name);
    AddGauge(page, name, shared.help, ledger.held(shared.resource));
    AddGauge(page, absl::StrCat("orbserve_limit_", shared.name),
             absl::StrCat("Limit of ", name, "."), bounds.all);
    if (!shared.has_client_limit) continue;
    AddGauge(page, absl::StrCat("orbserve_limit_client_", shared.name),
             absl::StrCat("Limit of one client's part of ", name, "."),
             std::min(bounds.owner, bounds.name));
  }
}

void AddDecodePool(const WorkerPoolUse& pool, Families& page) {
  AddGauge(page, "orbserve_decode_busy_threads", "Threads that decode a frame or build a plan.",
           pool.busy);
  AddGauge(page, "orbserve_limit_decode_busy_threads", "Threads for decoding and building plans.",
           pool.threads);
  AddGauge(page, "orbserve_decode_waiting_tasks", "Frames and plans that wait for such a thread.",
           pool.waiting);
}

void AddJpegWays(Families& page) {
  FamilyBuilder family("orbserve_jpeg_frames_total",
                       "JPEG frames by their decoder, and why it was not the strict one.",
                       MetricType::Counter);
  const std::array<int64_t, kJpegWayCount> counts = JpegWayCounts();
  for (size_t i = 0; i < counts.size(); ++i) {
    const JpegWayWords words = WordsOf(static_cast<JpegWay>(i));
    family.Add(counts[i],
               {{"decoder", std::string(words.decoder)}, {"reason", std::string(words.reason)}});
  }
  family.MoveTo(page);
}

void AddPlans(const PlanCacheUse& plans, Families& page) {
  AddGauge(page, "orbserve_plans", "Compiled plans that are kept.", plans.plans);
  AddGauge(page, "orbserve_plan_bytes", "Workspace of the plans that are kept.", plans.bytes);
  AddGauge(page, "orbserve_limit_plans", "Limit of orbserve_plans.", plans.max_plans);
  AddGauge(page, "orbserve_limit_plan_bytes", "Limit of orbserve_plan_bytes.", plans.max_bytes);
  AddCounter(page, "orbserve_plan_hits_total", "Look-ups that found a plan.", plans.hits);
  AddCounter(page, "orbserve_plan_misses_total", "Look-ups that had to wait for a plan.",
             plans.misses);
  AddCounter(page, "orbserve_plan_evictions_total", "Plans that were dropped to make room.",
             plans.evictions);
  AddCounter(page, "orbserve_plan_builds_total", "Plans that were built.", plans.builds);
  AddCounter(page, "orbserve_plan_build_failures_total", "Plans that could not be built.",
             plans.failed_builds);
  AddCounter(page, "orbserve_plan_build_seconds_total", "Time that building plans took, in sum.",
             std::chrono::duration<double>(plans.build_time).count());
}

void AddConnections(const ListenerUse& use, Families& page) {
  AddGauge(page, "orbserve_connections", "Open connections of clients.", use.connections);
  AddGauge(page, "orbserve_limit_connections", "Limit of orbserve_connections.",
           use.max_connections);
  AddGauge(page, "orbserve_limit_address_connections",
           "Limit of one address's part of orbserve_connections.", use.max_connections_per_address);
  FamilyBuilder closed("orbserve_connections_closed_total",
                       "Connections that ended or were not accepted, by reason.",
                       MetricType::Counter);
  for (size_t i = 0; i < use.closed.size(); ++i) {
    closed.Add(use.closed[i], {{"reason", kCloseReasonNames[i]}});
  }
  closed.MoveTo(page);
}

void AddDenials(const Denials& denials, Families& page) {
  FamilyBuilder family(
      "orbserve_denied_total",
      "Calls and TLS handshakes that were refused because of who their client is, by cause.",
      MetricType::Counter);
  for (size_t i = 0; i < kDenialNames.size(); ++i) {
    family.Add(denials.count(static_cast<Denial>(i)), {{"cause", kDenialNames[i]}});
  }
  family.MoveTo(page);
}

void AddReloads(const Reloader* reloader, Families& page) {
  if (reloader == nullptr) return;
  FamilyBuilder family("orbserve_reload_failed",
                       "1 while these files could not be used when they were read last, and older "
                       "ones are in use.",
                       MetricType::Gauge);
  for (const auto& [files, failed] : reloader->failures()) {
    family.Add(failed ? 1 : 0, {{"files", files}});
  }
  family.MoveTo(page);
}

void AddNotReady(const NotReady& why, Families& page) {
  FamilyBuilder family("orbserve_not_ready",
                       "1 while the server takes no requests for this reason, as /readyz says.",
                       MetricType::Gauge);
  family.Add(why.draining ? 1 : 0, {{"reason", "draining"}});
  family.Add(why.device_lost ? 1 : 0, {{"reason", "device_lost"}});
  family.Add(why.device_stalled ? 1 : 0, {{"reason", "device_stalled"}});
  family.Add(why.self_check ? 1 : 0, {{"reason", "self_check"}});
  family.MoveTo(page);
}

double ProcessorsOf(const ResourceSources& sources) {
  const auto threads = static_cast<double>(sources.config.backend().threads());
  const double limit = sources.derived.processors;
  return sources.backend.name() == "cuda" || threads == 0 ? limit : std::min(limit, threads);
}

}  // namespace

std::vector<MetricFamily> ResourceFamilies(const ResourceSources& sources) {
  const Ledger& ledger = sources.ledger;
  const ReferenceStoreUse references = sources.references.use();
  Families page;
  AddShared(ledger, page);
  AddDecodePool(sources.decode_pool.use(), page);
  AddJpegWays(page);
  AddPlans(sources.plans.use(), page);
  AddCounter(page, "orbserve_log_lines_lost_total",
             "Lines of the log that were lost: standard error was not read, or was full.",
             LostLogLines());
  AddCounter(page, "orbserve_reference_evictions_total",
             "References that were removed to make room.", references.evictions);
  AddGauge(page, "orbserve_limit_memory_bytes", "Memory that the process may use.",
           sources.memory.limit_bytes());
  AddGauge(page, "orbserve_limit_processors", "Processors that the server may use.",
           ProcessorsOf(sources));
  AddCounter(page, "orbserve_upkeep_cpu_seconds_total",
             "Part of process_cpu_seconds_total that the server takes also while no client calls: "
             "periodic tasks and HTTP pages.",
             std::chrono::duration<double>(UpkeepTime()).count());
  AddGauge(page, "orbserve_memory_pressure", "1 while new work is refused for want of memory.",
           sources.memory.is_under_pressure() ? 1 : 0);
  AddGauge(page, "orbserve_limit_message_bytes", "Largest request message.",
           sources.derived.message_bytes);
  AddGauge(page, "orbserve_limit_streams", "Limit of orbserve_streams.",
           sources.config.limits().max_streams());
  AddConnections(sources.listener, page);
  AddDenials(sources.denials, page);
  AddReloads(sources.reloader, page);
  AddNotReady(sources.not_ready, page);
  if (sources.certificate_expiry_unix_s.has_value()) {
    AddGauge(page, "orbserve_tls_certificate_expiry_timestamp_seconds",
             "When the first certificate of the server's chain expires, in seconds since 1970.",
             *sources.certificate_expiry_unix_s);
  }

  FamilyBuilder memory("orbserve_memory_bytes",
                       "Memory by purpose and device; device host is memory of the machine.",
                       MetricType::Gauge);
  std::vector<MemoryUse> uses = sources.backend.memory();
  // The copies are among the states of the backend.
  uses.push_back({"references", "host", references.bytes - references.copy_bytes});
  uses.push_back({"queue", "host", ledger.held(Resource::kFrameBytes)});
  uses.push_back(
      {"responses", "host",
       ledger.held(Resource::kStreamResponseBytes) + ledger.held(Resource::kUnaryResponseBytes)});
  uses.push_back({"tracks", "host", sources.metrics.track_bytes()});
  for (const MemoryUse& use : uses) {
    memory.Add(use.bytes, {{"kind", std::string(use.kind)}, {"device", use.device}});
  }
  memory.MoveTo(page);
  return page;
}

}  // namespace orbserve
