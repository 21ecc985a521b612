#!/bin/sh
# check-all.sh - every house rule that needs no test run: `make check`. All run; any failure fails.
set -eu
cd "$(dirname "$0")/.."

failed=
for check in check-layers.py check-headers.sh check-format.sh check-tidy.sh; do
    echo "== $check"
    status=0
    "tools/$check" || status=$?
    case $status in
    0 | 77) ;;
    *) failed="$failed $check" ;;
    esac
done

if [ -n "$failed" ]; then
    echo "check: failed:$failed" >&2
    exit 1
fi
echo "check: all good"
