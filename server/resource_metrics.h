// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#ifndef ORBSERVE_SERVER_RESOURCE_METRICS_H_
#define ORBSERVE_SERVER_RESOURCE_METRICS_H_

#include "features/backend.h"
#include "server/clients/identity.h"
#include "server/clients/ledger.h"
#include "server/config/config.pb.h"
#include "server/config/derived_limits.h"
#include "server/edge/listener.h"
#include "server/edge/self_check.h"
#include "server/edge/tls_credentials.h"
#include "server/process/memory/memory_watch.h"
#include "server/process/reloader.h"
#include "server/rpc/health.h"
#include "server/serving/match/reference_store.h"
#include "server/serving/plan_cache.h"
#include "server/serving/worker_pool.h"
#include "server/telemetry/metric_page.h"
#include "server/telemetry/metrics.h"

namespace orbserve {

// The parts of the server whose use is shown.
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
  const Health& health;
  const Reloader* reloader;     // null without files
  const Listener* listener;     // null without an address
  const SelfCheck* self_check;  // null without an address
  const TlsCredentials* tls;    // null without TLS
};

// Tells the use of each bounded resource at the moment of the scrape, its limit, and the
// memory behind it (docs/metrics.md). The limit of the gauge orbserve_NAME is
// orbserve_limit_NAME.
void AddResources(const ResourceSources& sources, MetricPage& page);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_RESOURCE_METRICS_H_
