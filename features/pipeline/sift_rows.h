// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Both backends do this alike with features of SIFT: rows of an answer, kinds of descriptors.

#ifndef ORBSERVE_FEATURES_PIPELINE_SIFT_ROWS_H_
#define ORBSERVE_FEATURES_PIPELINE_SIFT_ROWS_H_

#include <cstddef>
#include <cstdint>

#include "features/algo/sift_descriptor.h"
#include "features/algo/sift_order.h"
#include "features/options.h"
#include "features/types.h"

namespace orbserve {

// Normalisation of a descriptor of the detector SIFT.
constexpr algo::SiftNorm SiftNormOf(Descriptor descriptor) {
  return descriptor == Descriptor::kRootSift     ? algo::SiftNorm::kRoot
         : descriptor == Descriptor::kL1RootSift ? algo::SiftNorm::kL1Root
                                                 : algo::SiftNorm::kL2;
}

// Writes `count` features to the rows from `first` on, but for their descriptors. Their packed
// octaves count from 0. Columns of layers get as many rows as the others have.
inline void SetSiftRows(const algo::SiftFeature* from, size_t count, int first_octave, size_t first,
                        Features* features) {
  features->layer.resize(features->count());
  features->layer_fraction.resize(features->count());
  for (size_t i = 0; i < count; ++i) {
    const algo::SiftFeature& feature = from[i];
    const size_t row = first + i;
    features->x[row] = feature.x;
    features->y[row] = feature.y;
    features->size[row] = feature.size;
    features->angle_deg[row] = feature.angle_deg;
    features->response[row] = feature.response;
    features->octave[row] = (feature.octave & 0xFF) + first_octave;
    features->layer[row] = static_cast<uint8_t>(feature.octave >> 8);
    features->layer_fraction[row] = static_cast<uint8_t>(feature.octave >> 16);
  }
}

}  // namespace orbserve

#endif  // ORBSERVE_FEATURES_PIPELINE_SIFT_ROWS_H_
