#!/bin/sh
# test_mpi_truth.sh - `pada truth` by several processes: the same files, killed, stopped, and a disk that is full.
. "$PADA_SOURCE/tests/cli/mpi_harness.sh"

tiny='--channels 4 --cells 1 --epochs 1 --batch-size 250 --seed 3 --threads 1 --networks 3'
truth="truth $tiny --seeds 2 --quiet"

pada $truth --out "$work/one"
expect_rc 0
for n in 2 4 8; do
    pada_of "$n" $truth --out "$work/by$n"
    expect_rc 0
    same "$work/one" "$work/by$n"
done
pada_of 2 truth $tiny --seeds 2 --out "$work/by2" # all is there: nobody trains
expect_rc 0
check ! -s "$work/err"
# Networks that are added: results.csv stands in the order of the longer list, whoever has trained them.
pada $truth --networks 4 --out "$work/one"
pada_of 3 $truth --networks 4 --out "$work/by4"
same "$work/one" "$work/by4"

# ---- the third process is killed in the middle of a training
mark="echo \$\$ >$work/pid; exec $PADA_BINARY"
long="$truth --networks 4 --epochs 2 --checkpoint-seconds 0.01"
pada $long --out "$work/long"
expect_rc 0
pada_mixed -n 2 "$PADA_BINARY" $long --out "$work/killed" : -n 1 sh -c "$mark $long --out $work/killed" &
waited=0
until [ -s "$work/pid" ] && [ "$(cat "$work/killed/results.csv" 2>/dev/null | wc -l)" -gt 3 ]; do
    sleep 0.1
    waited=$((waited + 1))
    [ $waited -lt 600 ] || break
done
kill -9 "$(cat "$work/pid")"
wait
check ! -e "$work/killed/truth.csv"
check "$(wc -l <"$work/killed/results.csv")" -gt 3
pada_of 2 truth $tiny --seeds 2 --networks 4 --epochs 2 --checkpoint-seconds 0.01 --out "$work/killed"
expect_rc 0
check "$(grep -c 'of 8 trainings' "$work/err")" -lt 8
same "$work/long" "$work/killed"

# ---- stopped by the clock, again and again; a signal to one process stops all
for call in 1 2; do
    pada_of 2 $truth --out "$work/slices" --max-seconds 0.000001
    expect_rc 75
    said 'resumes'
done
pada_of 2 $truth --out "$work/slices"
expect_rc 0
same "$work/by2" "$work/slices"
rm -f "$work/pid"
pada_mixed -n 1 "$PADA_BINARY" $long --epochs 500 --out "$work/signal" : \
    -n 1 sh -c "$mark $long --epochs 500 --out $work/signal" &
job=$!
waited=0
until [ "$(ls "$work/signal/training" 2>/dev/null | wc -l)" -eq 2 ] || [ $waited -ge 600 ]; do
    sleep 0.1
    waited=$((waited + 1))
done
kill -USR1 "$(cat "$work/pid")"
wait $job
said 'resumes'
check "$(ls "$work"/signal/training/*/ckpt/*.safetensors | wc -l)" -ge 2

# ---- the disk of one process is full: one line that says whose, and the same command goes on
call="$truth --out $work/full"
pada_mixed -n 1 "$PADA_BINARY" $call : -n 1 sh -c "ulimit -f 8; exec $PADA_BINARY $call"
expect_rc 1
said 'process 1 of 2: '
said 'File too large'
check ! -e "$work/full/truth.csv"
pada_of 2 $truth --out "$work/full"
expect_rc 0
same "$work/by2" "$work/full"

# ---- other options in one process
pada_mixed -n 1 "$PADA_BINARY" $truth --out "$work/x" : -n 1 "$PADA_BINARY" $truth --out "$work/x" --epochs 2
expect_rc 2
said 'does not have the options of process 0'
check ! -e "$work/x/results.csv"
finish
