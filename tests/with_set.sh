#!/bin/sh
# with_set.sh - runs a test with the cpu backend held to one instruction set: with_set.sh SET COMMAND...
#
# Skipped (77) on a machine that does not have the set.
: "${PADA_BINARY:?is the pada that knows the sets of this machine}"
set=$1
shift
unset PADA_CPU
if ! "$PADA_BINARY" info | grep -q "available: $set,"; then
    echo "skipped: this machine has no $set"
    exit 77
fi
PADA_CPU=$set exec "$@"
