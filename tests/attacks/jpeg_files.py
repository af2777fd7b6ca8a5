# SPDX-FileCopyrightText: 2026 The orbserve authors
# SPDX-License-Identifier: Apache-2.0
"""Grey JPEG files of one colour, written block by block: small for their number of pixels, and correct.

Each Huffman table has few codes, so that the data of a scan are known without an encoder (ITU-T T.81, annexes C, F, G).
"""

import struct


def segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def table(table_class, symbol):
    """A Huffman table whose only code, one bit 0, means `symbol`."""
    return segment(0xC4, bytes([table_class << 4]) + bytes([1] + [0] * 15) + bytes([symbol]))


def start(frame_marker, width_px, height_px):
    quantisation = segment(0xDB, bytes([0]) + bytes([1] * 64))
    frame = segment(frame_marker, struct.pack(">BHHB", 8, height_px, width_px, 1) + bytes([1, 0x11, 0]))
    return b"\xff\xd8" + quantisation + frame


def scan(first, last, data):
    return segment(0xDA, bytes([1, 1, 0x00, first, last, 0])) + data


def filled(bits):
    """A string of 0 and 1 as bytes, the last one filled up with 1."""
    bits += "1" * (-len(bits) % 8)
    return int(bits, 2).to_bytes(len(bits) // 8, "big").replace(b"\xff", b"\xff\x00") if bits else b""


def zeros(count):
    """As many bits 0."""
    return bytes(count // 8) + filled("0" * (count % 8))


def blocks(width_px, height_px):
    return (width_px + 7) // 8 * ((height_px + 7) // 8)


def flat(width_px, height_px, is_damaged=False):
    """A sequential file: two bits a block, no difference and the end of the block. Damaged: the last block has a code that
    is in no table."""
    count = 2 * blocks(width_px, height_px)
    data = zeros(count)
    if is_damaged:
        data = data[:-1] + filled("0" * ((count - 1) % 8) + "1")
    return start(0xC0, width_px, height_px) + table(0, 0) + table(1, 0) + scan(0, 63, data) + b"\xff\xd9"


def many_scans(width_px, height_px, scans=64):
    """A progressive file: one bit a block, then scans of a few bytes that go through every block all the same."""
    left, bits = blocks(width_px, height_px), ""
    while left > 0:
        run = min(left, (1 << 15) - 1)
        if run >= 1 << 14:
            bits += "0" + format(run - (1 << 14), "014b")  # EOB14 and what its run is longer than 2^14
        else:
            bits += "10" * run  # EOB0 for each block
        left -= run
    # Two codes: 0 = a run of 2^14 blocks or more, 10 = one block.
    runs = segment(0xC4, bytes([0x10]) + bytes([1, 1] + [0] * 14) + bytes([0xE0, 0x00]))
    file = start(0xC2, width_px, height_px) + table(0, 0) + runs
    file += scan(0, 0, zeros(blocks(width_px, height_px)))
    for band in range(1, scans):
        file += scan(band, band, filled(bits))
    return file + b"\xff\xd9"
