#!/bin/sh
# check-tidy.sh - clang-tidy on the .c files that differ from a commit (default: the branch point from origin/main, or HEAD),
# new files included. --all takes every file of the build. Exit status 77 (skipped) without clang-tidy.
#
# Findings are advice (.clang-tidy makes none an error); code that clang cannot parse is a failure.
set -eu
cd "$(dirname "$0")/.."
build=build/dev

if ! command -v clang-tidy >/dev/null; then
    echo "check-tidy: skipped: no clang-tidy"
    exit 77
fi
cmake --preset dev >/dev/null

if [ "${1-}" = --all ]; then
    files=$(find src -name '*.c')
else
    base=${1-$(git merge-base HEAD origin/main 2>/dev/null || echo HEAD)}
    files=$({
        git diff --name-only --diff-filter=d "$base" -- 'src/*.c' 2>/dev/null ||
            git ls-files -- 'src/*.c' # before the first commit
        git ls-files --others --exclude-standard -- 'src/*.c'
    } | sort -u)
fi

# Only what the build compiles: a file that no CMakeLists.txt names has no flags.
compiled=
for file in $files; do
    if grep -q "\"file\": \"$PWD/$file\"" $build/compile_commands.json; then
        compiled="$compiled $file"
    fi
done
if [ -z "$compiled" ]; then
    echo "check-tidy: no changed files"
    exit 0
fi

# The database holds gcc's flags. clang needs an omp.h, and only that, from gcc when its own is not installed.
mkdir -p $build/tidy
ln -sf "$(gcc -print-file-name=include/omp.h)" $build/tidy/omp.h

# One process per file: with several, clang-tidy 14 takes every va_list of the later ones for uninitialised.
status=0
for file in $compiled; do
    clang-tidy --quiet -p $build --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-error \
        --extra-arg=-idirafter --extra-arg="$PWD/$build/tidy" "$file" || status=1
done
exit $status
