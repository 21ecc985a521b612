#!/bin/sh
# test_init_torch.sh - PyTorch loads what `pada init` writes, and computes the scores that `pada eval` does.
# PADA_TORCH_PYTHON names a Python with torch, numpy and safetensors (default: python3).
# shellcheck source=tests/cli/harness.sh
. "$(dirname "$0")/harness.sh"

python=${PADA_TORCH_PYTHON:-python3}
if ! "$python" -c 'import numpy, torch, safetensors.torch' 2>/dev/null; then
    echo "skipped: $python has no torch, numpy or safetensors; PADA_TORCH_PYTHON may name one that has"
    exit 77
fi

# Four grey images are a CIFAR folder that both sides can read.
"$python" - "$work" <<'END'
import sys
import numpy as np

rng = np.random.default_rng(1)
records = np.concatenate([np.arange(4, dtype=np.uint8)[:, None], rng.integers(0, 256, (4, 3072), dtype=np.uint8)], 1)
records.tofile(sys.argv[1] + "/test_batch.bin")
END
pada init --channels 4 --cells 1 --seed 3 --out "$work/w.safetensors"
expect_rc 0
pada eval --channels 4 --cells 1 --weights "$work/w.safetensors" --arch-dialect list 3,1,2,4,3,1 \
    --data "$work" --backend ref --logits "$work/l.npy"
expect_rc 0
expect_no_err

checks=$((checks + 1))
command_line="$python: the file in PyTorch"
PYTHONPATH=$PADA_SOURCE/tests/parity PYTHONDONTWRITEBYTECODE=1 "$python" - "$work" >"$work/out" 2>"$work/err" <<'END'
import sys
import numpy as np
import torch
from safetensors.torch import load_file
from nb201_torch import Supernet

folder = sys.argv[1]
torch.set_num_threads(1)
net = Supernet(channels=4, cells=1).double()
net.load_state_dict(load_file(folder + "/w.safetensors"), strict=True)
records = np.fromfile(folder + "/test_batch.bin", np.uint8).reshape(-1, 3073)
mean = torch.tensor([0.49139968, 0.48215827, 0.44653124]).view(1, 3, 1, 1)
std = torch.tensor([0.24703233, 0.24348505, 0.26158768]).view(1, 3, 1, 1)
x = (torch.from_numpy(records[:, 1:].copy()).view(-1, 3, 32, 32).float() / 255 - mean) / std
with torch.no_grad():
    expected = net(x.double(), (3, 1, 2, 4, 3, 1)).numpy()
logits = np.load(folder + "/l.npy")
assert logits.dtype == np.float32 and logits.shape == (4, 10), (logits.dtype, logits.shape)
apart = np.abs(logits - expected).max() / np.abs(expected).max()
assert apart < 1e-5, apart
END
rc=$?
expect_rc 0
finish
