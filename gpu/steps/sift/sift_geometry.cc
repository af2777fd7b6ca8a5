// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "gpu/steps/sift/sift_geometry.h"

#include <cstddef>
#include <cstdint>

#include "features/host_device.h"

namespace orbserve::gpu {
namespace {

constexpr int kRowAlignment = 32;  // floats: a line of the cache

SiftBlur BlurOf(double sigma) {
  SiftBlur blur;
  blur.radius = algo::SiftBlurRadius(sigma);
  algo::MakeSiftTaps(sigma, blur.taps);
  return blur;
}

}  // namespace

SiftGeometry SiftGeometry::For(int width_px, int height_px, const SiftOptions& options) {
  SiftGeometry geometry;
  geometry.width_px = width_px;
  geometry.height_px = height_px;
  geometry.options = options;
  const int layers = options.octave_layers;
  geometry.first_blur = BlurOf(algo::SiftFirstSigma(options.sigma, options.first_octave));
  for (int i = 1; i < layers + algo::kSiftExtraImages; ++i) {
    geometry.blurs[i] = BlurOf(algo::SiftSigma(options.sigma, layers, i));
  }
  const int scale = options.first_octave < 0 ? 2 : 1;
  int width = scale * width_px;
  int height = scale * height_px;
  SiftScaleSpace& space = geometry.space;
  space.octaves = algo::SiftOctaves(width, height, options.first_octave);
  space.images = layers + algo::kSiftExtraImages;
  for (int i = 0; i < space.octaves; ++i) {
    // No feature lies within the border, nor in the octaves that follow.
    if (Min(width, height) <= 2 * algo::kSiftBorderPx) {
      space.octaves = i;
      break;
    }
    const int pitch = RoundUp(width, kRowAlignment);
    const int64_t plane = static_cast<int64_t>(pitch) * height;
    space.octave[i] = {width, height, pitch, space.stride, plane};
    space.stride += space.images * plane;
    width /= 2;
    height /= 2;
  }
  return geometry;
}

size_t SiftGeometry::image_bytes() const {
  return sizeof(float) * static_cast<size_t>(space.stride);
}

size_t SiftGeometry::row_bytes() const {
  for (const SiftBlur& blur : blurs) {
    if (blur.radius > kSiftTileRadius) {
      return sizeof(float) * static_cast<size_t>(space.octave[0].plane);
    }
  }
  return 0;
}

SiftBuffers::SiftBuffers(const CompiledPipeline& pipeline, ArenaLayout* layout)
    : geometry_(std::make_shared<const SiftGeometry>(SiftGeometry::For(
          pipeline.spec.width_px, pipeline.spec.height_px, pipeline.spec.pipeline.sift))),
      images_(layout->Add("sift images", geometry_->image_bytes())),
      rows_(layout->Add("sift rows", geometry_->row_bytes())) {}

SiftScaleSpace SiftBuffers::ScaleSpace(const StepContext& context) const {
  SiftScaleSpace space = geometry_->space;
  space.memory = reinterpret_cast<float*>(context.At(images_));
  return space;
}

float* SiftBuffers::Rows(const StepContext& context) const {
  return reinterpret_cast<float*>(context.At(rows_));
}

}  // namespace orbserve::gpu
