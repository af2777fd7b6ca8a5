// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/harness.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include "bench/device_power.h"

namespace orbserve::bench {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// "model name" of the first processor on x86, the machine's model on boards that name it there.
std::string CpuModel() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  for (std::string line; std::getline(cpuinfo, line);) {
    if (line.rfind("model name", 0) == 0 || line.rfind("Model", 0) == 0) {
      const size_t colon = line.find(':');
      if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
    }
  }
  std::string model;
  std::ifstream tree("/proc/device-tree/model");
  std::getline(tree, model, '\0');
  return model.empty() ? "unknown" : model;
}

// Returns the load of the last minute, before anything is timed: other work of the machine.
std::string LoadAverage() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return "unknown";
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f", load);
  return text;
}

std::string Compiler() {
#if defined(__clang__)
  return std::string("clang ") + __clang_version__;
#else
  return std::string("gcc ") + __VERSION__;
#endif
}

std::string JsonString(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof(escaped), "\\u%04x", c);
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string JsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  char text[32];
  std::snprintf(text, sizeof(text), "%.9g", value);
  return text;
}

// Seconds in the unit that leaves one to three digits before the point.
std::string Duration(double seconds) {
  const char* unit = "s";
  double value = seconds;
  if (seconds < 1e-6) {
    unit = "ns";
    value = seconds * 1e9;
  } else if (seconds < 1e-3) {
    unit = "us";
    value = seconds * 1e6;
  } else if (seconds < 1) {
    unit = "ms";
    value = seconds * 1e3;
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f %s", value, unit);
  return text;
}

// Every row padded to the widest cell of its column; the first two columns to the left, the rest
// to the right.
void PrintTable(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths(rows.front().size(), 0);
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      line += i < 2 ? row[i] + padding : padding + row[i];
    }
    std::printf("%s\n", line.c_str());
  }
}

double NearestRank(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[rank == 0 ? 0 : rank - 1];
}

// Mean power while `run` is called again and again, for two seconds; nothing where it cannot be
// read.
std::optional<double> WattsWhile(const PowerReaders& power, const std::function<void()>& run) {
  if (power.readers.empty()) return std::nullopt;
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) run();
  });
  const std::optional<double> watts = MeanWatts(power, std::chrono::seconds(2));
  stop = true;
  worker.join();
  return watts;
}

}  // namespace

Statistics Summarise(std::vector<double> samples_s) {
  std::sort(samples_s.begin(), samples_s.end());
  const size_t n = samples_s.size();
  Statistics s;
  s.median_s = n % 2 == 1 ? samples_s[n / 2] : (samples_s[n / 2 - 1] + samples_s[n / 2]) / 2;
  s.min_s = samples_s.front();
  s.p10_s = NearestRank(samples_s, 0.1);
  s.p90_s = NearestRank(samples_s, 0.9);
  s.samples = static_cast<int>(n);
  return s;
}

Harness::Harness(std::string name, const std::string& description)
    : name_(std::move(name)), app_(description, name_) {
  app_.add_option("--filter", filter_, "Run only cases whose name contains one of A[,B...]");
  app_.add_option("--repeats", repeats_, "Samples per variant")->check(CLI::Range(1, 100000));
  app_.add_option("--sample-ms", sample_ms_, "A sample repeats its call for at least this long")
      ->check(CLI::Range(0.0, 60000.0));
  app_.add_option("--threads", threads_, "Thread counts, comma-separated")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app_.add_option("--json", json_path_, "Also write the results to this file");
}

std::optional<int> Harness::Parse(int argc, char** argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app_.exit(error) == 0 ? 0 : 2;
  }
  AddInfo("cpu", CpuModel());
  AddInfo("logical_cpus", std::to_string(std::thread::hardware_concurrency()));
  AddInfo("load_average", LoadAverage());
  AddInfo("compiler", Compiler());
#if defined(NDEBUG)
  AddInfo("build", "optimised");
#else
  AddInfo("build", "with assertions: figures are not comparable");
#endif
  AddInfo("repeats", std::to_string(repeats_));
  power_ = FindPowerReaders({{"cpu", "", "", ""}});
  // The total alone; other rails are parts of it.
  std::erase_if(power_.readers,
                [](const PowerReader& reader) { return reader.rail.device.empty(); });
  AddInfo("power",
          power_.readers.empty() ? "no sensor can be read" : power_.readers.front().rail.rail);
  return std::nullopt;
}

bool Harness::Wants(const std::string& case_name) const {
  if (filter_.empty()) return true;
  std::stringstream parts(filter_);
  for (std::string part; std::getline(parts, part, ',');) {
    if (!part.empty() && case_name.find(part) != std::string::npos) return true;
  }
  return false;
}

void Harness::Compare(const std::string& case_name, const std::vector<Variant>& variants,
                      const std::string& baseline) {
  if (variants.empty() || !Wants(case_name)) return;
  std::fprintf(stderr, "%s: %s\n", name_.c_str(), case_name.c_str());

  const size_t count = variants.size();
  std::vector<int> calls(count, 1);
  for (size_t i = 0; i < count; ++i) {
    variants[i].run();  // memory touched, tables built, code paged in
    const Clock::time_point start = Clock::now();
    variants[i].run();
    const double once_s = std::max(SecondsSince(start), 1e-9);
    calls[i] = static_cast<int>(std::clamp(std::ceil(sample_ms_ * 1e-3 / once_s), 1.0, 1e7));
  }

  std::vector<std::vector<double>> samples_s(count);
  for (int round = 0; round < repeats_; ++round) {
    for (size_t turn = 0; turn < count; ++turn) {
      const size_t i = (static_cast<size_t>(round) + turn) % count;
      const Clock::time_point start = Clock::now();
      for (int call = 0; call < calls[i]; ++call) variants[i].run();
      samples_s[i].push_back(SecondsSince(start) / calls[i]);
    }
  }

  size_t base = 0;
  std::vector<Statistics> statistics(count);
  for (size_t i = 0; i < count; ++i) {
    statistics[i] = Summarise(std::move(samples_s[i]));
    if (variants[i].name == baseline) base = i;
  }
  for (size_t i = 0; i < count; ++i) {
    std::optional<double> joules;
    if (const auto watts = WattsWhile(power_, variants[i].run); watts.has_value()) {
      joules = *watts * statistics[i].median_s;
    }
    results_.push_back({case_name, variants[i].name, statistics[i], calls[i],
                        statistics[base].median_s / statistics[i].median_s, joules});
  }
}

std::string Harness::Json() const {
  std::ostringstream out;
  out << "{\n  \"bench\": " << JsonString(name_) << ",\n  \"info\": {";
  for (size_t i = 0; i < info_.size(); ++i) {
    out << (i == 0 ? "\n" : ",\n") << "    " << JsonString(info_[i].first) << ": "
        << JsonString(info_[i].second);
  }
  out << "\n  },\n  \"results\": [";
  for (size_t i = 0; i < results_.size(); ++i) {
    const Result& r = results_[i];
    out << (i == 0 ? "\n" : ",\n") << "    {\"case\": " << JsonString(r.case_name)
        << ", \"variant\": " << JsonString(r.variant)
        << ", \"median_s\": " << JsonNumber(r.statistics.median_s)
        << ", \"min_s\": " << JsonNumber(r.statistics.min_s)
        << ", \"p10_s\": " << JsonNumber(r.statistics.p10_s)
        << ", \"p90_s\": " << JsonNumber(r.statistics.p90_s)
        << ", \"samples\": " << r.statistics.samples
        << ", \"calls_per_sample\": " << r.calls_per_sample
        << ", \"speedup\": " << JsonNumber(r.speedup);
    if (r.joules.has_value()) out << ", \"joules\": " << JsonNumber(*r.joules);
    out << "}";
  }
  out << "\n  ]\n}\n";
  return out.str();
}

int Harness::Finish() {
  if (results_.empty()) {
    std::fprintf(stderr, "%s: no case matches --filter %s\n", name_.c_str(), filter_.c_str());
    return 1;
  }
  std::printf("%s\n", name_.c_str());
  for (const auto& [key, value] : info_) std::printf("  %s: %s\n", key.c_str(), value.c_str());
  std::vector<std::vector<std::string>> rows = {
      {"case", "variant", "median", "min", "p10", "p90", "speed-up"}};
  const bool has_energy = !power_.readers.empty();
  if (has_energy) rows.front().push_back("mJ/call");
  for (const Result& r : results_) {
    char speedup[32];
    std::snprintf(speedup, sizeof(speedup), "%.2fx", r.speedup);
    rows.push_back({r.case_name, r.variant, Duration(r.statistics.median_s),
                    Duration(r.statistics.min_s), Duration(r.statistics.p10_s),
                    Duration(r.statistics.p90_s), speedup});
    if (!has_energy) continue;
    char energy[32] = "-";
    if (r.joules.has_value()) {
      std::snprintf(energy, sizeof(energy), "%.3f", *r.joules * 1e3);
    }
    rows.back().push_back(energy);
  }
  PrintTable(rows);
  if (json_path_.empty()) return 0;
  std::ofstream file(json_path_, std::ios::trunc);
  file << Json();
  file.close();
  if (!file) {
    std::fprintf(stderr, "%s: cannot write %s\n", name_.c_str(), json_path_.c_str());
    return 1;
  }
  return 0;
}

}  // namespace orbserve::bench
