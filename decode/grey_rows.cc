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

void RgbaRow(const uint8_t* HWY_RESTRICT rgba, int width_px, uint8_t* HWY_RESTRICT grey) {
  const D8 d;
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d)),
      [&](int i) HWY_ATTR {
        V8 red, green, blue, alpha;
        hn::LoadInterleaved4(d, rgba + 4 * i, red, green, blue, alpha);
        hn::StoreU(Grey(d, red, green, blue), d, grey + i);
      },
      [&](int i) { grey[i] = GreyFromRgb(rgba[4 * i], rgba[4 * i + 1], rgba[4 * i + 2]); });
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

void UyvyRow(const uint8_t* HWY_RESTRICT uyvy, int width_px, uint8_t* HWY_RESTRICT grey) {
  const D8 d;
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d)),
      [&](int i) HWY_ATTR {
        V8 chroma, luma;
        hn::LoadInterleaved2(d, uyvy + 2 * i, chroma, luma);
        hn::StoreU(luma, d, grey + i);
      },
      [&](int i) { grey[i] = uyvy[2 * i + 1]; });
}

uint8_t GreyOf16Bits(const uint8_t* pixel, GreyWindow window) {
  return GreyFrom16Bits(static_cast<uint16_t>(pixel[0] | pixel[1] << 8), window);
}

#if HWY_TARGET == HWY_SCALAR
void Gray16Row(const uint8_t* HWY_RESTRICT pixels, GreyWindow window, int width_px,
               uint8_t* HWY_RESTRICT grey) {
  for (int i = 0; i < width_px; ++i) grey[i] = GreyOf16Bits(pixels + 2 * i, window);
}

void BayerRow(const BayerRows& rows, BayerFilters filters, int width_px,
              uint8_t* HWY_RESTRICT grey) {
  for (int x = 0; x < width_px; ++x) grey[x] = GreyFromBayer(rows, filters, x, width_px);
}
#else
// The quotient of GreyFrom16Bits() by a reciprocal. The dividend is below 2^25 and the quotient
// below 256: three roundings to 24 bits are less than the 2^-20 by which the reciprocal is too
// small, so the truncated product is the quotient or, because 256 * 2^-19 < 1, one less.
void Gray16Row(const uint8_t* HWY_RESTRICT pixels, GreyWindow window, int width_px,
               uint8_t* HWY_RESTRICT grey) {
  const hn::ScalableTag<int32_t> d32;
  const hn::Rebind<float, decltype(d32)> d_float;
  const hn::Rebind<uint16_t, decltype(d32)> d16;
  const hn::Rebind<uint8_t, decltype(d32)> d8;
  const hn::Repartition<uint8_t, decltype(d16)> d_bytes;
  const int range = window.high - window.low;
  const auto low = hn::Set(d16, window.low);
  const auto high = hn::Set(d16, window.high);
  const auto rounding = hn::Set(d32, range);
  const auto divisor = hn::Set(d32, 2 * range);
  const auto most = hn::Set(d32, 2 * range - 1);  // remainder
  const auto reciprocal = hn::Set(d_float, (1.0f - 0x1p-20f) / (2.0f * static_cast<float>(range)));
  ForEachVector(
      width_px, static_cast<int>(hn::Lanes(d32)),
      [&](int i) HWY_ATTR {
        const auto value = hn::BitCast(d16, hn::LoadU(d_bytes, pixels + 2 * i));
        const auto above = hn::PromoteTo(d32, hn::Sub(hn::Min(hn::Max(value, low), high), low));
        const auto dividend = hn::Add(hn::Mul(above, hn::Set(d32, 510)), rounding);
        const auto quotient =
            hn::ConvertTo(d32, hn::Mul(hn::ConvertTo(d_float, dividend), reciprocal));
        const auto remainder = hn::Sub(dividend, hn::Mul(quotient, divisor));
        const auto is_one_less = hn::Gt(remainder, most);
        hn::StoreU(hn::DemoteTo(d8, hn::Sub(quotient, hn::VecFromMask(d32, is_one_less))), d8,
                   grey + i);
      },
      [&](int i) { grey[i] = GreyOf16Bits(pixels + 2 * i, window); });
}

HWY_INLINE V16 Mean(D16 d, V16 a, V16 b) {
  return hn::ShiftRight<1>(hn::Add(hn::Add(a, b), hn::Set(d, uint16_t{1})));
}

HWY_INLINE V16 Mean(D16 d, V16 a, V16 b, V16 c, V16 e) {
  return hn::ShiftRight<2>(hn::Add(hn::Add(hn::Add(a, b), hn::Add(c, e)), hn::Set(d, uint16_t{2})));
}

// The bytes at even or odd places, widened as in Grey().
template <bool kEven>
HWY_INLINE V16 HalfOf(D16 d, const uint8_t* bytes) {
  const V16 both = hn::BitCast(d, hn::LoadU(D8(), bytes));
  if constexpr (kEven) return hn::And(both, hn::Set(d, uint16_t{0x00FF}));
  return hn::ShiftRight<8>(both);
}

// Grey of every second pixel from pixel x or x + 1 on. All of them are green, or none is.
template <bool kEven>
HWY_INLINE V16 GreyOfMosaic(D16 d, const BayerRows& rows, int x, bool is_green, bool is_red_row) {
  const V16 left = HalfOf<kEven>(d, rows.row + x - 1);
  const V16 centre = HalfOf<kEven>(d, rows.row + x);
  const V16 right = HalfOf<kEven>(d, rows.row + x + 1);
  const V16 above = HalfOf<kEven>(d, rows.above + x);
  const V16 below = HalfOf<kEven>(d, rows.below + x);
  if (is_green) {
    const V16 row_colour = Mean(d, left, right);
    const V16 other_colour = Mean(d, above, below);
    return is_red_row ? GreyOfHalf(d, row_colour, centre, other_colour)
                      : GreyOfHalf(d, other_colour, centre, row_colour);
  }
  const V16 green = Mean(d, left, right, above, below);
  const V16 other_colour =
      Mean(d, HalfOf<kEven>(d, rows.above + x - 1), HalfOf<kEven>(d, rows.above + x + 1),
           HalfOf<kEven>(d, rows.below + x - 1), HalfOf<kEven>(d, rows.below + x + 1));
  return is_red_row ? GreyOfHalf(d, centre, green, other_colour)
                    : GreyOfHalf(d, other_colour, green, centre);
}

void BayerRow(const BayerRows& rows, BayerFilters filters, int width_px,
              uint8_t* HWY_RESTRICT grey) {
  const D8 d8;
  const D16 d16;
  const auto pixel = [&](int x) { grey[x] = GreyFromBayer(rows, filters, x, width_px); };
  pixel(0);
  pixel(width_px - 1);
  ForEachVector(
      width_px - 2, static_cast<int>(hn::Lanes(d8)),
      [&](int i) HWY_ATTR {
        const int x = i + 1;
        const bool is_green = (x % 2 == 0) == filters.green_first;
        const V16 even = GreyOfMosaic<true>(d16, rows, x, is_green, filters.red);
        const V16 odd = GreyOfMosaic<false>(d16, rows, x, !is_green, filters.red);
        hn::StoreU(hn::BitCast(d8, hn::Or(even, hn::ShiftLeft<8>(odd))), d8, grey + x);
      },
      [&](int i) { pixel(i + 1); });
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace orbserve
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace orbserve {

HWY_EXPORT(RgbRow);
HWY_EXPORT(BgrRow);
HWY_EXPORT(BgraRow);
HWY_EXPORT(RgbaRow);
HWY_EXPORT(YuyvRow);
HWY_EXPORT(UyvyRow);
HWY_EXPORT(Gray16Row);
HWY_EXPORT(BayerRow);

void GreyRowFromRgb(const uint8_t* rgb, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(RgbRow)(rgb, width_px, grey);
}

void GreyRowFromBgr(const uint8_t* bgr, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(BgrRow)(bgr, width_px, grey);
}

void GreyRowFromBgra(const uint8_t* bgra, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(BgraRow)(bgra, width_px, grey);
}

void GreyRowFromRgba(const uint8_t* rgba, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(RgbaRow)(rgba, width_px, grey);
}

void GreyRowFromYuyv(const uint8_t* yuyv, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(YuyvRow)(yuyv, width_px, grey);
}

void GreyRowFromUyvy(const uint8_t* uyvy, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(UyvyRow)(uyvy, width_px, grey);
}

void GreyRowFrom16Bits(const uint8_t* pixels, GreyWindow window, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(Gray16Row)(pixels, window, width_px, grey);
}

void GreyRowFromBayer(const BayerRows& rows, BayerFilters filters, int width_px, uint8_t* grey) {
  HWY_DYNAMIC_DISPATCH(BayerRow)(rows, filters, width_px, grey);
}

}  // namespace orbserve
#endif  // HWY_ONCE
