// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Results of a benchmark as a JSON list, one object a line.

#ifndef ORBSERVE_BENCH_JSON_LIST_H_
#define ORBSERVE_BENCH_JSON_LIST_H_

#include <fstream>
#include <string>

namespace orbserve::bench {

class JsonList {
 public:
  // `object`: with its braces.
  void Append(const std::string& object) { text_ += (text_.empty() ? "\n " : ",\n ") + object; }
  // Writes the list to a file; an empty `path` asks for none. Returns false where that fails.
  bool WriteTo(const std::string& path) const {
    if (path.empty()) return true;
    std::ofstream out(path);
    out << "[" << text_ << "\n]\n";
    return static_cast<bool>(out);
  }

 private:
  std::string text_;
};

}  // namespace orbserve::bench

#endif  // ORBSERVE_BENCH_JSON_LIST_H_
