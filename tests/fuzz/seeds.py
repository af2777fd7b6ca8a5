#!/usr/bin/env python3
# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Makes a first corpus for each fuzzer: FOLDER/NAME/..., small valid inputs of every kind that it knows."""

import io
import pathlib
import struct
import subprocess
import sys
import zipfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes((x * y) & 255 for x in range(width)) for y in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def npz() -> bytes:
    def npy(kind: str, shape: str, data: bytes) -> bytes:
        text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + data

    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xy.npy", npy("<f4", "(2, 2)", bytes(16)))
        archive.writestr("descriptors.npy", npy("|u1", "(2, 32)", bytes(64)))
        archive.writestr("image_size.npy", npy("<i4", "(2,)", bytes(8)))
    return out.getvalue()


def message(kind: str, text: str) -> bytes:
    command = ["protoc", f"--proto_path={ROOT / 'proto'}", f"--encode=orbserve.v1.{kind}", "orbserve/v1/orbserve.proto"]
    return subprocess.run(command, input=text.encode(), capture_output=True, check=True).stdout


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    frame = 'format: PIXEL_FORMAT_GRAY8 width_px: 16 height_px: 8 pixels: "' + "a" * 128 + '"'
    mask = 'mask { width_px: 16 height_px: 8 pixels: "' + "b" * 128 + '" }'
    points = "keypoints { x: 1 y: 2 angle: 3 octave: 0 }"
    features = 'x: 1 y: 2 size: 31 angle: 3 response: 4 octave: 0 descriptor_bytes: 4 descriptors: "abcd"'
    open_ = 'open { pipeline { preset: "vio" } drop_policy: DROP_POLICY_NEWEST deadline_ms: 50 }'
    y4m = b"YUV4MPEG2 W16 H8 F30:1 Ip A1:1 C420\nFRAME\n" + bytes(192) + b"FRAME\n" + bytes(192)
    pnm = b"P5 16 8 255\n" + bytes(128)

    def http2(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload

    message_of_call = b"\0" + (8).to_bytes(4, "big") + bytes(8)
    frames = [http2(4, 0, 0, b""), http2(4, 1, 0, b""), http2(1, 4, 1, b"\x83\x86"), http2(0, 1, 1, message_of_call),
              http2(1, 0, 3, b"\x83"), http2(9, 4, 3, b"\x86"), http2(6, 0, 0, bytes(8)), http2(3, 0, 3, bytes(4))]
    seeds = {
        "config_fuzz": [
            b'\0listen: "127.0.0.1:0" batching { max_batch: 8 } limits { max_streams: 3 }',
            b'\0backend { name: "cpu" devices: [0, 1] } tls { cert_file: "a" key_file: "b" }',
            b'\x01preset: "orb" detect { fast_threshold: 20 } pyramid { levels: 8 scale_factor: 1.2 }',
            b'\x01preset: "klt-corners" suppress { minimum_distance_px: 5 }',
        ],
        "message_fuzz": [
            b"\0" + message("StreamFramesRequest", f"frame {{ sequence: 1 {frame} }}"),
            b"\x05" + message("StreamFramesRequest", open_),
            b"\x01" + message("ExtractRequest", f'pipeline {{ preset: "orb" }} frame {{ {frame} {mask} {points} }}'),
            b"\x02" + message("FeatureSet", features),
            b"\x03" + message("MatchOptions", "cross_check: true ratio: 0.8 window_px: 9"),
            b"\x04markers/door",
        ],
        "wire_fuzz": [
            b"\xFC" + message("StreamFramesRequest", f"frame {{ sequence: 1 {frame} }}"),
            b"\0" + message("StreamFramesRequest", open_),
            b"\x11" + message("ExtractRequest", f'pipeline {{ preset: "orb" }} frame {{ {frame} {mask} {points} }}'),
            b"\x22" + message("MatchRequest", f'train_reference: "door" query_features {{ {features} }}'),
            b"\x07" + message("PutReferenceRequest", f'name: "door" features {{ {features} }}'),
        ],
        "client_file_fuzz": [b"\0" + npz(), b"\x01" + png(16, 8), b"\x02" + pnm, b"\x02P2 2 1 9 3 4\n", b"\x04" + y4m],
        "connection_fuzz": [
            b"\0" + b"".join(bytes([2 * (len(part) - 1)]) + part for part in frames),
            b"\x01GET /metrics?since=4 HTTP/1.1\r\nHost: robot\r\n\r\n",
            b"\x01GET http://robot:9090/healthz HTTP/1.0\r\n\r\n",
            b"\x02# tokens\nrobot-7 sha256:" + b"0f" * 32 + b" weight=2 expires=2030-01-01T00:00:00Z\n",
            b"\x03robot-7\nrobot-7/left\nspiffe://fleet/robot\nrobot.example\nrobot\n192.0.2.0/24\n198.51.100.7",
        ],
        "decode_fuzz": [bytes([1, 16, 0, 8, 0, 16, 0, 0]) + bytes(128)],
        "jpeg_fuzz": [],
    }
    for jpeg in sorted((ROOT / "tests" / "data").glob("**/*.jpg"))[:20]:
        data = jpeg.read_bytes()
        if len(data) < 100_000:
            seeds["decode_fuzz"].append(data)
            seeds["jpeg_fuzz"].append(data)
            seeds["client_file_fuzz"] += [b"\x03" + data, b"\x05" + data + data]
    for name, inputs in seeds.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (folder / name / f"seed{number:03}").write_bytes(data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
