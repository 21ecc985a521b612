#!/bin/sh
# test_truth_builtin.sh - the built-in truth table is what docs/truth.md says: three of its networks, trained again.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

# Without and with convolutions; the first seed. Row 1 is the header.
pada truth --builtin
for row in 4 9 11; do sed -n "${row}p" "$work/out" >>"$work/rows"; done
cut -d, -f1 "$work/rows" >"$work/cells.txt"

# The bits are the same on every machine, so the values are, too. pairs: cell, value, cell, mean, seed 0, ..
pada truth --list "$work/cells.txt" --data builtin --channels 8 --cells 1 --epochs 10 --batch-size 32 --lr 0.05 \
    --backend cpu --out "$work/again" --quiet
expect_rc 0
tail -n +2 "$work/again/truth.csv" | paste -d, - "$work/rows" >"$work/pairs"
awk -F, '{ print $1, $2, $5; if ($2 != $5) bad = 1 } END { exit bad || NR != 3 }' "$work/pairs" ||
    complain "not the values of the table: $(cat "$work/pairs")"
checks=$((checks + 1))
finish
