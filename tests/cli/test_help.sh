#!/bin/sh
# test_help.sh - help, version, unknown commands, options that every command has.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

for words in '' help --help -h; do
    # shellcheck disable=SC2086 # none or one word
    pada $words
    expect_rc 0
    expect_out_has 'usage: pada COMMAND'
    expect_out_has '  arch '
    expect_no_err
done

expect_out_has 'examples:'

commands=$("$PADA_BINARY" completion words -- '' | sed -n '2,$p' | cut -f1 | grep -v '^-')
checks=$((checks + 1))
[ "$(echo "$commands" | wc -l)" = "$(grep -c '^PADA_COMMAND' "$PADA_SOURCE/src/cli/commands.def")" ] || complain "commands: $commands"
for command in $commands; do
    pada help "$command"
    expect_rc 0
    expect_no_err
    expect_out_has "usage: pada $command"
    expect_out_has '--help'
    expect_out_has 'examples:'
    tail -1 "$work/out" | grep -q 'pada ' || complain 'no example'
    cp "$work/out" "$work/help_command"
    for flag in --help -h; do
        pada "$command" $flag
        expect_rc 0
        expect_out "$(cat "$work/help_command")"
    done
    [ "$(wc -L <"$work/help_command")" -le 140 ] || complain 'a line of more than 140 letters'
    # Its examples are right as far as options go: what stops them is a configuration that is not there.
    sed -n '/^examples:/,$ s/^  pada \(.*\)/\1/p' "$work/help_command" | sed 's/ [|>] .*//' >"$work/examples"
    while read -r example; do
        eval "pada $example --config '$work/none.yaml'"
        case $example in *--help*) expect_rc 0 ;; help*) expect_rc 66 ;; *) refused 66 none.yaml ;; esac
    done <"$work/examples"
done

# The network in the example of retrain is one.
example=$("$PADA_BINARY" help retrain | sed -n "s|^  pada \(retrain --arch.*\) --out .*|\1|p")
eval "pada $example --channels 2 --cells 1 --out '$work/run' --max-seconds 0.001 --quiet"
expect_rc 75

pada help arch
expect_rc 0
expect_out_has 'usage: pada arch'
expect_out_has '--to DIALECT'
expect_out_has '--config FILE.yaml'
expect_out_has 'examples:'
expect_no_err
pada help arch train
expect_usage_error "unexpected word 'train'"

pada --version
expect_rc 0
grep -Eqx 'pada [0-9]+\.[0-9]+\.[0-9]+' "$work/out" || complain 'no version'

pada arhc
expect_usage_error "unknown command 'arhc'; did you mean 'arch'?"
pada help arhc
expect_usage_error "did you mean 'arch'?"
pada xyzzy-plugh
expect_usage_error "unknown command 'xyzzy-plugh'"

# Every kind of name is answered with the nearest one, or with all of them.
near() {
    pada "$@"
    expect_usage_error "did you mean $wanted?"
}
wanted="'spos'" near train --method sops --out "$work/run"
wanted="'nb201'" near init --space nb210 --out "$work/w"
wanted="'list'" near arch --from lits 1,1,1,1,1,1
wanted="'svg'" near arch --from list --to svgg 1,1,1,1,1,1
wanted="'naslib'" near eval --arch-dialect nasilb 1,1,1,1,1,1
wanted="'builtin'" near rank --predictions "$work/s.csv" --truth builtin --truth-column bultin
wanted=test near eval --split tset 1,1,1,1,1,1
wanted="'step'" near bench stpe
wanted="'verify'" near data verfy builtin
wanted="'zsh'" near completion zhs
wanted=--arch near train --method single --path 1,1,1,1,1,1 --out "$work/run"
wanted=--epochs near train --epohcs 3 --out "$work/run"
wanted=--no-events near train --no-evnets --out "$work/run"
pada train --backend ceu --out "$work/run"
expect_rc 69
expect_err "did you mean 'cpu'?"
pada data info bulitin
expect_rc 66
expect_err "did you mean 'builtin'?"
pada train --method xyzzy-plugh --out "$work/run"
expect_usage_error "unknown method 'xyzzy-plugh'; one of: pada, spos, "
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
