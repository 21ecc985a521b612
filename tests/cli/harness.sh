#!/bin/sh
# harness.sh - sourced by the command line tests: runs pada and compares what it did.
#
#   pada ARGS...          runs the binary; keeps $rc, standard output and standard error
#   expect_rc N           the exit code
#   expect_out TEXT       standard output is exactly TEXT and a newline; '' means nothing at all
#   expect_out_has TEXT   standard output contains TEXT
#   expect_err TEXT       standard error is one line, "pada: ...", that contains TEXT
#   expect_no_err         standard error is empty
#   finish                exits with 1 if anything was not as expected
#
# A failure prints the command and what was different, and the script goes on.

: "${PADA_BINARY:?is the pada to test}" "${PADA_SOURCE:?is the root of the source}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0
checks=0

pada() {
    command_line="pada $*"
    "$PADA_BINARY" "$@" >"$work/out" 2>"$work/err"
    rc=$?
}

complain() {
    failures=$((failures + 1))
    printf 'FAILED: %s\n  %s\n' "$command_line" "$1"
    sed 's/^/  stdout: /' "$work/out"
    sed 's/^/  stderr: /' "$work/err"
}

expect_rc() {
    checks=$((checks + 1))
    [ "$rc" -eq "$1" ] || complain "exit code $rc, expected $1"
}

expect_out() {
    checks=$((checks + 1))
    if [ -z "$1" ]; then : >"$work/expected"; else printf '%s\n' "$1" >"$work/expected"; fi
    cmp -s "$work/out" "$work/expected" || complain "expected stdout: $1"
}

expect_out_has() {
    checks=$((checks + 1))
    grep -qF -- "$1" "$work/out" || complain "stdout lacks: $1"
}

expect_err() {
    checks=$((checks + 1))
    [ "$(wc -l <"$work/err")" -eq 1 ] || complain "stderr is not one line"
    grep -q '^pada: ' "$work/err" || complain "stderr does not start with 'pada: '"
    grep -qF -- "$1" "$work/err" || complain "stderr lacks: $1"
}

expect_no_err() {
    checks=$((checks + 1))
    [ ! -s "$work/err" ] || complain "stderr is not empty"
}

# A wrong call: exit code 2, a message, and nothing on standard output.
expect_usage_error() {
    expect_rc 2
    expect_err "$1"
    expect_out ''
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}
