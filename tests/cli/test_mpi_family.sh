#!/bin/sh
# test_mpi_family.sh - runs with several supernets: processes share those that nothing depends on. The same folder as by one process,
# killed, stopped, and resumed with other numbers of processes.
. "$PADA_SOURCE/tests/cli/mpi_harness.sh"

small='--channels 2 --cells 1 --batch-size 500 --threads 1 --epochs 2 --validate 100'
few="train --method fewshot --split-edges 0 --child-epochs 2 $small"
gm="train --method gm --splits 2 --split-repeats 3 --warmup-epochs 1 --final-epochs 2 $small"

# same_run A B: checkpoint, metrics, supernets; and nothing is left of parts.
same_run() {
    expect_same "$1" "$2"
    check ! -e "$2/parts"
}
# told TEXT: one line of pada has it; others say where the run resumes, and warn.
told() {
    checks=$((checks + 1))
    [ "$(grep '^pada: ' "$work/err" | grep -v -e 'going on at epoch' -e 'warning' | grep -cF -- "$1")" -eq 1 ] || complain "not one line with: $1"
    [ "$(grep '^pada: ' "$work/err" | grep -vc -e 'going on at epoch' -e 'warning')" -eq 1 ] || complain 'not one line of pada'
}
# await CONDITION..: until a command succeeds, or half a minute has passed.
await() {
    waited=0
    until "$@" || [ $waited -ge 600 ]; do
        sleep 0.05
        waited=$((waited + 1))
    done
}

pada $few --out "$work/few" --quiet
expect_rc 0
for n in 2 4 8; do
    pada_of $n $few --out "$work/few$n"
    expect_rc 0
    check "$(grep -c 'pada: supernet [2-6] is trained, [1-5] of the 5 that are shared' "$work/err")" -eq 5
    same_run "$work/few" "$work/few$n"
done
pada $gm --out "$work/gm" --quiet
expect_rc 0
pada_of 2 $gm --out "$work/gm2"
expect_rc 0
check "$(grep -c 'pada: supernet [4-7] is trained, [1-4] of the 4 that are shared' "$work/err")" -eq 4
same_run "$work/gm" "$work/gm2"
pada_of 2 $few --out "$work/few2" --quiet # all is there
expect_rc 0
pada rank "$work/few4" --networks 5 --limit 50 --quiet
expect_rc 0

# ---- a process is killed among the parts; four go on, are stopped, and one ends it
long="$few --child-epochs 10 --checkpoint-seconds 0.1 --quiet"
pada $long --out "$work/long"
expect_rc 0
mark="echo \$\$ >$work/pid; exec $PADA_BINARY"
pada_mixed -n 1 "$PADA_BINARY" $long --out "$work/killed" : -n 1 sh -c "$mark $long --out $work/killed" &
job=$!
both_are_at_it() { [ "$(ls "$work"/killed/parts/*/metrics.csv 2>/dev/null | wc -l)" -ge 2 ]; }
await both_are_at_it
kill -9 "$(cat "$work/pid")"
wait $job
command_line='mpirun, one of two processes killed that share supernets'
check -d "$work/killed/parts"
check "$(wc -l <"$work/killed/metrics.csv")" -eq 3
pada_of 4 $long --out "$work/killed" --max-seconds 0.2
expect_rc 75
told 'of the last 5 supernets trained; the same command resumes from there'
pada $long --out "$work/killed" --max-seconds 0.2 # by one process, which goes on with the parts
expect_rc 75
told 'of the last 5 supernets trained'
pada_of 2 $long --out "$work/killed"
expect_rc 0
same_run "$work/long" "$work/killed"

# ---- one process is in the middle of a supernet that could be shared; two finish it together and share the rest
pada $few --child-epochs 10 --out "$work/alone" --quiet --max-seconds 0.4
if [ "$rc" -eq 75 ]; then
    pada_of 2 $long --out "$work/alone"
    expect_rc 0
    same_run "$work/long" "$work/alone"
fi

# ---- a signal to one, a full disk of one
rm -f "$work/pid"
pada_mixed -n 1 "$PADA_BINARY" $long --out "$work/signal" : -n 1 sh -c "$mark $long --out $work/signal" &
job=$!
signalled_are_at_it() { [ "$(ls "$work"/signal/parts/*/metrics.csv 2>/dev/null | wc -l)" -ge 2 ]; }
await signalled_are_at_it
kill -USR1 "$(cat "$work/pid")"
wait $job
command_line='mpirun, one of two processes that share supernets told to stop'
told 'of the last 5 supernets trained; the same command resumes from there'
pada_mixed -n 1 "$PADA_BINARY" $long --out "$work/signal" : -n 1 sh -c "ulimit -f 30; exec $PADA_BINARY $long --out $work/signal"
expect_rc 1
told 'File too large'
told 'process 1 of 2: '
pada_of 2 $long --out "$work/signal"
expect_rc 0
same_run "$work/long" "$work/signal"
finish
