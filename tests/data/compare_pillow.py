#!/usr/bin/env python3
"""Holds the changes of AutoAugment against Pillow's, and the policies against the published table.

Without Pillow, or a Python that has it in PADA_PILLOW_PYTHON, it is skipped; without the table only that part is.
"""
import csv
import os
import random
import subprocess
import sys

if os.environ.get("PADA_PILLOW_PYTHON"):
    python = os.environ.pop("PADA_PILLOW_PYTHON")
    os.execv(python, [python] + sys.argv)
try:
    from PIL import Image, ImageEnhance, ImageOps
except ImportError:
    print("skipped: no Pillow; PADA_PILLOW_PYTHON may name a Python that has it")
    sys.exit(77)

DUMP, TABLE = sys.argv[1:3]
FILL = (124, 116, 104)
LEVELS = (0, 1, 3, 5, 8, 9, 10)
failures = []


def pictures():
    """Images of all kinds: noise, slopes, few levels, one colour, sides of one and two pixels."""
    rng = random.Random(5)
    for w, h in ((32, 32), (37, 29), (8, 8), (2, 3), (1, 1)):
        def make(f):
            return Image.frombytes("RGB", (w, h), bytes(f(x, y, c) % 256 for y in range(h) for x in range(w)
                                                        for c in range(3)))
        yield make(lambda x, y, c: rng.randrange(256))
        yield make(lambda x, y, c: 5 * x + 3 * y * c + 40)
        yield make(lambda x, y, c: 60 + (x // 5 * 7 + y // 3 * 11) % 90 + rng.randrange(5))
        yield make(lambda x, y, c: (90, 200, 7)[c])


def affine(image, matrix, resample):
    return image.transform(image.size, Image.Transform.AFFINE, matrix, resample, fillcolor=FILL)


def enhance(kind):
    return lambda image, level, sign, resample: kind(image).enhance(level / 10 * 1.8 + 0.1)


def posterize(least):
    def change(image, level, sign, resample):
        bits = int(level / 10 * 4) + least
        # Some versions refuse 0 bits, which leave nothing.
        return ImageOps.posterize(image, bits) if bits > 0 else Image.new("RGB", image.size)
    return change


def solarize_add(image, level, sign, resample):
    return image.point([min(255, i + int(level / 10 * 110)) if i < 128 else i for i in range(256)] * 3)


# name: (what Pillow does, whether the level, the sign and the filter matter)
CHANGES = {
    "ShearX": (lambda i, l, s, r: affine(i, (1, s * (l / 10 * 0.3), 0, 0, 1, 0), r), True, True),
    "ShearY": (lambda i, l, s, r: affine(i, (1, 0, 0, s * (l / 10 * 0.3), 1, 0), r), True, True),
    "TranslateYRel": (lambda i, l, s, r: affine(i, (1, 0, 0, 0, 1, s * (l / 10 * 0.45) * i.size[1]), r), True, True),
    "Rotate": (lambda i, l, s, r: i.rotate(s * (l / 10 * 30), resample=r, fillcolor=FILL), True, True),
    "Color": (enhance(ImageEnhance.Color), True, False),
    "Contrast": (enhance(ImageEnhance.Contrast), True, False),
    "Sharpness": (enhance(ImageEnhance.Sharpness), True, False),
    "Posterize": (posterize(0), True, False),
    "PosterizeOriginal": (posterize(4), True, False),
    "Solarize": (lambda i, l, s, r: ImageOps.solarize(i, min(256, int(l / 10 * 256))), True, False),
    "SolarizeAdd": (solarize_add, True, False),
    "Equalize": (lambda i, l, s, r: ImageOps.equalize(i), False, False),
    "AutoContrast": (lambda i, l, s, r: ImageOps.autocontrast(i), False, False),
    "Invert": (lambda i, l, s, r: ImageOps.invert(i), False, False),
}


def ours(image, name, level, sign, cubic):
    w, h = image.size
    planes = b"".join(band.tobytes() for band in image.split())
    run = subprocess.run([DUMP, name, str(level), "-" if sign < 0 else "+", "cubic" if cubic else "linear", str(h), str(w)],
                         input=planes, stdout=subprocess.PIPE, check=True)
    return run.stdout


def compare_changes():
    n = 0
    for name, (pillow, has_level, moves) in CHANGES.items():
        for k, image in enumerate(pictures()):
            for level in LEVELS if has_level else (0,):
                for sign, cubic in ((1, False), (-1, True), (1, True), (-1, False)) if moves else ((1, False),):
                    resample = Image.Resampling.BICUBIC if cubic else Image.Resampling.BILINEAR
                    expected = pillow(image, level, sign, resample)
                    expected = b"".join(band.tobytes() for band in expected.split())
                    found = ours(image, name, level, sign, cubic)
                    n += 1
                    far = max(abs(a - b) for a, b in zip(found, expected))
                    count = sum(a != b for a, b in zip(found, expected))
                    # Pillow takes -30 degrees for 330, whose cosine has another 15th decimal: a level cut off
                    # elsewhere is no mistake.
                    if far > 0 and not (name == "Rotate" and far == 1 and count < 0.001 * len(found)):
                        failures.append(f"{name} {level} {sign} {'cubic' if cubic else 'linear'}, picture {k} {image.size}: "
                                        f"{count} of {len(found)} levels differ, by up to {far}")
    print(f"{n} changes compared with Pillow")


def compare_policies():
    if not os.path.exists(TABLE):
        print(f"left out: the policies, no {TABLE}")
        return
    with open(TABLE, newline="") as file:
        expected = [row for row in csv.reader(file)][1:]
    printed = subprocess.run([DUMP, "policies"], stdout=subprocess.PIPE, check=True, text=True).stdout
    found = list(csv.reader(printed.splitlines()))
    if found != expected:
        failures.append("the policies differ from " + TABLE)
    print(f"{len(found)} pairs of policies compared")


compare_changes()
compare_policies()
for failure in failures[:40]:
    print(failure)
print(f"{len(failures)} differences")
sys.exit(1 if failures else 0)
