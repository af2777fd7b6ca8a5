// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Pyramidal inverse-compositional Lucas-Kanade: where a point of one frame lies in the next one.
//
// The model of a patch is I(x + t) = (1 + alpha) * T(x) + beta, T being the patch in the frame
// before. From the coarsest level to level 0, a search repeats three steps:
//
//   1. sample the patch in the new frame at the current place (bilinear, 1/16 grey level);
//   2. sum the residuals r, weighted by the gradients and grey levels of the template (int32);
//   3. solve for the step of the place, alpha and beta with the inverse Hessian of the template,
//      which is made once a level (f64) and used in f32.
//
// FollowPoint() is the whole method, written once. It reaches pixels only through a `Loops` object:
// plain loops, vectors and a warp differ in these loops alone. All sums are integers, so that the
// order of additions never matters; the other numbers are computed in one written order.
//
//   template patch of side s, one pixel around it       offsets of an even patch: -s/2 .. s/2 - 1,
//     +----------------------+                          sampled half a pixel off, so that the
//     | (s + 2) x (s + 2)    |                          place is its centre
//     |  +----------------+  |
//     |  |  s x s         |  |  row j + 1, column i + 1 of the outer square holds
//     |  +----------------+  |  pixel (i, j) of the inner one
//     +----------------------+
//
// Places are integers in 2^-14 pixels (kTrackFractionBits). Samples outside a level repeat its edge
// pixels.
//
// Source: B. Nagy, P. Foehn & D. Scaramuzza, "Faster than FAST: GPU-accelerated frontend for
// high-speed VIO", IROS 2020, sec. II-E, eq. 2 to 6. Deviations: fixed-point places and grey
// levels, a Hessian made for alpha = 0, patches that hang over the edge of a level, damped steps.

#ifndef ORBSERVE_FEATURES_ALGO_LUCAS_KANADE_H_
#define ORBSERVE_FEATURES_ALGO_LUCAS_KANADE_H_

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve::algo {

inline constexpr int kTrackUnit = 1 << kTrackFractionBits;  // one pixel
inline constexpr int kFineTrackPatchPx = 16;                // side of the patch up to level 2
inline constexpr int kLastFineTrackLevel = 2;
inline constexpr int kMaxTrackLevels = kTrackLevelRange.high;
inline constexpr int kMaxTrackSample = 4080;       // 16 * 255
inline constexpr int kMaxTrackDifference = 2047;   // of a residual, and of a rounded offset
inline constexpr int kTrackGainBits = 15;          // fraction of a rounded gain
inline constexpr float kMaxTrackGain = 0.9375f;    // |alpha|
inline constexpr float kMaxTrackOffset = 2047.0f;  // |offset of a search|, 1/16 grey level
// |beta| of any search: the offset of a search and the largest gain times the largest mean.
inline constexpr float kMaxTrackBeta = kMaxTrackOffset + kMaxTrackGain * kMaxTrackSample;
inline constexpr float kTrackStepLimit = 1048576.0f;  // 2^20: a step is below 64 pixels

// ---- Patches ----

// Side of the patch on `level`. `coarse_patch_px`: 8 or 16.
ORBSERVE_HOST_DEVICE constexpr int TrackPatchSide(int level, int coarse_patch_px) {
  return level <= kLastFineTrackLevel ? kFineTrackPatchPx : coarse_patch_px;
}

// Samples of a template patch of side `side_px` with one pixel around: 324 or 100.
ORBSERVE_HOST_DEVICE constexpr int TrackPatchSamples(int side_px) {
  return (side_px + 2) * (side_px + 2);
}

// First value of `level` in a row of TrackPoints::patches, which holds level 0 first; rows of the
// outer square follow each other without gaps. A multiple of 4.
ORBSERVE_HOST_DEVICE constexpr int TrackPatchOffset(int level, int coarse_patch_px) {
  const int fine = Min(level, kLastFineTrackLevel + 1);
  return fine * TrackPatchSamples(kFineTrackPatchPx) +
         (level - fine) * TrackPatchSamples(coarse_patch_px);
}

// Values of a whole row: `levels` is the number that the points are searched on, the smaller of
// TrackOptions::levels and FrameState::pyramid_levels().
ORBSERVE_HOST_DEVICE constexpr int TrackPatchValues(int levels, int coarse_patch_px) {
  return TrackPatchOffset(levels, coarse_patch_px);
}

// ---- Places ----

// Place of a level-0 coordinate. |coordinate_px| < 2^17.
ORBSERVE_HOST_DEVICE inline int32_t TrackPlace(float coordinate_px) {
  return RoundToInt(coordinate_px * static_cast<float>(kTrackUnit));
}

// Level-0 coordinate of a place. Rounds above 1024 pixels.
ORBSERVE_HOST_DEVICE inline float TrackPixels(int32_t place) {
  return static_cast<float>(place) * (1.0f / static_cast<float>(kTrackUnit));
}

// `place`, any number, on the pixel grid of `level`.
ORBSERVE_HOST_DEVICE inline int32_t TrackPlaceOnLevel(int32_t place, int level) {
  return static_cast<int32_t>((int64_t{place} + ((1 << level) >> 1)) >> level);
}

// True where a place on a level of `side_px` pixels is close enough to be searched.
ORBSERVE_HOST_DEVICE inline bool IsTrackNear(int32_t place, int side_px) {
  const int32_t pixel = place >> kTrackFractionBits;
  return pixel >= -8 && pixel < side_px + 8;
}

struct TrackLevelSize {
  int32_t width_px;
  int32_t height_px;
};

ORBSERVE_HOST_DEVICE inline bool IsTrackNear(int32_t x, int32_t y, const TrackLevelSize& size) {
  return IsTrackNear(x, size.width_px) && IsTrackNear(y, size.height_px);
}

// ---- Samples ----

// Four pixels and their weights, equal for all samples of a patch: sample (i, j) is the mean of the
// pixels at (x + i, y + j), right of it, below it, and right below it.
struct TrackSampler {
  int32_t x;  // pixel of the sample with offset 0, any number
  int32_t y;
  int32_t w00;  // weights of the pixel, 0..16384, sum 16384
  int32_t w01;  // of the one right of it
  int32_t w10;  // of the one below it
  int32_t w11;  // of the one right below it

  // Mean of four grey levels in 1/16, 0..4080.
  ORBSERVE_HOST_DEVICE int Sample(int pixel, int right, int below, int right_below) const {
    return (w00 * pixel + w01 * right + w10 * below + w11 * right_below + 512) >> 10;
  }
};

// Sampler of a patch whose centre is at (x, y), a near place on its level.
ORBSERVE_HOST_DEVICE inline TrackSampler TrackSamplerAt(int32_t x, int32_t y) {
  constexpr int32_t kHalf = kTrackUnit / 2;
  const int32_t fx = (x + kHalf) & (kTrackUnit - 1);
  const int32_t fy = (y + kHalf) & (kTrackUnit - 1);
  const int32_t w11 = (fx * fy + kHalf) >> kTrackFractionBits;
  return {(x + kHalf) >> kTrackFractionBits,
          (y + kHalf) >> kTrackFractionBits,
          kTrackUnit - fx - fy + w11,
          fx - w11,
          fy - w11,
          w11};
}

// Gradient of a template across three rows (or columns) of samples; `before`, `middle` and `after`
// are differences of the samples two apart in the direction of the gradient. |result| <= 4080.
ORBSERVE_HOST_DEVICE inline int TrackGradient(int before, int middle, int after) {
  return (3 * before + 10 * middle + 3 * after + 8) >> 4;
}

// Mean of a patch whose samples add up to `sum`, rounded. 0..4080.
ORBSERVE_HOST_DEVICE inline int TrackMean(int sum, int side_px) {
  const int pixels = side_px * side_px;
  return (sum + pixels / 2) / pixels;
}

// ---- Template ----

// Sums over the pixels of a patch: g is a gradient, c the sample less the mean, o is 1. Each is
// below 2^33, and below 2^31 over 128 pixels or fewer.
template <typename Integer>
struct TrackTemplateSums {
  Integer xx = 0;  // gx * gx
  Integer xy = 0;  // gx * gy
  Integer yy = 0;  // gy * gy
  Integer xc = 0;  // gx * c; the sums with c and o matter where gain and offset are followed
  Integer yc = 0;  // gy * c
  Integer cc = 0;  // c * c
  Integer xo = 0;  // gx
  Integer yo = 0;  // gy
  Integer co = 0;  // c

  ORBSERVE_HOST_DEVICE void AddPixel(int gx, int gy, int c) {
    xx += gx * gx;
    xy += gx * gy;
    yy += gy * gy;
    xc += gx * c;
    yc += gy * c;
    cc += c * c;
    xo += gx;
    yo += gy;
    co += c;
  }
};

// Sums of one iteration over the pixels of a patch: residual r times gradient, grey level and 1.
// They stay below 2^31, and so does every part of them.
struct TrackResidualSums {
  int32_t x = 0;  // gx * r
  int32_t y = 0;  // gy * r
  int32_t c = 0;  // c * r; matters where gain is followed
  int32_t o = 0;  // r; matters where offset is followed

  ORBSERVE_HOST_DEVICE void AddPixel(int gx, int gy, int c_of_pixel, int r) {
    x += gx * r;
    y += gy * r;
    c += c_of_pixel * r;
    o += r;
  }
};

// Numbers of TrackOptions in the form in which a search reads them.
struct TrackParameters {
  int32_t levels;           // to search on, 1..kMaxTrackLevels, all exist
  int32_t coarse_patch_px;  // 8 or 16
  int32_t iterations;
  float min_eigen;
  float max_residual;
  float fine_stop;    // squared step that ends a search on level 0, and
  float coarse_stop;  // above it, squared 2^-14 pixels of the level
  bool with_gain;
  bool with_offset;

  // `pyramid_levels`: levels that both frames have, >= 1. `options` must pass Validate().
  static ORBSERVE_HOST_DEVICE TrackParameters Of(const TrackOptions& options, int pyramid_levels) {
    const float step = options.epsilon_px * static_cast<float>(kTrackUnit);
    const float square = step * step;
    return {
        Min(options.levels, pyramid_levels),
        options.coarse_patch_px,
        options.iterations,
        options.min_eigen,
        options.max_residual,
        square,
        square * 100.0f,
        options.illumination == Illumination::kGain || options.illumination == Illumination::kBoth,
        options.illumination == Illumination::kOffset ||
            options.illumination == Illumination::kBoth};
  }
  ORBSERVE_HOST_DEVICE bool subtracts_mean() const { return with_gain && with_offset; }
  ORBSERVE_HOST_DEVICE int PatchSide(int level) const {
    return TrackPatchSide(level, coarse_patch_px);
  }
};

// Inverse Hessian of a template. Parts that belong to a gain or an offset which is not followed
// are 0.
struct TrackModel {
  float sxx;  // step of the place for the residual sums
  float sxy;
  float syy;
  float lxo;  // means of gx, gy and c
  float lyo;
  float lco;
  float lxc;  // slopes of gx and gy over c
  float lyc;
  float rc;  // 1 / sum of c * c
  float ro;  // 1 / number of pixels
  float mean;
};

// The model of a template with sides of `side_px` pixels; false where the template has too little
// texture. f64 in one written order.
ORBSERVE_HOST_DEVICE inline bool MakeTrackModel(const TrackTemplateSums<int64_t>& sums, int mean,
                                                int side_px, const TrackParameters& parameters,
                                                TrackModel* model) {
  const auto pixels = static_cast<double>(side_px * side_px);
  double xx = static_cast<double>(sums.xx);
  double xy = static_cast<double>(sums.xy);
  double yy = static_cast<double>(sums.yy);
  double xc = static_cast<double>(sums.xc);
  double yc = static_cast<double>(sums.yc);
  double cc = static_cast<double>(sums.cc);
  *model = {};
  if (parameters.with_offset) {
    const double xo = static_cast<double>(sums.xo);
    const double yo = static_cast<double>(sums.yo);
    const double co = static_cast<double>(sums.co);
    const double lxo = xo / pixels;
    const double lyo = yo / pixels;
    const double lco = co / pixels;
    xx -= xo * lxo;
    xy -= xo * lyo;
    yy -= yo * lyo;
    xc -= xo * lco;
    yc -= yo * lco;
    cc -= co * lco;
    model->lxo = static_cast<float>(lxo);
    model->lyo = static_cast<float>(lyo);
    if (parameters.with_gain) model->lco = static_cast<float>(lco);
    model->ro = static_cast<float>(1.0 / pixels);
  }
  if (parameters.with_gain) {
    if (cc < 1.0) return false;
    const double lxc = xc / cc;
    const double lyc = yc / cc;
    xx -= xc * lxc;
    xy -= xc * lyc;
    yy -= yc * lyc;
    model->lxc = static_cast<float>(lxc);
    model->lyc = static_cast<float>(lyc);
    model->rc = static_cast<float>(1.0 / cc);
  }
  // Gradients are 32 times those of grey levels in pixels: 1024 makes squares of both equal.
  const double least = static_cast<double>(parameters.min_eigen) * 1024.0 * pixels;
  if (!(xx + yy >= 2.0 * least)) return false;
  if (!((xx - least) * (yy - least) - xy * xy >= 0.0)) return false;
  const double determinant = xx * yy - xy * xy;
  if (!(determinant > 0.0)) return false;
  model->sxx = static_cast<float>(32768.0 * (yy / determinant));
  model->sxy = static_cast<float>(-32768.0 * (xy / determinant));
  model->syy = static_cast<float>(32768.0 * (xx / determinant));
  model->mean = static_cast<float>(mean);
  return true;
}

// ---- Search ----

// State of a point between levels.
struct TrackState {
  int32_t x;  // 2^-14 pixels of level 0
  int32_t y;
  float gain;    // alpha
  float offset;  // beta
};

enum class TrackStep { kGoesOn, kConverged, kFailed };

// Search for one point on one level.
struct TrackSearch {
  int32_t x;  // 2^-14 pixels of the level
  int32_t y;
  float gain;
  float offset;  // with the mean of the template taken in
  float damping;
  float last_dx;  // the step before, not damped
  float last_dy;

  // `level` as in `model`.
  static ORBSERVE_HOST_DEVICE TrackSearch Begin(const TrackState& state, int level,
                                                const TrackModel& model) {
    return {TrackPlaceOnLevel(state.x, level),
            TrackPlaceOnLevel(state.y, level),
            state.gain,
            Clamp(state.offset + state.gain * model.mean, -kMaxTrackOffset, kMaxTrackOffset),
            1.0f,
            0.0f,
            0.0f};
  }

  ORBSERVE_HOST_DEVICE int RoundedGain() const {  // |result| <= 30720
    return RoundToInt(gain * static_cast<float>(1 << kTrackGainBits));
  }
  ORBSERVE_HOST_DEVICE int RoundedOffset() const {  // |result| <= 2047
    return RoundToInt(offset);
  }

  // One step for the residual sums at the current place. A search that fails stays where it was.
  // `stop`: squared length of a step that is the last. Sums that only a gain or an offset reads may
  // be anything where it is not followed.
  ORBSERVE_HOST_DEVICE TrackStep Step(const TrackResidualSums& sums, const TrackModel& model,
                                      float stop) {
    const auto bo = static_cast<float>(sums.o);
    float bc = static_cast<float>(sums.c);
    bc = bc - model.lco * bo;
    const float bx = (static_cast<float>(sums.x) - model.lxo * bo) - model.lxc * bc;
    const float by = (static_cast<float>(sums.y) - model.lyo * bo) - model.lyc * bc;
    float dx = model.sxx * bx + model.sxy * by;
    float dy = model.sxy * bx + model.syy * by;
    const float ux = dx * (1.0f / 32768.0f);
    const float uy = dy * (1.0f / 32768.0f);
    float qc = bc * model.rc - (model.lxc * ux + model.lyc * uy);
    float qo = bo * model.ro - ((model.lxo * ux + model.lyo * uy) + model.lco * qc);
    // The gradient of bilinear samples jumps where pixels meet: an undamped search may swing about
    // such a place without end.
    if (last_dx * dx + last_dy * dy < 0.0f) damping = damping * 0.5f;
    last_dx = dx;
    last_dy = dy;
    dx = dx * damping;
    dy = dy * damping;
    qc = qc * damping;
    qo = qo * damping;
    if (!(-kTrackStepLimit < dx && dx < kTrackStepLimit && -kTrackStepLimit < dy &&
          dy < kTrackStepLimit)) {  // NaN fails, too
      return TrackStep::kFailed;
    }
    x -= RoundToInt(dx);
    y -= RoundToInt(dy);
    gain = Clamp(gain + qc, -kMaxTrackGain, kMaxTrackGain);
    offset = Clamp(offset + qo, -kMaxTrackOffset, kMaxTrackOffset);
    return dx * dx + dy * dy < stop ? TrackStep::kConverged : TrackStep::kGoesOn;
  }

  // State after a search on `level` that did not fail.
  ORBSERVE_HOST_DEVICE TrackState End(const TrackState& before, int level,
                                      const TrackModel& model) const {
    return {Moved(before.x, x, level), Moved(before.y, y, level), gain, offset - gain * model.mean};
  }

 private:
  // Fractions of `before` that the level cannot represent survive.
  static ORBSERVE_HOST_DEVICE int32_t Moved(int32_t before, int32_t place, int level) {
    const int64_t move = int64_t{place} - TrackPlaceOnLevel(before, level);
    return static_cast<int32_t>(before + move * (int64_t{1} << level));
  }
};

// Difference of sample `v` of the new frame to what the model predicts, cut. `t`: sample of the
// template, `c`: the same less the mean.
ORBSERVE_HOST_DEVICE inline int TrackResidual(int v, int t, int c, int rounded_gain,
                                              int rounded_offset) {
  const int predicted =
      ((rounded_gain * c + (1 << (kTrackGainBits - 1))) >> kTrackGainBits) + rounded_offset;
  return Clamp(v - t - predicted, -kMaxTrackDifference, kMaxTrackDifference);
}

// Mean residual of a patch of level 0 in grey levels, from the sum of the absolute differences.
ORBSERVE_HOST_DEVICE inline float TrackMeanResidual(int absolute_sum) {
  return static_cast<float>(absolute_sum) /
         static_cast<float>(16 * kFineTrackPatchPx * kFineTrackPatchPx);
}

// ---- The whole method ----

// A point to follow: a row of TrackPoints.
struct TrackStart {
  int32_t x;
  int32_t y;
  float gain;
  float offset;
  int32_t template_x;  // place of the template in its frame
  int32_t template_y;
};

// Row `i` of `points` for the template PREVIOUS, or FIRST where `points` has template places.
inline TrackStart TrackStartOf(const TrackPoints& points, size_t i) {
  const bool first = !points.template_x.empty();
  return {points.x[i],
          points.y[i],
          points.gain[i],
          points.offset[i],
          first ? points.template_x[i] : points.x[i],
          first ? points.template_y[i] : points.y[i]};
}

// A row of TrackedPoints.
struct TrackResult {
  TrackStatus status = TrackStatus::kOk;
  int32_t x = 0;
  int32_t y = 0;
  float gain = 0.0f;
  float offset = 0.0f;
  float residual = 0.0f;
};

// Follows one point. `sizes`: of the levels, [parameters.levels]; both frames have them.
//
// `loops` does what reads pixels. It holds the template of one level at a time, and the answers of
// its functions are the same for every thread of a warp:
//
//   // Takes the template of `level` at a near place of that level, or reads it from a row of
//   // patches if the point carries them. A point that is to answer its patches keeps the samples.
//   void TakeTemplate(int level, int side_px, int32_t x, int32_t y);
//   // Called in place of it where the place is not near; patches to be answered are 0 there.
//   void PassTemplate(int level, int side_px);
//   // Sum of the samples of the template without the pixels around.
//   int TemplateSum(int side_px);
//   // Gradients and c = T - mean of the template, and their sums.
//   TrackTemplateSums<int64_t> SumTemplate(int side_px, int mean);
//   // Residual sums of the new frame against the template.
//   TrackResidualSums SumResiduals(int level, int side_px, const TrackSampler& sampler,
//                                  int rounded_gain, int rounded_offset);
//   // Sum of the absolute residuals of level 0; <= 524,032.
//   int SumAbsoluteResiduals(const TrackSampler& sampler, int rounded_gain, int rounded_offset);
ORBSERVE_HOST_DEVICE_OF_EITHER
template <typename Loops>
ORBSERVE_HOST_DEVICE inline TrackResult FollowPoint(const TrackParameters& parameters,
                                                    const TrackLevelSize* sizes,
                                                    const TrackStart& start, Loops& loops) {
  // A gain or an offset that is not followed is 0 from the first to the last search.
  TrackState state = {start.x, start.y, parameters.with_gain ? start.gain : 0.0f,
                      parameters.with_offset ? start.offset : 0.0f};
  TrackResult result;
  for (int level = parameters.levels - 1; level >= 0; --level) {
    const int side = parameters.PatchSide(level);
    const int32_t template_x = TrackPlaceOnLevel(start.template_x, level);
    const int32_t template_y = TrackPlaceOnLevel(start.template_y, level);
    TrackModel model;
    bool usable = IsTrackNear(template_x, template_y, sizes[level]);
    if (usable) {
      loops.TakeTemplate(level, side, template_x, template_y);
      const int mean = parameters.subtracts_mean() ? TrackMean(loops.TemplateSum(side), side) : 0;
      usable = MakeTrackModel(loops.SumTemplate(side, mean), mean, side, parameters, &model);
    } else {
      loops.PassTemplate(level, side);
    }
    if (!usable) {
      if (level == 0) result.status = TrackStatus::kNoTexture;
      continue;
    }
    TrackSearch search = TrackSearch::Begin(state, level, model);
    const float stop = level == 0 ? parameters.fine_stop : parameters.coarse_stop;
    TrackStep step = TrackStep::kGoesOn;
    for (int i = 0; i < parameters.iterations && step == TrackStep::kGoesOn; ++i) {
      if (IsTrackNear(search.x, search.y, sizes[level])) {
        const TrackResidualSums sums =
            loops.SumResiduals(level, side, TrackSamplerAt(search.x, search.y),
                               search.RoundedGain(), search.RoundedOffset());
        step = search.Step(sums, model, stop);
      } else {
        step = TrackStep::kFailed;
      }
    }
    if (level > 0) {
      if (step != TrackStep::kFailed) state = search.End(state, level, model);
      continue;
    }
    if (step != TrackStep::kConverged) {
      result.status =
          step == TrackStep::kFailed ? TrackStatus::kLeftImage : TrackStatus::kNotConverged;
      continue;
    }
    state = search.End(state, level, model);
    if (state.x < 0 || state.x > (sizes[0].width_px - 1) * kTrackUnit || state.y < 0 ||
        state.y > (sizes[0].height_px - 1) * kTrackUnit) {
      result.status = TrackStatus::kLeftImage;
      continue;
    }
    const float residual = TrackMeanResidual(loops.SumAbsoluteResiduals(
        TrackSamplerAt(search.x, search.y), search.RoundedGain(), search.RoundedOffset()));
    if (residual > parameters.max_residual) {
      result.status = TrackStatus::kDifferent;
      continue;
    }
    result = {TrackStatus::kOk, state.x, state.y, state.gain, state.offset, residual};
  }
  return result;
}

}  // namespace orbserve::algo

#endif  // ORBSERVE_FEATURES_ALGO_LUCAS_KANADE_H_
