#!/bin/sh
# test_mpi_rank.sh - `pada rank` and `pada search` by several processes: the same files, killed, and refused.
. "$PADA_SOURCE/tests/cli/mpi_harness.sh"

small='--channels 4 --cells 1 --epochs 1 --hold-out 0.75 --batch-size 125 --validate 0 --threads 1'
ranked='--networks 24 --limit 64 --batch-size 64 --threads 1'
bred='--population 8 --generations 2 --parents 4 --mutants 4 --crossovers 4 --limit 64 --batch-size 64 --threads 1'

pada train $small --method spos --out "$work/one" --quiet
expect_rc 0
pada train $small --method fewshot --split-edges 0 --child-epochs 1 --out "$work/few" --quiet
expect_rc 0
cp -r "$work/one" "$work/fresh"
scores_of() { cat "$1"/scores/*.csv | sort; }
# kill_in RUN: kills the process that left its number, once 20 networks have been evaluated.
kill_in() {
    waited=0
    until [ -s "$work/pid" ] && [ "$(cat "$1"/scores/*.csv 2>/dev/null | wc -l)" -gt 20 ]; do
        sleep 0.1
        waited=$((waited + 1))
        [ $waited -lt 600 ] || break
    done
    kill -9 "$(cat "$work/pid")"
}

# ---- the same bytes, of one supernet and of several, with any number of processes
for run in one few; do
    pada rank "$work/$run" $ranked
    expect_rc 0
    sed 's/^[^:]*//' "$work/out" >"$work/$run.said"
    for n in 2 4 8; do
        [ "$n" -ne 2 ] && [ "$run" = few ] && continue
        rm -rf "$work/many"
        cp -r "$work/$run" "$work/many"
        rm -r "$work/many/scores" "$work/many/ranking.csv"
        pada_of "$n" rank "$work/many" $ranked --quiet
        expect_rc 0
        check ! -s "$work/err"
        sed 's/^[^:]*//' "$work/out" >"$work/many.said"
        same "$work/$run.said" "$work/many.said"
        same "$work/$run/ranking.csv" "$work/many/ranking.csv"
        [ "$(scores_of "$work/$run")" = "$(scores_of "$work/many")" ] || complain 'other scores'
    done
done
pada_of 3 rank "$work/many" $ranked # all is there
expect_rc 0
said 'evaluations are there already'

pada search "$work/one" $bred --quiet
expect_rc 0
for n in 2 4 8; do
    rm -rf "$work/many"
    cp -r "$work/fresh" "$work/many"
    pada_of "$n" search "$work/many" $bred --quiet
    expect_rc 0
    same "$work/one/search" "$work/many/search"
done

# ---- commands that processes would do twice
for command in "probe bounds $work/one" "auto --data builtin --out $work/auto"; do
    # shellcheck disable=SC2086 # a list of options
    pada_of 2 $command
    expect_rc 2
    said 'is the work of one process; start it without mpirun'
done
check ! -e "$work/auto"

# ---- stopped by the clock: every call gets on
rm -rf "$work/many"
cp -r "$work/fresh" "$work/many"
for call in 1 2; do
    pada_of 2 rank "$work/many" $ranked --max-seconds 0.000001 --quiet
    expect_rc 75
    said 'evaluations; the same command resumes it'
    check "$(scores_of "$work/many" | wc -l)" -gt "$call"
done
pada_of 2 rank "$work/many" $ranked --quiet
expect_rc 0
same "$work/one/ranking.csv" "$work/many/ranking.csv"

# ---- a process is killed: the job ends, and the same command goes on. All networks are there, so that it takes a while.
slow='--networks 3000 --limit 64 --batch-size 64 --threads 1 --quiet'
for victim in 0 1; do
    rm -rf "$work/many" "$work/pid"
    cp -r "$work/fresh" "$work/many"
    plain="$PADA_BINARY rank $work/many $slow"
    marked="echo \$\$ >$work/pid; exec $plain"
    if [ $victim -eq 0 ]; then set -- sh -c "$marked" : -n 1 $plain; else set -- $plain : -n 1 sh -c "$marked"; fi
    pada_mixed -n 1 "$@" &
    kill_in "$work/many"
    wait
    kept=$(($(cat "$work"/many/scores/*.csv | wc -l) - 1))
    check $kept -ge 19
    check ! -e "$work/many/ranking.csv"
    pada_of 2 rank "$work/many" $ranked
    expect_rc 0
done
cp "$work/many/ranking.csv" "$work/two.csv"
rm "$work/many/ranking.csv"
pada rank "$work/many" $ranked --quiet # with what the killed one has left, by one process
expect_rc 0
same "$work/two.csv" "$work/many/ranking.csv"

# ---- a process is killed and the launcher lets the other one live: it does all of the work
if mpirun --version | grep -q 'Open MPI'; then
    some='--networks 600 --limit 64 --batch-size 64 --threads 1 --quiet'
    for run in alone left; do
        rm -rf "$work/$run"
        cp -r "$work/fresh" "$work/$run"
    done
    pada rank "$work/alone" $some
    rm "$work/pid"
    pada_mixed --enable-recovery -n 1 "$PADA_BINARY" rank "$work/left" $some : \
        -n 1 sh -c "echo \$\$ >$work/pid; exec $PADA_BINARY rank $work/left $some" &
    child=$!
    kill_in "$work/left"
    wait $child
    said 'process 1 of 2 has died; others do what it was doing'
    same "$work/alone/ranking.csv" "$work/left/ranking.csv"
fi

# ---- what differs between processes, or is missing in one: one line, one exit code
mkdir "$work/a" "$work/b"
cp -r "$work/fresh" "$work/a/run"
cp -r "$work/fresh" "$work/b/run"
two="rank run $ranked"
mixed() { pada_mixed -n 1 -wdir "$work/a" "$PADA_BINARY" $two : -n 1 -wdir "$work/b" "$@"; }

mixed "$PADA_BINARY" $two --networks 25
expect_rc 2
said 'process 1 of 2, on '
said 'does not have the options of process 0'
pada train $small --method spos --seed 9 --out "$work/b/other" --quiet
cp "$work/b/other"/ckpt/*.safetensors "$work/b/run/ckpt/"
mixed "$PADA_BINARY" $two
expect_rc 65
said 'does not have the weights of process 0'
rm "$work"/b/run/ckpt/*.safetensors
mixed "$PADA_BINARY" $two
check "$rc" -ne 0
said 'run'
mixed "$PADA_BINARY" $two --backend nonsense
expect_rc 69
said 'nonsense'
pada_of 3 rank "$work/fresh" --nonsense
expect_rc 2
said '--nonsense'
check ! -e "$work/a/run/scores"
check ! -e "$work/a/run/ranking.csv"
pada rank "$work/a/run" $ranked --quiet
expect_rc 0
same "$work/one/ranking.csv" "$work/a/run/ranking.csv"

# The disk of process 0 is full (a limit on the size of files).
rm -rf "$work/many"
cp -r "$work/fresh" "$work/many"
whole="$PADA_BINARY rank $work/many $slow"
pada_mixed -n 1 sh -c "ulimit -f 1; exec $whole" : -n 1 $whole
expect_rc 1
said 'File too large'
pada_of 2 rank "$work/many" $ranked --quiet
expect_rc 0

finish
