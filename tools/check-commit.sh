#!/bin/sh
# check-commit.sh - commit messages: "scope: imperative summary", at most 72 characters.
#
#   tools/check-commit.sh                 the last commit
#   tools/check-commit.sh main..HEAD      every commit of a range
#   tools/check-commit.sh FILE            a message in a file; as a hook:
#                                         ln -s ../../tools/check-commit.sh .git/hooks/commit-msg
#
# Scopes are the folders of src/ and: python build tests docs ci bench tools.
set -eu

root=$(dirname "$(readlink -f "$0")")/..
scopes=
for folder in "$root"/src/*/; do
    scopes="$scopes$(basename "$folder") "
done
scopes="${scopes}python build tests docs ci bench tools"
# No grammar, just the usual slips: "added", "fixes", "using".
not_imperative='(add|fix|test|check|support|implement|allow|return|print|read|report)(s|es|ed|ing)'
not_imperative="$not_imperative|(chang|updat|remov|renam|us|mak|improv|introduc|writ|mov|merg|ensur)(es|ed|ing)"
not_imperative="$not_imperative|made|wrote"
failed=0

# check NAME MESSAGE
check()
{
    # What git itself strips: comments of the editor template, everything below the scissors line.
    message=$(printf '%s\n' "$2" | sed '/^# -* >8 -*$/,$d; /^#/d' | sed '/./,$!d')
    subject=$(printf '%s\n' "$message" | sed -n 1p)
    second=$(printf '%s\n' "$message" | sed -n 2p)
    scope=${subject%%:*}
    summary=${subject#*: }
    first=${summary%% *}
    # Characters, not bytes, whatever the locale: continuation bytes of UTF-8 are not counted.
    length=$(printf %s "$subject" | LC_ALL=C tr -d '\200-\277' | wc -c)
    problem=

    case $subject in
    [a-z]*': '?*) ;;
    *) problem='the form is "scope: imperative summary"' ;;
    esac
    if [ -z "$problem" ]; then
        case " $scopes " in
        *" $scope "*) ;;
        *) problem="unknown scope \"$scope\", one of: $scopes" ;;
        esac
    fi
    if [ -z "$problem" ]; then
        if printf '%s\n' "$first" | grep -Eiqx "$not_imperative"; then
            problem="\"$first\" is not an imperative"
        fi
    fi
    if [ -z "$problem" ] && [ "$length" -gt 72 ]; then
        problem="$length characters, more than 72"
    fi
    if [ -z "$problem" ]; then
        case $subject in
        *. | *' ') problem='ends with a full stop or a blank' ;;
        esac
    fi
    if [ -z "$problem" ] && [ -n "$second" ]; then
        problem='the second line is not empty'
    fi
    if [ -n "$problem" ]; then
        echo "check-commit: $1: $problem: \"$subject\"" >&2
        failed=1
    fi
}

if [ $# -gt 1 ]; then
    echo "usage: $0 [RANGE | FILE]" >&2
    exit 2
fi
if [ $# = 1 ] && [ -f "$1" ]; then
    check "$1" "$(cat "$1")"
else
    case "${1-}" in
    *..*) commits=$(git rev-list "$1") ;;
    *) commits=$(git rev-list --max-count=1 "${1-HEAD}") ;;
    esac
    for commit in $commits; do
        check "$(git log -1 --format=%h "$commit")" "$(git log -1 --format=%B "$commit")"
    done
fi
exit $failed
