#!/bin/sh
# test_latency.sh - `pada bench latency` and --latency-table. Nothing here depends on how fast the machine is.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

table="$work/table.csv"
small='--repeats 2 --threads 1'

# rows FILE: keys of a table, but for the header.
rows() {
    tail -n +2 "$1" | wc -l
}

# Every space: a table with all keys, which says something about every network, and a comparison with whole networks.
measure() {
    n_rows=$1
    arch=$2
    shift 2
    rm -f "$table"
    # shellcheck disable=SC2086 # the list is split into words on purpose
    pada bench latency "$@" $small --out "$table" --check 3 --json --per-path
    expect_rc 0
    expect_no_err
    for key in name backend batch paths ms error bias tau_b path_ms predicted_ms; do
        expect_out_has "\"$key\": "
    done
    expect_out_has '"paths": 3,'
    check "$(rows "$table")" -eq "$n_rows"
    pada arch "$@" "$arch" --latency-table "$table" --json
    expect_rc 0
    expect_out_has '"latency_ms": '
    expect_out_has '"params": '
}
measure 16 '|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|avg_pool_3x3~2|' --space nb201 --channels 4 --cells 1 --image-size 8
measure 18 01201201 --space macro --channels 4 --features 16 --image-size 16
measure 70 '0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5' --space proxyless --widths 4,4,6,8,10,12,14,16,20 --image-size 32 --classes 5
measure 45 'Genotype(normal=[("sep_conv_3x3", 0), ("sep_conv_3x3", 1), ("skip_connect", 0), ("max_pool_3x3", 1), ("skip_connect", 0), ("dil_conv_5x5", 1), ("sep_conv_5x5", 0), ("skip_connect", 2)], normal_concat=range(2, 6), reduce=[("max_pool_3x3", 0), ("max_pool_3x3", 1), ("skip_connect", 2), ("max_pool_3x3", 0), ("max_pool_3x3", 0), ("skip_connect", 2), ("skip_connect", 2), ("avg_pool_3x3", 0)], reduce_concat=range(2, 6))' \
    --space darts --final-channels 4 --final-cells 8 --image-size 8

# A sum of the table, as text and as JSON; identities take no time, and --cost is implied.
cat >"$table" <<'END'
op,in_h,in_w,in_c,out_h,out_w,out_c,expand,kernel,stride,skip,ms,std,count
Conv,32,32,3,32,32,32,0,0,0,0,1,0,1
downsample,32,32,32,16,16,64,0,0,0,0,2,0,1
downsample,16,16,64,8,8,128,0,0,0,0,4,0,1
downsample,8,8,128,4,4,256,0,0,0,0,8,0,1
expanded_conv,16,16,64,16,16,64,3,3,1,1,0.5,0,1
Conv_1,4,4,256,4,4,1280,0,0,0,0,16,0,1
Logits,4,4,1280,0,0,10,0,0,0,0,32,0,1
END
pada arch --space macro 01000000 --latency-table "$table"
expect_out '01000000  macs 14447104  params 415082  latency_ms 63.5000'
pada arch --space macro 00000000 --latency-table "$table" --json
expect_out '{"arch": "00000000", "macs": 7713280, "params": 387882, "latency_ms": 63.0}'
pada bench latency --space macro --latency-table "$table" --check 1 --repeats 1
refused 65 "no key 'expanded_conv-input:"

# What is refused.
pada arch --space macro 00000001 00000000 --latency-table "$table"
refused 65 "table.csv: no key 'expanded_conv-input:4x4x256-output:4x4x256-expand:3-kernel:3-stride:1-idskip:1'"
pada arch --space macro 00000000 --latency-table "$work/absent"
refused 66 absent
echo nonsense >"$work/wrong"
pada arch --space macro 00000000 --latency-table "$work/wrong"
refused 65 'wrong:1: neither a CSV table nor a YAML key'
pada arch --space macro 00000000 --latency-table "$table" --form search
refused 2 'those of --form final'
pada bench latency --space macro
refused 2 'give --out FILE.csv, --check N, or both'
pada bench latency --space macro --out "$work/x" --latency-table "$table"
refused 2 'a table that was given is not measured again'
pada bench latency --space nb201 --channels 4 --cells 1 --image-size 8 --repeats 1 --out "$work/absent/x.csv"
expect_rc 1
expect_err 'absent/x.csv'
check ! -e "$work/absent"

finish
