#!/bin/sh
# mpi_rank.sh - `pada rank` by one thread, by threads of one process, and by processes of one thread, in turns: medians of
# seconds and of seconds of processors. mpi_rank.sh [PADA] [WORKERS] [ROUNDS] [NETWORKS]
#
# Where the machine has other things to do, seconds say how much of it a command got. Needs GNU time and mpirun.
set -eu
pada=${1:-build/cpu/pada} workers=${2:-2} rounds=${3:-5} networks=${4:-100}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# timed NAME THREADS LAUNCHER..: a ranking from nothing; what it took goes to a file of that name.
timed() {
    name=$1 threads=$2
    shift 2
    rm -rf "$work/run/scores" "$work/run/ranking.csv"
    /usr/bin/time -a -o "$work/$name" -f '%e %U %S' "$@" "$pada" rank "$work/run" --networks "$networks" \
        --threads "$threads" --quiet >"$work/out"
}

# median NAME: of seconds, and of seconds of processors.
median() {
    awk '{ print $1 }' "$work/$1" | sort -n | sed -n "$(((rounds + 1) / 2))p"
    awk '{ print $2 + $3 }' "$work/$1" | sort -n | sed -n "$(((rounds + 1) / 2))p"
}

"$pada" train --method spos --channels 16 --cells 1 --epochs 1 --validate 0 --out "$work/run" --quiet
for round in $(seq "$rounds"); do
    timed 1-thread 1 env
    timed "$workers-threads" "$workers" env
    timed "$workers-processes" 1 mpirun --bind-to core --map-by core -n "$workers"
    echo "round $round of $rounds" >&2
done
echo '| | seconds | of processors |'
echo '|---|---|---|'
for name in 1-thread "$workers-threads" "$workers-processes"; do
    printf '| %s | %s | %s |\n' "$(echo "$name" | tr - ' ')" $(median "$name")
done
