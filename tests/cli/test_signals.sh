#!/bin/sh
# test_signals.sh - signals at the very start of a command that can go on later: exit code 75, and on.
. "$PADA_SOURCE/tests/cli/harness.sh"

# stop SIGNAL COMMAND ARGS...: sent the signal as soon as it reads its configuration.
stop() {
    signal=$1
    command=$2
    shift 2
    command_line="pada $command $*, SIG$signal"
    python3 "$PADA_SOURCE/tests/cli/signal_on_open.py" "$signal" "$work/config.yaml" \
        "$PADA_BINARY" "$command" --config "$work/config.yaml" "$@" >"$work/out" 2>"$work/err"
    rc=$?
}

echo 'threads: 1' >"$work/config.yaml"
small='--channels 4 --cells 1 --epochs 1 --batch-size 500'
for signal in TERM HUP INT USR1; do
    stop $signal train $small --validate 0 --no-events --out "$work/$signal" --quiet
    expect_rc 75
    expect_err 'stopped after step 1 of 4; the same command resumes from there'
done
pada train $small --validate 0 --no-events --out "$work/HUP" --quiet --threads 1
expect_rc 0
stop HUP truth $small --networks 2 --out "$work/truth" --quiet
expect_rc 75
expect_err 'resumes'
stop TERM rank "$work/HUP" --networks 8 --quiet
expect_rc 75

# A file that must not grow any more is said like a full disk; the signal would end the program without a word.
command_line='ulimit -f 16; pada train'
(
    ulimit -f 16
    exec "$PADA_BINARY" train $small --validate 0 --no-events --out "$work/limited" --quiet --threads 1
) >"$work/out" 2>"$work/err"
rc=$?
expect_rc 1
expect_err 'File too large'

# Who started it with nohup wants it to go on.
command_line='nohup pada train'
(trap '' HUP
    python3 "$PADA_SOURCE/tests/cli/signal_on_open.py" HUP "$work/config.yaml" "$PADA_BINARY" train \
        --config "$work/config.yaml" $small --validate 0 --no-events --out "$work/nohup" --quiet) >"$work/out" 2>"$work/err"
rc=$?
expect_rc 0
finish
