// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The options of every command, as parsed. Defaults are documented in docs/cli.md.

#ifndef ORBSERVE_CLIENT_CLI_OPTIONS_H_
#define ORBSERVE_CLIENT_CLI_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/pipeline_flags.h"

namespace orbserve::cli {

// Address that commands which need a server use when none is given.
inline constexpr char kDefaultServer[] = "127.0.0.1:50051";

// Length of a simulated flight.
inline constexpr int64_t kSimulatedFrames = 300;

// Largest distance of an inlier from the epipolar geometry, pixels.
inline constexpr double kVerifyPx = 3;

// Time for which a stream tries to reach a lost server again: a server that is restarted is back
// within it.
inline constexpr double kReconnectSeconds = 30;

// Options that every command takes.
struct CommonOptions {
  std::string server;                 // "" = the embedded engine
  std::string client_id;              // "" = orbserve@HOSTNAME
  std::string tls_ca_file;            // "" = plain text
  std::string tls_cert_file;          // the client's own certificate; "" = none
  std::string tls_key_file;           // key of `tls_cert_file`
  std::string token_file;             // its first line is the token to show to the server
  double timeout_s = 0;               // of one call; 0 = no limit
  std::optional<double> keepalive_s;  // longest silence of a connection
  std::string backend;                // of the embedded engine; "" = auto
  int threads = 0;                    // of the embedded engine; 0 = one per core
  std::string log_level;              // of the embedded engine; "" = warning
  bool own_connection = false;        // one that no other engine of this process shares
  bool time_stages = false;           // the embedded engine times every batch, also on CUDA
  bool quiet = false;                 // only errors on standard error
  bool json = false;                  // JSON on standard output
};

// Options of every command that reads images.
struct ImageOptions {
  std::string pipeline;      // preset or file; "" = the server's default
  PipelineFlagValues flags;  // single options of the pipeline, in place of its own
  std::string mask_file;     // "" = none
};

// The camera of all images, for a COLMAP database.
struct ColmapCameraOptions {
  double focal_px = 0;  // 0 = unknown
  std::string model;    // COLMAP's name of it; "" = SIMPLE_RADIAL
  std::string params;   // of the model, with commas between them; "" = unknown

  bool given() const { return focal_px > 0 || !model.empty() || !params.empty(); }
};

struct ExtractOptions {
  CommonOptions common;
  ImageOptions image;
  std::vector<std::string> inputs;
  std::string out_folder;      // "" = none
  std::string format;          // "" = npz with `out_folder`, else a table
  std::string draw_folder;     // "" = none
  ColmapCameraOptions camera;  // of `format` colmap
  std::string sheet_file;      // page with small pictures of all images; "" = none
  std::string shard;           // "" = everything
  bool resume = false;
  bool timings = false;  // a summary of the times of every stage
  bool power = false;    // a summary of the energy
};

struct PowerOptions {
  CommonOptions common;
  double interval_s = 1;  // > 0
  bool once = false;      // end after one interval
};

struct MatchCommandOptions {
  CommonOptions common;
  ImageOptions image;
  std::vector<std::string>
      inputs;             // two images; one with `reference`; folders with a list of pairs
  std::string reference;  // "" = none
  std::string draw_file;  // "" = none
  // Pairs of the images in folders; at most one of these is set.
  std::string pairs_file;  // "" = none
  bool exhaustive = false;
  int sequential = 0;  // each image with as many that follow; 0 = off
  // Geometric check.
  bool verify = false;
  std::optional<double> verify_px;  // largest distance from the epipolar geometry
  bool inliers = false;             // colour the picture by the check
  // Files of the pairs.
  std::string out_folder;      // "" = none
  std::string format;          // "" = npz with `out_folder`
  ColmapCameraOptions camera;  // of `format` colmap
  bool resume = false;

  bool has_pairs() const { return !pairs_file.empty() || exhaustive || sequential > 0; }
};

struct StreamOptions {
  CommonOptions common;
  ImageOptions image;
  std::string source;         // "" with `photo`
  std::string photo;          // of --simulate
  std::string size;           // of frames of a camera: "640x480"; "" = its own
  std::string camera_format;  // "" = the first that the camera has
  // These values of y16 become black and white; 0, 0 = 0 and 65535.
  std::pair<int, int> camera_window = {0, 0};
  double fps = 0;      // 0 = as fast as answers come, or the rate of a camera
  int64_t frames = 0;  // most frames; 0 = all, --simulate: kSimulatedFrames
  bool track = false;
  bool match_keyframe = false;
  uint32_t keyframe_every = 0;         // 0 = no such rule
  uint32_t keyframe_lost_percent = 0;  // 0 = no such rule
  std::string drop_policy;             // "" = block
  uint32_t deadline_ms = 0;            // 0 = none
  std::optional<double> jpeg_age_s;    // wanted age of answers, by JPEG files; none = raw pixels
  std::optional<double> reconnect_s;   // 0 = a lost connection ends the stream
  std::vector<std::string> references;
  bool matches = false;  // the rows and points of all matches in the JSON
  std::string draw;      // folder, or a file that ends in .y4m; "" = none
};

struct BenchOptions {
  CommonOptions common;
  ImageOptions image;
  std::vector<std::string> inputs;  // none = a synthetic image
  std::string presets;              // that take turns: "orb,vio"; "" = `image`
  std::string concurrency;          // closed loops: "1,2,4"; "" = a default unless there are rates
  std::string rates;                // open loops, frames per second: "100,200"
  std::string arrivals;             // of an open loop: poisson or constant; "" = poisson
  double percentile = 99;           // of the latency, shown beside the usual ones
  double search_p99_ms = 0;         // search the highest rate with this limit; 0 = off
  int streams = 0;                  // 0 = a call for each frame
  int connections = 0;              // 0 = one
  bool raw = false;                 // send the pixels of a JPEG
  double duration_s = 5;            // of each measurement
  double warm_up_s = 1;             // before each
  std::string metrics;              // HOST:PORT of the server's metrics; "" = none
  std::string svg_file;             // "" = none
};

struct ShowOptions {
  CommonOptions common;
  std::string features;  // NPZ file
  std::string image;
  std::string draw_file;  // "" = IMAGE.features.png in the working folder
};

struct ReferenceOptions {
  CommonOptions common;
  ImageOptions image;
  std::string name;
  std::string source;  // image or NPZ file
};

}  // namespace orbserve::cli

#endif  // ORBSERVE_CLIENT_CLI_OPTIONS_H_
