#!/bin/sh
# test_farm_mpi.sh - tasks handed out to processes of mpirun: each is done once, by all of them, until somebody fails or stops.
set -u
: "${FARM_MEMBER:?is the program}" "${PADA_SOURCE:?is the root of the source}"
. "$PADA_SOURCE/tests/dist/mpirun.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

# ends RC TEXT N ARGS...: N processes end with RC, and exactly one says the text.
ends() {
    rc=$1 text=$2 n=$3
    shift 3
    mpirun_here "$n" "$FARM_MEMBER" "$@" >"$work/out" 2>"$work/err"
    got=$?
    if [ "$got" -ne "$rc" ] || [ "$(cat "$work/out" "$work/err" | grep -cF -- "$text")" -ne 1 ]; then
        failures=$((failures + 1))
        echo "FAILED: $n processes, $*: exit code $got, expected $rc, and: $text"
        sed 's/^/  /' "$work/out" "$work/err"
    fi
}

ends 0 'all done' 2 all
ends 0 'all done' 5 all
ends 65 'pada: rank 0 is ill' 3 fail 0
ends 65 'pada: process 2 of 3: rank 2 is ill' 3 fail 2
ends 75 'pada: stopped in round 0' 3 stop 0
ends 75 'pada: stopped in round 0' 3 stop 2
ends 0 'process 2 of 3 gives no sign, ' 3 still 2 # stopped, until process 0 has named it
ends 1 'pada: no room for task 50' 3 keep
ends 65 'does not have the mind of process 0' 3 differ 2
# a process dies and the launcher, which then ends with 0 in any case, lets the others live: they do what it was doing, and end
# with process 0
if mpirun --version | grep -q 'Open MPI'; then
    mpi_options="$mpi_options --enable-recovery"
    ends 0 'process 2 of 3 has died; others do what it was doing' 3 die 2
    ends 0 'all done' 5 die 3
    ends 0 'all done' 2 die 1
    ends 0 'pada: process 0 of 3 has died' 3 die 0
fi
exit $((failures > 0))
