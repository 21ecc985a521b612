#!/bin/sh
# test_studies.sh - the studies of recipes/studies: every command that they stand for exists, and small twins of some run.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

studies=$PADA_SOURCE/recipes/studies

for file in "$studies"/*.yaml; do
    name=$(basename "$file" .yaml)
    pada study "$file" --dry-run --out "$work/$name" --data builtin --truth builtin
    expect_rc 0
    expect_no_err
    check "$(grep -c '# to do' "$work/out")" -ge 2
    grep -qx "name: $name" "$file" || complain "$file has another name"
    grep -q "studies/$name.yaml" "$PADA_SOURCE/recipes/README.md" || complain "recipes/README.md lacks $name"
done

# Data sets by name are below --data; the seeds and methods are those of the paper.
pada study "$studies/figure4.yaml" --dry-run --data sets --out "$work/f"
expect_out_has ' --data=sets/cifar-100-binary '
check "$(grep -c 'truth-column=imagenet16' "$work/out")" -eq 6
pada study "$studies/table4.yaml" --dry-run --out "$work/f"
expect_out_has ' --method=pa --path-update=step --path-schedule=dec '
pada study "$studies/figure1a.yaml" --dry-run --out "$work/f"
check "$(sort -u "$studies/figure1a-cells.txt" | wc -l)" -eq 64
expect_out_has "--list=$studies/figure1a-cells.txt"

# tiny NAME ARGS...: the small twin on the built-in images.
tiny() {
    name=$1
    shift
    pada study "$studies/$name.yaml" --out "$work/$name" --data builtin --set data=builtin --seeds 0 --quiet --bootstrap 20 \
        --set epochs=1 --set validate=0 --set channels=2 "$@"
    expect_rc 0
    ! grep -qv 'built without Chart.js' "$work/err" || complain 'stderr is not empty'
    grep -q 'built without Chart.js' "$work/err" || check -s "$work/$name/report.html"
    check "$(cut -d, -f3 "$work/$name/study.csv" | grep -vcx -e status -e done)" -eq 0
}
tiny table5 --set batch-size=100 --set hold-out=0.9 --set cells=1 --set rank.networks=8 --set rank.limit=50 --truth builtin --truth-column builtin
expect_out_has 'pa - conv-anneal'
tiny best-builtin --only anneal-depth-auto,anneal-half-views-margin --set batch-size=100 --set hold-out=0.9 --set cells=1 --set rank.networks=8 \
    --set rank.limit=50 --truth builtin --truth-column builtin
check "$(grep -c '^anneal-depth-auto,0,done,' "$work/best-builtin/study.csv")" -eq 1
tiny table2 --only pada --set batch-size=100 --set hold-out=0.9 --set cells=3 --set search.rounds=1 --set search.per-round=2 --set search.limit=20 \
    --set retrain.epochs=1 --set retrain.validate=0 --set retrain.batch-size=500 --set retrain.auxiliary=0 --set retrain.final-cells=3 --set retrain.final-channels=2
expect_out_has 'random %'
{ echo arch,builtin; sed -n "s/.*name: cell493, arch: '\(.*\)'.*/\1,90.00/p" "$studies/nb201-retrain.yaml"; } >"$work/truth.csv"
tiny nb201-retrain --only cell493,cell5161 --set cells=1 --set batch-size=500 --truth "$work/truth.csv"
expect_out_has 'its truth'
expect_out_has '1 network alone, test minus truth: mean difference -'
tiny nb201-retrain --only cell493,cell5161 --set cells=1 --set batch-size=500 --truth "$work/truth.csv" --json # nothing is done again
expect_out_has '{"against_truth": 1, "mean_difference": -'
check "$(grep -c '^cell493,0,done,.*,90,' "$work/nb201-retrain/study.csv")" -eq 1
finish
