#!/bin/sh
# test-arm.sh - builds for aarch64 (plain kernels) and runs the unit tests in qemu. Arguments go to ctest.
#
# qemu runs these tests some twenty times slower than a machine would, so their time limit is longer here.
set -eu
cd "$(dirname "$0")/.."

tools/arm-sysroot.sh
cmake --preset arm
cmake --build --preset arm
ctest --preset arm -L unit -j "$(nproc)" --no-tests=error "$@"
