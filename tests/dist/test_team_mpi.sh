#!/bin/sh
# test_team_mpi.sh - processes of mpirun: they hear each other, and fail and end together.
set -u
: "${TEAM_MEMBER:?is the program}" "${PADA_SOURCE:?is the root of the source}"
. "$PADA_SOURCE/tests/dist/mpirun.sh"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failures=0

complain() {
    failures=$((failures + 1))
    echo "FAILED: $1"
    sed 's/^/  /' "$work/out" "$work/err"
}

# ends RC TEXT N ARGS...: N processes end with RC, and exactly one says the text.
ends() {
    rc=$1 text=$2 n=$3
    shift 3
    mpirun_here "$n" "$TEAM_MEMBER" "$@" >"$work/out" 2>"$work/err"
    got=$?
    [ "$got" -eq "$rc" ] || complain "$n processes, $*: exit code $got, expected $rc"
    [ "$(cat "$work/out" "$work/err" | grep -cF -- "$text")" -eq 1 ] || complain "$n processes, $*: not once: $text"
}

for n in 2 3 8; do
    ends 0 "$n processes talked" "$n" talk
done
ends 65 'pada: process 0 has had enough' 3 fail 0
ends 65 'pada: process 2 has had enough' 3 fail 2
ends 65 'pada: process 2 has had enough' 3 early 2
ends 66 'pada: process 0, too' 3 all 2 # several fail: the first one speaks
ends 137 'Killed' 3 die 2
for silent in 0 2; do # one stands still until the others have named it
    mpirun_here 3 "$TEAM_MEMBER" still $silent "$work/sign$silent" >"$work/out" 2>"$work/err"
    got=$?
    if [ $got -ne 0 ] || ! grep -q "^process $silent of 3 gives no sign, " "$work/out"; then complain "exit code $got: process $silent is not named"; fi
done
[ "$("$TEAM_MEMBER" talk)" = '1 processes talked' ] || complain 'a process by itself'
exit $((failures > 0))
