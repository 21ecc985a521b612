#!/usr/bin/env python3
"""The PyTorch side of gpu_vs_torch: times training steps or evaluations of one path per request.

Reads one path per line, a JSON list (nb201) or string (other spaces), runs it --burst times in a row and answers with one line {"ms": ..., "memory_mb": ...}:
milliseconds of one run, peak of the device's memory. The first line it writes says which PyTorch and device this is. Exit status
77: there is no PyTorch, or no device.

cuDNN times its algorithms for every new shape. With --no-search it takes the one that it expects to be best.
"""
import argparse
import contextlib
import functools
import json
import sys
import time

try:
    import torch

    import torch_nets
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
    "bf16_graph": {"tf32", "bf16", "channels_last", "graph"},
}


class Captured:
    """Runs of a path captured once in a CUDA graph, then replayed; the graphs share their memory."""

    def __init__(self, run):
        self.run, self.graphs, self.pool = run, {}, torch.cuda.graph_pool_handle()

    def capture(self, path):
        key = json.dumps(path)
        if key in self.graphs:
            return
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.run(path)
        torch.cuda.current_stream().wait_stream(stream)
        self.graphs[key] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graphs[key], pool=self.pool):
            self.run(path)

    def __call__(self, path):
        self.graphs[json.dumps(path)].replay()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--setting", choices=list(SETTINGS), required=True)
    parser.add_argument("--burst", type=int, required=True)
    parser.add_argument("--no-search", action="store_true", help="no timing of convolution algorithms by cuDNN")
    torch_nets.add_arguments(parser)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch finds no CUDA device", file=sys.stderr)
        return 77

    wanted = SETTINGS[args.setting]
    torch.backends.cudnn.benchmark = not args.no_search
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in wanted
    torch.manual_seed(0)
    precision = functools.partial(torch.autocast, "cuda", torch.bfloat16) if "bf16" in wanted else contextlib.nullcontext
    run = torch_nets.make_run(args, "cuda", "channels_last" in wanted, precision)
    if "graph" in wanted:
        run = Captured(run)
    print(json.dumps({"torch": torch.__version__, "device": torch.cuda.get_device_name()}), flush=True)
    for line in sys.stdin:
        path = json.loads(line)
        if "graph" in wanted:
            run.capture(path)
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
