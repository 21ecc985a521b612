#!/bin/sh
# Random networks of every space, exported and run by another program: test_exports.sh onnx|torch. PADA_PYTHON is a
# Python that has it.
set -eu

python=${PADA_PYTHON:-python3}
case $1 in
onnx) modules="numpy, onnx, onnxruntime" ;;
torch) modules="numpy, torch" ;;
esac
if ! $python -c "import $modules" 2>/dev/null; then
    echo "$python has no $modules: skipped"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$PADA_EXPORT_DUMP" "$folder" "${PADA_NETWORKS:-20}"
$python "$PADA_SOURCE/tests/model/check_exports.py" "$PADA_BINARY" "$folder" "$1"
