// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Harness of every benchmark: variants of one piece of work are timed turn by turn in one process.
// Drifting clocks and noisy neighbours then hit all of them. The report is a table, and
// JSON. See docs/benchmarks.md for how to read the figures.

#ifndef ORBSERVE_BENCH_HARNESS_H_
#define ORBSERVE_BENCH_HARNESS_H_

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/telemetry/power/power_reader.h"

namespace orbserve::bench {

// Order statistics of one variant's samples, in seconds per call. Percentiles are nearest-rank.
struct Statistics {
  double median_s = 0;
  double min_s = 0;
  double p10_s = 0;
  double p90_s = 0;
  int samples = 0;
};

// `samples_s` must not be empty.
Statistics Summarise(std::vector<double> samples_s);

// One way of doing the work of a case.
struct Variant {
  std::string name;
  std::function<void()> run;
};

// Usage:
//   Harness harness("match_bench", "Hamming matching");
//   harness.app().add_option(...);                       // options of this benchmark
//   if (std::optional<int> code = harness.Parse(argc, argv)) return *code;
//   harness.AddInfo("opencv", CV_VERSION);
//   harness.Compare("2000x2000", {{"cv::BFMatcher", ...}, {"orbserve", ...}});
//   return harness.Finish();
class Harness {
 public:
  Harness(std::string name, const std::string& description);

  // The command line, for options of the benchmark's own. It already has --filter, --repeats,
  // --sample-ms, --threads and --json.
  CLI::App& app() { return app_; }

  // Reads the command line. A value is the exit code to leave with at once (help, wrong usage).
  std::optional<int> Parse(int argc, char** argv);

  // Thread counts to measure, as given by --threads; {1, 2} by default.
  const std::vector<int>& threads() const { return threads_; }

  // A line about the machine or the libraries, printed above the table and written to the JSON.
  void AddInfo(const std::string& key, const std::string& value) { info_.emplace_back(key, value); }

  // True if --filter lets `case_name` run: some comma-separated part of the filter occurs in it.
  // For skipping a costly set-up; Compare() asks by itself.
  bool Wants(const std::string& case_name) const;

  // Times every variant of one case: one untimed call each, then --repeats rounds in which every
  // variant is sampled once, beginning with another variant in each round. A sample is as many
  // calls as fill --sample-ms. The first variant is what the others are compared with, or the
  // variant called `baseline` where there is one. Where the processor's power can be read, each
  // variant then runs for two seconds more, in which its energy is measured.
  void Compare(const std::string& case_name, const std::vector<Variant>& variants,
               const std::string& baseline = "");

  // Prints the table and writes the JSON file. The exit code: 0, or 1 when nothing ran or the file
  // could not be written.
  int Finish();

 private:
  struct Result {
    std::string case_name;
    std::string variant;
    Statistics statistics;
    int calls_per_sample;
    double speedup;                // median of the baseline / median of this
    std::optional<double> joules;  // of one call; nothing where no sensor can be read
  };

  std::string Json() const;

  std::string name_;
  CLI::App app_;
  std::string filter_;
  std::string json_path_;
  int repeats_ = 31;
  double sample_ms_ = 5;
  std::vector<int> threads_ = {1, 2};
  std::vector<std::pair<std::string, std::string>> info_;
  std::vector<Result> results_;
  PowerReaders power_;  // of the processor
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_HARNESS_H_
