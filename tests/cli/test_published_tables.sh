#!/bin/sh
# test_published_tables.sh - the published tables of NAS-Bench-Macro and DARTS: what rankings by costs are worth there, and how
# well two trainings of a network agree. Skipped where the tables are not there.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

tables=$PADA_SOURCE/../shared/data
macro=$tables/macro/truth.csv darts=$tables/darts
if [ ! -f "$macro" ] || [ ! -f "$darts/truth.csv" ]; then
    echo "skipped: no published tables in $tables"
    exit 77
fi

# tau_b NAME..: of lines of the last output, three digits. The first line is the file.
tau_b() {
    for name in "$@"; do
        if [ "$name" = file ]; then sed 1q "$work/out"; else grep "^{\"name\": \"$name\"" "$work/out"; fi
    done | sed 's/.*"tau_b": \([-0-9.]*\),.*/\1/' | awk '{ printf("%s%.3f", (NR > 1 ? " " : ""), $1) }'
}

# ---- NAS-Bench-Macro: all codes, and the different networks among them ----

awk -F, 'NR == 1 { print "arch,score" } NR > 1 { print $1 "," $3 }' "$macro" >"$work/first_run.csv"
pada rank --space macro --predictions "$work/first_run.csv" --truth "$macro" --truth-column mean_acc --bootstrap 0 --json
expect_rc 0
check "$(tau_b macs params blocks)" = '0.556 0.218 0.693'
pada rank --space macro --predictions "$work/first_run.csv" --truth "$macro" --truth-column acc2 --bootstrap 0 --json
check "$(tau_b file)" = 0.882

awk -F, 'NR == 1 || $1 == $8' "$macro" >"$work/distinct.csv"
check "$(($(wc -l <"$work/distinct.csv") - 1))" -eq 3969
awk -F, 'NR == 1 { print "arch,score" } NR > 1 { print $1 "," $7 }' "$work/distinct.csv" >"$work/macs.csv"
pada rank --space macro --predictions "$work/macs.csv" --truth "$work/distinct.csv" --truth-column mean_acc --bootstrap 0 --json
expect_rc 0
check "$(tau_b macs file blocks)" = '0.546 0.546 0.679'
pada arch --space macro 22222220 --cost --json
expect_out_has "\"macs\": $(column "$work/macs.csv" 22222220 score),"

# ---- DARTS: networks that were trained, and predictions of a surrogate ----

# The last column is quoted and the only one with commas.
awk -F, 'NR == 1 { print "genotype,score" } NR > 1 { sub("\r", ""); print substr($0, index($0, "\"")) "," $5 }' "$darts/truth.csv" >"$work/params.csv"
pada rank --space darts --predictions "$work/params.csv" --truth "$darts/truth.csv" --truth-column acc_last --bootstrap 0 --json
expect_rc 0
expect_out_has '"n": 150'
check "$(tau_b params file normal_seps)" = '0.231 0.231 0.288'
awk -F, 'NR == 1 { print "genotype,score" } NR > 1 { sub("\r", ""); print substr($0, index($0, "\"")) "," $3 }' "$darts/nb301_surrogate.csv" >"$work/params.csv"
pada rank --space darts --predictions "$work/params.csv" --truth "$darts/nb301_surrogate.csv" --truth-column val_acc_nb301_surrogate \
    --bootstrap 0 --json
expect_rc 0
expect_out_has '"n": 1218'
check "$(tau_b params few_pools)" = '0.337 0.432'
finish
