#!/bin/sh
# test_extending.sh - docs/extending.md: its space and its method in a copy of the source, built, trained, ranked.
#
# `make` of the guide configures the copy with CMake, compiles the files that are new or read the lists, and links
# them before the archive of the build under test: everything else in it is what would be compiled again.
# shellcheck source=tests/docs/harness.sh
. "$(dirname "$0")/harness.sh"

preset=$(basename "$PADA_BUILD")
if [ "$PADA_BUILD" != "$PADA_SOURCE/build/$preset" ] || [ ! -e "$PADA_BUILD/build.ninja" ]; then
    echo 'skipped: the build is not that of a preset'
    exit 77
fi
mkdir "$work/copy"
cd "$work/copy"
cp -r "$PADA_SOURCE/CMakeLists.txt" "$PADA_SOURCE/CMakePresets.json" "$PADA_SOURCE/cmake" "$PADA_SOURCE/include" "$PADA_SOURCE/bench" \
    "$PADA_SOURCE/src" "$PADA_SOURCE/recipes" "$PADA_SOURCE/tools" "$PADA_SOURCE/docs" "$PADA_SOURCE"/*.md "$PADA_SOURCE/LICENSE" .
cat >"$work/bin/make" <<END
#!/bin/sh
set -eu
cmake --preset $preset -DPADA_TESTS=OFF >/dev/null
cd build/$preset
objects=
for source in space/space space/space_chain strategy/strategy strategy/strategy_rotate; do
    ninja CMakeFiles/pada_core.dir/src/\$source.c.o
    objects="\$objects CMakeFiles/pada_core.dir/src/\$source.c.o"
done
ninja -t commands pada | tail -1 | sed "s|src/[a-z]*/CMakeFiles|$PADA_BUILD/&|g; s| libpada.a| \$objects $PADA_BUILD/libpada.a|" >link
sh -e link
[ -e ../release ] || ln -s $preset ../release
END
follow extending.md

expect 'the space' has "$work/out" 'four layers'
expect 'the method' has "$work/out" 'turned until'
expect 'its option in the manual' has "$work/out" '\-\-turn N'
expect 'all 4 * 5 * 5 * 5 networks' [ "$(wc -l <runs/chain/ranking.csv)" = 501 ]
expect 'the setting of the method' has runs/chain/config.yaml 'turn: 2'
expect 'the settings of the space' has runs/chain/config.yaml 'width: 8'
expect 'the weights' grep -aq 'layers.3.separable.depthwise.weight' runs/chain/ckpt/00000064.safetensors
expect 'the weights behind the pool' grep -aq 'layers.0.pooled.behind.weight' runs/chain/ckpt/00000064.safetensors
expect 'the default method on ref, with norms shared by label' has runs/reference/metrics.csv 'p_separable'
# Five choices in turn: the 32 steps of an epoch have each of them five to seven times in the slots that have all.
expect 'equal turns' python3 - <<'END'
import csv
for row in csv.DictReader(open("runs/chain/metrics.csv")):
    counts = {name: int(row["updates_" + name]) for name in ("conv1x1", "conv3x3", "separable", "pooled", "skip")}
    assert sum(counts.values()) == 128 and 3 * 5 <= counts["skip"] <= 3 * 7, counts
    assert abs(float(row["p_skip"]) - 1 / 5) < 1e-6 and abs(float(row["p_conv1x1"]) - (1 / 4 + 3 / 5) / 4) < 1e-6, row
END
# Other methods train it, or say in one line why they do not.
for method in spos 'fewshot --split-edges 1' 'gm --splits 1 --split-repeats 2' magic_t conv_anneal; do
    # shellcheck disable=SC2086
    expect "$method" build/release/pada train --space chain --method $method --width 2 --epochs 1 --batch-size 512 \
        --quiet --out "runs/${method%% *}"
done
for method in fairnas close; do
    build/release/pada train --space chain --method $method --out runs/x 2>"$work/out" && exit 1
    expect "$method says why" has "$work/out" 'space chain'
done
build/release/pada train --space chian --out x 2>"$work/out" && exit 1
expect 'the nearest space' has "$work/out" "did you mean 'chain'?"
echo 'docs/extending.md works'
