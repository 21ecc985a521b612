#!/bin/sh
# test_truth_import.sh - `pada truth import`: the forms in which accuracies of NAS-Bench-201 are published.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

a='|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|' # [4,2,1,2,1,1]
b='|nor_conv_3x3~0|+|nor_conv_3x3~0|avg_pool_3x3~1|+|skip_connect~0|nor_conv_3x3~1|skip_connect~2|'
a_tuples="[(('avg_pool_3x3', 0),), (('nor_conv_1x1', 0), ('skip_connect', 1)), (('nor_conv_1x1', 0), ('skip_connect', 1), ('skip_connect', 2))]"
out=$work/truth.csv

# imported FILE ARGS...: the table that comes out of it.
imported() {
    file=$1
    shift
    rm -f "$out"
    pada truth import "$work/$file" --out "$out" "$@"
    expect_rc 0
    expect_no_err
}
table() { # expects these lines
    printf '%s\n' "$@" >"$work/expected"
    checks=$((checks + 1))
    cmp -s "$out" "$work/expected" || complain "the table is $(cat "$out")"
}
one() { table "arch,cifar10" "$a,85.86" "$b,93.66"; }

# ---- one data set ----
printf '{"%s": 85.86, "%s": 93.66}' "$a_tuples" "$b" >"$work/few_shot"
imported few_shot --column cifar10
expect_out "$out: 2 networks, 1 data sets"
one
imported few_shot --column CIFAR-10 # as the data set is called
one
printf '[4, 2, 1, 2, 1, 1],85.86\n[3, 3, 4, 1, 3, 1],93.66\n' >"$work/list.txt"
imported list.txt --column cifar10 --arch-dialect list
one
printf '%s 85.86\n\n%s 93.66\n' "$a" "$b" >"$work/canonical.txt"
imported canonical.txt --column cifar10
one
printf '\357\273\277architecture;cifar10\r\n"%s";85,86\r\n%s;93,66\r\n' "$a" "$b" >"$work/sheet.csv"
imported sheet.csv
one
printf '{"%s": 0.8586, "%s": 0.9366}' "$a" "$b" >"$work/fractions.json"
imported fractions.json --column cifar10
one

# ---- several ----
python3 - "$work" "$a" "$b" <<'END'
import json, sys
work, a, b = sys.argv[1:]
first = {"cifar10": {a: 85.86, b: 93.66}, "cifar100": {a: 52.9, b: 70.25}, "ImageNet16-120": {b: 44.0, a: 26.5}}
json.dump(first, open(work + "/sets.json", "w"))
json.dump({n: {s: first[s][n] for s in first} for n in (a, b)}, open(work + "/networks.json", "w"))
naslib = {"cifar10": {"(4, 3, 3, 0, 0, 0)": {"val_accuracy": 85.86, "scores": {"flops": {"score": 1}}}}}
json.dump(naslib, open(work + "/zc.json", "w"))
curves = {a: {"cifar10-valid": {"train_acc1es": [1, 2], "eval_acc1es": [10.0, 85.86]}}}
json.dump(curves, open(work + "/curves.json", "w"))
json.dump({"cifar10": {a: 1, b: 2}, "cifar100": {a: 1}}, open(work + "/gap.json", "w"))
END
for file in sets.json networks.json; do
    imported $file
    expect_out "$out: 2 networks, 3 data sets"
    table 'arch,cifar10,cifar100,imagenet16120' "$a,85.86,52.9,26.5" "$b,93.66,70.25,44"
done
imported sets.json --column cifar100
table 'arch,cifar100' "$a,52.9" "$b,70.25"
imported zc.json --arch-dialect naslib
table 'arch,cifar10' "$a,85.86"
imported curves.json
table 'arch,cifar10valid' "$a,85.86"
imported gap.json --column cifar100
table 'arch,cifar100' "$a,100" # the only value is 1: a fraction

# The result is a truth table.
imported sets.json
sed 's/cifar10,.*/score/; s/,\([0-9.]*\),.*/,\1/' "$out" >"$work/scores.csv"
pada rank --predictions "$work/scores.csv" --truth "$out" --truth-column cifar10 --bootstrap 0 --json
expect_rc 0
expect_out_has '"tau_b": 1.0'

# ---- refused: nothing is written ----
rm -f "$out"
wrong() {
    code=$1
    text=$2
    shift 2
    pada truth import "$@"
    refused "$code" "$text"
    check ! -e "$out"
}
wrong 65 'few_shot: the file names no data set: give --column' "$work/few_shot" --out "$out"
wrong 65 'a list of integers is ambiguous: name its dialect' "$work/list.txt" --column cifar10 --out "$out"
wrong 65 "gap.json: no accuracy on cifar100 for '$b" "$work/gap.json" --out "$out"
wrong 65 'sets.json: no accuracies of svhn' "$work/sets.json" --column svhn --out "$out"
printf '{"%s": 85.86, "%s": 93.66}' "$a_tuples" "$a" >"$work/twice.json"
wrong 65 'two accuracies of' "$work/twice.json" --column x --out "$out"
printf '{"%s": 850}' "$a" >"$work/much.json"
wrong 65 '850 is not an accuracy' "$work/much.json" --column x --out "$out"
printf '{"%s": "high"}' "$a" >"$work/word.json"
wrong 65 'no accuracy for' "$work/word.json" --column x --out "$out"
printf '{"cifar10": {"|nine~0|": 1}}' >"$work/op.json"
wrong 65 "unknown operator 'nine'" "$work/op.json" --out "$out"
printf '{"%s": 85' "$a" >"$work/torn.json"
wrong 65 'torn.json' "$work/torn.json" --column x --out "$out"
printf '%s,85\n%s,many\n' "$a" "$b" >"$work/word.txt"
wrong 65 "word.txt:2: accuracy: 'many' is not a number" "$work/word.txt" --column x --out "$out"
: >"$work/empty"
wrong 65 'empty: no accuracies' "$work/empty" --column x --out "$out"
python3 -c 'import pickle, sys; pickle.dump({"a": 1}, open(sys.argv[1], "wb"))' "$work/dump.pickle"
wrong 65 'docs/truth.md has the lines of Python' "$work/dump.pickle" --column x --out "$out"
wrong 66 'No such file' "$work/none" --column x --out "$out"
wrong 2 'no file for the table: give --out' "$work/few_shot" --column cifar10
pada truth import --out "$out"
refused 2 'which file?'
pada truth --networks 2 --column x --out "$work/t"
refused 2 '--column is for'
finish
