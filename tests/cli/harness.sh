#!/bin/sh
# harness.sh - sourced by the command line tests: runs pada and compares what it did.
#
#   pada ARGS...          runs the binary; keeps $rc, standard output and standard error
#   expect_rc N           the exit code
#   expect_out TEXT       standard output is exactly TEXT and a newline; '' means nothing at all
#   expect_out_has TEXT   standard output contains TEXT
#   expect_err TEXT       standard error is one line, "pada: ...", that contains TEXT
#   expect_no_err         standard error is empty
#   expect_only_chance    the same after a training so short that it may have learned nothing, and be told
#   expect_same A B       two run folders have the same bits
#   column FILE ARCH NAME   prints what a column of a ranking says about a network
#   train_and_kill RUN ARGS...   pada train, or what $trainer says, killed again and again until it is done
#   finish                exits with 1 if anything was not as expected
#
# A failure prints the command and what was different, and the script goes on.

: "${PADA_BINARY:?is the pada to test}" "${PADA_SOURCE:?is the root of the source}"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
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

expect_only_chance() {
    checks=$((checks + 1))
    ! grep -qv 'warning.*: the validation is no better than guessing' "$work/err" || complain "stderr is not empty"
}

# refused RC TEXT: an exit code, a message with the text, and nothing on standard output.
refused() {
    expect_rc "$1"
    expect_err "$2"
    expect_out ''
}

# A wrong call.
expect_usage_error() {
    refused 2 "$1"
}

# check CONDITION...: a test of the shell, with what is wrong.
check() {
    checks=$((checks + 1))
    [ "$@" ] || complain "not so: $*"
}

# Two runs: the newest checkpoints are the same bytes, and so are the metrics but for seconds and the files of
# supernets, where there are several.
expect_same() {
    checks=$((checks + 1))
    newest_a=$(ls "$1"/ckpt/*.safetensors | tail -n 1)
    newest_b=$(ls "$2"/ckpt/*.safetensors | tail -n 1)
    [ "$(basename "$newest_a")" = "$(basename "$newest_b")" ] || complain "$newest_a, $newest_b"
    cmp "$newest_a" "$newest_b" >"$work/cmp" 2>&1 || complain "$(cat "$work/cmp")"
    for run in "$1" "$2"; do
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i }
            { $s = ""; print }' "$run/metrics.csv" >"$run.metrics"
    done
    cmp -s "$1.metrics" "$2.metrics" || complain "the metrics of $1 and $2 differ"
    if [ -d "$1/supernets" ]; then
        diff -r -x '*.tmp.*' "$1/supernets" "$2/supernets" >"$work/cmp" || complain "$(cat "$work/cmp")"
    fi
}

# column FILE ARCH NAME: what a column of a ranking says about a network.
column() {
    awk -F, -v arch="$2" -v name="$3" \
        'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i } $1 == arch { print $k }' "$1"
}

# Trains, killed with -9 at random moments again and again, until it is done.
train_and_kill() {
    out=$1
    shift
    kills=0
    while :; do
        "$PADA_BINARY" "${trainer:-train}" "$@" --out "$out" --quiet >"$work/out" 2>"$work/err" &
        child=$!
        # somewhere in the next moments
        pause=$(awk -v seed="$kills$out" 'BEGIN { srand(seed); printf "%.3f", 0.05 + 0.3 * rand() }')
        sleep "$pause"
        if kill -9 $child 2>/dev/null; then kills=$((kills + 1)); fi
        wait $child 2>/dev/null
        rc=$?
        [ $rc -eq 0 ] && break
        # so that a slow machine comes to an end as well
        [ $kills -gt 15 ] && { pada "${trainer:-train}" "$@" --out "$out" --quiet; break; }
    done
    command_line="pada ${trainer:-train} $*, killed $kills times"
}

finish() {
    echo "$checks checks, $failures failed"
    [ "$failures" -eq 0 ] || exit 1
    exit 0
}
