// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/pages/client_pages.h"

#include <array>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/clients/identity.h"
#include "server/pages/embedded_files.h"
#include "server/pages/json.h"
#include "server/pages/pages.pb.h"

namespace orbserve {
namespace {

constexpr size_t kMaxClientRows = 1000;

constexpr char kHead[] = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>orbserve: busiest clients</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/live.css">
<noscript><meta http-equiv="refresh" content="2"></noscript>
<script src="/page.js" defer></script>
<script src="/clients.js" defer></script>
</head>
<body>
<header>
  <h1>orbserve</h1>
  <p id="status" role="status"></p>
  <nav><a href="/">Live page</a> <a href="/metrics">Metrics</a> <a href="/readyz">Readiness</a></nav>
</header>
<main>
<section>
  <h2>Busiest clients</h2>
)";

// The columns behind the name.
constexpr std::array<absl::string_view, 13> kColumns = {
    "Streams", "Frames/s", "MB/s",    "Device, %", "Power, W",  "Waiting", "Held, MB",
    "Frames",  "OK",       "Dropped", "Failed",    "Energy, J", "Idle, s"};

// Names come from clients: nothing of them may be markup.
std::string Escaped(absl::string_view text) {
  return absl::StrReplaceAll(
      text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}});
}

absl::StatusOr<size_t> RowsOf(absl::string_view query, size_t most) {
  if (query.empty()) return most;
  size_t rows = 0;
  if (!absl::ConsumePrefix(&query, "n=") || !absl::SimpleAtoi(query, &rows) || rows < 1 ||
      rows > kMaxClientRows) {
    return absl::InvalidArgumentError(
        absl::StrCat("ask for ?n=N with a number of clients in [1, ", kMaxClientRows, "]"));
  }
  return rows;
}

absl::StatusOr<server::ClientTable> TableOf(const ClientActivity& activity, absl::string_view query,
                                            size_t most) {
  const absl::StatusOr<size_t> rows = RowsOf(query, most);
  if (!rows.ok()) return rows.status();
  server::ClientTable table;
  size_t known = 0;
  for (const ClientUse& use : activity.Busiest(*rows, &known)) {
    server::ClientRow& row = *table.add_clients();
    row.set_client(DisplayName(use.client));
    row.set_streams(static_cast<uint32_t>(use.streams));
    row.set_received(static_cast<double>(use.received));
    row.set_ok(static_cast<double>(use.ok));
    row.set_dropped(static_cast<double>(use.dropped));
    row.set_failed(static_cast<double>(use.failed));
    row.set_bytes(static_cast<double>(use.bytes));
    if (use.joules.has_value()) row.set_joules(*use.joules);
    row.set_frames_per_second(use.frames_per_second);
    row.set_bytes_per_second(use.bytes_per_second);
    row.set_device_share(use.device_share);
    if (use.watts.has_value()) row.set_watts(*use.watts);
    row.set_waiting(static_cast<double>(use.waiting));
    row.set_held_bytes(static_cast<double>(use.held_bytes));
    row.set_idle_seconds(std::chrono::duration<double>(use.idle).count());
  }
  table.set_known(static_cast<uint32_t>(known));
  return table;
}

std::string Number(double value, int digits) { return absl::StrFormat("%.*f", digits, value); }

std::string RowOf(const server::ClientRow& row) {
  const std::array<std::string, kColumns.size()> cells = {
      absl::StrCat(row.streams()),
      Number(row.frames_per_second(), 1),
      Number(row.bytes_per_second() * 1e-6, 2),
      Number(row.device_share() * 100, 1),
      row.has_watts() ? Number(row.watts(), 2) : "–",
      Number(row.waiting(), 0),
      Number(row.held_bytes() * 1e-6, 2),
      Number(row.received(), 0),
      Number(row.ok(), 0),
      Number(row.dropped(), 0),
      Number(row.failed(), 0),
      row.has_joules() ? Number(row.joules(), 2) : "–",
      Number(row.idle_seconds(), 1),
  };
  const std::string name = Escaped(row.client());
  std::string text = absl::StrCat("<tr data-key=\"", name, "\"><th scope=\"row\">", name, "</th>");
  for (size_t i = 0; i < cells.size(); ++i) {
    absl::StrAppend(&text, "<td class=\"number\" data-label=\"", kColumns[i], "\">", cells[i],
                    "</td>");
  }
  return absl::StrCat(text, "</tr>\n");
}

std::string PageOf(const server::ClientTable& table) {
  std::string page = kHead;
  absl::StrAppend(&page, "  <p class=\"note\" id=\"known\">", table.clients_size(), " of ",
                  table.known(),
                  ". Rates are those of the last ten seconds or so; counts began when a client was "
                  "first seen.</p>\n  <div class=\"scroll\">\n  <table id=\"clients\" "
                  "class=\"stack\"><thead><tr><th scope=\"col\">Client</th>");
  for (const absl::string_view column : kColumns) {
    absl::StrAppend(&page, "<th scope=\"col\" class=\"number\">", column, "</th>");
  }
  absl::StrAppend(&page, "</tr></thead>\n<tbody>\n");
  for (const server::ClientRow& row : table.clients()) absl::StrAppend(&page, RowOf(row));
  absl::StrAppend(&page, "</tbody></table>\n  </div>\n</section>\n</main>\n</body></html>\n");
  return page;
}

}  // namespace

std::vector<HttpPage> ClientPages(const ClientActivity* activity, size_t most) {
  std::vector<HttpPage> pages;
  pages.push_back({"/clients", "text/html; charset=utf-8",
                   [activity, most](absl::string_view query) -> absl::StatusOr<std::string> {
                     const auto table = TableOf(*activity, query, most);
                     if (!table.ok()) return table.status();
                     return PageOf(*table);
                   },
                   kPageHeaders});
  pages.push_back({"/clients.json", kJsonType,
                   [activity, most](absl::string_view query) -> absl::StatusOr<std::string> {
                     const auto table = TableOf(*activity, query, most);
                     if (!table.ok()) return table.status();
                     return ToJson(*table);
                   },
                   kOwnSiteHeader});
  return pages;
}

}  // namespace orbserve
