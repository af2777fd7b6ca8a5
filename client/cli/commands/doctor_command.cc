// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// orbserve doctor

#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/failure.h"
#include "client/cli/doctor/finding.h"
#include "client/cli/doctor/gpu_check.h"
#include "client/cli/doctor/tls_check.h"
#include "client/cli/engine.h"
#include "client/cli/exit_code.h"
#include "client/cli/output/json_writer.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/table_cells.h"
#include "client/cli/output/terminal_text.h"
#include "orbserve/version.h"

namespace orbserve::cli {
namespace {

constexpr int kGrpcPort = 50051;  // default ports of the server
constexpr int kMetricsPort = 9464;
constexpr rlim_t kFewFiles = 4096;  // a server needs one for each client
constexpr double kServerTimeoutS = 5;

std::string DevicesOf(const v1::GetServerInfoResponse& info) {
  std::string text;
  for (const v1::DeviceInfo& device : info.devices()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", device.device(), ": ", device.name(), "; ",
                    device.details());
  }
  return text;
}

// True if this program could listen on the port of the loopback address.
bool PortIsFree(int port) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) return true;
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool free = bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  close(listener);
  return free;
}

// Answer of an engine to the question for its limits and devices.
absl::StatusOr<v1::GetServerInfoResponse> Ask(const CommonOptions& options) {
  const absl::StatusOr<std::unique_ptr<Engine>> engine = Engine::Start(options);
  if (!engine.ok()) return engine.status();
  return (*engine)->info();
}

CommonOptions EngineOptions(const char* backend) {
  CommonOptions options;
  options.backend = backend;
  options.log_level = "off";
  return options;
}

Finding CheckCpu(const absl::StatusOr<v1::GetServerInfoResponse>& cpu) {
  if (cpu.ok()) return {.subject = "cpu", .text = DevicesOf(*cpu)};
  return {.subject = "cpu", .kind = Finding::Kind::kBad, .text = ErrorText(cpu.status())};
}

std::string JpegOf(const v1::GetServerInfoResponse& info) {
  std::string text;
  for (const v1::DeviceInfo& device : info.devices()) {
    absl::StrAppend(&text, text.empty() ? "" : "; ", device.device(), ": ",
                    JpegDecodersText(device));
  }
  if (const std::string frames = JpegFramesText(info); !frames.empty()) {
    absl::StrAppend(&text, "; frames so far: ", frames);
  }
  return text;
}

Finding CheckPower(const v1::GetServerInfoResponse& info) {
  if (HasPowerSource(info)) {
    return {.subject = "power", .text = absl::StrCat("read from ", info.power_source())};
  }
  return {.subject = "power",
          .kind = Finding::Kind::kNote,
          .text = "no sensor can be read; answers come without energy",
          .advice = "docs/metrics.md lists the sources, and what each needs"};
}

Finding CheckOpenFiles() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  Finding finding{.subject = "files",
                  .text = absl::StrCat("up to ", files.rlim_cur, " open files and connections")};
  if (files.rlim_cur < kFewFiles) {
    finding.kind = Finding::Kind::kNote;
    finding.advice = absl::StrCat("a server for many robots needs more: ulimit -n ", kFewFiles);
  }
  return finding;
}

// A server of another version works, as the wire contract only grows; newer parts are missing.
Finding JudgeServer(const std::string& address, const v1::GetServerInfoResponse& info) {
  Finding finding{.subject = "server",
                  .text = absl::StrCat(address, " answers: version ", info.version(), ", ",
                                       DevicesOf(info), "; JPEG files: ", JpegOf(info))};
  if (info.version() != kVersion) {
    finding.kind = Finding::Kind::kNote;
    absl::StrAppend(&finding.text, "; this program is ", kVersion);
    finding.advice = "install the same version on both sides to have every option";
  }
  return finding;
}

// Judges what a server says to a call with the token, or without one. There is no finding where it
// was not asked for either.
std::vector<Finding> JudgeToken(const CommonOptions& options, const absl::Status& answer) {
  if (answer.ok()) {
    if (options.token_file.empty()) return {};
    return {{.subject = "token", .text = "the server took the call with the token"}};
  }
  return {{.subject = "token",
           .kind = Finding::Kind::kBad,
           .text = ErrorText(answer),
           .advice = options.token_file.empty()
                         ? "give one: --token-file FILE; docs/configuration.md says how its "
                           "operator makes them"
                         : "the operator of the server knows its names and when they expire"}};
}

std::vector<Finding> CheckNamedServer(const CommonOptions& options) {
  // Reads the files and calls nobody.
  if (const auto engine = Engine::Connect(options); !engine.ok()) {
    return {
        {.subject = "options", .kind = Finding::Kind::kBad, .text = ErrorText(engine.status())}};
  }
  std::vector<Finding> findings;
  bool shows_certificate = false;  // to a server that wants one
  if (const std::optional<TlsProbe> tls = ProbeTls(options.server, options.tls_ca_file);
      tls.has_value()) {
    findings.push_back(
        JudgeTls(*tls, {.ca_file = options.tls_ca_file, .certificate_file = options.tls_cert_file},
                 absl::Now()));
    if (findings.back().kind == Finding::Kind::kBad) return findings;
    shows_certificate = tls->wants_certificate && !options.tls_cert_file.empty();
  }
  const absl::StatusOr<v1::GetServerInfoResponse> info = Ask(options);
  if (info.ok() || absl::IsUnauthenticated(info.status())) {
    for (Finding& token : JudgeToken(options, info.status())) findings.push_back(std::move(token));
    if (info.ok()) findings.push_back(JudgeServer(options.server, *info));
    return findings;
  }
  findings.push_back(
      {.subject = "server",
       .kind = Finding::Kind::kBad,
       .text = ErrorText(info.status()),
       .advice = shows_certificate
                     ? "does its log refuse the certificate of the client "
                       "(event=denied)? Its --tls-client-ca must have signed --tls-cert"
                     : "does it run there (orbserve-server --listen), does a firewall "
                       "stand between, and does it want TLS (--tls-ca) or a token "
                       "(--token-file)?"});
  return findings;
}

std::vector<Finding> CheckServer(CommonOptions options) {
  if (options.timeout_s <= 0) options.timeout_s = kServerTimeoutS;
  if (!options.server.empty()) return CheckNamedServer(options);
  std::vector<Finding> findings;
  if (PortIsFree(kGrpcPort)) {
    findings.push_back(
        {.subject = "server",
         .text = absl::StrCat("none on this machine; port ", kGrpcPort, " is free for one")});
  } else {
    options.server = kDefaultServer;
    const absl::StatusOr<v1::GetServerInfoResponse> info = Ask(options);
    if (info.ok()) {
      findings.push_back(JudgeServer(kDefaultServer, *info));
    } else {
      findings.push_back(
          {.subject = "server",
           .kind = Finding::Kind::kNote,
           .text = absl::StrCat("something that is no orbserve-server without TLS listens on port ",
                                kGrpcPort, ": ", ErrorText(info.status())),
           .advice = absl::StrCat("ss -ltnp 'sport = :", kGrpcPort,
                                  "' names it; choose another port with orbserve-server --listen "
                                  "127.0.0.1:PORT")});
    }
  }
  if (!PortIsFree(kMetricsPort) && PortIsFree(kGrpcPort)) {
    findings.push_back(
        {.subject = "metrics",
         .kind = Finding::Kind::kNote,
         .text =
             absl::StrCat("port ", kMetricsPort, ", on which a server shows its metrics, is taken"),
         .advice = "choose another with orbserve-server --http-listen 127.0.0.1:PORT"});
  }
  return findings;
}

const char* WordFor(Finding::Kind kind) {
  switch (kind) {
    case Finding::Kind::kGood:
      return "ok";
    case Finding::Kind::kNote:
      return "note";
    case Finding::Kind::kBad:
      return "BAD";
  }
  return "";
}

void PrintFinding(const Finding& finding, bool json) {
  if (json) {
    JsonWriter line;
    line.BeginObject().Key("check").String(finding.subject);
    line.Key("result").String(finding.kind == Finding::Kind::kBad ? "bad" : WordFor(finding.kind));
    line.Key("text").String(finding.text);
    if (!finding.advice.empty()) line.Key("advice").String(finding.advice);
    line.EndObject();
    PrintLine(line.text());
    return;
  }
  PrintTable(absl::StrFormat("%-5s%-9s%s\n", WordFor(finding.kind), finding.subject,
                             TerminalLine(finding.text)));
  if (!finding.advice.empty()) PrintTable(absl::StrFormat("%14s-> %s\n", "", finding.advice));
}

}  // namespace

int RunDoctor(const CommonOptions& options) {
  // The probe comes before the engines, which start threads.
  const DriverProbe driver = ProbeDriver();
  std::vector<Finding> findings;
  findings.push_back({.subject = "program", .text = absl::StrCat("orbserve ", kVersion)});
  const absl::StatusOr<v1::GetServerInfoResponse> cpu = Ask(EngineOptions("cpu"));
  findings.push_back(CheckCpu(cpu));
  const bool built = cpu.ok() && std::find(cpu->backends().begin(), cpu->backends().end(),
                                           "cuda") != cpu->backends().end();
  absl::StatusOr<v1::GetServerInfoResponse> cuda =
      absl::UnimplementedError("this program was built without CUDA");
  if (driver.result == DriverProbe::Result::kCrashes ||
      driver.result == DriverProbe::Result::kHangs) {
    cuda = absl::UnavailableError(driver.text);  // this process would do the same
  } else if (built) {
    cuda = Ask(EngineOptions("cuda"));
  }
  findings.push_back(
      JudgeGpu(ReadGpuState("/"), driver, built, cuda.status(), cuda.ok() ? DevicesOf(*cuda) : ""));
  if (cuda.ok() || cpu.ok()) {
    const v1::GetServerInfoResponse& used = cuda.ok() ? *cuda : *cpu;
    findings.push_back({.subject = "jpeg", .text = JpegOf(used)});
    findings.push_back(CheckPower(used));
  }
  findings.push_back(CheckOpenFiles());
  for (Finding& finding : CheckServer(options)) findings.push_back(std::move(finding));
  int bad = 0;
  for (const Finding& finding : findings) {
    PrintFinding(finding, options.json);
    bad += finding.kind == Finding::Kind::kBad ? 1 : 0;
  }
  if (!options.json) {
    PrintTable(bad > 0
                   ? "\nSomething does not work: see the lines marked BAD.\n"
                   : "\nAll that is needed works. First result: orbserve extract --draw pictures "
                     "photo.jpg\n");
  }
  return bad > 0 ? kExitFailed : kExitOk;
}

}  // namespace orbserve::cli
