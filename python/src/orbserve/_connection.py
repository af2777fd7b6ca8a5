# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Address and identity of a client: channel options, certificates, token."""

from __future__ import annotations

import ipaddress
import os
import random
from dataclasses import dataclass
from pathlib import Path

import grpc

from ._errors import OrbserveError

Path_ = str | os.PathLike[str]

_MAX_TOKEN_BYTES = 4096
# Names of an owner and of a part have 128 bytes each, that of a certificate 512.
_MAX_ID_BYTES = 512 + 1 + 128
_LONGEST_RETRY = 5.0  # seconds between two tries, unless the server asks for more
# Longest time of one attempt to connect, with the TLS handshake: gRPC takes it from `min_reconnect_backoff_ms`. A host
# that does not answer is asked again after it; a slow link has to connect within it.
_CONNECT_TIMEOUT_MS = 5_000
# Servers of this project allow a question every half a second.
_LEAST_KEEPALIVE, _MOST_KEEPALIVE = 1.5, 86_400.0
_CHANNEL_OPTIONS: list[tuple[str, int]] = [
    # Answers may be larger than the 4 MiB that gRPC takes by default.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    # An idle stream is asked for, too. By default gRPC pauses after two questions without a frame between them.
    ("grpc.http2.max_pings_without_data", 0),
    # gRPC would measure the path by pings of its own. They wait behind frames that are sent, and no other is sent while
    # one is under way: a slow link would look like a cut, and a cut would not be seen. Answers of this size are taken
    # at once instead.
    ("grpc.http2.bdp_probe", 0),
    ("grpc.http2.lookahead_bytes", 4 << 20),
    # A server that was restarted is found again within a second. gRPC's own longest wait is two minutes. It makes each
    # wait up to a fifth longer or shorter, which spreads the robots.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    ("grpc.min_reconnect_backoff_ms", _CONNECT_TIMEOUT_MS),
    # Two clients of a program have a connection each.
    ("grpc.use_local_subchannel_pool", 1),
]


@dataclass(frozen=True)
class Target:
    """Everything that a channel and its calls need."""

    address: str
    credentials: grpc.ChannelCredentials | None
    metadata: tuple[tuple[str, str], ...]
    options: list[tuple[str, int]]
    """Of the channel."""


def make_target(
    address: str,
    *,
    client_id: str | None,
    tls_ca: Path_ | None,
    tls_cert: Path_ | None,
    tls_key: Path_ | None,
    token: str | None,
    token_file: Path_ | None,
    keepalive: float,
) -> Target:
    """Checks the arguments of a client and reads the files."""
    _check_address(address)
    options = _CHANNEL_OPTIONS + _keepalive_options(keepalive)
    if (tls_cert is None) != (tls_key is None):
        raise ValueError("tls_cert and tls_key belong together: give both or neither")
    if tls_cert is not None and tls_ca is None:
        raise ValueError("tls_cert and tls_key need tls_ca, the certificates to check the server with")
    credentials = None
    if tls_ca is not None:
        credentials = grpc.ssl_channel_credentials(
            root_certificates=Path(tls_ca).read_bytes(),
            private_key=None if tls_key is None else Path(tls_key).read_bytes(),
            certificate_chain=None if tls_cert is None else Path(tls_cert).read_bytes(),
        )
    if token is not None and token_file is not None:
        raise ValueError("give token or token_file, not both")
    if token_file is not None:
        with open(token_file, "rb") as file:
            # A byte that is no ASCII becomes a character that no token has.
            token = file.readline().decode("ascii", errors="replace").strip()
    metadata = []
    if client_id is not None and client_id != "":
        _check_text("client_id", client_id, " ", _MAX_ID_BYTES)
        metadata.append(("x-client-id", client_id))
    if token is not None:
        name = "token" if token_file is None else f"the first line of token_file {os.fspath(token_file)!r}"
        _check_text(name, token, "!", _MAX_TOKEN_BYTES, secret=True)
        if credentials is None and not _stays_on_this_machine(address):
            raise ValueError(
                f"a token is sent over TLS, Unix sockets and the loopback only; got {address} without tls_ca"
            )
        metadata.append(("authorization", f"Bearer {token}"))
    return Target(address, credentials, tuple(metadata), options)


def _keepalive_options(seconds: float) -> list[tuple[str, int]]:
    """Options with which gRPC finds a connection lost within `seconds`. ValueError below what servers allow."""
    if isinstance(seconds, str) or not _LEAST_KEEPALIVE <= float(seconds) <= _MOST_KEEPALIVE:  # NaN fails, too
        raise ValueError(f"keepalive must be {_LEAST_KEEPALIVE:g} to {_MOST_KEEPALIVE:g} seconds; got {seconds!r}")
    # The rest of the time is for a busy machine. gRPC sets TCP_USER_TIMEOUT to the second time, which ends a connection
    # whose bytes are not acknowledged. The third one ends that to a proxy which acknowledges them and answers nothing.
    answer_ms = int(seconds * 0.6 * 1000)
    return [
        ("grpc.keepalive_time_ms", int(seconds / 3 * 1000)),
        ("grpc.keepalive_timeout_ms", answer_ms),
        ("grpc.http2.ping_timeout_ms", answer_ms),
    ]


def _check_text(name: str, text: str, first: str, max_bytes: int, secret: bool = False) -> None:
    """ValueError for a text that cannot be metadata of a call, TypeError for no text.

    first: lowest character allowed; the highest one is "~". secret: the text is not shown.
    """
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str; got {type(text).__name__}")
    if 1 <= len(text) <= max_bytes and all(first <= c <= "~" for c in text):
        return
    spaces = "" if first == " " else " without spaces"
    wrong = next((at for at, c in enumerate(text) if not first <= c <= "~"), None)
    got = f"{len(text)} characters"
    if not secret:
        got = repr(text) if len(text) <= max_bytes else f"{got} that begin with {text[:40]!r}"
    elif wrong is not None:
        got += f", of which number {wrong + 1} is none of them"
    raise ValueError(f"{name} must be 1 to {max_bytes} bytes of printable ASCII{spaces}; got {got}")


def _check_address(address: str) -> None:
    """ValueError for an address of which gRPC would make something else than was meant, TypeError for no text."""
    if not isinstance(address, str):
        raise TypeError(f"an address is a str; got {type(address).__name__}")
    # gRPC takes an address up to its first NUL, and puts it into the metadata of calls.
    if not address.isprintable():
        raise ValueError(f"an address is HOST:PORT without control characters; got {address!r}")
    scheme = address.partition("://")[0]
    if scheme in ("http", "https", "grpc", "grpcs"):
        raise ValueError(f"an address is HOST:PORT, without {scheme}://; got {address}")
    if address.startswith("/"):
        raise ValueError(f"a socket is given as unix:{address}; got {address}")
    if ":" not in address:
        raise ValueError(f"an address is HOST:PORT, such as {address or 'localhost'}:50051; got {address!r}")


def _stays_on_this_machine(address: str) -> bool:
    if address.startswith(("unix:", "unix-abstract:")):
        return True
    for scheme in ("dns:///", "dns:", "ipv4:", "ipv6:"):
        if address.startswith(scheme):
            address = address[len(scheme) :]
            break
    # An address with a scheme may name several.
    return all(_is_loopback(one.rpartition(":")[0]) for one in address.split(","))


def _is_loopback(host: str) -> bool:
    """True for the loopback's addresses and its name. A host such as 127.example.org is another one."""
    if host in ("localhost", "[::1]"):
        return True
    try:
        return ipaddress.IPv4Address(host).is_loopback
    except ValueError:
        return False


def retry_delay(error: OrbserveError, attempts: int) -> float:
    """Seconds to wait before the next try of a call, after `attempts` tries."""
    longest: float = min(max(error.retry_after or 0.0, 0.1) * 2.0 ** min(attempts - 1, 30), _LONGEST_RETRY)
    return max(longest * random.uniform(0.5, 1.0), error.retry_after or 0.0)
