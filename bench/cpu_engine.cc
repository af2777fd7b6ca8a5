// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "bench/cpu_engine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <semaphore>
#include <utility>

#include "absl/status/statusor.h"

namespace orbserve::bench {
namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

template <typename T>
T Must(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status());
  return *std::move(value);
}

}  // namespace

CpuEngine::CpuEngine(const cpu::CpuBackendOptions& options, const std::vector<cv::Mat>& frames,
                     const PipelineOptions& pipeline, const FrameParameters& parameters) {
  backend_ = Must(cpu::CreateCpuBackend(options));
  plan_ = Must(backend_->MakePlan({frames[0].cols, frames[0].rows, pipeline}));
  for (const cv::Mat& frame : frames) {
    FrameJob job;
    job.input = Must(backend_->LeaseInput(frame.cols, frame.rows, false));
    job.parameters = parameters;
    for (int y = 0; y < frame.rows; ++y) {
      std::memcpy(job.input->image.Row(y), frame.ptr(y), static_cast<size_t>(frame.cols));
    }
    jobs_.push_back(std::move(job));
  }
}

void CpuEngine::Run(int in_flight) {
  std::counting_semaphore<2> free(in_flight);
  for (const FrameJob& job : jobs_) {
    free.acquire();
    backend_->Submit(plan_, {job}, [&free](FrameBatchAnswer answer) {
      if (!answer.frames[0].status.ok()) Die(answer.frames[0].status);
      free.release();
    });
  }
  for (int i = 0; i < in_flight; ++i) free.acquire();
}

size_t CpuEngine::CountFeatures() {
  size_t count = 0;
  for (const Features& features : Answers()) count += features.count();
  return count;
}

std::vector<Features> CpuEngine::Answers() {
  std::vector<Features> answers;
  std::binary_semaphore done(0);
  for (const FrameJob& job : jobs_) {
    backend_->Submit(plan_, {job}, [&](FrameBatchAnswer answer) {
      if (!answer.frames[0].status.ok()) Die(answer.frames[0].status);
      answers.push_back(*answer.frames[0].features);
      done.release();
    });
    done.acquire();
  }
  return answers;
}

}  // namespace orbserve::bench
