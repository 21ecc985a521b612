#!/bin/sh
# test_info.sh - `pada info`: every list is there, and the JSON says the same.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

pada info
expect_rc 0
expect_no_err
expect_out_has "$("$PADA_BINARY" --version)"
for word in cpu ref null nb201 builtin cifar imagenet16 folder; do
    checks=$((checks + 1))
    grep -q "^  $word " "$work/out" || complain "no line for $word"
done
expect_out_has '6 slots, 15625 paths; dialects: nb201 list naslib nni tuples'
expect_out_has 'slots 0 1 2 3 4 5: none skip_connect nor_conv_1x1 nor_conv_3x3 avg_pool_3x3'
expect_out_has 'available: plain loops'
for code in 0 1 2 65 66 69 75; do
    checks=$((checks + 1))
    grep -q "^  $code " "$work/out" || complain "no line for exit code $code"
done

pada info --json
expect_rc 0
expect_no_err
checks=$((checks + 1))
[ "$(wc -l <"$work/out")" -eq 1 ] || complain 'not one line'
expect_out_has '"version": "'
expect_out_has '"build": {"type": "'
expect_out_has '{"name": "ref", "summary": "plain loops in double precision'
expect_out_has '"paths": 15625, "slots": [["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"], ['
expect_out_has '"dialects": ["nb201", "list", "naslib", "nni", "tuples"]'
expect_out_has '"methods": [{"name": "pada"'
expect_out_has '"data_sets": [{"name": "builtin"'
expect_out_has '{"code": 69, "meaning": "device not available"}'

# A backend that was not built says how to get it.
if grep -q 'not in this build' "$work/out"; then
    expect_out_has 'install the CUDA toolkit, 12 or later, and run make again'
    pada info
    grep -q '^  cuda  ' "$work/out" || complain 'no line for cuda'
    expect_out_has 'not available: not in this build ('
    for backend in cuda cuda-fp32; do
        pada bench step --backend $backend
        refused 69 "backend $backend is not in this build ("
        expect_err 'install the CUDA toolkit, 12 or later, and run make again'
    done
fi

# PADA_CPU: another instruction set than the best one, if the machine has it.
set_of() { sed -n "/^  $1 /{n;s/.*: \([a-z0-9]*\\), .*/\\1/p;}" "$work/out"; }
for set in avx512 avx2 fma plain; do
    PADA_CPU=$set pada info
    expect_rc 0
    checks=$((checks + 1))
    if [ -n "$(set_of "cpu-$set")" ]; then
        [ "$(set_of cpu)" = "$set" ] || complain "PADA_CPU=$set is not what cpu takes"
    else
        PADA_CPU=$set pada bench eval --backend cpu --channels 4 --cells 1 --n-paths 1 --repeats 1
        expect_rc 69
        expect_err 'this CPU has no '
    fi
done
PADA_CPU=avx3 pada bench eval --backend cpu --channels 4 --cells 1 --n-paths 1 --repeats 1
expect_rc 69
expect_err "PADA_CPU: unknown instruction set 'avx3'; did you mean 'avx2'?"

pada info now
expect_usage_error "unexpected word 'now'"
pada info --jsn
expect_usage_error 'json'
finish
