// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <array>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "server/clients/identity.h"
#include "server/pages/page_parts.h"
#include "server/pages/pages.h"
#include "server/pages/pages.pb.h"

namespace orbserve {
namespace {

constexpr size_t kMaxClientRows = 1000;

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
  std::string heads;
  for (const absl::string_view column : kColumns) {
    absl::StrAppend(&heads, "<th scope=\"col\" class=\"number\">", column, "</th>");
  }
  std::string rows;
  for (const server::ClientRow& row : table.clients()) absl::StrAppend(&rows, RowOf(row));
  return absl::Substitute(kClientsHtml, table.clients_size(), table.known(), heads, rows);
}

}  // namespace

std::vector<HttpPage> ClientPages(const ClientActivity* activity, size_t most) {
  const auto table = [activity, most](absl::string_view query) {
    return TableOf(*activity, query, most);
  };
  HttpPage page = {"/clients", kHtmlType,
                   [table](absl::string_view query) -> absl::StatusOr<std::string> {
                     const absl::StatusOr<server::ClientTable> clients = table(query);
                     if (!clients.ok()) return clients.status();
                     return PageOf(*clients);
                   },
                   kPageHeaders};
  return {std::move(page), JsonPage("/clients.json", table)};
}

}  // namespace orbserve
