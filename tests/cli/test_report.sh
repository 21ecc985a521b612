#!/bin/sh
# test_report.sh - `pada report`: what is in the page, what is missing in it, what must stay text, what is refused.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"
# shellcheck source=tests/cli/report_fixture.sh
. "$(dirname "$0")/report_fixture.sh"

page=$work/page.html
has() {
    checks=$((checks + 1))
    grep -qF -- "$1" "$page" || complain "the page lacks: $1"
}
lacks() {
    checks=$((checks + 1))
    ! grep -qF -- "$1" "$page" || complain "the page has: $1"
}
report() {
    pada report "$@" --out "$page"
}

report "$work/good" --truth "$work/truth.csv"
if [ "$rc" -eq 69 ]; then
    refused 69 'this pada was built without Chart.js'
    finish
fi
expect_rc 0
expect_no_err
expect_out "$page: $(wc -c <"$page") bytes"
has '<th scope="row">method</th><td>spos</td>'
has '<th scope="row">epochs</th><td>4 of 4</td>'
has '<th scope="row">training passes</th><td>46</td>'
has '<th scope="row">multiply-adds forward</th><td>2.00 T</td>'
has '<th scope="row">training time</th><td>6.0 s</td>'
has '<th scope="row">loss, last epoch</th><td>2.6000</td>'
has '<td><code>00000000deadbeef</code></td>'
has "pada train --config $work/good/config.yaml --out $work/good"
has '<p>125 networks; truth: column <code>t&#60;b&#62;</code>'
has '"id":"loss","kind":"line","x":"epoch","y":"cross-entropy (nats)"'
has '"points":[[1,2.9],[2,2.8],[3,2.7],[4,2.6]]'
has '"id":"paths-0","kind":"stack"'
has '"id":"scatter-0","kind":"scatter"'
has '"top":56.5}'
has '"name":"conv","color":1,'
lacks 'What is missing'
lacks 'id="comparison"'
# First what it is worth, then the best network, provenance last.
checks=$((checks + 1))
[ "$(sed -n 's/^<section id="\(.*\)">$/\1/p' "$page" | tr '\n' ' ')" = 'verdict best ranking training sampling provenance ' ] ||
    complain 'sections in another order'
has '<li class="weak"><strong>Supernet weak:</strong> 13.0&#8239;% training accuracy after 4 of 4 epochs'
has 'guessing gives 10.0&#8239;% (10 classes)'
has '<strong>Ranking good:</strong> tau-b 0.9'
has 'which needs no training, gives 0.'
has ': clearly less. Its first choice is 0.00 points below the best network of the table.'
has 'multiply-adds per image, '
# It asks for nothing outside itself.
checks=$((checks + 1))
! grep -qE '<(link|iframe|object|embed|base)|(src|href)=' "$page" || complain 'the page refers to something'
# The numbers are those of `pada rank`, the drawings those of `pada arch`.
pada rank --predictions "$work/good/ranking.csv" --truth "$work/truth.csv" --json
tau=$(sed -n '1s/.*"tau_b": \(0\.[0-9]*\).*/\1/p' "$work/out")
has "</span></th><td>$(printf %.3f "$tau") <span class=\"interval\">["
has '<th scope="row">tau-b<span class="meaning">pairs in the right order minus'
checks=$((checks + 2))
[ "$(grep -c '<li value=' "$page")" -eq 9 ] || complain 'not nine further networks'
[ "$(grep -c '<div class="drawing"><svg ' "$page")" -eq 10 ] || complain 'not ten drawings'
best=$(sort -t, -k3,3gr -s "$work/all" | sed 's/,.*//;q')
has '<li>score 132</li>'
has '<li>true accuracy 62.00&#8239;% (rank 1 of 125)</li>'
has "<p><code>$best</code></p>"
cp "$page" "$work/first.html"
report "$work/good" --truth "$work/truth.csv" --threads 1
checks=$((checks + 1))
cmp -s "$page" "$work/first.html" || complain 'another page of the same folder'

# Several runs: paired differences as `pada compare` has them.
report "$work/good" "$work/bad" --truth "$work/truth.csv"
expect_rc 0
checks=$((checks + 1))
[ "$(sed -n 's/^<section id="\(.*\)">$/\1/p' "$page" | head -n 2 | tr '\n' ' ')" = 'comparison verdict ' ] ||
    complain 'no comparison first'
has "<caption>$work/bad minus $work/good, paired over the same networks; * marks what is clear at 95&#8239;%</caption>"
has "<p>$work/good ranks better than $work/bad by tau-b, which is distinguishable at 95&#8239;%.</p>"
has "\"name\":\"$work/bad: validation\",\"color\":1,\"dash\":1"
pada compare "$work/good" "$work/bad" --truth "$work/truth.csv"
difference=$(sed -n '/minus/,$s/^tau-b *\(-0\.[0-9]*\) .*/\1/p' "$work/out")
has "<tr class=\"clear\"><th scope=\"row\">tau-b</th><td>$(printf %.3f "$difference") "

# Seeds of two settings: a point per run.
for seed in 0 1; do
    cp -r "$work/good" "$work/mine-s$seed"
    sed -i "s/^seed: 0/seed: $seed/" "$work/mine-s$seed/config.yaml"
done
cp -r "$work/bad" "$work/other-s0"
sed -i 's/spos/pa/' "$work/other-s0/config.yaml"
report "$work/mine-s0" "$work/other-s0" "$work/mine-s1" --truth "$work/truth.csv"
expect_rc 0
tau_of() { printf %.7g "$(pada rank --predictions "$1/ranking.csv" --truth "$work/truth.csv" --json; sed -n '1s/.*"tau_b": \(-*0\.[0-9]*\).*/\1/p' "$work/out")"; }
good_tau=$(tau_of "$work/good")
has "\"y\":\"tau-b\",\"groups\":[{\"name\":\"mine\",\"values\":[$good_tau,$good_tau]},{\"name\":\"other-s0\",\"values\":[$(tau_of "$work/bad")]}]}"
has '{"name":"mine","values":[0.002,0.002]},{"name":"other-s0","values":[0.002]}'
report "$work/mine-s0" "$work/other-s0" --truth "$work/truth.csv"
lacks '"kind":"seeds"'

# Few networks and images: no label says more than there is.
report "$work/small" --truth "$work/truth.csv"
expect_rc 0
has '33.0&#8239;% training accuracy after 4 of 4 epochs, 23.0&#8239;% on validation images (mean of 5 random networks); guessing'
has 'guessing gives 25.0&#8239;% (4 classes)'
has '<strong>Ranking weak:</strong> tau-b -1.000 <span class="interval">[-1.000, -1.000]</span> over the 12 networks'
has 'the best of 12 networks has 70.0&#8239;% <span class="interval">[54.6, 81.9]</span> of 40 images right; 3 others are within'
has '<li>score 70.0&#8239;% <span class="interval">[54.6, 81.9]</span>: 28 of 40 images right'
has 'under 1 other name, as its copies'
has 'Metrics about a share of the networks are left out where that share of 12 is fewer than 5.'
has '(6 of 12 networks)'
lacks 'P@Top5%'
lacks 'truly best of'
lacks '"id":"top-0"'
lacks '"id":"tau"'

# Without truth, without ranking, without anything: the page says what is missing.
report "$work/small"
expect_rc 0
has "  --data &#39;my photos&#39; --resize pad \\"
has '  --space nb201 --channels 8 --cells 1 \'
report "$work/good"
expect_rc 0
has 'No truth table was given'
lacks '"kind":"scatter"'
has '<strong>Ranking not checked:</strong>'
has 'pada truth --networks 20'
has '<li>score 132</li>'
report "$work/killed" "$work/empty" "$work/good" --truth "$work/truth.csv"
expect_rc 0
expect_no_err
has '<h2>What is missing</h2>'
has "<li>$work/killed/config.yaml:"
has "<li>$work/killed/env.json: No such file or directory</li>"
has "<li>$work/killed/metrics.csv:5: 4 columns instead of 19; rows from there on are left out</li>"
has "<li>$work/killed/ranking.csv: not there; \`pada rank\` makes it</li>"
has "<li>$work/empty/metrics.csv: No such file or directory</li>"
has "\"name\":\"$work/killed: training\",\"color\":0,\"dash\":0,\"points\":[[1,2.9],[2,2.8],[3,null]]"
has '<th scope="row">epochs</th><td>3 of &#8211;</td><td>0 of &#8211;</td><td>4 of 4</td>'
pada report "$work/empty"
refused 65 "$work/empty: nothing to report: neither metrics.csv nor ranking.csv"
check ! -e "$work/empty/report.html"
head -n 1 "$work/good/metrics.csv" >"$work/empty/metrics.csv"
report "$work/empty"
expect_rc 0
has 'No losses: no epoch has ended.'
has 'The variance of the gradients was not measured'
has 'No ranking yet.'
has "<pre>pada rank $work/empty</pre>"
rm "$work/empty/metrics.csv"
sed 's/^|none/|nada/' "$work/good/ranking.csv" >"$work/empty/ranking.csv"
report "$work/empty" "$work/good" --truth "$work/truth.csv"
expect_rc 0
has "<li>$work/empty/ranking.csv:2: "
sed 2q "$work/good/ranking.csv" >"$work/empty/ranking.csv"
report "$work/empty" --truth "$work/truth.csv"
expect_rc 0
has "<li>$work/empty/ranking.csv: 1 networks in common with $work/truth.csv</li>"
rm "$work/empty/ranking.csv"

# Whatever the files and names hold is text.
report "$hostile" "$work/good" --truth "$work/truth.csv"
expect_rc 0
has '&#60;img src=x onerror=hacked=1&#62;&#39;&#34;'
has '\u003c/script\u003e\u003cscript\u003ehacked=1\u003c/script\u003e'
has 'note: &#34;&#65533;&#65533;&#34;'
lacks '<img'
lacks 'script>hacked'
checks=$((checks + 1))
[ "$(grep -o '</script>' "$page" | wc -l)" -eq 3 ] || complain 'not three scripts'

# The commands of a page work as they stand there.
run_commands() { # run_commands BEGINNING MORE: of a <pre> of the page, and what is added for the sake of time
    python3 -c 'import html, re, sys
for text in re.findall("<pre>(.*?)</pre>", open(sys.argv[1]).read(), re.S):
    if text.startswith(sys.argv[2]):
        print(html.unescape(text) + sys.argv[3])' "$page" "$1" "$2" >"$work/commands.sh"
    mkdir -p "$work/bin"
    ln -sf "$PADA_BINARY" "$work/bin/pada"
    command_line="commands of the page: $1"
    (cd "$work" && PATH="$work/bin:$PATH" sh -e "$work/commands.sh") >"$work/out" 2>"$work/err"
    rc=$?
    expect_rc 0
    check -s "$work/commands.sh"
}
run="$work/a run"
pada train --channels 2 --cells 1 --epochs 1 --batch-size 500 --validate 0 --quiet --out "$run"
report "$run"
expect_rc 0
run_commands 'pada rank' ' --networks 20 --limit 50'
check -s "$run/ranking.csv"
report "$run"
expect_rc 0
run_commands 'pada retrain --from' ' --epochs 1 --batch-size 500 --quiet'
check -s "$run-best/metrics.csv"
report "$run-best"
expect_rc 0
has '<strong>Network '
lacks 'Ranking missing'
run_commands 'pada eval' ' --limit 50'
lacks 'pada truth'

# A search: how it went, the front, the winner and what to do with it. No ranking is asked for then.
mv "$run/ranking.csv" "$work/ranking.csv"
pada search "$run" --limit 100 --population 12 --generations 3 --mutants 6 --crossovers 5 --parents 4 --quiet
expect_rc 0
report "$run"
expect_rc 0
expect_no_err
found=$(($(wc -l <"$run/search/best.csv") - 1))
winner=$(sed -n 2p "$run/search/best.csv" | cut -d, -f2)
checks=$((checks + 1))
[ "$(sed -n 's/^<section id="\(.*\)">$/\1/p' "$page" | tr '\n' ' ')" = 'verdict search ranking training sampling provenance ' ] ||
    complain 'sections in another order'
has "<strong>Search done:</strong> the best of $found networks has "
has "<p><code>$winner</code></p>"
has '"id":"history-0","kind":"networks","color":0,"x":"evaluation"'
has '"id":"front-0","kind":"networks","color":0,"x":"multiply-adds per image"'
has "{\"name\":\"front\",\"look\":\"line\",\"points\":[[$(sed -n 2p "$run/search/front.csv" | cut -d, -f5),"
has "{\"name\":\"winner\",\"look\":\"star\",\"points\":[[$(sed -n 2p "$run/search/best.csv" | cut -d, -f5),"
has "[$found,$(tail -n 1 "$run/search/history.csv" | cut -d, -f5)]]}"
check "$(grep -c '<li value=' "$page")" -eq 9
lacks 'No ranking yet'
lacks 'What is missing'
cp -r "$run/search" "$work/search"
rm "$run/search/front.csv" "$run/search/history.csv"
report "$run"
expect_rc 0
lacks '"kind":"networks"'
has "<p><code>$winner</code></p>"
cp "$work/search"/* "$run/search"

# A front by another cost is drawn over that one.
awk -F, -v OFS=, 'NR > 1 { $5 = 100 - NR; $6 = NR } { print }' "$work/search/best.csv" | sed 4q >"$run/search/front.csv"
report "$run"
expect_rc 0
has '"id":"front-0","kind":"networks","color":0,"x":"parameters"'

# Broken files are refused, and no page is written.
broken() { # broken FILE TEXT: what a file of $broken_run holds now; restored from $whole
    pada report "$broken_run" --out "$work/none.html"
    refused 65 "$broken_run/$1$2"
    check ! -e "$work/none.html"
    cp "$whole/$(basename "$1")" "$broken_run/$1"
}
broken_run=$run whole=$work/search
cp "$work/search/front.csv" "$run/search/front.csv"
printf '9,x' >>"$run/search/best.csv"
broken search/best.csv ":$((found + 2)): 'x' is no network of space nb201"
printf %s "$(cat "$work/search/best.csv")" >"$run/search/best.csv"
broken search/best.csv ":$((found + 1)): cut short"
: >"$run/search/best.csv"
broken search/best.csv ': empty, not a file'
sed 1q "$work/search/front.csv" >"$run/search/front.csv"
broken search/front.csv ': no networks'
sed '$d' "$work/search/history.csv" >"$run/search/history.csv"
broken search/history.csv ": $((found - 1)) networks, best.csv has $found"
sed '1s/top1/score/' "$work/search/history.csv" >"$run/search/history.csv"
broken search/history.csv ":1: column 'score' instead of top1"
sed '2s/,[0-9.]*$/,nan/' "$work/search/history.csv" >"$run/search/history.csv"
broken search/history.csv ':2: best_so_far'
report "$run"
expect_rc 0

# Its winner, retrained: the test, class by class, and how to use it.
run_commands 'pada retrain --from' ' --epochs 2 --batch-size 500 --keep-best test --quiet'
final="$run-final"
report "$final"
expect_rc 0
expect_no_err
checks=$((checks + 1))
[ "$(sed -n 's/^<section id="\(.*\)">$/\1/p' "$page" | tr '\n' ' ')" = 'verdict best test use training provenance ' ] ||
    complain 'sections in another order'
top1=$(sed -n 's/.*"best": {"top1": \([0-9.]*\),.*/\1/p' "$final/test.json")
has "</strong> $(printf %.2f "$top1")&#8239;% <span class=\"interval\">["
has ' of 1000 test images right, '
has "<code>$winner</code>"
has 'multiply-adds per image, '
has 'as these are the images of the test, it is optimistic'
has '<svg class="heat" role="img"'
check "$(grep -c '<th scope="row">[0-9]</th><td>100</td><td>' "$page")" -eq 10
right=$(sed -n 2p "$final/confusion.csv" | cut -d, -f2)
[ "$right" -eq 0 ] || has "<title>$right of 100 images of 0 given to 0</title>"
has "<pre>pada predict &#39;$final&#39; photo.jpg --top 5</pre>"
has '<code>--to onnx</code>'
has 'pada retrain --config'
has '"id":"lr","kind":"line"'
lacks 'What is missing'
run_commands 'pada export' ''
check -s "$final.onnx"
cp -r "$final" "$work/final"
broken_run=$final whole=$work/final
head -c 200 "$work/final/test.json" >"$final/test.json"
broken test.json ':1: '
sed 's/"best": {"top1": [0-9.]*/"best": {"top1": 101/' "$work/final/test.json" >"$final/test.json"
broken test.json ': best: top1 is not a share in percent'
sed 's/"images": 100,/"images": -1,/' "$work/final/test.json" >"$final/test.json"
broken test.json ': last: class 0: images is not a number of images'
sed 5q "$work/final/confusion.csv" >"$final/confusion.csv"
broken confusion.csv ': 4 classes, test.json has 10'
sed '3s/[0-9]*$/5000/' "$work/final/confusion.csv" >"$final/confusion.csv"
broken confusion.csv ':3: '
sed '$p' "$work/final/confusion.csv" >"$final/confusion.csv"
broken confusion.csv ':12: more than the 10 classes of test.json'
head -c 100 "$work/final/last.safetensors" >"$final/last.safetensors"
broken last.safetensors ''
# What is not there is not shown.
rm "$final/confusion.csv" "$final/best.safetensors"
report "$final"
expect_rc 0
lacks 'class="heat"'
lacks 'best.safetensors'
rm "$final/test.json" "$final/last.safetensors"
report "$final"
expect_rc 0
lacks 'id="test"'
lacks 'id="use"'
has 'Next: its accuracy on the images'

# Measurements at checkpoints: a chart for each question, from the rows with the settings of the last one, by epoch.
lacks 'id="probes"'
pada probe bounds "$run" --newest --paths 2 --images 4
expect_rc 0
mkdir "$work/probes"
cp "$run/probes/bounds.csv" "$work/probes/bounds.csv"
row=$(sed -n 2p "$work/probes/bounds.csv")
correlation=$(printf %.7g "$(echo "$row" | cut -d, -f9)")
{ # epochs 3 and 2, other settings, the row of epoch 1 again, and half a line
    cat "$work/probes/bounds.csv"
    echo "$row" | sed 's/^1,/3,/'
    echo "$row" | sed 's/^1,/2,/'
    echo "$row" | cut -d, -f1-7 | tr -d '\n'
    echo ",99,$(echo "$row" | cut -d, -f9-)"
    echo "$row"
    printf '4,4,'
} >"$run/probes/bounds.csv"
report "$run"
expect_rc 0
has '<section id="probes">'
has '"id":"probe-bounds-0","kind":"line","x":"epoch","y":"correlation"'
has "{\"name\":\"Pearson\",\"color\":0,\"dash\":0,\"points\":[[1,$correlation],[2,$correlation],[3,$correlation]]}"
has '"id":"probe-images-0"'
lacks '"id":"probe-variance-0"'
broken_run=$run whole=$work/probes
sed 's/spearman/spear/' "$work/probes/bounds.csv" >"$run/probes/bounds.csv"
broken probes/bounds.csv ':1: not the header of a file of `pada probe bounds`'
sed '2s/,[^,]*$//' "$work/probes/bounds.csv" >"$run/probes/bounds.csv"
broken probes/bounds.csv ':2: '
sed '2s/$/,7/' "$work/probes/bounds.csv" >"$run/probes/bounds.csv"
broken probes/bounds.csv ':2: '
: >"$run/probes/bounds.csv"
report "$run"
expect_rc 0
lacks 'id="probes"'

# Names of classes are text, in tables and in the matrix.
cp "$work/final/test.json" "$work/final/confusion.csv" "$final"
sed -i 's|"class": 3, "name": null|"class": 3, "name": "</title><script>hacked=1</script>"|g' "$final/test.json"
report "$final" "$run"
expect_rc 0
has '3 &#60;/title&#62;&#60;script&#62;hacked=1&#60;/script&#62;'
has '3 &#60;/title&#62;&#60;scrip&#8230;</text>'
lacks '<script>hacked'

# Where it goes without --out.
pada report "$work/good"
expect_rc 0
expect_out "$work/good/report.html: $(wc -c <"$work/good/report.html") bytes"

pada report
refused 2 'no run folder given'
pada report "$work/none"
refused 66 "$work/none: no run folder"
pada report "$work/good" "$work/truth.csv"
refused 66 "$work/truth.csv: no run folder"
pada report "$work/good" --truth "$work/none.csv"
refused 66 'none.csv'
pada report "$work/good" --truth "$work/truth.csv" --truth-column u
refused 2 "unknown truth column 'u'"
pada report "$work/good" --out "$work/none/page.html"
refused 1 "$work/none/page.html"
pada report "$work/good" --out "$work/good/metrics.csv"
refused 2 "$work/good/metrics.csv: would replace $work/good/metrics.csv, which is needed"
sed -i 's/nb201/nb202/' "$work/bad/config.yaml"
pada report "$work/bad"
refused 2 "did you mean 'nb201'?"
finish
