// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/feature_compare.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace orbserve::testing {
namespace {

template <typename T>
size_t DifferingBytesOf(const std::vector<T>& a, const std::vector<T>& b) {
  const auto* pa = reinterpret_cast<const uint8_t*>(a.data());
  const auto* pb = reinterpret_cast<const uint8_t*>(b.data());
  size_t differing = 0;
  for (size_t i = 0; i < a.size() * sizeof(T); ++i) differing += pa[i] != pb[i] ? 1 : 0;
  return differing;
}

std::string Describe(const Features& f, size_t row) {
  std::string text =
      absl::StrCat("octave ", f.octave[row], " x ", f.x[row], " y ", f.y[row], " size ",
                   f.size[row], " angle ", f.angle_deg[row], " response ", f.response[row], " ");
  for (int i = 0; i < f.descriptor_bytes; ++i) {
    absl::StrAppend(
        &text,
        absl::Hex(
            f.descriptors[row * static_cast<size_t>(f.descriptor_bytes) + static_cast<size_t>(i)],
            absl::kZeroPad2));
  }
  return text;
}

bool SameRow(const Features& a, const Features& b, size_t row) {
  const auto same = [row](const auto& x, const auto& y) {
    return std::memcmp(&x[row], &y[row], sizeof(x[row])) == 0;
  };
  const size_t bytes = static_cast<size_t>(a.descriptor_bytes);
  return same(a.x, b.x) && same(a.y, b.y) && same(a.size, b.size) &&
         same(a.angle_deg, b.angle_deg) && same(a.response, b.response) &&
         same(a.octave, b.octave) &&
         std::equal(a.descriptors.begin() + static_cast<ptrdiff_t>(row * bytes),
                    a.descriptors.begin() + static_cast<ptrdiff_t>((row + 1) * bytes),
                    b.descriptors.begin() + static_cast<ptrdiff_t>(row * bytes));
}

}  // namespace

Features Sorted(const Features& features) {
  std::vector<size_t> order(features.count());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::make_tuple(features.octave[a], -features.response[a], features.y[a],
                           features.x[a]) <
           std::make_tuple(features.octave[b], -features.response[b], features.y[b], features.x[b]);
  });
  Features sorted;
  sorted.descriptor_bytes = features.descriptor_bytes;
  sorted.truncated = features.truncated;
  sorted.image_width_px = features.image_width_px;
  sorted.image_height_px = features.image_height_px;
  sorted.Resize(features.count());
  const size_t bytes = static_cast<size_t>(features.descriptor_bytes);
  for (size_t row = 0; row < order.size(); ++row) {
    const size_t from = order[row];
    sorted.x[row] = features.x[from];
    sorted.y[row] = features.y[from];
    sorted.size[row] = features.size[from];
    sorted.angle_deg[row] = features.angle_deg[from];
    sorted.response[row] = features.response[from];
    sorted.octave[row] = features.octave[from];
    std::copy_n(features.descriptors.begin() + static_cast<ptrdiff_t>(from * bytes), bytes,
                sorted.descriptors.begin() + static_cast<ptrdiff_t>(row * bytes));
  }
  return sorted;
}

std::string FirstDifference(const Features& expected, const Features& actual) {
  if (expected.descriptor_bytes != actual.descriptor_bytes) {
    return absl::StrCat("descriptor_bytes: expected ", expected.descriptor_bytes, ", got ",
                        actual.descriptor_bytes);
  }
  const size_t common = std::min(expected.count(), actual.count());
  for (size_t row = 0; row < common; ++row) {
    if (SameRow(expected, actual, row)) continue;
    return absl::StrCat("row ", row, " of ", expected.count(), "/", actual.count(), ": expected ",
                        Describe(expected, row), "; got ", Describe(actual, row));
  }
  if (expected.count() != actual.count()) {
    return absl::StrCat("expected ", expected.count(), " features, got ", actual.count());
  }
  if (expected.source_index != actual.source_index) return "source_index differs";
  if (expected.layer != actual.layer) return "layer differs";
  if (expected.layer_fraction != actual.layer_fraction) return "layer_fraction differs";
  if (expected.truncated != actual.truncated) {
    return absl::StrCat("truncated: expected ", expected.truncated, ", got ", actual.truncated);
  }
  return "";
}

std::string FirstDifference(const TrackedPoints& expected, const TrackedPoints& actual) {
  if (expected.count() != actual.count()) {
    return absl::StrCat(expected.count(), " points expected, got ", actual.count());
  }
  const auto text = [](const TrackedPoints& points, size_t row) {
    return absl::StrFormat("status %d at %d, %d, gain %a offset %a residual %a",
                           static_cast<int>(points.status[row]), points.x[row], points.y[row],
                           points.gain[row], points.offset[row], points.residual[row]);
  };
  for (size_t row = 0; row < expected.count(); ++row) {
    const auto same = [row](const auto& a, const auto& b) {
      return std::memcmp(&a[row], &b[row], sizeof(a[row])) == 0;
    };
    if (same(expected.status, actual.status) && same(expected.x, actual.x) &&
        same(expected.y, actual.y) && same(expected.gain, actual.gain) &&
        same(expected.offset, actual.offset) && same(expected.residual, actual.residual)) {
      continue;
    }
    return absl::StrCat("point ", row, ": expected ", text(expected, row), ", got ",
                        text(actual, row));
  }
  if (expected.patches.size() != actual.patches.size()) {
    return absl::StrCat(expected.patches.size(), " values of patches expected, got ",
                        actual.patches.size());
  }
  const auto [a, b] =
      std::mismatch(expected.patches.begin(), expected.patches.end(), actual.patches.begin());
  if (a == expected.patches.end()) return "";
  return absl::StrCat("value ", a - expected.patches.begin(), " of the patches: expected ", *a,
                      ", got ", *b);
}

size_t DifferingBytes(const Features& expected, const Features& actual) {
  constexpr size_t kRowBytes = 5 * sizeof(float) + sizeof(int32_t);
  if (expected.count() != actual.count() || expected.descriptor_bytes != actual.descriptor_bytes) {
    return std::max(expected.count(), actual.count()) *
           (kRowBytes + static_cast<size_t>(expected.descriptor_bytes));
  }
  return DifferingBytesOf(expected.x, actual.x) + DifferingBytesOf(expected.y, actual.y) +
         DifferingBytesOf(expected.size, actual.size) +
         DifferingBytesOf(expected.angle_deg, actual.angle_deg) +
         DifferingBytesOf(expected.response, actual.response) +
         DifferingBytesOf(expected.octave, actual.octave) +
         DifferingBytesOf(expected.descriptors, actual.descriptors);
}

}  // namespace orbserve::testing
