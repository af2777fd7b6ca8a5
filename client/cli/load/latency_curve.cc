// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/load/latency_curve.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace orbserve::cli {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 420;
constexpr double kLeft = 70;
constexpr double kRight = 110;  // room for the names of the lines
constexpr double kTop = 48;
constexpr double kBottom = 56;
constexpr int kRateTicks = 5;

// Three colours of Okabe and Ito's set, which people with any colour vision can tell apart, and
// three kinds of line.
struct Line {
  const char* name;
  const char* colour;
  const char* dashes;
  double CurvePoint::*value;
};
constexpr Line kLines[] = {{"p99.9", "#d55e00", "2 4", &CurvePoint::p999_ms},
                           {"p99", "#0072b2", "8 4", &CurvePoint::p99_ms},
                           {"p50", "#009e73", "none", &CurvePoint::p50_ms}};

// A round number near `value`: 1, 2 or 5 times a power of ten.
double RoundStep(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  const double share = value / power;
  return (share < 1.5 ? 1 : share < 3.5 ? 2 : share < 7.5 ? 5 : 10) * power;
}

std::string Text(double x, double y, const char* anchor, const char* colour,
                 absl::string_view text) {
  return absl::StrFormat(
      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor,
      colour,
      absl::StrReplaceAll(std::string(text), {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}}));
}

}  // namespace

std::string DrawLatencyCurve(absl::Span<const CurvePoint> given, absl::string_view title,
                             double limit_ms) {
  std::vector<CurvePoint> points(given.begin(), given.end());
  std::stable_sort(points.begin(), points.end(),
                   [](const CurvePoint& a, const CurvePoint& b) { return a.rate < b.rate; });
  double most = 1;
  double low = limit_ms > 0 ? limit_ms : 1e9;
  double high = limit_ms > 0 ? limit_ms : 1e-3;
  for (const CurvePoint& point : points) {
    most = std::max(most, point.rate);
    for (const Line& line : kLines) {
      const double value = std::max(point.*line.value, 1e-3);
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  const double first = std::floor(std::log10(std::min(low, high)));
  const double last = std::max(std::ceil(std::log10(high)), first + 1);
  const auto x_of = [&](double rate) { return kLeft + rate / most * (kWidth - kLeft - kRight); };
  const auto y_of = [&](double ms) {
    const double share = (std::log10(std::max(ms, 1e-3)) - first) / (last - first);
    return kHeight - kBottom - share * (kHeight - kTop - kBottom);
  };
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
      kWidth, kHeight);
  absl::StrAppend(&svg, "<g font-size=\"15\">", Text(kLeft, 26, "start", "#222222", title), "</g>");
  const double right = kWidth - kRight;
  const double bottom = kHeight - kBottom;
  for (double power = first; power <= last; ++power) {
    const double y = y_of(std::pow(10, power));
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#dddddd\"/>\n",
                          kLeft, y, right, y);
    absl::StrAppend(
        &svg, Text(kLeft - 8, y + 4, "end", "#444444", absl::StrFormat("%g", std::pow(10, power))));
  }
  const double step = RoundStep(most / kRateTicks);
  for (double rate = 0; rate <= most * 1.0001; rate += step) {
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#888888\"/>\n",
                          x_of(rate), bottom, x_of(rate), bottom + 5);
    absl::StrAppend(
        &svg, Text(x_of(rate), bottom + 20, "middle", "#444444", absl::StrFormat("%g", rate)));
  }
  absl::StrAppend(
      &svg, Text((kLeft + right) / 2, kHeight - 14, "middle", "#222222", "answers per second"));
  absl::StrAppend(&svg, "<g transform=\"rotate(-90 18 ", (kTop + bottom) / 2, ")\">",
                  Text(18, (kTop + bottom) / 2, "middle", "#222222", "latency, ms"), "</g>\n");
  if (limit_ms > 0) {
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                          "stroke=\"#555555\" stroke-dasharray=\"1 3\"/>\n",
                          kLeft, y_of(limit_ms), right, y_of(limit_ms));
    absl::StrAppend(&svg, Text(right + 6, y_of(limit_ms) + 4, "start", "#555555",
                               absl::StrFormat("limit %g ms", limit_ms)));
  }
  double label_y = kTop + 4;
  for (const Line& line : kLines) {
    std::string path;
    for (const CurvePoint& point : points) {
      const double x = x_of(point.rate);
      const double y = y_of(point.*line.value);
      absl::StrAppendFormat(&path, "%s%.1f,%.1f", path.empty() ? "" : " ", x, y);
      absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x, y,
                            line.colour);
    }
    absl::StrAppendFormat(&svg,
                          "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" "
                          "stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n",
                          path, line.colour, line.dashes);
    absl::StrAppendFormat(&svg,
                          "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                          "stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n",
                          right + 10, label_y, right + 40, label_y, line.colour, line.dashes);
    absl::StrAppend(&svg, Text(right + 46, label_y + 4, "start", "#222222", line.name));
    label_y += 20;
  }
  return absl::StrCat(svg, "</svg>\n");
}

}  // namespace orbserve::cli
