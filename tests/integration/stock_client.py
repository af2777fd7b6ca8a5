# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of the server as the libraries of gRPC for Python decode them.

Usage: stock_client.py HOST:PORT DESCRIPTOR_SET, where DESCRIPTOR_SET is protoc's for orbserve.proto with its imports.
The messages are made from descriptors, so that no generated code depends on the version of protobuf.
Exit codes: 0 every check passed, 1 one did not, 77 a library is missing.
"""

import sys

try:
    import grpc
    from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, message_factory  # any_pb2: an import of ours
    from grpc_status import rpc_status
except ImportError as error:
    print(error)
    sys.exit(77)

SERVICE = "/orbserve.v1.Features/"
TYPE_URL = "type.googleapis.com/orbserve.v1.Status"


def load_messages(path):
    """Returns a function from a message's name in orbserve.v1 to its class."""
    pool = descriptor_pool.Default()
    with open(path, "rb") as file:
        files = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    for proto in files.file:
        if not proto.name.startswith("google/protobuf/"):
            pool.AddSerializedFile(proto.SerializeToString())

    def message(name):
        descriptor = pool.FindMessageTypeByName("orbserve.v1." + name)
        if hasattr(message_factory, "GetMessageClass"):
            return message_factory.GetMessageClass(descriptor)
        return message_factory.MessageFactory(pool).GetPrototype(descriptor)

    return message


def check(what, got, wanted):
    if got != wanted:
        print(f"{what}: got {got!r}, wanted {wanted!r}")
        sys.exit(1)


def check_error(name, call, message, code, reason):
    """`call` must fail with `code`, and the one detail of its status must be our entry with `reason`."""
    try:
        call()
    except grpc.RpcError as error:
        # Raises ValueError where code or message of the details differ from those of the call.
        status = rpc_status.from_call(error)
        check(f"{name}: code", error.code(), code)
        if status is None:
            check(f"{name}: details", None, "a google.rpc.Status")
        check(f"{name}: number of details", len(status.details), 1)
        check(f"{name}: type URL", status.details[0].type_url, TYPE_URL)
        entry = message("Status")()
        check(f"{name}: unpacked", status.details[0].Unpack(entry), True)
        check(f"{name}: code of the entry", entry.code, code.value[0])
        check(f"{name}: reason", entry.reason, reason)
        check(f"{name}: message", entry.message, error.details())
        print(f"{name}: {entry.reason}: {entry.message[:60]}")
    else:
        check(name, "OK", code)


def main():
    address, descriptors = sys.argv[1:]
    message = load_messages(descriptors)
    channel = grpc.insecure_channel(address)

    def unary(method, request):
        call = channel.unary_unary(
            SERVICE + method,
            request_serializer=type(request).SerializeToString,
            response_deserializer=message(method + "Response").FromString,
        )
        return call(request, timeout=60)

    info = unary("GetServerInfo", message("GetServerInfoRequest")())
    print(f"server {info.version}")

    extract = message("ExtractRequest")
    check_error("no frame", lambda: unary("Extract", extract()), message, grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")

    long_text = extract()
    long_text.frame.width_px = 1
    long_text.pipeline.preset = "%" * 4000
    check_error("long text", lambda: unary("Extract", long_text), message, grpc.StatusCode.INVALID_ARGUMENT, "BAD_OPTIONS")
    long_text.pipeline.preset = "%" * 50000
    check_error("longer text", lambda: unary("Extract", long_text), message, grpc.StatusCode.INVALID_ARGUMENT, "TOO_LARGE")

    unsupported = extract()
    unsupported.frame.width_px = 1
    unsupported.frame.shared_memory.region = "x"
    check_error("not in this version", lambda: unary("Extract", unsupported), message, grpc.StatusCode.UNIMPLEMENTED, "UNSUPPORTED")

    unknown = message("DeleteReferenceRequest")(name="no such reference")
    check_error("unknown reference", lambda: unary("DeleteReference", unknown), message, grpc.StatusCode.NOT_FOUND, "REFERENCE_NOT_FOUND")

    def stream_without_open():
        request = message("StreamFramesRequest")
        call = channel.stream_stream(
            SERVICE + "StreamFrames",
            request_serializer=request.SerializeToString,
            response_deserializer=message("StreamFramesResponse").FromString,
        )
        for _ in call(iter([request(frame={"width_px": 1})]), timeout=60):
            pass

    check_error("stream without `open`", stream_without_open, message, grpc.StatusCode.INVALID_ARGUMENT, "BAD_REQUEST")


if __name__ == "__main__":
    main()
