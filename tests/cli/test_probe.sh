#!/bin/sh
# test_probe.sh - `pada probe`, checkpoints that stay, and supernets of a part of the operators.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

small='--channels 2 --cells 1 --batch-size 100 --validate 0 --threads 1 --quiet'
run=$work/run

# ---- checkpoints that stay, and what is measured at them ----

# shellcheck disable=SC2086
pada train $small --epochs 2 --checkpoint-epochs 1 --path-schedule const --path-tau-max 0.5 --out "$run"
expect_rc 0
check "$(find "$run/ckpt" -name '*.safetensors' | wc -l)" -eq 2
for kind in 'variance --draws 16 --exact 2' 'bounds --paths 1 --images 4' 'trainability --paths 1 --images 4'; do
    # shellcheck disable=SC2086
    pada probe $kind "$run" --threads 1
    expect_rc 0
    expect_no_err
    check "$(wc -l <"$work/out")" -eq 3
    check "$(wc -l <"$run/probes/${kind%% *}.csv")" -eq 3
    cp "$work/out" "$work/first"
    # shellcheck disable=SC2086
    pada probe $kind "$run" --threads 1
    check_same="$(cmp "$work/out" "$work/first" 2>&1)"
    check -z "$check_same"
    check "$(wc -l <"$run/probes/${kind%% *}.csv")" -eq 3
done
pada probe bounds "$run" --paths 1 --images 4 --newest --json
expect_rc 0
check "$(wc -l <"$work/out")" -eq 1
expect_out_has '{"kind": "bounds", "epoch": 2, "step": 40, "pearson": '
pada probe bounds "$run" --images 101
expect_rc 2
expect_err '--images 101: batches of this run have 100'
pada probe bound "$run"
expect_rc 2
expect_err "unknown kind of probe 'bound'; did you mean 'bounds'?"
pada probe bounds
expect_rc 2
expect_err 'give a kind and a run folder'
pada probe bounds "$work"
expect_rc 66
expect_err 'no config.yaml in this folder'
# The same command goes on from where it is; another number of epochs is another run.
# shellcheck disable=SC2086
pada train $small --epochs 2 --path-schedule const --path-tau-max 0.5 --out "$run"
expect_rc 2
expect_err 'checkpoint-epochs'

# ---- a part of the operators ----

# shellcheck disable=SC2086
pada train $small --epochs 1 --ops nor_conv_1x1,nor_conv_3x3 --out "$work/narrow"
expect_rc 0
header=$(head -1 "$work/narrow/metrics.csv" | tr ',' '\n' | grep -n '^p_none$' | cut -d: -f1)
check "$(tail -1 "$work/narrow/metrics.csv" | cut -d, -f"$header")" = 0
pada rank "$work/narrow" --limit 20
expect_rc 0
check "$(wc -l <"$work/narrow/ranking.csv")" -eq 65
check "$(grep -c 'none~\|skip_connect~\|avg_pool' "$work/narrow/ranking.csv")" -eq 0
pada rank "$work/narrow" --limit 20 --networks 65 --out "$work/more.csv"
expect_rc 2
expect_err 'a sample of 65 networks is not in 1 to 64'
pada search "$work/narrow"
expect_rc 2
expect_err 'trained with --ops nor_conv_1x1,nor_conv_3x3'
for method in spos conv_anneal; do
    # shellcheck disable=SC2086
    pada train $small --method "$method" --epochs 1 --ops skip_connect,nor_conv_3x3 --out "$work/$method"
    expect_rc 0
done
# shellcheck disable=SC2086
pada train $small --method fairnas --ops nor_conv_3x3 --out "$work/fair"
expect_rc 2
expect_err 'method fairnas trains all choices of a space; leave --ops out'
check ! -e "$work/fair"
# shellcheck disable=SC2086
pada train $small --ops nor_conv_3x3,conv --out "$work/fair"
expect_rc 2
expect_err "--ops: unknown operator 'conv'"
# shellcheck disable=SC2086
pada train $small --method fewshot --checkpoint-epochs 1 --out "$work/fair"
expect_rc 2
expect_err '--checkpoint-epochs: method fewshot trains several supernets'

finish
