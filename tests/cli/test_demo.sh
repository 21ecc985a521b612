#!/bin/sh
# test_demo.sh - tools/demo.sh in a small form: it runs to its end, and a second time without training again.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

demo() {
    command_line='EPOCHS=1 LIMIT=50 EVALUATIONS=5 tools/demo.sh'
    EPOCHS=1 LIMIT=50 EVALUATIONS=5 sh "$PADA_SOURCE/tools/demo.sh" "$PADA_BINARY" "$work/runs" >"$work/out" 2>"$work/err"
    rc=$?
}

demo
expect_rc 0
expect_out_has "$work/runs/pada minus $work/runs/spos"
expect_out_has 'What to look at:'
expect_out_has 'verdict  '
check -s "$work/runs/auto/model.onnx"
checks=$((checks + 1))
grep -q '</html>' "$work/runs/report.html" || grep -q 'built without Chart.js' "$work/err" || complain 'no report'
for run in spos pada; do
    for file in config.yaml env.json metrics.csv ranking.csv; do
        checks=$((checks + 1))
        [ -s "$work/runs/$run/$file" ] || complain "no $run/$file"
    done
    cp "$work/runs/$run/ranking.csv" "$work/$run.csv"
    ls -l "$work/runs/$run/ckpt" >"$work/$run.ckpt"
done
demo
expect_rc 0
for run in spos pada; do
    checks=$((checks + 1))
    cmp -s "$work/runs/$run/ranking.csv" "$work/$run.csv" || complain "another ranking of $run"
    ls -l "$work/runs/$run/ckpt" | cmp -s - "$work/$run.ckpt" || complain "$run was trained again"
done
finish
