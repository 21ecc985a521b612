#!/bin/sh
# compile.sh - nvcc takes every file of the cuda backend, where nvcc is installed; 77: it is not.
#
# Builds without PADA_CUDA do not see those files, so that a mistake in them would go unnoticed.
set -eu
root=${PADA_SOURCE:-$(dirname "$0")/../..}

nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || {
    echo 'cuda_compiles: skipped: no nvcc'
    exit 77
}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# Nothing is run: without optimising it takes a third of the time, where nvcc has a way to say that.
echo >"$out/empty.cu"
fast=-Xcicc=-O0
"$nvcc" $fast -ptx -o "$out/empty.ptx" "$out/empty.cu" 2>/dev/null || fast=
for file in "$root"/src/backend/cuda/*.cu; do
    "$nvcc" $fast -arch=sm_90 -std=c++17 -Werror=all-warnings -Xcompiler=-Wall,-Wextra -I"$root/src" -I"$root/include" -ptx \
        -o "$out/$(basename "$file").ptx" "$file"
done
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
for file in "$root"/src/backend/cuda/*.c; do
    "${CC:-gcc}" -std=c11 -Wall -Wextra -Werror -fsyntax-only -I"$root/src" -I"$root/include" -isystem "$cuda/include" "$file"
done
echo 'cuda_compiles: all files'
