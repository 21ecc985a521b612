#!/usr/bin/env python3
"""The PyTorch side of cpu_vs_torch: times one training step or evaluation per request.

Reads one path per line, a JSON list (nb201) or string (other spaces), runs it once and answers with one line {"ms": ..., "memory_mb": ...}, the
memory being the peak of this process so far. The first line it writes says which PyTorch this is. Exit status 77:
there is no PyTorch here.
"""
import argparse
import json
import sys
import time

try:
    import torch

    import torch_nets
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
    parser.add_argument("--layout", choices=["nchw", "channels_last"], default="nchw")
    parser.add_argument("--threads", type=int, required=True)
    torch_nets.add_arguments(parser)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    run = torch_nets.make_run(args, "cpu", args.layout == "channels_last")
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
