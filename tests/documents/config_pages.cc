// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// config_pages: compares the pages that show the fields of server/config/config.proto with it, or
// brings them up to date:
//
//   config_pages REPOSITORY            fails where a page differs
//   config_pages --write REPOSITORY    replaces what differs
//
// deploy/orbserve-server.textproto is written as a whole. docs/configuration.md has blocks behind
// the lines "<!-- config.proto: table fields -->" and "<!-- config.proto: table budgets -->", which
// end at the next empty line. Exit codes: 0 all agree, 1 something differs, 2 wrong usage.

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/config/config.h"
#include "server/config/derived_limits.h"

namespace orbserve {
namespace {

using google::protobuf::FieldDescriptor;

constexpr size_t kColumns = 100;

std::string WithCommas(uint64_t number) {
  std::string text = absl::StrCat(number);
  for (int i = static_cast<int>(text.size()) - 3; i > 0 && number >= 10'000; i -= 3) {
    text.insert(static_cast<size_t>(i), 1, ',');
  }
  return text;
}

std::string Bytes(uint64_t bytes) {
  const char* unit = "";
  for (const char* const larger : {" KiB", " MiB", " GiB", " TiB"}) {
    if (bytes == 0 || bytes % 1024 != 0) break;
    bytes /= 1024;
    unit = larger;
  }
  return absl::StrCat(WithCommas(bytes), unit);
}

std::string Number(const ConfigField& field, double value) {
  if (field.field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) return absl::StrCat(value);
  const auto number = static_cast<uint64_t>(value);
  return absl::StrContains(field.key, "_bytes") ? Bytes(number) : WithCommas(number);
}

std::string Range(const ConfigField& field) {
  const server::Rule& rule = *field.rule;
  if (!rule.values().empty()) return absl::StrCat("`", absl::StrJoin(rule.values(), "`, `"), "`");
  if (rule.max() == 0) return "";
  return absl::StrCat(Number(field, rule.min()), " to ", Number(field, rule.max()));
}

std::string Default(const ConfigField& field) {
  const server::Rule& rule = *field.rule;
  if (rule.default_value().empty()) return rule.derived_default();
  if (rule.max() != 0) return Number(field, std::stod(rule.default_value()));
  return absl::StrCat("`", rule.default_value(), "`");
}

std::vector<std::string> FieldTable() {
  std::vector<std::string> lines = {"| key, flag | default | range | meaning |",
                                    "|---|---|---|---|"};
  for (const ConfigField& field : ConfigFields()) {
    const server::Rule& rule = *field.rule;
    const std::string flag = rule.flag().empty() ? "" : absl::StrCat(", `", rule.flag(), "`");
    lines.push_back(absl::StrCat("| `", field.key, "`", flag, " | ", Default(field), " | ",
                                 Range(field), " | ", rule.about(), ". |"));
  }
  return lines;
}

std::vector<std::string> BudgetTable() {
  std::vector<std::string> lines = {"| budget | part | at most | meaning |", "|---|---|---|---|"};
  for (const Budget& budget : Budgets()) {
    const bool has_most = budget.max_bytes != std::numeric_limits<int64_t>::max();
    const char* const times = budget.count == 2 ? "2 × " : "";
    const std::string part = absl::StrCat(budget.per_mille / 10, " %");
    lines.push_back(absl::StrCat(
        "| ", budget.name, " | ",
        budget.count == 0 ? absl::StrCat("(", part, ")") : absl::StrCat(times, part), " | ",
        has_most ? absl::StrCat(times, Bytes(static_cast<uint64_t>(budget.max_bytes))) : "", " | ",
        budget.about, " |"));
  }
  return lines;
}

// `text` as comments of `indent`, broken into lines.
void AddComment(const std::string& text, const std::string& indent, std::string* out) {
  std::string line = absl::StrCat(indent, "#");
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    if (line.size() + 1 + word.size() > kColumns) {
      absl::StrAppend(out, line, "\n");
      line = absl::StrCat(indent, "#");
    }
    absl::StrAppend(&line, " ", word);
  }
  absl::StrAppend(out, line, "\n");
}

std::string Sample() {
  std::string text = R"(# proto-file: server/config/config.proto
# proto-message: orbserve.server.Config
#
# Configuration of orbserve-server. Every value here is the default: a file needs only what differs.
# Flags override it. Check it with: orbserve-server --check-config --config FILE, which also prints
# what is derived from it. docs/configuration.md says more. Written by config_pages.
)";
  const FieldDescriptor* open = nullptr;
  for (const ConfigField& field : ConfigFields()) {
    // Nothing is set where there is no default, and in lists of sections.
    const bool is_list = field.section != nullptr && field.section->is_repeated();
    const std::string mark = is_list ? "# " : "";
    if (field.section != open) {
      if (open != nullptr) absl::StrAppend(&text, open->is_repeated() ? "# " : "", "}\n");
      if (field.section != nullptr) absl::StrAppend(&text, "\n", mark, field.section->name(), " {");
      open = field.section;
    }
    const server::Rule& rule = *field.rule;
    const std::string indent = field.section == nullptr ? "" : absl::StrCat(mark, "  ");
    absl::StrAppend(&text, "\n");
    AddComment(absl::StrCat(PlainText(rule.about()), ". Set it when ", PlainText(rule.why()), "."),
               indent, &text);
    const bool is_text = field.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING;
    if (!rule.default_value().empty()) {
      absl::StrAppend(&text, indent, field.field->name(), ": ", is_text ? "\"" : "",
                      rule.default_value(), is_text ? "\"" : "", "\n");
    } else {
      const std::string value = DefaultText(field);
      absl::StrAppend(&text, indent, is_list ? "" : "# ", field.field->name(), ": ...",
                      value.empty() ? "" : absl::StrCat("  # default: ", value), "\n");
    }
  }
  if (open != nullptr) absl::StrAppend(&text, "}\n");
  return text;
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// `page` with `lines` behind its line `mark`; empty if it has no such line.
std::string WithBlock(const std::string& page, const std::string& mark,
                      const std::vector<std::string>& lines) {
  const size_t begin = page.find(absl::StrCat(mark, "\n"));
  if (begin == std::string::npos) return "";
  const size_t block = begin + mark.size() + 1;
  const size_t end = page.find("\n\n", block);
  return absl::StrCat(page.substr(0, block), absl::StrJoin(lines, "\n"), page.substr(end));
}

// Returns true if the file has `text`, or has it now.
bool Compare(const std::string& path, const std::string& text, bool write) {
  if (text.empty()) {
    std::fprintf(stderr, "%s: a mark of a table is missing\n", path.c_str());
    return false;
  }
  if (Read(path) == text) return true;
  if (write) {
    std::ofstream(path) << text;
    return true;
  }
  std::fprintf(stderr, "%s differs from server/config/config.proto: run config_pages --write\n",
               path.c_str());
  return false;
}

int Run(const std::string& repository, bool write) {
  const std::string document = absl::StrCat(repository, "/docs/configuration.md");
  std::string page = WithBlock(Read(document), "<!-- config.proto: table fields -->", FieldTable());
  page = WithBlock(page, "<!-- config.proto: table budgets -->", BudgetTable());
  const bool page_agrees = Compare(document, page, write);
  const std::string sample = absl::StrCat(repository, "/deploy/orbserve-server.textproto");
  return Compare(sample, Sample(), write) && page_agrees ? 0 : 1;
}

}  // namespace
}  // namespace orbserve

int main(int argc, char** argv) {
  const bool write = argc == 3 && std::strcmp(argv[1], "--write") == 0;
  if (argc != 2 && !write) {
    std::fprintf(stderr, "usage: config_pages [--write] REPOSITORY\n");
    return 2;
  }
  return orbserve::Run(argv[argc - 1], write);
}
