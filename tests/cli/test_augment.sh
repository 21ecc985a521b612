#!/bin/sh
# test_augment.sh - changes of training images: --flip-order, --auto-augment, --cutout, --random-erasing.
# shellcheck source=tests/cli/harness.sh
. "$PADA_SOURCE/tests/cli/harness.sh"

sizes='--channels 4 --cells 1 --epochs 2 --batch-size 250 --seed 5 --validate 0'
changes='--flip-order flip --auto-augment v0 --cutout 8 --random-erasing 0.5'

# ---- any number of threads, killed or not, the same bits
for threads in 1 4; do
    # shellcheck disable=SC2086 # the list is split into words on purpose
    pada train --method spos $sizes $changes --threads $threads --out "$work/t$threads" --quiet
    expect_rc 0
done
expect_same "$work/t1" "$work/t4"
# shellcheck disable=SC2086
train_and_kill "$work/killed" --method spos $sizes $changes --checkpoint-steps 1
expect_rc 0
expect_same "$work/t1" "$work/killed"

# ---- each of them matters, none of them is none; the default order of flips is that of the data set
hash_of() {
    # shellcheck disable=SC2086
    pada train --method single --arch '|nor_conv_1x1~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|' $sizes "$@" \
        --epochs 1 --out "$work/run" --quiet
    expect_rc 0
    rm -rf "$work/run"
    hash=$(sed 's/.*weights //' "$work/out")
}
hash_of
plain=$hash
for options in '--flip-order auto' '--flip-order crop' '--auto-augment none --cutout 0 --random-erasing 0'; do
    # shellcheck disable=SC2086
    hash_of $options
    check "$hash" = "$plain"
done
seen=$plain
for options in '--flip-order flip' '--auto-augment original' '--auto-augment v0' '--cutout 8' '--random-erasing 0.3'; do
    # shellcheck disable=SC2086
    hash_of $options
    case $seen in *"$hash"*) complain "no other weights with $options" ;; esac
    checks=$((checks + 1))
    seen="$seen $hash"
done

# ---- they are part of a run, and only where they are given
# shellcheck disable=SC2086
pada train --method spos $sizes $changes --cutout 4 --out "$work/t1" --quiet
expect_usage_error 'this run has another configuration: cutout ( 8 there, 4 here)'
# shellcheck disable=SC2086
pada train --method spos $sizes --out "$work/none" --quiet
expect_rc 0
checks=$((checks + 1))
grep -qE 'cutout|erasing|auto-augment|flip-order' "$work/none/config.yaml" && complain 'an old run could not be resumed'

# ---- a truth table with them
pada truth --networks 2 --channels 4 --cells 1 --epochs 1 --cutout 8 --auto-augment original --out "$work/truth" --quiet
expect_rc 0

# ---- what cannot be; nothing is written
refuse() {
    wanted=$1
    shift
    # shellcheck disable=SC2086
    pada train --method spos $sizes "$@" --out "$work/x" --quiet
    expect_usage_error "$wanted"
    # shellcheck disable=SC2086
    pada truth --networks 1 --channels 4 --cells 1 "$@" --out "$work/x" --quiet
    expect_usage_error "$wanted"
    check ! -e "$work/x"
}
refuse 'a cutout of 17 pixels is larger than the images of builtin, 16' --cutout 17
refuse '--cutout' --cutout -1
refuse '--random-erasing' --random-erasing 1.5
refuse '--random-erasing' --random-erasing nan
refuse '--auto-augment' --auto-augment v1
refuse '--flip-order' --flip-order first
refuse '--cutout changes images, --no-augment leaves them as they are' --cutout 4 --no-augment
refuse '--auto-augment changes images, --no-augment leaves them as they are' --auto-augment v0 --no-augment
refuse 'the colours of builtin cannot be changed' --color-jitter 0.4

# ---- how fast
# shellcheck disable=SC2086
pada bench data --images 100 $changes --threads 2 --json
expect_rc 0
expect_out_has '"threads": 2'
pada bench data --images 100 --cutout 17
expect_usage_error 'a cutout of 17 pixels is larger'
finish
