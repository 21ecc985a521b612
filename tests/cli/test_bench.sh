#!/bin/sh
# test_bench.sh - `pada bench`: its numbers are numbers, its words are checked. Nothing here depends on how fast it is.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

small='--channels 4 --cells 1 --image-size 8 --batch-size 4 --repeats 2 --threads 2'

# expect_keys NAME...: one JSON object per line, each with these keys.
expect_keys() {
    for key in "$@"; do
        checks=$((checks + 1))
        [ "$(grep -c "\"$key\": " "$work/out")" -eq "$(wc -l <"$work/out")" ] || complain "key $key is missing"
    done
}

printf '[3,3,3,3,3,3]\n\n|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|\n[1,2,3,4,0,1]\n' >"$work/paths"
for what in step eval rank; do
    # shellcheck disable=SC2086 # the list is split into words on purpose
    pada bench $what $small --images 10 --list "$work/paths" --json --per-path
    expect_rc 0
    expect_no_err
    expect_out_has "\"name\": \"$what\""
    expect_out_has '"paths": 3,'
    expect_keys name backend batch paths ms images_per_second gflops peak_gflops memory_mb engine_mb path_ms
    checks=$((checks + 1))
    [ "$(sed 's/.*"path_ms": \[//' "$work/out" | tr ',' '\n' | wc -l)" -eq 3 ] || complain 'not three times'
done
# shellcheck disable=SC2086
pada bench methods $small --networks 3 --json
expect_rc 0
expect_no_err
check "$(sed 's/.*"method": "\([a-z]*\)".*/\1/' "$work/out" | tr '\n' ' ')" = 'spos pa da pada '
expect_keys ms more_percent
# shellcheck disable=SC2086
pada bench step $small --networks 2
expect_rc 0
expect_out_has 'images/s'
# fewer images than a batch: so many are evaluated
pada bench rank --channels 4 --cells 1 --image-size 8 --batch-size 64 --images 3 --networks 1 --repeats 1 --json
expect_rc 0
checks=$((checks + 1))
python3 -c 'import json, sys; d = json.load(sys.stdin); sys.exit(abs(d["images_per_second"] * d["ms"] / 3e3 - 1) > 1e-6)' \
    <"$work/out" || complain 'not three images'
for n in 1 3; do
    # shellcheck disable=SC2086
    pada bench rank $small --images 10 --networks 2 --in-flight $n --burst 2 --json
    expect_rc 0
    expect_no_err
    expect_out_has '"name": "rank"'
done
for n in 0 17 two; do
    pada bench rank --in-flight $n
    refused 2 'in-flight'
done
# shellcheck disable=SC2086
pada bench step $small --form final --networks 1 --json
expect_rc 0
expect_no_err
expect_out_has '"paths": 1,'
# shellcheck disable=SC2086
pada bench step $small --form final --networks 2
refused 2 'one network, not 2'
pada bench kernels --batch-size 2 --repeats 1 --json
expect_rc 0
expect_no_err
expect_keys name direction channels size ms gflops peak_gflops
expect_out_has '"name": "conv3x3", "direction": "backward", "channels": 64'
# shellcheck disable=SC2086
printf '\n\n\n' | "$PADA_BINARY" bench eval $small --networks 1 --json --paced >"$work/out" 2>"$work/err"
rc=$?
command_line='pada bench eval --paced'
expect_rc 0
checks=$((checks + 1))
[ "$(wc -l <"$work/out")" -eq 3 ] || complain 'not one line for every line'

# The names of version 0.1 still work, and are not shown.
pada bench step --channels 4 --cells 1 --image-size 8 --batch 3 --n-paths 2 --repeats 1 --json
expect_rc 0
expect_out_has '"batch": 3, "paths": 2'
pada bench step --channels 4 --cells 1 --image-size 8 --batch 3 --paths "$work/paths" --repeats 1 --json
expect_rc 0
expect_out_has '"paths": 3'
pada help bench
expect_out_has '--batch-size N'
checks=$((checks + 1))
grep -qe '--batch ' -e '--n-paths' -e '--paths' "$work/out" && complain 'shows names of version 0.1'

pada bench
expect_rc 2
expect_err 'step, eval, rank, kernels, data, latency or methods'
pada bench stp
expect_rc 2
expect_err "unknown word 'stp'; did you mean 'step'?"
pada bench step --batch-size -1
expect_rc 2
expect_err '-1'
pada bench step --backend cpux
expect_rc 69
expect_err "did you mean 'cpu'"
pada bench step --list "$work/nothing"
expect_rc 66
expect_err "$work/nothing"
: >"$work/empty"
pada bench step --list "$work/empty"
expect_rc 65
expect_err 'no architectures'
printf '[3,3,3,3,3,3]\n[3,3,3,3,3]\n' >"$work/short"
pada bench step --list "$work/short"
expect_rc 65
expect_err "$work/short:2:"
head -c 2000 /dev/zero | tr '\0' '[' >"$work/long"
pada bench step --list "$work/long"
expect_rc 65
expect_err '2000 characters'
finish
