# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Messages of the wire contract, made at import from its descriptor set.

There is no generated code, which only works with some versions of the protobuf runtime, and the messages live in a pool
of their own, so that a program may also load the contract in another way or version.
"""

from __future__ import annotations

from importlib.resources import files
from types import SimpleNamespace
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_PACKAGE = "orbserve.v1"


def _load() -> Any:
    data = files(__package__).joinpath("contract.binpb").read_bytes()
    pool = descriptor_pool.DescriptorPool()
    names = []
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.AddSerializedFile(file.SerializeToString())
        if file.package == _PACKAGE:
            names += [message.name for message in file.message_type]
    if hasattr(message_factory, "GetMessageClass"):
        class_of = message_factory.GetMessageClass
    else:  # protobuf before 4.22
        class_of = message_factory.MessageFactory(pool).GetPrototype  # type: ignore[attr-defined]
    return SimpleNamespace(**{n: class_of(pool.FindMessageTypeByName(f"{_PACKAGE}.{n}")) for n in names})


wire: Any = _load()
"""The classes of the messages by their names: `wire.Frame`, `wire.ExtractRequest`, ..."""
