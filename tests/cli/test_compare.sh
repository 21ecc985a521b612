#!/bin/sh
# test_compare.sh - `pada compare`: who ranks better, how sure that is, and everything that must be refused.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"


# 125 networks; `good` follows the truth but for small errors, `bad` only a little, `odd` lacks the last one.
awk 'BEGIN {
    split("none skip_connect nor_conv_1x1 nor_conv_3x3 avg_pool_3x3", op, " ")
    for (i = 0; i < 125; i++) {
        arch = "|" op[i % 5 + 1] "~0|+|" op[int(i / 5) % 5 + 1] "~0|none~1|+|" op[int(i / 25) + 1] "~0|none~1|none~2|"
        print arch "," i "," (i * 7) % 10 + i "," (i * 37) % 125 + i / 4
    }
}' >"$work/all"
table() { # table COLUMN NAME: the file NAME.csv with one column of the list
    { echo "arch,$3"; cut -d, -f1,"$1" "$work/all"; } >"$work/$2.csv"
}
table 2 truth t
table 3 good score
table 4 bad score
sed '$d' "$work/good.csv" >"$work/odd.csv"
truth=$work/truth.csv good=$work/good.csv bad=$work/bad.csv

compare() {
    pada compare "$@" --truth "$truth"
}

compare "$good" "$bad"
expect_rc 0
expect_no_err
expect_out_has "125 networks, truth t of $truth, 1000 bootstrap samples"
expect_out_has "$bad minus $good"
expect_out_has "$good ranks better than $bad by tau-b, which is distinguishable at 95 %."
expect_out_has ' 0.0010 *'
cp "$work/out" "$work/first"
compare "$good" "$bad" --threads 1
check "$(cat "$work/out")" = "$(cat "$work/first")"
compare "$bad" "$good"
expect_out_has "$good ranks better than $bad by tau-b, which is distinguishable at 95 %."
compare "$good" "$good"
expect_out_has "$good and $good have the same tau-b."
compare "$good" "$bad" --bootstrap 0
expect_rc 0
expect_out_has 'is not known without --bootstrap'

# A swap of two neighbours is no difference that could be seen.
sed '2{h;d};3{G}' "$good" >"$work/order.csv" # another order of rows is none at all
compare "$good" "$work/order.csv"
expect_out_has 'have the same tau-b.'
sed 's/^\(.*\),0$/\1,11.5/' "$good" >"$work/near.csv"
compare "$good" "$work/near.csv"
expect_out_has "$good ranks better than $work/near.csv by tau-b, which is not distinguishable at 95 %."

compare "$good" "$bad" "$good" --json
expect_rc 0
check "$(wc -l <"$work/out")" -eq 5 # three runs, two differences
expect_out_has "{\"name\": \"$good\", \"file\": \"$good\", \"truth_column\": \"t\", \"n\": 125, \"tau_b\": "
expect_out_has "{\"name\": \"$bad\", \"against\": \"$good\", \"n\": 125, \"tau_b_diff\": -0."
for key in diff diff_lo diff_hi diff_p; do
    for metric in tau_b spearman p_at_top5 p_at_top5_expected best_rank_top5 best_rank_10 regret tau_top50 tau_top5; do
        expect_out_has "\"${metric}_$key\": "
    done
done
expect_out_has "\"tau_b_diff_p\": 0.001"
expect_out_has "\"better\": \"$good\""
expect_out_has '"tau_b_diff": 0.0, "tau_b_diff_lo": 0.0, "tau_b_diff_hi": 0.0, "tau_b_diff_p": 1.0'
expect_out_has '"better": null'
# The metrics are those of `pada rank`.
sed -n '1s/.*"tau_b": \([^,]*\), "tau_b_lo": \([^,]*\),.*/\1 \2/p' "$work/out" >"$work/tau"
pada rank --predictions "$good" --truth "$truth" --json
check "$(sed -n '1s/.*"tau_b": \([^,]*\), "tau_b_lo": \([^,]*\),.*/\1 \2/p' "$work/out")" = "$(cat "$work/tau")"

# Only networks that all of them have.
compare "$good" "$work/odd.csv" --json
expect_rc 0
expect_err "1 networks of $good are left out, not being in all files"
expect_out_has '"n": 124, '

# Run folders, with and without what the training has cost.
mkdir "$work/run_a" "$work/run_b"
cp "$good" "$work/run_a/ranking.csv"
cp "$bad" "$work/run_b/ranking.csv"
printf 'epoch,passes,images,loss,gmacs,seconds\n0,4,40,2.3,500,10.6\n1,4,40,2.1,500,11\n2,8,80,2.0,1000,12\n' >"$work/run_a/metrics.csv"
compare "$work/run_a" "$work/run_b" --json
expect_rc 0
expect_out_has "\"file\": \"$work/run_a/ranking.csv\", \"truth_column\": \"t\", \"epochs\": 3, \"passes\": 16.0, \"images\": 160.0, \"gmacs\": 2000.0, \"seconds\": 33.6, "
check "$(grep -c epochs "$work/out")" -eq 1
compare "$work/run_a" "$work/run_b"
grep -Eq "^$work/run_a +3 +16 +2\.00 +34 " "$work/out" || complain 'no cost of run_a'
grep -Eq "^$work/run_b +- +- +- +- " "$work/out" || complain 'a cost of run_b'

# The column of the data set that the runs were made with; without runs there is none that could be meant.
awk -F, 'NR == 1 { print "arch,cifar10,myphotos"; next } { print $1 "," $2 "," 100 - $2 }' "$truth" >"$work/two.csv"
printf '{"data": "My Photos"}\n' >"$work/run_b/env.json"
pada compare "$work/run_a" "$work/run_b" --truth "$work/two.csv" --bootstrap 0 --json
expect_rc 0
expect_out_has '"truth_column": "myphotos"'
pada compare "$good" "$bad" --truth "$work/two.csv" --bootstrap 0 --json
refused 2 "$work/two.csv: which column? give --truth-column, one of: cifar10 myphotos"
# A column of a data set that is known and another one than that of the runs.
pada compare "$work/run_a" "$work/run_b" --truth builtin
refused 65 'builtin: the truth of builtin, but the data set is My Photos; to compare them all the same give --truth-column builtin'
printf '{"data": "builtin"}\n' >"$work/run_a/env.json"
pada compare "$work/run_a" "$work/run_b" --truth "$work/two.csv"
refused 65 "$work/run_b was trained on My Photos, but $work/run_a on builtin"
rm "$work/run_a/env.json"
# The cards of the runs, and that of a table of `pada truth`.
card='{"format": 1, "name": "image folder", "n_classes": 2, "classes": ["a", "b"], "image_size": 8, "mean": [0, 0, 0], "deviation": [1, 1, 1], "splits": {"train": {"images": 9, "hash": "%s"}}}\n'
printf "$card" 0123456789abcdef >"$work/run_a/data.json"
printf "$card" 0123456789abcdee >"$work/run_b/data.json"
compare "$work/run_a" "$work/run_b"
refused 65 "$work/run_b: not the images of $work/run_a: those of train have the hash 0123456789abcdee, not 0123456789abcdef"
cp "$work/run_a/data.json" "$work/run_b/data.json"
compare "$work/run_a" "$work/run_b"
expect_rc 0
mkdir "$work/table"
cp "$truth" "$work/table/truth.csv"
printf "$card" 00000000000000aa >"$work/table/data.json"
pada compare "$work/run_a" "$work/run_b" --truth "$work/table/truth.csv"
refused 65 "$work/table/truth.csv: not the images of $work/run_a: "
pada report "$work/run_a" --truth "$work/table/truth.csv" --out "$work/page.html"
refused 65 "$work/table/truth.csv: not the images of $work/run_a: "
cp "$work/run_a/data.json" "$work/table/data.json"
pada compare "$work/run_a" "$work/run_b" --truth "$work/table/truth.csv"
expect_rc 0
rm "$work/run_a/data.json" "$work/run_b/data.json"

# Rows of a ranking that only give a network its canonical name are not missed in the truth.
form='|none~0|+|none~0|none~1|+|avg_pool_3x3~0|none~1|none~2|'
sed "/^$form,/d" "$truth" >"$work/copies.csv"
pada compare "$good" "$bad" --truth "$work/copies.csv"
expect_rc 0
expect_no_err
sed '/avg_pool_3x3~0|none~1|none~2|,/d' "$truth" >"$work/fewer.csv" # without its copies they are
pada compare "$good" "$bad" --truth "$work/fewer.csv"
check "$(grep -c 'pada: 25 networks of .* are left out, not being in all files' "$work/err")" -eq 2

# ---- wrong calls and bad files ----

compare "$good"
refused 2 'give two or more runs or CSV files'
pada compare "$good" "$bad"
refused 2 'no truth: give the table with --truth FILE.csv'
compare "$good" "$work/none.csv"
refused 66 "$work/none.csv: No such file or directory"
mkdir "$work/empty"
compare "$good" "$work/empty"
refused 66 "$work/empty/ranking.csv: No such file or directory"
compare "$good" "$truth"
refused 65 "$truth:1: no column is called 'score'"
printf 'arch,score\n' >"$work/bad_one.csv"
compare "$good" "$work/bad_one.csv"
refused 65 "$work/bad_one.csv: no rows"
{ cat "$good"; sed -n 2p "$good"; } >"$work/twice.csv"
compare "$good" "$work/twice.csv"
refused 65 "$work/twice.csv:127: the architecture of line 2 again"
head -c 300 "$good" >"$work/torn.csv"
compare "$good" "$work/torn.csv"
refused 65 "$work/torn.csv:"
sed 2q "$good" >"$work/single.csv"
compare "$good" "$work/single.csv"
refused 65 "1 networks in common with $truth; a ranking needs 2"
compare "$good" "$bad" --truth-column s
refused 2 "unknown truth column 's'"
printf 'epoch,loss\n1,2\n' >"$work/run_a/metrics.csv"
compare "$work/run_a" "$work/run_b"
refused 65 "$work/run_a/metrics.csv:1: no column is called 'seconds'"
finish
