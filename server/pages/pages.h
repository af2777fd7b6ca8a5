// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pages of the HTTP port for the people who run the server.

#ifndef ORBSERVE_SERVER_PAGES_PAGES_H_
#define ORBSERVE_SERVER_PAGES_PAGES_H_

#include <functional>
#include <vector>

#include "server/edge/http/http_endpoint.h"
#include "server/pages/metrics_history.h"
#include "server/serving/client_activity.h"
#include "server/serving/stream/stream_pictures.h"
#include "server/telemetry/pages.pb.h"

namespace orbserve {

// The live page at "/", its files, and the answers that only this page reads:
//   /streams.json            the open streams
//   /history.json            the last two minutes of the metrics that are drawn over time
//   /frame.json?stream=ID    last frame of a stream; not there unless telemetry.show_frames is set
// `pictures`: null where frames are not shown; else it outlives the pages, as do the others.
std::vector<HttpPage> LivePages(std::function<std::vector<server::StreamRow>()> streams,
                                const MetricsHistory* history, StreamPictures* pictures);

// The busiest clients: a page at /clients, which is brought up to date every two seconds, with and
// without scripts, and /clients.json. `?n=20` says how many; `most`, >= 1, where no query does.
// `activity` outlives the pages.
std::vector<HttpPage> ClientPages(const ClientActivity* activity, size_t most);

}  // namespace orbserve

#endif  // ORBSERVE_SERVER_PAGES_PAGES_H_
