// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RESOURCE_METRICS_H_
#define ORBSERVE_SERVER_RESOURCE_METRICS_H_

#include <prometheus/metric_family.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "features/backend.h"
#include "server/clients/denials.h"
#include "server/clients/ledger.h"
#include "server/config/config.pb.h"
#include "server/config/derived_limits.h"
#include "server/edge/listener.h"
#include "server/process/memory/memory_watch.h"
#include "server/process/reloader.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/plan_cache.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// Reasons why the server takes no requests; several may hold.
struct NotReady {
  bool draining = false;
  bool device_lost = false;
  bool device_stalled = false;
  bool self_check = false;  // a call of the server to its own address was not answered
};

// The parts of the server whose use is shown, and what the others tell at this moment.
struct ResourceSources {
  const server::Config& config;  // complete and valid
  const DerivedLimits& derived;
  const FeatureBackend& backend;
  const Metrics& metrics;
  const Ledger& ledger;
  const WorkerPool& decode_pool;
  const PlanCache& plans;
  const ReferenceStore& references;
  const MemoryWatch& memory;
  const Denials& denials;
  const Reloader* reloader = nullptr;  // null without files
  ListenerUse listener = {};
  NotReady not_ready = {};
  std::optional<int64_t> certificate_expiry_unix_s = {};  // nothing without TLS
};

// Tells the use of each bounded resource at the moment of the scrape, its limit, and the
// memory behind it (docs/metrics.md). The limit of the gauge orbserve_NAME is
// orbserve_limit_NAME.
std::vector<prometheus::MetricFamily> ResourceFamilies(const ResourceSources& sources);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RESOURCE_METRICS_H_
