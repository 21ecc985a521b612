#!/bin/sh
# test_data.sh - `pada data info` and `verify`: what they say about good, odd and broken data sets.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

dir=$work/set
# Fails, with findings on standard output and their number on standard error.
expect_problems() {
    expect_rc 65
    expect_err "$1"
}

# ---- the built-in data set ----

pada data info builtin
expect_rc 0
expect_no_err
expect_out_has '  images     2000 train, 1000 test, 16x16 pixels'
expect_out_has '  mean       0.486400 0.485700 0.483800'
expect_out_has '      9        200      100'
pada data info builtin --json
expect_rc 0
expect_out_has '{"name": "builtin", "kind": "builtin", "train": 2000, "test": 1000, "val": 0, "image_size": 16, "mean": [0.4864'
expect_out_has '"classes": [{"name": null, "train": 200, "test": 100, "val": 0}, '
pada data verify builtin
expect_rc 0
expect_no_err
expect_out 'builtin: 3000 images are fine, 0 warnings'
pada data verify builtin --json
expect_rc 0
expect_out '{"name": "builtin", "images": 3000, "ok": true, "problems": [], "warnings": []}'

# ---- wrong calls ----

pada data check builtin
expect_usage_error "unknown word 'check'; one of: info, verify"
for words in '' info 'verify' 'info builtin builtin'; do
    # shellcheck disable=SC2086 # words
    pada data $words
    expect_usage_error 'data takes two words: info or verify, and a data set'
done
pada data info builtin --image-size 32
refused 2 'image size 32 does not fit the data set builtin, which has 16'
pada data info builtin --image-size 0
refused 2 'image-size'
pada data info "$work/none"
refused 66 "$work/none: no such folder"
mkdir "$dir"
pada data verify "$dir"
refused 65 "$dir: no data set in this folder; looked for: the word builtin; "

# ---- CIFAR: black images of class 0 ----

for k in 1 2 3 4 5; do head -c 3073 /dev/zero >"$dir/data_batch_$k.bin"; done
head -c $((6 * 3073)) /dev/zero >"$dir/test_batch.bin"
pada data info "$dir"
expect_rc 0
expect_out_has 'CIFAR-10'
expect_out_has '      0          5        6  airplane'
expect_out_has '      9          0        0  truck'
pada data verify "$dir"
expect_problems "$dir: 8 problems, 6 warnings; the first problem: train: 9 of 10 classes have no images"
expect_out_has 'warning: data_batch_5.bin: 1 images; the official file has 10000'
expect_out_has 'warning: test_batch.bin: 6 images; the official file has 10000'
expect_out_has 'problem: train: 9 of 10 classes have no images'
expect_out_has 'problem: train: 5 of 5 images are of one colour'
expect_out_has 'problem: train: 4 of 5 images are copies of others, 0 of them with another label'
expect_out_has 'problem: test: 6 of 6 images are of one colour'
expect_out_has 'problem: 6 of 6 test images are train images'
expect_out_has 'problem: train: mean 0.0000 0.0000 0.0000, deviation 0.0000 0.0000 0.0000, normalised with 0.4914 0.4822 0.4465'
pada data verify "$dir" --json
expect_problems '8 problems, 6 warnings'
expect_out_has '{"name": "CIFAR-10", "images": 11, "ok": false, "problems": [{"kind": "classes", "message": "train: 9 of 10 classes have no images"}, '
expect_out_has '"warnings": [{"kind": "files", "message": "data_batch_1.bin: 1 images; the official file has 10000"}, '
# Cut short: not a warning, and no result.
head -c 3000 /dev/zero >"$dir/data_batch_3.bin"
pada data verify "$dir"
refused 65 "$dir/data_batch_3.bin: 3000 bytes are not a number of CIFAR-10 records of 3073 bytes"
rm "$dir/data_batch_3.bin"
pada data verify "$dir"
refused 66 "$dir/data_batch_3.bin: No such file or directory"
rm -r "$dir"

# ---- folders of images ----

if ! command -v python3 >/dev/null; then
    echo 'left out: image folders, no python3'
    finish
fi
# Noise of 20x20 pixels: two classes of 10, and one of 40 whose last image is another one's copy.
python3 - "$dir" <<'END'
import os, random, struct, sys, zlib


def chunk(name, data):
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def write(path, seed):
    rng = random.Random(seed)
    rows = b"".join(b"\0" + bytes(rng.randrange(256) for _ in range(60)) for _ in range(20))
    head = struct.pack(">IIBBBBB", 20, 20, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


for name, n, first in ("ant", 10, 0), ("bee", 10, 100), ("cow", 40, 200):
    os.makedirs(os.path.join(sys.argv[1], name))
    for i in range(n):
        write(os.path.join(sys.argv[1], name, f"{i:02}.png"), first + i)
write(os.path.join(sys.argv[1], "cow", "39.png"), 100)
END
pada data info "$dir" --image-size 16
expect_rc 0
expect_no_err
expect_out_has 'image folder'
expect_out_has '  images     38 train, 10 val, 12 test, 16x16 pixels'
expect_out_has 'no folders train, val and test: 12 images, a fifth of each class, are for tests, and 10, a fifth of the rest, '
expect_out_has '      2         26        6        8  cow'
pada data info "$dir" --json
expect_out_has '"kind": "folder", "train": 38, "test": 12, "val": 10, "image_size": 32, '
expect_out_has '"classes": [{"name": "ant", "train": 6, "test": 2, "val": 2}, '
pada data verify "$dir"
expect_rc 0
expect_no_err
expect_out_has 'warning: train: classes have 6 to 26 images'
expect_out_has 'warning: test: classes have 2 to 8 images'
expect_out_has 'warning: val: classes have 2 to 6 images'
checks=$((checks + 1))
grep -q "^warning: $dir/[a-z]*/[0-9]*.png: the same image as $dir/[a-z]*/[0-9]*.png, of another class" "$work/out" ||
    complain 'the copy is not named'
expect_out_has 'image folder: 60 images are fine, 4 warnings'
# The evaluation scales to the size asked for.
eval_folder() {
    pada eval --arch-dialect list 1,3,2,4,0,1 --channels 4 --cells 1 --data "$dir" "$@"
    expect_rc 0
    expect_out_has 'images 12 '
}
eval_folder --image-size 16 --logits "$work/16.npy"
eval_folder --image-size 32 --logits "$work/32.npy"
eval_folder --logits "$work/default.npy"
checks=$((checks + 2))
cmp -s "$work/32.npy" "$work/default.npy" || complain 'the default is not 32'
! cmp -s "$work/16.npy" "$work/32.npy" || complain 'the size does not matter'

# Pictures that are no squares: all three ways.
for resize in crop squash pad; do eval_folder --resize $resize --image-size 16 --logits "$work/$resize.npy"; done
checks=$((checks + 1))
cmp -s "$work/16.npy" "$work/crop.npy" || complain 'crop is not the default'
pada data info "$dir" --resize stretch
refused 2 "--resize: 'stretch' is not one of crop|squash|pad"

# ---- decoded images are kept ----

cache=$XDG_CACHE_HOME/pada
check "$(find "$cache" -name '*.pack' | wc -l)" -ge 2
rm -r "$cache"
pada data info "$dir" --no-cache
expect_rc 0
check ! -e "$cache"
cp "$work/out" "$work/plain"
for damage in no yes; do
    pada data info "$dir"
    expect_rc 0
    expect_no_err
    checks=$((checks + 1))
    cmp -s "$work/out" "$work/plain" || complain 'the cache has other images'
    [ $damage = yes ] || for pack in "$cache"/*.pack; do printf x >>"$pack"; done
done
check "$(find "$cache" -name '*.tmp.*' | wc -l)" -eq 0
PADA_CACHE_SIZE=lots pada data info "$dir"
refused 2 "PADA_CACHE_SIZE: 'lots'"
: >"$work/file"
XDG_CACHE_HOME=$work/file pada data info "$dir"
expect_rc 0
expect_err "decoded images are not kept in $work/file/pada: "

# ---- pictures that cannot be read are not passed over in silence ----

printf 'GIF89a' >"$dir/ant/a.gif"
pada data info "$dir"
expect_rc 0
expect_err "left out, only PNG, JPEG or WebP images are read: $dir/ant/a.gif"
cp "$dir/ant/a.gif" "$dir/bee/b.tiff"
pada data info "$dir"
expect_err "left out, only PNG, JPEG or WebP images are read: $dir/ant/a.gif and 1 more"
rm "$dir/ant/a.gif" "$dir/bee/b.tiff"

# ---- verify lists everything at once ----

head -c 100 "$dir/bee/05.png" >"$work/cut.png"
cp "$work/cut.png" "$dir/bee/05.png"
pada data info "$dir"
refused 65 "$dir/bee/05.png: broken PNG: "
: >"$dir/ant/03.png"
pada train --data "$dir" --epochs 1 --channels 2 --cells 1 --batch-size 8 --out "$work/run"
refused 65 "$dir/ant/03.png: an empty file, and 1 more file: \`pada data verify\` lists them"
printf 'GIF89a' >"$dir/cow/a.gif"
printf 'GIF89a' >"$dir/cow/b.png"
echo hello >"$dir/cow/notes.txt"
mkdir "$dir/ant/old"
cp "$dir/ant/04.png" "$dir/ant/old/04.jpg"
cp "$dir/ant/04.png" "$dir/ant/.hidden.png"
pada data verify "$dir"
expect_problems "$dir: 3 problems, "
expect_out_has "problem: $dir/ant/03.png: an empty file"
expect_out_has "problem: $dir/bee/05.png: broken PNG: "
expect_out_has "problem: $dir/cow/b.png: a GIF image, which is not read; PNG, JPEG or WebP are"
expect_out_has "warning: $dir/cow/a.gif: left out: a GIF image, which is not read"
expect_out_has "warning: $dir/cow/notes.txt: left out: no image by its name"
expect_out_has "warning: $dir/ant/.hidden.png: left out: its name begins with a dot"
expect_out_has "warning: $dir/ant/old: a folder inside a class; its 1 images belong to the class"
expect_out_has "warning: $dir/ant/old/04.jpg: a PNG image by its contents, another one by its name"
expect_out_has "the same image as $dir/ant/"
check "$(sort "$work/out" | uniq -d | wc -l)" -eq 0
pada data verify "$dir" --json
expect_problems '3 problems, '
expect_out_has "{\"kind\": \"empty\", \"file\": \"$dir/ant/03.png\", \"message\": \"an empty file\"}"
expect_out_has "{\"kind\": \"unsupported\", \"file\": \"$dir/cow/a.gif\", \"message\": \"left out: a GIF image, which is not read\"}"

rm -r "$dir/bee"
mkdir "$dir/bee"
pada data verify "$dir"
expect_problems "$dir: 6 problems, "
expect_out_has "problem: $dir/bee: no PNG, JPEG or WebP images"
expect_out_has 'problem: train: 1 of 3 classes have no images'
pada data info "$dir"
refused 65 "$dir/bee: no PNG, JPEG or WebP images"
# Nothing is left, but what was found is said.
rm -r "$dir/cow"
mkdir "$dir/cow"
rm -r "$dir/ant"
mkdir "$dir/ant"
cp "$work/cut.png" "$dir/ant/cut.png"
pada data verify "$dir"
expect_problems "$dir: no test images: no class has 2 images"
expect_out_has "problem: $dir/ant/cut.png: broken PNG: "
pada data verify "$dir" --json
expect_out_has '{"name": null, "images": 0, "ok": false, "problems": ['
expect_out_has '"message": "broken PNG: '
rm -r "$dir/bee" "$dir/ant"
pada data info "$dir"
refused 65 "$dir: no data set in this folder"
finish
