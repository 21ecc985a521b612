#!/bin/sh
# test_init.sh - `pada init`: the same seed gives the same file, and a failure leaves none.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

small='--channels 4 --cells 1'
mkdir "$work/files"
init() {
    # shellcheck disable=SC2086 # a list of words
    pada init $small "$@"
}
expect_files() {
    checks=$((checks + 1))
    found=$(find "$work/files" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ')
    [ "$found" = "$1" ] || complain "files: $found, expected: $1"
}

init --seed 7 --out "$work/files/a"
expect_rc 0
expect_no_err
expect_out_has "$work/files/a: 85 tensors, "
init --seed 7 --out "$work/files/b" --json
expect_rc 0
expect_out_has "{\"file\": \"$work/files/b\", \"tensors\": 85, \"weights\": "
hash=$(sed 's/.*"weights_hash": "\([0-9a-f]*\)".*/\1/' "$work/out")
checks=$((checks + 1))
[ "${#hash}" -eq 16 ] || complain "the hash is '$hash'"
cmp -s "$work/files/a" "$work/files/b" || complain 'one seed gave two files'

# One network by itself, whose norms have scales and shifts.
init --arch '|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|skip_connect~0|nor_conv_3x3~1|nor_conv_3x3~2|' --out "$work/one"
expect_rc 0
expect_no_err
checks=$((checks + 1))
grep -q 'cells.1.conv_a.op.2.bias' "$work/one" || complain 'not the final form'
init --arch '|x|' --out "$work/none"
refused 2 "unknown operator 'x'"

init --seed 8 --out "$work/files/c"
expect_rc 0
checks=$((checks + 1))
cmp -s "$work/files/a" "$work/files/c" && complain 'two seeds gave one file'
# An existing file is replaced.
init --seed 8 --out "$work/files/a"
expect_rc 0
checks=$((checks + 1))
cmp -s "$work/files/a" "$work/files/c" || complain 'the old file is still there'
expect_files 'a b c '

# The sizes arrive in the file.
init --classes 100 --out "$work/files/c"
expect_rc 0
checks=$((checks + 1))
grep -aqF '"classifier.weight":{"dtype":"F32","shape":[100,16]' "$work/files/c" || complain 'no 100 classes'
rm "$work/files/"*

init
expect_usage_error '--out FILE'
init --out "$work/files/a" b
expect_usage_error "unexpected word 'b'"
init --out "$work/files/a" --seed -1
expect_usage_error '-1'
init --out "$work/files/a" --space nb202
expect_usage_error "did you mean 'nb201'?"
init --out "$work/files/a" --image-size 30
expect_usage_error 'image size 30'
expect_files ''

# Nowhere to write to.
init --out "$work/none/a"
expect_rc 1
expect_err "$work/none/a: No such file or directory"
expect_out ''
init --out "$work/files"
expect_rc 1
expect_err "$work/files: Is a directory"
expect_out ''
expect_files ''
finish
