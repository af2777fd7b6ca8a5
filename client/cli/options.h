// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The options of every command, as parsed. Defaults are documented in docs/cli.md.

#ifndef ORBSERVE_CLIENT_CLI_OPTIONS_H_
#define ORBSERVE_CLIENT_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace orbserve::cli {

// Where commands that only make sense with a server look for one.
inline constexpr char kDefaultServer[] = "127.0.0.1:50051";

// What every command takes.
struct CommonOptions {
  std::string server;                     // "" = the embedded engine
  std::string client_id;                  // "" = orbserve@HOSTNAME
  std::string tls_ca_file;                // "" = plain text
  std::string tls_cert_file;              // the client's own; "" = none
  std::string tls_key_file;               // of `tls_cert_file`
  std::optional<std::string> token_file;  // reserved: refused until servers take tokens
  double timeout_s = 0;                   // of one call; 0 = no limit
  std::string backend;                    // of the embedded engine; "" = auto
  int threads = 0;                        // of the embedded engine; 0 = one a core
  std::string log_level;                  // of the embedded engine; "" = warning
  bool quiet = false;                     // errors only on standard error
  bool json = false;                      // JSON on standard output
};

// What every command takes that looks at images.
struct ImageOptions {
  std::string pipeline;  // preset or file; "" = the server's default
  std::optional<uint32_t> max_features;
  std::string mask_file;  // "" = none
};

struct ExtractOptions {
  CommonOptions common;
  ImageOptions image;
  std::vector<std::string> inputs;
  std::string out_folder;   // "" = none
  std::string format;       // "" = npz with `out_folder`, else a table
  std::string draw_folder;  // "" = none
  std::string shard;        // "" = everything
  bool resume = false;
};

struct MatchCommandOptions {
  CommonOptions common;
  ImageOptions image;
  std::string query;
  std::string train;      // "" with `reference`
  std::string reference;  // "" with `train`
  bool cross_check = false;
  std::optional<float> ratio;
  std::optional<uint32_t> max_distance;
  std::string draw_file;
};

struct StreamOptions {
  CommonOptions common;
  ImageOptions image;
  std::string source;
  double fps = 0;  // 0 = as fast as answers come
  bool track = false;
  bool cross_check = false;
  std::optional<float> ratio;
  std::optional<uint32_t> max_distance;
  std::vector<std::string> references;
  std::string draw_folder;
};

struct ReferenceOptions {
  CommonOptions common;
  ImageOptions image;
  std::string name;
  std::string source;  // image or NPZ file
};

// Each runs a command and returns its exit code.
int RunExtract(const ExtractOptions& options);
int RunMatch(const MatchCommandOptions& options);
int RunStream(const StreamOptions& options);
int RunReferencePut(const ReferenceOptions& options);
int RunReferenceList(const ReferenceOptions& options);
int RunReferenceDelete(const ReferenceOptions& options);
int RunInfo(const CommonOptions& options);
int RunHealth(const CommonOptions& options);

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OPTIONS_H_
