#!/bin/sh
# test_eval_cifar.sh - `pada eval` on CIFAR folders: made ones that are wrong, and the real test images.
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

dir=$work/cifar
mkdir "$dir" "$work/empty"
eval_on() {
    pada eval --arch-dialect list 1,3,2,4,0,1 --channels 4 --cells 1 --logits "$work/l.npy" --data "$@"
}
refused() {
    expect_rc "$1"
    expect_err "$2"
    expect_out ''
    checks=$((checks + 1))
    [ ! -e "$work/l.npy" ] || complain 'wrote the logits'
}

# Six black images of class 0.
head -c $((6 * 3073)) /dev/zero >"$dir/test_batch.bin"
eval_on "$dir"
expect_rc 0
expect_out_has 'images 6 '
rm "$work/l.npy"
eval_on "$dir" --classes 100
refused 2 "--classes 100 does not fit the data set CIFAR-10, which has 10"
eval_on "$dir" --limit 7
refused 2 'limit 7 is not in 1 to 6, the test images of CIFAR-10'
eval_on "$dir" --split train
refused 66 "$dir/data_batch_1.bin: No such file or directory"

# Label 37 in image 4.
{ head -c $((4 * 3073)) /dev/zero; printf '%%'; head -c $((3072 + 3073)) /dev/zero; } >"$dir/test_batch.bin"
eval_on "$dir"
refused 65 "$dir/test_batch.bin: label 37 of image 4 is outside 0 to 9"
for n in 0 1 3072 18437; do
    head -c "$n" /dev/zero >"$dir/test_batch.bin"
    eval_on "$dir"
    refused 65 "$dir/test_batch.bin: $n bytes are not a number of CIFAR-10 records of 3073 bytes"
done

eval_on "$work/empty"
refused 65 "$work/empty: no data set in this folder; looked for: "
eval_on "$work/none"
refused 66 "$work/none: no such folder"
eval_on bultin
refused 66 "bultin: no such folder; did you mean 'builtin'?"

# CIFAR-100 has 100 classes without a flag.
rm "$dir/test_batch.bin"
head -c $((6 * 3074)) /dev/zero >"$dir/test.bin"
eval_on "$dir"
expect_rc 0
checks=$((checks + 1))
[ "$(wc -c <"$work/l.npy")" -eq $((128 + 6 * 100 * 4)) ] || complain 'not 6 x 100 floats'
rm "$work/l.npy"

# The real test images, where they are at hand.
python=${PADA_TORCH_PYTHON:-python3}
pack=$PADA_SOURCE/../shared/data/cifar10/test_batch.xz
if [ -f "$pack" ] && "$python" -c 'import numpy' 2>/dev/null; then
    "$python" "$(dirname "$pack")/../cifar.py" unpack "$work/real" "$pack"
    eval_on "$work/real" --limit 64 --batch-size 64
    expect_rc 0
    expect_out_has 'images 64 '
else
    echo 'left out: real CIFAR-10, no shared/data or no numpy'
fi
finish
