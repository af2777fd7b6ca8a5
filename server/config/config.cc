// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config/config.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "features/errors.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "gpu/gpu_backend.h"
#include "server/clients/peer.h"
#include "server/config/derived_limits.h"
#include "server/process/memory/memory_limit.h"
#include "server/process/text_file.h"

namespace orbserve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// What replaces a field that is no longer known, or `message` when it never was one. `message` is
// that of the parser: 'Message type "orbserve.server.Config.Limits" has no field named "x".'
std::string WithReplacement(const std::string& message) {
  const std::vector<std::string> parts = absl::StrSplit(message, '"');
  if (parts.size() < 4 || !absl::StrContains(parts[2], "has no field named")) return message;
  absl::string_view section = parts[1];
  std::string key = parts[3];
  if (section != server::Config::descriptor()->full_name()) {
    section.remove_prefix(section.rfind('.') + 1);
    key = absl::StrCat(absl::AsciiStrToLower(section), ".", key);
  }
  const std::string instead = ReplacementOf(key);
  return instead.empty() ? message : instead;
}

// Keeps the first error; lines and columns count from 1 as editors do.
class FirstError final : public google::protobuf::io::ErrorCollector {
 public:
  explicit FirstError(absl::string_view origin) : origin_(origin) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!text_.empty()) return;
    text_ = line < 0 ? absl::StrCat(origin_, ": ", message)
                     : absl::StrCat(origin_, ":", line + 1, ":", column + 1, ": ",
                                    WithReplacement(message));
  }
  void AddWarning(int line, google::protobuf::io::ColumnNumber column,
                  const std::string& message) override {
    AddError(line, column, message);
  }
  const std::string& text() const { return text_; }

 private:
  const absl::string_view origin_;
  std::string text_;
};

absl::Status BadOptions(const std::string& message) {
  return MakeError(ErrorReason::kBadOptions, message);
}

// One value of a field; `index` counts those of a list.
absl::Status CheckValue(const ConfigField& field, const Message& section, int index) {
  const server::Rule& rule = *field.rule;
  std::string text;  // in quotes, where it is a text
  google::protobuf::TextFormat::PrintFieldValueToString(
      section, field.field, field.field->is_repeated() ? index : -1, &text);
  double number = 0.0;
  if (rule.max() > 0 && absl::SimpleAtod(text, &number) && number >= rule.min() &&
      number <= rule.max()) {
    return absl::OkStatus();
  }
  const auto is_this = [&text](const std::string& value) { return text == '"' + value + '"'; };
  if (rule.max() == 0 &&
      (rule.values().empty() || std::any_of(rule.values().begin(), rule.values().end(), is_this))) {
    return absl::OkStatus();
  }
  return BadOptions(absl::StrCat(field.key, rule.max() > 0 ? " must be in " : " must be one of ",
                                 RangeText(field), "; got ", text));
}

absl::Status CheckRules(const ConfigField& field, const Message& section) {
  const int values =
      field.field->is_repeated() ? section.GetReflection()->FieldSize(section, field.field) : 1;
  for (int i = 0; i < values; ++i) ORBSERVE_RETURN_IF_ERROR(CheckValue(field, section, i));
  return absl::OkStatus();
}

absl::Status CheckRules(const server::Config& config) {
  const Reflection& access = *config.GetReflection();
  for (const ConfigField& field : ConfigFields()) {
    if (field.section == nullptr) {
      ORBSERVE_RETURN_IF_ERROR(CheckRules(field, config));
    } else if (!field.section->is_repeated()) {
      ORBSERVE_RETURN_IF_ERROR(CheckRules(field, access.GetMessage(config, field.section)));
    } else {
      for (int i = 0; i < access.FieldSize(config, field.section); ++i) {
        ORBSERVE_RETURN_IF_ERROR(
            CheckRules(field, access.GetRepeatedMessage(config, field.section, i)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckShares(const server::Config& config) {
  std::set<std::string> owners;
  for (const server::Config::Share& share : config.shares()) {
    if (share.owner().empty()) {
      return BadOptions("shares.owner must name an owner, such as \"addr:192.0.2.7\"");
    }
    if (!owners.insert(share.owner()).second) {
      return BadOptions(
          absl::StrCat("shares.owner must name each owner once; got ", share.owner(), " twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDevices(const server::Config::Backend& backend) {
  std::set<uint32_t> devices;
  for (const uint32_t device : backend.devices()) {
    if (!devices.insert(device).second) {
      return BadOptions(
          absl::StrCat("backend.devices must name each device once; got ", device, " twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckTls(const server::Config& config) {
  const auto& tls = config.tls();
  if (tls.cert_file().empty() != tls.key_file().empty()) {
    return BadOptions("tls.cert_file and tls.key_file must be given together");
  }
  if (!tls.client_ca_file().empty() && tls.cert_file().empty()) {
    return BadOptions("tls.client_ca_file needs tls.cert_file and tls.key_file");
  }
  if (!tls.client_ca_file().empty() && !config.token_file().empty()) {
    return BadOptions(
        "tls.client_ca_file and token_file exclude each other: a client is its certificate or its "
        "token");
  }
  return absl::OkStatus();
}

absl::Status CheckReferences(const server::Config::Limits& limits) {
  const uint64_t most = limits.memory_bytes() / 2;
  if (limits.max_reference_bytes() <= most) return absl::OkStatus();
  return BadOptions(
      absl::StrCat("limits.max_reference_bytes must be at most half of limits.memory_bytes, ", most,
                   "; got ", limits.max_reference_bytes()));
}

std::vector<ConfigField> FindConfigFields() {
  std::vector<ConfigField> fields;
  const auto* const top = server::Config::descriptor();
  const auto add = [&](const FieldDescriptor* section, const FieldDescriptor* field) {
    fields.push_back(
        {section == nullptr ? field->name() : absl::StrCat(section->name(), ".", field->name()),
         section, field, &field->options().GetExtension(server::rule)});
  };
  for (int i = 0; i < top->field_count(); ++i) {
    const FieldDescriptor* const field = top->field(i);
    if (field->message_type() == nullptr) {
      add(nullptr, field);
      continue;
    }
    for (int j = 0; j < field->message_type()->field_count(); ++j) {
      add(field, field->message_type()->field(j));
    }
  }
  return fields;
}

}  // namespace

const std::vector<ConfigField>& ConfigFields() {
  static const auto* const fields = new std::vector<ConfigField>(FindConfigFields());
  return *fields;
}

std::string RangeText(const ConfigField& field) {
  const server::Rule& rule = *field.rule;
  if (!rule.values().empty()) return absl::StrJoin(rule.values(), ", ");
  if (rule.max() == 0) return "";
  const auto text = [&](double value) {
    return field.field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE
               ? absl::StrCat(value)
               : absl::StrCat(static_cast<uint64_t>(value));
  };
  return absl::StrCat("[", text(rule.min()), ", ", text(rule.max()), "]");
}

std::string PlainText(absl::string_view markdown) {
  std::string text;
  for (size_t i = 0; i < markdown.size(); ++i) {
    const absl::string_view rest = markdown.substr(i);
    const bool begins_link = rest[0] == '[' && rest.find("](") == rest.find(']');
    if (absl::StartsWith(rest, "](")) {
      i += std::min(rest.find(')'), rest.size());
    } else if (rest[0] != '`' && !begins_link) {
      text += rest[0];
    }
  }
  return text;
}

std::string DefaultText(const ConfigField& field) {
  const server::Rule& rule = *field.rule;
  return rule.default_value().empty() ? PlainText(rule.derived_default()) : rule.default_value();
}

std::string ReplacementOf(absl::string_view key) {
  const auto& options = server::Config::descriptor()->options();
  for (int i = 0; i < options.ExtensionSize(server::removed); ++i) {
    const server::Removed& removed = options.GetExtension(server::removed, i);
    if (removed.key() == key) return absl::StrCat(key, " is gone: ", removed.instead());
  }
  return "";
}

absl::Status SetFromText(const ConfigField& field, const std::string& text,
                         server::Config* config) {
  Message* const section = field.section == nullptr
                               ? config
                               : config->GetReflection()->MutableMessage(config, field.section);
  const Reflection& access = *section->GetReflection();
  const FieldDescriptor* const which = field.field;
  switch (which->cpp_type()) {
    case FieldDescriptor::CPPTYPE_STRING:
      access.SetString(section, which, text);
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_BOOL:
      access.SetBool(section, which, text == "true");
      return absl::OkStatus();
    default:
      break;
  }
  uint64_t value = 0;
  const bool is_small = which->cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
  if (!absl::SimpleAtoi(text, &value) ||
      (is_small && value > std::numeric_limits<uint32_t>::max())) {
    return BadOptions(absl::StrCat("must be a whole number in ", RangeText(field), "; got ", text));
  }
  if (which->is_repeated()) {
    access.AddUInt32(section, which, static_cast<uint32_t>(value));
  } else if (is_small) {
    access.SetUInt32(section, which, static_cast<uint32_t>(value));
  } else {
    access.SetUInt64(section, which, value);
  }
  return absl::OkStatus();
}

server::Config DefaultConfig() { return DefaultConfig(FindMemoryLimit()); }

server::Config DefaultConfig(int64_t memory_bytes) {
  server::Config config;
  config.mutable_tls();
  for (const ConfigField& field : ConfigFields()) {
    if (field.rule->default_value().empty()) continue;
    // A default that does not parse is left out, and then found by ValidateConfig().
    SetFromText(field, field.rule->default_value(), &config).IgnoreError();
  }
  config.mutable_limits()->set_memory_bytes(static_cast<uint64_t>(memory_bytes));
  config.mutable_limits()->set_max_reference_bytes(
      static_cast<uint64_t>(DefaultReferenceBytes(memory_bytes)));
  return config;
}

server::Config CompleteConfig(const server::Config& config) {
  const server::Config::Backend& backend = config.backend();
  const bool may_use_gpu = !absl::StartsWith(backend.name(), "cpu");
  return CompleteConfig(config, may_use_gpu && gpu::SharesHostMemory({backend.devices().begin(),
                                                                      backend.devices().end()}));
}

server::Config CompleteConfig(const server::Config& config, bool gpu_shares_memory) {
  const uint64_t given = config.limits().memory_bytes();
  // Nonsense is refused by ValidateConfig().
  const uint64_t memory =
      given == 0 ? static_cast<uint64_t>(FindMemoryLimit())
                 : std::clamp<uint64_t>(given, static_cast<uint64_t>(kLeastMemoryBytes),
                                        uint64_t{1} << 40);
  if (!gpu_shares_memory || config.backend().gpu_memory_limit_bytes() != 0) {
    return Overlay(DefaultConfig(static_cast<int64_t>(memory)), config);
  }
  const uint64_t of_gpu = std::min(memory / 4, memory - static_cast<uint64_t>(kLeastMemoryBytes));
  server::Config shared = config;
  shared.mutable_backend()->set_gpu_memory_limit_bytes(of_gpu);
  if (given != 0) shared.mutable_limits()->set_memory_bytes(given - of_gpu);
  return Overlay(DefaultConfig(static_cast<int64_t>(memory - of_gpu)), shared);
}

absl::StatusOr<server::Config> ParseConfig(absl::string_view text, absl::string_view origin) {
  FirstError error(origin);
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  server::Config config;
  if (!parser.ParseFromString(std::string(text), &config)) {
    return MakeError(ErrorReason::kBadOptions, error.text().empty()
                                                   ? absl::StrCat(origin,
                                                                  ": cannot be read as protobuf "
                                                                  "text of orbserve.server.Config")
                                                   : error.text());
  }
  return config;
}

absl::StatusOr<server::Config> ReadConfigFile(const std::string& path) {
  ORBSERVE_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path));
  return ParseConfig(text, path);
}

server::Config Overlay(server::Config base, const server::Config& over) {
  if (over.backend().devices_size() > 0) base.mutable_backend()->clear_devices();
  if (over.shares_size() > 0) base.clear_shares();
  if (over.trusted_proxies_size() > 0) base.clear_trusted_proxies();
  base.MergeFrom(over);
  return base;
}

absl::Status ValidateConfig(const server::Config& config) {
  ORBSERVE_RETURN_IF_ERROR(CheckRules(config));
  ORBSERVE_RETURN_IF_ERROR(CheckDevices(config.backend()));
  ORBSERVE_RETURN_IF_ERROR(CheckReferences(config.limits()));
  ORBSERVE_RETURN_IF_ERROR(CheckShares(config));
  ORBSERVE_RETURN_IF_ERROR(CheckTls(config));
  const std::vector<std::string> proxies(config.trusted_proxies().begin(),
                                         config.trusted_proxies().end());
  return PeerSet::Create(proxies, "trusted_proxies").status();
}

std::string ConfigToText(const server::Config& config) {
  std::string text;
  google::protobuf::TextFormat::PrintToString(config, &text);
  return text;
}

}  // namespace orbserve
