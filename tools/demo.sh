#!/bin/sh
# demo.sh - what `make demo` shows: this build, three networks of one supernet, and the speed of this machine.
set -eu

pada=${1:-build/release/pada}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' HUP INT TERM

show()
{
    printf '\n$ pada' >&2
    printf ' %s' "$@" >&2
    printf '\n' >&2
    "$pada" "$@"
}

show info

# Three sub-models share the weights of one file: all 3x3, a mixed one, and one without any convolution.
show init --space nb201 --seed 1 --out "$tmp/w.safetensors"
for arch in \
    '|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|' \
    '|nor_conv_3x3~0|+|nor_conv_1x1~0|avg_pool_3x3~1|+|skip_connect~0|none~1|nor_conv_3x3~2|' \
    '|skip_connect~0|+|none~0|skip_connect~1|+|skip_connect~0|avg_pool_3x3~1|skip_connect~2|'; do
    show eval --space nb201 --data builtin --weights "$tmp/w.safetensors" --arch "$arch"
done

show bench step --batch 64
show bench eval
