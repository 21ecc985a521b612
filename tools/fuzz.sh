#!/bin/sh
# fuzz.sh - builds the targets of tests/fuzz with libFuzzer and runs each for some time: fuzz.sh SECONDS [TARGET...]
#
# Every core has a target to run. New inputs that reach new code are kept in build/fuzz/corpus/TARGET and are the start
# of the next call; an input that fails is build/fuzz/found/TARGET-*, and the exit status is 1. The last line of each
# target says how many inputs ran and what they reached (cov: edges, ft: features).
set -eu
cd "$(dirname "$0")/.."

usage() {
    echo "usage: $0 SECONDS [TARGET...]" >&2
    exit 2
}
[ $# -ge 1 ] || usage
seconds=$1
shift
case $seconds in '' | *[!0-9]* | 0) usage ;; esac

cmake --preset fuzz
cmake --build --preset fuzz
[ $# -gt 0 ] || set -- $(ls tests/fuzz/corpus)

# One target; runs in a shell of its own, below xargs.
run_one='
    target=$1
    log=build/fuzz/log/$target
    mkdir -p "build/fuzz/corpus/$target" build/fuzz/found build/fuzz/log
    status=ok
    "build/fuzz/tests/fuzz/fuzz_$target" -max_total_time="$seconds" -timeout=120 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/found/$target-" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
        >"$log" 2>&1 || status=FAILED
    n=$(sed -n "s/^stat::number_of_executed_units: *//p" "$log")
    reached=$(grep -o "cov: [0-9]* ft: [0-9]*" "$log" | tail -n 1)
    printf "%-20s %-7s %9s inputs  %s\n" "$target" "$status" "${n:-0}" "$reached"
    [ "$status" = ok ] || { tail -n 40 "$log"; exit 1; }
'
export seconds
printf '%s\n' "$@" | xargs -P "$(nproc)" -I TARGET sh -c "$run_one" fuzz TARGET
