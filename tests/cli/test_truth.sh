#!/bin/sh
# test_truth.sh - `pada truth`: small tables, killed and stopped on the way, and everything that must be refused.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

a='|nor_conv_3x3~0|+|none~0|nor_conv_1x1~1|+|none~0|none~1|skip_connect~2|'
b='|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|'
c='|none~0|+|none~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|none~2|' # computes what b does
printf '%s\n%s\n%s\n' "$a" "$b" "$c" >"$work/list"

truth() {
    pada truth --threads 1 --channels 4 --cells 1 --epochs 2 --batch-size 250 --seed 3 "$@"
}
same() {
    checks=$((checks + 1))
    cmp -s "$1" "$2" || complain "$1 and $2 differ"
}
trainings() { # finished ones of a folder
    tail -n +2 "$1/results.csv" | wc -l
}

# ---- a table ----

truth --list "$work/list" --seeds 2 --out "$work/t" --quiet
expect_rc 0
expect_no_err
expect_out_has "$work/t/truth.csv: 3 networks, 2 trainings each"
expect_out_has '  tau-b of the first two seeds '
check "$(head -1 "$work/t/truth.csv")" = 'arch,builtin,builtin_3,builtin_4'
check "$(cut -d, -f1 "$work/t/truth.csv" | tail -n +2 | tr '\n' ' ')" = "$a $b $c "
check "$(sed -n 3p "$work/t/truth.csv" | cut -d, -f2-)" = "$(sed -n 4p "$work/t/truth.csv" | cut -d, -f2-)"
check "$(trainings "$work/t")" -eq 4 # two forms with two seeds
check ! -e "$work/t/training"
awk -F, 'NR > 1 && ($2 - ($3 + $4) / 2) ^ 2 > 1e-8 { exit 1 }' "$work/t/truth.csv" || complain 'not the means'

# `pada train` and `pada eval` say the same.
pada train --method single --arch "$a" --channels 4 --cells 1 --epochs 2 --batch-size 250 --seed 3 --lr 0.1 \
    --weight-decay 0.0005 --clip 0 --nesterov --validate 0 --out "$work/run" --quiet
expect_rc 0
pada eval "$work/run" --arch "$a" --json
expect_rc 0
check "$(sed 's/.*"top1": \([0-9.]*\).*/\1/' "$work/out" | xargs printf '%.4f')" = \
    "$(sed -n 2p "$work/t/truth.csv" | cut -d, -f3 | xargs printf '%.4f')"

# Again: nothing to do, the same table. JSON has the same numbers.
cp "$work/t/truth.csv" "$work/first.csv"
truth --list "$work/list" --seeds 2 --out "$work/t" --json
expect_rc 0
expect_no_err
same "$work/t/truth.csv" "$work/first.csv"
check "$(wc -l <"$work/out")" -eq 3
expect_out_has "{\"arch\": \"$a\", \"top1\": $(sed -n 2p "$work/first.csv" | cut -d, -f2)"
expect_out_has '"seeds": ['

# Random networks: of the seed, without repeats; a longer list begins with the shorter one.
truth --networks 2 --out "$work/n" --epochs 1 --quiet
expect_rc 0
cp "$work/n/truth.csv" "$work/two.csv"
truth --networks 3 --out "$work/n" --epochs 1 --quiet
expect_rc 0
head -3 "$work/n/truth.csv" >"$work/head.csv"
same "$work/head.csv" "$work/two.csv"
check "$(cut -d, -f1 "$work/n/truth.csv" | sort -u | wc -l)" -eq 4

# ---- interrupted ----

# Stopped by the clock, again and again; every call gets on.
calls=0
while :; do
    truth --list "$work/list" --seeds 2 --out "$work/s" --max-seconds 0.000001 --quiet
    calls=$((calls + 1))
    [ "$rc" -eq 75 ] && [ "$calls" -lt 100 ] || break
    expect_err 'resumes'
    expect_out ''
done
expect_rc 0
check "$calls" -gt 4
same "$work/s/truth.csv" "$work/first.csv"

# Killed without warning in the middle of a training, and the last line of results torn.
"$PADA_BINARY" truth --threads 1 --channels 4 --cells 1 --epochs 2 --batch-size 250 --seed 3 --list "$work/list" --seeds 2 \
    --out "$work/k" --checkpoint-seconds 0.001 >/dev/null 2>&1 &
killed=$!
waited=0
until ls "$work"/k/training/*/ckpt/*.safetensors >/dev/null 2>&1 || [ "$waited" -ge 600 ]; do
    sleep 0.05
    waited=$((waited + 1))
done
kill -9 "$killed"
wait "$killed" 2>/dev/null
check ! -e "$work/k/truth.csv"
printf '|nor_conv_3x3~0|+|no' >>"$work/k/results.csv"
truth --list "$work/list" --seeds 2 --out "$work/k" --quiet
expect_rc 0
same "$work/k/truth.csv" "$work/first.csv"
check "$(trainings "$work/k")" -eq 4

# SIGTERM: a checkpoint, exit code 75, and on.
"$PADA_BINARY" truth --threads 1 --channels 4 --cells 1 --epochs 2 --batch-size 100 --seed 3 --list "$work/list" --seeds 2 \
    --out "$work/g" >/dev/null 2>"$work/err" &
asked=$!
waited=0
until [ -e "$work/g/results.csv" ] || [ "$waited" -ge 600 ]; do
    sleep 0.05
    waited=$((waited + 1))
done
kill -TERM "$asked"
wait "$asked"
check $? -eq 75
check ! -e "$work/g/truth.csv"
truth --list "$work/list" --seeds 2 --batch-size 100 --out "$work/g" --quiet
expect_rc 0
check -e "$work/g/truth.csv"

# ---- refused ----

truth --list "$work/list" --seeds 2 --out "$work/t" --epochs 3
refused 2 'this run has another configuration: epochs ( 2 there, 3 here)'
truth --list "$work/list" --seeds 2 --out "$work/t" --channels 8
refused 2 'another configuration: channels'
same "$work/t/truth.csv" "$work/first.csv"
truth --list "$work/list"
refused 2 'no folder for the table: give --out DIR'
truth --out "$work/x"
refused 2 'which networks? give --networks all|N or --list FILE'
truth --list "$work/list" --networks 3 --out "$work/x"
refused 2 '--list and --networks: give one of them'
truth --networks some --out "$work/x"
refused 2 "--networks: 'some' is not all or a number"
truth --networks 0 --out "$work/x"
refused 2 "'0' is not all or a number"
truth --networks 20000 --out "$work/x"
refused 2 'a sample of 20000 networks is not in 1 to 15625'
truth --networks 2 --out "$work/x" extra
refused 2 "unexpected word 'extra'; see \`pada help truth\`"
truth --list "$work/none" --out "$work/x"
refused 66 "$work/none: No such file or directory"
printf '%s\n%s\n' "$a" 'nonsense' >"$work/bad"
truth --list "$work/bad" --out "$work/x"
refused 65 "$work/bad:2: "
truth --networks 2 --seeds 0 --out "$work/x"
refused 2 'seeds'
truth --networks 2 --data "$work/nowhere" --out "$work/x"
refused 66 "$work/nowhere: no such folder"
truth --networks 2 --batch-size 60000 --out "$work/x"
refused 2 '--batch-size 60000 is larger than the 2000 train images of builtin'
truth --networks 2 --backend null --out "$work/x"
refused 2 '--backend: null computes nothing'
truth --networks 2 --out "$work/list"
refused 1 "$work/list: Not a directory"
printf 'arch,score\n' >"$work/n/results.csv"
truth --networks 2 --epochs 1 --out "$work/n"
refused 65 "$work/n/results.csv:1: not results of \`pada truth\`"
rm -rf "$work/x"

# ---- from the weights of a supernet ----

pada train --channels 4 --cells 1 --epochs 1 --batch-size 500 --validate 0 --no-events --quiet --out "$work/net"
expect_rc 0
tuned() { truth --networks 2 --channels 4 --cells 1 --batch-size 500 --lr 0.01 --weights-of "$work/net" "$@"; }
tuned --epochs 1 --out "$work/tuned"
expect_rc 0
cp "$work/tuned/truth.csv" "$work/tuned.csv"
truth --networks 2 --channels 4 --cells 1 --batch-size 500 --lr 0.01 --epochs 1 --out "$work/fresh"
cmp -s "$work/fresh/truth.csv" "$work/tuned.csv" && complain 'the weights are not used'
truth --networks 2 --channels 4 --cells 1 --batch-size 500 --lr 0.01 --epochs 1 --weights-of "$(ls "$work"/net/ckpt/*.safetensors | tail -n 1)" \
    --out "$work/by-file"
same "$work/by-file/truth.csv" "$work/tuned.csv"
rm -r "$work/tuned"
tuned --epochs 1 --out "$work/tuned" --max-seconds 0.0001
expect_rc 75
tuned --epochs 1 --out "$work/tuned"
expect_rc 0
same "$work/tuned/truth.csv" "$work/tuned.csv"
grep -q '^weights-hash: [0-9a-f]\{16\}$' "$work/tuned/config.yaml" || complain 'not said which weights'
pada train --channels 4 --cells 1 --epochs 1 --batch-size 500 --validate 0 --no-events --quiet --seed 1 --out "$work/other"
rm -r "$work/net" && mv "$work/other" "$work/net"
tuned --epochs 1 --out "$work/tuned"
refused 2 'another configuration: weights-hash ('
truth --networks 2 --channels 6 --cells 1 --weights-of "$work/net" --out "$work/x"
refused 65 'stem.0.weight has shape 4x3x3x3, not 6x3x3x3'
tuned --weights-of "$work/nothing" --out "$work/x"
refused 66 "$work/nothing"
check ! -e "$work/x"

# ---- the table in the program ----

pada truth --builtin
expect_rc 0
expect_no_err
same "$work/out" "$PADA_SOURCE/src/study/builtin_truth.csv"
cut -d, -f1,2 "$work/out" | sed '1s/.*/arch,score/' >"$work/perfect.csv"
pada rank --predictions "$work/perfect.csv" --truth builtin --bootstrap 0 --json
expect_rc 0
expect_out_has '"truth_column": "builtin"'
expect_out_has '"tau_b": 1.0'
pada compare "$work/perfect.csv" "$work/perfect.csv" --truth builtin --bootstrap 0
expect_rc 0
expect_out_has 'truth builtin of builtin'
finish
