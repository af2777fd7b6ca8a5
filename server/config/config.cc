// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/config/config.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "features/errors.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "gpu/gpu_backend.h"
#include "server/clients/identity.h"
#include "server/clients/peer.h"
#include "server/clients/token_file.h"
#include "server/config/derived_limits.h"
#include "server/process/limits.h"

namespace orbserve {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using google::protobuf::TextFormat;

class Silence final : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int /*line*/, int /*column*/, const std::string& /*message*/) override {}
};

// True if the rule allows a value; `text` is in quotes if it is a text.
bool Allows(const server::Rule& rule, const std::string& text) {
  double number = 0.0;
  if (rule.max() > 0) {
    return absl::SimpleAtod(text, &number) && number >= rule.min() && number <= rule.max();
  }
  const auto is_this = [&text](const std::string& value) { return text == '"' + value + '"'; };
  return rule.values().empty() || std::any_of(rule.values().begin(), rule.values().end(), is_this);
}

bool CheckValues(const ConfigField& field, const Message& section, Mistakes* mistakes) {
  const bool is_list = field.field->is_repeated();
  const int values = is_list ? section.GetReflection()->FieldSize(section, field.field) : 1;
  bool all_good = true;
  for (int i = 0; i < values; ++i) {
    std::string text;
    TextFormat::PrintFieldValueToString(section, field.field, is_list ? i : -1, &text);
    if (Allows(*field.rule, text)) continue;
    all_good = false;
    mistakes->Add(absl::StrCat(field.key,
                               field.rule->max() > 0 ? " must be in " : " must be one of ",
                               RangeText(field), "; got ", text));
  }
  return all_good;
}

// Checks each field by itself. Returns the keys that are wrong.
std::set<absl::string_view> CheckRules(const server::Config& config, Mistakes* mistakes) {
  std::set<absl::string_view> wrong;
  const Reflection& access = *config.GetReflection();
  const auto check = [&](const ConfigField& field, const Message& section) {
    if (!CheckValues(field, section, mistakes)) wrong.insert(field.key);
  };
  for (const ConfigField& field : ConfigFields()) {
    if (field.section == nullptr) {
      check(field, config);
    } else if (!field.section->is_repeated()) {
      check(field, access.GetMessage(config, field.section));
    } else {
      for (int i = 0; i < access.FieldSize(config, field.section); ++i) {
        check(field, access.GetRepeatedMessage(config, field.section, i));
      }
    }
  }
  return wrong;
}

// "" if a client of this server may have this owner, else what is wrong with it.
std::string WrongOwner(const server::Config& config, absl::string_view owner) {
  const bool has_certificates = !config.tls().client_ca_file().empty();
  const bool has_tokens = !config.token_file().empty();
  absl::string_view name = owner;
  if (absl::ConsumePrefix(&name, "cert:")) {
    if (!has_certificates) return "is known only with tls.client_ca_file";
    if (IsCertificateName(name)) return "";
    return absl::StrCat("must be cert: and 1 to ", kMaxCertificateNameBytes,
                        " bytes of printable ASCII");
  }
  if (absl::ConsumePrefix(&name, "token:")) {
    if (!has_tokens) return "is known only with token_file";
    if (IsTokenName(name)) return "";
    return absl::StrCat("must be token: and 1 to ", kMaxTokenNameBytes,
                        " letters, digits, '.', '_' and '-'");
  }
  const bool is_address = absl::StartsWith(owner, "addr:");
  if (!is_address && owner != "unix:") return "must begin with addr:, cert: or token:, or be unix:";
  if (has_certificates) return "must be cert:NAME where tls.client_ca_file is set";
  if (has_tokens) return "must be token:NAME where token_file is set";
  if (!is_address) return "";
  const std::string normal = OwnerOfAddress(absl::StripPrefix(owner, "addr:"));
  if (normal == owner) return "";
  return normal.empty() ? "must be an IP address behind addr:"
                        : absl::StrCat("must be written ", normal);
}

void CheckShares(const server::Config& config, Mistakes* mistakes) {
  std::set<std::string> owners;
  for (const server::Config::Share& share : config.shares()) {
    if (share.owner().empty()) {
      mistakes->Add("shares.owner must name an owner, such as \"addr:192.0.2.7\"");
    } else if (!owners.insert(share.owner()).second) {
      mistakes->Add(
          absl::StrCat("shares.owner must name each owner once; got ", share.owner(), " twice"));
    } else if (const std::string wrong = WrongOwner(config, share.owner()); !wrong.empty()) {
      mistakes->Add(absl::StrCat("shares.owner ", wrong, "; got \"", share.owner(), "\""));
    }
  }
}

void CheckDevices(const server::Config::Backend& backend, Mistakes* mistakes) {
  std::set<uint32_t> devices;
  for (const uint32_t device : backend.devices()) {
    if (devices.insert(device).second) continue;
    mistakes->Add(
        absl::StrCat("backend.devices must name each device once; got ", device, " twice"));
  }
}

void CheckTls(const server::Config& config, Mistakes* mistakes) {
  const auto& tls = config.tls();
  if (tls.cert_file().empty() != tls.key_file().empty()) {
    mistakes->Add("tls.cert_file and tls.key_file must be given together");
  }
  if (!tls.client_ca_file().empty() && tls.cert_file().empty()) {
    mistakes->Add("tls.client_ca_file needs tls.cert_file and tls.key_file");
  }
  if (!tls.client_ca_file().empty() && !config.token_file().empty()) {
    mistakes->Add(
        "tls.client_ca_file and token_file exclude each other: a client is its certificate or its "
        "token");
  }
}

// A part is no larger than its whole. `wrong`: keys that are not compared.
void CheckParts(const server::Config& config, const std::set<absl::string_view>& wrong,
                Mistakes* mistakes) {
  const auto check = [&](absl::string_view part, uint64_t value, absl::string_view whole,
                         uint64_t most, absl::string_view how = "") {
    if (value <= most || wrong.count(part) > 0 || wrong.count(whole) > 0) return;
    mistakes->Add(absl::StrCat(part, " must be at most ", how, whole, ", ", most, "; got ", value));
  };
  const server::Config::Limits& limits = config.limits();
  check("limits.max_reference_bytes", limits.max_reference_bytes(), "limits.memory_bytes",
        limits.memory_bytes() / 2, "half of ");
  check("limits.max_reference_bytes_per_client", limits.max_reference_bytes_per_client(),
        "limits.max_reference_bytes", limits.max_reference_bytes());
  check("limits.max_streams_per_client", limits.max_streams_per_client(), "limits.max_streams",
        limits.max_streams());
  check("batching.max_batch_time_ms", config.batching().max_batch_time_ms(),
        "backend.device_deadline_ms", config.backend().device_deadline_ms());
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
  std::string value = text;
  if (field.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    value = absl::StrCat("\"", absl::CEscape(text), "\"");
  } else if (field.field->cpp_type() != FieldDescriptor::CPPTYPE_BOOL) {
    uint64_t number = 0;
    value = absl::SimpleAtoi(text, &number) ? absl::StrCat(number) : "";  // 010 is ten
  }
  Message* const section = field.section == nullptr
                               ? config
                               : config->GetReflection()->MutableMessage(config, field.section);
  Silence silence;
  TextFormat::Parser parser;
  parser.RecordErrorsTo(&silence);
  if (parser.ParseFieldValueFromString(value, field.field, section)) return absl::OkStatus();
  return MakeError(ErrorReason::kBadOptions,
                   absl::StrCat("must be a whole number in ", RangeText(field), "; got ", text));
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

server::Config Overlay(server::Config base, const server::Config& over) {
  if (over.backend().devices_size() > 0) base.mutable_backend()->clear_devices();
  if (over.shares_size() > 0) base.clear_shares();
  if (over.trusted_proxies_size() > 0) base.clear_trusted_proxies();
  base.MergeFrom(over);
  return base;
}

absl::Status ValidateConfig(const server::Config& config) {
  Mistakes mistakes;
  CheckParts(config, CheckRules(config, &mistakes), &mistakes);
  CheckDevices(config.backend(), &mistakes);
  CheckShares(config, &mistakes);
  CheckTls(config, &mistakes);
  for (const std::string& proxy : config.trusted_proxies()) {
    mistakes.Add(PeerSet::Create({proxy}, "trusted_proxies").status());
  }
  return mistakes.status();
}

std::string ConfigToText(const server::Config& config) {
  std::string text;
  TextFormat::PrintToString(config, &text);
  return text;
}

}  // namespace orbserve
