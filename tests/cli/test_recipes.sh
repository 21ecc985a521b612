#!/bin/sh
# test_recipes.sh - every recipe trains, in small, with the method it names; every method has one.
. "$PADA_SOURCE/tests/cli/harness.sh"

small='--channels 4 --cells 1 --epochs 2 --hold-out 0.9 --batch-size 100 --validate 0 --threads 2 --quiet --no-events'

for recipe in "$PADA_SOURCE"/recipes/*.yaml; do
    name=$(basename "$recipe" .yaml)
    case $name in retrain-*) continue ;; esac # of `pada retrain`: test_retrain.sh
    method=$(sed -n 's/^method: //p' "$recipe")
    case $method in
    fewshot) more='--child-epochs 1' ;;
    gm) more='--split-repeats 1 --warmup-epochs 1 --final-epochs 1' ;;
    nsas) more='--nsas-archive 2' ;;
    *) more= ;;
    esac
    # shellcheck disable=SC2086 # lists of options
    pada train --config "$recipe" $small $more --out "$work/$name"
    expect_rc 0
    expect_no_err
    # What the recipe says besides sizes is what the run had.
    grep -vE '^(#|epochs|child-epochs|split-repeats|warmup-epochs|final-epochs|nsas-archive)' "$recipe" >"$work/lines"
    while IFS=: read -r key value; do
        checks=$((checks + 1))
        had=$(sed -n "s/^$key: *//p" "$work/$name/config.yaml" | tr -d "\"' ")
        [ "$had" = "$(printf '%s' "$value" | tr -d "\"' ")" ] || complain "$name: $key is $had, not$value"
    done <"$work/lines"
done
for method in $(sed -n 's/^PADA_STRATEGY(\([a-z_0-9]*\)).*/\1/p' "$PADA_SOURCE/src/strategy/strategies.def"); do
    [ "$method" = single ] && continue # a path of one's own
    checks=$((checks + 1))
    grep -qhx "method: $method" "$PADA_SOURCE"/recipes/*.yaml || complain "no recipe for $method"
done
finish
