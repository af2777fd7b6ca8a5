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
#include "features/errors.h"
#include "server/pages/page_parts.h"
#include "server/pages/pages.h"
#include "server/telemetry/pages.pb.h"

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
  const auto table = [activity,
                      most](absl::string_view query) -> absl::StatusOr<server::ClientTable> {
    ORBSERVE_ASSIGN_OR_RETURN(const size_t rows, RowsOf(query, most));
    return activity->Busiest(rows);
  };
  HttpPage page = {"/clients", kHtmlType,
                   [table](absl::string_view query) -> absl::StatusOr<std::string> {
                     ORBSERVE_ASSIGN_OR_RETURN(const server::ClientTable clients, table(query));
                     return PageOf(clients);
                   },
                   kPageHeaders};
  return {std::move(page), JsonPage("/clients.json", table)};
}

}  // namespace orbserve
