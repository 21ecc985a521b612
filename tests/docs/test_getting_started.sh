#!/bin/sh
# test_getting_started.sh - docs/getting-started.md, followed from the install to the report, on generated images.
# shellcheck source=tests/docs/harness.sh
. "$(dirname "$0")/harness.sh"

cd "$work"
python3 "$PADA_SOURCE/tests/docs/make_photos.py" photos
# Without Chart.js there is no report, and the program says so.
if grep -q '^CHART_JS:.*NOTFOUND' "$PADA_BUILD/CMakeCache.txt"; then
    echo 'skipped: built without Chart.js'
    exit 77
fi
follow getting-started.md

expect 'nothing wrong with the images' has out 'images are fine'
for file in runs/auto/network/best.safetensors runs/auto/model.onnx runs/photos/metrics.csv runs/photos/ranking.csv truth/photos/truth.csv runs/spos/ranking.csv report.html; do
    expect "$file" [ -s "$file" ]
done
expect '20 epochs' [ "$(wc -l <runs/photos/metrics.csv)" = 21 ]
expect '12 networks' [ "$(wc -l <truth/photos/truth.csv)" = 13 ]
expect 'a comparison' has out 'runs/spos minus runs/photos'
expect 'baselines' has out 'live_macs'
expect 'the file of options' has runs/spos/config.yaml 'method: "spos"'
expect 'a whole page' has report.html '</html>'
echo 'docs/getting-started.md works'
