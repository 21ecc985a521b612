#!/bin/sh
# test_mpi_train.sh - processes of mpirun that train together: the bits of one process, deaths, stops, refusals.
set -u
. "$PADA_SOURCE/tests/dist/mpirun.sh"
. "$PADA_SOURCE/tests/cli/harness.sh"
export OMP_WAIT_POLICY=passive
small="--channels 2 --cells 1 --batch-size 500 --threads 1 --quiet"

# team N ARGS...: N processes of pada. mpirun has its own lines about a failure, in boxes; the rest is pada's.
team() {
    command_line="mpirun -n $1 pada ..."
    n=$1 && shift
    mpirun_here "$n" "$PADA_BINARY" "$@" >"$work/out" 2>"$work/all"
    rc=$?
    only_pada
}

only_pada() {
    grep -a '^pada: ' "$work/all" | grep -av ': going on at epoch' >"$work/err"
}

# crew "ENVIRONMENT 0" "ENVIRONMENT 1" ARGS...: two processes, each in a shell of its own that runs these words first.
crew() {
    command_line="mpirun: $1 | $2"
    first=$1 second=$2 && shift 2
    # shellcheck disable=SC2086 # options are words
    timeout 120 mpirun $mpi_options -n 1 sh -c "$first; exec \"\$0\" \"\$@\"" "$PADA_BINARY" "$@" : \
        -n 1 sh -c "$second; exec \"\$0\" \"\$@\"" "$PADA_BINARY" "$@" >"$work/out" 2>"$work/all"
    rc=$?
    only_pada
}

# ---- the same bits from 1, 2, 4 and 8 processes; 150 images have fewer chunks than 8
same_bits() {
    name=$1
    shift
    pada "$@" --out "$work/$name"
    expect_rc 0
    for n in $counts; do
        team "$n" "$@" --out "$work/$name$n"
        expect_rc 0
        expect_same "$work/$name" "$work/$name$n"
    done
}
counts='2 4 8'
same_bits pada train --method pada $small --epochs 2 --validate 100
same_bits spos train --method spos --accumulate 2 $small --batch-size 150 --epochs 1 --validate 0
counts=2 same_bits fairnas train --method fairnas $small --epochs 1 --validate 0
same_bits macro train --space macro --method magic_a --channels 4 --image-size 16 \
    --batch-size 500 --epochs 1 --validate 0 --threads 1 --quiet
same_bits macro_pada train --space macro --method pada --channels 4 --image-size 16 \
    --batch-size 500 --epochs 2 --validate 0 --threads 1 --quiet
same_bits retrain retrain --arch '|nor_conv_3x3~0|+|skip_connect~0|none~1|+|none~0|none~1|nor_conv_1x1~2|' \
    $small --epochs 1 --ema 0.9 --keep-best test --validate 100
for n in $counts; do for file in last.safetensors best.safetensors test.json confusion.csv; do
    check -s "$work/retrain/$file"
    cmp "$work/retrain/$file" "$work/retrain$n/$file" >"$work/cmp" 2>&1 || complain "$(cat "$work/cmp")"
done; done

# ---- a process dies; another number of processes resumes, and then one
endless="train --method pada $small --epochs 2000 --validate 100 --checkpoint-steps 1"
run=$work/killed
# shellcheck disable=SC2086 # options are words
mpirun_here 2 sh -c 'echo $$ >>"$0"; exec "$@"' "$work/pids" "$PADA_BINARY" $endless --out "$run" \
    >"$work/out" 2>"$work/all" &
child=$!
# rows RUN N: waits until a run has so many epochs.
rows() {
    tries=0
    until [ "$(cat "$1/metrics.csv" 2>/dev/null | wc -l)" -gt "$2" ] || [ $tries -ge 600 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
rows "$run" 1
command_line='mpirun, one of two killed'
kill -9 "$(sed -n 2p "$work/pids")"
wait $child
rc=$?
expect_rc 137
# shellcheck disable=SC2086
mpirun_here 4 sh -c 'echo $$ >>"$0"; exec "$@"' "$work/more" "$PADA_BINARY" $endless --out "$run" \
    >"$work/out" 2>"$work/all" &
child=$!
rows "$run" 3
command_line='mpirun, one of four told to stop'
kill -USR1 "$(sed -n 3p "$work/more")"
wait $child
rc=$?
only_pada
expect_rc 75
expect_err 'the same command resumes from there'
# shellcheck disable=SC2086
"$PADA_BINARY" $endless --out "$work/alone" >"$work/out" 2>"$work/err" &
child=$!
rows "$work/alone" 3
kill $child
wait $child
for of in killed alone; do # but for the seconds
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "seconds") s = i } NR <= 4 { $s = ""; print }' \
        "$work/$of/metrics.csv" >"$work/$of.rows"
done
check "$(wc -l <"$work/alone.rows")" -eq 4
cmp "$work/killed.rows" "$work/alone.rows" >"$work/cmp" 2>&1 || complain "$(cat "$work/cmp")"

options="train --method pada $small --epochs 2 --validate 100"
run=$work/stopped
# shellcheck disable=SC2086
team 2 $options --out "$run" --max-seconds 0.001
expect_rc 75
team 4 $options --out "$run" --max-seconds 0.001
expect_rc 75
pada $options --out "$run"
expect_rc 0
expect_same "$work/pada" "$run"

# ---- local norms: the same bits by any number of processes, on any backend, where the number of shards is the same
cut="--norm local --shards 4"
counts='2 4'
# shellcheck disable=SC2086
same_bits shards train --method pada $small --epochs 2 --validate 100 $cut
# shellcheck disable=SC2086
counts=4 same_bits ref_shards train --method fairnas $small --backend ref --batch-size 30 --hold-out 0.9 --epochs 1 --validate 0 $cut
# shellcheck disable=SC2086
counts=4 same_bits retrain_shards retrain --space macro --arch 01201201 --image-size 16 --channels 4 --batch-size 333 --threads 1 \
    --quiet --epochs 1 --ema 0.9 --validate 100 --norm local --shards 8 # two images are left, which two processes do not have
team 2 train --method spos $small --epochs 1 --norm local --out "$work/local" --max-seconds 0.001
expect_rc 75
team 4 train --method spos $small --epochs 1 --norm local --out "$work/local"
expect_rc 2
expect_err 'shards ( 2 there, 4 here)'
pada train --method spos $small --epochs 1 --norm local --shards 2 --out "$work/local"
expect_rc 0
team 2 train --method spos $small --epochs 1 --norm local --out "$work/local2"
expect_rc 0
expect_same "$work/local" "$work/local2"
team 2 train --method close $small --epochs 1 --norm local --blocks 2 --out "$work/x"
expect_rc 1
expect_err '--norm local: the gate of blocks'
pada train --method magic_a $small --epochs 1 $cut --out "$work/x"
expect_rc 1
expect_err '--norm local: features of an anchor'
pada train --method spos $small --shards 4 --out "$work/x"
refused 2 '--shards 4: goes with --norm local'
team 4 train --method spos $small --norm local --shards 2 --out "$work/x"
expect_rc 2
expect_err '--shards 2: 4 processes cannot have equally many'
team 3 train --method spos $small --norm local --out "$work/x"
expect_rc 2
expect_err '3 shards: a batch is cut into 2, 4, 8, 16, 32 or 64'
check ! -e "$work/x"

# ---- refusals: one line of one process, its exit code, nothing written
team 3 train --method spos $small --out "$work/x"
expect_rc 1
expect_err '3 processes: a batch is divided among 2, 4, 8 or 16'
team 2 train --method spos $small --backend ref --out "$work/x"
expect_rc 1
expect_err 'the ref backend does not divide batches among processes; --norm local and --backend cpu do'
team 2 train --method spos $small --seed x --out "$work/x"
refused 2 'seed'
check ! -e "$work/x"
crew 'set -- "$@" --seed 1' 'set -- "$@" --seed 2' train --method spos $small --out "$work/x"
expect_rc 65
expect_err 'process 1 has other options than process 0'
if command -v python3 >/dev/null; then
    for machine in a b; do
        mkdir "$work/$machine" && python3 "$PADA_SOURCE/tests/cli/make_photos.py" "$work/$machine/photos" cat dog
    done
    cp "$work/b/photos/train/cat/00.png" "$work/b/photos/train/cat/02.png"
    crew "cd $work/a" "cd $work/b" train --method spos --data photos --image-size 16 $small --batch-size 8 \
        --no-cache --out "$work/x"
    expect_rc 65
    expect_err 'process 1 has other images than process 0'
fi
check ! -e "$work/x/ckpt"

# ---- a full disk where process 0 writes; a folder that the other process does not see
crew 'ulimit -f 30' : train --method spos $small --epochs 1 --out "$work/full" --no-events
expect_rc 1
expect_err 'full/ckpt'
mkdir "$work/here" "$work/there"
crew "cd $work/here" "cd $work/there" $options --out run --max-seconds 0.001
expect_rc 75
crew "cd $work/here" "cd $work/there" $options --out run
expect_rc 65
expect_err 'run: process 1 finds other checkpoints there than process 0'
finish
