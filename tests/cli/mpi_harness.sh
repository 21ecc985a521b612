# mpi_harness.sh - sourced by the command line tests with several processes, after which they have harness.sh, too.
#
#   pada_of N ARGS...        `pada ARGS` by N processes of mpirun
#   pada_mixed WORDS...      mpirun with these words, between which a : begins further processes with other words
#   said TEXT                standard error has one line of pada, with the text, beside what mpirun says and where one resumes
#   same A B                 two files, or folders but for env.json, have the same bytes
: "${PADA_SOURCE:?is the root of the source}"
. "$PADA_SOURCE/tests/dist/mpirun.sh"
. "$PADA_SOURCE/tests/cli/harness.sh"

pada_of() {
    processes=$1
    shift
    pada_mixed -n "$processes" "$PADA_BINARY" "$@"
}

pada_mixed() {
    command_line="mpirun $*"
    # shellcheck disable=SC2086 # options are words
    timeout 120 mpirun $mpi_options "$@" >"$work/out" 2>"$work/err"
    rc=$?
}

said() {
    checks=$((checks + 1))
    [ "$(grep '^pada: ' "$work/err" | grep -vc 'resuming after')" -eq 1 ] || complain "not one line of pada"
    grep '^pada: ' "$work/err" | grep -qF -- "$1" || complain "stderr lacks: $1"
}

same() {
    checks=$((checks + 1))
    diff -r -x env.json "$1" "$2" >"$work/diff" 2>&1 || complain "$(cat "$work/diff")"
}
