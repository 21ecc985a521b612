#!/usr/bin/env python3
"""Whole retrainings of pada against PyTorch: networks alone, by the recipes of their spaces, in float64.

draws_dump writes which images come in which order, and how they are cut and mirrored; PyTorch makes the same steps from
the same first weights: optimisers, schedules, weight decay, clipping, running statistics and averages of weights are
written here once more, after the papers and libraries that the recipes come from. Changes of images and drops that
are random are off. `ref` trains in double precision; at the end all its weights, running statistics and averages have
to be within --limit of PyTorch's, relative to the largest of the tensor.

Exit status: 0 all within the limit, 1 something is not, 77 no PyTorch here (PADA_TORCH_PYTHON names the Python that
has it).
"""
import argparse
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from safetensors.numpy import load_file

    import spaces_torch
    import trajectory
except ImportError as error:
    python = os.environ.pop("PADA_TORCH_PYTHON", None)
    if python:
        os.execvp(python, [python] + sys.argv)
    print(f"skipped: {error}; PADA_TORCH_PYTHON can name a Python with torch, numpy and safetensors")
    sys.exit(77)

EDGES = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]
SGD = {"optimizer": "sgd", "momentum": 0.9, "nesterov": False, "clip": 0, "smoothing": 0, "accumulate": 1,
       "decay_norms": True, "ema": 0, "flip_first": False}


def cosine(lr):
    return lambda epoch, epochs: lr * (1 + math.cos(math.pi * epoch / epochs)) / 2


def mobile_rate(epoch, _):
    return 1e-6 + epoch * (0.16 - 1e-6) / 3 if epoch < 3 else 0.16 * 0.97 ** math.floor(epoch / 2.4)


NB201 = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"
DARTS = ("|sep_conv_3x3~0|skip_connect~1|+|max_pool_3x3~0|dil_conv_3x3~2|+|max_pool_3x3~0|avg_pool_3x3~3|+|dil_conv_5x5~1|sep_conv_5x5~4|"
         "/|skip_connect~0|max_pool_3x3~1|+|avg_pool_3x3~0|skip_connect~2|+|sep_conv_5x5~1|dil_conv_3x3~3|+|skip_connect~0|dil_conv_5x5~1|")
# space: architecture, sizes, what the recipe says, flags that turn random changes off
CASES = {
    "nb201": (NB201, {"channels": 2, "cells": 1},
              {**SGD, "rate": cosine(0.1), "decay": 5e-4, "nesterov": True, "flip_first": True}, []),
    "macro": ("01201201", {"channels": 2, "features": 4}, {**SGD, "rate": cosine(0.1), "decay": 5e-4}, []),
    "darts": (DARTS, {"final-channels": 2, "final-cells": 3, "auxiliary": 0},
              {**SGD, "rate": cosine(0.025), "decay": 3e-4, "clip": 5}, ["--drop-path=0", "--cutout=0"]),
    "proxyless": ("0 6 2 5 3 6 4 1 0 1 6 2 3 4 5 6 0 1 2 3 5", {"widths": "2,2,2,3,4,6,5,6,8"},
                  {**SGD, "optimizer": "rmsprop", "rate": mobile_rate, "decay": 1e-5, "decay_norms": False, "smoothing": 0.1,
                   "accumulate": 2, "ema": 0.9999},
                  ["--accumulate=2", "--drop-path=0", "--dropout=0", "--auto-augment=none", "--random-erasing=0"]),
}


class Network(spaces_torch.Weights):
    """Weights whose batch norms keep running statistics, by PyTorch's names."""

    def __init__(self, arrays):
        super().__init__(arrays, torch.float64)
        self.running = {}

    def norm(self, x, name):
        channels = x.shape[1]
        mean = self.running.setdefault(name + ".running_mean", torch.zeros(channels, dtype=torch.float64))
        variance = self.running.setdefault(name + ".running_var", torch.ones(channels, dtype=torch.float64))
        return F.batch_norm(x, mean, variance, self.get(name + ".weight"), self.get(name + ".bias"), training=True, momentum=0.1,
                            eps=self.epsilon)

    def state(self):
        return {**{name: tensor.detach() for name, tensor in self.tensors.items()}, **self.running}


def nb201(w, images, text, _final, sizes):
    ops = [op.split("~")[0] for node in text.strip("|").split("|+|") for op in node.split("|")]

    def conv(x, name, kernel, stride=1):
        return w.norm(w.conv(F.relu(x), name + "op.1", stride, kernel // 2), name + "op.2")

    def cell(x, name):
        nodes = [x]
        for to in (1, 2, 3):
            terms = []
            for edge, (target, source) in enumerate(EDGES):
                own, op = f"{name}layers.{edge}.", ops[edge]
                if target != to or op == "none":
                    continue
                if op == "skip_connect":
                    terms.append(nodes[source])
                elif op == "avg_pool_3x3":
                    terms.append(F.avg_pool2d(nodes[source], 3, 1, 1, count_include_pad=False))
                else:
                    terms.append(conv(nodes[source], own, int(op[-1])))
            nodes.append(sum(terms))
        return nodes[3]

    x, place = w.norm(w.conv(images, "stem.0", pad=1), "stem.1"), 0
    for stage in range(3):
        if stage:
            name = f"cells.{place}."
            short = w.conv(F.avg_pool2d(x, 2), name + "downsample.1")
            x = short + conv(conv(x, name + "conv_a.", 3, 2), name + "conv_b.", 3)
            place += 1
        for _ in range(sizes["cells"]):
            x = cell(x, f"cells.{place}.")
            place += 1
    return w.head(F.relu(w.norm(x, "lastact.0")), "classifier"), None


NETWORKS = {"nb201": nb201, **{name: entry[0] for name, entry in spaces_torch.SPACES.items()}}


class Optimiser:
    def __init__(self, tensors, how):
        self.tensors, self.how = tensors, how
        self.buffers = {name: torch.zeros_like(tensor) for name, tensor in tensors.items()}
        self.squares = {name: torch.ones_like(tensor) for name, tensor in tensors.items()}

    @torch.no_grad()
    def step(self, rate):
        how = self.how
        grads = {name: torch.zeros_like(t) if t.grad is None else t.grad for name, t in self.tensors.items()}
        norm = math.sqrt(sum(float((g * g).sum()) for g in grads.values()))
        factor = how["clip"] / (norm + 1e-6) if how["clip"] and norm > how["clip"] else 1
        for name, weight in self.tensors.items():
            grad = grads[name] * factor
            if how["decay_norms"] or weight.ndim > 1:
                grad = grad + how["decay"] * weight
            buffer = self.buffers[name]
            if how["optimizer"] == "rmsprop":  # as TensorFlow's: a mean that begins at 1, epsilon below the root
                self.squares[name] += 0.1 * (grad * grad - self.squares[name])
                buffer.mul_(how["momentum"]).add_(rate * grad / torch.sqrt(self.squares[name] + 1e-3))
                weight -= buffer
            else:
                buffer.mul_(how["momentum"]).add_(grad)
                weight -= rate * (grad + how["momentum"] * buffer if how["nesterov"] else buffer)


def cut(images, draws, flip_first):
    """A batch: padded images, cut and mirrored as drawn, and normalised in float."""
    rows = []
    for index, row, column, flip in draws:
        x = images.padded[index]
        if flip and flip_first:
            x = x.flip(2)
        x = x[:, row:row + images.size, column:column + images.size]
        rows.append(x.flip(2) if flip and not flip_first else x)
    x = (torch.stack(rows).float() / 255 - images.mean) / images.deviation
    return x.double(), images.labels[torch.from_numpy(draws[:, 0].copy()).long()]


def train(space, arrays, folder, about, epochs):
    arch, sizes, how, _ = CASES[space]
    images = trajectory.Images(folder, about, "cpu", torch.float32)
    counts = np.fromfile(os.path.join(folder, "steps.i32"), np.int32).reshape(-1, 7)[:, 6]
    draws = np.fromfile(os.path.join(folder, "draws.i32"), np.int32).reshape(-1, 4)
    net, first, per_epoch = Network(arrays), 0, len(counts) // epochs
    optimiser, average = Optimiser(net.tensors, how), None
    for epoch in range(epochs):
        batches = counts[epoch * per_epoch:(epoch + 1) * per_epoch]
        for at in range(0, per_epoch, how["accumulate"]):
            group = batches[at:at + how["accumulate"]]
            for tensor in net.tensors.values():
                tensor.grad = None
            for count in group:
                x, y = cut(images, draws[first:first + count], how["flip_first"])
                first += count
                logits, _ = NETWORKS[space](net, x, arch, True, sizes)
                loss = F.cross_entropy(logits, y, label_smoothing=how["smoothing"])
                (loss * (count / group.sum())).backward()
            if average is None:  # of what the weights were before the first step
                average = {name: tensor.clone() for name, tensor in fresh(net).items()}
            optimiser.step(how["rate"](epoch, epochs))
            for name, tensor in net.state().items():
                average[name] += (1 - how["ema"]) * (tensor - average[name])
    return net.state(), average if how["ema"] else {}


def fresh(net):
    """Weights and running statistics before training."""
    running = {name: torch.ones_like(t) if name.endswith("var") else torch.zeros_like(t) for name, t in net.running.items()}
    return {**{name: tensor.detach() for name, tensor in net.tensors.items()}, **running}


def call(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def compare(args, space, folder):
    """The largest relative difference of a tensor, and which one it is."""
    arch, sizes, _, flags = CASES[space]
    network = ["--space", space, "--arch", arch, *(f"--{key}={value}" for key, value in sizes.items())]
    about = json.loads(call([args.dump, "--data", "builtin", "--seed", "3", "--epochs", str(args.epochs), "--batch-size",
                             str(args.batch_size), "--out", folder]))
    weights, run = os.path.join(folder, "w.safetensors"), os.path.join(folder, "run")
    call([args.pada, "init", *network, "--image-size", str(about["size"]), "--classes", str(about["classes"]), "--seed", "3",
          "--out", weights])
    call([args.pada, "retrain", *network, *flags, "--backend", "ref", "--data", "builtin", "--seed", "3", "--epochs",
          str(args.epochs), "--batch-size", str(args.batch_size), "--validate", "0", "--quiet", "--no-events", "--out", run])
    have = load_file(sorted(glob.glob(os.path.join(run, "ckpt", "*.safetensors")))[-1])
    state, average = train(space, load_file(weights), folder, about, args.epochs)
    want = {**state, **{"pada/ema/" + name: tensor for name, tensor in average.items()}}
    assert {name for name in have if not name.startswith("pada/") or name.startswith("pada/ema/")} == set(want)
    apart = {name: float(np.abs(have[name] - tensor.numpy()).max() / max(1e-3, float(tensor.abs().max())))
             for name, tensor in want.items()}
    name = max(apart, key=apart.get)
    return apart[name], name, len(want)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--pada", default=os.environ.get("PADA_BINARY", "build/release/pada"))
    parser.add_argument("--dump", required=True, help="the program draws_dump")
    parser.add_argument("--spaces", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=500)
    parser.add_argument("--limit", type=float, default=1e-7)
    args = parser.parse_args()
    failed = False
    for space in args.spaces:
        with tempfile.TemporaryDirectory() as folder:
            apart, name, n = compare(args, space, folder)
        print(f"{space}: {args.epochs} epochs, {n} tensors within {apart:.1e} ({name})", flush=True)
        failed = failed or not apart <= args.limit
    return failed


if __name__ == "__main__":
    sys.exit(main())
