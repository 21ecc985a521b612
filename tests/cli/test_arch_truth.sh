#!/bin/sh
# test_arch_truth.sh - `pada arch` with the published truth table: official indices.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

truth=$PADA_SOURCE/../shared/data/nb201/truth.csv
if [ ! -f "$truth" ]; then
    echo "skipped: $truth is not there"
    exit 77
fi

pada arch 0 1 --truth "$truth" --to list
expect_rc 0
expect_out '[4,2,1,2,1,1]
[3,3,4,1,3,1]'
pada arch --from list '[3,3,4,1,3,1]' --truth "$truth" --to index
expect_out '1'
pada arch 15624 --truth "$truth" --to index --json
expect_out_has '"to": "15624"'
pada arch 15625 --truth "$truth"
expect_usage_error '15625'
pada arch -1 --truth "$truth"
expect_rc 2

# Indices out and back in, over a part of the table.
# shellcheck disable=SC2046 # lists of words without blanks
"$PADA_BINARY" arch $(seq 0 97 15624) --truth "$truth" >"$work/strings"
# shellcheck disable=SC2046
pada arch $(cat "$work/strings") --truth "$truth" --to index
expect_out "$(seq 0 97 15624)"
sed 1d "$truth" | cut -d, -f1 | sed -n '1~97p' | cmp -s - "$work/strings" || complain 'not the rows of the table'
finish
