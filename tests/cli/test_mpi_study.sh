#!/bin/sh
# test_mpi_study.sh - `pada study` by several processes: the same files, killed, stopped, and refused.
. "$PADA_SOURCE/tests/cli/mpi_harness.sh"

cat >"$work/small.yaml" <<'END'
name: small
defaults: {channels: 2, cells: 1, epochs: 2, batch-size: 500, hold-out: 0.5, validate: 0, seeds: 0-1, rank: {networks: 6, limit: 100}}
runs:
  - {name: spos, method: spos, search: {budget: 4, limit: 100}, retrain: {epochs: 1, batch-size: 500}}
  - {name: pada, method: pada}
compare: [[pada, spos]]
END
study="study $work/small.yaml --data builtin --truth builtin --bootstrap 20"

# numbers DIR: the table, but for the seconds.
numbers() {
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i } { $s = ""; print }' "$1/study.csv" >"$1.numbers"
}

# same_study A B RUN..: tables, rankings, searches and weights have the same bytes.
same_study() {
    a=$1 b=$2
    shift 2
    numbers "$a"
    numbers "$b"
    same "$a.numbers" "$b.numbers"
    for one in "$@"; do
        expect_same "$a/$one" "$b/$one"
        for file in ranking.csv study; do same "$a/$one/$file" "$b/$one/$file"; done
    done
    for file in spos-s0/search spos-s1-best-s0/last.safetensors spos-s1-best-s0/test.json; do same "$a/$file" "$b/$file"; done
}
all='spos-s0 spos-s1 pada-s0 pada-s1'

pada $study --out "$work/one" --threads 1
expect_rc 0

# ---- the same bytes: fewer processes than runs, as many, more; and several at once in each
pada_of 2 $study --out "$work/two" --jobs 2
expect_rc 0
check "$(grep -c '^\$ pada ' "$work/err")" -eq 12
expect_out_has 'pada - spos'
same_study "$work/one" "$work/two" $all
pada_of 8 $study --out "$work/by8" --quiet
expect_rc 0
check ! -s "$work/err"
same_study "$work/one" "$work/by8" $all
pada_of 3 $study --out "$work/two" # all is there
expect_rc 0
check ! -s "$work/err"
same_study "$work/one" "$work/two"
pada_of 2 $study --out "$work/two" --dry-run
expect_rc 0
check "$(grep -c '# there' "$work/out")" -eq 12
pada_of 2 $study --out "$work/two" --jobs 0
expect_rc 0
same_study "$work/one" "$work/two"

# ---- killed, and stopped. Two long runs, so that each process has one.
long="$study --only spos --threads 1 --set epochs=60 --set checkpoint-steps=1"
mark="echo \$\$ >$work/pid; exec $PADA_BINARY"
trainer_of() { pgrep -f -- "pada train .*--out=$1( |\$)"; }
trains() { [ -n "$(ls "$1"/ckpt/*.safetensors 2>/dev/null)" ] && [ -n "$(trainer_of "$1")" ]; }
both_train() { trains "$1/spos-s0" && trains "$1/spos-s1"; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }
# await CONDITION..: until a command succeeds, or a minute has passed.
await() {
    waited=0
    until "$@" || [ $waited -ge 600 ]; do
        sleep 0.1
        waited=$((waited + 1))
    done
}
# begin FOLDER: two processes; the second one has its number in pid.
begin() {
    rm -f "$work/pid"
    pada_mixed -n 1 "$PADA_BINARY" $long --out "$1" : -n 1 sh -c "$mark $long --out $1" &
    job=$!
    await both_train "$1"
}

pada $long --out "$work/alone" --quiet
expect_rc 0

begin "$work/child" # a child process is killed: its run has failed, the other one is done
kill -9 "$(trainer_of "$work/child/spos-s1")"
wait $job
command_line='mpirun, a child of a study killed'
check "$(grep -c '^pada: spos-s1: train failed: ' "$work/err")" -eq 1
check "$(grep -c '^pada: 1 of 2 runs failed; ' "$work/err")" -eq 1
grep -q '^spos,0,done,' "$work/child/study.csv" || complain 'the other run is not done'
pada_of 2 $long --out "$work/child"
expect_rc 0
same_study "$work/alone" "$work/child" spos-s0 spos-s1

begin "$work/killed" # a process is killed: what it has started goes with it, and other numbers of processes go on
trainers="$(trainer_of "$work/killed/spos-s0") $(trainer_of "$work/killed/spos-s1")"
kill -9 "$(cat "$work/pid")"
wait $job
command_line='mpirun, one of two processes of a study killed'
check ! -e "$work/killed/study.txt"
for trainer in $trainers; do
    await is_gone "$trainer"
    is_gone "$trainer" || complain 'a child has outlived its process'
done
pada_of 3 $long --out "$work/killed"
expect_rc 0
check "$(grep -c '^\$ pada train ' "$work/err")" -eq 2
same_study "$work/alone" "$work/killed" spos-s0 spos-s1

begin "$work/stopped" # a signal to one stops all
kill -USR1 "$(cat "$work/pid")"
wait $job
command_line='mpirun, one of two processes of a study told to stop'
said 'stopped with 0 of 8 stages done; the same command resumes it'
for run in spos-s0 spos-s1; do grep -q '^pada: stopped after step' "$work/stopped/$run.log" || complain 'not stopped'; done
pada_of 2 $long --out "$work/stopped" --max-seconds 0.5
expect_rc 75
said 'the same command resumes it'
pada $long --out "$work/stopped" --quiet # alone
expect_rc 0
same_study "$work/alone" "$work/stopped" spos-s0 spos-s1

# ---- what differs between processes, or is missing in one: one line, one exit code, and nothing is begun
mkdir "$work/a" "$work/b"
cp "$work/small.yaml" "$work/a"
sed 's/epochs: 2/epochs: 3/' "$work/small.yaml" >"$work/b/small.yaml"
two() { # ENVIRONMENT ARGS..: process 1 is in folder b, after these words
    words=$1
    shift
    pada_mixed -n 1 -wdir "$work/a" "$PADA_BINARY" "$@" : -n 1 -wdir "$work/b" sh -c "$words; exec \"\$0\" \"\$@\"" "$PADA_BINARY" "$@"
}
two : study small.yaml --out "$work/x"
expect_rc 2
said 'does not have the study of process 0'
cp "$work/small.yaml" "$work/b"
two 'set -- "$@" --set epochs=3' study small.yaml --out "$work/x"
expect_rc 2
said 'does not have the options of process 0'
mkdir -p "$work/a/photos/train" "$work/b/photos/train"
echo 1 >"$work/a/photos/train/1.png"
two : study small.yaml --data photos --out "$work/x"
expect_rc 65
said 'does not have the images of process 0'
two : study small.yaml --out x
expect_rc 65
said 'x: another process does not see this folder of process 0'
mkdir "$work/b/x"
cp -r "$work/two"/* "$work/b/x"
two : study small.yaml --truth builtin --data builtin --out x
expect_rc 65
said 'does not have the finished stages of process 0'
check "$(ls "$work/x")" = ''
two 'export PADA_CPU=none' study small.yaml --only spos --data builtin --truth builtin --bootstrap 20 --out "$work/device"
expect_rc 69
said 'process 1 of 2: spos-s'
said 'PADA_CPU'
two 'ulimit -f 30' study small.yaml --data builtin --truth builtin --out "$work/full"
expect_rc 1
grep -q '^pada: [sp][a-z]*-s[01]: train failed: .*File too large' "$work/err" || complain 'the full disk is not named'
pada_of 2 $study --out "$work/full"
expect_rc 0
same_study "$work/one" "$work/full" $all
finish
