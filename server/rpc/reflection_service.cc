// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

#include "server/rpc/reflection_service.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "decode/image_decoder.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/message.h"
#include "grpc/health/v1/health.pb.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/grpcpp.h"
#include "server/process/memory/out_of_memory.h"
#include "server/rpc/status.h"
#include "server/rpc/wire_cursor.h"
#include "server/rpc/wire_message.h"

namespace orbserve {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;

constexpr char kMethod[] = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
constexpr absl::string_view kServices[] = {
    "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection", "orbserve.v1.Features"};
constexpr size_t kMaxRequestBytes = 4096;

// Fields of the messages of grpc/reflection/v1alpha/reflection.proto.
enum RequestField : uint32_t {
  kHost = 1,
  kFileByFilename = 3,
  kFileContainingSymbol = 4,
  kFileContainingExtension = 5,
  kAllExtensionNumbersOfType = 6,
  kListServices = 7,
};
enum ResponseField : int {
  kValidHost = 1,
  kOriginalRequest = 2,
  kFileDescriptorResponse = 4,
  kAllExtensionNumbersResponse = 5,
  kListServicesResponse = 6,
  kErrorResponse = 7,
};

void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void AppendNumber(int field, uint64_t value, std::string* out) {
  AppendVarint(static_cast<uint64_t>(field) << kWireTypeBits | kVarint, out);
  AppendVarint(value, out);
}

void AppendBytes(int field, absl::string_view bytes, std::string* out) {
  AppendVarint(LengthDelimitedTag(field), out);
  AppendVarint(bytes.size(), out);
  out->append(bytes.data(), bytes.size());
}

// A file as an element of FileDescriptorResponse. Answers share it: one that waits for its reader
// holds next to no memory.
grpc::Slice EncodedFile(const FileDescriptor* file) {
  static std::mutex mutex;
  static auto& files = *new std::map<const FileDescriptor*, grpc::Slice>;
  const std::scoped_lock lock(mutex);
  const auto known = files.find(file);
  if (known != files.end()) return known->second;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  std::string encoded;
  AppendBytes(1, proto.SerializeAsString(), &encoded);
  return files.emplace(file, grpc::Slice(encoded)).first->second;
}

struct Question {
  std::string host;
  uint32_t kind = 0;  // RequestField
  std::string text;
  uint64_t number = 0;  // of an extension
};

// Reads the fields of a request, or of the ExtensionRequest in it. False when they are broken.
bool ReadQuestion(absl::string_view bytes, bool is_extension, Question* question) {
  const BytePiece piece(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  WireCursor cursor(absl::Span<const BytePiece>(&piece, 1));
  while (cursor.position() < bytes.size()) {
    uint32_t field = 0;
    uint32_t wire_type = 0;
    uint64_t value = 0;
    if (!cursor.ReadTag(&field, &wire_type)) return false;
    if (wire_type != kLengthDelimited) {
      if (!cursor.ReadScalar(wire_type, &value)) return false;
      if (wire_type == kVarint && is_extension && field == 2) question->number = value;
      continue;
    }
    std::string text;
    if (!cursor.ReadVarint(kMaxShortVarintBytes, &value) ||
        value > bytes.size() - cursor.position() ||
        !cursor.AppendTo(&text, static_cast<size_t>(value))) {
      return false;
    }
    if (is_extension) {
      if (field == 1) question->text = text;
    } else if (field == kHost) {
      question->host = text;
    } else if (field >= kFileByFilename && field <= kListServices) {
      question->kind = field;
      question->text = text;
      if (field == kFileContainingExtension) {
        question->text.clear();
        if (!ReadQuestion(text, /*is_extension=*/true, question)) return false;
      }
    }
  }
  return true;
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
    std::vector<BytePiece> pieces;
    CollectPieces(request_, &pieces);
    std::string bytes;
    WireCursor(pieces).AppendTo(&bytes, size);
    request_.Clear();
    Question question;
    if (!ReadQuestion(bytes, /*is_extension=*/false, &question)) {
      return MakeError(ErrorReason::kBadRequest, "the bytes are not a ServerReflectionRequest");
    }
    std::string answer;
    AppendBytes(kValidHost, question.host, &answer);
    AppendBytes(kOriginalRequest, bytes, &answer);
    std::vector<grpc::Slice> files;
    AppendAnswer(question, &answer, &files);
    files.insert(files.begin(), grpc::Slice(answer));
    response_ = grpc::ByteBuffer(files.data(), files.size());
    return absl::OkStatus();
  }

  // `files` come behind the answer.
  void AppendAnswer(const Question& question, std::string* answer,
                    std::vector<grpc::Slice>* files) {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (question.kind) {
      case kFileByFilename:
        AppendFiles(pool.FindFileByName(question.text), answer, files);
        return;
      case kFileContainingSymbol:
        AppendFiles(pool.FindFileContainingSymbol(question.text), answer, files);
        return;
      case kFileContainingExtension: {
        const auto* const type = pool.FindMessageTypeByName(question.text);
        const FieldDescriptor* const extension =
            type == nullptr ? nullptr
                            : pool.FindExtensionByNumber(type, static_cast<int>(question.number));
        AppendFiles(extension == nullptr ? nullptr : extension->file(), answer, files);
        return;
      }
      case kAllExtensionNumbersOfType:
        AppendExtensions(pool, question.text, answer);
        return;
      case kListServices: {
        std::string list;
        for (const absl::string_view name : kServices) {
          std::string service;
          AppendBytes(1, name, &service);
          AppendBytes(1, service, &list);
        }
        AppendBytes(kListServicesResponse, list, answer);
        return;
      }
      default:
        AppendError(grpc::StatusCode::INVALID_ARGUMENT, "the request asks for nothing", answer);
    }
  }

  static void AppendError(grpc::StatusCode code, absl::string_view text, std::string* answer) {
    std::string error;
    AppendNumber(1, static_cast<uint64_t>(code), &error);
    AppendBytes(2, text, &error);
    AppendBytes(kErrorResponse, error, answer);
  }

  static void AppendExtensions(const DescriptorPool& pool, const std::string& name,
                               std::string* answer) {
    const auto* const type = pool.FindMessageTypeByName(name);
    if (type == nullptr) {
      AppendError(grpc::StatusCode::NOT_FOUND, "there is no such message", answer);
      return;
    }
    std::vector<const FieldDescriptor*> extensions;
    pool.FindAllExtensions(type, &extensions);
    std::string numbers;
    AppendBytes(1, name, &numbers);
    for (const FieldDescriptor* const extension : extensions) {
      AppendNumber(2, static_cast<uint64_t>(extension->number()), &numbers);
    }
    AppendBytes(kAllExtensionNumbersResponse, numbers, answer);
  }

  // `file`, and the files that it needs and that were not sent on this stream.
  void AppendFiles(const FileDescriptor* file, std::string* answer,
                   std::vector<grpc::Slice>* files) {
    if (file == nullptr) {
      AppendError(grpc::StatusCode::NOT_FOUND, "there is no such file or name", answer);
      return;
    }
    std::set<const FileDescriptor*> now;
    AddFile(file, &now, files);
    size_t bytes = 0;
    for (const grpc::Slice& encoded : *files) bytes += encoded.size();
    AppendVarint(LengthDelimitedTag(kFileDescriptorResponse), answer);
    AppendVarint(bytes, answer);
  }
  void AddFile(const FileDescriptor* file, std::set<const FileDescriptor*>* now,
               std::vector<grpc::Slice>* files) {
    const bool is_asked_for = now->empty();
    if (!now->insert(file).second) return;
    if (!sent_.insert(file).second && !is_asked_for) return;
    files->push_back(EncodedFile(file));
    for (int i = 0; i < file->dependency_count(); ++i) AddFile(file->dependency(i), now, files);
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
  // The descriptors of reflection itself lie in gRPC's library, which the linker leaves out where
  // nothing refers to it.
  [[maybe_unused]] void (*volatile const keep)() =
      &grpc::reflection::InitProtoReflectionServerBuilderPlugin;
}

}  // namespace orbserve
