#!/bin/sh
# test_formats.sh - docs/formats.md: its commands run, and its tables name what the files hold, no less and no more.
# shellcheck source=tests/docs/harness.sh
. "$(dirname "$0")/harness.sh"

cd "$work"
ln -s "$PADA_BUILD/pada" bin/pada
follow formats.md
expect 'the tables of docs/formats.md' python3 "$PADA_SOURCE/tests/docs/check_formats.py" "$PADA_SOURCE/docs/formats.md" run "$PADA_BUILD/pada"
