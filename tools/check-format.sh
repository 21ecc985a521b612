#!/bin/sh
# check-format.sh - clang-format leaves every C and CUDA file as it is. --fix rewrites them instead.
#
# Versions of clang-format disagree in details, so only version 14 (Debian 12; package clang-format-14 elsewhere) is
# used, or the program named by CLANG_FORMAT. Without it: exit status 77, skipped.
set -eu
cd "$(dirname "$0")/.."
wanted=14

mode='--dry-run -Werror'
case "${1-}" in
'') ;;
--fix) mode=-i ;;
*)
    echo "usage: $0 [--fix]" >&2
    exit 2
    ;;
esac

tool=${CLANG_FORMAT-}
if [ -z "$tool" ]; then
    for candidate in clang-format-$wanted clang-format; do
        command -v "$candidate" >/dev/null || continue
        case "$("$candidate" --version)" in
        *" version $wanted."*)
            tool=$candidate
            break
            ;;
        esac
    done
fi
if [ -z "$tool" ]; then
    echo "check-format: skipped: no clang-format of version $wanted (install clang-format-$wanted)"
    exit 77
fi

folders=
for folder in include src tests bench; do
    if [ -d "$folder" ]; then folders="$folders $folder"; fi
done

# shellcheck disable=SC2086 # lists of words
find $folders -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
    xargs -0 -r "$tool" --style=file $mode
