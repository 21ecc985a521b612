#!/bin/sh
# test_arch.sh - `pada arch` without a truth table.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

string='|avg_pool_3x3~0|+|nor_conv_1x1~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|'
nni='{"0_1":"avg_pool_3x3","0_2":"conv_1x1","1_2":"skip_connect","0_3":"conv_1x1","1_3":"skip_connect","2_3":"skip_connect"}'
tuples="[(('avg_pool_3x3', 0),), (('nor_conv_1x1', 0), ('skip_connect', 1)), (('nor_conv_1x1', 0), ('skip_connect', 1), ('skip_connect', 2))]"
list='[4,2,1,2,1,1]'
naslib='[4,3,3,0,0,0]'

# Every dialect into every dialect.
text_in() {
    case $1 in
    nb201) echo "$string" ;; list) echo "$list" ;; naslib) echo "$naslib" ;;
    nni) echo "$nni" ;; tuples) echo "$tuples" ;;
    esac
}
for from in nb201 list naslib nni tuples; do
    for to in nb201 list naslib nni tuples; do
        pada arch "$(text_in $from)" --from $from --to $to
        expect_rc 0
        expect_out "$(text_in $to)"
        expect_no_err
    done
done

# Recognised auto-detected.
for word in "$string" "$nni" "$tuples"; do
    pada arch "$word"
    expect_rc 0
    expect_out "$string"
done
pada arch "$string" "$nni" --to list
expect_out "$list
$list"

# Cost, as text and as JSON.
pada arch --from list 3,3,3,3,3,3 --to list --cost
expect_out '[3,3,3,3,3,3]  macs 220119690  params 1531546'
pada arch "$string" --cost --json
expect_out "{\"arch\": \"$string\", \"macs\": 15647370, \"params\": 129306}"
pada arch "$string" --json
expect_out "{\"arch\": \"$string\"}"
pada arch "$nni" --json --to list
expect_out "{\"arch\": \"$string\", \"to\": \"$list\"}"
pada arch --from list 0,0,0,0,0,0 --to list --cost --channels 8 --cells 1 --classes 2 --image-size 8
expect_rc 0
expect_out "[0,0,0,0,0,0]  macs $((8*8*27*8 + 16*(9*8*16+9*16*16+8*16) + 4*(9*16*32+9*32*32+16*32) + 66))\
  params $((27*8+16 + 9*8*16+9*16*16+8*16+64 + 9*16*32+9*32*32+16*32+128 + 64 + 66))"

# Equal cells: node 1 is dead here, so the edge behind it is too.
pada arch --from list 0,3,2,1,4,3 --to canonical
expect_out '|none~0|+|nor_conv_3x3~0|none~1|+|skip_connect~0|none~1|nor_conv_3x3~2|'
pada arch --from list 1,0,0,2,3,0 --to iso
expect_out '#+(0)@nor_conv_1x1+(0)@nor_conv_3x3'

# Drawings: what is dead stands in brackets, what computes nothing is not there.
pada arch --from list 0,3,2,1,4,3 --to text
expect_rc 0
expect_no_err
expect_out 'node 1 = 0
node 2 = nor_conv_3x3(input) + [nor_conv_1x1(node 1)]
output = skip_connect(input) + [avg_pool_3x3(node 1)] + nor_conv_3x3(node 2)'
pada arch --from list 0,3,2,0,0,3 --to dot
expect_rc 0
expect_out 'digraph cell {
  rankdir=LR; bgcolor=transparent;
  node [shape=box style=rounded fontname=Helvetica fontsize=12];
  edge [fontname=Helvetica fontsize=10];
  "input";
  "node 1";
  "node 2";
  "output";
  "input" -> "node 2" [label="nor_conv_3x3" class="op-nor_conv_3x3"];
  "node 1" -> "node 2" [label="nor_conv_1x1" class="op-nor_conv_1x1 dead" style=dashed color=gray fontcolor=gray];
  "node 2" -> "output" [label="nor_conv_3x3" class="op-nor_conv_3x3"];
}'
pada arch "$string" "$string" --to text --json --cost
expect_rc 0
expect_out_has '"params": 129306, "to": "node 1 = avg_pool_3x3(input)\nnode 2 = '
pada arch "$string" "$string" --to dot
expect_usage_error '--to dot draws one architecture at a time'
pada arch "$string" --to text --cost
expect_usage_error '--cost beside a drawing (--to text) needs --json'
pada arch '|<svg onload=x>~0|' --to svg
expect_usage_error "expected an operator, found '<'"
pada arch "$string" --to svg
expect_rc 0
expect_no_err
expect_out_has '<title>avg_pool_3x3: input to node 1</title>'
expect_out_has '>avg_pool_3x3</text>'
checks=$((checks + 1))
python3 -c 'import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
kinds = [part.get("class").split()[0] for part in root.iter() if part.get("class")]
sys.exit(kinds.count("node") != 4 or kinds.count("edge") != 6 or any(part.get("id") for part in root.iter()))' \
    "$work/out" || complain 'not an SVG of 4 nodes and 6 arrows'

# Wrong calls say what is wrong and print no result.
pada arch
expect_usage_error 'no architecture given'
pada arch "$list"
expect_usage_error 'list or naslib'
pada arch '|nor_conv_3x33~0|'
expect_usage_error "character 2: unknown operator 'nor_conv_3x33'; did you mean 'nor_conv_3x3'?"
pada arch "$string" "$string|"
expect_usage_error 'expected the end'
pada arch "$string" --to lsit
expect_usage_error "--to: unknown dialect 'lsit'; did you mean 'list'?"
pada arch "$string" --from canonical
expect_usage_error "--from: unknown dialect 'canonical'"
pada arch "$string" --space nb202
expect_usage_error "did you mean 'nb201'?"
pada arch "$string" --cost --image-size 30
expect_usage_error 'image size 30'
pada arch 17
expect_usage_error '--truth FILE'
pada arch 17 --from index
expect_usage_error '--truth FILE'
pada arch "$string" --to index
expect_usage_error '--truth FILE'
pada arch 17 --from list
expect_usage_error "expected an operator number 0 to 4, found '17'"
pada arch 17 --truth "$work/none.csv"
expect_rc 66
expect_err 'none.csv'
expect_out ''

# A table of one row, and a broken one.
printf 'arch,cifar10\n%s,85.86\n' "$string" >"$work/one.csv"
pada arch 0 --truth "$work/one.csv" --to list
expect_out "$list"
pada arch "$string" --from index --truth "$work/one.csv"
expect_usage_error 'is not a whole number'
pada arch --from list 0,0,0,0,0,0 --truth "$work/one.csv" --to index
expect_rc 65
expect_err 'not in the table'
printf 'arch,cifar10\n%s,nan\n' "$string" >"$work/bad.csv"
pada arch 0 --truth "$work/bad.csv"
expect_rc 65
expect_err "bad.csv:2: cifar10: 'nan'"

# The sizes of a run: its config.yaml, unless a flag says otherwise.
run=$work/run
pada train --data builtin --channels 4 --cells 1 --epochs 1 --batch-size 250 --validate 0 --quiet --out "$run"
expect_rc 0
pada arch "$string" --cost --channels 4 --cells 1 --classes 10 --image-size 16
cp "$work/out" "$work/small"
pada arch "$string" --cost
check "$(cat "$work/out")" != "$(cat "$work/small")"
pada arch "$string" --run "$run" --cost
expect_rc 0
expect_out "$(cat "$work/small")"
pada arch --cost "$run" "$string"
expect_out "$(cat "$work/small")"
pada arch "$string" --run "$run" --cost --channels 8
check "$(cat "$work/out")" != "$(cat "$work/small")"
pada arch "$string" --run "$work/none" --cost
expect_rc 66
expect_err "$work/none/config.yaml: No such file or directory"
pada arch "$string" "$run" --run "$run"
expect_usage_error "two runs, $run and $run: give one"

# A run alone: the best network that is known of it.
pada arch --cost "$run"
expect_rc 66
expect_err "$run: no best network is known, neither search/best.csv nor ranking.csv is there; try \`pada search $run\`"
dead='|none~0|+|none~0|none~1|+|none~0|none~1|none~2|'
printf 'arch,score\n%s,1\n%s,3\n' "$dead" "$string" >"$run/ranking.csv"
pada arch --cost "$run"
expect_rc 0
expect_out "$(cat "$work/small")"
pada arch --best 3 "$run"
expect_out "$string
$dead"
mkdir "$run/search" # what a search has found comes first
printf 'rank,arch,top1\n1,%s,2\n2,%s,1\n' "$dead" "$string" >"$run/search/best.csv"
pada arch --best 2 "$run"
expect_out "$dead
$string"
pada arch "$run"
expect_out "$dead"
pada arch --best 2 "$run" "$string"
expect_usage_error '--best: of a run folder, and an architecture was given'
pada arch --best 2 --to svg "$run"
expect_usage_error '--to svg draws one architecture at a time'
rm -r "$run/search"
# NAS-Bench-Macro.
pada arch --space macro 01201201 --cost --json
expect_rc 0
expect_out '{"arch": "01201201", "macs": 46109184, "params": 1283434}'
pada arch --space macro 10101202 --to canonical
expect_out '10110220'
pada arch --space macro 21201201 --to text
expect_out_has 'layer 3 = ir_5x5_t6(layer 2)'
pada arch --space macro 21201201 --to svg
expect_out_has 'class="edge op-ir_5x5_t6"'
pada arch --space macro 0120120
expect_usage_error "macro architecture '0120120': 7 digits instead of 8; or is it an index? Then give --truth FILE.csv"
pada arch --space macro 0120120z
expect_usage_error "character 8: not a digit 0 to 2"
pada arch --space macro 01201201 --image-size 12
expect_usage_error 'image size 12 is not a multiple of 8'
# ProxylessNAS.
genes='0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5'
pada arch --space proxyless --width 24 "$genes" --cost --json
expect_rc 0
expect_out "{\"arch\": \"$genes\", \"macs\": 351088256, \"params\": 4135920}"
pada arch --space proxyless --widths 40,24,32,48,88,104,216,360,1432 --cost \
    '3.6 3.3 3.3 3.3 | 3.6 3.3 3.3 5.3 | 3.6 Z Z 3.3 | 5.6 3.3 3.3 3.3 | 5.6 5.3 5.3 3.3 | 5.6'
expect_out '1 0 0 0 1 0 0 2 1 6 6 0 3 0 0 0 3 2 2 0 3  macs 439243864  params 4361648'
pada arch --space proxyless "6 $genes"
expect_usage_error 'layer 1 changes the shape and cannot be left out'
pada arch --space proxyless '0 6 2'
expect_usage_error 'character 6: expected 21 layers, found the end'
pada arch --space proxyless --widths 1,2 "$genes"
expect_usage_error 'widths: 2 numbers instead of 9'

# DARTS.
darts_v2="Genotype(normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 1), \
('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_3x3', 2)], normal_concat=[2, 3, 4, 5], \
reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 1), ('max_pool_3x3', 0), \
('skip_connect', 2), ('skip_connect', 2), ('max_pool_3x3', 1)], reduce_concat=[2, 3, 4, 5])"
cells='|sep_conv_3x3~0|sep_conv_3x3~1|+|sep_conv_3x3~0|sep_conv_3x3~1|+|skip_connect~0|sep_conv_3x3~1|+|skip_connect~0|dil_conv_3x3~2|'\
'/|max_pool_3x3~0|max_pool_3x3~1|+|max_pool_3x3~1|skip_connect~2|+|max_pool_3x3~0|skip_connect~2|+|max_pool_3x3~1|skip_connect~2|'
pada arch --space darts "$darts_v2" --cost --json
expect_rc 0
expect_out "{\"arch\": \"$cells\", \"macs\": 528359040, \"params\": 3349342}"
pada arch --space darts "$darts_v2" --cost --form search
expect_out "$cells  macs 43444736  params 239898"
pada arch --space darts "$cells" --to nb301
expect_out '([(0, 3), (1, 3), (0, 3), (1, 3), (0, 2), (1, 3), (0, 2), (2, 5)], [(0, 0), (1, 0), (1, 0), (2, 2), (0, 0), (2, 2), (1, 0), (2, 2)])'
pada arch --space darts "$cells" --to text
expect_out_has 'normal 5 = skip_connect(normal 0) + dil_conv_3x3(normal 2)'
expect_out_has 'reduce 2 = max_pool_3x3(reduce 0) + max_pool_3x3(reduce 1)'
pada arch --space darts "$cells" --to svg
expect_out_has 'max_pool_3x3: reduce 0 to reduce 2'
pada arch --space darts "$cells" --operators
expect_out "$cells  normal: skip_connect 2 (2 from inputs), sep_conv_3x3 5 (5 from inputs), dil_conv_3x3 1 (0 from inputs)"\
'  reduce: max_pool_3x3 5 (5 from inputs), skip_connect 3 (0 from inputs)'
pada arch --space darts "$cells" --operators --json
expect_out_has '"operators": [{"cell": "normal", "operator": "skip_connect", "count": 2, "from_inputs": 2}, '
pada arch --space darts "$cells" --operators --to svg
expect_usage_error '--operators beside a drawing (--to svg) needs --json'
pada arch --space macro 22222222 00000000 00000012 --operators
expect_out_has 'mean of 3  identity 4.667, ir_3x3_t3 0.3333, ir_5x5_t6 3'
pada arch --space macro 00000000 00000012 --operators
expect_out '00000000  identity 8
00000012  identity 6, ir_3x3_t3 1, ir_5x5_t6 1
mean of 2  identity 7, ir_3x3_t3 0.5, ir_5x5_t6 0.5'
pada arch --operators --from list 3,0,0,2,0,0 # the edge that ends in node 1 is dead
expect_out '|nor_conv_3x3~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|  nor_conv_1x1 1'
pada arch --space darts "Genotype(normal=[('sep_conv_7x7', 0)"
expect_usage_error "unknown operator 'sep_conv_7x7'; did you mean"
pada arch --space darts "Genotype(normal=[('none', 1), ('none', 1)"
expect_usage_error 'expected another input than the first one of the node'
pada arch --space darts '([(0, 4), (1, 3)])'
expect_usage_error 'ambiguous: name their dialect, randomnas, nsas or nb301'

printf 'arch,acc\n01201201,90\n' >"$work/macro.csv"
pada arch --space macro 0 01201201 --truth "$work/macro.csv"
expect_out '01201201
01201201'
finish
