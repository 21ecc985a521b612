#!/bin/sh
# test_combine.sh - several runs and a prior rank and search together: numbers, files, resumption, refusals.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

small_run='--epochs 1 --batch-size 500 --validate 0 --no-events --quiet'
cd "$work" || exit 1
# shellcheck disable=SC2086
{
    pada train --channels 4 --cells 1 $small_run --method spos --out a
    pada train --channels 4 --cells 1 $small_run --method close --out b
    pada train --channels 6 --cells 1 $small_run --method spos --out wide
    pada train --space macro --channels 4 $small_run --method spos --out macro
    python3 "$PADA_SOURCE/tests/docs/make_photos.py" photos 1 train:20 test:4 || exit 1
    pada train --data photos --image-size 8 --channels 4 --cells 1 --batch-size 10 --epochs 1 --validate 0 --no-events --quiet --out photographed
}
expect_rc 0
pada truth --builtin
cp out truth.csv
rank() {
    pada rank "$@" --networks 60 --limit 200 --quiet --bootstrap 20
}

# ---- rankings ----

rank a --json --truth truth.csv --out a.csv
cp out a.json
rank b --out b.csv
expect_rc 0
evaluated=$(cat ./*/scores/*.csv | wc -l)
for unit in accuracy rank calibrated; do
    rank a b --combine $unit --out both.csv
    expect_rc 0
    checks=$((checks + 1))
    python3 "$PADA_SOURCE/tests/cli/check_combined.py" both.csv $unit - 0 a.csv b.csv 2>cmp || complain "$(cat cmp)"
    rank a b --combine $unit --prior params:0.3 --out both.csv
    checks=$((checks + 1))
    python3 "$PADA_SOURCE/tests/cli/check_combined.py" both.csv $unit params 0.3 a.csv b.csv 2>cmp || complain "$(cat cmp)"
done
check "$(cat ./*/scores/*.csv | wc -l)" -eq "$evaluated"
check "$(head -n 1 both.csv)" = 'arch,score,rank,ties,mean,run1_a,run2_b,prior,loss,macs,params,same_as'
rank a --prior macs:-0.5
expect_rc 0
expect_out_has 'ranking.csv: 60 networks'
expect_out_has ', 200 test images, by rank of accuracy + -0.5 x rank of macs'
checks=$((checks + 1))
python3 "$PADA_SOURCE/tests/cli/check_combined.py" ranking.csv accuracy macs -0.5 a.csv 2>cmp || complain "$(cat cmp)"

# Metrics are those of the same scores alone: of a run, and of the prior.
rank a b --prior macs:0.3 --out both/ --truth truth.csv --json
expect_rc 0
cp out both.json
numbers_of() { grep "^{\"name\": \"$1\"" "$2" | sed 's/.*"n": /"n": /; s/, "distinct".*//; s/}$//'; }
check "$(grep -o '^{"name": "[^"]*"' both.json | cut -d'"' -f4 | tr '\n' ',')" = \
    'combined,mean of runs,a,b,macs (prior),params,live_macs,conv_depth,op_sum,'
check -n "$(numbers_of a both.json)"
check "$(numbers_of a both.json)" = "$(numbers_of supernet a.json)"
check "$(numbers_of 'macs (prior)' both.json)" = "$(numbers_of macs a.json)"
grep -qF '"combines": "rank of mean accuracy of 2 runs + 0.3 x rank of macs"' both.json || complain "not said what it combines"
pada compare both a.csv b.csv --truth truth.csv --bootstrap 20
expect_rc 0
pada rank --predictions both/ranking.csv --truth truth.csv --bootstrap 20 --json
check "$(head -n 1 out | sed 's/.*"n": /"n": /; s/, "distinct".*//')" = "$(numbers_of combined both.json)"

# The weight that runs find by themselves, and the ranking with it.
rank a b --prior macs:auto --out auto.csv
expect_rc 0
weight=$(sed -n 's/.*by rank of mean accuracy of 2 runs + \([-0-9.e]*\) x rank of macs.*/\1/p' out)
check -n "$weight"
check "$weight" != 0
rank a b --prior "macs:$weight" --out fixed.csv
checks=$((checks + 1))
[ "$(cut -d, -f1 auto.csv | head -n 10)" = "$(cut -d, -f1 fixed.csv | head -n 10)" ] || complain 'not the weight that was printed'
pada search a b --prior macs:auto --limit 100 --algorithm random --rounds 1 --per-round 20 --reference 15 --quiet --json --out auto
expect_rc 0
expect_out_has '"combines": "rank of mean accuracy of 2 runs + '
check "$(grep -c '2 runs + 0 x' out)" -eq 0
rank a --prior macs:auto
refused 2 "--prior: 'macs:auto' finds the weight by how far runs agree; give two or more"

# Stopped and resumed, it is the same file.
rm -r a/scores b/scores
rank a b --prior macs:0.3 --out again.csv --max-seconds 0.001
expect_rc 75
expect_err 'the same command resumes it'
check ! -e again.csv
rank a b --prior macs:0.3 --out again.csv
expect_rc 0
cmp -s again.csv both/ranking.csv || complain "the resumed ranking differs"

# ---- other scores than accuracies, and several views ----

# Losses are kept beside accuracies: nothing is evaluated again.
evaluated=$(cat a/scores/*.csv | wc -l)
rank a --by loss --out by-loss.csv
expect_rc 0
expect_out_has ', 200 test images, by loss'
check "$(cat a/scores/*.csv | wc -l)" -eq "$evaluated"
check "$(head -n 1 by-loss.csv)" = 'arch,score,rank,ties,mean,run1_a,loss,macs,params,same_as'
check "$(awk -F, 'NR > 1 && $2 + $7 > 1e-9' by-loss.csv)" = ''
check "$(cut -d, -f7 by-loss.csv | tail -n +2 | awk 'NR == 1 || $1 < least { least = $1 } END { print least }')" = \
    "$(cut -d, -f7 by-loss.csv | sed -n 2p)"

# Margins and mirrored images are evaluations of their own, and kept, too.
rank a --by margin --views 2 --out margins.csv --json
expect_rc 0
expect_out_has '"views": 2'
expect_out_has '"combines": "margin"'
evaluated=$(cat a/scores/*.csv | wc -l)
check "$(grep -l '2 views, with margins' a/scores/*.csv | wc -l)" -eq 1
rank a --by margin --views 2 --out again.csv
check "$(cat a/scores/*.csv | wc -l)" -eq "$evaluated"
cmp -s again.csv margins.csv || complain 'margins that were kept give another ranking'
rank a --views 2
expect_rc 0
expect_out_has ', 200 test images in 2 views'
check "$(head -n 1 a/ranking.csv)" = 'arch,score,score_lo,score_hi,rank,ties,correct,images,loss,macs,params,same_as,views'
rm -r a/scores
rank a --by margin --views 2 --out stopped.csv --max-seconds 0.001
expect_rc 75
rank a --by margin --views 2 --out stopped.csv
expect_rc 0
cmp -s stopped.csv margins.csv || complain 'the resumed ranking by margins differs'
sed -i '3s/,[^,]*$/,1.5/' "$(grep -l margins a/scores/*.csv)"
rank a --by margin --views 2
refused 65 'margin: 1.5 is outside -1 to 1'
rm -r a/scores

# Of several, with a prior, and in searches.
rank a b --by margin --combine rank --prior macs:0.3 --out both.csv
expect_rc 0
expect_out_has 'by rank of mean rank by margin of 2 runs + 0.3 x rank of macs'
pada search a b --by margin --views 2 --limit 100 --algorithm random --rounds 1 --per-round 30 --quiet --out bym
expect_rc 0
expect_out_has '100 test images in 2 views, by mean margin of 2 runs'
check "$(head -n 1 bym/best.csv)" = 'rank,arch,top1,loss,macs,params,latency,score'
pada search a --by loss --limit 100 --algorithm random --rounds 1 --per-round 30 --quiet --out byl
check "$(awk -F, 'NR > 1 && ($4 + $8 > 1e-9 || $4 + $8 < -1e-9)' byl/best.csv)" = ''
rank a --by luck
refused 2 "--by: 'luck' is not one of accuracy|loss|margin"
rank a --views 3
refused 2 '--views'
pada rank --predictions a.csv --by loss
refused 2 '--by: no network is evaluated with --predictions'
pada rank --scores naswot --views 2
refused 2 '--views: give a run folder or --weights'

# ---- searches ----

search() {
    pada search a b --prior macs:0.3 --combine rank --limit 100 --max-macs 400k --population 12 --generations 3 \
        --mutants 6 --crossovers 5 --parents 4 --reference 15 --quiet "$@"
}
search --out found
expect_rc 0
expect_no_err
expect_out_has 'found: evolution, 48 networks, 100 test images, by rank of mean rank of 2 runs + 0.3 x rank of macs'
check "$(head -n 1 found/best.csv)" = 'rank,arch,top1,loss,macs,params,latency,score'
check "$(awk -F, 'NR > 2 && $8 > last { print } { last = $8 }' found/best.csv)" = ''
evaluated=$(cat ./[ab]/scores/*.csv | wc -l)
search --out again
check "$(diff -r found again)" = ''
check "$(cat ./[ab]/scores/*.csv | wc -l)" -eq "$evaluated"
rm -r a/scores b/scores again
kills=0
while [ $kills -lt 12 ]; do
    "$PADA_BINARY" search a b --prior macs:0.3 --combine rank --limit 100 --max-macs 400k --population 12 --generations 3 \
        --mutants 6 --crossovers 5 --parents 4 --reference 15 --quiet --out again >out 2>err &
    child=$!
    sleep "$(awk -v seed="$kills" 'BEGIN { srand(seed); printf "%.3f", 0.02 + 0.1 * rand() }')"
    kill -9 $child 2>/dev/null && kills=$((kills + 1))
    wait $child 2>/dev/null && break
done
search --out again --threads 1 --in-flight 2
check "$(diff -r found again)" = ''
check "$(cat ./[ab]/scores/*.csv | cut -d, -f1 | sort | uniq -d | wc -l)" -gt 0 # both judged them, each once:
for one in a b; do check "$(cat $one/scores/*.csv | cut -d, -f1 | sort | uniq -d | wc -l)" -eq 0; done

# Accuracies alone need no reference: the same winner as that of the files.
pada search a b --limit 100 --algorithm random --rounds 1 --per-round 30 --quiet --out plain --json
expect_rc 0
expect_out_has '"combines": "mean accuracy of 2 runs"'
check "$(awk -F, 'NR > 1 && $3 != $8' plain/best.csv)" = ''

# A run with a search that has this column is still read.
pada search a --prior macs:0.3 --limit 100 --algorithm random --rounds 1 --per-round 10 --reference 5 --quiet
expect_rc 0
expect_out_has 'a/search: random, 10 networks'
pada report a --out report.html
expect_rc 0

# ---- what is refused ----

rank a macro
refused 2 'the options are those of space nb201: give --space macro'
rank a wide
refused 2 'wide and a have networks of different sizes: '
pada rank a photographed --networks 5 --limit 2 --quiet
refused 65 'photographed'
rank a a
refused 2 'a was given twice'
rank a b --weights x.safetensors
refused 2 '--weights: of one supernet, but 2 runs were given'
rank a --prior mac:1
refused 2 "--prior: unknown baseline of space nb201 'mac'; did you mean 'macs'?"
rank a --prior macs
refused 2 "--prior: 'macs' is not NAME:WEIGHT"
rank a --prior macs:many
refused 2 '--prior'
pada rank --predictions a.csv --prior macs:1
refused 2 '--prior: no network is evaluated with --predictions'
pada search a wide --quiet
refused 2 'wide and a have networks of different sizes: '
pada search a --prior macs:1 --max-macs 142506 --limit 100 --quiet
expect_rc 0

finish
