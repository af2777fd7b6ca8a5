// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// A real server, one of whose allocations fails: the first, the second, and so on, until a request
// goes through without reaching the failing one. The request then ends with OUT_OF_MEMORY or is
// served, the next one is served, no stream stays open, and the account is whole. Environment:
// ORBSERVE_ALLOCATIONS_PROGRAM names the server of another place.

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu/gpu_backend.h"
#include "grpcpp/grpcpp.h"
#include "gtest/gtest.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "tests/faults/allocation_control.h"
#include "tests/integration/server_fixture.h"
#include "tests/integration/server_process.h"

namespace orbserve {
namespace {

// More than MemoryReserve::kLargestBlockBytes.
constexpr int64_t kLargeBytes = 16'385;
constexpr int64_t kAnyBytes = int64_t{1} << 40;
constexpr bool kOnDevice = ORBSERVE_ALLOCATIONS_ON_DEVICE != 0;

std::string Program() {
  const char* const elsewhere = std::getenv("ORBSERVE_ALLOCATIONS_PROGRAM");
  return elsewhere != nullptr ? elsewhere : ORBSERVE_ALLOCATIONS_PROGRAM;
}

class AllocationsTest : public ::testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the operators are the sanitizer's own";
#endif
    path_ = ::testing::TempDir() + "allocations_XXXXXX";
    const int file = mkstemp(path_.data());
    ASSERT_GE(file, 0);
    ASSERT_EQ(ftruncate(file, sizeof(faults::AllocationControl)), 0);
    void* const mapping = mmap(nullptr, sizeof(faults::AllocationControl), PROT_READ | PROT_WRITE,
                               MAP_SHARED, file, 0);
    close(file);
    ASSERT_NE(mapping, MAP_FAILED);
    control_ = static_cast<faults::AllocationControl*>(mapping);
    if (kOnDevice) {
      const auto device = gpu::CreateGpuBackend({});
      if (!device.ok()) GTEST_SKIP() << device.status();
    }
    auto server = ServerProcess::Start(
        Program(), {"--control", path_, "--backend", kOnDevice ? "cuda" : "cpu"});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    stub_ = v1::Features::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments));
    frame_ = MakeFrame(320, 240, 1);
  }

  void TearDown() override {
    if (server_ == nullptr) return;
    ASSERT_TRUE(WaitUntil(
        [this] { return SumOfSeries(server_->HttpGet("/metrics"), "orbserve_streams") == 0; }));
    EXPECT_EQ(server_->Stop(), 0);
    const std::string log = server_->Log();
    EXPECT_EQ(
        NumberInLog(log, "stopped", "frames_received"),
        NumberInLog(log, "stopped", "frames_ok") + NumberInLog(log, "stopped", "frames_failed"));
    unlink(path_.c_str());
  }

  static void SetLimit(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20 * kSlower));
  }

  grpc::Status Extract(const v1::Frame& frame) {
    v1::ExtractRequest request;
    *request.mutable_frame() = frame;
    v1::ExtractResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    return stub_->Extract(&context, request, &response);
  }

  // Opens a stream, sends two frames, and reads to its end. Results that failed give their status.
  grpc::Status Stream() {
    grpc::ClientContext context;
    SetLimit(context);
    const auto stream = stub_->StreamFrames(&context);
    v1::StreamFramesRequest request;
    request.mutable_open()->set_match_previous(true);
    stream->Write(request);
    for (uint64_t sequence = 1; sequence <= 2; ++sequence) {
      *request.mutable_frame() = frame_;
      request.mutable_frame()->set_sequence(sequence);
      stream->Write(request);
    }
    stream->WritesDone();
    v1::StreamFramesResponse response;
    grpc::Status failed;
    while (stream->Read(&response)) {
      if (!response.result().has_status()) continue;
      failed = grpc::Status(static_cast<grpc::StatusCode>(response.result().status().code()),
                            response.result().status().message());
    }
    const grpc::Status end = stream->Finish();
    return end.ok() ? failed : end;
  }

  // Fails one allocation of `least_bytes` to `most_bytes` after the other in `call`, every
  // `step`th. Returns how often the call was refused.
  int Walk(int64_t least_bytes, int64_t most_bytes, int64_t step,
           const std::function<grpc::Status()>& call) {
    EXPECT_TRUE(WaitUntil([&] { return call().ok(); }));  // warm
    control_->least_bytes = least_bytes;
    control_->most_bytes = most_bytes;
    int refused = 0;
    for (int64_t nth = 1;; nth += step) {
      const int64_t before = control_->failures;
      control_->countdown = nth;
      const grpc::Status status = call();
      control_->countdown = 0;
      EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
          << nth << ": " << status.error_code() << " " << status.error_message();
      const bool failed = control_->failures != before;
      if (HasFailure() || (!failed && status.ok())) break;
      // After a small block came from the reserve the server refuses everything for a second. A
      // call that is refused so has not gone its way.
      if (failed) {
        refused += status.ok() ? 0 : 1;
      } else {
        nth -= step;
      }
      EXPECT_TRUE(WaitUntil([this] { return Extract(frame_).ok(); })) << nth;
    }
    return refused;
  }

  std::string path_;
  faults::AllocationControl* control_ = nullptr;
  std::unique_ptr<ServerProcess> server_;
  std::unique_ptr<v1::Features::Stub> stub_;
  v1::Frame frame_;
};

TEST_F(AllocationsTest, LargeOnesThatFailEndTheirCallWithOutOfMemory) {
  v1::FeatureSet features;
  for (int i = 0; i < 5000; ++i) {
    features.add_x(1);
    features.add_y(1);
  }
  features.set_descriptor_bytes(32);
  features.set_descriptors(std::string(5000 * 32, 'd'));
  const v1::Frame large = MakeFrame(1600, 1200, 1);  // not converted by gRPC's thread
  EXPECT_GE(Walk(kLargeBytes, kAnyBytes, 1, [this] { return Extract(frame_); }), 1);
  EXPECT_GE(Walk(kLargeBytes, kAnyBytes, 1, [&] { return Extract(large); }), 1);
  EXPECT_GE(Walk(kLargeBytes, kAnyBytes, 1, [this] { return Stream(); }), 1);
  EXPECT_GE(Walk(kLargeBytes, kAnyBytes, 1,
                 [&] {
                   v1::PutReferenceRequest request;
                   request.set_name("map");
                   *request.mutable_features() = features;
                   v1::PutReferenceResponse response;
                   grpc::ClientContext context;
                   SetLimit(context);
                   return stub_->PutReference(&context, request, &response);
                 }),
            1);
  EXPECT_GE(Walk(kLargeBytes, kAnyBytes, 1,
                 [&] {
                   v1::MatchRequest request;
                   *request.mutable_query_features() = features;
                   *request.mutable_train_features() = features;
                   v1::MatchResponse response;
                   grpc::ClientContext context;
                   SetLimit(context);
                   return stub_->Match(&context, request, &response);
                 }),
            1);
}

// Queues, shares and lists grow with the number of clients.
TEST_F(AllocationsTest, LargeOnesThatFailAmongManyClientsLoseNoCall) {
  constexpr int kChannels = 4;
  constexpr int kCallsEach = 250;
  struct Call {
    grpc::ClientContext context;
    v1::ExtractResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::ExtractResponse>> reader;
  };
  std::vector<std::unique_ptr<v1::Features::Stub>> stubs;
  for (int i = 0; i < kChannels; ++i) {
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stubs.push_back(v1::Features::NewStub(grpc::CreateCustomChannel(
        server_->address(), grpc::InsecureChannelCredentials(), arguments)));
  }
  v1::ExtractRequest request;
  *request.mutable_frame() = frame_;
  control_->least_bytes = kLargeBytes;
  control_->most_bytes = kAnyBytes;
  for (int64_t nth = 1; !HasFailure(); nth += 1 + nth / 2) {
    const int64_t before = control_->failures;
    control_->countdown = nth;
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < kChannels * kCallsEach; ++i) {
      Call& call = *calls.emplace_back(std::make_unique<Call>());
      SetLimit(call.context);
      call.context.AddMetadata("x-client-id", absl::StrCat("client-", i));
      call.reader =
          stubs[static_cast<size_t>(i % kChannels)]->AsyncExtract(&call.context, request, &queue);
      call.reader->Finish(&call.response, &call.status, &call);
    }
    for (size_t i = 0; i < calls.size(); ++i) {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue.Next(&tag, &ok));
      const grpc::Status& status = static_cast<Call*>(tag)->status;
      EXPECT_TRUE(status.ok() || status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED)
          << nth << ": " << status.error_code() << " " << status.error_message();
    }
    control_->countdown = 0;
    if (control_->failures == before) break;
  }
  EXPECT_GE(control_->failures, 5);
}

TEST_F(AllocationsTest, SmallOnesThatFailComeFromTheReserve) {
  Walk(0, kLargeBytes - 1, 13, [this] { return Extract(frame_); });
  Walk(0, kLargeBytes - 1, 29, [this] { return Stream(); });
}

// oneTBB asks the heap itself, without the reserve: its tasks are small, and kept for the next
// ones.
TEST_F(AllocationsTest, ThoseOfTasksThatFailEndTheirCallWithOutOfMemory) {
  if (kOnDevice) GTEST_SKIP() << "the device computes, not tasks";
  v1::FeatureSet features;
  constexpr int kFeatures = 4000;  // a large match
  for (int i = 0; i < kFeatures; ++i) {
    features.add_x(1);
    features.add_y(1);
  }
  features.set_descriptor_bytes(32);
  features.set_descriptors(std::string(size_t{kFeatures} * 32, 'd'));
  const v1::Frame large = MakeFrame(4000, 3000, 1);
  control_->of_tbb = 1;
  EXPECT_GE(Walk(0, kAnyBytes, 1, [this] { return Extract(frame_); }), 1);
  EXPECT_GE(Walk(0, kAnyBytes, 53, [&] { return Extract(large); }), 1);
  EXPECT_GE(Walk(0, kAnyBytes, 3, [this] { return Stream(); }), 1);
  Walk(0, kAnyBytes, 1, [&] {
    v1::MatchRequest request;
    *request.mutable_query_features() = features;
    *request.mutable_train_features() = features;
    v1::MatchResponse response;
    grpc::ClientContext context;
    SetLimit(context);
    return stub_->Match(&context, request, &response);
  });
}

}  // namespace
}  // namespace orbserve
