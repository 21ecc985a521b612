#!/bin/sh
# test_photos.sh - `pada` on photographs that are decoded for every batch: --crops resized.
# shellcheck source=tests/cli/harness.sh
. "$PADA_SOURCE/tests/cli/harness.sh"

if ! command -v python3 >/dev/null; then
    echo 'left out: photographs, no python3'
    exit 77
fi
photos="$work/photos"
python3 "$PADA_SOURCE/tests/cli/make_photos.py" "$photos" a b

sizes='--channels 4 --cells 1 --image-size 16 --crops resized'
train="--data $photos $sizes --batch-size 8 --epochs 3 --seed 5 --validate 4 --color-jitter 0.1,0,0.4"

# ---- the importance of images (pada) on photographs: any number of threads, killed or not, the same bits
for threads in 1 5; do
    # shellcheck disable=SC2086 # the list is split into words on purpose
    pada train --method pada $train --threads $threads --out "$work/t$threads" --quiet
    expect_rc 0
done
expect_same "$work/t1" "$work/t5"
# shellcheck disable=SC2086
train_and_kill "$work/killed" --method pada $train --checkpoint-steps 1
expect_rc 0
expect_same "$work/t1" "$work/killed"
# shellcheck disable=SC2086
pada train --method spos $train --color-jitter 0 --out "$work/plain" --quiet
expect_rc 0
checks=$((checks + 1))
grep -q 'crops.*resized' "$work/plain/config.yaml" || complain 'the configuration lacks the crops'

# ---- AutoAugment, holes and noise: the same
changed="--data $photos $sizes --batch-size 8 --epochs 2 --auto-augment v0 --cutout 4 --random-erasing 0.5 --validate 0"
for threads in 1 5; do
    # shellcheck disable=SC2086
    pada train --method spos $changed --threads $threads --out "$work/c$threads" --quiet
    expect_rc 0
done
expect_same "$work/c1" "$work/c5"

# ---- evaluation takes the crops of the run; recalibration keeps the train images it needs
pada rank "$work/t1" --networks 3 --statistics recalibrated --statistics-images 9 --json
expect_rc 0
expect_no_err
pada eval "$work/t1" --split val --arch '|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|'
expect_rc 0
expect_no_err

# ---- a file that goes while a training runs: its name, 66, and the checkpoints stay; with it the run goes on
long="--method spos $train --epochs 60 --checkpoint-steps 1"
# shellcheck disable=SC2086
pada train $long --out "$work/long" --quiet
expect_rc 0
gone=$photos/train/a/00.png
# shellcheck disable=SC2086
"$PADA_BINARY" train $long --out "$work/gone" --quiet >"$work/out" 2>"$work/err" &
child=$!
while [ ! -e "$work/gone/metrics.csv" ] && kill -0 $child 2>/dev/null; do sleep 0.01; done
mv "$gone" "$work/kept.png"
wait $child
rc=$?
command_line="pada train $long, without $gone"
expect_rc 66
expect_err "$gone: No such file or directory"
check -n "$(ls "$work/gone/ckpt/")"
mv "$work/kept.png" "$gone"
# shellcheck disable=SC2086
pada train $long --out "$work/gone" --quiet
expect_rc 0
expect_same "$work/long" "$work/gone"

# ---- one that is broken: found by the batch that needs it
cp "$gone" "$work/kept.png"
head -c 90 "$work/kept.png" >"$gone"
# shellcheck disable=SC2086
pada train --method spos $train --out "$work/broken" --quiet
refused 65 "$gone: broken PNG: "
pada data verify "$photos" --image-size 16 --crops resized
expect_rc 65
expect_out_has "problem: $gone: broken PNG: "
mv "$work/kept.png" "$gone"

# ---- what cannot be
# shellcheck disable=SC2086
pada train --data builtin --crops resized --out "$work/x"
expect_usage_error 'builtin: resized crops need photographs'
# shellcheck disable=SC2086
pada train --data "$photos" --channels 4 --cells 1 --image-size 16 --color-jitter 0.4 --out "$work/x" --batch-size 8
expect_usage_error 'the colours of image folder cannot be changed'
# shellcheck disable=SC2086
pada train $train --color-jitter 0.4,0.4 --out "$work/x"
expect_usage_error "--color-jitter: '0.4,0.4' is neither one number nor three"
# shellcheck disable=SC2086
pada train $train --auto-augment v0 --out "$work/x"
expect_usage_error 'AutoAugment and colour jitter exclude each other'
# shellcheck disable=SC2086
pada train $train --flip-order flip --out "$work/x"
expect_usage_error 'photographs are flipped after they are cut'

# ---- what the data are, and how fast
pada data info "$photos" --image-size 16 --crops resized
expect_rc 0
expect_out_has '32 train, 8 val'
pada data verify "$photos" --image-size 16 --crops resized
expect_rc 0
# shellcheck disable=SC2086
pada bench data --data "$photos" $sizes --images 20 --threads 2 --json
expect_rc 0
for stage in read whole part colours fed; do
    expect_out_has "\"stage\": \"$stage\""
done
expect_out_has '"processor_seconds": '
# shellcheck disable=SC2086
pada bench data --data "$photos" $sizes --images 20 --auto-augment original --random-erasing 1 --json
expect_rc 0
pada bench data --images 100
expect_rc 0
expect_out_has 'images/s'
finish
