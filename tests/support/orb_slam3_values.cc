// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/support/orb_slam3_values.h"

#include <cstring>
#include <filesystem>

#include "tests/support/golden_files.h"

namespace orbserve::testing {
namespace {

// One pixel of an image that is made by rule.
uint8_t MadePixel(const std::string& name, int x, int y) {
  if (name == "dots") return x % 9 == 4 && y % 9 == 4 ? 200 : 50;
  if (name == "squares") return static_cast<uint8_t>(30 + 170 * ((x / 16 + y / 16) % 2));
  if (name == "flat") return 77;
  uint32_t a = 2654435761u * static_cast<uint32_t>(x) + 40503u * 65537u * static_cast<uint32_t>(y);
  a ^= a >> 15;
  a *= 2246822519u;
  a ^= a >> 13;
  return static_cast<uint8_t>(a & 255);
}

}  // namespace

const std::vector<Slam3Value>& Slam3Values() {
  // clang-format off
  static const std::vector<Slam3Value>& values = *new std::vector<Slam3Value>{
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1002 9cf9c2f4", "f35d5b3c", 1002},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2006 4ec6c2bd", "", 2006},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "4756 80ddc7df", "", 4756},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "471 09f8fe13", "", 471},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1509 e171742a", "", 1509},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1008 2ef05ef4", "", 1008},
    {"seq-euroc-v101-static/cam1/1403715273262142976.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1008 9ba75617", "b005f558", 1008},
    {"seq-euroc-v101-static/cam1/1403715273262142976.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2003 63040ebe", "", 2003},
    {"seq-euroc-v101-static/cam1/1403715273262142976.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "4684 35ea1ec0", "", 4684},
    {"seq-euroc-v101-static/cam1/1403715273262142976.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "471 f919c7b4", "", 471},
    {"seq-euroc-v101-static/cam1/1403715273262142976.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1511 79e9456c", "", 1511},
    {"seq-euroc-v101-static/cam1/1403715273262142976.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1010 af8f1a06", "", 1010},
    {"seq-kitti-a/image_0/000000.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1005 c29c9d96", "9e6465b8", 1005},
    {"seq-kitti-a/image_0/000000.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2005 65cc3a2c", "", 2005},
    {"seq-kitti-a/image_0/000000.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "4632 8a738841", "", 4632},
    {"seq-kitti-a/image_0/000000.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "469 fadada6c", "", 469},
    {"seq-kitti-a/image_0/000000.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1511 38436397", "", 1511},
    {"seq-kitti-a/image_0/000000.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1012 b9791e31", "", 1012},
    {"orb-golden/bark1.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1006 cae9c45e", "9bfbb02a", 1006},
    {"orb-golden/bark1.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2004 ba697d00", "", 2004},
    {"orb-golden/bark1.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "5002 8bce94a2", "", 5002},
    {"orb-golden/bark1.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "467 febb205b", "", 467},
    {"orb-golden/bark1.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1511 03565be4", "", 1511},
    {"orb-golden/bark1.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1012 c0cf0d92", "", 1012},
    {"orb-golden/wall1.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1006 24778535", "82b8e538", 1006},
    {"orb-golden/wall1.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2011 e46f53d9", "", 2011},
    {"orb-golden/wall1.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "5009 54920a88", "", 5009},
    {"orb-golden/wall1.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "504 0de2fadb", "", 504},
    {"orb-golden/wall1.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1515 933fc924", "", 1515},
    {"orb-golden/wall1.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1006 2bac20dd", "", 1006},
    {"orb-golden/tiled_ties.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1004 8212ac5f", "8381c3b8", 1004},
    {"orb-golden/tiled_ties.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2010 4aae69ee", "", 2010},
    {"orb-golden/tiled_ties.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "5003 d7e9f6c9", "", 5003},
    {"orb-golden/tiled_ties.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "503 e830db3c", "", 503},
    {"orb-golden/tiled_ties.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1515 fbf686a0", "", 1515},
    {"orb-golden/tiled_ties.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1004 61aeb4b9", "", 1004},
    {"orb-golden/cathedral_1440x1080.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1004 434bde76", "28503dd8", 1004},
    {"orb-golden/cathedral_1440x1080.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2012 907ea271", "", 2012},
    {"orb-golden/cathedral_1440x1080.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "5007 03c8b757", "", 5007},
    {"orb-golden/cathedral_1440x1080.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "502 a3a71c45", "", 502},
    {"orb-golden/cathedral_1440x1080.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1515 f3518174", "", 1515},
    {"orb-golden/cathedral_1440x1080.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1004 644d3b4c", "", 1004},
    {"iguazu-noise/img6.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1003 77eb683d", "9e97852d", 1003},
    {"iguazu-noise/img6.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2012 8c6709dc", "", 2012},
    {"iguazu-noise/img6.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "5006 548d68da", "", 5006},
    {"iguazu-noise/img6.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "502 d57002c0", "", 502},
    {"iguazu-noise/img6.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1515 9e5053f9", "", 1515},
    {"iguazu-noise/img6.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1004 132a83ad", "", 1004},
    {"pairs/stereo_office_left.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1008 44ed2f5c", "aecc7247", 1008},
    {"pairs/stereo_office_left.png", {}, false, {2000, 1.2f, 8, 12, 7, 0, 0}, "2011 8b884e95", "", 2011},
    {"pairs/stereo_office_left.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "5005 a6bc497f", "", 5005},
    {"pairs/stereo_office_left.png", {}, false, {500, 2.0f, 4, 20, 7, 0, 0}, "507 64770213", "", 507},
    {"pairs/stereo_office_left.png", {}, false, {1500, 1.1f, 12, 12, 5, 0, 0}, "1518 1ce0bd14", "", 1518},
    {"pairs/stereo_office_left.png", {}, false, {1000, 1.2f, 8, 7, 7, 0, 0}, "1008 b8453dee", "", 1008},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 1000}, "1002 03dace09", "40554475", 0},
    {"seq-kitti-a/image_0/000000.png", {}, false, {1000, 1.2f, 8, 20, 7, 0, 1000}, "1005 e24eeb4f", "50324457", 212},
    {"seq-kitti-a/image_0/000000.png", {}, false, {1000, 1.2f, 8, 20, 7, 300, 700}, "1005 dc4a89ac", "13468442", 701},
    {"seq-kitti-a/image_0/000000.png", {}, false, {2000, 1.2f, 8, 20, 7, 0, 0}, "2005 a5506b2a", "eb48e673", 2005},
    {"seq-kitti-a/image_0/000000.png", {}, false, {1, 1.2f, 8, 20, 7, 0, 0}, "128 58e6e5f1", "fae8dec2", 128},
    {"seq-kitti-a/image_0/000000.png", {}, false, {100, 1.5f, 5, 80, 20, 0, 0}, "108 a7522caf", "78aae7a7", 108},
    {"seq-kitti-a/image_0/000000.png", {}, false, {5000, 1.2f, 8, 7, 0, 0, 0}, "5007 ac225095", "ac6967bf", 5007},
    {"orb-golden/tiled_ties.png", {}, false, {20000, 1.2f, 8, 20, 7, 0, 0}, "16458 4c7c7e08", "08da0dc6", 16458},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {}, true, {1000, 1.2f, 8, 20, 7, 0, 0}, "1004 535b9523", "de93ce5f", 1004},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {100, 50, 333, 251}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "563 bb273e48", "031f5b47", 563},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {201, 7, 67, 67}, false, {500, 1.2f, 1, 20, 7, 0, 0}, "5 0de4c861", "b3c6331b", 5},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {201, 7, 66, 66}, false, {500, 1.2f, 1, 20, 7, 0, 0}, "0 00000000", "00000000", 0},
    {"seq-kitti-a/image_0/000000.png", {17, 3, 1201, 103}, false, {1000, 1.2f, 4, 20, 7, 0, 0}, "815 99cd2c9c", "f08b80b2", 815},
    {"orb-golden/cathedral_1440x1080.png", {137, 582, 486, 97}, false, {500, 1.2f, 1, 20, 7, 0, 0}, "244 0a37e7a9", "56ec101b", 244},
    {"orb-golden/cathedral_1440x1080.png", {867, 821, 437, 69}, false, {500, 1.2f, 1, 20, 7, 0, 0}, "182 64f3f716", "3fd1d737", 182},
    {"orb-golden/cathedral_1440x1080.png", {507, 779, 544, 69}, false, {500, 1.2f, 1, 20, 7, 0, 0}, "297 482f34a4", "68626ae5", 297},
    {"dots", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "874 f2f56943", "6839b077", 874},
    {"squares", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "790 2b9920df", "caaf8fc0", 790},
    {"hash", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "1004 67ff990f", "fe7e6cd2", 1004},
    {"made/tree_depth_351x91.png", {}, false, {20000, 1.2f, 1, 20, 7, 0, 0}, "1089 d282ccf5", "26239336", 1089},
    {"hash", {}, false, {5000, 1.3f, 6, 40, 10, 0, 0}, "4457 18026b05", "6b533b0d", 4457},
    {"flat", {}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "0 00000000", "00000000", 0},
    {"iguazu-noise/img3.png", {}, false, {5000, 1.5f, 5, 12, 5, 0, 0}, "5005 bd5b9038", "185abc91", 5005},
    {"seq-kitti-a/image_0/000047.png", {}, false, {5000, 1.2f, 8, 20, 7, 0, 0}, "4788 743a9c6b", "57c68bb3", 4788},
    {"seq-kitti-a/image_0/000000.png", {}, true, {1000, 1.2f, 8, 20, 7, 0, 0}, "", "", 0},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", {0, 0, 160, 112}, false, {1000, 1.2f, 8, 20, 7, 0, 0}, "", "", 0},
  };
  // clang-format on
  return values;
}

const std::vector<Slam3Stage>& Slam3Stages() {
  // clang-format off
  static const std::vector<Slam3Stage>& stages = *new std::vector<Slam3Stage>{
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 0, 752, 480, 217, "ac6de7fc", "215cdd6d", 2536, "f66e0319", 2, {118}, 218},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 1, 627, 400, 181, "81ee1d10", "0f6f1c97", 1333, "bbe97fc3", 2, {103}, 181},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 2, 522, 333, 151, "6e7f80bd", "23e711cb", 941, "ca67378c", 2, {87}, 151},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 3, 435, 278, 126, "5ff1b1d1", "640259cb", 669, "1cfc716c", 2, {66}, 126},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 4, 363, 231, 105, "02c3b9f0", "5bf9f109", 482, "6eab9a2f", 2, {28, 57}, 105},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 5, 302, 193, 87, "9ea1e25f", "ced65af9", 395, "bfb4fe58", 2, {27, 57}, 87},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 6, 252, 161, 73, "e117d15a", "015d0723", 288, "e3b8fcd2", 2, {21, 45}, 73},
    {"seq-euroc-v101-static/cam0/1403715273262142976.png", 7, 210, 134, 60, "05d095cc", "745661b9", 218, "633aaca7", 2, {19, 40}, 61},
    {"seq-kitti-a/image_0/000000.png", 0, 1241, 376, 217, "6d7f96f4", "ff78f884", 4297, "b0250bb2", 4, {64}, 218},
    {"seq-kitti-a/image_0/000000.png", 1, 1034, 313, 181, "21ccc1d9", "d957c330", 2403, "694943c1", 4, {63}, 183},
    {"seq-kitti-a/image_0/000000.png", 2, 862, 261, 151, "a978fad0", "65bf0337", 1501, "acd529c0", 4, {63}, 152},
    {"seq-kitti-a/image_0/000000.png", 3, 718, 218, 126, "802f918b", "4820fc01", 926, "ec669d96", 4, {63}, 126},
    {"seq-kitti-a/image_0/000000.png", 4, 598, 181, 105, "940483f7", "e9fda9d9", 566, "c50f7114", 4, {62}, 105},
    {"seq-kitti-a/image_0/000000.png", 5, 499, 151, 87, "d6769d71", "af626abf", 326, "0cda9f66", 4, {43}, 88},
    {"seq-kitti-a/image_0/000000.png", 6, 416, 126, 73, "c4ee937a", "52726d38", 247, "29a0130b", 4, {41}, 73},
    {"seq-kitti-a/image_0/000000.png", 7, 346, 105, 60, "22859065", "a096cf6f", 159, "ef3a1465", 4, {15, 33}, 60},
  };
  // clang-format on
  return stages;
}

std::optional<TestImage> Slam3Image(const Slam3Value& value, const std::string& data_folder) {
  const std::string file = value.file;
  TestImage whole(640, 480);
  if (file.find('.') == std::string::npos) {
    for (int y = 0; y < 480; ++y) {
      for (int x = 0; x < 640; ++x) whole.At(x, y) = MadePixel(file, x, y);
    }
  } else {
    const std::string path = data_folder + "/" + file;
    if (!std::filesystem::exists(path)) return std::nullopt;
    whole = ReadGreyPng(path);
  }
  const Slam3Crop& crop = value.crop;
  if (crop.width_px > 0) {
    TestImage part(crop.width_px, crop.height_px);
    for (int y = 0; y < crop.height_px; ++y) {
      for (int x = 0; x < crop.width_px; ++x) part.At(x, y) = whole.At(crop.x + x, crop.y + y);
    }
    return part;
  }
  if (!value.is_transposed) return whole;
  TestImage exchanged(whole.height_px(), whole.width_px());
  for (int y = 0; y < whole.height_px(); ++y) {
    for (int x = 0; x < whole.width_px(); ++x) exchanged.At(y, x) = whole.At(x, y);
  }
  return exchanged;
}

std::string NameOf(const Slam3Value& value) {
  const Slam3Settings& s = value.settings;
  std::string name = std::string(value.file) + (value.is_transposed ? " transposed" : "");
  if (value.crop.width_px > 0) {
    name +=
        " crop " + std::to_string(value.crop.width_px) + "x" + std::to_string(value.crop.height_px);
  }
  return name + ", n " + std::to_string(s.max_features) + ", " + std::to_string(s.scale_factor) +
         " x " + std::to_string(s.levels) + ", " + std::to_string(s.threshold) + "/" +
         std::to_string(s.threshold_low) + ", lapping " + std::to_string(s.lapping_begin) + ".." +
         std::to_string(s.lapping_end);
}

std::string Slam3RecordsOf(const Features& features) {
  std::string records;
  const auto append = [&records](const void* bytes, size_t count) {
    records.append(static_cast<const char*>(bytes), count);
  };
  const auto descriptor_bytes = static_cast<size_t>(features.descriptor_bytes);
  for (size_t i = 0; i < features.count(); ++i) {
    for (const auto* column :
         {&features.x, &features.y, &features.size, &features.angle_deg, &features.response}) {
      append(&(*column)[i], sizeof(float));
    }
    append(&features.octave[i], sizeof(int32_t));
    append(features.descriptors.data() + i * descriptor_bytes, descriptor_bytes);
  }
  return records;
}

}  // namespace orbserve::testing
