#!/bin/sh
# test_train.sh - pada train: run folders, interruptions, refusals.
. "$PADA_SOURCE/tests/cli/harness.sh"

small="--channels 4 --cells 1 --epochs 3 --batch-size 250 --validate 100 --threads 2"

# ---- an uninterrupted run, and what it leaves behind
whole=$work/whole
pada train --method pada $small --out "$whole" --quiet
expect_rc 0
expect_only_chance
expect_out_has "pada, 3 epochs, weights "
checks=$((checks + 1))
[ "$(wc -l <"$whole/metrics.csv")" -eq 4 ] || complain "metrics.csv has no header and three rows"
checks=$((checks + 1))
[ -s "$whole/env.json" ] && [ -s "$whole/config.yaml" ] || complain "env.json or config.yaml missing"
# The last hash of the metrics is that of the weights in the checkpoint.
hash=$(tail -n 1 "$whole/metrics.csv" | awk -F, '{ print $(NF - 1) }')
expect_out_has "weights $hash"
pada eval "$whole" --arch '|skip_connect~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|skip_connect~2|' --limit 50 --json
expect_rc 0
expect_out_has "\"weights_hash\": \"$hash\""

# ---- the same command again has nothing to do; another thread count gives the same bits
pada train --method pada $small --out "$whole" --quiet
expect_rc 0
expect_out_has "weights $hash"
pada train --method pada $small --threads 1 --out "$work/one" --quiet
expect_rc 0
expect_same "$whole" "$work/one"

# ---- kill -9 at random moments, with a checkpoint after every step and after some
for every in 1 3; do
    train_and_kill "$work/killed$every" --method pada $small --checkpoint-steps $every
    expect_rc 0
    expect_same "$whole" "$work/killed$every"
done

# ---- signals and time limits: exit 75 with a checkpoint
for signal in TERM INT USR1; do
    stopped=$work/stopped$signal
    # sh -m: background jobs of a script would ignore SIGINT otherwise
    "$PADA_BINARY" train --method pada $small --epochs 4000 --out "$stopped" --quiet \
        >"$work/out" 2>"$work/err" &
    child=$!
    tries=0
    while [ ! -s "$stopped/metrics.csv" ] && [ $tries -lt 300 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    kill -$signal $child
    wait $child
    rc=$?
    command_line="pada train, stopped by SIG$signal"
    if [ $signal = INT ] && [ $rc -ne 75 ]; then
        kill -KILL $child 2>/dev/null # this shell starts jobs with SIGINT ignored
        continue
    fi
    expect_rc 75
    expect_err "the same command resumes from there"
    checks=$((checks + 1))
    ls "$stopped"/ckpt/*.safetensors >/dev/null 2>&1 || complain "no checkpoint"
done
limited=$work/limited
rc=75
command_line="pada train --max-seconds, again and again"
rounds=0
while [ $rc -eq 75 ] && [ $rounds -lt 200 ]; do
    pada train --method pada $small --out "$limited" --quiet --max-seconds 0.05
    rounds=$((rounds + 1))
done
expect_rc 0
expect_same "$whole" "$limited"

# ---- a damaged checkpoint: the one before, and a word about it
damaged=$work/damaged
pada train --method pada $small --out "$damaged" --quiet --checkpoint-steps 1
newest=$(ls "$damaged"/ckpt/*.safetensors | tail -n 1)
head -c 3000 "$newest" >"$work/part" && mv "$work/part" "$newest"
pada train --method pada $small --out "$damaged" --quiet
expect_rc 0
checks=$((checks + 1))
grep -q "00000024.safetensors.*going on from the one before" "$work/err" || complain "nothing said"
expect_same "$whole" "$damaged"

# ---- refusals
pada train --method pada $small --out "$whole" --lr 0.1 --seed 3
expect_usage_error "this run has another configuration: lr ( 0.05 there, 0.1 here), seed ( 0 there, 3 here)"
pada train --method spos $small --out "$whole"
expect_rc 2
pada train $small
expect_usage_error "no run folder: give --out RUN"
pada train --method pda --out "$work/x"
expect_usage_error "unknown method 'pda'; did you mean 'pada'?"
pada train --method spos --path-scope shared --out "$work/x"
expect_usage_error "path-scope"
pada train --method pada --path-scop shared --out "$work/x"
expect_usage_error "did you mean --path-scope?"
pada train $small --batch-size 2001 --out "$work/x"
expect_usage_error "2001"
pada train $small --batch-size 60000 --out "$work/x" # refused before memory for it is asked for
expect_usage_error "--batch-size 60000 is larger than the 2000 train images of builtin"
pada train $small --accumulate 0 --out "$work/x"
expect_usage_error "accumulate"
pada train $small --accumulate 1.5 --out "$work/x"
expect_usage_error "accumulate"
pada train $small --accumulate 60000 --out "$work/x"
expect_usage_error "--accumulate 60000: steps of so many batches of"
pada train --method sumnas $small --accumulate 2 --out "$work/x"
expect_usage_error "--accumulate 2: the inner steps of sumnas are made on one batch"
pada train $small --backend null --out "$work/x"
expect_usage_error "--backend: null computes nothing"
pada train $small --data "$work/nothing" --out "$work/x"
expect_rc 66
pada train --method single $small --out "$work/x"
expect_usage_error "give --arch ARCH"
pada train --method magic_at $small --hold-out 0 --out "$work/x"
expect_usage_error "no image is held out of training; give --hold-out"
pada train --method spos $small --hold-out 0.9 --out "$work/x"
expect_usage_error "batches of 250 images; there are 200 to train on"
pada train --method close $small --blocks 0 --out "$work/x"
expect_usage_error "share no weights; give --blocks"
for method in pa gm; do
    pada train --method $method $small --blocks 2 --out "$work/x"
    expect_usage_error "leave --blocks out"
done
pada train --method close $small --blocks 6 --out "$work/x"
expect_usage_error "--blocks: 6 is outside 0 to 5"
pada train $small --out "$work/x" word
expect_usage_error "unexpected word 'word'"
checks=$((checks + 1))
[ ! -e "$work/x/config.yaml" ] || complain "a refused run has a configuration"

# ---- configuration files, with the method in them
printf 'method: da\nepochs: 1\ndata-memory: keep\nchannels: 4\ncells: 1\nbatch-size: 500\n' >"$work/c.yaml"
pada train --config "$work/c.yaml" --out "$work/yaml" --quiet
expect_rc 0
expect_out_has ": da, 1 epochs"
pada train --config "$work/c.yaml" --method spos --out "$work/yaml2"
expect_usage_error "data-memory"
pada train --method da --help
expect_rc 0
expect_out_has "--data-tau-max"
pada train --method pada --help
expect_rc 0
expect_out_has "--path-tau-max"
expect_out_has "--[no-]data-replacement"

# ---- a method's own defaults for the recipe, and what its passes cost
pada train --method sumnas --help
expect_rc 0
expect_out_has "learning rate of the first epoch (default 1)"
expect_out_has "--sumnas-inner-steps N"
pada train --method sumnas $small --epochs 1 --batch-size 1000 --sumnas-inner-steps 1 --momentum 0.3 --out "$work/sumnas" --quiet
expect_rc 0
for line in 'lr: 1' 'momentum: 0.3' 'weight-decay: 4e-05' 'clip: 0' 'sumnas-inner-lr: 0.05'; do
    checks=$((checks + 1))
    grep -qx "$line" "$work/sumnas/config.yaml" || complain "config.yaml lacks $line"
done
checks=$((checks + 1))
# two steps of five paths, 1,000 images each
grep -q '^epoch,supernet,steps,passes,images,' "$work/sumnas/metrics.csv" &&
    grep -q '^0,0,2,10,10000,' "$work/sumnas/metrics.csv" || complain "passes or images are wrong"

# ---- one JSON object per epoch
pada train --method conv_anneal $small --epochs 2 --out "$work/json" --json --quiet
expect_rc 0
checks=$((checks + 1))
[ "$(grep -c '^{"epoch": .*"weights_hash": "[0-9a-f]*", "warnings": "[a-z;]*"}$' "$work/out")" -eq 2 ] ||
    complain "not two objects"

# ---- a full disk while a checkpoint is written; needs a mount of its own
mkdir "$work/disk"
if mount -t tmpfs -o size=1500k none "$work/disk" 2>/dev/null; then
    run=$work/disk/run
    pada train --method pada $small --out "$run" --quiet --max-seconds 0.05
    expect_rc 75
    before=$(ls "$run"/ckpt/*.safetensors | tail -n 1)
    cp "$before" "$work/before"
    head -c 2000000 /dev/zero >"$work/disk/filler" 2>/dev/null
    pada train --method pada $small --out "$run" --quiet --checkpoint-steps 1
    expect_rc 1
    expect_err "No space left on device"
    checks=$((checks + 1))
    cmp -s "$before" "$work/before" || complain "the checkpoint has changed"
    checks=$((checks + 1))
    [ "$(ls "$run/ckpt" | grep -c tmp)" -eq 0 ] || complain "a temporary file is left"
    rm "$work/disk/filler"
    pada train --method pada $small --out "$run" --quiet
    expect_rc 0
    expect_same "$whole" "$run"
    umount "$work/disk"
else
    echo "left out: a full disk, nothing can be mounted here"
fi
# ---- a wrong flag beside options of the method, and a method with a text among its options: nothing leaks, nothing is
# used after it was given back (sanitizers)
pada train --method single --arch x --bogus 1 --out "$work/bogus"
expect_usage_error 'unknown option --bogus'
pada train --method single --arch '|none~0|+|none~0|none~1|+|skip_connect~0|none~1|none~2|' $small --epochs 1 \
    --out "$work/single" --quiet
expect_rc 0
expect_only_chance
finish
