#!/bin/sh
# test_study.sh - `pada study`: all stages, what is skipped, kills, failures, wrong files.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

cat >"$work/small.yaml" <<'END'
name: small
about: a test
defaults:
  channels: 2
  cells: 1
  epochs: 2
  batch-size: 100
  hold-out: 0.9
  validate: 0
  variance: true
  seeds: 0-1
  rank: {networks: 12, limit: 100}
runs:
  - name: spos
    recipe: spos.yaml
    search: {budget: 6, limit: 100}
    retrain: {epochs: 1, batch-size: 500, seeds: [0, 3]}
    random: {seeds: [3]}
  - {name: pada, method: pada}
compare: [[pada, spos]]
END
echo 'method: spos' >"$work/spos.yaml"

# study OUT ARGS...: the small study.
study() {
    out=$1
    shift
    pada study "$work/small.yaml" --data builtin --truth builtin --bootstrap 50 --out "$out" "$@"
}

# ---- the whole, and what it says ----

study "$work/whole" --dry-run
expect_rc 0
expect_no_err
check "$(wc -l <"$work/out")" -eq 16
check "$(grep -c '# to do' "$work/out")" -eq 16
check ! -e "$work/whole"

study "$work/whole" --jobs 2
expect_rc 0
cp "$work/out" "$work/table"
sed -n 's/^\$ //p' "$work/err" >"$work/lines"
check "$(wc -l <"$work/lines")" -eq 16
for text in 'small: a test' 'tau-b' 'GV, 1e-6' 'pada - spos  tau-b' '(2 seeds in common)'; do expect_out_has "$text"; done
for run in spos-s0 spos-s1 spos-s0-best-s0 spos-s0-best-s3 spos-s1-random-s3 pada-s1; do
    check -s "$work/whole/$run/config.yaml"
    check -s "$work/whole/$run.log"
done
for file in study.csv summary.csv differences.csv study.txt spos-s1/search/best.csv; do check -s "$work/whole/$file"; done
cmp -s "$work/whole/study.txt" "$work/table" || complain 'study.txt is not the table'
grep -q 'built without Chart.js' "$work/err" || grep -q 'class="preface">small' "$work/whole/report.html" || complain 'no page'

# The numbers are those of the other commands.
pada rank "$work/whole/pada-s1" --networks 12 --limit 100 --truth builtin --bootstrap 50 --json --quiet
expect_rc 0
mv "$work/out" "$work/rank.json"
python3 - "$work/whole" "$work/rank.json" <<'END' || complain 'the tables are wrong'
import csv, json, math, statistics, sys
out = sys.argv[1]
rank = json.loads(open(sys.argv[2]).readline())
rows = list(csv.DictReader(open(out + "/study.csv")))
assert [(r["run"], r["seed"], r["status"]) for r in rows] == [
    (name, seed, "done") for name in ("spos", "pada") for seed in "01"]
for key in ("tau_b", "tau_b_lo", "tau_b_hi", "p_at_top5", "regret", "spearman"):
    assert math.isclose(float(rows[3][key]), rank[key], abs_tol=1e-12), key
metrics = list(csv.DictReader(open(out + "/pada-s1/metrics.csv")))
assert rows[3]["weights_hash"] == metrics[-1]["weights_hash"]
assert float(rows[3]["loss"]) == float(metrics[-1]["loss"])
assert float(rows[3]["gv_candidates"]) == float(metrics[-1]["gv_candidates"])
assert math.isclose(float(rows[3]["gmacs"]), sum(float(m["gmacs"]) for m in metrics))
best = next(csv.DictReader(open(out + "/spos-s1/search/best.csv")))
assert rows[1]["arch"] == best["arch"] and float(rows[1]["found_top1"]) == float(best["top1"])
tests = [json.load(open(f"{out}/spos-s1-best-s{s}/test.json")) for s in (0, 3)]
assert all(t["arch"] == best["arch"] for t in tests)
assert math.isclose(float(rows[1]["test_top1"]), statistics.mean(t["last"]["top1"] for t in tests))
assert rows[1]["test_n"] == "2" and rows[1]["random_n"] == "1" and rows[2]["test_n"] == ""
twin = json.load(open(out + "/spos-s1-random-s3/test.json"))
assert twin["arch"] != best["arch"] and float(rows[1]["random_top1"]) == twin["last"]["top1"]
taus = [[float(r["tau_b"]) for r in rows if r["run"] == name] for name in ("spos", "pada")]
summary = {r["run"]: r for r in csv.DictReader(open(out + "/summary.csv"))}
assert math.isclose(float(summary["spos"]["tau_b"]), statistics.mean(taus[0]))
assert math.isclose(float(summary["spos"]["tau_b_sd"]), statistics.stdev(taus[0]))
apart = [b - a for a, b in zip(*taus)]
found = [r for r in csv.DictReader(open(out + "/differences.csv")) if r["number"] == "tau_b"]
assert len(found) == 1 and found[0]["seeds"] == "2" and found[0]["against"] == "spos"
assert math.isclose(float(found[0]["difference"]), statistics.mean(apart))
assert math.isclose(float(found[0]["standard_error"]), statistics.stdev(apart) / math.sqrt(2))
END

# ---- what is there is not done again ----

study "$work/whole" --json
expect_rc 0
expect_no_err
python3 -c '
import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert [line["seed"] for line in lines[:4]] == [0, 1, 0, 1] and lines[0]["networks"] == 12
assert lines[4]["mean_of"] == "spos" and lines[4]["tau_b_seeds"] == 2
assert lines[6]["difference_of"] == "pada" and lines[6]["tau_b_seeds"] == 2 and len(lines) == 7' "$work/out" || complain 'the JSON is wrong'
study "$work/whole" --dry-run
check "$(grep -c '# there' "$work/out")" -eq 16
study "$work/whole" --set epochs=3
expect_usage_error 'spos-s0/study/train.yaml: this run has another configuration: epochs ( 2 there, 3 here)'
study "$work/whole" --set rank.networks=13
expect_usage_error 'spos-s0/study/rank.yaml: this run has another configuration: networks ( 12 there, 13 here)'
echo 'lr: 0.01' >>"$work/spos.yaml" # what the recipe says counts, too
study "$work/whole"
expect_usage_error 'lr (only here)'
echo 'method: spos' >"$work/spos.yaml"
rm -r "$work/whole/pada-s1" # what is lost is done again, and nothing else
study "$work/whole" --quiet
expect_rc 0
expect_no_err
study "$work/whole" --only pada --seeds 1-2 --dry-run
check "$(grep -c '# there' "$work/out")" -eq 2
check "$(grep -c '# to do' "$work/out")" -eq 2

# ---- killed, stopped, out of time: the same bytes ----

# same A B: what is no time is the same.
same() {
    for run in spos-s0 spos-s1 pada-s0 pada-s1; do expect_same "$1/$run" "$2/$run"; done
    for file in spos-s0/ranking.csv spos-s1/search/history.csv spos-s0-best-s3/last.safetensors spos-s1-random-s3/test.json; do
        cmp -s "$1/$file" "$2/$file" || complain "$file differs"
    done
}
kills=0
while :; do
    "$PADA_BINARY" study "$work/small.yaml" --data builtin --truth builtin --bootstrap 50 --out "$work/killed" --quiet --jobs 2 \
        --set checkpoint-steps=1 >"$work/out" 2>"$work/err" &
    child=$!
    sleep "$(awk -v seed="$kills$$" 'BEGIN { srand(seed); printf "%.2f", 0.2 + 0.8 * rand() }')"
    [ $kills -lt 5 ] && kill -9 $child 2>/dev/null
    wait $child 2>/dev/null
    rc=$?
    [ $rc -ne 137 ] && break
    kills=$((kills + 1))
done
command_line="pada study, killed $kills times"
expect_rc 0
expect_no_err
same "$work/whole" "$work/killed"

"$PADA_BINARY" study "$work/small.yaml" --data builtin --out "$work/stopped" --set epochs=2000 >"$work/out" 2>"$work/err" &
child=$!
command_line='pada study, stopped'
while [ ! -e "$work/stopped/spos-s0/metrics.csv" ] && kill -0 $child 2>/dev/null; do sleep 0.05; done
kill -TERM $child
wait $child
rc=$?
expect_rc 75
check -z "$(cat "$work/out")"
grep -q '^pada: stopped with 0 of 16 stages done' "$work/err" || complain 'it does not say that it was stopped'
grep -q '^pada: stopped after step' "$work/stopped/spos-s0.log" || complain 'the training was not stopped'
study "$work/stopped" --set epochs=2000 --max-seconds 0.3 --quiet
expect_rc 75

# ---- one that fails does not stop the others ----

cat >"$work/fails.yaml" <<'END'
name: fails
defaults: {channels: 2, cells: 1, epochs: 1, batch-size: 100, hold-out: 0.9, validate: 0, rank: {networks: 5, limit: 100}}
runs:
  - {name: bad, method: spos, batch-size: 5000}
  - {name: good, method: spos}
END
pada study "$work/fails.yaml" --out "$work/fails" --quiet
expect_rc 1
check "$(wc -l <"$work/err")" -eq 2
grep -q '^pada: bad-s0: train failed: --batch-size 5000 is larger than the 2000 train images of builtin$' "$work/err" || complain 'not named'
grep -q "^pada: 1 of 2 runs failed; their logs are in $work/fails$" "$work/err" || complain 'not summed up'
expect_out_has 'good'
check -s "$work/fails/good-s0/ranking.csv"
grep -q '^bad,0,failed,' "$work/fails/study.csv" || complain 'not in the table'

# So does a run whose files are broken.
pada study "$work/fails.yaml" --out "$work/fails" --only good --quiet
expect_rc 0
expect_no_err
echo 'not numbers' >"$work/fails/good-s0/metrics.csv"
pada study "$work/fails.yaml" --out "$work/fails" --jobs 0
expect_rc 1
grep -q "^pada: good-s0: train failed: $work/fails/good-s0/metrics.csv:1: " "$work/err" || complain 'not named'
grep -q '^good,0,failed,' "$work/fails/study.csv" || complain 'not in the table'

# ---- runs that rank others ----

cat >"$work/together.yaml" <<'END'
name: together
defaults: {channels: 2, cells: 1, epochs: 1, batch-size: 100, hold-out: 0.9, validate: 0, seeds: 0-1, rank: {networks: 12, limit: 100}}
runs:
  - {name: a, method: spos}
  - {name: b, method: spos_depth, rank: false}
  - {name: both, of: [a, b], rank: {prior: 'macs:auto'}}
  - {name: margin, of: [a], rank: {by: margin, views: 2}}
compare: [[both, a]]
END
together() {
    pada study "$work/together.yaml" --data builtin --truth builtin --bootstrap 20 --out "$work/together" "$@"
}
together --only both --seeds 1 --dry-run
expect_rc 0
check "$(cut -d' ' -f2 "$work/out" | tr '\n' ' ')" = 'train rank train rank '
together --jobs 4
expect_rc 0
expect_out_has 'both - a  tau-b'
check "$(head -n 1 "$work/together/both-s1/ranking.csv")" = 'arch,score,rank,ties,mean,run1_a-s1,run2_b-s1,prior,loss,macs,params,same_as'
check "$(head -n 1 "$work/together/margin-s0/ranking.csv")" = 'arch,score,rank,ties,mean,run1_a-s0,loss,macs,params,same_as'
check "$(head -n 1 "$work/together/a-s0/ranking.csv" | cut -d, -f6)" = ties
pada rank "$work/together/a-s1" "$work/together/b-s1" --networks 12 --limit 100 --prior macs:auto --out "$work/by-hand.csv" --quiet
expect_rc 0
cut -d, -f1-3 "$work/by-hand.csv" >"$work/expected"
checks=$((checks + 1))
cut -d, -f1-3 "$work/together/both-s1/ranking.csv" | cmp -s - "$work/expected" || complain 'another ranking than by hand'
python3 - "$work/together/study.csv" <<'END' || complain 'costs do not add up'
import csv, math, sys
rows = {(r["run"], r["seed"]): r for r in csv.DictReader(open(sys.argv[1]))}
for key in ("epochs", "passes", "gmacs"):
    for seed in "01":
        a, b, both, margin = (float(rows[name, seed][key]) for name in ("a", "b", "both", "margin"))
        assert math.isclose(both, a + b) and margin == a, key
assert all(rows["both", s]["tau_b"] for s in "01") and not rows["b", "0"]["tau_b"]
END
checks=$((checks + 1))
together --jobs 2
check "$(grep -c '^\$' "$work/err")" -eq 0 # all is there
sed -i 's/of: \[a, b\]/of: [b, a]/' "$work/together.yaml"
together
refused 2 'both-s0/study/rank.yaml: this run has another configuration: of'
sed -i 's/of: \[b, a\]/of: [a, b], seeds: 2/' "$work/together.yaml"
together
refused 2 "together.yaml:6: run 'both' has seed 2, but 'a' has not"

# ---- wrong files and options ----

# refuses RC MESSAGE FILE-TEXT...: a study of these lines.
refuses() {
    code=$1
    message=$2
    shift 2
    printf '%s\n' 'name: wrong' "$@" >"$work/wrong.yaml"
    pada study "$work/wrong.yaml" --out "$work/wrong"
    refused "$code" "wrong.yaml:$message"
    check ! -e "$work/wrong"
}
refuses 65 '1: runs: not a list of runs'
refuses 65  "4: did not find expected ',' or '}'" 'runs:' '  - {name: a' ']'
refuses 2 "3: run 'a': unknown option --epoch (did you mean --epochs?)" 'runs:' '  - {name: a, epoch: 3}'
refuses 2 "4: run 'a': --lr: 'fast' is not a number" 'runs:' '  - name: a' '    lr: fast'
refuses 2 "2: run 'a', rank: unknown option --netwroks (did you mean --networks?)" 'defaults: {rank: {netwroks: 3}}' 'runs: [{name: a}]'
refuses 2 "3: run 'a': unknown method 'padaa'" 'runs:' '  - {name: a, method: padaa}'
refuses 66 "3: run 'a': $work/none.yaml" 'runs:' '  - {name: a, recipe: none.yaml}'
refuses 2 " runs 'a' and 'a-s0-best' have the same folder $work/wrong/a-s0-best-s0" 'runs:' '  - {name: a, rank: yes, retrain: yes}' '  - {name: a-s0-best}'
pada study "$work/none.yaml"
refused 66 'none.yaml'
pada study
expect_usage_error 'give one study, FILE.yaml'
study "$work/wrong" --only spso
expect_usage_error "--only: no run 'spso' (did you mean spos?)"
study "$work/wrong" --seeds 3-1
expect_usage_error 'seeds: 3-1 is no range'
study "$work/wrong" --set epoch=3
expect_usage_error '--set epoch: no run has such an option'
study "$work/wrong" --set epochs
expect_usage_error "--set: 'epochs' is not KEY=VALUE"
finish
