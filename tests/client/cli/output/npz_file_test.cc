// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "client/cli/output/files/npz_file.h"

#include <cstdio>
#include <cstdlib>

#include "gtest/gtest.h"
#include "tests/client/temporary_folder.h"

namespace orbserve::cli {
namespace {

using orbserve::testing::TemporaryFolder;

constexpr size_t kPlenty = 1 << 20;

std::vector<NpzArray> Sample() {
  const float xy[4] = {1.5f, -2.0f, 3.25f, 1e-30f};
  const int32_t octave[2] = {0, 7};
  return {
      {"xy", "<f4", {2, 2}, std::string(reinterpret_cast<const char*>(xy), sizeof(xy))},
      {"octave", "<i4", {2}, std::string(reinterpret_cast<const char*>(octave), sizeof(octave))},
      {"descriptors", "|u1", {2, 3}, "\x01\x02\x03\xFF\xFE\xFD"},
      {"empty", "<f4", {0}, ""},
      {"empty2", "|u1", {0, 32}, ""}};
}

void ExpectEqual(const std::vector<NpzArray>& a, const std::vector<NpzArray>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].type, b[i].type) << a[i].name;
    EXPECT_EQ(a[i].shape, b[i].shape) << a[i].name;
    EXPECT_EQ(a[i].data, b[i].data) << a[i].name;
  }
}

// Runs a Python script that uses numpy. Returns its exit code; -1 if numpy is missing.
int RunPython(const std::string& script) {
  const std::string python = "/usr/bin/python3";
  if (std::system((python + " -c 'import numpy' 2>/dev/null").c_str()) != 0) return -1;
  return std::system((python + " -c \"" + script + "\"").c_str());
}

TEST(NpzFileTest, ReadsWhatItWrites) {
  const auto arrays = DecodeNpz(EncodeNpz(Sample()), kPlenty);
  ASSERT_TRUE(arrays.ok()) << arrays.status();
  ExpectEqual(*arrays, Sample());
}

TEST(NpzFileTest, SameArraysGiveSameBytes) { EXPECT_EQ(EncodeNpz(Sample()), EncodeNpz(Sample())); }

TEST(NpzFileTest, NumpyReadsWhatItWrites) {
  const TemporaryFolder folder;
  const std::string path = folder.Write("a.npz", EncodeNpz(Sample()));
  const int code = RunPython(
      "import numpy as np, zipfile\n"
      "path = '" +
      path +
      "'\n"
      "assert zipfile.ZipFile(path).testzip() is None\n"
      "d = np.load(path)\n"
      "assert sorted(d) == ['descriptors', 'empty', 'empty2', 'octave', 'xy'], sorted(d)\n"
      "assert d['xy'].dtype == np.float32 and d['octave'].dtype == np.int32\n"
      "assert (d['xy'] == np.array([[1.5, -2], [3.25, 1e-30]], np.float32)).all()\n"
      "assert d['octave'].tolist() == [0, 7]\n"
      "assert d['descriptors'].dtype == np.uint8\n"
      "assert d['descriptors'].tolist() == [[1, 2, 3], [255, 254, 253]]\n"
      "assert d['empty'].shape == (0,) and d['empty2'].shape == (0, 32)\n");
  if (code == -1) GTEST_SKIP() << "NOT RUN: /usr/bin/python3 has no numpy";
  EXPECT_EQ(code, 0);
}

TEST(NpzFileTest, ReadsWhatNumpyWritesStoredAndCompressed) {
  for (const std::string save : {"savez", "savez_compressed"}) {
    const TemporaryFolder folder;
    const std::string path = folder / "a.npz";
    const int code = RunPython("import numpy as np\nnp." + save + "('" + path +
                               "', xy=np.array([[1.5, -2], [3.25, 1e-30]], np.float32), "
                               "octave=np.array([0, 7], np.int32), "
                               "descriptors=np.array([[1, 2, 3], [255, 254, 253]], np.uint8), "
                               "empty=np.zeros((0,), np.float32), "
                               "empty2=np.zeros((0, 32), np.uint8))\n");
    if (code == -1) GTEST_SKIP() << "NOT RUN: /usr/bin/python3 has no numpy";
    ASSERT_EQ(code, 0);
    const auto arrays = DecodeNpz(TemporaryFolder::Read(path), kPlenty);
    ASSERT_TRUE(arrays.ok()) << save << ": " << arrays.status();
    ExpectEqual(*arrays, Sample());
  }
}

TEST(NpzFileTest, EveryTruncationIsRefused) {
  const std::string whole = EncodeNpz(Sample());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(DecodeNpz(absl::string_view(whole).substr(0, size), kPlenty).ok()) << size;
  }
}

TEST(NpzFileTest, AFlippedBitInTheDataIsNoticed) {
  const std::vector<NpzArray> sample = Sample();
  std::string bytes = EncodeNpz(sample);
  const size_t at = bytes.find(sample[2].data);
  ASSERT_NE(at, std::string::npos);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  const auto arrays = DecodeNpz(bytes, kPlenty);
  ASSERT_FALSE(arrays.ok());
  EXPECT_NE(std::string(arrays.status().message()).find("checksum"), std::string::npos);
}

TEST(NpzFileTest, NoSingleByteChangeCrashesTheReader) {
  const std::string whole = EncodeNpz(Sample());
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const int value : {0x00, 0x7F, 0xFF}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(value);
      refused += DecodeNpz(bytes, kPlenty).ok() ? 0 : 1;
    }
  }
  EXPECT_GT(refused, static_cast<int>(whole.size()));
}

TEST(NpzFileTest, MoreDataThanAllowedIsRefused) {
  EXPECT_FALSE(DecodeNpz(EncodeNpz(Sample()), 100).ok());
}

TEST(NpzFileTest, OtherFilesAreRefused) {
  EXPECT_FALSE(DecodeNpz("", kPlenty).ok());
  EXPECT_FALSE(DecodeNpz("PK\x05\x06", kPlenty).ok());
  EXPECT_FALSE(DecodeNpz(std::string(1000, 'x'), kPlenty).ok());
}

}  // namespace
}  // namespace orbserve::cli
