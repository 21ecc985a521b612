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
expect_out_has '14 charts, 0 problems'
look "$work/small"
expect_out_has '8 charts, 0 problems'
head -n 1 "$work/good/metrics.csv" >"$work/empty/metrics.csv" # begun, and nothing more
look "$work/empty"
expect_out_has '0 charts, 0 problems'
finish
