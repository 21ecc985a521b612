#!/bin/sh
# check-headers.sh - every header compiles alone and twice as C11, the public one and those that .cu files read also as C++17.
#
# Fragments that are meant to be included in the middle of something end in .inc or .def, not in .h. A header that
# needs an optional library which is not installed is left out, and named. Arguments: further include folders, for
# example the generated/ of a build.
set -eu
cd "$(dirname "$0")/.."

optional='cuda[a-z_]*\.h|cublas[A-Za-z_]*\.h|cudnn[a-z_]*\.h|nccl\.h|mpi\.h|(oneapi/)?dnnl/?[a-z_]*\.h'
includes='-Isrc -Iinclude'
for folder in "$@" build/dev/generated build/cpu/generated build/release/generated; do
    if [ -d "$folder" ]; then includes="$includes -I$folder"; fi
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
n_checked=0
n_failed=0
n_left_out=0

# compile LANGUAGE STANDARD COMPILER HEADER: one line about it in $log when it fails
compile()
{
    n_checked=$((n_checked + 1))
    # shellcheck disable=SC2086 # a list of words
    if printf '#include "%s"\n#include "%s"\n' "$4" "$4" |
        "$3" -x "$1" -std="$2" -Wall -Wextra -Werror -fsyntax-only -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE \
            $includes -I. - >"$log" 2>&1; then
        return
    fi
    if grep -Eq "fatal error: ($optional): No such file" "$log"; then
        n_left_out=$((n_left_out + 1))
        echo "check-headers: $4 left out: $(grep -Eo "($optional): No such file" "$log" | sed -n 1p)"
        return
    fi
    n_failed=$((n_failed + 1))
    echo "check-headers: $4 does not compile alone as $2:" >&2
    sed 's/^/    /' "$log" >&2
}

cxx=${CXX:-g++}
has_cxx=yes
command -v "$cxx" >/dev/null || has_cxx=no

# The list is split at line ends; no file name holds a blank.
for header in $(find src include -name '*.h' | sort); do
    compile c c11 "${CC:-gcc}" "$header"
    case $header in
    include/* | src/base/* | src/tensor/* | src/op/* | src/graph/* | src/backend/backend.h | src/backend/program.h | src/backend/update.h)
        if [ $has_cxx = yes ]; then compile c++ c++17 "$cxx" "$header"; fi
        ;;
    esac
done

[ $has_cxx = yes ] || echo "check-headers: no $cxx: the C++17 half is skipped"
echo "check-headers: $n_checked compiled, $n_failed failed, $n_left_out left out"
[ $n_failed = 0 ]
