// Reduced case: algo::FastScore over bytes unpacked from words.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#include <random>

#ifndef RING_T
#define RING_T uint8_t
#endif
#ifndef CONST_ARC
#define CONST_ARC 1
#endif
#ifndef LOADER
#define LOADER 1   // 0: bytes from memory; 1: bytes unpacked from words; 2: from shared tile of words
#endif

template <typename T> __host__ __device__ constexpr T Min(T a, T b) { return b < a ? b : a; }
template <typename T> __host__ __device__ constexpr T Max(T a, T b) { return a < b ? b : a; }

__host__ __device__ inline int FastScore(const RING_T (&ring)[16], int centre_grey, int arc_length) {
  int best = -255;
  for (int start = 0; start < 16; ++start) {
    int brighter = 255;
    int darker = 255;
    for (int i = 0; i < arc_length; ++i) {
      const int difference = ring[(start + i) % 16] - centre_grey;
      brighter = Min(brighter, difference);
      darker = Min(darker, -difference);
    }
    best = Max(best, Max(brighter, darker));
  }
  return best - 1;
}
__host__ __device__ inline int FastRingX(int i) {
  constexpr int8_t x[16] = {0, 1, 2, 3, 3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1};
  return x[i];
}
__host__ __device__ inline int FastRingY(int i) {
  constexpr int8_t y[16] = {3, 3, 2, 1, 0, -1, -2, -3, -3, -3, -2, -1, 0, 1, 2, 3};
  return y[i];
}
constexpr int kPitch = 160;


#ifndef ARC
#define ARC 9
#endif
#ifndef WITH_TEST
#define WITH_TEST 1
#endif
#ifndef PACK
#define PACK 1
#endif
#ifndef SKIP
#define SKIP 0
#endif
#ifndef FENCE
#define FENCE 0
#endif
struct RowWords { uint32_t left, own, right; };
template <int kColumn>
__device__ __forceinline__ uint8_t ByteAt(const RowWords& row) {
  constexpr int kByte = kColumn + 4;
  const uint32_t word = kByte < 4 ? row.left : kByte < 8 ? row.own : row.right;
  return static_cast<uint8_t>(word >> (8 * (kByte % 4)));
}
template <int kArcLength>
__device__ __forceinline__ bool HoldsArc(uint32_t bits) {
  uint32_t run = bits | (bits << 16);
  run &= run >> 1;
  run &= run >> 2;
  run &= run >> 4;
  run &= run >> (kArcLength - 8);
  return (run & 0xffffu) != 0;
}
template <int kPixel>
__device__ __forceinline__ uint32_t ScoreOne(const RowWords (&row)[7], int threshold_grey) {
  const RING_T ring[16] = {
      ByteAt<kPixel>(row[6]),     ByteAt<kPixel + 1>(row[6]), ByteAt<kPixel + 2>(row[5]),
      ByteAt<kPixel + 3>(row[4]), ByteAt<kPixel + 3>(row[3]), ByteAt<kPixel + 3>(row[2]),
      ByteAt<kPixel + 2>(row[1]), ByteAt<kPixel + 1>(row[0]), ByteAt<kPixel>(row[0]),
      ByteAt<kPixel - 1>(row[0]), ByteAt<kPixel - 2>(row[1]), ByteAt<kPixel - 3>(row[2]),
      ByteAt<kPixel - 3>(row[3]), ByteAt<kPixel - 3>(row[4]), ByteAt<kPixel - 2>(row[5]),
      ByteAt<kPixel - 1>(row[6])};
  int centre = ByteAt<kPixel>(row[3]);
#if FENCE
  asm volatile("" : "+r"(centre));
#endif
#if WITH_TEST
  uint32_t encoded = 0;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    encoded |= static_cast<uint32_t>(ring[i] > centre + threshold_grey) << i;
    encoded |= static_cast<uint32_t>(ring[i] < centre - threshold_grey) << (16 + i);
  }
  if (!(HoldsArc<ARC>(encoded & 0xffffu) || HoldsArc<ARC>(encoded >> 16))) return 0;
  return static_cast<uint32_t>(FastScore(ring, centre, ARC) - threshold_grey + 1);
#else
  const int score = FastScore(ring, centre, ARC);
  return score >= threshold_grey ? static_cast<uint32_t>(score - threshold_grey + 1) : 0;
#endif
}
__global__ void Scores(const uint32_t* __restrict__ words, int width_words, int height, int t, int16_t* __restrict__ out) {
  const int xw = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y + 3;
  if (xw < 1 || xw >= width_words - 1) return;
  RowWords row[7];
#pragma unroll
  for (int r = 0; r < 7; ++r) {
    const uint32_t* p = words + (y + r - 3) * width_words + xw;
    row[r] = {p[-1], p[0], p[1]};
  }
  int16_t* o = out + (y * width_words + xw) * 4;
#if PACK
  const uint32_t four = ScoreOne<0>(row, t) | ScoreOne<1>(row, t) << 8 | ScoreOne<2>(row, t) << 16 | ScoreOne<3>(row, t) << 24;
  for (int c = 0; c < 4; ++c) o[c] = static_cast<int16_t>((four >> (8 * c)) & 0xff);
#else
  o[0] = ScoreOne<0>(row, t); o[1] = ScoreOne<1>(row, t); o[2] = ScoreOne<2>(row, t); o[3] = ScoreOne<3>(row, t);
#endif
}
#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s: %s\n", #x, cudaGetErrorString(e)); return 2; } } while (0)
int main(int, char** argv) {
  #ifndef ARC
#define ARC 9
#endif
  const int ww = 64, h = 70, pitch = ww * 4;
  std::mt19937 random(7);
  std::vector<uint32_t> img(ww * h);
  auto* bytes = reinterpret_cast<uint8_t*>(img.data());
  for (size_t i = 0; i < img.size() * 4; ++i) {
    const int kind = (i / pitch / 14) % 5;
    bytes[i] = kind == 0 ? random() & 255 : kind == 1 ? ((random() & 3) ? 200 : 50) : kind == 2 ? 100 + random() % 40 : kind == 3 ? ((random() & 7) ? 0 : 255) : ((random() & 7) ? 255 : 0);
  }
  uint32_t* d; int16_t* o;
  CK(cudaMalloc(&d, img.size() * 4)); CK(cudaMalloc(&o, img.size() * 8));
  CK(cudaMemcpy(d, img.data(), img.size() * 4, cudaMemcpyHostToDevice));
  CK(cudaMemset(o, 0, img.size() * 8));
  Scores<<<dim3(2, h - 6), 32>>>(d, ww, h, 20, o);
  CK(cudaDeviceSynchronize());
  std::vector<int16_t> got(img.size() * 4);
  CK(cudaMemcpy(got.data(), o, img.size() * 8, cudaMemcpyDeviceToHost));
  int wrong = 0, total = 0, first = -1, wrong_pos = 0;
  for (int y = 3; y < h - 3; ++y) for (int x = 4; x < pitch - 4; ++x) {
    RING_T ring[16];
    for (int i = 0; i < 16; ++i) ring[i] = bytes[(y + FastRingY(i)) * pitch + x + FastRingX(i)];
    const int score = FastScore(ring, bytes[y * pitch + x], ARC); const int want = score >= 20 ? score - 19 : 0;
    ++total;
    if (want != got[y * pitch + x]) { ++wrong; if (want >= 1 || got[y * pitch + x] >= 1) ++wrong_pos; if (first < 0) first = y * pitch + x; }
  }
  std::printf("%-40s %d of %d differ (%d where a score is positive)", argv[0], wrong, total, wrong_pos);
  if (first >= 0) {
    const int y = first / pitch, x = first % pitch;
    std::printf("; first x %d y %d got %d ring", x, y, got[first]);
    for (int i = 0; i < 16; ++i) std::printf(" %d", bytes[(y + FastRingY(i)) * pitch + x + FastRingX(i)]);
    std::printf(" centre %d", bytes[first]);
  }
  std::printf("\n");
  return wrong != 0;
}
