#!/bin/sh
# test_events.sh - TensorBoard reads what `pada train` wrote; runs that were stopped or killed have the same steps.
# Skipped without the tensorboard package.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

read_events() { # read_events RUN FILE: without what depends on the clock
    python3 "$PADA_SOURCE/tests/cli/read_events.py" "$work/$1" >"$work/events" 2>"$work/err"
    rc=$?
    [ "$rc" -ne 77 ] || exit 77
    command_line="read_events.py $1"
    expect_rc 0
    grep -v ' cost/seconds ' "$work/events" >"$work/$2"
}
train() {
    pada train --method pada --channels 4 --cells 1 --epochs 11 --batch-size 100 --validate 100 --out "$work/$1" --quiet
}
same() {
    checks=$((checks + 1))
    cmp -s "$work/$1" "$work/$2" || complain "$(diff "$work/$1" "$work/$2" | head -5)"
}

mkdir "$work/none"
read_events none none.txt # is there a reader at all?
train whole
expect_rc 0
read_events whole whole.txt
checks=$((checks + 2))
[ "$(cut -d' ' -f1 "$work/whole.txt" | sort -un | tr '\n' ' ')" = '1 2 3 4 5 6 7 8 9 10 11 ' ] || complain 'not the steps 1 to 11'
[ "$(grep -c ' paths/probability 30\.0 ' "$work/whole.txt")" -eq 11 ] || complain 'no histogram of 30 probabilities'
checks=$((checks + 1))
grep -qE "^10 paths/likeliest text '.*output = .*\(input\).*'\$" "$work/whole.txt" || complain 'no likeliest path at step 10'
# The scalars are the columns of metrics.csv.
python3 - "$work/whole/metrics.csv" "$work/whole.txt" <<'END' || complain 'scalars are not metrics.csv'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
seen = 0
for line in open(sys.argv[2]):
    step, tag, *values = line.split()
    column = tag.split("/")[1]
    if column in rows[0]:
        seen += abs(float(rows[int(step) - 1][column]) - float(values[0])) <= 1e-6 * max(1, abs(float(values[0])))
wanted = 11 * (len(rows[0]) - 4)  # not epoch, seconds, weights_hash, warnings
sys.exit(seen != wanted)
END

# Stopped again and again.
train_slices() {
    rc=75
    while [ "$rc" -eq 75 ]; do
        pada train --method pada --channels 4 --cells 1 --epochs 11 --batch-size 100 --validate 100 --out "$work/$1" --quiet \
            --max-seconds "$2"
    done
}
train_slices stopped 0.4
expect_rc 0
read_events stopped stopped.txt
same whole.txt stopped.txt

# Killed without warning.
i=0
while [ $i -lt 4 ]; do
    "$PADA_BINARY" train --method pada --channels 4 --cells 1 --epochs 11 --batch-size 100 --validate 100 --out "$work/killed" \
        --quiet --checkpoint-steps 7 >/dev/null 2>&1 &
    process=$!
    sleep 0.3
    kill -9 "$process" 2>/dev/null
    wait "$process" 2>/dev/null
    i=$((i + 1))
done
train killed
expect_rc 0
read_events killed killed.txt
same whole.txt killed.txt
checks=$((checks + 1))
set -- "$work"/killed/events.out.tfevents.*
[ $# -eq 1 ] || complain "$# event files"

# Not wanted.
pada train --channels 4 --cells 1 --epochs 1 --batch-size 500 --validate 0 --no-events --out "$work/without" --quiet
expect_rc 0
checks=$((checks + 1))
! ls "$work"/without/events* >/dev/null 2>&1 || complain 'events without being asked for'
finish
