#!/bin/sh
# test_auto.sh - `pada auto`: all stages, the plan, kills in every stage, wrong input.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

python3 "$PADA_SOURCE/tests/docs/make_photos.py" "$work/photos" 1 train:10 val:4 test:6
tiny='--channels 2 --cells 1 --image-size 8 --batch-size 10 --epochs 4 --network-epochs 4 --evaluations 15 --threads 2'

# auto RUN ARGS...: the small run, with everything given.
auto() {
    run=$1
    shift
    # shellcheck disable=SC2086 # a list of options
    pada auto --data "$work/photos" --out "$run" $tiny "$@"
}

# ---- the whole, and what it says ----

auto "$work/whole"
expect_rc 0
grep -q 'built without Chart.js' "$work/err" || check -s "$work/whole/report.html"
for text in 'winner   |' 'random   |' 'multiply-adds, ' ' of 24 test images' 'verdict  ' "next     pada predict $work/whole/network photo.jpg"; do
    expect_out_has "$text"
done
for file in config.yaml supernet/search/best.csv network/test.json random/test.json model.onnx model.safetensors; do
    check -s "$work/whole/$file"
done
for n in 1 2 3 4 5 6 7; do
    grep -q "^stage $n of 7: " "$work/err" || complain "no stage $n"
done

# Every stage is a command that can be typed: typed again, they find everything done.
sed -n 's/^\$ //p' "$work/err" >"$work/lines"
check "$(wc -l <"$work/lines")" -eq 8
grep -E '^pada (train|search|retrain) ' "$work/lines" | while read -r line; do
    eval "\"\$PADA_BINARY\" ${line#pada } --quiet" >/dev/null 2>"$work/typed" || { cat "$work/typed"; echo "$line"; } >>"$work/wrong"
done
check ! -s "$work/wrong"

# The winner is that of the search; the random network is another one and costs nearly the same.
winner=$(sed -n 2p "$work/whole/supernet/search/best.csv" | cut -d, -f2)
auto "$work/whole" --json --quiet
expect_rc 0
expect_no_err
cp "$work/out" "$work/whole.json"
python3 - "$work/whole.json" "$winner" "$work/whole/network/test.json" <<'END' || complain 'the JSON is wrong'
import json, math, sys
said, test = (json.load(open(name)) for name in (sys.argv[1], sys.argv[3]))
winner, random = said["winner"], said["random"]
assert winner["arch"] == sys.argv[2] != random["arch"]
assert abs(winner["macs"] - random["macs"]) <= 0.05 * winner["macs"]
assert winner["top1"] == test["best"]["top1"] and said["images"] == test["images"] == 24
assert math.isclose(said["difference"], winner["top1"] - random["top1"])
assert said["difference_lo"] <= said["difference"] <= said["difference_hi"]
worth = "yes" if said["difference_lo"] > 0 else "no" if said["difference_hi"] < 0 else "unclear"
assert said["worth_it"] == worth and not said["optimistic"]
END

# The folder is all that is needed to ask again, and other options are refused.
pada auto --out="$work/whole" --json --quiet
expect_rc 0
check "$(cat "$work/out")" = "$(cat "$work/whole.json")"
auto "$work/whole" --seed 5 --quiet
expect_usage_error 'seed ( 0 there, 5 here)'
mv "$work/photos" "$work/moved"
pada auto --data "$work/moved" --out "$work/whole" --json --quiet
expect_rc 0
mv "$work/moved" "$work/photos"

# The model works.
pada predict "$work/whole/network" "$work/photos/test/ant/0001.png"
expect_rc 0
pada predict "$work/whole/model.safetensors" "$work/photos/test/ant/0001.png"
expect_rc 0

# ---- killed in every stage: the same bytes ----

for stage in 1 2 3 4 5 6 7; do
    # shellcheck disable=SC2086
    "$PADA_BINARY" auto --data "$work/photos" --out "$work/killed" $tiny >"$work/out" 2>"$work/err" &
    child=$!
    while ! grep -q "^stage $stage of 7" "$work/err" && kill -0 $child 2>/dev/null; do sleep 0.01; done
    kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
done
auto "$work/killed" --quiet
expect_rc 0
for file in model.onnx model.safetensors network/last.safetensors random/best.safetensors random/test.json \
    supernet/search/best.csv supernet/search/history.csv; do
    cmp -s "$work/killed/$file" "$work/whole/$file" || complain "$file differs"
done

# A signal in the middle of a training: exit code 75, and the same command goes on. One thread has the same bits.
# shellcheck disable=SC2086
"$PADA_BINARY" auto --data "$work/photos" --out "$work/stopped" $tiny --epochs 2000 >"$work/out" 2>"$work/err" &
child=$!
command_line='pada auto, stopped'
while ! grep -q '^epoch 2/' "$work/err" && kill -0 $child 2>/dev/null; do sleep 0.01; done
kill -TERM $child
wait $child
rc=$?
expect_rc 75
check -z "$(cat "$work/out")"
tail -n 1 "$work/err" | grep -q '^pada: stopped' || complain 'it does not say that it was stopped'
check ! -e "$work/stopped/supernet/search"
pada auto --out "$work/stopped" --epochs 3 --quiet
expect_usage_error 'epochs ( 2000 there, 3 here)'
auto "$work/one" --threads 1 --quiet
expect_rc 0
cmp -s "$work/one/model.onnx" "$work/whole/model.onnx" || complain 'one thread has another model'

# ---- the plan ----

# What is chosen, and why; limits reach the search and the random network.
pada auto --data "$work/photos" --out "$work/plan" --channels 2 --epochs 2 --network-epochs 2 --evaluations 10 --max-macs 300k \
    --threads 2 --json
expect_rc 0
grep -q '  image size   32: the shorter side of the pictures has 24 pixels' "$work/err" || complain 'no image size'
grep -q '  networks     --cells 1 for 40 training images' "$work/err" || complain 'no sizes'
grep -q '  batch size   8: for 40 training images of 32 pixels' "$work/err" || complain 'no batch size'
grep -qx 'cells: 1' "$work/plan/config.yaml" || complain 'the plan lacks the cells'
grep -qx 'classes: 4' "$work/plan/config.yaml" || complain 'the plan lacks the classes'
checks=$((checks + 1))
sed 's/.*"winner": {"arch": "[^"]*", "macs": \([0-9]*\),.*"random": {"arch": "[^"]*", "macs": \([0-9]*\),.*/\1 \2/' "$work/out" |
    awk '{ exit !($1 <= 300000 && $2 <= 300000) }' || complain 'a network is too large'

# Lengths by time: as short as it gets.
pada auto --data "$work/photos" --out "$work/timed" --channels 2 --cells 1 --image-size 8 --batch-size 20 --minutes 0.01 --threads 2
expect_rc 0
grep -q '  time         about .* of 1 s' "$work/err" || complain 'no time'
check "$(sed -n 's/^epochs: //p' "$work/timed/config.yaml")" -ge 10
check "$(sed -n 's/^evaluations: //p' "$work/timed/config.yaml")" -ge 100

# Another space, with its own options, is known when it resumes.
pada auto --data "$work/photos" --space macro --channels 2 --features 4 --image-size 16 --batch-size 20 --epochs 2 --network-epochs 2 \
    --evaluations 10 --out "$work/macro" --quiet
expect_rc 0
pada auto --out="$work/macro" --quiet
expect_rc 0
expect_out_has 'space macro'

# ---- wrong input: one line, and nothing is left behind ----

pada auto --data "$work/photos"
expect_usage_error 'give --out RUN'
pada auto --out "$work/x"
expect_usage_error 'give --data DIR'
auto "$work/x" word
expect_usage_error "unexpected word 'word'"
auto "$work/x" --quiet --max-macs 1
expect_usage_error 'macs: no network has at most 1; the smallest has '
auto "$work/x" --quiet --max-latency 3
expect_usage_error '--max-latency needs --latency-table FILE'
auto "$work/x" --quiet --latency-table "$work/not-there"
refused 66 'not-there'
auto "$work/x" --quiet --image-size 9
expect_usage_error 'image size 9 is not a multiple of 4'
pada auto --data "$work/not-there" --out "$work/x" --quiet
refused 66 'not-there'
cp -r "$work/photos" "$work/broken"
printf 'no picture' >"$work/broken/train/ant/zz.png"
pada auto --data "$work/broken" --out "$work/x" --quiet
refused 65 "the first problem: $work/broken/train/ant/zz.png: no PNG, JPEG or WebP image"
pada auto --data "$work/broken" --out "$work/x"
expect_rc 65
grep -q 'zz.png' "$work/err" || complain 'the broken file is not named'
check ! -e "$work/x"
mkdir "$work/other"
echo mine >"$work/other/file"
auto "$work/other" --quiet
expect_usage_error "no run folder, and not empty: it has 'file'"

printf 'epochs: [1\n' >"$work/killed/config.yaml"
pada auto --out "$work/killed" --quiet
refused 65 'config.yaml'
printf 'data: "photos"\n' >"$work/killed/config.yaml"
pada auto --out "$work/killed" --quiet
expect_rc 2
expect_out ''
sed '/^epochs/d' "$work/whole/config.yaml" >"$work/killed/config.yaml"
pada auto --out "$work/killed" --quiet
refused 65 'not the whole plan'
cp "$work/whole/config.yaml" "$work/killed/config.yaml"
printf '{"images": 3}' >"$work/killed/network/test.json"
pada auto --out "$work/killed" --quiet
refused 65 'test.json'
finish
