#!/bin/sh
# report_fixture.sh - sourced by the tests of `pada report`: makes run folders by hand, in $work.
#
#   good, bad        ranked runs with all that a report can show; truth.csv has the truth of their 125 networks
#   <hostile>        its name, its files and the column `t<b>` of truth.csv hold markup that must stay text
#   killed           a torn last row, numbers that are not finite, no ranking
#   small            12 networks on 40 images of 4 classes, two of them the same network; a weak supernet
#   empty            nothing

hostile="$work/<img src=x onerror=hacked=1>'\""
markup='</script><script>hacked=1</script><img src=x>'

awk 'BEGIN {
    split("none skip_connect nor_conv_1x1 nor_conv_3x3 avg_pool_3x3", op, " ")
    for (i = 0; i < 125; i++) {
        arch = "|" op[i % 5 + 1] "~0|+|" op[int(i / 5) % 5 + 1] "~0|none~1|+|" op[int(i / 25) + 1] "~0|none~1|none~2|"
        print arch "," i / 2 "," (i * 7) % 10 + i "," (i * 37) % 125 + i / 4
    }
}' >"$work/all"
table() { # table COLUMN FILE NAME
    { echo "arch,$3"; cut -d, -f1,"$1" "$work/all"; } >"$work/$2"
}

write_run() { # write_run FOLDER COLUMN: of the list of networks
    mkdir "$1"
    { echo "arch,score"; cut -d, -f1,"$2" "$work/all"; } >"$1/ranking.csv"
    printf 'method: "spos"\ndata: "builtin"\nspace: "nb201"\nchannels: 8\ncells: 1\nclasses: 10\nimage-size: 16\nepochs: 4\nbatch-size: 64\nlr: 0.05\nseed: 0\n' \
        >"$1/config.yaml"
    printf '{"pada": "0.1.0", "commit": "0123abcd", "backend": "avx2, 2 threads", "data": "builtin", "started": "then"}\n' \
        >"$1/env.json"
    {
        echo 'epoch,steps,lr,loss,top1,path_entropy,p_none,p_conv,data_effective,data_coverage,gv_candidates,gv_all,val_loss,val_top1,passes,gmacs,seconds,weights_hash,warnings'
        for epoch in 0 1 2 3; do
            echo "$epoch,$epoch,0.0$((5 - epoch)),2.$((9 - epoch)),1$epoch,1,0.$((4 - epoch)),0.$((6 + epoch)),1,0.$((9 - epoch)),1e-$epoch,2e-$epoch,2.$((8 - epoch)),2$epoch,1$epoch,500,1.5,00000000deadbeef,"
        done
    } >"$1/metrics.csv"
}

write_run "$work/good" 3
write_run "$work/bad" 4
table 2 truth.csv 't<b>'

write_run "$hostile" 3
sed -i "s|builtin|$markup|" "$hostile/config.yaml" "$hostile/env.json"
sed -i "1s|p_none|p_$markup|; s|deadbeef,\$|deadbeef,$markup;coverage|" "$hostile/metrics.csv"
printf 'note: "\377\376"\n' >>"$hostile/config.yaml"

write_run "$work/killed" 3
rm "$work/killed/ranking.csv" "$work/killed/env.json"
echo 'just: [text' >"$work/killed/config.yaml"
sed -i 's|^2,2,0.03,2.7|2,2,nan,inf|; 5,$d' "$work/killed/metrics.csv"
printf '3,3,0.02,2.' >>"$work/killed/metrics.csv"

write_run "$work/small" 3
sed -i 's/^classes.*/classes: 4/; s/^data:.*/data: "my photos"\nresize: "pad"/' "$work/small/config.yaml"
sed -i 's/\(,2\.[0-9]\),1\([0-9]\),/\1,3\2,/; 1s/$/,val_networks/; 2,$s/$/,5/' "$work/small/metrics.csv"
awk -F, 'BEGIN { print "arch,score,correct,images,loss" }
    NR > 100 && NR <= 112 { n = 30 - (NR - 100) * 2; print $1 "," n / 0.4 "," n ",40,1." NR }' "$work/all" >"$work/small/ranking.csv"
# What no arrow reaches changes nothing: a copy of the first.
sed -n '2s/|none~1|none~2|/|nor_conv_3x3~1|none~2|/p' "$work/small/ranking.csv" >"$work/copy"
cat "$work/copy" >>"$work/small/ranking.csv"

mkdir "$work/empty"
