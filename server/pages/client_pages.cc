// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/pages/client_pages.h"

#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "server/clients/identity.h"
#include "server/pages/json.h"
#include "server/pages/pages.pb.h"

namespace orbserve {
namespace {

constexpr size_t kMaxClientRows = 1000;

constexpr char kClientPageHeaders[] =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

constexpr char kHead[] =
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
    "<meta name=\"viewport\" content=\"width=device-width\">"
    "<meta http-equiv=\"refresh\" content=\"2\"><title>orbserve: busiest clients</title>\n"
    "<style>:root{color-scheme:light dark}body{font:1em sans-serif;margin:1em}"
    "div{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2em .8em .2em 0;text-align:right;white-space:nowrap}"
    "th:first-child,td:first-child{text-align:left;white-space:normal;word-break:break-word}"
    "th{border-bottom:1px solid}</style></head>\n";

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

std::string Cell(bool is_known, double value) {
  return is_known ? absl::StrFormat("%.2f", value) : "-";
}

std::string PageOf(const server::ClientTable& table) {
  std::string page = kHead;
  absl::StrAppendFormat(
      &page,
      "<body><h1>Busiest clients</h1><p>%d of %d. Rates are those of the last "
      "ten seconds or so; counts began when a client was first seen.</p>\n"
      "<div><table><tr><th>client<th>streams<th>frames/s<th>MB/s<th>device %%"
      "<th>W<th>waiting<th>MB held<th>frames<th>ok<th>dropped<th>failed<th>J<th>idle s</tr>\n",
      table.clients_size(), table.known());
  for (const server::ClientRow& row : table.clients()) {
    absl::StrAppendFormat(
        &page,
        "<tr><td>%s<td>%d<td>%.1f<td>%.2f<td>%.1f<td>%s<td>%.0f<td>%.2f<td>%.0f<td>%.0f<td>%.0f"
        "<td>%.0f<td>%s<td>%.1f</tr>\n",
        Escaped(row.client()), row.streams(), row.frames_per_second(),
        row.bytes_per_second() * 1e-6, row.device_share() * 100, Cell(row.has_watts(), row.watts()),
        row.waiting(), row.held_bytes() * 1e-6, row.received(), row.ok(), row.dropped(),
        row.failed(), Cell(row.has_joules(), row.joules()), row.idle_seconds());
  }
  absl::StrAppend(&page, "</table></div></body></html>\n");
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
                   kClientPageHeaders});
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
