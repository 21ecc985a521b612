#!/usr/bin/env python3
"""Image folders of four classes that a network can tell apart: make_photos.py DIR [SEED SPLIT:N...]

DIR/SPLIT/CLASS has N images ("." for SPLIT: DIR/CLASS). The images are always the same ones; the seed says what
their files are called and in which order they are written. Without both, DIR/CLASS has 30."""
import os
import random
import struct
import sys
import zlib

SIZE = 24
CLASSES = {"ant": (200, 60, 60), "bee": (60, 200, 60), "cat": (60, 60, 200), "dog": (150, 150, 60)}


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png(colour, rng):
    rows = b"".join(b"\0" + bytes(min(255, max(0, int(rng.gauss(c, 60)))) for _ in range(SIZE) for c in colour)
                    for _ in range(SIZE))
    head = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


where, seed, *splits = sys.argv[1:] if len(sys.argv) > 2 else (sys.argv[1], "0", ".:30")
images = []
for split, n in (word.split(":") for word in splits):
    names = [f"{i:04}.png" for i in range(int(n))]
    for label, colour in CLASSES.items():
        random.Random(seed + label).shuffle(names)
        os.makedirs(os.path.join(where, split, label))
        images += [(os.path.join(where, split, label, name), png(colour, random.Random(f"{split}{label}{i}")))
                   for i, name in enumerate(names)]
random.Random(seed).shuffle(images)
for path, image in images:
    with open(path, "wb") as file:
        file.write(image)
