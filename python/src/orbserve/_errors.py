# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Errors of calls and of frames."""

from __future__ import annotations

from typing import Any

import grpc
from google.protobuf.message import DecodeError

from ._contract import wire

_TYPE_URL = "type.googleapis.com/orbserve.v1.Status"
_DETAILS_KEY = "grpc-status-details-bin"
_CODES = {code.value[0]: code for code in grpc.StatusCode}
_LONGEST_RETRY_AFTER = 60.0  # seconds; servers of this project ask for up to 3
_LONGEST_SHOWN = 4096  # characters of a text of others


def shown(text: str) -> str:
    """A text that others made, for a line of a terminal or of a log: without control characters and line ends."""
    safe = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return safe if len(safe) <= _LONGEST_SHOWN else f"{safe[:_LONGEST_SHOWN]}..."


class OrbserveError(Exception):
    """Base of all errors of a server, of a frame and of a connection.

    Wrong arguments that are found before anything is sent are ValueError and TypeError. `str()` of an error is one line
    without control characters, whatever the server wrote; `message` is as it came.
    """

    def __init__(self, code: grpc.StatusCode, message: str, reason: str = "", retry_after: float | None = None) -> None:
        """Makes the error of a code. Use `error_of()`, which chooses the class, instead."""
        super().__init__(shown(f"{reason or code.name}: {message}"))
        self.code: grpc.StatusCode = code
        """Code of gRPC."""
        self.message: str = message
        """The error, the value that was given, the values that are allowed."""
        self.reason: str = reason
        """Reason of the server's table of errors, for programs, such as "BAD_OPTIONS" or "QUEUE_FULL". Empty for an
        error that is not the server's: of the connection, of a proxy, of gRPC.
        """
        self.retry_after: float | None = retry_after
        """Seconds after which a new try makes sense, as the server advises, up to 60; None = no advice."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Makes errors travel between processes."""
        return _unpickle, (type(self), self.code.value[0], self.message, self.reason, self.retry_after)

    @property
    def may_pass(self) -> bool:
        """A new try may succeed: queues, quotas and memory, a server that stops or cannot be reached."""
        if self.code == grpc.StatusCode.RESOURCE_EXHAUSTED:
            return bool(self.reason)  # otherwise gRPC says that a message is too large
        return self.code == grpc.StatusCode.UNAVAILABLE


class InvalidInputError(OrbserveError):
    """Options, image or request are wrong or too large: BAD_OPTIONS, BAD_IMAGE, BAD_REQUEST, TOO_LARGE."""


class UnsupportedError(OrbserveError):
    """The server, in its version, lacks a part of the contract: UNSUPPORTED."""


class OverloadedError(OrbserveError):
    """The server has no place now: QUEUE_FULL, QUOTA_EXCEEDED, OUT_OF_MEMORY. No reason: a message is too large."""


class DeadlineExceededError(OrbserveError):
    """The time of the call or of the frame is over: DEADLINE_EXCEEDED."""


class CancelledError(OrbserveError):
    """The caller has cancelled the call or the stream: CANCELLED."""


class UnavailableError(OrbserveError):
    """The server stops or cannot be reached: DRAINING, DEVICE_LOST, or no reason."""


class DroppedError(OrbserveError):
    """The drop policy of the stream kept another frame: DROPPED."""


class ReferenceNotFoundError(OrbserveError):
    """The client has no reference of this name: REFERENCE_NOT_FOUND."""


class UnauthenticatedError(OrbserveError):
    """No valid token or certificate: UNAUTHENTICATED."""


class ServerError(OrbserveError):
    """A fault of the server: INTERNAL. Without a reason, an answer that breaks the contract; then a stream ends."""


_CLASSES: dict[grpc.StatusCode, type[OrbserveError]] = {
    grpc.StatusCode.INVALID_ARGUMENT: InvalidInputError,
    grpc.StatusCode.UNIMPLEMENTED: UnsupportedError,
    grpc.StatusCode.RESOURCE_EXHAUSTED: OverloadedError,
    grpc.StatusCode.DEADLINE_EXCEEDED: DeadlineExceededError,
    grpc.StatusCode.CANCELLED: CancelledError,
    grpc.StatusCode.UNAVAILABLE: UnavailableError,
    grpc.StatusCode.ABORTED: DroppedError,
    grpc.StatusCode.NOT_FOUND: ReferenceNotFoundError,
    grpc.StatusCode.UNAUTHENTICATED: UnauthenticatedError,
    grpc.StatusCode.INTERNAL: ServerError,
    grpc.StatusCode.DATA_LOSS: ServerError,
}


def _unpickle(
    kind: type[OrbserveError], code: int, message: str, reason: str, retry_after: float | None
) -> OrbserveError:
    return kind(_CODES[code], message, reason, retry_after)


def error_of(code: grpc.StatusCode, message: str, reason: str = "", retry_after: float | None = None) -> OrbserveError:
    """The error of a code, of the class that stands for it."""
    if code == grpc.StatusCode.NOT_FOUND and not reason:  # said by health, or by a proxy: it is about no reference
        return OrbserveError(code, message)
    return _CLASSES.get(code, OrbserveError)(code, message, reason, retry_after)


def from_entry(entry: Any) -> OrbserveError | None:
    """The error of an entry of the server's table of errors. None for an entry that is not set."""
    if entry.code == 0:
        return None
    code = _CODES.get(entry.code, grpc.StatusCode.UNKNOWN)
    retry_after = min(entry.retry_after_ms / 1000, _LONGEST_RETRY_AFTER)
    return error_of(code, entry.message, entry.reason, retry_after or None)


def from_rpc(error: Any, cancelled: bool = False) -> OrbserveError:
    """The error of a failed call. `cancelled`: by the caller; otherwise a call that ends so was ended by the server."""
    code: grpc.StatusCode = error.code()
    text: str = error.details() or ""
    for key, value in error.trailing_metadata() or ():
        if key == _DETAILS_KEY:
            entry = _entry_in(value)
            if entry is not None and entry.code == code.value[0]:
                found = from_entry(entry)
                if found is not None:
                    return found
    if code == grpc.StatusCode.UNAVAILABLE and ("ping timeout" in text.lower() or "keepalive" in text.lower()):
        text += (
            "; nothing came from the server for `keepalive` seconds: the connection is cut, or a message took longer"
        )
    if code == grpc.StatusCode.CANCELLED and not cancelled:
        return error_of(grpc.StatusCode.UNAVAILABLE, f"the server is going away: {text}")
    return error_of(code, text + _advice_for(text))


def _advice_for(text: str) -> str:
    """What to do about a connection that is refused for its TLS: gRPC only says how it ended."""
    if "failed to connect to all addresses" not in text:
        return ""
    cause = text.lower().replace("_", " ")  # OpenSSL writes spaces, BoringSSL capitals and underscores
    if "certificate verify failed" in cause:
        return "; the certificate of the server is for another host, has expired, or is not signed by those in `tls_ca`"
    if "wrong version number" in cause:
        return "; the server speaks plain text there: connect without `tls_ca`"
    if "http1.x server" in cause:
        return (
            "; a server of HTTP/1 answers there, such as the pages of an orbserve-server (--http-listen): give the port"
            " of its service (--listen)"
        )
    if any(
        closed in cause for closed in ("socket closed", "connection reset", "endpoint read failed", "unwrap failed")
    ):
        return (
            "; something there takes the connection and closes it: maybe the server wants TLS (`tls_ca`), or a"
            " certificate of the client that it accepts (`tls_cert`)"
        )
    return ""


def _entry_in(details: bytes) -> Any | None:
    try:
        for detail in wire.CallStatus.FromString(details).details:
            if detail.type_url == _TYPE_URL:
                return wire.Status.FromString(detail.value)
    except DecodeError:
        pass  # details of another kind, from a proxy
    return None
