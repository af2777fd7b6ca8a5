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
#include "server/telemetry/metric_page.h"

namespace orbserve {
namespace {

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

void AddShared(const Ledger& ledger, MetricPage& page) {
  for (const Shared& shared : kShared) {
    const ResourceBounds& bounds = ledger.bounds(shared.resource);
    const std::string name = absl::StrCat("orbserve_", shared.name);
    page.Gauge(name, shared.help, ledger.held(shared.resource));
    page.Gauge(absl::StrCat("orbserve_limit_", shared.name), absl::StrCat("Limit of ", name, "."),
               bounds.all);
    if (!shared.has_client_limit) continue;
    page.Gauge(absl::StrCat("orbserve_limit_client_", shared.name),
               absl::StrCat("Limit of one client's part of ", name, "."),
               std::min(bounds.owner, bounds.name));
  }
}

void AddDecodePool(const WorkerPoolUse& pool, MetricPage& page) {
  page.Gauge("orbserve_decode_busy_threads", "Threads that decode a frame or build a plan.",
             pool.busy);
  page.Gauge("orbserve_limit_decode_busy_threads", "Threads for decoding and building plans.",
             pool.threads);
  page.Gauge("orbserve_decode_waiting_tasks", "Frames and plans that wait for such a thread.",
             pool.waiting);
}

void AddJpegWays(MetricPage& page) {
  auto& family = page.Counter("orbserve_jpeg_frames_total",
                              "JPEG frames by their decoder, and why it was not the strict one.");
  const std::array<int64_t, kJpegWayCount> counts = JpegWayCounts();
  for (size_t i = 0; i < counts.size(); ++i) {
    const JpegWayWords words = WordsOf(static_cast<JpegWay>(i));
    family.Add(counts[i],
               {{"decoder", std::string(words.decoder)}, {"reason", std::string(words.reason)}});
  }
}

void AddPlans(const PlanCacheUse& plans, MetricPage& page) {
  page.Gauge("orbserve_plans", "Compiled plans that are kept.", plans.plans);
  page.Gauge("orbserve_plan_bytes", "Workspace of the plans that are kept.", plans.bytes);
  page.Gauge("orbserve_limit_plans", "Limit of orbserve_plans.", plans.max_plans);
  page.Gauge("orbserve_limit_plan_bytes", "Limit of orbserve_plan_bytes.", plans.max_bytes);
  page.Counter("orbserve_plan_hits_total", "Look-ups that found a plan.", plans.hits);
  page.Counter("orbserve_plan_misses_total", "Look-ups that had to wait for a plan.", plans.misses);
  page.Counter("orbserve_plan_evictions_total", "Plans that were dropped to make room.",
               plans.evictions);
  page.Counter("orbserve_plan_builds_total", "Plans that were built.", plans.builds);
  page.Counter("orbserve_plan_build_failures_total", "Plans that could not be built.",
               plans.failed_builds);
  page.Counter("orbserve_plan_build_seconds_total", "Time that building plans took, in sum.",
               std::chrono::duration<double>(plans.build_time).count());
}

void AddConnections(const ListenerUse& use, MetricPage& page) {
  page.Gauge("orbserve_connections", "Open connections of clients.", use.connections);
  page.Gauge("orbserve_limit_connections", "Limit of orbserve_connections.", use.max_connections);
  page.Gauge("orbserve_limit_address_connections",
             "Limit of one address's part of orbserve_connections.",
             use.max_connections_per_address);
  auto& closed = page.Counter("orbserve_connections_closed_total",
                              "Connections that ended or were not accepted, by reason.");
  for (size_t i = 0; i < use.closed.size(); ++i) {
    closed.Add(use.closed[i], {{"reason", kCloseReasonNames[i]}});
  }
}

void AddDenials(const Denials& denials, MetricPage& page) {
  auto& family = page.Counter(
      "orbserve_denied_total",
      "Calls and TLS handshakes that were refused because of who their client is, by cause.");
  for (size_t i = 0; i < kDenialNames.size(); ++i) {
    family.Add(denials.count(static_cast<Denial>(i)), {{"cause", kDenialNames[i]}});
  }
}

void AddReloads(const Reloader& reloader, MetricPage& page) {
  auto& family =
      page.Gauge("orbserve_reload_failed",
                 "1 while these files could not be used when they were read last, and older "
                 "ones are in use.");
  for (const auto& [files, failed] : reloader.failures()) {
    family.Add(failed ? 1 : 0, {{"files", files}});
  }
}

void AddNotReady(const ResourceSources& sources, MetricPage& page) {
  auto& family =
      page.Gauge("orbserve_not_ready",
                 "1 while the server takes no requests for this reason, as /readyz says.");
  const bool self_check_failed = sources.self_check != nullptr && sources.self_check->last_failed();
  family.Add(sources.health.draining() ? 1 : 0, {{"reason", "draining"}});
  family.Add(sources.health.device_lost() ? 1 : 0, {{"reason", "device_lost"}});
  family.Add(sources.health.device_stalled() ? 1 : 0, {{"reason", "device_stalled"}});
  family.Add(self_check_failed ? 1 : 0, {{"reason", "self_check"}});
}

double ProcessorsOf(const ResourceSources& sources) {
  const auto threads = static_cast<double>(sources.config.backend().threads());
  const double limit = sources.derived.processors;
  return sources.backend.name() == "cuda" || threads == 0 ? limit : std::min(limit, threads);
}

}  // namespace

void AddResources(const ResourceSources& sources, MetricPage& page) {
  const Ledger& ledger = sources.ledger;
  const ReferenceStoreUse references = sources.references.use();
  AddShared(ledger, page);
  AddDecodePool(sources.decode_pool.use(), page);
  AddJpegWays(page);
  AddPlans(sources.plans.use(), page);
  page.Counter("orbserve_log_lines_lost_total",
               "Lines of the log that were lost: standard error was not read, or was full.",
               LostLogLines());
  page.Counter("orbserve_reference_evictions_total", "References that were removed to make room.",
               references.evictions);
  page.Gauge("orbserve_limit_memory_bytes", "Memory that the process may use.",
             sources.memory.limit_bytes());
  page.Gauge("orbserve_limit_processors", "Processors that the server may use.",
             ProcessorsOf(sources));
  page.Counter("orbserve_upkeep_cpu_seconds_total",
               "Part of process_cpu_seconds_total that the server takes also while no client "
               "calls: periodic tasks and HTTP pages.",
               std::chrono::duration<double>(UpkeepTime()).count());
  page.Gauge("orbserve_memory_pressure", "1 while new work is refused for want of memory.",
             sources.memory.is_under_pressure() ? 1 : 0);
  page.Gauge("orbserve_limit_message_bytes", "Largest request message.",
             sources.derived.message_bytes);
  page.Gauge("orbserve_limit_streams", "Limit of orbserve_streams.",
             sources.config.limits().max_streams());
  AddConnections(sources.listener == nullptr ? ListenerUse() : sources.listener->use(), page);
  AddDenials(sources.denials, page);
  if (sources.reloader != nullptr) AddReloads(*sources.reloader, page);
  AddNotReady(sources, page);
  if (sources.tls != nullptr) {
    page.Gauge("orbserve_tls_certificate_expiry_timestamp_seconds",
               "When the first certificate of the server's chain expires, in seconds since 1970.",
               sources.tls->expiry_unix_s());
  }

  auto& memory = page.Gauge("orbserve_memory_bytes",
                            "Memory by purpose and device; device host is memory of the machine.");
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
}

}  // namespace orbserve
