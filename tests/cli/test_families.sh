#!/bin/sh
# test_families.sh - runs with several supernets: training, interruptions, ranking, what is refused.
. "$PADA_SOURCE/tests/cli/harness.sh"

# A quarter of the images: 500 of 2,000.
small="--channels 4 --cells 1 --epochs 2 --hold-out 0.75 --batch-size 125 --validate 100 --threads 2"
few="--method fewshot --split-edges 0 --child-epochs 1 $small"
gm="--method gm --splits 2 --split-repeats 5 --warmup-epochs 1 --final-epochs 1 $small --batch-size 25"
conv='|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|'
skip='|skip_connect~0|+|skip_connect~0|skip_connect~1|+|skip_connect~0|skip_connect~1|skip_connect~2|'
# The same network, since edge 0 leads nowhere, in other sub-spaces of edge 0.
dead_conv='|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|'
dead_skip='|skip_connect~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|'

# slice_of COMMAND...: runs it, and sets `slice` to a sixth of the seconds that it took
slice_of() {
    begun=$(date +%s.%N)
    "$@"
    slice=$(awk -v a="$begun" -v b="$(date +%s.%N)" 'BEGIN { printf "%.3f", (b - a) / 6 }')
}
# row RUN EPOCH: the row of metrics.csv
row() { grep "^$2," "$1/metrics.csv"; }

# ---- Few-Shot: what a run leaves behind
pada train $few --out "$work/few" --quiet
expect_rc 0
expect_only_chance
check "$(ls "$work/few/supernets" | wc -l)" -eq 6
check "$(wc -l <"$work/few/metrics.csv")" -eq 8
# supernet, steps, passes, images: two epochs of four steps for the first, one for each of five children
check "$(row "$work/few" 1 | cut -d, -f1-5)" = 1,0,8,4,500
check "$(row "$work/few" 2 | cut -d, -f1-5)" = 2,1,12,4,500
check "$(row "$work/few" 6 | cut -d, -f1-5)" = 6,5,28,4,500

# ---- GM: probes have rows without steps: five batches of 25, in each all slots that are whole
pada train $gm --out "$work/gm" --quiet
expect_rc 0
expect_only_chance
check "$(ls "$work/gm/supernets" | wc -l)" -eq 7
check "$(wc -l <"$work/gm/metrics.csv")" -eq 11
check "$(row "$work/gm" 0 | cut -d, -f1-5)" = 0,0,20,20,500
check "$(row "$work/gm" 1 | cut -d, -f1-5)" = 1,0,20,150,3750
check "$(row "$work/gm" 2 | cut -d, -f1-5)" = 2,1,40,20,500
check "$(row "$work/gm" 3 | cut -d, -f1-5)" = 3,1,40,125,3125
check "$(row "$work/gm" 9 | cut -d, -f1-5)" = 9,6,140,20,500

# ---- kill -9 at random moments; another number of threads; signals
train_and_kill "$work/few_killed" $few --checkpoint-steps 1
expect_rc 0
expect_same "$work/few" "$work/few_killed"
train_and_kill "$work/gm_killed" $gm --checkpoint-steps 1
expect_rc 0
expect_same "$work/gm" "$work/gm_killed"
slice_of pada train $gm --threads 1 --out "$work/gm_one"
expect_rc 0
check "$(grep -c '^supernet [1-7]/7  ' "$work/err")" -eq 7
check "$(grep -c '^supernet [2-7]/7  slot [0-5]: ' "$work/err")" -eq 6
check "$(grep -c '^epoch [246]/10  .*  probes  ' "$work/err")" -eq 3
check "$(grep -c '^epoch .*  lr [0-9]' "$work/err")" -eq 7
expect_same "$work/gm" "$work/gm_one"
rc=75
rounds=0
while [ $rc -eq 75 ] && [ $rounds -lt 200 ]; do
    pada train $gm --out "$work/gm_limited" --quiet --max-seconds "$slice"
    rounds=$((rounds + 1))
done
expect_rc 0
expect_same "$work/gm" "$work/gm_limited"

# ---- every network is judged with its own supernet
pada eval "$work/few" "$conv" "$skip" --limit 100 --json
expect_rc 0
expect_out_has "\"weights_hash\": \"$(row "$work/few" 5 | awk -F, '{ print $(NF - 1) }')\"" # child nor_conv_3x3
expect_out_has "\"weights_hash\": \"$(row "$work/few" 3 | awk -F, '{ print $(NF - 1) }')\"" # child skip_connect
printf '%s\n' "$conv" "$skip" "$dead_conv" "$dead_skip" >"$work/list"
for run in few gm; do
    pada rank "$work/$run" --list "$work/list" --limit 100
    expect_rc 0
    for arch in "$conv" "$skip" "$dead_conv" "$dead_skip"; do
        pada eval "$work/$run" "$arch" --limit 100 --json
        loss=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' "$work/out" | cut -c1-12)
        check "$(column "$work/$run/ranking.csv" "$arch" loss | cut -c1-12)" = "$loss"
    done
done
check "$(column "$work/few/ranking.csv" "$dead_conv" loss)" != "$(column "$work/few/ranking.csv" "$dead_skip" loss)"
check "$(head -1 "$work/few/ranking.csv" | cut -d, -f12-)" = same_as,supernet
check "$(column "$work/few/ranking.csv" "$conv" supernet)" = 4
check "$(column "$work/few/ranking.csv" "$skip" supernet)" = 2
# With the truth, how well each supernet ranks.
pada rank "$work/few" --networks truth --limit 50 --truth builtin --out "$work/judged.csv"
expect_rc 0
"$PADA_BINARY" truth --builtin | cut -d, -f1 >"$work/known" # canonical forms come to these
for number in 1 2 3 4 5; do
    networks=$(awk -F, -v s=$number 'NR == FNR { known[$1] = 1 } NR != FNR && known[$1] && $NF == s' \
        "$work/known" "$work/judged.csv" | wc -l)
    check "$(awk -v s=$number '/^supernet  networks/ { on = 1 } !NF { on = 0 } on && $1 == s { print $2 }' "$work/out")" = "$networks"
done
pada rank "$work/few" --networks truth --limit 50 --truth builtin --out "$work/judged.csv" --json
expect_rc 0
check "$(grep -c '^{"name": "supernet [1-5]", "supernet": [1-5], "n": [0-9]*, "tau_b": ' "$work/out")" -eq 5
# A ranking that is stopped goes on.
slice_of pada rank "$work/gm" --networks 150 --limit 50 --out "$work/whole.csv"
expect_rc 0
rm -r "$work/gm/scores"
rc=75
rounds=0
while [ $rc -eq 75 ] && [ $rounds -lt 500 ]; do
    pada rank "$work/gm" --networks 150 --limit 50 --out "$work/parts.csv" --max-seconds "$slice"
    rounds=$((rounds + 1))
done
expect_rc 0
check $rounds -gt 1
cmp "$work/whole.csv" "$work/parts.csv" >"$work/cmp" 2>&1 || complain "$(cat "$work/cmp")"
rm -r "$work/gm/scores"
pada rank "$work/gm" --networks 150 --limit 50 --out "$work/parts.csv" --in-flight 2
expect_rc 0
cmp "$work/whole.csv" "$work/parts.csv" >"$work/cmp" 2>&1 || complain "$(cat "$work/cmp")"

# ---- costs: epochs that trained, of all supernets; probes cost time
printf 'arch,t\n%s,4\n%s,3\n%s,2\n%s,1\n' "$conv" "$skip" "$dead_conv" "$dead_skip" >"$work/truth.csv"
pada compare "$work/few" "$work/gm" --truth "$work/truth.csv" --truth-column t --json
expect_rc 0
checks=$((checks + 1))
grep -q '/few".*"epochs": 7, ' "$work/out" && grep -q '/gm".*"epochs": 7, ' "$work/out" || complain 'epochs'
seconds=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i } NR > 1 { t += $s }
    END { printf "%.2f", t }' "$work/gm/metrics.csv")
told=$(sed -n 's/.*"seconds": \([0-9.]*\).*/\1/p' "$work/out" | sed -n 2p)
check "$(printf '%.2f' "$told")" = "$seconds"

# ---- reports: probes are no epochs of training, and have no points in the curves
page=$work/page.html
pada report "$work/gm" "$work/few" --out "$page"
if [ "$rc" -ne 69 ]; then # built with Chart.js
    expect_rc 0
    check "$(grep -c '<td>7, of 7 supernets</td>' "$page")" -eq 1
    check "$(grep -c '<td>7, of 6 supernets</td>' "$page")" -eq 1
    check "$(grep -o '"id":"lr".*' "$page" | grep -o '"points":[^}]*' | sed -n 1p | grep -o '\[[0-9]*,' | tr -d '\n')" = \
        '[1,[3,[5,[7,[8,[9,[10,'
    check "$(grep -o '"id":"lr".*' "$page" | grep -o '"points":[^}]*' | sed -n 1p | grep -c null)" -eq 0
fi

# ---- images that are held out, and weights that belong to blocks
pada train $few --hold-out 0.875 --blocks 2 --out "$work/blocks" --quiet
expect_rc 0
check "$(row "$work/blocks" 6 | cut -d, -f1-5)" = 6,5,14,2,250
pada rank "$work/blocks" --list "$work/list" --limit 100
expect_rc 0
pada eval "$work/blocks" "$conv" --limit 100 --json
loss=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' "$work/out" | cut -c1-12)
check "$(column "$work/blocks/ranking.csv" "$conv" loss | cut -c1-12)" = "$loss"
pada eval "$work/blocks" "$conv" --limit 100 --blocks 0
expect_rc 65
expect_err 'supernets/0004.safetensors'

# ---- a run that is not over has no ranking
pada train $few --out "$work/early" --quiet --max-seconds 0.0001
expect_rc 75
pada rank "$work/early" --networks 5 --limit 50
expect_rc 66
expect_err 'the training is not over'
check ! -e "$work/early/ranking.csv"
pada eval "$work/early" "$conv" --limit 50
expect_rc 66
expect_err 'the training is not over'

# ---- damaged files
cp -r "$work/gm" "$work/damaged"
head -c 3000 "$work/gm/supernets/0005.safetensors" >"$work/damaged/supernets/0005.safetensors"
pada rank "$work/damaged" --networks 5 --limit 50
expect_rc 65
expect_err 'supernets/0005.safetensors'

# ---- options
pada train --method fewshot --help
expect_rc 0
expect_out_has '--split-edges N,N,..'
expect_out_has '(default 0,1)'
expect_out_has '--child-epochs N'
pada train --method gm --help
expect_rc 0
for text in '--splits N' '(default 3)' '--split-repeats N' '(default 100)' '--warmup-epochs N' '--final-epochs N'; do
    expect_out_has "$text"
done
pada train --method fewshot --split-edges 0,7 $small --out "$work/x"
expect_usage_error "--split-edges '0,7': 7 is not in 0 to 5"
pada train --method gm --splits 7 $small --out "$work/x"
expect_usage_error '--splits 7: space nb201 has only 6 slots to split'
pada train --method gm --splits 0 $small --out "$work/x"
expect_usage_error '--splits'
check ! -e "$work/x/config.yaml"
pada train $few --split-edges 1 --out "$work/few"
expect_usage_error 'this run has another configuration: split-edges'
finish
