#!/usr/bin/env python3
"""make_photos.py DIR CLASS CLASS: an image folder of 40 PNG files of different sizes, 32 in train and 8 in val."""
import os
import struct
import sys
import zlib


def write(path, width, height, seed):
    """An RGB picture with slopes that depend on the seed."""
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    os.makedirs(os.path.dirname(path), exist_ok=True)
    rows = b"".join(b"\0" + bytes((x * (c + 2) + y * seed + 29 * seed) % 256 for x in range(width) for c in range(3))
                    for y in range(height))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) +
                chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def main(folder, *classes):
    for i in range(40):
        split = "val" if i % 5 == 4 else "train"
        write(f"{folder}/{split}/{classes[i % 2]}/{i:02}.png", 20 + 7 * i % 41, 16 + 11 * i % 37, i)


if __name__ == "__main__":
    main(*sys.argv[1:])
