#!/bin/sh
# test_manual.sh - manual pages: every command and option is there, groff and mandoc (where installed) have nothing
# to complain about, and what a reader sees is what the help says.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

# lint: the page in $work/out
lint() {
    checks=$((checks + 1))
    if command -v groff >/dev/null; then
        groff -man -ww -b -Tascii "$work/out" >"$work/page" 2>"$work/lint" || complain 'groff'
        [ ! -s "$work/lint" ] || complain "groff: $(head -3 "$work/lint")"
        # Without the bold of terminals, lines joined.
        sed 's/.\x08//g; s/\x1b\[[0-9;]*m//g' "$work/page" | tr -s ' \n' '  ' >"$work/plain"
    fi
    if command -v mandoc >/dev/null; then
        mandoc -Tlint -W warning "$work/out" | grep -v 'missing date' >"$work/lint" # a page has none: builds repeat
        [ ! -s "$work/lint" ] || complain "mandoc: $(head -3 "$work/lint")"
    fi
}

shows() {
    checks=$((checks + 1))
    [ ! -e "$work/plain" ] || grep -qF -- "$1" "$work/plain" || complain "the page does not show: $1"
}

pada help --man
expect_rc 0
expect_no_err
lint
shows 'EXIT STATUS 0 done'
commands=$("$PADA_BINARY" completion words -- '' | sed -n '2,$p' | cut -f1 | grep -v '^-')
for command in $commands; do
    expect_out_has "pada\\-$command"
done

for command in $commands; do
    "$PADA_BINARY" completion words -- "$command" -- | sed -n '2,$s/\t.*//p' >"$work/options"
    pada help --man "$command"
    expect_rc 0
    expect_no_err
    lint
    shows "pada-$command - "
    shows "SYNOPSIS pada $command"
    while read -r option; do
        shows "${option#--no-}"
    done <"$work/options"
done

# What roff would read as its own.
pada help --man arch
lint
shows "pada arch '|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|' --to iso"

# The options of a method stand in its section, with its defaults, and nowhere else.
pada help --man train
lint
sed -n '/^\.SS.*method pada$/,/^\.SS.*method spos$/p' "$work/out" | grep -qF -- '\-\-path\-scope' || complain 'no option of pada'
sed -n '/^\.SS.*method fairnas$/,/^\.SS/p' "$work/out" | grep -qF -- '\-\-path\-scope' && complain 'an option of pada for fairnas'
sed -n '/^\.SH OPTIONS/,/^\.SS/p' "$work/out" | grep -qF -- '\-\-path\-scope' && complain 'an option of pada for all'

pada help --man trian
expect_usage_error "did you mean 'train'?"
finish
