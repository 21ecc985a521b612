#!/usr/bin/env python3
"""A folder of PNG images that a network can tell apart: make_photos.py DIR"""
import os
import random
import struct
import sys
import zlib

SIZE, PER_CLASS = 24, 30
CLASSES = {"ant": (200, 60, 60), "bee": (60, 200, 60), "cat": (60, 60, 200)}


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write(path, colour, rng):
    rows = b"".join(b"\0" + bytes(min(255, max(0, int(rng.gauss(c, 60)))) for _ in range(SIZE) for c in colour)
                    for _ in range(SIZE))
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


for label, colour in CLASSES.items():
    os.makedirs(os.path.join(sys.argv[1], label))
    for i in range(PER_CLASS):
        write(os.path.join(sys.argv[1], label, f"{i:04}.png"), colour, random.Random(f"{label}{i}"))
