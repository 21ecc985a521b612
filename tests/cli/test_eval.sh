#!/bin/sh
# test_eval.sh - `pada eval` on the built-in data: results, and everything that must be refused.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

arch='|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|avg_pool_3x3~0|nor_conv_3x3~1|skip_connect~2|'
list=3,1,2,4,3,1
dead=0,0,0,0,0,0
out=$work/results
w=$work/w.safetensors
mkdir "$out"

eval_small() {
    pada eval --channels 4 --cells 1 --limit 20 --batch-size 8 "$@"
}
# Nothing was written: no result, no temporary file, nothing on standard output.
expect_nothing() {
    expect_out ''
    checks=$((checks + 1))
    [ -z "$(ls -A "$out")" ] || complain "files: $(ls -A "$out")"
}
refused() {
    expect_rc "$1"
    expect_err "$2"
    expect_nothing
}
field() {
    sed "s/.*\"$1\": \"\{0,1\}\([^\",}]*\).*/\1/" "$work/out"
}

pada init --channels 4 --cells 1 --seed 7 --out "$w" --json
expect_rc 0
init_hash=$(field weights_hash)

# ---- results ----

eval_small --weights "$w" --arch "$arch"
expect_rc 0
expect_no_err
expect_out_has "$arch"
expect_out_has '  images 20 test  top-1 '
eval_small --weights "$w" --arch "$arch" --json
expect_rc 0
expect_out_has "{\"arch\": \"$arch\", \"split\": \"test\", \"images\": 20, \"top1\": "
for key in top5 loss seconds; do expect_out_has "\"$key\": "; done
expect_out_has "\"weights_hash\": \"$init_hash\""
loss=$(field loss)

# Class by class: the report agrees with the result.
eval_small --weights "$w" --arch "$arch" --per-class
expect_rc 0
expect_no_err
expect_out_has '  images 20 test  top-1 '
checks=$((checks + 1))
[ "$(grep -c '^  recall .*  precision .*  class ' "$work/out")" -eq 10 ] || complain 'not ten classes'
eval_small --weights "$w" --arch "$arch" --per-class --json
expect_rc 0
checks=$((checks + 1))
python3 -c 'import json, sys; d = json.load(sys.stdin); r = d["report"]; c = r["classes"]
ok = r["top1"]["percent"] == d["top1"] and r["top5"]["percent"] == d["top5"] and r["images"] == 20
ok = ok and sum(k["images"] for k in c) == 20 == sum(k["given"] for k in c) and len(c) == 10
sys.exit(not ok)' <"$work/out" || complain 'the report says something else'

# Fresh weights of the same seed are those of the file; other seeds are others.
eval_small --seed 7 "$arch" --json
expect_out_has "\"weights_hash\": \"$init_hash\""
checks=$((checks + 1))
[ "$(field loss)" = "$loss" ] || complain "loss $(field loss), not $loss"
eval_small --seed 8 "$arch" --json
checks=$((checks + 1))
[ "$(field loss)" != "$loss" ] || complain 'another seed, the same loss'

# --arch and words, one result each, in this order.
eval_small --weights "$w" --arch-dialect list --arch $list $dead $list --json
expect_rc 0
checks=$((checks + 1))
[ "$(cut -d'"' -f4 "$work/out" | cut -c1-7 | tr '\n' ' ')" = '|nor_co |none~0 |nor_co ' ] || complain 'wrong order'

# The same logits twice; also with more threads. The reference agrees about the counts.
eval_small --weights "$w" "$arch" --logits "$out/a.npy" --threads 1
expect_rc 0
eval_small --weights "$w" "$arch" --logits "$out/b.npy" --threads 2
expect_rc 0
checks=$((checks + 1))
cmp -s "$out/a.npy" "$out/b.npy" || complain 'the logits differ'
[ "$(wc -c <"$out/a.npy")" -eq $((128 + 20 * 10 * 4)) ] || complain 'not 20 x 10 floats'
eval_small --weights "$w" "$arch" --json --backend cpu
counts="$(field top1) $(field top5)"
eval_small --weights "$w" "$arch" --json --backend ref
checks=$((checks + 1))
[ "$(field top1) $(field top5)" = "$counts" ] || complain "cpu: $counts, ref: $(field top1) $(field top5)"

# A dead cell: the same ten numbers for every image, and not those of a live one.
eval_small --weights "$w" --arch-dialect list $dead --logits "$out/dead.npy"
expect_rc 0
rows() { # different rows of 40 bytes in a file
    tail -c 800 "$1" | od -An -v -t x1 -w40 | sort -u | wc -l
}
checks=$((checks + 2))
[ "$(rows "$out/dead.npy")" -eq 1 ] || complain 'rows of the dead cell differ'
[ "$(rows "$out/a.npy")" -eq 20 ] || complain 'rows of the live cell are alike'

# The split and the batch size matter, the limit cuts.
eval_small --weights "$w" "$arch" --split train --json
checks=$((checks + 1))
[ "$(field loss)" != "$loss" ] || complain 'the train images have the same loss'
eval_small --weights "$w" "$arch" --batch-size 20 --json
checks=$((checks + 1))
[ "$(field loss)" != "$loss" ] || complain 'the batch size does not matter'
eval_small --weights "$w" "$arch" --limit 1000 --batch-size 500 --json
expect_out_has '"images": 1000'
rm "$out"/*

# ---- wrong calls ----

eval_small --weights "$w" --logits "$out/l.npy"
refused 2 'no architecture given'
eval_small --weights "$w" '|nor_conv_3x33~0|' --logits "$out/l.npy"
refused 2 "unknown operator 'nor_conv_3x33'"
eval_small --weights "$w" "$arch" "$arch|" --json
refused 2 'expected the end'
eval_small --weights "$w" $list
refused 2 'list or naslib'
eval_small --weights "$w" "$arch" --arch-dialect lsit
refused 2 'lsit'
eval_small --weights "$w" "$arch" "$arch" --logits "$out/l.npy"
refused 2 "--logits $out/l.npy takes one architecture, not 2"
eval_small --weights "$w" "$arch" --seed 7
refused 2 "--seed is for fresh weights, not for those of $w"
eval_small --weights "$w" "$arch" --batch-size 0
refused 2 'batch-size'
eval_small --weights "$w" "$arch" --limit 0
refused 2 'limit'
eval_small --weights "$w" "$arch" --limit 1001 --logits "$out/l.npy"
refused 2 'limit 1001 is not in 1 to 1000, the test images of builtin'
eval_small --weights "$w" "$arch" --limit 2001 --split train
refused 2 'limit 2001 is not in 1 to 2000, the train images of builtin'
eval_small --weights "$w" "$arch" --split valid
refused 2 'valid'
eval_small --weights "$w" "$arch" --backend cudda
refused 69 "this build has no backend 'cudda'"
eval_small --weights "$w" "$arch" --classes 100
refused 2 '--classes 100 does not fit the data set builtin, which has 10'
eval_small --weights "$w" "$arch" --image-size 32
refused 2 'image size 32 does not fit the data set builtin, which has 16'

# ---- bad weights ----

eval_small --weights "$work/none.safetensors" "$arch" --logits "$out/l.npy"
refused 66 "$work/none.safetensors: No such file or directory"
eval_small --weights "$w" "$arch" --channels 8 --logits "$out/l.npy"
refused 65 "$w: stem.0.weight has shape 4x3x3x3, not 8x3x3x3"

bytes=$(wc -c <"$w")
for n in 0 1 7 8 9 100 5000 $((bytes - 4)) $((bytes - 1)); do
    head -c "$n" "$w" >"$work/bad.safetensors"
    eval_small --weights "$work/bad.safetensors" "$arch" --logits "$out/l.npy"
    refused 65 "$work/bad.safetensors: "
done

# Replaces one text of the header by another of the same length.
edit_header() {
    LC_ALL=C sed "1s/$1/$2/" "$w" >"$work/bad.safetensors"
    cmp -s "$w" "$work/bad.safetensors" && complain "the header has no '$1'"
    [ "$(wc -c <"$work/bad.safetensors")" -eq "$bytes" ] || complain "'$2' has another length"
    eval_small --weights "$work/bad.safetensors" "$arch" --logits "$out/l.npy"
}
edit_header '"classifier.weight":{"dtype":"F32","shape":\[10,16\]' '"classifier.weight":{"dtype":"F32","shape":[16,10]'
refused 65 'bad.safetensors: classifier.weight has shape 16x10, not 10x16'
edit_header '"classifier.bias":{"dtype":"F32","shape":\[10\]' '"classifier.bias":{"dtype":"I32","shape":[10]'
refused 65 'bad.safetensors: classifier.bias has type I32, not F32 or F64'
edit_header '"classifier.bias"' '"classifier.boas"' # one missing, one too many
refused 65 'bad.safetensors: tensor classifier.bias is missing'

# A tensor too many, and a number that is none.
if command -v python3 >/dev/null; then
    python3 - "$w" "$work/extra.safetensors" "$work/nan.safetensors" <<'END'
import json, struct, sys

raw = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", raw[:8])[0]
head, data = json.loads(raw[8:8 + n]), raw[8 + n:]


def write(path, head, data):
    text = json.dumps(head).encode()
    open(path, "wb").write(struct.pack("<Q", len(text)) + text + data)


first = head["classifier.weight"]["data_offsets"][0] + 8
write(sys.argv[3], head, data[:first] + struct.pack("<f", float("nan")) + data[first + 4:])
head["stray.weight"] = {"dtype": "F32", "shape": [1], "data_offsets": [len(data), len(data) + 4]}
write(sys.argv[2], head, data + bytes(4))
END
    eval_small --weights "$work/extra.safetensors" "$arch" --logits "$out/l.npy"
    refused 65 'extra.safetensors: tensor stray.weight is not a parameter of this network'
    eval_small --weights "$work/nan.safetensors" "$arch" --logits "$out/l.npy"
    refused 65 'nan.safetensors: classifier.weight has the value nan at element 2'
else
    echo 'left out: extra tensor and NaN, no python3'
fi

# ---- nowhere to write to ----

eval_small --weights "$w" "$arch" --logits "$work/none/l.npy"
refused 1 "$work/none/l.npy: No such file or directory"
eval_small --weights "$w" "$arch" --logits "$out"
refused 1 "$out: Is a directory"
# Said before the weights are read, not after the work.
eval_small --weights "$work/none.safetensors" "$arch" --logits "$work/none/l.npy"
refused 1 "$work/none/l.npy: No such file or directory"
pada eval "$work/nowhere" 3,3,3,3,3,3 --arch-dialect list
expect_usage_error "$work/nowhere: no run folder, and no architecture: nb201 architecture, character 1: "
finish
