#!/bin/sh
# test_retrain.sh - networks alone: every space by its recipe, what is kept, --from, kills, wrong calls.
. "$PADA_SOURCE/tests/cli/harness.sh"

short='--epochs 2 --batch-size 200 --threads 2 --quiet --no-events'
cell='|nor_conv_3x3~0|+|nor_conv_3x3~0|skip_connect~1|+|skip_connect~0|nor_conv_1x1~1|none~2|'
other='|nor_conv_1x1~0|+|nor_conv_3x3~0|skip_connect~1|+|skip_connect~0|nor_conv_1x1~1|none~2|'
small='--channels 4 --cells 1'
layers='0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5'
cells='|sep_conv_3x3~0|skip_connect~1|+|none~0|dil_conv_3x3~2|+|max_pool_3x3~0|avg_pool_3x3~3|+|dil_conv_5x5~1|sep_conv_5x5~4|'\
'/|skip_connect~0|max_pool_3x3~1|+|avg_pool_3x3~0|skip_connect~2|+|sep_conv_5x5~1|dil_conv_3x3~3|+|none~0|dil_conv_5x5~1|'

# said RUN KEY VALUE: what the configuration of a run has.
said() {
    checks=$((checks + 1))
    grep -qx "$2: $3" "$1/config.yaml" || complain "$1: $2 is $(sed -n "s/^$2: //p" "$1/config.yaml"), not $3"
}

# top1 RUN WHICH: what test.json says.
top1() {
    sed -n "s/.*\"$2\": {\"top1\": \([0-9.]*\),.*/\1/p" "$1/test.json"
}

# matrix_top1 RUN: the same from the diagonal of confusion.csv.
matrix_top1() {
    tail -n +2 "$1/confusion.csv" | awk -F, '{ for (i = 2; i <= NF; i++) n += $i; right += $(NR + 1) } END { print 100 * right / n }'
}

# Every space in small, by its own recipe. What eval says about the run is what the run said.
# shellcheck disable=SC2086 # lists of options
retrain_in() {
    run=$work/$1
    pada retrain --space "$1" --arch "$2" $short $3 --out "$run"
    expect_rc 0
    expect_only_chance
    expect_out_has 'last  top-1 '
    check -f "$run/last.safetensors"
    said "$run" form '"final"'
    was=$(top1 "$run" last)
    pada eval "$run" --json
    expect_rc 0
    expect_out_has "\"top1\": $was,"
    expect_out_has '"statistics": "running"'
}
python3 "$PADA_SOURCE/tests/docs/make_photos.py" "$work/photos" 1 train:20 val:5 test:6
photos="--data $work/photos --image-size 16 --batch-size 16"
retrain_in nb201 "$cell" "$small"
check ! -e "$work/nb201/best.safetensors" # the built-in images have no val
said "$work/nb201" nesterov true
retrain_in macro 01201201 "$photos --channels 4 --features 8"
said "$work/macro" nesterov false
retrain_in proxyless "$layers" "$photos --widths 4,4,4,6,8,8,8,8,16 --accumulate 4"
said "$work/proxyless" lr-schedule '"step"'
said "$work/proxyless" ema 0.9999
check "$(sed -n 2p "$work/proxyless/metrics.csv" | cut -d, -f6)" = 1e-06
check "$(sed -n 3p "$work/proxyless/metrics.csv" | cut -d, -f6)" = 0.053334
retrain_in darts "$cells" "$photos --final-channels 4 --final-cells 3"
said "$work/darts" drop-path 0.2
said "$work/darts" clip 5

# Such a run in other commands.
pada eval "$work/nb201" "$cell"
expect_rc 0
pada eval "$work/nb201" "$other"
expect_usage_error 'of one other network'
pada rank "$work/nb201"
expect_usage_error "one network, nothing to rank; try \`pada eval"
pada search "$work/nb201"
expect_usage_error "one network, nothing to search; try \`pada eval"
pada report "$work/nb201" --out "$work/page.html"
expect_rc 0

# Class by class: one array for all, which eval of the run prints again, and a matrix with the images of every class.
pada eval "$work/nb201" --per-class --json
expect_rc 0
classes=$(sed -n 's/.*"last": {.*"classes": \(\[.*\]\)}}$/\1/p' "$work/nb201/test.json")
check -n "$classes"
expect_out_has "\"classes\": $classes}"
pada eval "$work/nb201" --per-class
expect_out_has ' recall '
check "$(wc -l <"$work/nb201/confusion.csv")" -eq 11
check "$(matrix_top1 "$work/nb201")" = "$(top1 "$work/nb201" last | awk '{ print $1 + 0 }')"

# The same command finds everything done, and another one is refused.
cp "$work/nb201/test.json" "$work/before.json"
# shellcheck disable=SC2086
pada retrain --arch "$cell" $small $short --out "$work/nb201"
expect_rc 0
check "$(cat "$work/nb201/test.json")" = "$(cat "$work/before.json")"
# shellcheck disable=SC2086
pada retrain --arch "$cell" $small $short --lr 0.2 --out "$work/nb201"
expect_usage_error 'lr ( 0.1 there, 0.2 here)'
pada retrain --arch "$cell" --recipe macro --lr 0.2 --seed 3 --out "$work/nb201"
expect_usage_error ' more'
check "$(grep -o ' here' "$work/err" | wc -l)" -le 6

# Killed at any moment: the same bits, also of what is kept.
trainer=retrain
# shellcheck disable=SC2086
set -- --space darts --arch "$cells" $photos --final-channels 2 --final-cells 3 --epochs 6 --accumulate 2 --ema 0.9 \
    --threads 2 --no-events
train_and_kill "$work/killed" --checkpoint-steps 1 "$@"
check "$rc" -eq 0
pada retrain "$@" --out "$work/whole" --quiet
expect_rc 0
expect_out_has ' of val)'
expect_same "$work/killed" "$work/whole"
for file in last.safetensors best.safetensors test.json confusion.csv; do
    cmp -s "$work/killed/$file" "$work/whole/$file" || complain "$file differs"
done
pada retrain "$@" --threads 1 --out "$work/one" --quiet
cmp -s "$work/one/last.safetensors" "$work/whole/last.safetensors" || complain 'one thread has other bits'

# With val, the best is kept without asking, and --keep-best none keeps none. By test, it is said to be optimistic.
set -- --arch "$cell" --channels 4 --cells 1 --epochs 3 --validate-every 2 --threads 2 --quiet --no-events
# shellcheck disable=SC2086
pada retrain "$@" $photos --out "$work/val"
expect_rc 0
expect_out_has 'best  top-1 '
expect_out_has ' of val)'
check -f "$work/val/best.safetensors"
val=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "val_top1") k = i } NR > 1 { print $k ";" }' "$work/val/metrics.csv" | cut -d';' -f1 | tr '\n' ' ')
check "$(printf '%s' "$val" | cut -d' ' -f1)" = ''
check "$(printf '%s' "$val" | wc -w)" -eq 2
# shellcheck disable=SC2086
pada retrain "$@" $photos --keep-best none --out "$work/none"
check ! -e "$work/none/best.safetensors"
pada retrain "$@" --batch-size 250 --epochs 7 --validate-every 1 --lr 1 --lr-schedule constant --keep-best test --out "$work/test"
expect_out_has ' of test: optimistic)'
check -f "$work/test/best.safetensors"
check "$(top1 "$work/test" best)" != "$(top1 "$work/test" last)" # so that one sees whose matrix it is
check "$(matrix_top1 "$work/test")" = "$(top1 "$work/test" best | awk '{ print $1 + 0 }')"

# From a supernet: its space, sizes and best network; a search comes before a ranking.
pada train --channels 4 --cells 2 --epochs 1 --batch-size 500 --validate 0 --quiet --no-events --out "$work/super"
# shellcheck disable=SC2086
pada retrain --from "$work/super" $short --out "$work/unknown"
refused 66 'no best network is known, neither search/best.csv nor ranking.csv is there; try `pada search '
check ! -e "$work/unknown"
printf 'arch,score\n%s,30\n%s,40\n' "$other" "$cell" >"$work/super/ranking.csv"
# shellcheck disable=SC2086
pada retrain --from "$work/super" $short --out "$work/ranked"
expect_rc 0
said "$work/ranked" arch "\"$cell\""
said "$work/ranked" cells 2
mkdir "$work/super/search"
printf 'rank,arch,top1,loss,macs,params,latency\n1,%s,55,1,1,1,\n2,%s,50,1,1,1,\n' "$other" "$cell" >"$work/super/search/best.csv"
# shellcheck disable=SC2086
pada retrain --from "$work/super" --channels 2 $short --out "$work/found"
expect_rc 0
said "$work/found" arch "\"$other\""
said "$work/found" channels 2
printf 'arch,top1\nnonsense,55\n' >"$work/super/search/best.csv"
# shellcheck disable=SC2086
pada retrain --from "$work/super" $short --out "$work/bad"
refused 65 'best.csv'
check ! -e "$work/bad"

# Recipes.
printf 'epochs: 2\nbatch-size: 500\nlr: 0.25\n' >"$work/mine.yaml"
# shellcheck disable=SC2086
pada retrain --arch "$cell" $small --recipe "$work/mine.yaml" --batch-size 250 --quiet --no-events --out "$work/mine"
expect_rc 0
said "$work/mine" lr 0.25
said "$work/mine" batch-size 250
printf 'recipe: %s\narch: "%s"\nchannels: 4\ncells: 1\nquiet: true\nepochs: 1\n' "$work/mine.yaml" "$cell" >"$work/config.yaml"
pada retrain --config "$work/config.yaml" --no-events --out "$work/configured"
expect_rc 0
said "$work/configured" lr 0.25
said "$work/configured" epochs 1
pada retrain --recipe darts --help
expect_out_has '(default 600)'
pada retrain --arch "$cell" --recipe mobil --out "$work/x"
refused 66 '--recipe mobil: no such file, and not nb201, macro, darts or mobile'
printf 'epochs: many\n' >"$work/bad.yaml"
pada retrain --arch "$cell" --recipe "$work/bad.yaml" --out "$work/x"
expect_usage_error "bad.yaml:1: epochs: 'many' is not"
printf 'epoch: [1\n' >"$work/bad.yaml"
pada retrain --arch "$cell" --recipe "$work/bad.yaml" --out "$work/x"
refused 65 'bad.yaml'

# Wrong calls leave no folder behind, neither here nor in training a supernet.
pada retrain --out "$work/x"
expect_usage_error 'which network? give --arch ARCH or --from RUN'
pada retrain --arch "$cell"
expect_usage_error 'no run folder: give --out RUN'
pada retrain --arch nonsense --out "$work/x"
expect_usage_error "found 'nonsense'"
pada retrain --arch "$cell" --from "$work/not-there" --out "$work/x"
expect_rc 66
pada retrain --arch "$cell" --drop-path 0.2 --out "$work/x"
expect_usage_error '--drop-path: the network of space nb201 has nothing to drop there'
pada retrain --arch "$cell" --dropout 0.2 --out "$work/x"
expect_usage_error '--dropout: the network'
for command in "retrain --arch $cell" train 'truth --networks 1'; do
    # shellcheck disable=SC2086
    pada $command --accumulate 100 --out "$work/x"
    expect_usage_error '--accumulate 100: steps of so many batches'
    # shellcheck disable=SC2086
    pada $command --color-jitter 0.4 --out "$work/x"
    expect_rc 2
done
check ! -e "$work/x"
finish
