// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve health

#include <memory>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/engine.h"
#include "client/cli/exit_code.h"
#include "client/cli/output/answer_json.h"
#include "client/cli/output/standard_output.h"

namespace orbserve::cli {
namespace {

// Default time limit. A health check that fails is better than one that hangs.
constexpr double kHealthTimeoutS = 5;

}  // namespace

int RunHealth(const CommonOptions& given) {
  Console console(given.quiet);
  CommonOptions options = given;
  if (options.server.empty()) options.server = kDefaultServer;
  if (options.timeout_s <= 0) options.timeout_s = kHealthTimeoutS;
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Connect(options);
  if (!engine.ok()) return Fail(&console, engine.status());
  const absl::StatusOr<client::Health> health = (*engine)->client()->CheckHealth();
  const bool unreachable = health.status().code() == absl::StatusCode::kUnavailable ||
                           health.status().code() == absl::StatusCode::kDeadlineExceeded;
  const bool serving = health.ok() && *health == client::Health::kServing;
  const char* word = serving ? "SERVING" : health.ok() ? "NOT_SERVING" : "UNKNOWN";
  if (options.json) {
    JsonWriter json;
    json.BeginObject().Key("server").String(options.server).Key("status").String(word);
    if (!health.ok()) AddError(health.status(), &json);
    json.EndObject();
    PrintLine(json.text());
  } else if (!options.quiet) {
    PrintLine(word);
  }
  if (!health.ok()) {
    console.Error(absl::StrCat(options.server, ": ", ErrorText(health.status())));
    return unreachable ? kExitUnreachable : kExitFailed;
  }
  return serving ? kExitOk : kExitFailed;
}

}  // namespace orbserve::cli
