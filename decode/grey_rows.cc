// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "decode/grey_rows.h"

#include "features/algo/grey.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "decode/grey_rows.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace orbserve {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D8 = hn::ScalableTag<uint8_t>;
using V8 = hn::Vec<D8>;

#if HWY_TARGET == HWY_SCALAR  // one lane, which has no view as half a wider one
HWY_INLINE V8 Grey(D8 d8, V8 red, V8 green, V8 blue) {
  return hn::Set(d8, GreyFromRgb(hn::GetLane(red), hn::GetLane(green), hn::GetLane(blue)));
}
#else
using D16 = hn::Repartition<uint16_t, D8>;
using V16 = hn::Vec<D16>;

// GreyFromRgb() in 16 bits. With each weight w = 256 * high + low,
//   (sum(w * c) + 2^14) >> 15 = (sum(high * c) + ((sum(low * c) + 2^14) >> 8)) >> 7,
// since flooring twice is flooring once by the product; and 2^14 is a multiple of 256, so it may be
// added after the first shift. sum(low) = 256 and sum(high) = 127: neither sum exceeds 65535.
HWY_INLINE V16 GreyOfHalf(D16 d, V16 red, V16 green, V16 blue) {
  constexpr auto high = [](int weight) { return static_cast<uint16_t>(weight >> 8); };
  constexpr auto low = [](int weight) { return static_cast<uint16_t>(weight & 255); };
  static_assert(low(kGreyWeightRed) + low(kGreyWeightGreen) + low(kGreyWeightBlue) <= 257);
  static_assert(kGreyShift == 15);
  const V16 high_sum = hn::Add(hn::Add(hn::Mul(red, hn::Set(d, high(kGreyWeightRed))),
                                       hn::Mul(green, hn::Set(d, high(kGreyWeightGreen)))),
                               hn::Mul(blue, hn::Set(d, high(kGreyWeightBlue))));
  const V16 low_sum = hn::Add(hn::Add(hn::Mul(red, hn::Set(d, low(kGreyWeightRed))),
                                      hn::Mul(green, hn::Set(d, low(kGreyWeightGreen)))),
                              hn::Mul(blue, hn::Set(d, low(kGreyWeightBlue))));
  const V16 rounded = hn::Add(hn::Add(high_sum, hn::ShiftRight<8>(low_sum)),
                              hn::Set(d, static_cast<uint16_t>(1 << (14 - 8))));
  return hn::ShiftRight<7>(rounded);
}

// Bytes at even places are widened by masking, those at odd places by shifting, so that putting
// them together again needs no shuffle and no lane order.
HWY_INLINE V8 Grey(D8 d8, V8 red, V8 green, V8 blue) {
  const D16 d16;
  const V16 mask = hn::Set(d16, 0x00FF);
  const V16 r = hn::BitCast(d16, red);
  const V16 g = hn::BitCast(d16, green);
  const V16 b = hn::BitCast(d16, blue);
  const V16 even = GreyOfHalf(d16, hn::And(r, mask), hn::And(g, mask), hn::And(b, mask));
  const V16 odd = GreyOfHalf(d16, hn::ShiftRight<8>(r), hn::ShiftRight<8>(g), hn::ShiftRight<8>(b));
  return hn::BitCast(d8, hn::Or(even, hn::ShiftLeft<8>(odd)));
}
#endif

// Calls `vector(i)` for every whole vector from pixel i and for a last, overlapping one, or
// `pixel(i)` for each pixel when the row is shorter than a vector.
template <typename VectorFn, typename PixelFn>
HWY_INLINE void ForEachVector(int width_px, int lanes, VectorFn vector, PixelFn pixel) {
  if (width_px < lanes) {
    for (int i = 0; i < width_px; ++i) pixel(i);
    return;
  }
  int i = 0;
  for (; i + lanes <= width_px; i += lanes) vector(i);
  if (i < width_px) vector(width_px - lanes);
}

void RgbRow(const uint8_t* HWY_RESTRICT rgb, int width_px, uint8_t* HWY_RESTRICT grey) {
  const D8 d;
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d)),
      [&](int i) HWY_ATTR {
        V8 red, green, blue;
        hn::LoadInterleaved3(d, rgb + 3 * i, red, green, blue);
        hn::StoreU(Grey(d, red, green, blue), d, grey + i);
      },
      [&](int i) { grey[i] = GreyFromRgb(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]); });
}

void BgrRow(const uint8_t* HWY_RESTRICT bgr, int width_px, uint8_t* HWY_RESTRICT grey) {
  const D8 d;
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d)),
      [&](int i) HWY_ATTR {
        V8 blue, green, red;
        hn::LoadInterleaved3(d, bgr + 3 * i, blue, green, red);
        hn::StoreU(Grey(d, red, green, blue), d, grey + i);
      },
      [&](int i) { grey[i] = GreyFromRgb(bgr[3 * i + 2], bgr[3 * i + 1], bgr[3 * i]); });
}

void BgraRow(const uint8_t* HWY_RESTRICT bgra, int width_px, uint8_t* HWY_RESTRICT grey) {
  const D8 d;
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d)),
      [&](int i) HWY_ATTR {
        V8 blue, green, red, alpha;
        hn::LoadInterleaved4(d, bgra + 4 * i, blue, green, red, alpha);
        hn::StoreU(Grey(d, red, green, blue), d, grey + i);
      },
      [&](int i) { grey[i] = GreyFromRgb(bgra[4 * i + 2], bgra[4 * i + 1], bgra[4 * i]); });
}

void YuyvRow(const uint8_t* HWY_RESTRICT yuyv, int width_px, uint8_t* HWY_RESTRICT grey) {
  const D8 d;
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d)),
      [&](int i) HWY_ATTR {
        V8 luma, chroma;
        hn::LoadInterleaved2(d, yuyv + 2 * i, luma, chroma);
        hn::StoreU(luma, d, grey + i);
      },
      [&](int i) { grey[i] = yuyv[2 * i]; });
}

}  // namespace HWY_NAMESPACE
}  // namespace orbserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve {

HWY_EXPORT(RgbRow);
HWY_EXPORT(BgrRow);
HWY_EXPORT(BgraRow);
HWY_EXPORT(YuyvRow);

void GreyRowFromRgb(const uint8_t* rgb, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(RgbRow)(rgb, width_px, grey);
}

void GreyRowFromBgr(const uint8_t* bgr, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(BgrRow)(bgr, width_px, grey);
}

void GreyRowFromBgra(const uint8_t* bgra, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(BgraRow)(bgra, width_px, grey);
}

void GreyRowFromYuyv(const uint8_t* yuyv, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(YuyvRow)(yuyv, width_px, grey);
}

}  // namespace orbserve
#endif  // HWY_ONCE
