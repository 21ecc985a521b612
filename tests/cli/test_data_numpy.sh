#!/bin/sh
# test_data_numpy.sh - ImageNet16 as Python pickles it, in every protocol. Needs numpy (PADA_TORCH_PYTHON may name a
# Python that has it).
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

python=${PADA_TORCH_PYTHON:-python3}
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "skipped: $python has no numpy; PADA_TORCH_PYTHON may name one that has"
    exit 77
fi

for protocol in 2 3 4 5; do
    # 3,000 images in each file, labels 1 to 1000 in turn: more than Python appends to a list at a time.
    "$python" - "$work/$protocol" $protocol >"$work/expected" <<'END'
import os, pickle, sys

import numpy

folder, protocol = sys.argv[1], int(sys.argv[2])
rng = numpy.random.default_rng(5)
os.makedirs(folder)
train = []
for name in [f"train_data_batch_{i}" for i in range(1, 11)] + ["val_data"]:
    data = rng.integers(0, 200, (3000, 768), dtype=numpy.uint8)
    labels = [i % 1000 + 1 for i in range(3000)]
    if name != "val_data":
        train.append(data[numpy.array(labels) <= 120])
    with open(os.path.join(folder, name), "wb") as file:
        pickle.dump({"data": data, "labels": labels, "mean": data.mean(0)}, file, protocol)
pixels = numpy.concatenate(train).reshape(-1, 3, 256) / 255.0
mean, deviation = pixels.mean((0, 2)), pixels.std((0, 2))
print("mean %.4f %.4f %.4f, deviation %.4f %.4f %.4f," % (*mean, *deviation))
END
    pada data info "$work/$protocol" --json
    expect_rc 0
    expect_no_err
    expect_out_has '{"name": "ImageNet16-120", "kind": "imagenet16", "train": 3600, "test": 360, "val": 0, "image_size": 16, '
    expect_out_has '"classes": [{"name": null, "train": 30, "test": 3, "val": 0}, '
    # The noise has its own mean, which shows that the right bytes were read.
    pada data verify "$work/$protocol"
    expect_rc 0
    expect_out_has "train: $(cat "$work/expected") normalised with 0.4811 0.4575 0.4079"
    expect_out_has 'warning: 3600 train images; the official data set has 151700'
    rm -r "${work:?}/$protocol"
done
finish
