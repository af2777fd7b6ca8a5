// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/reflection_service.h"

#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "google/protobuf/message.h"
#include "grpc/health/v1/health.pb.h"
#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "grpcpp/grpcpp.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/status.h"
#include "server/rpc/wire_message.h"

namespace orbserve {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1alpha::FileDescriptorResponse;
using grpc::reflection::v1alpha::ServerReflectionRequest;
using grpc::reflection::v1alpha::ServerReflectionResponse;

constexpr char kMethod[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr const char* kServices[] = {
    "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection", "orbserve.v1.Features"};
constexpr size_t kMaxRequestBytes = 4096;

// A FileDescriptorResponse of one file. Answers share it: one that waits for its reader holds next
// to no memory.
grpc::Slice EncodedFile(const FileDescriptor* file) {
  static std::mutex mutex;
  static auto& files = *new std::map<const FileDescriptor*, grpc::Slice>;
  const std::scoped_lock lock(mutex);
  const auto known = files.find(file);
  if (known != files.end()) return known->second;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  FileDescriptorResponse response;
  response.add_file_descriptor_proto(proto.SerializeAsString());
  return files.emplace(file, grpc::Slice(response.SerializeAsString())).first->second;
}

// One stream. Deletes itself when gRPC is done with it.
class ReflectionCall final : public grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  ReflectionCall(grpc::CallbackServerContext* context, SendTimeouts* send_timeouts)
      : context_(context), send_timeouts_(send_timeouts) {
    StartRead(&request_);
  }

  void OnReadDone(bool ok) override {
    if (!ok) {
      Finish(grpc::Status::OK);
      return;
    }
    const absl::Status status = WithoutBadAlloc([this] { return Answer(); });
    if (status.ok()) {
      send_timeouts_->Begin(watch_, context_);
      StartWrite(&response_);
    } else {
      Finish(StatusToGrpc(status, nullptr));
    }
  }
  void OnWriteDone(bool ok) override {
    send_timeouts_->End(watch_);
    response_.Clear();
    if (ok) {
      StartRead(&request_);
    } else {
      Finish(grpc::Status(grpc::StatusCode::CANCELLED, "the client went away"));
    }
  }
  void OnDone() override {
    send_timeouts_->End(watch_);
    delete this;
  }

 private:
  absl::Status Answer() {
    const size_t size = request_.Length();
    if (size > kMaxRequestBytes) {
      request_.Clear();
      return MakeError(ErrorReason::kTooLarge,
                       absl::StrCat("the request has ", size, " bytes; at most ", kMaxRequestBytes,
                                    " are allowed"));
    }
    ServerReflectionRequest question;
    const absl::Status status =
        ParseMessage(request_, WireRules::Of<ServerReflectionRequest>(), &question);
    request_.Clear();
    ORBSERVE_RETURN_IF_ERROR(status);
    ServerReflectionResponse answer;
    answer.set_valid_host(question.host());
    *answer.mutable_original_request() = question;
    std::vector<grpc::Slice> parts(1);
    const FileDescriptor* const file = FillIn(question, &answer);
    std::string bytes = answer.SerializeAsString();
    if (file != nullptr) {
      AddFile(file, /*is_asked_for=*/true, &parts);
      AppendFilesHeader(parts, &bytes);
    }
    parts[0] = grpc::Slice(bytes);
    response_ = grpc::ByteBuffer(parts.data(), parts.size());
    return absl::OkStatus();
  }

  // Returns the file that the answer consists of, if that is the answer.
  static const FileDescriptor* FillIn(const ServerReflectionRequest& question,
                                      ServerReflectionResponse* answer) {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    const FileDescriptor* file = nullptr;
    switch (question.message_request_case()) {
      case ServerReflectionRequest::kFileByFilename:
        file = pool.FindFileByName(question.file_by_filename());
        break;
      case ServerReflectionRequest::kFileContainingSymbol:
        file = pool.FindFileContainingSymbol(question.file_containing_symbol());
        break;
      case ServerReflectionRequest::kFileContainingExtension: {
        const auto& asked = question.file_containing_extension();
        const auto* const type = pool.FindMessageTypeByName(asked.containing_type());
        const auto* const extension =
            type == nullptr ? nullptr : pool.FindExtensionByNumber(type, asked.extension_number());
        if (extension != nullptr) file = extension->file();
        break;
      }
      case ServerReflectionRequest::kAllExtensionNumbersOfType: {
        const std::string& name = question.all_extension_numbers_of_type();
        const auto* const type = pool.FindMessageTypeByName(name);
        if (type == nullptr) break;
        std::vector<const FieldDescriptor*> extensions;
        pool.FindAllExtensions(type, &extensions);
        auto& numbers = *answer->mutable_all_extension_numbers_response();
        numbers.set_base_type_name(name);
        for (const auto* const extension : extensions) {
          numbers.add_extension_number(extension->number());
        }
        return nullptr;
      }
      case ServerReflectionRequest::kListServices:
        for (const char* const name : kServices) {
          answer->mutable_list_services_response()->add_service()->set_name(name);
        }
        return nullptr;
      case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
        SetError(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", answer);
        return nullptr;
    }
    if (file == nullptr) {
      SetError(grpc::StatusCode::NOT_FOUND, "there is no such file or name", answer);
    }
    return file;
  }

  static void SetError(grpc::StatusCode code, const char* text, ServerReflectionResponse* answer) {
    answer->mutable_error_response()->set_error_code(code);
    answer->mutable_error_response()->set_error_message(text);
  }

  // Begins the field with the files, which are all parts but the first.
  static void AppendFilesHeader(const std::vector<grpc::Slice>& parts, std::string* bytes) {
    size_t size = 0;
    for (const grpc::Slice& part : parts) size += part.size();
    google::protobuf::io::StringOutputStream stream(bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    constexpr uint32_t kLengthDelimited = 2;
    out.WriteTag(ServerReflectionResponse::kFileDescriptorResponseFieldNumber << 3 |
                 kLengthDelimited);
    out.WriteVarint32(static_cast<uint32_t>(size));
  }

  // Adds the file, and the files that it needs and that were not sent on this stream.
  void AddFile(const FileDescriptor* file, bool is_asked_for, std::vector<grpc::Slice>* parts) {
    if (!sent_.insert(file).second && !is_asked_for) return;
    parts->push_back(EncodedFile(file));
    for (int i = 0; i < file->dependency_count(); ++i) {
      AddFile(file->dependency(i), /*is_asked_for=*/false, parts);
    }
  }

  grpc::CallbackServerContext* const context_;
  SendTimeouts* const send_timeouts_;
  SendTimeouts::Watch watch_;
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::set<const FileDescriptor*> sent_;
};

}  // namespace

ReflectionService::ReflectionService(SendTimeouts* send_timeouts) {
  AddMethod(new grpc::internal::RpcServiceMethod(kMethod, grpc::internal::RpcMethod::BIDI_STREAMING,
                                                 nullptr));
  MarkMethodRawCallback(0,
                        new grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, grpc::ByteBuffer>(
                            [send_timeouts](grpc::CallbackServerContext* context) {
                              return new ReflectionCall(context, send_timeouts);
                            }));
  // gRPC's built-in health service parses its messages by other means than generated code, which
  // registers itself when the program starts. The linker would leave it out of the program, as
  // nothing else refers to it.
  google::protobuf::LinkMessageReflection<grpc::health::v1::HealthCheckRequest>();
}

}  // namespace orbserve
