// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/track_oracle.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <utility>

#include "absl/strings/str_format.h"

namespace orbserve::testing {
namespace {

constexpr int64_t kOne = 16384;

// Ends the program unless `holds`, which is a property of every number of the method.
void Require(bool holds) {
  if (!holds) std::abort();
}

int64_t FloorDivide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

int64_t PlaceOn(int level, int64_t place) {
  const int64_t step = int64_t{1} << level;
  return FloorDivide(place + step / 2, step);
}

bool Near(const GreyPlane& level, int64_t x, int64_t y) {
  const int64_t px = FloorDivide(x, kOne);
  const int64_t py = FloorDivide(y, kOne);
  return -8 <= px && px < level.width + 8 && -8 <= py && py < level.height + 8;
}

int SideOf(const TrackOptions& options, int level) {
  return level <= 2 ? 16 : options.coarse_patch_px;
}

// Value of the image at the place with an offset of whole pixels, 1/16 grey level.
int64_t Value(const GreyPlane& level, int64_t x, int64_t y, int column, int row) {
  const int64_t qx = x + kOne / 2;
  const int64_t qy = y + kOne / 2;
  const int64_t fx = qx - FloorDivide(qx, kOne) * kOne;
  const int64_t fy = qy - FloorDivide(qy, kOne) * kOne;
  const int64_t both = (fx * fy + 8192) / kOne;
  const int64_t weights[2][2] = {{kOne - fx - fy + both, fx - both}, {fy - both, both}};
  int64_t sum = 512;
  int64_t total = 0;
  for (int v = 1; v >= 0; --v) {
    for (int u = 1; u >= 0; --u) {
      const int64_t px = FloorDivide(qx, kOne) + column + u;
      const int64_t py = FloorDivide(qy, kOne) + row + v;
      const int inside_x =
          static_cast<int>(std::min<int64_t>(std::max<int64_t>(px, 0), level.width - 1));
      const int inside_y =
          static_cast<int>(std::min<int64_t>(std::max<int64_t>(py, 0), level.height - 1));
      Require(weights[v][u] >= 0);
      total += weights[v][u];
      sum += weights[v][u] * level.At(inside_x, inside_y);
    }
  }
  Require(total == kOne);
  const int64_t value = sum / 1024;
  Require(0 <= value && value <= 4080);
  return value;
}

struct TemplatePixel {
  int64_t t, c, gx, gy;
};

// Everything about one level that its template decides.
struct LevelTemplate {
  int side = 0;
  int64_t mean = 0;
  std::vector<TemplatePixel> pixels;  // rows from the top
  float sxx = 0, sxy = 0, syy = 0, lxo = 0, lyo = 0, lco = 0, lxc = 0, lyc = 0, rc = 0, ro = 0;
};

bool HasOffset(const TrackOptions& o) {
  return o.illumination == Illumination::kOffset || o.illumination == Illumination::kBoth;
}
bool HasGain(const TrackOptions& o) {
  return o.illumination == Illumination::kGain || o.illumination == Illumination::kBoth;
}

// False for a template that cannot be used.
bool MakeTemplate(const GreyPlane& level, const TrackOptions& options, int side, int64_t x,
                  int64_t y, LevelTemplate* made) {
  made->side = side;
  const int64_t count = int64_t{side} * side;
  const auto sample = [&](int i, int j) { return Value(level, x, y, i - side / 2, j - side / 2); };
  if (options.illumination == Illumination::kBoth) {
    int64_t sum = 0;
    for (int j = side - 1; j >= 0; --j) {
      for (int i = side - 1; i >= 0; --i) sum += sample(i, j);
    }
    made->mean = FloorDivide(sum + count / 2, count);
  }
  int64_t axx = 0, axy = 0, ayy = 0, axc = 0, ayc = 0, acc = 0, axo = 0, ayo = 0, aco = 0;
  made->pixels.resize(static_cast<size_t>(count));
  for (int j = side - 1; j >= 0; --j) {
    for (int i = side - 1; i >= 0; --i) {
      int64_t gx = 8;
      int64_t gy = 8;
      const int64_t weight[3] = {3, 10, 3};
      for (int k = -1; k <= 1; ++k) {
        gx += weight[k + 1] * (sample(i + 1, j + k) - sample(i - 1, j + k));
        gy += weight[k + 1] * (sample(i + k, j + 1) - sample(i + k, j - 1));
      }
      gx = FloorDivide(gx, 16);
      gy = FloorDivide(gy, 16);
      const int64_t t = sample(i, j);
      const int64_t c = t - made->mean;
      Require(std::llabs(gx) <= 4080 && std::llabs(gy) <= 4080 && std::llabs(c) <= 4080);
      made->pixels[static_cast<size_t>(j * side + i)] = {t, c, gx, gy};
      axx += gx * gx;
      axy += gx * gy;
      ayy += gy * gy;
      axc += gx * c;
      ayc += gy * c;
      acc += c * c;
      axo += gx;
      ayo += gy;
      aco += c;
    }
  }
  for (const int64_t sum : {axx, axy, ayy, axc, ayc, acc, axo, ayo, aco}) {
    Require(std::llabs(sum) < (int64_t{1} << 33));
  }
  auto xx = static_cast<double>(axx), xy = static_cast<double>(axy), yy = static_cast<double>(ayy);
  auto xc = static_cast<double>(axc), yc = static_cast<double>(ayc), cc = static_cast<double>(acc);
  const auto n = static_cast<double>(count);
  if (HasOffset(options)) {
    const auto xo = static_cast<double>(axo), yo = static_cast<double>(ayo);
    const auto co = static_cast<double>(aco);
    const double lxo = xo / n, lyo = yo / n, lco = co / n;
    xx -= xo * lxo;
    xy -= xo * lyo;
    yy -= yo * lyo;
    xc -= xo * lco;
    yc -= yo * lco;
    cc -= co * lco;
    made->lxo = static_cast<float>(lxo);
    made->lyo = static_cast<float>(lyo);
    made->lco = HasGain(options) ? static_cast<float>(lco) : 0.0f;
    made->ro = static_cast<float>(1 / n);
  }
  if (HasGain(options)) {
    if (cc < 1) return false;
    const double lxc = xc / cc, lyc = yc / cc;
    xx -= xc * lxc;
    xy -= xc * lyc;
    yy -= yc * lyc;
    made->lxc = static_cast<float>(lxc);
    made->lyc = static_cast<float>(lyc);
    made->rc = static_cast<float>(1 / cc);
  }
  const double tau = static_cast<double>(options.min_eigen) * 1024 * n;
  const double det = xx * yy - xy * xy;
  if (!(xx + yy >= 2 * tau && (xx - tau) * (yy - tau) - xy * xy >= 0 && det > 0)) return false;
  made->sxx = static_cast<float>(32768 * (yy / det));
  made->sxy = static_cast<float>(-32768 * (xy / det));
  made->syy = static_cast<float>(32768 * (xx / det));
  return true;
}

float Limited(float value, float most) { return std::min(std::max(value, -most), most); }

// Differences of a patch of the searched level to its template, in the order of its pixels.
std::vector<int64_t> Differences(const GreyPlane& level, const LevelTemplate& made, int64_t x,
                                 int64_t y, float a, float o) {
  const auto big_a = static_cast<int64_t>(std::nearbyint(a * 32768));
  const auto big_o = static_cast<int64_t>(std::nearbyint(o));
  Require(std::llabs(big_a) <= 30720 && std::llabs(big_o) <= 2047);
  std::vector<int64_t> differences;
  for (size_t i = 0; i < made.pixels.size(); ++i) {
    const int column = static_cast<int>(i) % made.side - made.side / 2;
    const int row = static_cast<int>(i) / made.side - made.side / 2;
    const TemplatePixel& pixel = made.pixels[i];
    const int64_t r = Value(level, x, y, column, row) - pixel.t -
                      FloorDivide(big_a * pixel.c + 16384, 32768) - big_o;
    differences.push_back(std::min<int64_t>(std::max<int64_t>(r, -2047), 2047));
  }
  return differences;
}

}  // namespace

TrackLevels OracleTrackPyramid(const GreyPlane& image, int levels) {
  OracleOptions options;
  options.levels = levels;
  options.scale_factor = 2.0f;
  options.source = PyramidSource::kPreviousLevel;
  return OraclePyramid(image, options, /*is_mask=*/false);
}

OracleTrack OracleFollow(const TrackLevels& origin, const TrackLevels& search,
                         const TrackOptions& options, const OracleTrackPoint& point) {
  const auto ended = [](TrackStatus status) {
    OracleTrack track;
    track.status = status;
    return track;
  };
  int64_t place_x = point.x;
  int64_t place_y = point.y;
  float alpha = HasGain(options) ? point.alpha : 0;
  float beta = HasOffset(options) ? point.beta : 0;
  for (int l = std::min(options.levels, static_cast<int>(search.size())) - 1;; --l) {
    const GreyPlane& level = search[static_cast<size_t>(l)];
    const GreyPlane& from = origin[static_cast<size_t>(l)];
    const int64_t tx = PlaceOn(l, point.template_x);
    const int64_t ty = PlaceOn(l, point.template_y);
    LevelTemplate made;
    if (!Near(from, tx, ty) || !MakeTemplate(from, options, SideOf(options, l), tx, ty, &made)) {
      if (l == 0) return ended(TrackStatus::kNoTexture);
      continue;
    }
    const int64_t begin_x = PlaceOn(l, place_x);
    const int64_t begin_y = PlaceOn(l, place_y);
    int64_t x = begin_x;
    int64_t y = begin_y;
    const auto mean = static_cast<float>(made.mean);
    float a = alpha;
    float o = Limited(beta + a * mean, 2047);
    float lambda = 1, ex = 0, ey = 0;
    const float e = options.epsilon_px * 16384;
    const float enough = l == 0 ? e * e : (e * e) * 100;
    bool failed = false;
    bool converged = false;
    for (int iteration = 0; iteration < options.iterations && !failed && !converged; ++iteration) {
      if (!Near(level, x, y)) {
        failed = true;
        break;
      }
      const std::vector<int64_t> r = Differences(level, made, x, y, a, o);
      int64_t sums[4] = {};
      for (size_t i = r.size(); i-- > 0;) {
        sums[0] += made.pixels[i].gx * r[i];
        sums[1] += made.pixels[i].gy * r[i];
        sums[2] += made.pixels[i].c * r[i];
        sums[3] += r[i];
        for (const int64_t sum : sums) Require(std::llabs(sum) < (int64_t{1} << 31));
      }
      float bx = static_cast<float>(sums[0]), by = static_cast<float>(sums[1]);
      float bc = static_cast<float>(sums[2]);
      const float bo = static_cast<float>(sums[3]);
      bc -= made.lco * bo;
      bx = (bx - made.lxo * bo) - made.lxc * bc;
      by = (by - made.lyo * bo) - made.lyc * bc;
      float dx = made.sxx * bx + made.sxy * by;
      float dy = made.sxy * bx + made.syy * by;
      const float ux = dx * std::ldexp(1.0f, -15);
      const float uy = dy * std::ldexp(1.0f, -15);
      float qc = bc * made.rc - (made.lxc * ux + made.lyc * uy);
      float qo = bo * made.ro - ((made.lxo * ux + made.lyo * uy) + made.lco * qc);
      if (ex * dx + ey * dy < 0) lambda = lambda / 2;
      ex = dx;
      ey = dy;
      dx *= lambda;
      dy *= lambda;
      qc *= lambda;
      qo *= lambda;
      const float limit = std::ldexp(1.0f, 20);
      if (!(std::fabs(dx) < limit) || !(std::fabs(dy) < limit)) {
        failed = true;
        break;
      }
      x -= static_cast<int64_t>(std::nearbyint(dx));
      y -= static_cast<int64_t>(std::nearbyint(dy));
      a = Limited(a + qc, 0.9375f);
      o = Limited(o + qo, 2047);
      converged = dx * dx + dy * dy < enough;
    }
    if (!failed && (l > 0 || converged)) {
      place_x += (x - begin_x) * (int64_t{1} << l);
      place_y += (y - begin_y) * (int64_t{1} << l);
      Require(std::llabs(place_x) < (int64_t{1} << 31) && std::llabs(place_y) < (int64_t{1} << 31));
      alpha = a;
      beta = o - a * mean;
      if (!HasGain(options)) Require(alpha == 0);
      if (!HasOffset(options)) Require(beta == 0);
    }
    if (l > 0) continue;
    if (failed) return ended(TrackStatus::kLeftImage);
    if (!converged) return ended(TrackStatus::kNotConverged);
    if (place_x < 0 || place_x > (level.width - 1) * kOne || place_y < 0 ||
        place_y > (level.height - 1) * kOne) {
      return ended(TrackStatus::kLeftImage);
    }
    int64_t absolute = 0;
    for (const int64_t r : Differences(level, made, x, y, a, o)) absolute += std::llabs(r);
    const float residual = static_cast<float>(absolute) / static_cast<float>(16 * 256);
    if (residual > options.max_residual) return ended(TrackStatus::kDifferent);
    return {TrackStatus::kOk, place_x, place_y, alpha, beta, residual};
  }
}

std::vector<int16_t> OracleTrackPatches(const TrackLevels& origin, const TrackOptions& options,
                                        int64_t x, int64_t y) {
  std::vector<int16_t> patches;
  for (int l = 0; l < std::min(options.levels, static_cast<int>(origin.size())); ++l) {
    const GreyPlane& level = origin[static_cast<size_t>(l)];
    const int half = SideOf(options, l) / 2;
    const int64_t px = PlaceOn(l, x);
    const int64_t py = PlaceOn(l, y);
    for (int j = -half - 1; j <= half; ++j) {
      for (int i = -half - 1; i <= half; ++i) {
        patches.push_back(
            static_cast<int16_t>(Near(level, px, py) ? Value(level, px, py, i, j) : 0));
      }
    }
  }
  return patches;
}

TrackedPoints OracleSearch(const TrackLevels& origin, const TrackLevels& search,
                           const TrackOptions& options, const TrackPoints& points,
                           const std::function<const TrackLevels&(size_t)>& begun) {
  const bool keeps_patches = options.track_template == TrackTemplate::kFirst;
  TrackedPoints tracked;
  for (size_t i = 0; i < points.count(); ++i) {
    const bool has_patches = keeps_patches && points.patch_row[i] >= 0;
    OracleTrackPoint point = {points.x[i],      points.y[i], points.gain[i],
                              points.offset[i], points.x[i], points.y[i]};
    if (has_patches) {
      point.template_x = points.template_x[i];
      point.template_y = points.template_y[i];
    }
    const OracleTrack track = OracleFollow(has_patches ? begun(i) : origin, search, options, point);
    tracked.status.push_back(track.status);
    tracked.x.push_back(static_cast<int32_t>(track.x));
    tracked.y.push_back(static_cast<int32_t>(track.y));
    tracked.gain.push_back(track.alpha);
    tracked.offset.push_back(track.beta);
    tracked.residual.push_back(track.residual);
    if (!keeps_patches || has_patches) continue;
    const auto patches = OracleTrackPatches(origin, options, point.x, point.y);
    tracked.patches.insert(tracked.patches.end(), patches.begin(), patches.end());
  }
  return tracked;
}

std::string TrackLines(const TrackedPoints& tracked) {
  std::string lines;
  for (size_t i = 0; i < tracked.count(); ++i) {
    absl::StrAppendFormat(&lines, "%d,%d,%d,%08x\n", static_cast<int>(tracked.status[i]),
                          tracked.x[i], tracked.y[i], std::bit_cast<uint32_t>(tracked.residual[i]));
  }
  return lines;
}

}  // namespace orbserve::testing
