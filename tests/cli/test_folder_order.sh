#!/bin/sh
# test_folder_order.sh - results on image folders belong to the images, not to their names or their
# order, and say which split they are of.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

if ! command -v python3 >/dev/null; then
    echo 'skipped: no python3'
    exit 77
fi
make_photos() { python3 "$PADA_SOURCE/tests/docs/make_photos.py" "$@" || exit 1; }
splits='train:20 val:16 test:32'
# shellcheck disable=SC2086 # a list of words
make_photos "$work/sorted" 1 $splits
# shellcheck disable=SC2086
make_photos "$work/shuffled" 2 $splits
cell=4,3,3,3,3,3
n_images() { # n_images FILE: what the last score of a ranking is a share of
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "images") column = i } END { print $column }' "$1"
}

pada train --method single --arch '|avg_pool_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|' \
    --data "$work/sorted" --image-size 8 --channels 4 --cells 1 --epochs 20 --batch-size 20 --lr 0.1 --no-augment --out "$work/run"
expect_rc 0
! grep -q 'set aside' "$work/err" || complain 'images are set aside where all splits are there'

# Equal scores of all networks, at any batch size.
for batch in 16 64; do
    for data in sorted shuffled; do
        pada rank "$work/run" --data "$work/$data" --networks 8 --batch-size $batch --out "$work/$data$batch.csv"
        expect_rc 0
        rm -rf "$work/run/scores" # they would not be computed again
        pada eval "$work/run" --arch-dialect list $cell --data "$work/$data" --batch-size $batch --logits "$work/$data$batch.npy"
        expect_rc 0
        expect_out_has 'images 128 test '
    done
    check "$(n_images "$work/sorted$batch.csv")" -eq 64 # val chooses
    cmp "$work/sorted$batch.csv" "$work/shuffled$batch.csv" || complain 'rankings differ'
    cmp "$work/sorted$batch.npy" "$work/shuffled$batch.npy" || complain 'evaluations differ'
done

# Small batches hold all classes, too, and so do the first images.
top1() { # top1 OPTION...: of the test images, in whole percent
    pada eval "$work/run" --arch-dialect list $cell "$@" --json
    expect_rc 0
    sed 's/.*"top1": \([0-9]*\).*/\1/' "$work/out"
}
for options in '--batch-size 64' '--batch-size 16' '--batch-size 64 --limit 16'; do
    # shellcheck disable=SC2086 # a list of options
    check "$(top1 $options)" -ge 80
done

# Which images: val to choose, test to report, or what one asks for.
for split in train:80 val:64 test:128; do
    pada eval "$work/run" --arch-dialect list $cell --split "${split%:*}" --json
    expect_out_has "\"split\": \"${split%:*}\", \"images\": ${split#*:}, "
done
pada rank "$work/run" --networks 2 --split test --out "$work/test.csv"
check "$(n_images "$work/test.csv")" -eq 128
expect_out_has "$work/test.csv: 2 networks, 2 distinct, 128 test images"
pada eval --arch-dialect list $cell --data builtin --split val
expect_rc 2
expect_err 'builtin: the data set has no val images'

# One split is no data set.
for part in train val test; do
    pada train --data "$work/sorted/$part" --out "$work/never"
    expect_rc 65
    expect_err "$work/sorted/$part: only the $part images of the data set $work/sorted; give that"
done
check ! -e "$work/never"

# What has no folder is taken from the rest, and said.
make_photos "$work/two" 1 train:20 test:4
pada train --method spos --data "$work/two" --image-size 8 --channels 4 --cells 1 --epochs 1 --batch-size 16 --quiet --out "$work/run2"
expect_rc 0
said='pada: no folder val: 16 train images, a fifth of each class, are set aside to choose networks on'
check "$(grep -cx "$said" "$work/err")" -eq 1
check "$(sed -n 2p "$work/run2/metrics.csv" | cut -d, -f5)" -eq 64
pada rank "$work/run2" --networks 2 --quiet
check "$(grep -cx "$said" "$work/err")" -eq 1
check "$(n_images "$work/run2/ranking.csv")" -eq 16
pada eval "$work/run2" --arch-dialect list $cell
expect_no_err
expect_out_has 'images 16 test '

make_photos "$work/flat" 1 .:20
pada data info "$work/flat"
expect_out_has '  images     52 train, 12 val, 16 test, '
# A run among the classes would be one of them the next time; beside the folders of splits it is none.
cell='|nor_conv_3x3~0|+|none~0|skip_connect~1|+|skip_connect~0|avg_pool_3x3~1|nor_conv_1x1~2|'
ln -s flat "$work/link"
cd "$work/flat" || exit 1
for out in "$work/flat/run" "$work/link/new/run" run; do
    for command in auto train "retrain --arch $cell" 'truth --networks 1'; do
        # shellcheck disable=SC2086
        pada $command --data "$work/flat" --out "$out"
        expect_usage_error "among the images of $work/flat, where it would be a class"
    done
done
cd "$work" || exit 1
pada train --data two --out two/train/ant/run
expect_usage_error 'among the images of two'
check "$(find "$work/flat" "$work/two" -name 'run*' | wc -l)" -eq 0
pada train --data two --channels 2 --cells 1 --image-size 8 --epochs 1 --batch-size 8 --validate 0 --quiet --out two/run
expect_rc 0
finish
