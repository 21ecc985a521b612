#!/bin/sh
# test_low_memory.sh - with little memory a training ends in order, and nothing in the program could end it by itself.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

# Libraries that abort where memory or a thread is refused.
if command -v ldd >/dev/null; then
    command_line="ldd $PADA_BINARY"
    ldd "$PADA_BINARY" >"$work/out" 2>"$work/err"
    checks=$((checks + 1))
    ! grep -E 'glib|gobject|pango|cairo|fontconfig|gvc|cgraph' "$work/out" || complain 'a library that may abort'
fi

# What the sanitizers keep for themselves is more than all of this.
if nm "$PADA_BINARY" 2>/dev/null | grep -q __asan_init; then
    echo 'test_low_memory: no limits under sanitizers'
    finish
fi

limited() { # limited KILOBYTES FOLDER
    command_line="train with $1 KB"
    (
        ulimit -v "$1"
        OMP_NUM_THREADS=1 "$PADA_BINARY" train --data builtin --epochs 12 --channels 2 --cells 1 --batch-size 20 --validate 0 \
            --threads 1 --quiet --out "$work/$2"
    ) >"$work/out" 2>"$work/err"
    rc=$?
}

limited 60000 whole
expect_rc 0
expect_no_err
checks=$((checks + 1))
[ "$(wc -l <"$work/whole/metrics.csv")" -eq 13 ] || complain 'not twelve epochs'

# With ever less it says what is missing, or does not even start (the loader: 127).
for kilobytes in 50000 40000 32000 28000 24000 20000 16000 12000; do
    limited $kilobytes "less-$kilobytes"
    checks=$((checks + 1))
    case $rc in
    0 | 127) ;;
    1) grep -q 'out of memory' "$work/err" || complain "no word about memory: $(cat "$work/err")" ;;
    *) complain "exit status $rc: $(cat "$work/err")" ;;
    esac
done
finish
