// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "cpu/kernels/sift_kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <vector>

namespace orbserve::cpu {
namespace {

// Filters the rows, then the columns. `source(y, row)` fills a row.
template <typename Source>
void BlurImage(const Source& source, int width_px, int height_px, const SiftBlur& blur,
               float* image, ptrdiff_t pitch, SiftScratch* scratch) {
  const int radius = blur.radius;
  const ptrdiff_t margin = radius;
  std::vector<float>& rows = scratch->rows;
  const size_t filtered_size = static_cast<size_t>(height_px + 2 * radius) * width_px;
  rows.resize(filtered_size + static_cast<size_t>(width_px + 2 * margin));
  float* const padded = rows.data() + filtered_size;
  const bool last_odd = width_px % 2 != 0;
  for (int y = -radius; y < height_px + radius; ++y) {
    float* const row = padded + margin;
    source(algo::SiftMirror(y, height_px), row);
    for (int i = 1; i <= radius; ++i) {
      row[-i] = row[algo::SiftMirror(-i, width_px)];
      row[width_px - 1 + i] = row[algo::SiftMirror(width_px - 1 + i, width_px)];
    }
    float* const filtered = rows.data() + static_cast<size_t>(y + radius) * width_px;
    for (int x = 0; x < width_px; ++x) {
      filtered[x] = algo::SiftBlurRow(row + x, blur.taps, radius, last_odd && x == width_px - 1);
    }
  }
  for (int y = 0; y < height_px; ++y) {
    const float* const centre = rows.data() + static_cast<size_t>(y + radius) * width_px;
    for (int x = 0; x < width_px; ++x) {
      image[y * pitch + x] = algo::SiftBlurColumn(centre + x, width_px, blur.taps, radius);
    }
  }
}

// True for the thread that makes all rows of an image.
bool MakesAll(SiftBands* bands) { return bands == nullptr || bands->Take(0); }

void MakeFirstImage(const ImageView& grey, bool doubled, const SiftBlur& blur, float* image,
                    ptrdiff_t pitch, SiftBands* bands, SiftScratch* scratch) {
  if (!MakesAll(bands)) return;
  const int scale = doubled ? 2 : 1;
  const int width_px = scale * grey.width_px;
  const auto source = [&](int y, float* row) {
    for (int x = 0; x < width_px; ++x) {
      row[x] = doubled ? algo::SiftDoubledPixel(grey.data, grey.pitch_bytes, grey.width_px,
                                                grey.height_px, x, y)
                       : static_cast<float>(grey.Row(y)[x]);
    }
  };
  BlurImage(source, width_px, scale * grey.height_px, blur, image, pitch, scratch);
}

void Halve(const float* from, ptrdiff_t from_pitch, int width_px, int height_px, float* to,
           ptrdiff_t to_pitch) {
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) to[y * to_pitch + x] = from[2 * y * from_pitch + 2 * x];
  }
}

void MakeOctave(const SiftOctaveTask& task, SiftScratch* scratch,
                std::vector<SiftCandidate>* candidates) {
  if (!MakesAll(task.bands)) return;
  for (int i = 1; i < task.layers + algo::kSiftExtraImages; ++i) {
    const float* const from = task.images[i - 1];
    const auto source = [&](int y, float* row) {
      std::memcpy(row, from + y * task.pitch, sizeof(float) * static_cast<size_t>(task.width_px));
    };
    BlurImage(source, task.width_px, task.height_px, task.blurs[i], task.images[i], task.pitch,
              scratch);
  }
  algo::SiftOctaveView view;
  std::copy(std::begin(task.images), std::end(task.images), std::begin(view.images));
  view.pitch = task.pitch;
  view.width_px = task.width_px;
  view.height_px = task.height_px;
  for (int layer = 1; layer <= task.layers; ++layer) {
    for (int y = algo::kSiftBorderPx; y < task.height_px - algo::kSiftBorderPx; ++y) {
      for (int x = algo::kSiftBorderPx; x < task.width_px - algo::kSiftBorderPx; ++x) {
        if (algo::IsSiftExtremum(view, layer, x, y, task.least_difference)) {
          candidates->push_back(
              {static_cast<int16_t>(layer), static_cast<int16_t>(y), static_cast<int16_t>(x)});
        }
      }
    }
  }
}

void FindDirections(SiftDirectionTask* tasks, int count, SiftScratch* /*scratch*/) {
  for (int i = 0; i < count; ++i) {
    algo::SiftDirections(tasks[i].image, tasks[i].pitch, tasks[i].window, tasks[i].histogram);
  }
}

void DescribeOne(const SiftDescribeTask& task) {
  const algo::SiftPatch& patch = task.patch;
  const int v0 = std::max(-patch.radius, 1 - patch.y);
  const int v1 = std::min(patch.radius, task.height_px - 2 - patch.y);
  const int u0 = std::max(-patch.radius, 1 - patch.x);
  const int u1 = std::min(patch.radius, task.width_px - 2 - patch.x);
  // How a sample is added depends on how many there are.
  int count = 0;
  for (int v = v0; v <= v1; ++v) {
    for (int u = u0; u <= u1; ++u) count += algo::SiftPlaceOf(patch, u, v).Counts() ? 1 : 0;
  }
  float histogram[algo::kSiftHistogramSize] = {};
  int sample = 0;
  for (int v = v0; v <= v1; ++v) {
    for (int u = u0; u <= u1; ++u) {
      const algo::SiftPlace place = algo::SiftPlaceOf(patch, u, v);
      if (!place.Counts()) continue;
      const float* const at = task.image + (patch.y + v) * task.pitch + patch.x + u;
      const float dx = at[1] - at[-1];
      const float dy = at[-task.pitch] - at[task.pitch];
      algo::AddSiftSample(
          patch, place, algo::SiftAngleDegrees(dy, dx, count >= algo::kSiftLongAngles),
          algo::SiftMagnitude(dx, dy), sample < algo::SiftGrouped(count), histogram);
      ++sample;
    }
  }
  uint8_t descriptor[algo::kSiftDescriptorBytes];
  algo::FinishSiftDescriptor(histogram, descriptor, task.norm);
  std::memcpy(task.descriptor, descriptor, sizeof(descriptor));
}

void Describe(const SiftDescribeTask* tasks, int count, SiftScratch* /*scratch*/) {
  for (int i = 0; i < count; ++i) DescribeOne(tasks[i]);
}

}  // namespace

int SiftBands::TakeAny() {
  for (;;) {
    int begin = 0;  // of the longest run of free bands
    int length = 0;
    int run = 0;
    for (int band = 0; band < count_; ++band) {
      run = taken_[static_cast<size_t>(band)].load(std::memory_order_relaxed) ? 0 : run + 1;
      if (run <= length) continue;
      length = run;
      begin = band + 1 - run;
    }
    if (length == 0) return -1;
    // Another thread is on its way to all runs but one at the top.
    const int band = begin == 0 ? 0 : begin + length / 2;
    if (Take(band)) return band;
  }
}

const SiftKernels& ReferenceSiftKernels() {
  static constexpr SiftKernels kKernels = {&MakeFirstImage,           &Halve,          &MakeOctave,
                                           &algo::RefineSiftExtremum, &FindDirections, &Describe};
  return kKernels;
}

}  // namespace orbserve::cpu
