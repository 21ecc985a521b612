#!/bin/sh
# test_statistics.sh - what batch norms are normalised by: running statistics of a network that was trained alone, those
# of the batch or of training images for networks of a supernet.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

cell='|nor_conv_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|skip_connect~0|avg_pool_3x3~1|nor_conv_3x3~2|'
sizes='--channels 4 --cells 1 --epochs 2 --batch-size 64 --quiet'

# shellcheck disable=SC2086 # a list of options
pada train --method single --arch "$cell" $sizes --out "$work/alone"
expect_rc 0

# The same scores, to the bit, for every batch size.
for batch in 1 7 64 512; do
    pada eval "$work/alone" --arch "$cell" --limit 100 --batch-size $batch --logits "$work/$batch.npy" --json
    expect_rc 0
    expect_out_has '"statistics": "running"'
    cmp "$work/1.npy" "$work/$batch.npy" || complain "batches of $batch are another answer"
done
pada eval "$work/alone" --arch "$cell" --limit 100 --batch-size 7 --statistics batch --logits "$work/batch.npy" --json
expect_out_has '"statistics": "batch"'
! cmp -s "$work/1.npy" "$work/batch.npy" || complain 'statistics of the batch are running ones'
pada rank "$work/alone" --networks 2 --limit 50
expect_out_has '50 test images, running statistics'
grep -q ',running$' "$work/alone/ranking.csv" || complain 'the ranking does not say what it is'
grep -q 'running statistics, hash' "$work"/alone/scores/*.csv || complain 'scores do not say what they are'

# A supernet has none; they are collected when one asks for it, and its scores are not mixed.
# shellcheck disable=SC2086
pada train --method spos $sizes --out "$work/supernet"
expect_rc 0
pada eval "$work/supernet" --arch "$cell" --limit 50 --json
expect_out_has '"statistics": "batch"'
pada eval "$work/supernet" --arch "$cell" --limit 50 --statistics running
expect_rc 2
grep -q 'no running statistics; they are kept by --method single' "$work/err" || complain 'no reason'
for statistics in batch recalibrated; do
    pada rank "$work/supernet" --networks 3 --limit 50 --statistics $statistics --statistics-images 100 --json
    expect_rc 0
    expect_out_has "\"statistics\": \"$statistics\""
done
check "$(find "$work/supernet/scores" -name '*.csv' | wc -l)" -eq 2
grep -q 'statistics of 100 train images, hash' "$work"/supernet/scores/*.csv || complain 'scores do not say of what images'
pada rank "$work/supernet" --networks 3 --limit 50 --statistics recalibrated --statistics-images 100
grep -q 'all 3 evaluations are there already' "$work/err" || complain 'evaluated again'

finish
