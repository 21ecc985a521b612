#!/usr/bin/env python3
"""The PyTorch side of gpu_vs_torch: times training steps or evaluations of one path per request.

Reads one path per line, a JSON list (nb201) or string (other spaces), runs it --burst times in a row and answers with one line {"ms": ..., "memory_mb": ...}:
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
    import spaces_torch
    from safetensors.numpy import load_file
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


class SpaceNet:
    """A supernet of another space, by the functions of the parity tests."""

    def __init__(self, space, weights):
        self.function = spaces_torch.SPACES[space][0]
        self.weights = spaces_torch.Weights(load_file(weights), torch.float32)
        self.image_size = {"proxyless": 224}.get(space, 32)
        self.classes = {"proxyless": 1000}.get(space, 10)
        self.sizes = {"cells": 8, "final-cells": 20}

    def place(self, channels_last):
        for name, tensor in self.weights.tensors.items():
            tensor = tensor.detach().cuda()
            if channels_last and tensor.dim() == 4:
                tensor = tensor.contiguous(memory_format=torch.channels_last)
            self.weights.tensors[name] = tensor.requires_grad_()
        return self

    def parameters(self):
        return list(self.weights.tensors.values())

    def __call__(self, images, path):
        return self.function(self.weights, images, path, False, self.sizes)[0]


class Supernet201:
    image_size, classes = 32, 10

    def __init__(self, channels, cells):
        self.net = nb201_torch.Supernet(channels, cells)

    def place(self, channels_last):
        self.net = self.net.cuda()
        if channels_last:
            self.net = self.net.to(memory_format=torch.channels_last)
        return self

    def parameters(self):
        return list(self.net.parameters())

    def __call__(self, images, path):
        return self.net(images, path)


class Captured:
    """Runs of a path captured once in a CUDA graph, then replayed; the graphs share their memory."""

    def __init__(self, run):
        self.run, self.graphs, self.pool = run, {}, torch.cuda.graph_pool_handle()

    def __call__(self, path):
        key = json.dumps(path)
        if key not in self.graphs:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self.run(path)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                self.run(path)
            self.graphs[key] = graph
        self.graphs[key].replay()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("mode", choices=["step", "eval"])
    parser.add_argument("--setting", choices=list(SETTINGS), required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--space", default="nb201")
    parser.add_argument("--weights", help="of another space: a file of `pada init`")
    parser.add_argument("--channels", type=int, help="of nb201")
    parser.add_argument("--cells", type=int, help="of nb201")
    parser.add_argument("--burst", type=int, required=True)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch finds no CUDA device", file=sys.stderr)
        return 77

    wanted = SETTINGS[args.setting]
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = "tf32" in wanted
    torch.manual_seed(0)
    net = Supernet201(args.channels, args.cells) if args.space == "nb201" else SpaceNet(args.space, args.weights)
    net.place("channels_last" in wanted)
    images = torch.randn(args.batch, 3, net.image_size, net.image_size).cuda()
    labels = torch.randint(net.classes, (args.batch,)).cuda()
    if "channels_last" in wanted:
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
    if "graph" in wanted:
        run = Captured(run)
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
