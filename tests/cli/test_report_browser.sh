#!/bin/sh
# test_report_browser.sh - reports in a real browser: check_report.py says what is looked at. Skipped without Chromium.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cli/report_fixture.sh
. "$(dirname "$0")/report_fixture.sh"

look() { # look RUN...
    pada report "$@" --truth "$work/truth.csv" --bootstrap 50 --out "$work/page.html"
    [ "$rc" -ne 69 ] || exit 77 # a build without Chart.js
    expect_rc 0
    command_line="check_report.py of $*"
    python3 "$PADA_SOURCE/tests/cli/check_report.py" "$work/page.html" >"$work/out" 2>"$work/err"
    rc=$?
    [ "$rc" -ne 77 ] || exit 77
    expect_rc 0
}

look "$hostile" "$work/good" "$work/killed"
expect_out_has '15 charts, 0 problems'
look "$work/small"
expect_out_has '8 charts, 0 problems'
head -n 1 "$work/good/metrics.csv" >"$work/empty/metrics.csv" # begun, and nothing more
look "$work/empty"
expect_out_has '0 charts, 0 problems'

# A search and what became of its winner, with names of classes that must stay text.
pada train --channels 2 --cells 1 --epochs 2 --batch-size 500 --quiet --no-events --out "$work/super"
pada search "$work/super" --limit 100 --population 12 --generations 3 --mutants 6 --crossovers 5 --parents 4 --quiet
expect_rc 0
pada retrain --from "$work/super" --epochs 2 --batch-size 500 --keep-best test --quiet --no-events --out "$work/final"
expect_rc 0
sed -i 's|"class": 3, "name": null|"class": 3, "name": "</title><script>hacked=1</script><img src=x>"|g' "$work/final/test.json"
look "$work/super" "$work/final"
expect_out_has '8 charts, 0 problems'
look "$work/final"
expect_out_has '3 charts, 0 problems'
finish
