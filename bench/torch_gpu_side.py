#!/usr/bin/env python3
"""The PyTorch side of gpu_vs_torch: times training steps or evaluations of one path per request.

Reads one JSON list (a path) per line, runs it --burst times in a row and answers with one line {"ms": ..., "memory_mb": ...}:
milliseconds of one run, peak of the device's memory. The first line it writes says which PyTorch and device this is. Exit status
77: there is no PyTorch, or no device.
"""
import argparse
import contextlib
import json
import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/parity"))

try:
    import torch
    import torch.nn.functional as F

    import nb201_torch
except ImportError as error:
    print(error, file=sys.stderr)
    sys.exit(77)

# What each setting turns on. "official" is what the published code runs with.
SETTINGS = {
    "official": set(),
    "tf32": {"tf32"},
    "channels_last": {"tf32", "channels_last"},
    "bf16": {"tf32", "bf16"},
    "bf16_channels_last": {"tf32", "bf16", "channels_last"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("mode", choices=["step", "eval"])
    parser.add_argument("--setting", choices=list(SETTINGS), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--channels", type=int, required=True)
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--burst", type=int, required=True)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch finds no CUDA device", file=sys.stderr)
        return 77

    wanted = SETTINGS[args.setting]
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in wanted
    torch.manual_seed(0)
    net = nb201_torch.Supernet(args.channels, args.cells).cuda()
    images, labels = torch.randn(args.batch, 3, 32, 32).cuda(), torch.randint(10, (args.batch,)).cuda()
    if "channels_last" in wanted:
        net = net.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=2.5e-4)

    def precision():
        return torch.autocast("cuda", torch.bfloat16) if "bf16" in wanted else contextlib.nullcontext()

    def step(path):
        optimiser.zero_grad(set_to_none=True)
        with precision():
            loss = F.cross_entropy(net(images, path), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()

    def evaluate(path):
        with torch.inference_mode(), precision():
            F.cross_entropy(net(images, path), labels)

    run = step if args.mode == "step" else evaluate
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name()}), flush=True)
    for line in sys.stdin:
        path = json.loads(line)
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(args.burst):
            run(path)
        torch.cuda.synchronize()
        ms = 1e3 * (time.perf_counter() - start) / args.burst
        print(json.dumps({"ms": ms, "memory_mb": torch.cuda.max_memory_allocated() / 2**20}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
