// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/text_format.h"
#include "server/config/config.h"
#include "server/process/text_file.h"

namespace orbserve {
namespace {

using google::protobuf::io::ColumnNumber;
using google::protobuf::io::ErrorCollector;
using google::protobuf::io::Tokenizer;

// The text is read again after each key that is left out.
constexpr int kMaxReadings = 100;
// Brackets are nested no deeper. The configuration has two levels; the parser skips unknown keys by
// recursion.
constexpr int kMaxDepth = 16;

struct ParserMessage {
  int line;  // from 0; negative = of the whole text
  int column;
  std::string text;
};

class ParserMessages final : public ErrorCollector {
 public:
  void AddError(int line, ColumnNumber column, const std::string& message) override {
    errors.push_back({line, column, message});
  }
  void AddWarning(int line, ColumnNumber column, const std::string& message) override {
    warnings.push_back({line, column, message});
  }
  std::vector<ParserMessage> errors;    // the parser stops at the last one
  std::vector<ParserMessage> warnings;  // unknown keys
};

class NoMessages final : public ErrorCollector {
 public:
  void AddError(int /*line*/, ColumnNumber /*column*/, const std::string& /*message*/) override {}
};

// Levenshtein's distance: how many letters are missing, added or other ones.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

// Returns the key or section that is probably meant by `name` in `section` ("" = outside of
// sections), or "" if no key is alike.
std::string Meant(absl::string_view section, absl::string_view name) {
  std::string best;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  const auto try_key = [&](absl::string_view its_section, absl::string_view its_name,
                           absl::string_view key) {
    // The beginning of a name, or its last words, are as near as a letter. Of two keys that are as
    // near, that of the section is meant.
    const bool is_part =
        absl::StartsWith(its_name, name) || absl::EndsWith(its_name, absl::StrCat("_", name));
    const size_t letters = is_part ? 1 : EditDistance(name, its_name);
    const size_t distance = letters + (its_section == section ? 0 : 1);
    if (distance >= least) return;
    least = distance;
    best = std::string(key);
  };
  for (const ConfigField& field : ConfigFields()) {
    const absl::string_view its_section = field.section == nullptr ? "" : field.section->name();
    try_key(its_section, field.field->name(), field.key);
    if (!its_section.empty()) try_key("", its_section, its_section);
  }
  return best;
}

// Says it of an unknown key. `message` is that of the parser: 'Message type
// "orbserve.server.Config.Limits" has no field named "x".'
std::string UnknownKey(const std::string& message) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4 || !absl::StrContains(parts[2], "has no field named")) return message;
  absl::string_view section;
  for (const ConfigField& field : ConfigFields()) {
    if (field.section == nullptr || field.section->message_type()->full_name() != parts[1])
      continue;
    section = field.section->name();
  }
  const std::string key = section.empty() ? parts[3] : absl::StrCat(section, ".", parts[3]);
  if (std::string instead = ReplacementOf(key); !instead.empty()) return instead;
  const std::string meant = Meant(section, parts[3]);
  return absl::StrCat("there is no key ", key,
                      meant.empty() ? "" : absl::StrCat("; did you mean ", meant, "?"));
}

// A text of the protobuf format as its tokens.
class Tokens {
 public:
  explicit Tokens(const std::string& text) {
    google::protobuf::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
    NoMessages messages;
    Tokenizer tokenizer(&stream, &messages);
    // These are what the parser of this format sets.
    tokenizer.set_comment_style(Tokenizer::SH_COMMENT_STYLE);
    tokenizer.set_allow_f_after_float(true);
    tokenizer.set_require_space_after_number(false);
    tokenizer.set_allow_multiline_strings(true);
    while (tokenizer.Next()) tokens_.push_back(tokenizer.current());
  }

  size_t size() const { return tokens_.size(); }
  const Tokenizer::Token& operator[](size_t i) const { return tokens_[i]; }
  bool IsName(size_t i) const {
    return i < size() && tokens_[i].type == Tokenizer::TYPE_IDENTIFIER;
  }
  bool IsOneOf(size_t i, absl::string_view symbols) const {
    return i < size() && tokens_[i].type == Tokenizer::TYPE_SYMBOL &&
           absl::StrContains(symbols, tokens_[i].text);
  }

  // The token at or around a place; size() behind the last one, size() + 1 between tokens.
  size_t Find(int line, int column) const {
    for (size_t i = 0; i < size(); ++i) {
      const Tokenizer::Token& token = tokens_[i];
      if (token.line == line && token.column <= column && column < token.end_column) return i;
      if (token.line == line && token.column == column) return i;  // a text of several lines
    }
    const bool is_behind = size() > 0 && std::pair(line, column) >=
                                             std::pair(tokens_.back().line, tokens_.back().column);
    return is_behind ? size() : size() + 1;
  }

  // The first token that is deeper inside of brackets than `depth`; size() if none is.
  size_t FirstBeyond(int depth) const {
    for (size_t i = 0; i < size(); ++i) {
      if (IsOneOf(i, "{<[") && --depth < 0) return i;
      if (IsOneOf(i, "}>]")) ++depth;
    }
    return size();
  }

  // The name of the key that the parser was at when it met token `at`; size() if that is unclear.
  size_t KeyBefore(size_t at) const {
    size_t i = std::min(at, size());
    while (i > 0 && !IsName(i) && !IsOneOf(i, ":{}<>[")) --i;
    if (IsOneOf(i, "[")) at = i;  // an element of a list
    if (at < 1 || at > size()) return size();
    if (at >= 2 && IsOneOf(at - 1, ":") && IsName(at - 2)) return at - 2;
    // Not a value that is a name, such as true.
    return IsName(at - 1) && (at < 2 || !IsOneOf(at - 2, ":")) ? at - 1 : size();
  }

  // The end of the key that begins at `key`, its value included; size() + 1 if it has none.
  size_t EndOf(size_t key) const {
    size_t i = key + 1;
    if (IsOneOf(i, ":")) ++i;
    if (i >= size() || IsOneOf(i, "}>]") || (IsName(i) && IsOneOf(i + 1, ":{<"))) return i;
    if (IsOneOf(i, "{<[")) {
      int depth = 0;
      for (; i < size(); ++i) {
        if (IsOneOf(i, "{<[")) ++depth;
        if (IsOneOf(i, "}>]") && --depth == 0) return i + 1;
      }
      return size() + 1;
    }
    if (IsOneOf(i, "-")) ++i;
    const bool is_text = i < size() && tokens_[i].type == Tokenizer::TYPE_STRING;
    ++i;
    while (is_text && i < size() && tokens_[i].type == Tokenizer::TYPE_STRING) ++i;
    return std::min(i, size());
  }

 private:
  std::vector<Tokenizer::Token> tokens_;
};

// Returns the offset in `text` of a place of the tokenizer, for which tabs end at multiples of 8.
size_t OffsetOf(absl::string_view text, int line, int column) {
  size_t i = 0;
  for (; line > 0; --line) i = text.find('\n', i) + 1;
  for (int at = 0; i < text.size() && at < column; ++i) {
    at += text[i] == '\t' ? 8 - at % 8 : 1;
  }
  return i;
}

// Blanks the key that the parser could not read, so that everything else stays where it is. Returns
// its name, "" if it is unclear where it begins and ends.
std::string BlankKey(const ParserMessage& error, std::string* text) {
  const Tokens tokens(*text);
  const size_t key = tokens.KeyBefore(tokens.Find(error.line, error.column));
  if (key >= tokens.size()) return "";
  const size_t end = tokens.EndOf(key);
  if (end > tokens.size()) return "";
  const Tokenizer::Token& last = tokens[end - 1];
  const size_t last_offset = OffsetOf(*text, last.line, last.column) + last.text.size();
  for (size_t i = OffsetOf(*text, tokens[key].line, tokens[key].column); i < last_offset; ++i) {
    if (!absl::ascii_isspace(static_cast<unsigned char>((*text)[i]))) (*text)[i] = ' ';
  }
  return tokens[key].text;
}

}  // namespace

std::string MeantFlag(absl::string_view flag) {
  std::vector<absl::string_view> flags = {"--config", "--check-config", "--version", "--help"};
  for (const ConfigField& field : ConfigFields()) {
    if (!field.rule->flag().empty()) flags.push_back(field.rule->flag());
  }
  std::string best;
  size_t least = std::max<size_t>(flag.size() / 3, 1) + 1;
  for (const absl::string_view known : flags) {
    const size_t letters = absl::StartsWith(known, flag) ? 1 : EditDistance(flag, known);
    if (letters >= least) continue;
    least = letters;
    best = std::string(known);
  }
  return best;
}

bool ParseConfig(absl::string_view text, absl::string_view origin, server::Config* config,
                 Mistakes* mistakes) {
  std::set<std::tuple<int, int, std::string>> found;  // in the order of the text
  const auto note = [&found](const ParserMessage& message, absl::string_view says) {
    found.emplace(message.line, message.column, std::string(says));
  };
  std::string rest(text);
  const Tokens tokens(rest);
  const size_t deep = tokens.FirstBeyond(kMaxDepth);
  if (deep < tokens.size()) {
    mistakes->Add(absl::StrCat(origin, ":", tokens[deep].line + 1, ":", tokens[deep].column + 1,
                               ": brackets are nested deeper than ", kMaxDepth));
    return false;
  }
  bool is_read = false;
  for (int reading = 1; !is_read; ++reading) {
    ParserMessages messages;
    google::protobuf::TextFormat::Parser parser;
    parser.RecordErrorsTo(&messages);
    parser.AllowUnknownField(true);
    is_read = parser.ParseFromString(rest, config);
    for (const ParserMessage& warning : messages.warnings) note(warning, UnknownKey(warning.text));
    if (is_read) break;
    if (messages.errors.empty()) messages.errors.push_back({-1, 0, "cannot be read"});
    const ParserMessage& error = messages.errors.back();
    const std::string key = reading == kMaxReadings ? "" : BlankKey(error, &rest);
    if (key.empty()) {
      const bool is_end = absl::EndsWith(error.text, "got: ");
      note(error, absl::StrCat(error.text, is_end ? "the end" : " (what follows is not read)"));
      break;
    }
    note(error, absl::StrCat(key, ": ", error.text));
  }
  for (const auto& [line, column, says] : found) {
    mistakes->Add(line < 0 ? absl::StrCat(origin, ": ", says)
                           : absl::StrCat(origin, ":", line + 1, ":", column + 1, ": ", says));
  }
  return is_read;
}

bool ReadConfigFile(const std::string& path, server::Config* config, Mistakes* mistakes) {
  const absl::StatusOr<std::string> text = ReadTextFile(path);
  if (text.ok()) return ParseConfig(*text, path, config, mistakes);
  mistakes->Add(text.status());
  return false;
}

}  // namespace orbserve
