// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// The program `orbserve`: reads the command line and runs one command. docs/cli.md describes it.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <type_traits>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/exit_code.h"
#include "client/cli/nearest_word.h"
#include "client/cli/options.h"
#include "client/cli/output/standard_output.h"
#include "client/cli/output/terminal_text.h"
#include "features/standard_streams.h"
#include "features/uncaught.h"
#include "orbserve/version.h"
#include "server/process/memory/heap_trimmer.h"

namespace orbserve::cli {
namespace {

// A bound as people write it: 1000000, not 1e+06.
std::string Plain(double value) { return absl::StrFormat("%.15g", value); }

// Check of an option: a number from `low` to `high`, and a whole one if these are.
template <typename T>
CLI::Validator InRange(T low, T high) {
  return CLI::Validator(
      [low, high](std::string& text) {
        T value{};
        bool number = false;
        if constexpr (std::is_floating_point_v<T>) {
          number = absl::SimpleAtod(text, &value);
        } else {
          number = absl::SimpleAtoi(text, &value);
        }
        // NaN fails both comparisons.
        if (number && value >= low && value <= high) return std::string();
        return absl::StrCat("must be a ", std::is_floating_point_v<T> ? "" : "whole ",
                            "number from ", Plain(static_cast<double>(low)), " to ",
                            Plain(static_cast<double>(high)), "; got ", text);
      },
      "");
}

// Check of an option: one of these words.
CLI::Validator OneOf(const std::vector<std::string>& words) {
  return CLI::Validator(
      [words](std::string& text) {
        if (std::find(words.begin(), words.end(), text) != words.end()) return std::string();
        return absl::StrCat("must be one of ", absl::StrJoin(words, ", "), "; got ", text);
      },
      "");
}

void AddCommonOptions(CLI::App* app, CommonOptions* options) {
  app->add_option("--server", options->server,
                  "Server that answers; default the engine in this program")
      ->type_name("HOST:PORT");
  app->add_option("--client-id", options->client_id,
                  "Owner of references and quotas; default orbserve@HOSTNAME")
      ->type_name("NAME");
  app->add_option("--tls-ca", options->tls_ca_file,
                  "PEM certificates to check the server with; default plain text")
      ->type_name("FILE");
  app->add_option("--tls-cert", options->tls_cert_file,
                  "PEM certificate to show to the server; with --tls-ca and --tls-key")
      ->type_name("FILE");
  app->add_option("--tls-key", options->tls_key_file,
                  "PEM private key of --tls-cert, without a pass phrase")
      ->type_name("FILE");
  app->add_option("--token-file", options->token_file,
                  "File whose first line is the token to show to the server")
      ->type_name("FILE");
  app->add_option("--timeout", options->timeout_s, "Time limit of one call; 0 = no limit")
      ->type_name("SECONDS")
      ->check(InRange(0.0, 86400.0));
  app->add_option("--keepalive", options->keepalive_s,
                  "Silence of a --server after which a stream's connection is lost; default 2.25, "
                  "or 10 for frames without a pace")
      ->type_name("SECONDS")
      ->check(InRange(2.0, 86400.0));
  app->add_option("--backend", options->backend,
                  "Backend of the embedded engine: auto, cpu, cpu-reference, cuda")
      ->type_name("NAME")
      ->check(OneOf({"auto", "cpu", "cpu-reference", "cuda"}));
  app->add_option("--threads", options->threads,
                  "CPU threads of the embedded engine; default one per core")
      ->type_name("N")
      ->check(InRange(1, 1024));
  app->add_option("--log-level", options->log_level,
                  "Log of the embedded engine: trace, debug, info, warning, error, off")
      ->type_name("LEVEL")
      ->check(OneOf({"trace", "debug", "info", "warning", "error", "off"}));
  app->add_flag("--quiet,-q", options->quiet, "Print only errors on standard error");
  app->add_flag("--json", options->json, "Print JSON on standard output, one object per line");
}

// Work of a command on features. Each kind includes those before it.
enum class Does { kExtract, kMatch, kTrack };

// Adds a flag for every option of the pipeline that concerns the command. Flags that are given
// twice are kept twice, because ApplyPipelineFlags() names both values.
void AddPipelineFlags(CLI::App* app, Does does, PipelineFlagValues* values) {
  for (const PipelineFlag& flag : PipelineFlags()) {
    if (flag.is_matching() && does == Does::kExtract) continue;
    if (flag.is_tracking() && does != Does::kTrack) continue;
    std::vector<std::string>* const given = &(*values)[flag.name];
    const char* const group = flag.is_matching()   ? "Matching"
                              : flag.is_tracking() ? "Tracks (with --track)"
                                                   : "Pipeline";
    if (flag.off != nullptr) {
      app->add_flag_callback(
             flag.name, [given] { given->emplace_back("true"); }, flag.help)
          ->group(group);
      app->add_flag_callback(
             flag.off, [given] { given->emplace_back("false"); }, std::string("Not ") + flag.name)
          ->group(group);
      continue;
    }
    app->add_option(
           flag.name,
           [given](const CLI::results_t& results) {
             given->assign(results.begin(), results.end());
             return true;
           },
           flag.help)
        ->type_name(flag.ValueName())
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
  }
}

void AddImageOptions(CLI::App* app, Does does, ImageOptions* options) {
  app->add_option("--pipeline", options->pipeline,
                  "Preset, or a file with orbserve.v1.Pipeline in text format")
      ->type_name("PRESET|FILE.textproto");
  app->add_option("--mask", options->mask_file,
                  "PNG, PGM or PPM of the images' size; no features where it is black")
      ->type_name("FILE");
  AddPipelineFlags(app, does, &options->flags);
}

// Options of --format colmap. `group`: where --help lists them.
void AddCameraOptions(CLI::App* app, const char* group, ColmapCameraOptions* options) {
  app->add_option("--focal", options->focal_px,
                  "COLMAP: known focal length of the camera, pixels; default a guess")
      ->type_name("PX")
      ->check(InRange(0.001, 1e9))
      ->group(group);
  app->add_option("--camera-model", options->model,
                  "COLMAP: model of the camera, by COLMAP's name; default SIMPLE_RADIAL")
      ->type_name("MODEL")
      ->group(group);
  app->add_option("--camera-params", options->params,
                  "COLMAP: known parameters of the model, in COLMAP's order")
      ->type_name("P,...")
      ->group(group);
}

void AddMatchOptions(CLI::App* app, MatchCommandOptions* options) {
  AddCommonOptions(app, &options->common);
  AddImageOptions(app, Does::kMatch, &options->image);
  app->add_option("--reference", options->reference, "Match with this reference of the server")
      ->type_name("NAME");
  app->add_option("--draw", options->draw_file, "Write a picture of the matches of two images")
      ->type_name("FILE.png");
  app->add_flag("--inliers", options->inliers,
                "Colour the picture by --verify instead of by distance");
  app->add_flag("--verify", options->verify,
                "Check the matches geometrically: fundamental matrix by RANSAC");
  app->add_option("--verify-px", options->verify_px,
                  "Largest distance of an inlier from the geometry, pixels; default 3")
      ->type_name("PX")
      ->check(InRange(0.01, 100.0));
  CLI::Option* const pairs =
      app->add_option("--pairs", options->pairs_file,
                      "Match the pairs in this file: two names of images on each line")
          ->type_name("FILE")
          ->group("Folders");
  CLI::Option* const exhaustive =
      app->add_flag("--exhaustive", options->exhaustive, "Match every pair of images")
          ->group("Folders")
          ->excludes(pairs);
  app->add_option("--sequential", options->sequential,
                  "Match each image with the N images behind it")
      ->type_name("N")
      ->check(InRange(1, 1'000'000))
      ->group("Folders")
      ->excludes(pairs)
      ->excludes(exhaustive);
  app->add_option("--out", options->out_folder, "Write features and matches into this folder")
      ->type_name("DIR")
      ->group("Folders");
  app->add_option("--format", options->format, "npz (default), hdf5 (hloc) or colmap")
      ->type_name("FORMAT")
      ->group("Folders");
  app->add_flag("--resume", options->resume,
                "Skip images and pairs whose output in --out was made with the same options")
      ->group("Folders");
  AddCameraOptions(app, "Folders", &options->camera);
  app->add_option("INPUT", options->inputs,
                  "Two images: query and train; one with --reference; or folders of images, or of "
                  "NPZ files of an earlier run")
      ->required();
}

void AddSourceOptions(CLI::App* app, StreamOptions* options) {
  app->add_option("SOURCE", options->source,
                  "Folder of images, Y4M or MJPEG file, - for one of these two on stdin, or a "
                  "camera (/dev/video0); not with --simulate")
      ->group("Source");
  app->add_option("--simulate", options->photo,
                  "Simulate a camera that flies over this photograph, and print its true motion")
      ->type_name("PHOTO")
      ->group("Source");
  app->add_option("--size", options->size,
                  "Size of the frames of a camera; simulated: default 640x480")
      ->type_name("WxH")
      ->group("Source");
  app->add_option("--fps", options->fps,
                  "Frames to send per second; default as fast as possible. Rate of a camera")
      ->type_name("F")
      ->check(InRange(0.0, 10000.0))
      ->group("Source");
  app->add_option("--frames", options->frames,
                  "End after N frames; --simulate: length of the flight, default 300")
      ->type_name("N")
      ->check(InRange(int64_t{1}, int64_t{1} << 40))
      ->group("Source");
  app->add_option("--camera-format", options->camera_format,
                  "Format of a camera's frames; default the first of these that it has")
      ->type_name("mjpeg|yuyv|uyvy|grey|bayer|y16")
      ->check(OneOf({"mjpeg", "yuyv", "uyvy", "grey", "bayer", "y16"}))
      ->group("Source");
  app->add_option("--camera-window", options->camera_window,
                  "Values of --camera-format y16 that become black and white; default 0 65535")
      ->type_name("LOW HIGH")
      ->check(InRange(0, 65535))
      ->group("Source");
}

void AddStreamOptions(CLI::App* app, StreamOptions* options) {
  AddCommonOptions(app, &options->common);
  AddImageOptions(app, Does::kTrack, &options->image);
  AddSourceOptions(app, options);
  app->add_flag("--track", options->track,
                "Keep tracks; the pipeline is then odometry unless --pipeline names another");
  app->add_flag("--match-keyframe", options->match_keyframe,
                "Match every frame with the last keyframe, too");
  app->add_option("--keyframe-every", options->keyframe_every,
                  "Make one frame in N a keyframe, 1 to 1000000")
      ->type_name("N")
      ->check(InRange(1, 1000000));
  app->add_option("--keyframe-lost-percent", options->keyframe_lost_percent,
                  "Make a keyframe when more of the last one's tracks have ended, 1 to 99; with "
                  "--track")
      ->type_name("PERCENT")
      ->check(InRange(1, 99));
  app->add_option(
         "--drop-policy", options->drop_policy,
         "Frames that survive when server or link are too slow; block (default) drops none")
      ->type_name("block|newest|oldest");
  app->add_option("--deadline-ms", options->deadline_ms,
                  "Longest time from the capture of a frame to its answer")
      ->type_name("MS")
      ->check(InRange(1, 86'400'000));
  app->add_option(
         "--jpeg-age", options->jpeg_age_s,
         "Send raw frames to --server as JPEG files, of a quality that keeps answers about "
         "this young")
      ->type_name("SECONDS")
      ->check(InRange(0.001, 86400.0));
  app->add_option(
         "--reconnect", options->reconnect_s,
         "Time to try to reach a --server that is lost, or not up yet; default 30, 0 = one try")
      ->type_name("SECONDS")
      ->check(InRange(0.0, 1e6));
  app->add_option("--reference", options->references,
                  "Match every frame with this reference of the server, too; up to 16 times")
      ->allow_extra_args(false)
      ->type_name("NAME");
  app->add_flag("--matches", options->matches, "With --json: print every match");
  app->add_option("--draw", options->draw,
                  "Write pictures of the frames into this folder, or one video (Y4M)")
      ->type_name("DIR|FILE.y4m");
}

void AddBenchOptions(CLI::App* app, BenchOptions* options) {
  AddCommonOptions(app, &options->common);
  AddImageOptions(app, Does::kExtract, &options->image);
  app->add_option("--presets", options->presets, "Presets that take turns, with commas")
      ->type_name("NAME,...");
  app->add_option(
         "--concurrency", options->concurrency,
         "Closed loop: callers that wait for their answers, also as A:B:STEP; default 1,2,4,8")
      ->type_name("N,...")
      ->group("Load");
  app->add_option("--rate", options->rates,
                  "Open loop: frames per second, whether the server keeps up or not")
      ->type_name("R,...")
      ->group("Load");
  app->add_option("--max-p99", options->search_p99_ms,
                  "Search the highest rate whose 99th percentile is up to MS milliseconds")
      ->type_name("MS")
      ->check(InRange(0.001, 1e6))
      ->group("Load");
  app->add_option("--percentile", options->percentile,
                  "Show this percentile of the latency beside the 50th, 90th, 99th and 99.9th")
      ->type_name("PERCENT")
      ->check(InRange(0.001, 99.999))
      ->group("Load");
  app->add_option("--arrivals", options->arrivals, "Gaps of an open loop; default poisson")
      ->type_name("poisson|constant")
      ->check(OneOf({"poisson", "constant"}))
      ->group("Load");
  app->add_option("--streams", options->streams,
                  "Send frames on N streams in place of single calls; in a closed loop every "
                  "caller has one")
      ->type_name("N")
      ->check(InRange(1, 100'000))
      ->group("Load");
  app->add_option("--connections", options->connections, "Connections to --server; default 1")
      ->type_name("N")
      ->check(InRange(1, 1024))
      ->group("Load");
  app->add_flag("--raw", options->raw, "Send JPEG files as grey pixels")->group("Load");
  app->add_option("--duration", options->duration_s, "Length of each measurement; default 5")
      ->type_name("SECONDS")
      ->check(InRange(0.1, 86400.0))
      ->group("Load");
  app->add_option("--warm-up", options->warm_up_s, "Load before each measurement; default 1")
      ->type_name("SECONDS")
      ->check(InRange(0.0, 86400.0))
      ->group("Load");
  app->add_option("--metrics", options->metrics,
                  "Address of the server's metrics, for its CPU time per frame")
      ->type_name("HOST:PORT");
  app->add_option("--svg", options->svg_file, "Write a picture of latency over rate")
      ->type_name("FILE.svg");
  app->add_option(
      "INPUT", options->inputs,
      "Images or folders of images; they take turns. Default: a synthetic image, 640x480");
}

// Refuses empty values, which mostly come from unset shell variables. They would act like a missing
// option: the embedded engine would answer instead of a server, or a check would be skipped.
void RefuseEmptyValues(CLI::App* app) {
  for (CLI::Option* option : app->get_options()) {
    if (option->get_items_expected_max() == 0) continue;  // flags have no value
    option->check([](const std::string& value) {
      return value.empty() ? std::string("the value is empty") : std::string();
    });
  }
  for (CLI::App* command : app->get_subcommands([](CLI::App*) { return true; })) {
    RefuseEmptyValues(command);
  }
}

// Flushes standard output and returns the exit code of a command that ended with `code`. A command
// whose results could not be written, for example because a disk is full, has failed.
int FinishOutput(int code) {
  const absl::Status written = FlushStandardOutput();
  if (written.ok()) return code;
  std::fprintf(stderr, "orbserve: %s\n", std::string(written.message()).c_str());
  return code == kExitOk ? kExitFailed : code;
}

// Printed by the program without arguments.
constexpr char kFirstSteps[] =
    R"(orbserve finds features in images, matches them, and streams frames.

  orbserve extract photo.jpg                         features of an image, as a table
  orbserve extract --out features --draw pictures DIR
                                                     files and pictures for a folder of images
  orbserve match --cross-check --draw m.png a.jpg b.jpg
                                                     matches of two images, and a picture of them
  orbserve stream --track --simulate photo.jpg       tracks of a simulated flight over a photograph
  orbserve doctor                                    checks GPU, power, ports and versions

All commands: orbserve --help. Options of one: orbserve COMMAND --help.
)";

// Names of the commands below `app`.
std::vector<std::string> CommandNames(CLI::App* app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app->get_subcommands([](CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

std::string Suggestion(const std::string& typed, const std::vector<std::string>& words) {
  const std::string nearest = NearestWord(typed, words);
  return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
}

// Text about a word of the command line that nothing expects, with the nearest that is; "" where
// the error is another one.
std::string UnknownWord(CLI::App* app, int argc, char** argv) {
  const std::string first = argv[1];
  if (!first.empty() && first[0] != '-') {
    const std::vector<std::string> commands = CommandNames(app);
    if (std::find(commands.begin(), commands.end(), first) == commands.end()) {
      return absl::StrCat("there is no command ", first, Suggestion(first, commands),
                          " (orbserve --help lists them)");
    }
  }
  CLI::App* command = app;
  for (int i = 1; i < argc && !command->get_subcommands().empty(); ++i) {
    command = command->get_subcommands().front();
  }
  std::vector<std::string> options;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) options.push_back("--" + name);
  }
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    if (word.size() < 3 || word.compare(0, 2, "--") != 0) continue;
    if (std::find(options.begin(), options.end(), word) == options.end()) {
      return absl::StrCat(command->get_name(), " has no option ", word, Suggestion(word, options),
                          " (orbserve ", command == app ? "" : command->get_name() + " ",
                          "--help lists them)");
    }
  }
  return "";
}

int Main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs(kFirstSteps, stderr);
    return kExitUsage;
  }
  CLI::App app("Visual features: keypoints, descriptors and matches of images.", "orbserve");
  app.set_version_flag("--version", std::string("orbserve ") + kVersion);
  app.require_subcommand(1);
  app.fallthrough(false);

  ExtractOptions extract;
  CLI::App* extract_app = app.add_subcommand("extract", "Find features in images");
  AddCommonOptions(extract_app, &extract.common);
  AddImageOptions(extract_app, Does::kExtract, &extract.image);
  extract_app->add_option("--out", extract.out_folder, "Write feature files into this folder")
      ->type_name("DIR");
  extract_app
      ->add_option("--format", extract.format, "npz (default), jsonl, csv, hdf5 (hloc) or colmap")
      ->type_name("FORMAT");
  AddCameraOptions(extract_app, "Options", &extract.camera);
  extract_app->add_option("--draw", extract.draw_folder, "Write overlay pictures into this folder")
      ->type_name("DIR");
  extract_app
      ->add_option("--sheet", extract.sheet_file,
                   "Write one page with small pictures of all images, without scripts")
      ->type_name("FILE.html");
  extract_app
      ->add_option("--shard", extract.shard, "Process every N-th image, beginning with number I")
      ->type_name("I/N");
  extract_app->add_flag("--resume", extract.resume,
                        "Skip images whose output in --out was made with the same options");
  extract_app->add_flag("--timings", extract.timings,
                        "Print the time of every stage, over all images, on standard output");
  extract_app->add_flag("--power", extract.power,
                        "Print the energy of a frame and of the devices on standard output");
  extract_app
      ->add_option("INPUT", extract.inputs, "Images, folders of images, or - for names on stdin")
      ->required();

  MatchCommandOptions match;
  CLI::App* match_app = app.add_subcommand(
      "match", "Match two images, an image with a reference, or the images of a folder");
  AddMatchOptions(match_app, &match);

  StreamOptions stream;
  CLI::App* stream_app = app.add_subcommand(
      "stream", "Stream frames: features, tracks, and matches with the frame before");
  AddStreamOptions(stream_app, &stream);

  ReferenceOptions reference;
  CLI::App* reference_app =
      app.add_subcommand("reference", "Manage the references on a server, to match with");
  reference_app->require_subcommand(1);
  CLI::App* put_app = reference_app->add_subcommand("put", "Store a reference");
  AddCommonOptions(put_app, &reference.common);
  AddImageOptions(put_app, Does::kExtract, &reference.image);
  put_app->add_option("NAME", reference.name, "Name of the reference")->required();
  put_app->add_option("SOURCE", reference.source, "Image, or FEATURES.npz")->required();
  CLI::App* list_app = reference_app->add_subcommand("list", "List this client's references");
  AddCommonOptions(list_app, &reference.common);
  CLI::App* delete_app = reference_app->add_subcommand("delete", "Delete a reference");
  AddCommonOptions(delete_app, &reference.common);
  delete_app->add_option("NAME", reference.name, "Name of the reference")->required();

  CommonOptions info;
  CLI::App* info_app = app.add_subcommand("info", "Show version, backends, presets and limits");
  AddCommonOptions(info_app, &info);

  CommonOptions presets;
  CLI::App* presets_app =
      app.add_subcommand("presets", "List the presets: what each is for, and its values (--json)");
  AddCommonOptions(presets_app, &presets);

  ShowOptions show;
  CLI::App* show_app =
      app.add_subcommand("show", "Draw the features of an NPZ file on their image");
  show_app
      ->add_option("--draw", show.draw_file, "Picture to write; default IMAGE.features.png here")
      ->type_name("FILE.png");
  show_app->add_flag("--quiet,-q", show.common.quiet, "Print only errors on standard error");
  show_app->add_option("FEATURES", show.features, "NPZ file of extract")->required();
  show_app->add_option("IMAGE", show.image, "Image that they are of")->required();

  BenchOptions bench;
  CLI::App* bench_app =
      app.add_subcommand("bench", "Put a load on the engine or a server, and measure its answers");
  AddBenchOptions(bench_app, &bench);

  CommonOptions health;
  CLI::App* health_app =
      app.add_subcommand("health", "Exit 0 if the server is serving; default 127.0.0.1:50051");
  AddCommonOptions(health_app, &health);

  CommonOptions doctor;
  CLI::App* doctor_app =
      app.add_subcommand("doctor", "Check device, driver, power, ports and versions");
  AddCommonOptions(doctor_app, &doctor);
  PowerOptions power;
  CLI::App* power_app = app.add_subcommand(
      "power", "Show power and energy of every rail, of this machine or of a --server");
  AddCommonOptions(power_app, &power.common);
  power_app->add_option("--interval", power.interval_s, "Time between two lists; default 1")
      ->type_name("SECONDS")
      ->check(InRange(0.1, 3600.0));
  power_app->add_flag("--once", power.once, "End after the first interval");

  RefuseEmptyValues(&app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) {
      const std::string unknown = UnknownWord(&app, argc, argv);
      if (!unknown.empty()) {
        std::fprintf(stderr, "orbserve: %s\n", TerminalLine(unknown).c_str());
        return kExitUsage;
      }
    }
    // CLI11 reports --help and --version as errors of code 0. All other errors are wrong usage.
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  if (extract_app->parsed()) return RunExtract(extract);
  if (match_app->parsed()) return RunMatch(match);
  if (stream_app->parsed()) return RunStream(stream);
  if (put_app->parsed()) return RunReferencePut(reference);
  if (list_app->parsed()) return RunReferenceList(reference);
  if (delete_app->parsed()) return RunReferenceDelete(reference);
  if (info_app->parsed()) return RunInfo(info);
  if (presets_app->parsed()) return RunPresets(presets);
  if (show_app->parsed()) return RunShow(show);
  if (bench_app->parsed()) return RunBench(bench);
  if (doctor_app->parsed()) return RunDoctor(doctor);
  if (power_app->parsed()) return RunPower(power);
  return RunHealth(health);
}

}  // namespace
}  // namespace orbserve::cli

int main(int argc, char** argv) {
  orbserve::ReserveStandardStreams();
  orbserve::TuneProcess();
  orbserve::ExplainMissingThreads(
      [](int, const char* message) { std::fprintf(stderr, "orbserve: %s\n", message); });
  // Hides gRPC's own lines on standard error, which repeat errors that the program reports. Setting
  // the variable shows them.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  return orbserve::cli::FinishOutput(orbserve::cli::Main(argc, argv));
}
