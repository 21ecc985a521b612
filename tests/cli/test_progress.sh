#!/bin/sh
# test_progress.sh - what long commands say on a terminal, elsewhere, quietly and for machines.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

small="--channels 4 --cells 1 --hold-out 0.75 --batch-size 50 --validate 100" # 500 images
on_terminal() {
    command_line="on a terminal: pada $*"
    python3 "$PADA_SOURCE/tests/cli/on_terminal.py" "$PADA_BINARY" "$@" >"$work/out" 2>"$work/err"
    rc=$?
}
matches() { # matches N REGEX: that many lines of stderr
    check "$(grep -cE "$2" "$work/err")" -eq "$1"
}
escape=$(printf '\033')
unset NO_COLOR
TERM=xterm
export TERM

# Not a terminal: a line per epoch.
# shellcheck disable=SC2086 # $small is a list of options
train() { "$1" train $small --out "$work/$2" --epochs "$3" $4 $5; }
train pada lines 3
expect_rc 0
check "$(grep -vc ': warning: ' "$work/err")" -eq 3
matches 3 '^epoch [123]/3  loss [0-9.]+  top-1 [0-9.]+ %  val [0-9.]+ % \(2 random networks\)  lr [0-9.]+  [0-9]+ images/s  [0-9]+ s left$'
matches 1 '^epoch 3/3 .* 0 s left$'
train pada quiet 2 --quiet
expect_rc 0
expect_only_chance
train pada json 2 --json
expect_rc 0
expect_only_chance
check "$(grep -c '"epoch": ' "$work/out")" -eq 2

# A terminal: one line, written anew, not wider than the terminal, and its last state stays.
train on_terminal live 8 --validate 0
expect_rc 0
check "$(wc -l <"$work/err")" -eq 1
tr '\r' '\n' <"$work/err" | sed "s/^$escape\[K//" >"$work/states"
check "$(grep -c '^epoch ' "$work/states")" -ge 8
check "$(awk 'length > w { w = length } END { print w }' "$work/states")" -le 59
grep -q '^epoch 8/8  loss ' "$work/states" || complain 'no last state'
grep -qE '^epoch [0-9]/8  step [0-9]+/10  loss [0-9.]+  top-1 [0-9.]+ %' "$work/states" || complain 'no step was shown'
expect_out_has "$work/live: pada, 8 epochs"
train on_terminal quiet_live 1 --quiet
expect_only_chance
TERM=dumb train on_terminal dumb 2
matches 2 '^epoch [12]/2 '
! grep -q "$escape" "$work/err" || complain 'escapes on a dumb terminal'

# Messages stand on lines of their own; a warning has a colour where it may.
for run in warned plain; do # begun, so that the folder is that of a run
    # shellcheck disable=SC2086 # $small is a list of options
    pada train $small --epochs 2 --no-events --max-seconds 0.001 --out "$work/$run"
    expect_rc 75
    mkdir "$work/$run/events.out.tfevents.9"
done
train on_terminal warned 2
expect_rc 0
grep -qF "pada: $escape[33mwarning:$escape[0m $work/warned/events.out.tfevents.9" "$work/err" || complain 'no coloured warning'
NO_COLOR=1
export NO_COLOR
train on_terminal plain 2
matches 1 "pada: warning: $work/plain/events.out.tfevents.9.*; no more events are written"
! grep -q "${escape}\[3" "$work/err" || complain 'colours in spite of NO_COLOR'

# Rankings and truth tables count.
on_terminal rank "$work/live" --networks 12 --limit 20 --out "$work/r.csv"
expect_rc 0
check "$(wc -l <"$work/err")" -eq 1
tr '\r' '\n' <"$work/err" | grep -qE "[0-9]+ of [0-9]+ evaluations, about 0 s left$" || complain 'no count'
pada rank "$work/live" --networks 12 --limit 21 --out "$work/r2.csv"
expect_no_err
on_terminal rank "$work/live" --networks 12 --limit 22 --out "$work/r3.csv" --quiet
expect_no_err
pada truth --networks 2 --channels 4 --cells 1 --epochs 1 --batch-size 500 --out "$work/t"
expect_rc 0
matches 2 '^[12] of 2 trainings, seed 0, top-1 [0-9.]+ %, about [0-9]+ s left$'
pada truth --networks 2 --channels 4 --cells 1 --epochs 1 --batch-size 500 --out "$work/tj" --json
expect_rc 0
matches 2 '^\{"progress": "trainings", "done": [12], "total": 2, "seconds_left": [0-9.e-]+\}$'
finish
