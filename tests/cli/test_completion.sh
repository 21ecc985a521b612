#!/bin/sh
# test_completion.sh - completion: what the program offers, and what bash and zsh (where installed) make of it.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

# offers "KIND WORD WORD.." TYPED WORDS..: the whole answer, meanings left out.
offers() {
    wanted=$1
    shift
    pada completion words -- "$@"
    expect_rc 0
    expect_no_err
    cut -f1 "$work/out" >"$work/words"
    checks=$((checks + 1))
    [ "$(tr '\n' ' ' <"$work/words")" = "$wanted " ] || complain "expected: $wanted"
}

offers 'none train truth' tr
offers 'none --version' --v
offers 'none --method' train --met
offers 'none spos spos_depth spos_macs' train --method sp
offers 'none spos spos_depth spos_macs' train --method = sp
offers 'none --method=spos --method=spos_depth --method=spos_macs' train --method=sp
offers 'none --path-scope --path-schedule' train --method pada --path-s
offers 'none' train --method spos --path-s
offers 'none --path-scope --path-schedule' train --method pa --out x --path-s
offers 'none --no-events' train --no-e
offers 'none train test' eval --split t
offers 'none svg' arch --to s
offers 'none nb201' init --space n
offers 'none cpu cpu-avx512 cpu-avx2 cpu-fma cpu-plain' bench step --backend cp
offers 'folders builtin' train --data b
offers 'files .csv builtin' rank runs/a --truth ''
offers 'files .yaml' train --config ''
offers 'files' rank --list ''
offers 'none info verify' data ''
offers 'folders builtin' data verify ''
offers 'files .csv' compare a b ''
offers 'none step' bench --repeats 3 st
offers 'none train truth' help tr
offers 'none' nonsense ''
offers 'none' train --epochs ''
offers 'none --epochs' train --method zzz --epo
pada completion bash x
expect_usage_error "unexpected word 'x'"

mkdir "$work/bin" "$work/here" "$work/here/runs"
ln -s "$PADA_BINARY" "$work/bin/pada"
touch "$work/here/t.csv" "$work/here/t.txt" "$work/here/a b.csv"
PATH=$work/bin:$PATH
export PATH
"$PADA_BINARY" completion bash >"$work/pada.bash"
"$PADA_BINARY" completion zsh >"$work/_pada"

# in_bash EXPECTED WORDS..: the replies of the function that `complete` knows, between < and >.
in_bash() {
    wanted=$1
    shift
    command_line="bash: $*"
    (cd "$work/here" && bash --norc -c '
        source "$0"
        [[ $(complete -p pada) == "complete -F _pada pada" ]] || echo not registered
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _pada
        printf "<%s>\n" "${COMPREPLY[@]}" | LC_ALL=C sort | tr -d "\n"' "$work/pada.bash" "$@") >"$work/out" 2>"$work/err"
    expect_no_err
    checks=$((checks + 1))
    [ "$(cat "$work/out")" = "$wanted" ] || complain "expected: $wanted"
}
in_bash '<train><truth>' pada tr
in_bash '<spos><spos_depth><spos_macs>' pada train --method sp
in_bash '<spos><spos_depth><spos_macs>' pada train --method = sp
in_bash '<a b.csv><builtin><runs><t.csv>' pada rank runs --truth ''
in_bash '<builtin><runs>' pada data verify ''
in_bash '<runs>' pada train --out = r
in_bash '<a b.csv><runs><t.csv><t.txt>' pada rank --list ''

if ! command -v zsh >/dev/null; then
    echo 'no zsh: its script is not tried'
    finish
fi

# The functions of the completion system print what they are asked to offer.
in_zsh() {
    wanted=$1
    shift
    command_line="zsh: $*"
    (cd "$work/here" && zsh -f -c '
        compdef() { registered="$*" }
        _describe() { printf "<%s>" "${(@P)4}" }
        _files() { printf "[files %s]" "$*" }
        compset() { :; }
        source "$1"
        [[ $registered == "_pada pada" ]] || echo not registered
        words=("${@[2,-1]}") CURRENT=$(($# - 1))
        _pada' zsh "$work/_pada" "$@") >"$work/out" 2>"$work/err"
    expect_no_err
    checks=$((checks + 1))
    [ "$(cat "$work/out")" = "$wanted" ] || complain "expected: $wanted"
}
in_zsh '<--epochs:epochs to train>' pada train --epo
in_zsh '<spos:><spos_depth:><spos_macs:>' pada train --method sp
in_zsh '<--method=spos:><--method=spos_depth:><--method=spos_macs:>' pada train --method=sp
in_zsh '<builtin:>[files -g *.csv]' pada rank runs --truth ''
in_zsh '<builtin:>[files -/]' pada data verify ''
in_zsh '[files ]' pada rank --list ''
in_zsh "<--cells:searched cells per stage (default\\: the space's own)>" pada init --cel
finish
