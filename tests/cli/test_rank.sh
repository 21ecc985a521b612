#!/bin/sh
# test_rank.sh - `pada rank`: metrics of files, rankings of small supernets, everything that must be refused.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

# Architectures a to e, and one that is in no table.
a='|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|avg_pool_3x3~0|nor_conv_3x3~1|skip_connect~2|'
b='|none~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|'
c='|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|'
d='|none~0|+|none~0|none~1|+|none~0|none~1|none~2|'
e='|nor_conv_1x1~0|+|none~0|skip_connect~1|+|none~0|none~1|nor_conv_1x1~2|'
b_copy='|nor_conv_1x1~0|+|none~0|none~1|+|nor_conv_3x3~0|none~1|none~2|' # an edge that leads nowhere
other='|avg_pool_3x3~0|+|none~0|none~1|+|none~0|none~1|none~2|'
truth=$work/truth.csv
scores=$work/scores.csv
printf 'arch,cifar10,other\n%s,94,1\n%s,90,2\n%s,60,3\n%s,10,4\n' "$a" "$b" "$c" "$d" >"$truth"
printf 'note,score,arch\nx,3,%s\ny,1,%s\n,4,%s\nz,2,%s\n' "$b" "$d" "$a" "$c" >"$scores"

rank_scores() {
    pada rank --predictions "$scores" --truth "$truth" --truth-column cifar10 "$@"
}
no_ranking() {
    checks=$((checks + 1))
    [ ! -e "$out" ] && [ ! -e "$out.partial" ] || complain "files were written"
}

# ---- files of scores ----

rank_scores --json
expect_rc 0
expect_no_err
check "$(wc -l <"$work/out")" -eq 6 # the file and five baselines
expect_out_has "{\"name\": \"$scores\", \"truth_column\": \"cifar10\", \"bootstrap\": 1000, \"n\": 4, \"tau_b\": 1.0, "
expect_out_has '"spearman": 1.0, '
expect_out_has '"regret": 0.0, '
for key in tau_b spearman p_at_top5 p_at_top5_expected best_rank_top5 best_rank_10 regret tau_top50 tau_top20 \
    tau_top10 tau_top5; do
    for suffix in '' _lo _hi; do expect_out_has "\"$key$suffix\": "; done
done
expect_out_has '"tau_top5": null' # one network
for name in macs params live_macs conv_depth op_sum; do expect_out_has "{\"name\": \"$name\", "; done

rank_scores --json --truth-column other --bootstrap 0
expect_rc 0
expect_out_has '"truth_column": "other", "bootstrap": 0, "n": 4, "tau_b": -1.0, "tau_b_lo": null, "tau_b_hi": null'
expect_out_has '"regret": 3.0'

rank_scores
expect_rc 0
expect_no_err
for text in 'tau-b              1.0000   [1.0000, 1.0000]' 'tau top 5%              -   -' 'conv_depth' \
    "     1            4    94.00      1  $a" "     4            1    10.00      4  $d"; do
    expect_out_has "$text"
done
cp "$work/out" "$work/first"
rank_scores --threads 1
check "$(cat "$work/out")" = "$(cat "$work/first")"
rank_scores --seed 1 --json --bootstrap 50
expect_rc 0

pada rank --predictions "$scores" # without truth: the best only
expect_rc 0
expect_out_has "$scores: 4 networks, 4 distinct"
expect_out_has "     1            4  $a"
pada rank --predictions "$scores" --json --top 1
expect_out "{\"name\": \"$scores\", \"file\": \"$scores\", \"n\": 4, \"distinct\": 4, \"images\": null, \"top\": [{\"rank\": 1, \"ties\": 1, \"arch\": \"$a\", \"score\": 4.0, \"score_lo\": null, \"score_hi\": null, \"copies\": []}]}"
pada rank --predictions "$scores" --top 0
expect_out "$scores: 4 networks, 4 distinct

 place        score  architecture"
pada rank --predictions "$scores" --top -1
refused 2 'top'

# One network under two names has one place, and its canonical name; equal scores share theirs.
printf 'arch,score\n%s,8\n%s,8\n%s,7\n%s,8\n' "$b_copy" "$c" "$d" "$b" >"$work/copies.csv"
pada rank --predictions "$work/copies.csv"
expect_out_has "$work/copies.csv: 4 networks, 3 distinct"
expect_out_has "    1=            8  $b  (+ 1 copy)"
expect_out_has "    1=            8  $c"
expect_out_has "     3            7  $d"
pada rank --predictions "$work/copies.csv" --json
expect_out_has "{\"rank\": 1, \"ties\": 2, \"arch\": \"$b\", \"score\": 8.0, \"score_lo\": null, \"score_hi\": null, \"copies\": [\"$b_copy\"]}, "

# Networks of one file only are told and left out; the tie is broken by the row of the table.
printf 'arch,score\n%s,5\n%s,5\n%s,9\n%s,1\n' "$b" "$a" "$other" "$e" >"$work/some.csv"
pada rank --predictions "$work/some.csv" --truth "$truth" --truth-column cifar10 --json
expect_rc 0
expect_err "2 networks in common; 2 only in $work/some.csv, 2 only in $truth"
expect_out_has '"n": 2, "tau_b": null, '
expect_out_has '"p_at_top5": 1.0, '
expect_out_has '"p_at_top5_expected": 0.5, '

# ---- bad files ----

bad_scores() { # bad_scores TEXT MESSAGE
    printf "$1" >"$work/bad.csv"
    pada rank --predictions "$work/bad.csv" --truth "$truth" --truth-column cifar10 --json
    refused 65 "$work/bad.csv$2"
}
bad_truth() {
    printf "$1" >"$work/bad.csv"
    pada rank --predictions "$scores" --truth "$work/bad.csv" --json
    refused 65 "$work/bad.csv$2"
}
bad_scores '' ': the file is empty'
bad_scores "arch,score\n" ': no rows'
bad_scores "arch,scores\n$a,1\n" ":1: no column is called 'score'"
bad_scores "score,b\n1,2\n" ":1: no column is called 'arch'"
bad_scores "arch,score\n$a,1\n$b,nan\n" ":3: score: 'nan' is not a number"
bad_scores "arch,score\n$a,1\n$b\n" ':3: too few columns'
bad_scores "arch,score\n$a,1\n|nor_conv" ':3: '
bad_scores "arch,score\n$a,1\n$b," ":3: score: '' is not a number"
bad_scores "arch,score\n$a,1\n$b,2\n$a,3\n" ':4: the architecture of line 2 again'
bad_scores "arch,score\n$a,1\n$other,2\n" ' and '
expect_err 'have 1 networks in common; a ranking needs 2'
bad_scores "arch,score\n$other,2\n" ' and '
expect_err 'have 0 networks in common; a ranking needs 2'
bad_truth '' ': the file is empty'
bad_truth "arch,cifar10\n$a,1\n$b,2\n$a,3\n" ':4: the architecture of line 2 again'
bad_truth "arch,cifar10\n$a,1\n$b,inf\n" ":3: cifar10: 'inf' is not a number"
bad_truth "arch,cifar10\n$a,1\n$b" ':3: too few columns'
pada rank --predictions "$work/none.csv" --truth "$truth" --truth-column cifar10
refused 66 "$work/none.csv: No such file or directory"
pada rank --predictions "$scores" --truth "$work/none.csv"
refused 66 "$work/none.csv: No such file or directory"
rank_scores --truth-column cifar11
refused 2 "unknown truth column 'cifar11'; did you mean 'cifar10'?"
printf 'arch,x,y\n%s,1,2\n%s,2,3\n' "$a" "$b" >"$work/two.csv"
pada rank --predictions "$scores" --truth "$work/two.csv"
refused 2 "$work/two.csv: which column? give --truth-column, one of: x y"
pada rank --predictions "$scores" --truth "$truth" # not even that of the benchmark
refused 2 "$truth: which column? give --truth-column, one of: cifar10 other"
printf 'arch,x,x_0,x_12\n%s,1,2,3\n%s,2,3,3\n' "$a" "$b" >"$work/seeds.csv" # one column, and its seeds
pada rank --predictions "$scores" --truth "$work/seeds.csv" --json
expect_rc 0
expect_out_has '"truth_column": "x"'
printf 'arch,x,x_0,x_y\n%s,1,2,3\n%s,2,3,3\n' "$a" "$b" >"$work/seeds.csv"
pada rank --predictions "$scores" --truth "$work/seeds.csv"
refused 2 "$work/seeds.csv: which column? give --truth-column, one of: x x_0 x_y"

# ---- wrong calls ----

out=$work/r.csv
pada rank
refused 2 'nothing to rank: give a run folder, --weights, --scores or --predictions'
pada rank --predictions "$scores" --weights w.safetensors
refused 2 '--predictions: no network is evaluated, but w.safetensors was given'
pada rank "$work" "$work"
refused 2 'was given twice'
pada rank "$work/none" --out "$out"
refused 66 "$work/none/config.yaml: No such file or directory"
rank_scores --bootstrap -1
refused 2 'bootstrap'

# ---- supernets ----

w=$work/w.safetensors
pada init --channels 4 --cells 1 --seed 7 --out "$w"
expect_rc 0
rank_small() {
    pada rank --weights "$w" --channels 4 --cells 1 --limit 20 --batch-size 8 --out "$out" "$@"
}
printf '%s\n' "$a" "$b" "$c" "$d" "$e" >"$work/list"

rank_small --list "$work/list" --truth "$truth" --truth-column cifar10 --json
expect_rc 0
expect_err "4 networks in common; 1 only in $out, 0 only in $truth"
expect_out_has '{"name": "supernet", "truth_column": "cifar10", "bootstrap": 1000, "split": "test", "statistics": "batch", "n": 4, '
check "$(head -n 1 "$out")" = 'arch,score,score_lo,score_hi,rank,ties,correct,images,loss,macs,params,same_as'
check "$(sed 1d "$out" | cut -d, -f1 | sort)" = "$(sort "$work/list")"
check "$(sed 1d "$out" | cut -d, -f2 | sort -rn)" = "$(sed 1d "$out" | cut -d, -f2)" # best first
check "$(sed 1d "$out" | cut -d, -f7 | sort -rn | head -n 1)" = "$(sed -n 2p "$out" | cut -d, -f7)"
check "$(ls "$work"/r.csv*)" = "$out" # no partial file
cp "$out" "$work/list.csv"
pada eval --weights "$w" --channels 4 --cells 1 --limit 20 --batch-size 8 "$a" --json
top1=$(sed 's/.*"top1": \([0-9]*\)\.0.*/\1/' "$work/out")
loss=$(sed 's/.*"loss": \([0-9.]*\).*/\1/' "$work/out")
check "$(column "$out" "$a" score)" = "$top1.0"
check "$(column "$out" "$a" correct)" = "$((top1 / 5))"
check "$(column "$out" "$a" images)" = 20
case $loss in "$(column "$out" "$a" loss)"*) ;; *) complain "loss $loss, not $(column "$out" "$a" loss)" ;; esac

# The list on the screen and in JSON has the same numbers, and the costs are those of these sizes.
pada arch "$a" --cost --json --channels 4 --cells 1 --image-size 16
macs=$(column "$out" "$a" macs)
params=$(column "$out" "$a" params)
expect_out "{\"arch\": \"$a\", \"macs\": $macs, \"params\": $params}"
best=$(sed -n 2p "$out" | cut -d, -f1)
rank_small --list "$work/list" --json --top 2
expect_rc 0
check "$(wc -l <"$work/out")" -eq 1
expect_out_has "{\"name\": \"supernet\", \"file\": \"$out\", \"split\": \"test\", \"statistics\": \"batch\", \"n\": 5, \"distinct\": 5, \"images\": 20, \"top\": [{\"rank\": 1, "
expect_out_has "\"arch\": \"$best\", \"score\": $(column "$out" "$best" score), \"score_lo\": "
check "$(printf %.1f "$(sed 's/.*\[{[^}]*"score_lo": \([0-9.]*\).*/\1/' "$work/out")")" = "$(column "$out" "$best" score_lo)"
expect_out_has "\"macs\": $(column "$out" "$best" macs), \"params\": $(column "$out" "$best" params), \"copies\": []}"
check "$(grep -o '"arch"' "$work/out" | wc -l)" -eq 2
rank_small --list "$work/list"
expect_out_has ' place score %  95 %            MACs  params  architecture'
expect_out_has " $(column "$out" "$best" score)  [$(column "$out" "$best" score_lo), $(column "$out" "$best" score_hi)]"
rank_small --networks truth --truth "$truth" --truth-column cifar10 --json
expect_out_has '"truth": 94.0, "truth_rank": 1}'

# A dialect that looks like another must be named.
pada arch "$a" "$b" --to list
cp "$work/out" "$work/numbers"
rank_small --list "$work/numbers" --arch-dialect list
expect_rc 0
check "$(sed 1d "$out" | cut -d, -f1 | sort)" = "$(printf '%s\n' "$a" "$b" | sort)"
expect_out_has "$out: 2 networks, 2 distinct"
rank_small --list "$work/numbers"
refused 65 "$work/numbers:1: "

rank_small --networks truth --truth "$truth" --truth-column other --json
expect_rc 0
check "$(sed 1d "$out" | cut -d, -f1 | sort)" = "$(printf '%s\n' "$a" "$b" "$c" "$d" | sort)"
rank_small --networks 6 --seed 3
expect_rc 0
cp "$out" "$work/six.csv"
rank_small --networks 6 --seed 3
check "$(cat "$out")" = "$(cat "$work/six.csv")"
check "$(wc -l <"$out")" -ge 7 # canonical forms come to it
rank_small --networks 6 --seed 4
check "$(cat "$out")" != "$(cat "$work/six.csv")"
rm "$out"

# Stopped by the clock: a network at a time, until it is done; the same bytes as at once.
n=0
rank_small --list "$work/list" --max-seconds 0.000001
while [ "$rc" -eq 75 ] && [ "$n" -lt 10 ]; do
    n=$((n + 1))
    check ! -e "$out"
    grep -q 'the same command resumes it' "$work/err" || complain 'nothing about resuming'
    rank_small --list "$work/list" --max-seconds 0.000001
done
expect_rc 0
check "$n" -eq 4
check "$(cat "$out")" = "$(cat "$work/list.csv")"
rm "$out"

# Several networks side by side: the same bytes, also when stopped; more of them than networks are fine.
for n in 1 2 3 16; do
    rank_small --list "$work/list" --in-flight "$n"
    expect_rc 0
    check "$(cat "$out")" = "$(cat "$work/list.csv")"
    rm "$out"
done
n=0
rank_small --list "$work/list" --in-flight 3 --max-seconds 0.000001
while [ "$rc" -eq 75 ] && [ "$n" -lt 10 ]; do
    n=$((n + 1))
    check ! -e "$out"
    grep -q 'the same command resumes it' "$work/err" || complain 'nothing about resuming'
    rank_small --list "$work/list" --in-flight 3 --max-seconds 0.000001
done
expect_rc 0
check "$n" -ge 1
check "$n" -le 4
check "$(cat "$out")" = "$(cat "$work/list.csv")"
rm "$out"
for n in 0 17 -1 two; do
    rank_small --list "$work/list" --in-flight "$n"
    refused 2 'in-flight'
    grep -q -- "$n" "$work/err" || complain "nothing about $n"
done
no_ranking

# Stopped by signals, once each has got on a little.
n_lines() {
    if [ -f "$out.partial" ]; then wc -l <"$out.partial"; else echo 0; fi
}
for signal in INT TERM USR1; do
    command_line="pada rank and kill -s $signal"
    wanted=$(($(n_lines) + 3))
    "$PADA_BINARY" rank --weights "$w" --channels 4 --cells 1 --limit 20 --batch-size 8 --out "$out" \
        >"$work/out" 2>"$work/err" &
    job=$!
    tries=0
    while [ "$(n_lines)" -lt "$wanted" ] && [ "$tries" -lt 300 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    kill -s "$signal" "$job"
    wait "$job"
    rc=$?
    expect_rc 75
    expect_out ''
    check ! -e "$out"
    check "$(n_lines)" -ge "$wanted"
done
grep -q 'resuming after' "$work/err" || complain 'the second one did not resume the first'

# Other images: a message, and everything anew.
rank_small --list "$work/list" --limit 19 --max-seconds 0.000001
expect_rc 75
check -e "$out.partial"
rank_small --list "$work/list"
expect_rc 0
grep -q "$out.partial: of other weights, images, sizes, statistics or another backend; starting anew" "$work/err" || complain 'not anew'
check "$(cat "$out")" = "$(cat "$work/list.csv")"
rm "$out"

rank_small --networks many
refused 2 "--networks: 'many' is not all, distinct, truth or a number"
rank_small --networks 15626
refused 2 'a sample of 15626 networks is not in 1 to 15625'
rank_small --networks truth
refused 2 '--networks truth: give the table with --truth FILE.csv'
rank_small --networks 3 --list "$work/list"
refused 2 '--list and --networks: give one of them'
cp "$truth" "$work/kept.csv"
pada rank --predictions "$scores" --truth "$truth" --truth-column cifar10 --out "$truth"
refused 2 "--out $truth: would replace $truth, which is needed"
cmp -s "$truth" "$work/kept.csv" || complain 'the truth was replaced'
sed 's/,other//; s/,[0-9]$//' "$truth" >"$work/one.csv"
rank_small --networks 3 --truth "$work/one.csv"
refused 65 "$work/one.csv: the truth of cifar10, but the data set is builtin; to compare them all the same give --truth-column cifar10"
rank_small --networks 3 --truth "$truth" # the data set is `builtin`, and there are two columns
refused 2 'which column? give --truth-column, one of: cifar10 other'
rank_small --list "$work/none"
refused 66 "$work/none: No such file or directory"
rank_small --networks 3 --limit 1001
refused 2 'limit 1001 is not in 1 to 1000'
no_ranking
pada rank --weights "$w" --channels 4 --cells 1 --networks 3 --out "$work/none/r.csv"
refused 1 "$work/none/r.csv: No such file or directory"

# ---- run folders ----

run=$work/run
mkdir -p "$run/ckpt"
cp "$w" "$run/ckpt/00000030.safetensors"
head -c 100 "$w" >"$run/ckpt/00000040.safetensors"
cat >"$run/config.yaml" <<END
space: "nb201"
channels: 4
cells: 1
data: "builtin"
batch-size: 3
seed: 99
lr: 0.025
method: "pada"
limit: 5
END
pada rank "$run" --list "$work/list" --limit 20 --batch-size 8
expect_rc 0
check "$(cat "$run/ranking.csv")" = "$(cat "$work/list.csv")"
grep -q "^pada: $run/ckpt/00000040.safetensors: .*; the checkpoint before it is used$" "$work/err" || complain 'nothing said'
rm "$run/ckpt/00000040.safetensors"
check "$(ls "$run/scores" | wc -l)" -eq 1
pada rank "$run" --list "$work/list" --limit 20 --batch-size 8 --out "$out"
check "$(cat "$out")" = "$(cat "$work/list.csv")"
grep -q 'scores/[0-9a-f]*.csv: all 5 evaluations are there already' "$work/err" || complain 'evaluated again'

# Fewer networks leave the scores of the others alone, in the file and in the folder; --out has only them.
rm "$run/ranking.csv"
printf '%s\n' "$a" "$b" >"$work/two"
pada rank "$run" --list "$work/two" --limit 20 --batch-size 8
expect_rc 0
expect_out_has "$run/ranking.csv: 2 networks, 2 distinct"
check "$(cat "$run/ranking.csv")" = "$(cat "$work/list.csv")"
pada rank "$run" --list "$work/two" --limit 20 --batch-size 8 --out "$out"
check "$(sed 1d "$out" | cut -d, -f1 | sort)" = "$(sort "$work/two")"
# Other images have scores of their own.
pada rank "$run" --list "$work/two" --limit 19 --batch-size 8
check "$(wc -l <"$run/ranking.csv")" -eq 3
check "$(ls "$run/scores" | wc -l)" -eq 2
pada rank "$run" --list "$work/two" --limit 20 --batch-size 8
check "$(cat "$run/ranking.csv")" = "$(cat "$work/list.csv")"

# A copy is named: its network has the canonical name, and the copy a row behind all others.
printf '%s\n' "$b_copy" >"$work/one"
pada rank "$run" --list "$work/one" --limit 20 --batch-size 8 --out "$out" --json
expect_out_has '"n": 1, "distinct": 1, '
expect_out_has "\"arch\": \"$b\", "
expect_out_has "\"copies\": [\"$b_copy\"]}"
grep -q 'all 1 evaluations are there already' "$work/err" || complain 'the copy was evaluated'
check "$(sed 1d "$out" | cut -d, -f1,12)" = "$(printf '%s,\n%s,%s\n' "$b" "$b_copy" "$b")"

# Numbers that cannot be are refused, and stay for inspection.
scores_file=$(grep -l ' 20 images' "$run"/scores/*.csv)
cp "$scores_file" "$work/scores.kept"
sed '3s/,[0-9]*,/,2000000000,/' "$work/scores.kept" >"$scores_file"
cp "$run/ranking.csv" "$work/ranking.kept"
pada rank "$run" --list "$work/list" --limit 20 --batch-size 8
refused 65 "$scores_file:3: correct images: 2000000000 is outside 0 to 20"
check "$(cat "$run/ranking.csv")" = "$(cat "$work/ranking.kept")"
cp "$work/scores.kept" "$scores_file"

# One process at a time works in a run folder; who only reads needs no lock.
"$PADA_BINARY" rank "$run" --limit 20 --batch-size 8 --quiet >"$work/out" 2>"$work/err" &
job=$!
tries=0
while [ "$(wc -l <"$scores_file")" -lt 12 ] && [ "$tries" -lt 300 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
pada rank "$run" --list "$work/two" --limit 20 --batch-size 8
refused 2 "$run: another process is working in this folder"
pada eval "$run" "$a" --limit 7
expect_rc 0
pada rank --predictions "$run/ranking.csv" # intervals by the images of that file
expect_rc 0
expect_out_has 'score %'
kill -9 "$job"
wait "$job"
pada rank "$run" --list "$work/list" --limit 20 --batch-size 8 # the lock went with the process
expect_rc 0
for arch in "$a" "$b" "$c" "$d" "$e"; do
    check "$(column "$run/ranking.csv" "$arch" loss)" = "$(column "$work/list.csv" "$arch" loss)"
done

# The batch size and the limit of an evaluation are not those of the training.
pada eval --weights "$w" --channels 4 --cells 1 "$c" --json
sed 's/"seconds": [^,]*,//' "$work/out" >"$work/by_weights"
pada eval "$run" --arch "$c" --json
expect_rc 0
check "$(sed 's/"seconds": [^,]*,//' "$work/out")" = "$(cat "$work/by_weights")"
expect_out_has '"images": 1000'
pada eval "$run" "$a" --limit 7 --json
expect_rc 0
expect_out_has '"images": 7'
pada eval "$run"
refused 2 'no architecture given'
pada eval "$run" "$a" --seed 3
refused 2 "--seed is for fresh weights, not for those of $run"
pada eval "$run" "$a" --channels 8 # a flag overrides the run; here it does not fit
refused 65 'stem.0.weight has shape 4x3x3x3, not 8x3x3x3'
pada eval "$run" "$a" --data "$work/none"
refused 66 "$work/none: no such folder"

rm "$run/ckpt/00000030.safetensors"
head -c 100 "$w" >"$run/ckpt/00000040.safetensors"
pada eval "$run" "$a"
refused 65 "$run/ckpt/00000040.safetensors: "
rm "$run/ckpt/00000040.safetensors"
pada rank "$run" --networks 3
refused 66 "$run: no checkpoint in this folder"
printf 'channels: many\n' >"$run/config.yaml"
pada rank "$run" --networks 3
refused 2 "$run/config.yaml:1: channels: 'many' is not a whole number"

# ---- a supernet of blocks: the run says how many, and its gate chooses; isomorphic forms that compute the same tie

run=$work/blocks
pada train --method close --channels 4 --cells 1 --epochs 3 --batch-size 200 --validate 0 --out "$run" --quiet
expect_rc 0
same='|nor_conv_3x3~0|+|nor_conv_1x1~0|none~1|+|skip_connect~0|nor_conv_3x3~1|none~2|' # 2<-0 leads nowhere
less='|nor_conv_3x3~0|+|none~0|none~1|+|skip_connect~0|nor_conv_3x3~1|none~2|'
printf '%s\n%s\n%s\n' "$a" "$same" "$less" >"$work/blocks.txt"
pada rank "$run" --list "$work/blocks.txt" --json
expect_rc 0
score() { # score ARCH: the column `score` of the ranking
    column "$run/ranking.csv" "$1" score
}
check "$(score "$same")" = "$(score "$less")"
pada eval "$run" "$a" --json
expect_rc 0
expect_out_has "\"top1\": $(score "$a")"
pada eval "$run" "$a" --blocks 2 # a flag overrides the run; here it does not fit
expect_rc 65
finish
