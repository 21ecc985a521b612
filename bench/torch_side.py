#!/usr/bin/env python3
"""The PyTorch side of cpu_vs_torch: times one training step or evaluation per request.

Reads one JSON list (a path) per line, runs it once and answers with one line {"ms": ..., "memory_mb": ...}, the
memory being the peak of this process so far. The first line it writes says which PyTorch this is. Exit status 77:
there is no PyTorch here.
"""
import argparse
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


def peak_memory_mb():
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("mode", choices=["step", "eval"])
    parser.add_argument("--layout", choices=["nchw", "channels_last"], default="nchw")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--channels", type=int, required=True)
    parser.add_argument("--cells", type=int, required=True)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    net = nb201_torch.Supernet(args.channels, args.cells)
    images, labels = torch.randn(args.batch, 3, 32, 32), torch.randint(10, (args.batch,))
    if args.layout == "channels_last":
        net = net.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=2.5e-4)

    def step(path):
        nb201_torch.train_step(net, optimiser, images, labels, path)

    def evaluate(path):
        with torch.inference_mode():
            F.cross_entropy(net(images, path), labels)

    run = step if args.mode == "step" else evaluate
    print(json.dumps({"torch": torch.__version__, "threads": torch.get_num_threads()}), flush=True)
    for line in sys.stdin:
        path = json.loads(line)
        start = time.perf_counter()
        run(path)
        ms = 1e3 * (time.perf_counter() - start)
        print(json.dumps({"ms": ms, "memory_mb": peak_memory_mb()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
