#!/bin/sh
# test_free_scores.sh - `pada rank --scores`: scores without training, alone and beside a run; resumption, refusals.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

cd "$work" || exit 1
pada truth --builtin
cp out truth.csv
rank() {
    pada rank --channels 4 --cells 1 --networks 12 --quiet "$@"
}

rank --scores az_nas,synflow --out free.csv
expect_rc 0
expect_no_err
expect_out_has 'free.csv: 12 networks, '
expect_out_has 'synflow: 12 networks measured, '
check "$(head -n 1 free.csv)" = 'arch,score,rank,ties,az_nas,expressivity,progressivity,trainability,complexity,synflow,macs,params,same_as'
check "$(awk -F, 'NR > 1 && ($2 != $5 || $9 != $11)' free.csv)" = ''
check "$(awk -F, 'NR > 2 && $2 > last { print } { last = $2 }' free.csv)" = ''
check "$(cat free.csv.scores/*.csv | wc -l)" -eq 26 # two headers

# Nothing is measured twice; stopped and resumed, by other threads, the bytes are the same.
cp free.csv first.csv
rank --scores az_nas,synflow --out free.csv
expect_rc 0
checks=$((checks + 1))
! grep -q measured out || complain "measured again"
cmp -s free.csv first.csv || complain "other bytes"
rm -r free.csv free.csv.scores
rank --scores az_nas,synflow --out free.csv --max-seconds 0.001 --threads 1
expect_rc 75
expect_err 'stopped after 1 of 12 networks; the same command resumes it'
check ! -e free.csv
rank --scores az_nas,synflow --out free.csv --threads 2
cmp -s free.csv first.csv || complain "other bytes after a stop"

# Beside a run, with a truth: a line for each, and the same numbers as alone.
pada train --channels 4 --cells 1 --epochs 1 --batch-size 500 --validate 0 --no-events --quiet --method spos --out run
cut -d, -f1 truth.csv | tail -n +2 | head -n 12 >list
# the truth is of networks of other sizes, which it does not say
ranked() {
    pada rank "$@" --list list --limit 100 --truth truth.csv --quiet --bootstrap 10 --json
}
ranked run --scores grad_norm,naswot --out beside.csv
expect_rc 0
check "$(grep -o '^{"name": "[^"]*"' out | cut -d'"' -f4 | tr '\n' ',')" = \
    'supernet,grad_norm,naswot,macs,params,live_macs,conv_depth,op_sum,'
grep '"name": "naswot"' out | sed 's/, "top".*//; s/"distinct.*//; s/}$//' >beside
pada rank --channels 4 --cells 1 --scores naswot --list list --truth truth.csv --quiet --bootstrap 10 --json --out alone.csv
expect_rc 0
grep '"name": "naswot"' out | sed 's/, "top".*//; s/, "distinct.*//; s/}$//' >alone
check "$(cat beside)" = "$(cat alone)"
pada compare beside.csv alone.csv --truth truth.csv --bootstrap 10
expect_rc 0

# Other spaces; of DARTS cells read two others, which AZ-NAS does not know.
pada rank --space macro --channels 4 --scores naswot,grad_norm,synflow,az_nas --networks 1 --out macro.csv --quiet
expect_rc 0
pada rank --space darts --channels 4 --cells 3 --scores grad_norm --networks 1 --out darts.csv --quiet
expect_rc 0
pada rank --space darts --channels 4 --cells 3 --scores az_nas --networks 1 --out darts.csv --quiet
expect_rc 1
expect_err 'az_nas, space darts: a block reads more than the block before it'

rank --scores naswott
refused 2 "unknown score 'naswott'; did you mean 'naswot'?"
rank --scores naswot,naswot
refused 2 '--scores: naswot was given twice'
rank --scores ''
refused 2 '--scores: no name'
rank --scores naswot --prior macs:1
refused 2 '--prior: give a run folder or --weights'
pada rank --predictions free.csv --scores naswot
refused 2 '--scores: no network is measured with --predictions'

finish
