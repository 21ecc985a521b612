# mpirun.sh - sourced by tests with several processes; skips where there is no MPI.
if [ "${PADA_HAS_MPI:-OFF}" != ON ]; then
    echo 'skipped: built without MPI'
    exit 77
fi
command -v mpirun >/dev/null || {
    echo 'skipped: no mpirun'
    exit 77
}
# Root, and more processes than processors, are fine in a test. MPI leaks at its end what no suppression can name.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export ASAN_OPTIONS="detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
mpi_options=$(mpirun --version | grep -q 'Open MPI' && echo '--oversubscribe --bind-to none') || mpi_options=

# mpirun_here N PROGRAM ARGS...
mpirun_here() {
    # shellcheck disable=SC2086 # options are words
    n_processes=$1 && shift && timeout 120 mpirun $mpi_options -n "$n_processes" "$@"
}
