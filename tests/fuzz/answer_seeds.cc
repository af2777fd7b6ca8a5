// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// answer_seeds FOLDER: writes a first corpus for answer_fuzz, the answers of a server in this
// process.

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/file_io.h"
#include "grpcpp/client_context.h"
#include "orbserve/v1/orbserve.grpc.pb.h"
#include "server/server.h"
#include "tests/fuzz/answer_requests.h"

namespace orbserve {
namespace {

bool Write(const std::string& folder, AnswerKind kind, const std::string& bytes) {
  const std::string seed = std::string(1, static_cast<char>(kind)) + bytes;
  const std::string path = folder + "/answer" + std::to_string(static_cast<int>(kind));
  return cli::WriteFile(path, seed).ok();
}

// The messages of a stream with its three frames.
std::string StreamBytes(v1::Features::Stub* stub) {
  grpc::ClientContext context;
  const auto stream = stub->StreamFrames(&context);
  v1::StreamFramesRequest request;
  *request.mutable_open() = AnswerOpen();
  stream->Write(request);
  for (uint64_t i = 0; i < kAnswerFrames; ++i) {
    *request.mutable_frame() = AnswerFrame(i);
    stream->Write(request);
  }
  *request.mutable_open() = AnswerOpen();
  stream->Write(request);
  stream->WritesDone();
  std::string bytes;
  for (v1::StreamFramesResponse response; stream->Read(&response);) {
    const std::string message = response.SerializeAsString();
    bytes.push_back(static_cast<char>(message.size() & 0xFF));
    bytes.push_back(static_cast<char>(message.size() >> 8));
    bytes += message;
  }
  return stream->Finish().ok() ? bytes : "";
}

bool WriteSeeds(const std::string& folder) {
  server::Config config;
  config.set_listen("");
  config.set_http_listen("");
  config.mutable_backend()->set_name("cpu");
  const auto server = Server::Create(config);
  if (!server.ok()) return false;
  const auto stub = v1::Features::NewStub((*server)->InProcessChannel(grpc::ChannelArguments()));
  const auto call = [&](AnswerKind kind, const auto& method, const auto& request, auto response) {
    grpc::ClientContext context;
    return (stub.get()->*method)(&context, request, &response).ok() &&
           Write(folder, kind, response.SerializeAsString());
  };
  using Stub = v1::Features::Stub;
  for (const char* name : {"door", "gate"}) {
    grpc::ClientContext context;
    context.AddMetadata("x-client-id", "seeds");
    v1::PutReferenceRequest put;
    put.set_name(name);
    *put.mutable_frame() = AnswerFrame(0);
    v1::PutReferenceResponse stored;
    if (!stub->PutReference(&context, put, &stored).ok()) return false;
  }
  grpc::ClientContext context;
  context.AddMetadata("x-client-id", "seeds");
  v1::ListReferencesResponse references;
  if (!stub->ListReferences(&context, {}, &references).ok()) return false;
  const std::string stream = StreamBytes(stub.get());
  return call(AnswerKind::kExtract, &Stub::Extract, AnswerExtract(), v1::ExtractResponse()) &&
         call(AnswerKind::kMatch, &Stub::Match, AnswerMatch(), v1::MatchResponse()) &&
         call(AnswerKind::kInfo, &Stub::GetServerInfo, v1::GetServerInfoRequest(),
              v1::GetServerInfoResponse()) &&
         Write(folder, AnswerKind::kReferences, references.SerializeAsString()) &&
         !stream.empty() && Write(folder, AnswerKind::kStream, stream);
}

}  // namespace
}  // namespace orbserve

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: answer_seeds FOLDER\n", stderr);
    return 2;
  }
  return orbserve::WriteSeeds(argv[1]) ? 0 : 1;
}
