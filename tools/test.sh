#!/bin/sh
# test.sh - builds and tests the presets dev and cpu, and prints one line of totals. Arguments go to ctest.
#
# A preset that cannot be configured or built counts as one failed test, and the other one still runs. The last line
# on stdout is always "N passed, N failed, N skipped"; the exit status is 1 unless nothing failed. Tests run one
# after the other because each of them uses all cores; CTEST_PARALLEL_LEVEL=N changes that.
set -eu
cd "$(dirname "$0")/.."

# Tests of checkpoints wait for the disk half of their time. Files in memory are as good, where there is room for them
# and programs may run there.
memory=/dev/shm
if [ -z "${TMPDIR-}" ] && probe=$(mktemp -d "$memory/pada-probe-XXXXXX" 2>/dev/null); then
    printf '#!/bin/sh\n' >"$probe/run"
    chmod +x "$probe/run"
    free=$(df -Pk "$memory" | awk 'NR == 2 { print $4 }')
    if [ "$free" -gt 4000000 ] && "$probe/run" 2>/dev/null; then export TMPDIR=$memory; fi
    rm -rf "$probe"
fi

results=
broken=0
status=0
for preset in ${PADA_TEST_PRESETS-dev cpu}; do
    echo "== $preset"
    xml=build/$preset/ctest.xml # relative, so that no blank of a folder name splits the list below
    rm -f "$xml"
    if ! cmake --preset "$preset" || ! cmake --build --preset "$preset"; then
        echo "test: preset $preset does not build" >&2
        broken=$((broken + 1))
        continue
    fi
    # The totals are read from the file, test by test; a ctest that ends without writing it counts as a failure.
    ctest --preset "$preset" -j "$(nproc)" --no-tests=error --output-junit "$PWD/$xml" "$@" || status=1
    results="$results $xml"
done

# shellcheck disable=SC2086 # the list is split into words on purpose
python3 tools/sum-tests.py --broken "$broken" $results || status=1
exit $status
