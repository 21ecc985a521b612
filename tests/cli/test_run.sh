#!/bin/sh
# test_run.sh - a run folder explains itself: its images, its starts, where it may be; what is no run folder.
. "$PADA_SOURCE/tests/cli/harness.sh"

small="--method spos --channels 4 --cells 1 --batch-size 24 --image-size 16 --validate 10 --threads 1 --quiet"
arch='|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|avg_pool_3x3~0|nor_conv_3x3~1|skip_connect~2|'
photos=$work/photos
run=$work/run
cd "$work" || exit 1
python3 "$PADA_SOURCE/tests/docs/make_photos.py" flat || exit 77
for class in ant bee cat; do
    mkdir -p photos/train/$class photos/val/$class photos/test/$class
    n=0
    for image in flat/$class/*.png; do
        n=$((n + 1))
        case $((n % 5)) in
        0) mv "$image" photos/test/$class ;;
        1) mv "$image" photos/val/$class ;;
        *) mv "$image" photos/train/$class ;;
        esac
    done
done
some=$(ls photos/train/ant/*.png | head -n 1 | sed 's/^photos//')

# json FILE EXPRESSION: a value of a JSON file
json() {
    python3 -c 'import json, sys
f = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$1" "$2"
}

# What an evaluation printed, without its time.
result() {
    sed 's/ *seconds.*//' "$work/out"
}

# ---- the card
pada train $small --data photos --epochs 1 --out "$run"
expect_rc 0
check "$(json "$run/data.json" "f['classes']")" = "['ant', 'bee', 'cat']"
check "$(json "$run/data.json" "f['format'], f['n_classes'], f['image_size']")" = "(1, 3, 16)"
check "$(json "$run/data.json" "f['where']")" = "$(realpath "$photos")"
check "$(json "$run/data.json" "len(f['splits']['train']['hash'])")" = 16
pada eval "$run" "$arch"
expect_rc 0
expect_no_err
result >"$work/expected_result"

# ---- the same images under another path, from another folder, are the same data
pada train $small --data "$photos/" --epochs 1 --out "$run"
expect_rc 0
expect_no_err
mv "$photos" "$work/moved"
mkdir "$work/elsewhere"
mv "$run" "$work/elsewhere/run"
run=$work/elsewhere/run
pada eval "$run" "$arch"
refused 66 "$(realpath "$work")/photos: not there; give --data, the folder of the images of $run"
(cd elsewhere && "$PADA_BINARY" eval run "$arch" --data ../moved >"$work/out" 2>"$work/err")
rc=$?
command_line="pada eval, from another folder"
expect_rc 0
expect_no_err
check "$(result)" = "$(cat "$work/expected_result")"
pada rank "$run" --networks 2 --data "$work/moved" --quiet
expect_rc 0
pada train $small --data moved --epochs 1 --out "$run" # says where the images are now
expect_rc 0
pada eval "$run" "$arch"
expect_rc 0
check "$(result)" = "$(cat "$work/expected_result")"
pada train $small --data moved --epochs 2 --out "$run"
expect_usage_error "this run has another configuration: epochs ( 1 there, 2 here)"

# ---- other classes
weights=$(ls "$run"/ckpt/*.safetensors | tail -n 1)
cp -r moved renamed
for split in train val test; do mv renamed/$split/ant renamed/$split/zebra; done
pada eval "$run" "$arch" --data renamed
refused 65 "renamed: class 0 is 'bee', but $run was trained on ant, bee, cat"
pada eval --weights "$weights" --channels 4 --cells 1 "$arch" --data renamed
refused 65 "renamed: class 0 is 'bee', but $weights was trained on ant, bee, cat"
pada rank "$run" --networks 2 --data renamed
refused 65 "renamed: class 0 is 'bee', but $run was trained on"
pada eval "$run" "$arch" --data builtin --image-size 16
refused 65 "builtin: the classes are the 10 of builtin, but $run was trained on ant, bee, cat"
pada train $small --data renamed --epochs 1 --out "$run"
refused 65 "renamed: class 0 is 'bee', but $run was trained on ant, bee, cat"

# ---- changed images: no training goes on, an evaluation says so; other images have the numbers of the run
cp -r moved changed
for image in changed/*/ant/*.png; do cp "moved$some" "$image"; done
pada train $small --data changed --epochs 1 --out "$run"
refused 65 "changed: not the images of $run: those of "
for class in ant bee cat; do
    mkdir -p dark/train/$class dark/test/$class
    cp moved/train/ant/*.png dark/train/$class
    cp moved/test/ant/*.png dark/test/$class
done
pada eval --weights "$weights" --channels 4 --cells 1 "$arch" --data dark --json
expect_rc 0
loss=$(json "$work/out" "f['loss']")
pada eval "$run" "$arch" --data dark --json
expect_rc 0
expect_no_err
check "$(json "$work/out" "f['loss']")" = "$loss"
# Without the numbers of the run they are normalised by their own, which is something else.
python3 - "$weights" "$work/bare.safetensors" <<'END'
import json, struct, sys
with open(sys.argv[1], "rb") as file:
    n, = struct.unpack("<Q", file.read(8))
    header, rest = json.loads(file.read(n)), file.read()
assert json.loads(header["__metadata__"]["data"])["classes"] == ["ant", "bee", "cat"]
del header["__metadata__"]["data"]
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[2], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + rest)
END
pada eval --weights "$work/bare.safetensors" --channels 4 --cells 1 "$arch" --data dark --image-size 16 --json
expect_rc 0
check "$(json "$work/out" "f['loss']")" != "$loss"
mv moved kept && mv changed moved
pada eval "$run" "$arch" --split val
expect_rc 0
expect_err "the val images have changed since $run was trained"
mv moved changed && mv kept moved

# ---- damaged weights are not loaded, wherever the damage is
cp "$weights" damaged.safetensors
printf 'x' | dd of=damaged.safetensors bs=1 seek=$(($(wc -c <damaged.safetensors) - 9)) conv=notrunc 2>/dev/null
pada eval --weights damaged.safetensors --channels 4 --cells 1 "$arch" --data moved
refused 65 'damaged.safetensors: damaged: its contents have the hash'

# ---- the starts: each is kept; another backend is refused; so is what a newer pada wrote
check "$(json "$run/env.json" "f['format'], len(f['starts']), {s['backend'] for s in f['starts']}")" = "(1, 3, {'cpu'})"
pada train $small --data moved --epochs 1 --out "$run" --backend ref
expect_usage_error "$run: this run was computed by the backend cpu and cannot resume with ref"
check "$(json "$run/env.json" "len(f['starts'])")" = 3
pada train $small --data moved --epochs 1 --out "$run" --backend cpu-plain # another instruction set of it
expect_rc 0
check "$(json "$run/env.json" "f['starts'][-1]['backend'], f['starts'][-1]['device']")" = "('cpu-plain', 'plain, 1 thread')"
cp -r "$run" newer
sed -i 's/"format": 1/"format": 2/' newer/env.json
pada train $small --data moved --epochs 1 --out newer
refused 65 'newer/env.json: format 2 is of a newer pada; this one knows 1'
cp -r "$run" newer2
sed -i 's/"format": 1/"format": 2/' newer2/data.json
for command in "train $small --data moved --epochs 1 --out" 'rank --networks 2' "eval $arch --data moved"; do
    case $command in
    eval*) pada eval newer2 "$arch" ;;
    *) pada $command newer2 ;;
    esac
    refused 65 'newer2/data.json: format 2 is of a newer pada; this one knows 1'
done

# ---- what a killed start left is removed; what belongs to a process that lives is not
sleep 100 &
alive=$!
touch "$run/ckpt/00000009.safetensors.tmp.999999999" "$run/data.json.tmp.999999999" "$run/notes.tmp.txt" \
    "$run/ckpt/00000009.safetensors.tmp.$alive"
pada train $small --data moved --epochs 1 --out "$run"
expect_rc 0
check ! -e "$run/ckpt/00000009.safetensors.tmp.999999999"
check ! -e "$run/data.json.tmp.999999999"
check -e "$run/notes.tmp.txt"
check -e "$run/ckpt/00000009.safetensors.tmp.$alive"
kill $alive

# ---- a folder that is something else
mkdir foreign
echo 'dear diary' >foreign/diary.txt
pada train $small --data moved --epochs 1 --out foreign
expect_usage_error "foreign: no run folder, and not empty: it has 'diary.txt'"
check "$(ls -A foreign)" = diary.txt
pada truth --data moved --networks 2 --epochs 1 --out foreign
expect_usage_error "foreign: no run folder, and not empty: it has 'diary.txt'"
check "$(ls -A foreign)" = diary.txt
mkdir hidden
touch hidden/.keep hidden/config.yaml.tmp.999999999
pada train $small --data moved --epochs 1 --out hidden
expect_rc 0
check ! -e hidden/config.yaml.tmp.999999999

# ---- no room for the checkpoints: said before the first epoch, and nothing of a checkpoint is left
(trap '' XFSZ && ulimit -f 64 && exec "$PADA_BINARY" train $small --data moved --epochs 1 --out full) >"$work/out" 2>"$work/err"
rc=$?
command_line='pada train, with files of 32 KB at most'
refused 1 'full/ckpt: no room for '
check ! -e full/metrics.csv
check -z "$(ls -A full/ckpt)"
finish
