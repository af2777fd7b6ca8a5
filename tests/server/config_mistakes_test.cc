// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Mistakes of configuration files, and the lines that tell of them.

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/program.h"
#include "tests/client/temporary_folder.h"
#include "tests/support/certificates.h"

namespace orbserve {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

struct Mistake {
  const char* text;     // of the file; FOLDER/ has files and nothing else
  const char* message;  // LINE:COLUMN: stands for the file's name with them
};

// Each file has one mistake.
constexpr Mistake kMistakes[] = {
    // Keys that do not exist.
    {"listne: \"localhost:0\"", "1:7: there is no key listne; did you mean listen?"},
    {"http: \":9464\"", "1:5: there is no key http; did you mean http_listen?"},
    {"log_levl: \"info\"", "1:9: there is no key log_levl; did you mean log_level?"},
    {"batching { max_bach: 3 }",
     "1:20: there is no key batching.max_bach; did you mean batching.max_batch?"},
    {"batchin { max_batch: 3 }", "1:9: there is no key batchin; did you mean batching?"},
    {"max_streams: 3", "1:12: there is no key max_streams; did you mean limits.max_streams?"},
    {"batching { max_streams: 3 }",
     "1:23: there is no key batching.max_streams; did you mean limits.max_streams?"},
    {"limits { max_side: 640 }",
     "1:18: there is no key limits.max_side; did you mean limits.max_side_px?"},
    {"limits { max_pixel: 640 }",
     "1:19: there is no key limits.max_pixel; did you mean limits.max_pixels?"},
    {"tls { cert: \"c\" }", "1:11: there is no key tls.cert; did you mean tls.cert_file?"},
    {"tls { certfile: \"c\" }", "1:15: there is no key tls.certfile; did you mean tls.cert_file?"},
    {"\n\n  drain {\n  time_out_ms: 5 }",
     "4:14: there is no key drain.time_out_ms; did you mean drain.timeout_ms?"},
    {"shares { name: \"unix:\" owner: \"unix:\" weight: 1 }", "1:14: there is no key shares.name"},
    {"shares { owner: \"unix:\" wieght: 2 weight: 1 }",
     "1:31: there is no key shares.wieght; did you mean shares.weight?"},
    {"color: \"red\"", "1:6: there is no key color"},
    {"tls { ca_file: \"c\" }",
     "1:14: there is no key tls.ca_file; did you mean tls.client_ca_file?"},
    // Keys that are gone.
    {"limits { max_answer_bytes: 5 }",
     "1:26: limits.max_answer_bytes is gone: it is derived from limits.memory_bytes"},
    {"batching { max_delay_us: 5 }",
     "1:24: batching.max_delay_us is gone: use batching.max_queue_delay_us"},
    // Values of the wrong type, and keys given twice.
    {"listen: 5", "1:9: listen: Expected string, got: 5"},
    {"batching { max_batch: -1 }", "1:23: max_batch: Expected integer, got: -"},
    {"batching { max_batch: \"3\" }", "1:23: max_batch: Expected integer, got: \"3\""},
    {"batching { max_batch: 1.5 }", "1:23: max_batch: Expected integer, got: 1.5"},
    {"batching { max_batch: 4294967296 }", "1:23: max_batch: Integer out of range (4294967296)"},
    {"batching { max_batch 3 }", "1:22: max_batch: Expected \":\", found \"3\"."},
    {"batching: 3", "1:11: batching: Expected \"{\", found \"3\"."},
    {"listen { }", "1:8: listen: Expected \":\", found \"{\"."},
    {"log_level: info", "1:12: log_level: Expected string, got: info"},
    {"insecure: \"yes\"", "1:11: insecure: Expected identifier, got: \"yes\""},
    {"backend { devices: [0, \"gpu\"] }", "1:24: devices: Expected integer, got: \"gpu\""},
    {"drain { delay_ms: 1 delay_ms: 2 }",
     "1:29: delay_ms: Non-repeated field \"delay_ms\" is specified multiple times."},
    {"drain { delay_ms: 1 }\ndrain { timeout_ms: 2 }",
     "2:7: drain: Non-repeated field \"drain\" is specified multiple times."},
    // Braces.
    {"batching { max_batch: 3", "1:24: Expected identifier, got: the end"},
    {"batching { max_batch: 3 } }", "1:27: Expected identifier, got: } (what follows is not read)"},
    // Values that are not allowed.
    {"log_level: \"loud\"",
     "log_level must be one of trace, debug, info, warning, error, off; got \"loud\""},
    {"log_format: \"xml\"", "log_format must be one of text, json; got \"xml\""},
    {"backend { name: \"tpu\" }",
     "backend.name must be one of auto, cpu, cpu-reference, cuda; got \"tpu\""},
    {"backend { jpeg: \"device\" }", "backend.jpeg must be one of auto, host; got \"device\""},
    {"power { source: \"guess\" }", "power.source must be one of auto, none; got \"guess\""},
    {"batching { max_batch: 0 }", "batching.max_batch must be in [1, 256]; got 0"},
    {"limits { max_side_px: 32768 }", "limits.max_side_px must be in [1, 32767]; got 32768"},
    {"limits { memory_bytes: 4096 }",
     "limits.memory_bytes must be in [67108864, 1099511627776]; got 4096"},
    {"keepalive { time_ms: 20 }", "keepalive.time_ms must be in [1000, 3600000]; got 20"},
    {"backend { devices: 2 devices: 2 }",
     "backend.devices must name each device once; got 2 twice"},
    // Addresses.
    {"listen: \"localhost\"",
     "listen must be HOST:PORT or [IPV6]:PORT with a port of 0..65535, unix:PATH or "
     "unix-abstract:NAME; got \"localhost\""},
    {"listen: \"0.0.0.0:50051\"",
     "listen 0.0.0.0:50051 would serve plain text to other machines; use TLS (--tls-cert, "
     "--tls-key), an address of this machine only, or --insecure"},
    {"listen: \"127.0.0.1:9464\"",
     "listen and http_listen must differ; got 127.0.0.1:9464 and 127.0.0.1:9464"},
    {"listen: \"localhost:50051\" http_listen: \":50051\"",
     "listen and http_listen must differ; got localhost:50051 and :50051"},
    {"listen: \"[::]:50051\" insecure: true http_listen: \"127.0.0.1:50051\"",
     "listen and http_listen must differ; got [::]:50051 and 127.0.0.1:50051"},
    {"listen: \"unix:FOLDER/none/socket\"",
     "listen: the folder FOLDER/none of the Unix socket cannot be used: No such file or directory"},
    {"listen: \"unix:FOLDER/cert.pem/socket\"",
     "listen: FOLDER/cert.pem must be a folder, to have a Unix socket"},
    {"listen: \"unix:FOLDER\"", "listen: FOLDER is there, and is no Unix socket"},
    {"listen: \"unix:FOLDER/tokens\"", "listen: FOLDER/tokens is there, and is no Unix socket"},
    {"http_listen: \"9464\"",
     "http_listen must be HOST:PORT, [IPV6]:PORT or :PORT with a port of 0..65535, or empty for "
     "none; got \"9464\""},
    {"trusted_proxies: \"proxy\"",
     "trusted_proxies must be addresses (192.0.2.7), networks (192.0.2.0/24, 2001:db8::/32) or "
     "unix:; got \"proxy\""},
    {"trusted_proxies: \"10.0.0.7/8\"",
     "trusted_proxies must have an address or the first one of a network, 10.0.0.0/8; got "
     "\"10.0.0.7/8\""},
    // Owners.
    {"shares { owner: \"robot-7\" weight: 2 }",
     "shares.owner must begin with addr:, cert: or token:, or be unix:; got \"robot-7\""},
    {"shares { owner: \"token:robot-7\" weight: 2 }",
     "shares.owner is known only with token_file; got \"token:robot-7\""},
    {"shares { owner: \"cert:robot-7\" weight: 2 }",
     "shares.owner is known only with tls.client_ca_file; got \"cert:robot-7\""},
    {"token_file: \"FOLDER/tokens\" shares { owner: \"token:\" weight: 2 }",
     "shares.owner must be token: and 1 to 128 letters, digits, '.', '_' and '-'; got \"token:\""},
    {"token_file: \"FOLDER/tokens\" shares { owner: \"token:robot 7\" weight: 2 }",
     "shares.owner must be token: and 1 to 128 letters, digits, '.', '_' and '-'; got "
     "\"token:robot 7\""},
    {"tls { cert_file: \"FOLDER/cert.pem\" key_file: \"FOLDER/key.pem\" client_ca_file: "
     "\"FOLDER/cert.pem\" } shares { owner: \"cert:\" weight: 2 }",
     "shares.owner must be cert: and 1 to 512 bytes of printable ASCII; got \"cert:\""},
    {"shares { owner: \"addr:192.0.2.7:50051\" weight: 2 }",
     "shares.owner must be written addr:192.0.2.7; got \"addr:192.0.2.7:50051\""},
    {"shares { owner: \"addr:2001:DB8::7\" weight: 2 }",
     "shares.owner must be written addr:2001:db8::7; got \"addr:2001:DB8::7\""},
    {"shares { owner: \"addr:robot-7\" weight: 2 }",
     "shares.owner must be an IP address behind addr:; got \"addr:robot-7\""},
    {"token_file: \"FOLDER/tokens\" shares { owner: \"addr:192.0.2.7\" weight: 2 }",
     "shares.owner must be token:NAME where token_file is set; got \"addr:192.0.2.7\""},
    {"shares { owner: \"unix:\" weight: 1 } shares { owner: \"unix:\" weight: 2 }",
     "shares.owner must name each owner once; got unix: twice"},
    {"shares { owner: \"unix:\" }", "shares.weight must be in [0.01, 100]; got 0"},
    {"shares { weight: 2 }", "shares.owner must name an owner, such as \"addr:192.0.2.7\""},
    // Parts that are larger than their wholes.
    {"limits { memory_bytes: 134217728 max_reference_bytes: 67108865 }",
     "limits.max_reference_bytes must be at most half of limits.memory_bytes, 67108864; got "
     "67108865"},
    {"limits { max_reference_bytes: 4096 max_reference_bytes_per_client: 4097 }",
     "limits.max_reference_bytes_per_client must be at most limits.max_reference_bytes, 4096; got "
     "4097"},
    {"limits { max_streams: 4 max_streams_per_client: 5 }",
     "limits.max_streams_per_client must be at most limits.max_streams, 4; got 5"},
    {"backend { device_deadline_ms: 5 }",
     "batching.max_batch_time_ms must be at most backend.device_deadline_ms, 5; got 10"},
    // Files.
    {"token_file: \"FOLDER/none\"",
     "token_file FOLDER/none: cannot be read: No such file or directory"},
    {"tls { cert_file: \"FOLDER/cert.pem\" }",
     "tls.cert_file and tls.key_file must be given together"},
    {"tls { cert_file: \"FOLDER/cert.pem\" key_file: \"FOLDER/none\" }",
     "tls.key_file FOLDER/none: cannot be read: No such file or directory"},
    {"tls { client_ca_file: \"FOLDER/cert.pem\" }",
     "tls.client_ca_file needs tls.cert_file and tls.key_file"},
    {"tls { cert_file: \"FOLDER/cert.pem\" key_file: \"FOLDER/key.pem\" client_ca_file: "
     "\"FOLDER/cert.pem\" } token_file: \"FOLDER/tokens\"",
     "tls.client_ca_file and token_file exclude each other: a client is its certificate or its "
     "token"},
};

class ConfigMistakesTest : public ::testing::Test {
 protected:
  ConfigMistakesTest() {
    const testing::CertificateAndKey own = testing::MakeCertificate();
    folder_.Write("cert.pem", own.certificate);
    folder_.Write("key.pem", own.key);
    folder_.Write("tokens", "");
  }

  std::string InFolder(const std::string& text) const {
    return absl::StrReplaceAll(text, {{"FOLDER", folder_.path()}});
  }
  // The lines about a file, without the names of program and file. The program runs in this
  // process: where there are devices, each new process waits for their driver.
  std::vector<std::string> LinesAbout(const std::string& text) const {
    const std::string file = folder_.Write("server.textproto", InFolder(text));
    std::string words[] = {"orbserve-server", "--check-config", "--config", file};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int code = RunServerProgram(static_cast<int>(argv.size()), argv.data());
    const std::string told = ::testing::internal::GetCapturedStderr();
    EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
    EXPECT_EQ(code, 2) << text.substr(0, 1000) << "\n" << told;
    const std::string plain =
        absl::StrReplaceAll(told, {{"orbserve-server: ", ""}, {file + ":", ""}});
    return absl::StrSplit(plain, '\n', absl::SkipEmpty());
  }

  const testing::TemporaryFolder folder_;
};

TEST_F(ConfigMistakesTest, EachIsToldInOneLine) {
  for (const Mistake& mistake : kMistakes) {
    EXPECT_THAT(LinesAbout(mistake.text), ElementsAreArray({InFolder(mistake.message)}))
        << mistake.text;
  }
}

TEST_F(ConfigMistakesTest, AllOfOneFileAreToldInOneRun) {
  const char* const text = R"(listen: "localhost:9464"
log_levl: "debug"
log_format: json
backend { name: "gpu" threads: 2000 device: 1 devices: [1, "2"] }
batching {
	max_batch: -4 max_bach: 3
}
limits { max_streams: 8 max_streams_per_client: 9 max_side_px: 4096 max_side_px: 4096 }
shares { owner: "robot-7" weight: 2 }
keepalive { time_ms: "20" }
trusted_proxies: "proxy"
trusted_proxies: "10.0.0.0/33"
tls { cert_file: "FOLDER/a" key_file: "FOLDER/b" client_ca_file: "FOLDER/c" }
)";
  std::vector<std::string> expected = {
      "2:9: there is no key log_levl; did you mean log_level?",
      "3:13: log_format: Expected string, got: json",
      "4:43: there is no key backend.device; did you mean backend.devices?",
      "4:60: devices: Expected integer, got: \"2\"",
      "6:20: max_batch: Expected integer, got: -",
      "6:31: there is no key batching.max_bach; did you mean batching.max_batch?",
      "8:80: max_side_px: Non-repeated field \"max_side_px\" is specified multiple times.",
      "10:22: time_ms: Expected integer, got: \"20\"",
      "backend.name must be one of auto, cpu, cpu-reference, cuda; got \"gpu\"",
      "backend.threads must be in [0, 1024]; got 2000",
      "limits.max_streams_per_client must be at most limits.max_streams, 8; got 9",
      "shares.owner must begin with addr:, cert: or token:, or be unix:; got \"robot-7\"",
      "trusted_proxies must be addresses (192.0.2.7), networks (192.0.2.0/24, 2001:db8::/32) or "
      "unix:; got \"proxy\"",
      "trusted_proxies must be addresses (192.0.2.7), networks (192.0.2.0/24, 2001:db8::/32) or "
      "unix:; got \"10.0.0.0/33\"",
      "listen and http_listen must differ; got localhost:9464 and 127.0.0.1:9464",
      "tls.cert_file FOLDER/a: cannot be read: No such file or directory",
      "tls.key_file FOLDER/b: cannot be read: No such file or directory",
      "tls.client_ca_file FOLDER/c: cannot be read: No such file or directory",
  };
  for (std::string& line : expected) line = InFolder(line);
  EXPECT_THAT(LinesAbout(text), ElementsAreArray(expected));
}

TEST_F(ConfigMistakesTest, MoreMemoryThanTheMachineHasIsOne) {
  const std::vector<std::string> lines = LinesAbout("limits { memory_bytes: 1099511627776 }");
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_THAT(lines[0], AllOf(HasSubstr("limits.memory_bytes must be at most what the process may"),
                              HasSubstr("; got 1099511627776")));
}

TEST_F(ConfigMistakesTest, ManyAreToldUpToABoundInAMoment) {
  std::string text;
  for (int i = 0; i < 1000; ++i) absl::StrAppend(&text, "listen: ", i, "\n");
  const std::vector<std::string> lines = LinesAbout(text);
  ASSERT_EQ(lines.size(), 100u);
  EXPECT_EQ(lines[98], "99:9: listen: Expected string, got: 98");
  EXPECT_EQ(lines[99], "100:9: Expected string, got: 99 (what follows is not read)");
}

TEST_F(ConfigMistakesTest, DeepBracketsAreRefused) {
  std::string text;
  for (int i = 0; i < 1'000'000; ++i) absl::StrAppend(&text, "a{");
  EXPECT_THAT(LinesAbout(text), ElementsAreArray({"1:34: brackets are nested deeper than 16"}));
}

}  // namespace
}  // namespace orbserve
