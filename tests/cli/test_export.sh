#!/bin/sh
# test_export.sh - `pada export` and `pada predict`: networks of runs as models, which see in pictures what evaluation sees.
# shellcheck source=tests/cli/harness.sh
. "$PADA_SOURCE/tests/cli/harness.sh"

if ! command -v python3 >/dev/null; then
    echo 'left out: pictures, no python3'
    exit 77
fi
photos="$work/photos"
python3 "$PADA_SOURCE/tests/cli/make_photos.py" "$photos" a 'b, c'

cell='|nor_conv_3x3~0|+|none~0|skip_connect~1|+|skip_connect~0|avg_pool_3x3~1|nor_conv_1x1~2|'
for method in single spos; do
    network="--arch $cell"
    [ $method = single ] || network=
    # shellcheck disable=SC2086 # a list of options
    pada train --method $method $network --data "$photos" --channels 4 --cells 1 --image-size 16 --epochs 2 \
        --batch-size 8 --quiet --out "$work/$method"
    expect_rc 0
done

# Models of a network that was trained alone, and of one inside a supernet.
pada export "$work/single" --to safetensors --out "$work/single.safetensors"
expect_rc 0
expect_out ''
expect_no_err
pada export "$work/spos" --arch "$cell" --statistics-images 32 --to safetensors --out "$work/spos.safetensors"
expect_rc 0

# What predict sees is what eval sees: the probabilities of the second class, whatever the order of the pictures.
pada eval "$work/single" --arch "$cell" --split val --logits "$work/logits.npy"
expect_rc 0
for model in single single.safetensors; do
    pada predict "$work/$model" "$photos/val" --csv --top 2
    expect_rc 0
    python3 - "$work/logits.npy" "$work/out" <<'END' || complain 'eval sees something else'
import csv, math, struct, sys

data = open(sys.argv[1], "rb").read()
logits = struct.unpack("<16f", data[-64:])
want = sorted(1 / (1 + math.exp(logits[2 * i] - logits[2 * i + 1])) for i in range(8))
rows = list(csv.DictReader(open(sys.argv[2])))
have = sorted(float(row["p"]) for row in rows if row["class"] == "b, c")
assert len(rows) == 16 and max(have) - min(have) > 1e-3
assert all(abs(a - b) < 1e-5 for a, b in zip(want, have)), (want, have)
END
done
pada predict "$work/spos.safetensors" "$photos/val" --json --top 2
expect_rc 0
check "$(wc -l <"$work/out")" -eq 8
expect_out_has '"top": [{"class": "'
cp "$work/out" "$work/once"
pada predict "$work/spos.safetensors" "$photos/val" --json --top 2 --batch-size 3 --threads 1
cmp "$work/once" "$work/out" || complain 'batches are another answer'
find "$photos/val" -name '*.png' | sort >"$work/list"
"$PADA_BINARY" predict "$work/spos.safetensors" - --json --top 2 <"$work/list" >"$work/out" 2>"$work/err"
command_line='pada predict -'
check "$(wc -l <"$work/out")" -eq 8

# A broken picture does not stop the others.
head -c 100 "$photos/val/a/04.png" >"$work/broken.png"
pada predict "$work/single" "$work/broken.png" "$photos/val/a/04.png" "$work/missing.png"
expect_rc 65
check "$(wc -l <"$work/out")" -eq 1
check "$(grep -c 'broken.png\|missing.png' "$work/err")" -eq 2
grep -q '2 of 3 pictures could not be read' "$work/err" || complain 'not said how many'

# The C source compiles without warnings and runs.
pada export "$work/single" --to c --out "$work/net.c"
expect_rc 0
cat >"$work/main.c" <<'END'
#include <stdio.h>
int net_predict(const float *input, int n, float *logits);
extern const char *const net_classes[2];
int main(void)
{
    static float images[3 * 16 * 16];
    float logits[2];
    puts(net_classes[1]);
    return net_predict(images, 1, logits) || net_predict(images, -1, logits) != -1;
}
END
if command -v cc >/dev/null; then
    cc -std=c11 -O2 -Wall -Wextra -Wpedantic -Werror -o "$work/main" "$work/main.c" "$work/net.c" -lm
    "$work/main" >"$work/out" || complain 'the exported C does not run'
    expect_out 'b, c'
fi
for to in onnx torch; do
    pada export "$work/spos.safetensors" --to $to --out "$work/net.$to" --name Net
    expect_rc 0
done
grep -q 'class Net(nn.Module)' "$work/net.torch" || complain 'no module'
check -s "$work/net.safetensors"
check -s "$work/net.onnx"

# Wrong calls and wrong files.
pada export "$work/spos" --to onnx --out "$work/x"
expect_usage_error 'say which network'
pada export "$work/single" --arch "$cell" --to onnx --out "$work/x"
expect_usage_error 'no use for --arch'
pada export "$work/single" --to onxx --out "$work/x"
expect_usage_error "unknown format 'onxx'"
pada export "$work/single" --to c --name 1x --out "$work/x"
expect_usage_error 'no identifier'
pada predict "$work/spos" "$photos/val"
expect_usage_error 'a supernet'
pada predict "$work/nowhere" "$photos/val"
refused 66 'no such model'
pada predict "$work/net.c" "$photos/val"
refused 65 'net.c'
# Nothing that is needed is replaced: a model by a network made of it, by its weights, or by those of another network.
cp "$work/spos.safetensors" "$work/kept.safetensors"
cp -r "$work/single" "$work/models"
"$PADA_BINARY" export "$work/single" --to safetensors --out "$work/models/last.safetensors"
ln -s spos.safetensors "$work/link"
for out in spos.safetensors link; do
    pada export "$work/spos.safetensors" --to onnx --out "$work/$out"
    expect_usage_error "--out $work/$out: would replace $work/spos.safetensors, which is needed"
done
pada export "$work/spos.safetensors" --to c --out "$work/y.c" --weights-file "$work/spos.safetensors"
expect_usage_error '--weights-file'
pada export "$work/models" --to onnx --out "$work/models/last.safetensors"
expect_usage_error "models/last.safetensors: would replace"
pada export "$work/models" --to onnx --out "$work/models/config.yaml"
expect_usage_error "models/config.yaml: would replace"
pada export "$work/single" --to torch --out "$work/spos.py"
expect_usage_error 'spos.safetensors: a model, which the weights of the module would replace'
pada export "$work/single" --to torch --out "$work/y.safetensors"
expect_usage_error 'call the module '
cmp -s "$work/spos.safetensors" "$work/kept.safetensors" || complain 'the model was replaced'
pada export "$work/single" --to torch --out "$work/spos.py" --weights-file "$work/y.weights"
expect_rc 0
pada export "$work/single" --to torch --out "$work/spos.py" --weights-file "$work/y.weights" # which are no model
expect_rc 0
rm "$work/y.weights"
for to in onnx safetensors; do
    pada export "$work/single" --to $to --out "$work/y" --weights-file "$work/y.weights"
    expect_usage_error "--weights-file: a file of format $to has its weights inside"
done
pada export "$work/single" --to c --out "$work/y" --weights-file "$work/y"
expect_usage_error "--weights-file $work/y: is the file of the network itself"
pada export "$work/single" --to torch --name class --out "$work/y"
expect_usage_error '--name class means something else'
check "$(find "$work" -name 'y*' | wc -l)" -eq 0
pada export "$work/single" --to torch --out "$work/nn.py"
expect_rc 0
grep -q '^class net_nn(nn.Module)' "$work/nn.py" || complain 'the module hides what it needs'
# What cannot be written leaves the weights of the last time alone.
for to in c torch; do
    echo old >"$work/old.weights"
    for out in /dev/full "$work/none/net"; do
        pada export "$work/single" --to $to --out $out --weights-file "$work/old.weights"
        refused 1 "$out"
        check "$(cat "$work/old.weights")" = old
    done
    pada export "$work/single" --to $to --out "$work/kept.$to" --weights-file "$work/none/weights"
    refused 1 'none/weights'
    check ! -e "$work/kept.$to"
done
for module in nn spos; do python3 -m py_compile "$work/$module.py" || complain "$module.py is no Python"; done
pada eval "$work/single" --arch "$cell" --logits "$work/single/config.yaml"
expect_usage_error 'config.yaml: would replace'

head -c 1000 "$work/spos.safetensors" >"$work/cut.safetensors"
pada export "$work/cut.safetensors" --to onnx --out "$work/x"
refused 65 'cut.safetensors'
pada predict "$work/net.safetensors" "$photos/val"
refused 65 "no model: 'pada_model'"
check ! -e "$work/x"
finish
