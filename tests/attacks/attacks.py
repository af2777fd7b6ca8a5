# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""The attacks and their limits. A new attack is a function like those of connections.py and a line here."""

import dataclasses
from typing import Callable, Optional

import connections
import heavy
import memory
import shares
import strangers


@dataclasses.dataclass
class Attack:
    name: str
    function: Callable  # (address, end, scale) -> dict
    seconds: float = 4.0
    long_seconds: float = 20.0
    server_arguments: tuple = ()
    honest: str = "extract"  # what the honest client does (honest.py)
    with_tokens: bool = False  # the honest client and the attacker have tokens: shares.TOKENS
    nofile: Optional[int] = None  # descriptors of the server, soft and hard
    address_space_mib: Optional[int] = None  # RLIMIT_AS of the server
    # With --relaxed the honest client may lose so many connections before the first answer: a busy machine may need longer
    # for it than a newcomer has its place while strangers of the same address want all of the few that there are.
    lost_newcomers: int = 0
    settles: bool = False  # half a minute later memory is back within a tenth of what it was before
    on_http: bool = False  # attacks the HTTP port
    tls: bool = False  # the server has a certificate, and the attack comes by TLS
    memory_mib: int = 300  # growth
    fills_receive_buffers: bool = False  # with --long, so that their budget counts, too
    p99_ms: float = 100.0
    worst_ms: float = 500.0
    fresh_ms: float = 100.0
    stop_s: float = 5.0


ATTACKS = {
    attack.name: attack
    for attack in [
        Attack("few_descriptors", connections.many_connections, nofile=64, lost_newcomers=3),
        Attack("many_descriptors", connections.very_many_connections, nofile=1024),
        Attack("without_preface", connections.without_preface),
        Attack("half_a_preface", connections.half_a_preface),
        Attack("reconnects", connections.reconnects),
        Attack("continuation_flood", connections.continuation_flood),
        Attack("empty_continuation_flood", connections.empty_continuation_flood),
        Attack("endless_header", connections.endless_header),
        Attack("rapid_reset", connections.rapid_reset),
        Attack("reset_with_request", connections.reset_with_request),
        Attack("unacknowledged_calls", connections.unacknowledged_calls),
        Attack("settings_flood", connections.settings_flood),
        Attack("unread_settings_flood", connections.unread_settings_flood),
        Attack("ping_flood", connections.ping_flood),
        Attack("priority_flood", connections.priority_flood),
        Attack("window_flood", connections.window_flood),
        Attack("unknown_frame_flood", connections.unknown_frame_flood),
        Attack("empty_data_flood", connections.empty_data_flood),
        Attack("crumbs", connections.crumbs),
        Attack("refused_by_the_server", connections.refused_by_the_server),
        Attack("expired_calls", connections.expired_calls),
        # The bytes that gRPC holds have a budget of their own.
        Attack("unfinished_messages", connections.unfinished_messages, memory_mib=2048 + 300),
        Attack("unfinished_uploads", connections.unfinished_uploads, memory_mib=2048 + 300),
        Attack("hoarded_messages", connections.hoarded_messages, address_space_mib=1024),
        Attack("tls_rapid_reset", connections.rapid_reset, tls=True),
        Attack("tls_continuation_flood", connections.continuation_flood, tls=True),
        Attack("tls_endless_header", connections.endless_header, tls=True),
        Attack("tls_many_descriptors", connections.many_connections, nofile=128, tls=True),
        Attack("list_flood", memory.list_flood),
        Attack("eviction", memory.eviction, memory_mib=1024 + 300, fills_receive_buffers=True),
        Attack("empty_strings", memory.empty_strings, fills_receive_buffers=True),
        Attack("unknown_groups", memory.unknown_groups, fills_receive_buffers=True),
        Attack("unknown_groups_in_stream", memory.unknown_groups_in_stream, fills_receive_buffers=True),
        Attack("reflection_groups", memory.reflection_groups, fills_receive_buffers=True),
        Attack("unknown_numbers", memory.unknown_numbers, fills_receive_buffers=True),
        Attack("alternating_oneof", memory.alternating_oneof, fills_receive_buffers=True),
        Attack("packed_numbers", memory.packed_numbers, fills_receive_buffers=True),
        Attack("nested_pipelines", memory.nested_pipelines, fills_receive_buffers=True),
        Attack("large_burst", memory.large_burst, memory_mib=4096, settles=True),
        Attack("large_burst_in_768_mib", memory.large_burst, memory_mib=768, address_space_mib=768),
        Attack("large_burst_in_1_gib", memory.large_burst, memory_mib=1024, address_space_mib=1024),
        Attack("slow_http", connections.slow_http, on_http=True),
        Attack("http_resets", connections.http_resets, on_http=True),
        Attack("unread_answers", shares.unread_answers, memory_mib=1024 + 300),
        Attack("unread_answers_of_many", shares.unread_answers_of_many, with_tokens=True, memory_mib=1024 + 300),
        Attack("unopened_streams", shares.unopened_streams, honest="stream", stop_s=8.0),
        Attack("silent_streams", shares.silent_streams, honest="stream", stop_s=8.0),
        Attack("silent_streams_of_one", shares.silent_streams_of_one, honest="stream", stop_s=8.0),
        Attack("silent_streams_of_many", shares.silent_streams_of_many, honest="stream", stop_s=8.0),
        Attack("strangers_health", strangers.strangers_health, with_tokens=True, honest="reconnect"),
        Attack("strangers_watch", strangers.strangers_watch, with_tokens=True, honest="reconnect"),
        Attack("strangers_refused", strangers.strangers_refused, with_tokens=True, honest="reconnect"),
        Attack("hoarders", strangers.hoarders, honest="reconnect"),
        Attack("endless_prefaces", strangers.endless_prefaces, honest="reconnect"),
        Attack("endless_settings", strangers.endless_settings, honest="reconnect"),
        Attack("endless_tls_handshakes", strangers.endless_tls_handshakes, tls=True, honest="reconnect"),
        Attack("half_a_client_hello", strangers.half_a_client_hello, tls=True, honest="reconnect"),
        Attack("unread_reflection", strangers.unread_reflection, with_tokens=True, honest="reconnect"),
        Attack("unread_reflection_in_2_gib", strangers.unread_reflection, with_tokens=True, honest="reconnect",
               address_space_mib=2048),
        Attack("unread_health", strangers.unread_health, with_tokens=True, honest="reconnect"),
        Attack("unread_health_in_2_gib", strangers.unread_health, with_tokens=True, honest="reconnect",
               address_space_mib=2048),
        Attack("many_ids", shares.many_ids, with_tokens=True),
        Attack("foreign_ids", shares.foreign_ids, with_tokens=True, fills_receive_buffers=True),
        Attack("unread_streams", shares.unread_streams, honest="stream", memory_mib=1024 + 300, stop_s=8.0,
               fills_receive_buffers=True),
        # Memory: the budgets of decoded pixels and of plans (configuration.md).
        # A busy machine may need longer than ten seconds for the frames that the server has accepted.
        Attack("large_pyramids", heavy.large_pyramids, memory_mib=2348, honest="jpeg",
               server_arguments=("--drain-timeout-ms", "60000")),
        Attack("large_frames", heavy.large_frames, memory_mib=1324, honest="jpeg", fills_receive_buffers=True),
        Attack("slow_decoding", heavy.slow_decoding, memory_mib=1324, honest="jpeg", fills_receive_buffers=True),
        Attack("damaged_files", heavy.damaged_files, honest="jpeg", fills_receive_buffers=True),
        Attack("many_pixels", heavy.many_pixels, memory_mib=1324, honest="jpeg", fills_receive_buffers=True),
    ]
}
