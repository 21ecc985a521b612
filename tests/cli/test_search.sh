#!/bin/sh
# test_search.sh - `pada search`: limits, files, repetition and resumption, everything that must be refused.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

# ---- limits alone ----

pada search --space proxyless --classes 1000 --max-macs 400M --dry-run
expect_rc 0
expect_no_err
expect_out_has ': 221502229807900608 networks'
expect_out_has 'macs          102528896    606590720    373300544            -    400000000     167364725843775782    75.56%'
pada search --space macro --min-params 1M --max-macs 30M --dry-run --json
expect_rc 0
expect_out_has '"networks": 6561, "costs": [{"name": "macs", "smallest": 7713280, "largest": 105660928, '
expect_out_has '"min": 1000000, "max": null, '
pada search --space macro --max-macs 7713279 --dry-run
refused 2 'macs: no network has at most 7713279; the smallest has 7713280'
pada search --space macro --max-params 400k --min-macs 100M --dry-run
refused 2 'no network inside all limits'
pada search --space darts --form search --dry-run
expect_rc 0
cp "$work/out" "$work/search_form"
pada search --space darts --dry-run
check "$(cat "$work/out")" != "$(cat "$work/search_form")"

# By latency: a table of one millisecond for every part of a tiny network, so that the sum is a count.
tiny='--channels 2 --cells 1 --image-size 4'
# shellcheck disable=SC2086
pada bench latency $tiny --repeats 1 --out "$work/measured.csv"
awk -F, -v OFS=, 'NR > 1 { $12 = 1 } { print }' "$work/measured.csv" >"$work/latency.csv"
# shellcheck disable=SC2086
pada search $tiny --dry-run --latency-table "$work/latency.csv" --max-latency 6
expect_rc 0
check "$(awk '$1 == "latency_ms" { print $5, $6 }' "$work/out")" = '- 6.000'
# networks_of LIMITS...: how many keep limits of latency.
networks_of() {
    # shellcheck disable=SC2086
    pada search $tiny --dry-run --latency-table "$work/latency.csv" "$@"
    awk '$1 == "latency_ms" { print $7 }' "$work/out"
}
check "$(networks_of --min-latency 6.9995 --max-latency 7)" -gt 0
check "$(networks_of --min-latency 6.9995 --max-latency 7)" -eq \
    $(($(networks_of --max-latency 7) - $(networks_of --max-latency 6.9995)))
# shellcheck disable=SC2086
pada search $tiny --dry-run --latency-table "$work/latency.csv" --min-latency 6 --json
expect_out_has '"name": "latency_ms", "smallest": '
expect_out_has '"min": 6.0, "max": null, "inside": '
# shellcheck disable=SC2086
pada search $tiny --dry-run --latency-table "$work/latency.csv" --min-latency 1000
refused 2 'latency: no network has at least 1000.000 ms; the largest has '
# shellcheck disable=SC2086
pada search $tiny --dry-run --latency-table "$work/latency.csv" --min-latency 6.2 --max-latency 6.8
refused 2 'latency: no network has from 6.200 ms to 6.800 ms; the smallest has '
# shellcheck disable=SC2086
pada search $tiny --dry-run --latency-table "$work/latency.csv" --max-latency 0.5
refused 2 'latency: no network has at most 0.500 ms; the smallest has '
# shellcheck disable=SC2086
pada search $tiny --dry-run --latency-table "$work/latency.csv" --max-latency 0.0001
refused 2 'latency: no network has at most 0.001 ms; the smallest has '
pada search --dry-run --max-latency 6
expect_usage_error '--max-latency needs --latency-table FILE'
pada search --dry-run --min-latency 6
expect_usage_error '--min-latency needs --latency-table FILE'
pada search --dry-run --latency-table "$work/latency.csv"
refused 65 'latency.csv'
pada search --dry-run --latency-table "$work/not-there.csv"
refused 66 'not-there.csv'

# ---- a supernet ----

run=$work/run
small_run='--epochs 1 --batch-size 500 --validate 0 --no-events --quiet'
small="--channels 4 --cells 1 $small_run"
pada train $small --out "$run"
expect_rc 0
search() {
    pada search "$run" --limit 100 --max-macs 400k --population 12 --generations 4 --mutants 6 --crossovers 5 --parents 4 --quiet "$@"
}

pada search "$run" --limit 100 --max-macs 1 --quiet
refused 2 'the smallest has 142506'
check ! -e "$run/search"
check ! -e "$run/scores"
pada search "$run" --max-macs 400k --dry-run
expect_rc 0
expect_out_has '400000'
check ! -e "$run/search"

search
expect_rc 0
expect_no_err
expect_out_has "$run/search: evolution, 60 networks, 100 test images"
check "$(head -n 1 "$run/search/best.csv")" = 'rank,arch,top1,loss,macs,params,latency'
check "$(head -n 1 "$run/search/front.csv")" = 'rank,arch,top1,loss,macs,params,latency'
check "$(head -n 1 "$run/search/history.csv")" = 'evaluation,generation,arch,top1,best_so_far'
check "$(wc -l <"$run/search/best.csv")" -eq 61
check "$(cut -d, -f2 "$run/search/best.csv" | sort -u | wc -l)" -eq 61
check "$(awk -F, 'NR > 1 && $5 > 400000' "$run/search/best.csv")" = ''
check "$(awk -F, 'NR > 2 && $3 > last { print } { last = $3 }' "$run/search/best.csv")" = ''
check "$(tail -n +2 "$run/search/history.csv" | cut -d, -f2 | uniq | tr '\n' ' ')" = '0 1 2 3 4 '
check "$(tail -n 1 "$run/search/history.csv" | cut -d, -f5)" = "$(sed -n 2p "$run/search/best.csv" | cut -d, -f3)"
cp -r "$run/search" "$work/first"

# The same once more, and with all scores to be made again, by other threads, and side by side.
same_as_first() {
    checks=$((checks + 1))
    diff -r "${1:-$run/search}" "$work/first" >"$work/cmp" 2>&1 || complain "$(head -n 3 "$work/cmp")"
}
before=$(cat "$run"/scores/*.csv | wc -l)
search
same_as_first
check "$(cat "$run"/scores/*.csv | wc -l)" -eq "$before"
rm -r "$run/scores"
search --threads 1 --in-flight 3 --out "$work/other"
expect_rc 0
same_as_first "$work/other"
search --seed 1 --out "$work/seed"
check "$(cat "$work/seed/best.csv")" != "$(cat "$work/first/best.csv")"

# Stopped again and again, and killed at random moments, it ends the same.
rm -r "$run/scores" "$run/search"
search --max-seconds 0.001
expect_rc 75
expect_err 'the same command resumes it'
check ! -e "$run/search/best.csv"
kills=0
while [ $kills -lt 15 ]; do
    "$PADA_BINARY" search "$run" --limit 100 --max-macs 400k --population 12 --generations 4 --mutants 6 --crossovers 5 \
        --parents 4 --quiet >"$work/out" 2>"$work/err" &
    child=$!
    sleep "$(awk -v seed="$kills" 'BEGIN { srand(seed); printf "%.3f", 0.02 + 0.1 * rand() }')"
    kill -9 $child 2>/dev/null && kills=$((kills + 1))
    wait $child 2>/dev/null && break
done
search
expect_rc 0
same_as_first

# Scores are those of rankings, which find them there.
pada rank "$run" --limit 100 --networks 3 --quiet
arch=$(sed -n 2p "$run/search/best.csv" | cut -d, -f2)
check "$(column "$run/ranking.csv" "$arch" score)" = "$(sed -n 2p "$run/search/best.csv" | cut -d, -f3).0"
check "$(column "$run/ranking.csv" "$arch" macs)" = "$(sed -n 2p "$run/search/best.csv" | cut -d, -f5)"
pada train $small --out "$run" # a run with results of a search is still a run
expect_rc 0

# Costs of networks for larger images and more classes than the supernet has.
pada search "$run" --cost-size 32 --cost-classes 100 --dry-run
expect_rc 0
expect_out_has 'nb201 channels 4 cells 1 classes 100 image size 32: '
pada search "$run" --cost-size 32 --limit 100 --max-macs 571000 --algorithm random --rounds 1 --per-round 2 --quiet --out "$work/large"
expect_rc 0
arch=$(sed -n 2p "$work/large/best.csv" | cut -d, -f2)
pada arch "$run" "$arch" --image-size 32 --cost --json
expect_out_has "\"macs\": $(sed -n 2p "$work/large/best.csv" | cut -d, -f5),"
pada rank "$run" --cost-size 32 --limit 100 --networks 3 --quiet --out "$work/large.csv" --prior macs:0.1
expect_rc 0
arch=$(sed -n 2p "$work/large.csv" | cut -d, -f1)
pada arch "$run" "$arch" --image-size 32 --cost --json
expect_out_has "\"macs\": $(column "$work/large.csv" "$arch" macs),"
pada rank "$run" --cost-size 32 --limit 100 --networks 3 --quiet --out "$work/large2.csv"
check "$(column "$work/large2.csv" "$arch" macs)" = "$(column "$work/large.csv" "$arch" macs)"
pada search "$run" --cost-size 33 --dry-run
refused 2 'image size 33'

# On the images that a training has held out.
pada search "$run" --split held-out --quiet
refused 2 "--split held-out: $run was trained without --hold-out"
pada train $small --hold-out 0.3 --out "$work/held"
expect_rc 0
pada search "$work/held" --split held-out --algorithm random --rounds 1 --per-round 3 --quiet --json
expect_rc 0
expect_out_has '"split": "val", "images": 600'
pada rank "$work/held" --split held-out --networks 2 --quiet
expect_rc 0
expect_out_has '600 val images'
pada eval "$work/held" --split held-out --limit 601 --arch-dialect list 3,3,3,3,3,3
refused 2 'limit 601 is not in 1 to 600'
pada rank --weights "$work"/held/ckpt/*.safetensors --channels 4 --cells 1 --split held-out
refused 2 '--split held-out: only a run folder says which'

# The other algorithms, a budget, JSON.
search --algorithm random --rounds 3 --per-round 10 --budget 25 --top 1 --json
expect_rc 0
expect_out_has '"algorithm": "random", "seed": 0, '
expect_out_has '"evaluated": 25, "generations": [{"generation": 0, "evaluated": 10, "best": {"arch": "|'
check "$(wc -l <"$run/search/best.csv")" -eq 26
# A limit on latency, by a table that `pada bench latency` has measured.
pada bench latency --channels 4 --cells 1 --image-size 16 --repeats 1 --threads 1 --out "$work/latency.csv"
expect_rc 0
pada search "$run" --latency-table "$work/latency.csv" --dry-run
expect_rc 0
mean=$(awk '$1 == "latency_ms" { print $4 }' "$work/out")
pada search "$run" --limit 100 --latency-table "$work/latency.csv" --max-latency "$mean" --algorithm random --rounds 1 \
    --per-round 20 --quiet --out "$work/quick"
expect_rc 0
check "$(awk -F, -v most="$mean" 'NR > 1 && ($7 == "" || $7 > most + 0.0005)' "$work/quick/best.csv")" = ''
pada search "$run" --latency-table "$work/latency.csv" --max-latency 0.001 --dry-run
refused 2 'latency: no network has at most 0.001 ms'

search --algorithm pareto --cost params --top 2
expect_rc 0
check "$(awk -F, 'NR > 2 && ($6 <= params || $3 <= top1) { print } { params = $6; top1 = $3 }' "$run/search/front.csv")" = ''
pada search "$run" --dry-run --json
largest=$(sed 's/.*"macs", "smallest": [0-9]*, "largest": \([0-9]*\),.*/\1/' "$work/out")
pada search "$run" --limit 100 --min-macs "$largest" --quiet # 3x3 everywhere, and nothing else
expect_rc 0
expect_out_has ': evolution, 1 network (no further ones were found)'

# Another space, and several supernets: each network has the score of the one that judges it.
pada train --space macro --channels 4 --features 16 $small_run --out "$work/macro"
pada search "$work/macro" --limit 100 --max-params 30k --budget 20 --quiet
expect_rc 0
check "$(awk -F, 'NR > 1 && $6 > 30000' "$work/macro/search/best.csv")" = ''
pada train --method fewshot --split-edges 0 --child-epochs 1 --channels 4 --cells 1 $small_run --out "$work/few"
pada search "$work/few" --limit 100 --budget 20 --quiet
expect_rc 0
pada rank "$work/few" --limit 100 --networks 2 --quiet
arch=$(sed -n 2p "$work/few/search/best.csv" | cut -d, -f2)
check "$(column "$work/few/ranking.csv" "$arch" score)" = "$(sed -n 2p "$work/few/search/best.csv" | cut -d, -f3).0"

# Without a run folder.
weights=$(ls "$run"/ckpt/*.safetensors | tail -n 1)
mkdir "$work/empty" && cd "$work/empty" || exit 1
pada search --weights "$weights" --channels 4 --cells 1 --limit 100 --population 4 --generations 1 --mutants 2 --crossovers 2 --quiet
expect_rc 0
check -e search/best.csv
check -d search/scores
cd "$work" || exit 1

# ---- refused ----

pada search --quiet
refused 2 'nothing to search'
pada search "$work/nowhere"
expect_rc 66
pada search "$run" --algorithm evolutoin
refused 2 "evolution"
pada search "$run" --population 0
refused 2 'population'
pada search "$run" --max-macs 0
refused 2 'max-macs'
pada search "$run" --max-macs 12x
refused 2 'max-macs'
pada search "$run" --rounds 1000000 --per-round 1000000 --algorithm random
refused 2 'is not in 1 to'
pada search "$run" --cost latency
refused 2 'cost latency needs --latency-table'
pada search "$run" --max-latency 3 --latency-table "$work/nothing"
refused 66 'nothing'
: >"$work/file"
search --out "$work/file/folder"
expect_rc 1
expect_out ''
for file in "$run"/scores/*.csv; do sed -i '2s/.*/nonsense/' "$file"; done
search --out "$work/damaged"
refused 65 'scores/'
check ! -e "$work/damaged/best.csv"
finish
