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
has '<th scope="row">multiply-adds forward</th><td>2.00 &#183; 10<sup>12</sup></td>'
has '<th scope="row">training time</th><td>6.0 s</td>'
has '<th scope="row">loss, last epoch</th><td>2.6000</td>'
has '<td><code>00000000deadbeef</code></td>'
has "pada train --config &#39;$work/good/config.yaml&#39; --out &#39;$work/good&#39;"
has '<p>125 networks; truth: column <code>t&#60;b&#62;</code>'
has '"id":"loss","kind":"line","x":"epoch","y":"cross-entropy (nats)"'
has '"points":[[1,2.9],[2,2.8],[3,2.7],[4,2.6]]'
has '"id":"paths-0","kind":"stack"'
has '"id":"scatter-0","kind":"scatter"'
has '"top":56.5}'
has '"name":"conv","color":1,'
lacks 'What is missing'
lacks 'id="comparison"'
# It asks for nothing outside itself.
checks=$((checks + 1))
! grep -qE '<(link|iframe|object|embed|base)|(src|href)=' "$page" || complain 'the page refers to something'
# The numbers are those of `pada rank`, the drawings those of `pada arch`.
pada rank --predictions "$work/good/ranking.csv" --truth "$work/truth.csv" --json
tau=$(sed -n '1s/.*"tau_b": \(0\.[0-9]\{4\}\).*/\1/p' "$work/out")
has "<th scope=\"row\">tau-b</th><td>$tau <span class=\"interval\">["
checks=$((checks + 1))
[ "$(grep -c '<li><p>score ' "$page")" -eq 10 ] || complain 'not ten cells'
best=$(sort -t, -k3,3gr -s "$work/all" | sed 's/,.*//;q')
has "<li><p>score 132, true accuracy 62.00&#8239;% (rank 1 of 125)<br><code>$best</code></p>"
checks=$((checks + 1))
case $(sed -n '/<div class="drawing">/=' "$page" | wc -l) in
10) ;;
*) grep -qF '<pre>node 1 = ' "$page" || complain 'cells without drawing' ;;
esac
cp "$page" "$work/first.html"
report "$work/good" --truth "$work/truth.csv" --threads 1
checks=$((checks + 1))
cmp -s "$page" "$work/first.html" || complain 'another page of the same folder'

# Several runs: paired differences as `pada compare` has them.
report "$work/good" "$work/bad" --truth "$work/truth.csv"
expect_rc 0
has 'id="comparison"'
has "<caption>$work/bad minus $work/good, paired over the same networks</caption>"
has "<p>$work/good ranks better than $work/bad by tau-b, which is distinguishable at 95&#8239;%.</p>"
has "\"name\":\"$work/bad: validation\",\"color\":1,\"dash\":1"
pada compare "$work/good" "$work/bad" --truth "$work/truth.csv"
difference=$(sed -n '/minus/,$s/^tau-b *\(-0\.[0-9]*\) .*/\1/p' "$work/out")
has "<tr class=\"clear\"><th scope=\"row\">tau-b</th><td>$difference</td>"

# Without truth, without ranking, without anything: the page says what is missing.
report "$work/good"
expect_rc 0
has 'No truth table was given'
lacks '"kind":"scatter"'
has '<li><p>score 132<br>'
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
report "$work/empty"
expect_rc 0
has 'No losses: no epoch has ended.'
has 'The variance of the gradients was not measured'
has 'No run has a ranking'
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
sed -i 's/nb201/nb202/' "$work/bad/config.yaml"
pada report "$work/bad"
refused 2 "did you mean 'nb201'?"
finish
