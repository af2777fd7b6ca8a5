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

// Each thread scores one or four neighbouring pixels of a row of an image of words.
__global__ void Scores(const uint32_t* __restrict__ words, int width_words, int height, int arc, int16_t* __restrict__ out) {
  const int xw = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y + 3;
  if (xw < 1 || xw >= width_words - 1) return;
  const int a = CONST_ARC ? 9 : arc;
#if LOADER == 0
  const uint8_t* bytes = reinterpret_cast<const uint8_t*>(words);
  const int pitch = width_words * 4;
  for (int c = 0; c < 4; ++c) {
    const uint8_t* centre = bytes + y * pitch + xw * 4 + c;
    RING_T ring[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) ring[i] = centre[FastRingY(i) * pitch + FastRingX(i)];
    out[y * pitch + xw * 4 + c] = FastScore(ring, *centre, a);
  }
#else
  uint32_t w[7][3];
#pragma unroll
  for (int r = 0; r < 7; ++r)
#pragma unroll
    for (int k = 0; k < 3; ++k) w[r][k] = words[(y + r - 3) * width_words + xw + k - 1];
  const int pitch = width_words * 4;
#pragma unroll
  for (int c = 0; c < 4; ++c) {
    RING_T ring[16];
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int x = 4 + c + FastRingX(i);
      ring[i] = static_cast<RING_T>((w[3 + FastRingY(i)][x / 4] >> (8 * (x % 4))) & 0xff);
    }
    const int centre = (w[3][1] >> (8 * c)) & 0xff;
    out[y * pitch + xw * 4 + c] = static_cast<int16_t>(FastScore(ring, centre, a));
  }
#endif
}

#define CK(x) do { cudaError_t e = (x); if (e != cudaSuccess) { std::printf("%s: %s\n", #x, cudaGetErrorString(e)); return 2; } } while (0)
int main(int, char** argv) {
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
  Scores<<<dim3(2, h - 6), 32>>>(d, ww, h, 9, o);
  CK(cudaDeviceSynchronize());
  std::vector<int16_t> got(img.size() * 4);
  CK(cudaMemcpy(got.data(), o, img.size() * 8, cudaMemcpyDeviceToHost));
  int wrong = 0, total = 0, first = -1, wrong_pos = 0;
  for (int y = 3; y < h - 3; ++y) for (int x = 4; x < pitch - 4; ++x) {
    RING_T ring[16];
    for (int i = 0; i < 16; ++i) ring[i] = bytes[(y + FastRingY(i)) * pitch + x + FastRingX(i)];
    const int want = FastScore(ring, bytes[y * pitch + x], 9);
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
