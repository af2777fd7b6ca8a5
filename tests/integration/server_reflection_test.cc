// SPDX-FileCopyrightText: 2026 The orbserve authors
// SPDX-License-Identifier: Apache-2.0

// Answers of server reflection. gRPC installs no header for their messages. Its reflection library
// registers the descriptors, from which the tests make the messages.

#include <set>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "google/protobuf/dynamic_message.h"
#include "grpcpp/generic/generic_stub.h"
#include "tests/integration/server_fixture.h"

namespace orbserve {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptorProto;
using google::protobuf::Message;
using google::protobuf::Reflection;

constexpr char kPackage[] = "grpc.reflection.v1alpha";

class ServerReflectionTest : public ServerTest {
 protected:
  // The server's answer to a request whose text field `question` is `value`.
  std::unique_ptr<Message> Ask(const std::string& question, const std::string& value) {
    const std::unique_ptr<Message> request = New("ServerReflectionRequest");
    request->GetReflection()->SetString(request.get(), Field(*request, question), value);
    std::unique_ptr<Message> response = New("ServerReflectionResponse");
    grpc::ByteBuffer received;
    const grpc::Status status = StatusOf(request->SerializeAsString(), &received);
    EXPECT_TRUE(status.ok()) << status.error_message();
    grpc::Slice slice;
    EXPECT_TRUE(received.DumpToSingleSlice(&slice).ok());
    EXPECT_TRUE(response->ParseFromArray(slice.begin(), static_cast<int>(slice.size())));
    return response;
  }

  // Status of a request with these bytes.
  grpc::Status StatusOf(const std::string& request, grpc::ByteBuffer* received = nullptr) {
    const grpc::Slice bytes(request);
    const grpc::ByteBuffer sent(&bytes, 1);
    // A stream of one message each way is a unary call on the wire.
    grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", server_->port()), grpc::InsecureChannelCredentials()));
    grpc::ClientContext context;
    SetLimit(context);
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareUnaryCall(
        &context, absl::StrCat("/", kPackage, ".ServerReflection/ServerReflectionInfo"), sent,
        &queue);
    call->StartCall();
    grpc::ByteBuffer answer;
    grpc::Status status;
    call->Finish(received == nullptr ? &answer : received, &status, &queue);
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
    return status;
  }

  // The file that defines `symbol`; without a name where the server knows none.
  FileDescriptorProto FileOf(const std::string& symbol) {
    const auto response = Ask("file_containing_symbol", symbol);
    const Message& files = Child(*response, "file_descriptor_response");
    const FieldDescriptor* const field = Field(files, "file_descriptor_proto");
    FileDescriptorProto file;
    if (files.GetReflection()->FieldSize(files, field) > 0) {
      EXPECT_TRUE(file.ParseFromString(files.GetReflection()->GetRepeatedString(files, field, 0)));
    }
    return file;
  }

  std::set<std::string> Services() {
    const auto response = Ask("list_services", "*");
    const Message& list = Child(*response, "list_services_response");
    const FieldDescriptor* const field = Field(list, "service");
    std::set<std::string> names;
    for (int i = 0; i < list.GetReflection()->FieldSize(list, field); ++i) {
      const Message& service = list.GetReflection()->GetRepeatedMessage(list, field, i);
      names.insert(service.GetReflection()->GetString(service, Field(service, "name")));
    }
    return names;
  }

  std::unique_ptr<Message> New(const std::string& name) {
    const google::protobuf::Descriptor* const type =
        DescriptorPool::generated_pool()->FindMessageTypeByName(absl::StrCat(kPackage, ".", name));
    return std::unique_ptr<Message>(messages_.GetPrototype(type)->New());
  }
  static const FieldDescriptor* Field(const Message& message, const std::string& name) {
    return message.GetDescriptor()->FindFieldByName(name);
  }
  static const Message& Child(const Message& message, const std::string& name) {
    return message.GetReflection()->GetMessage(message, Field(message, name));
  }

  google::protobuf::DynamicMessageFactory messages_;
};

TEST_F(ServerReflectionTest, EveryListedServiceHasItsDescriptor) {
  const std::set<std::string> services = Services();
  EXPECT_EQ(services.count("orbserve.v1.Features"), 1u);
  EXPECT_EQ(services.count("grpc.health.v1.Health"), 1u);
  for (const std::string& name : services) {
    const FileDescriptorProto file = FileOf(name);
    bool found = false;
    for (const auto& service : file.service()) {
      found |= absl::StrCat(file.package(), ".", service.name()) == name;
    }
    EXPECT_TRUE(found) << name;
  }
}

TEST_F(ServerReflectionTest, AStreamWhoseAnswersAreNotReadEnds) {
  server::Config config;
  config.mutable_limits()->set_send_timeout_ms(300 * kSlower);
  StartServer(config);
  const std::unique_ptr<Message> request = New("ServerReflectionRequest");
  request->GetReflection()->SetString(request.get(), Field(*request, "file_containing_symbol"),
                                      "orbserve.v1.Features");
  const grpc::Slice slice(request->SerializeAsString());
  grpc::GenericStub stub(NewChannel(/*fixed_window=*/true));
  grpc::ClientContext context;
  SetLimit(context);
  grpc::CompletionQueue queue;
  const auto wait = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue.Next(&tag, &ok));
  };
  const auto call = stub.PrepareCall(
      &context, absl::StrCat("/", kPackage, ".ServerReflection/ServerReflectionInfo"), &queue);
  call->StartCall(nullptr);
  wait();
  // More answers than the window has room for.
  for (int i = 0; i < 20; ++i) {
    call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
    wait();
  }
  EXPECT_TRUE(Eventually(
      [&] { return Metric("orbserve_calls_aborted_total{cause=\"send_timeout\"}") == 1; }));
  context.TryCancel();  // the status waits behind answers that are not read
  grpc::Status status;
  call->Finish(&status, nullptr);
  wait();
  EXPECT_EQ(Services().count("orbserve.v1.Features"), 1u);
}

TEST_F(ServerReflectionTest, HealthHasThePublishedShape) {
  const FileDescriptorProto file = FileOf("grpc.health.v1.Health");
  DescriptorPool pool;
  ASSERT_NE(pool.BuildFile(file), nullptr);
  const auto* const health = pool.FindServiceByName("grpc.health.v1.Health");
  ASSERT_NE(health, nullptr);
  ASSERT_EQ(health->method_count(), 2);
  EXPECT_EQ(health->method(0)->name(), "Check");
  EXPECT_FALSE(health->method(0)->server_streaming());
  EXPECT_EQ(health->method(1)->name(), "Watch");
  EXPECT_TRUE(health->method(1)->server_streaming());
  const google::protobuf::Descriptor* const request = health->method(0)->input_type();
  ASSERT_EQ(request->field_count(), 1);
  EXPECT_EQ(request->field(0)->number(), 1);
  EXPECT_EQ(request->field(0)->type(), FieldDescriptor::TYPE_STRING);
  const google::protobuf::Descriptor* const response = health->method(0)->output_type();
  ASSERT_EQ(response->field_count(), 1);
  EXPECT_EQ(response->field(0)->number(), 1);
  EXPECT_EQ(response->field(0)->enum_type()->FindValueByName("SERVING")->number(), 1);
  EXPECT_EQ(response->field(0)->enum_type()->FindValueByName("NOT_SERVING")->number(), 2);
  EXPECT_EQ(response->field(0)->enum_type()->FindValueByName("SERVICE_UNKNOWN")->number(), 3);
}

TEST_F(ServerReflectionTest, AFileComesWithTheFilesThatItNeeds) {
  const auto response = Ask("file_by_filename", "orbserve/v1/orbserve.proto");
  const Message& files = Child(*response, "file_descriptor_response");
  const FieldDescriptor* const field = Field(files, "file_descriptor_proto");
  DescriptorPool pool;
  // The file itself comes first, those that it needs after it.
  for (int i = files.GetReflection()->FieldSize(files, field) - 1; i >= 0; --i) {
    FileDescriptorProto file;
    ASSERT_TRUE(file.ParseFromString(files.GetReflection()->GetRepeatedString(files, field, i)));
    ASSERT_NE(pool.BuildFile(file), nullptr) << file.name();
  }
  EXPECT_NE(pool.FindServiceByName("orbserve.v1.Features"), nullptr);
}

TEST_F(ServerReflectionTest, ALongRequestIsRefused) {
  const grpc::Status status = StatusOf(std::string(10'000, 'x'));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(Details(status).reason(), "TOO_LARGE");
  EXPECT_EQ(Details(StatusOf("\x1A\x05xy")).reason(), "BAD_REQUEST");  // cut off
}

TEST_F(ServerReflectionTest, AnUnknownServiceHasNoDescriptor) {
  EXPECT_EQ(FileOf("grpc.health.v2.Health").name(), "");
}

}  // namespace
}  // namespace orbserve
