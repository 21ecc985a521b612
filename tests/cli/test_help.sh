#!/bin/sh
# test_help.sh - help, version, unknown commands, options that every command has.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

for words in '' help --help; do
    # shellcheck disable=SC2086 # none or one word
    pada $words
    expect_rc 0
    expect_out_has 'usage: pada COMMAND'
    expect_out_has '  arch '
    expect_no_err
done

pada help arch
expect_rc 0
expect_out_has 'usage: pada arch'
expect_out_has '--to DIALECT'
expect_out_has '--config FILE.yaml'
expect_out_has 'examples:'
expect_no_err
cp "$work/out" "$work/help_arch"
pada arch --help
expect_rc 0
expect_out "$(cat "$work/help_arch")"

pada --version
expect_rc 0
grep -Eqx 'pada [0-9]+\.[0-9]+\.[0-9]+' "$work/out" || complain 'no version'

pada arhc
expect_usage_error "unknown command 'arhc'; did you mean 'arch'?"
pada help arhc
expect_usage_error "did you mean 'arch'?"
pada xyzzy-plugh
expect_usage_error "unknown command 'xyzzy-plugh'"
pada arch --jsn x
expect_usage_error 'json'
pada arch --channels many x
expect_usage_error 'many'

# A configuration file gives options; flags override it.
printf 'from: list\nto: naslib\n' >"$work/c.yaml"
pada arch 4,2,1,2,1,1 --config "$work/c.yaml"
expect_rc 0
expect_out '[4,3,3,0,0,0]'
pada arch 4,2,1,2,1,1 --to list --config "$work/c.yaml"
expect_out '[4,2,1,2,1,1]'
pada arch 4,2,1,2,1,1 --config "$work/none.yaml"
expect_rc 66
expect_err 'none.yaml'

# A full disk is no success.
if [ -w /dev/full ]; then
    command_line='pada help >/dev/full'
    "$PADA_BINARY" help >/dev/full 2>"$work/err"
    rc=$?
    : >"$work/out"
    expect_rc 1
    expect_err 'standard output'
fi
finish
