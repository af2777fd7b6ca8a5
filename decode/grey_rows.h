// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Rows of raw pixels to rows of grey: the SIMD twins of features/algo/grey.h. Each reads and writes
// exactly the bytes of `width_px` >= 1 pixels; source and destination do not overlap.

#ifndef ORBSERVE_DECODE_GREY_ROWS_H_
#define ORBSERVE_DECODE_GREY_ROWS_H_

#include <cstdint>

#include "features/algo/grey.h"

namespace orbserve {

void GreyRowFromRgb(const uint8_t* rgb, int width_px, uint8_t* grey);
void GreyRowFromBgr(const uint8_t* bgr, int width_px, uint8_t* grey);
void GreyRowFromBgra(const uint8_t* bgra, int width_px, uint8_t* grey);
void GreyRowFromRgba(const uint8_t* rgba, int width_px, uint8_t* grey);
// Every second byte, from the first.
void GreyRowFromYuyv(const uint8_t* yuyv, int width_px, uint8_t* grey);
// Every second byte, from the second.
void GreyRowFromUyvy(const uint8_t* uyvy, int width_px, uint8_t* grey);
// Little-endian pixels at any address.
void GreyRowFrom16Bits(const uint8_t* pixels, GreyWindow window, int width_px, uint8_t* grey);
// `width_px` >= 2.
void GreyRowFromBayer(const BayerRows& rows, BayerFilters filters, int width_px, uint8_t* grey);

}  // namespace orbserve

#endif  // ORBSERVE_DECODE_GREY_ROWS_H_
