#!/usr/bin/env python3
"""Whole trainings of pada against PyTorch: SPOS with the same weights, images, cuts and paths on both sides.

pada trains as it always does; draws_dump writes what it draws, and PyTorch makes the same steps: per-image crops and
flips, clipping at 5, SGD in dense mode (gradients that were once there become zero, not absent), cosine per epoch.
Rounding makes the two drift apart, step by step; the mean loss of an epoch should not care.

Settings of PyTorch (--torch): f64, f32, and f32_pruned, which leaves dead edges out: batch norm of a constant is zero
in pada and in float64, but rounding noise times 316 in float32. One line per epoch: the losses of PyTorch and of pada's
backends, and how far each is from the first.

Large networks are so sensitive that trainings which differ by rounding only are some hundredths apart after a hundred
steps; --seeds K repeats everything with K seeds and ends with the mean distance and its standard error.

Exit status: 0 no epoch of pada is further than --limit from the first setting of PyTorch, 1 one is, 77 no PyTorch here (PADA_TORCH_PYTHON names the
Python that has it).
"""
import argparse
import csv
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from safetensors.torch import load_file

    import nb201_torch
except ImportError as error:
    python = os.environ.pop("PADA_TORCH_PYTHON", None)
    if python:
        os.execvp(python, [python] + sys.argv)
    print(f"skipped: {error}; PADA_TORCH_PYTHON can name a Python with torch, numpy and safetensors")
    sys.exit(77)


class Images:
    """The training images on the device, and batches cut from them."""

    def __init__(self, folder, about, device, kind):
        size = about["size"]
        read = lambda name, kind: np.fromfile(os.path.join(folder, name), kind)
        images = torch.from_numpy(read("images.u8", np.uint8).reshape(-1, 3, size, size))
        self.padded = F.pad(images, [about["pad"]] * 4).to(device)  # black before it is normalised
        self.labels = torch.from_numpy(read("labels.i32", np.int32)).long().to(device)
        self.mean = torch.tensor(about["mean"], device=device, dtype=kind).view(1, 3, 1, 1)
        self.deviation = torch.tensor(about["deviation"], device=device, dtype=kind).view(1, 3, 1, 1)
        self.size, self.device = size, device
        assert not about["flip_first"]

    def batch(self, draws):
        index, row, column, flip = (torch.from_numpy(draws[:, k].copy()).long().to(self.device) for k in range(4))
        at = torch.arange(self.size, device=self.device)
        rows = row.view(-1, 1) + at
        columns = column.view(-1, 1) + torch.where(flip.view(-1, 1) == 1, self.size - 1 - at, at)
        x = self.padded[index.view(-1, 1, 1), :, rows.unsqueeze(2), columns.unsqueeze(1)].permute(0, 3, 1, 2)
        return (x.to(self.mean.dtype) / 255 - self.mean) / self.deviation, self.labels[index]


def without_noise(net, x, path):
    """What the path computes without rounding: dead edges are zero, and so are all features of a dead path."""
    if any(nb201_torch.live_edges(path)):
        return net(x, nb201_torch.without_dead_edges(path))
    return net.classifier(torch.zeros(len(x), net.classifier.in_features, dtype=x.dtype, device=x.device))


def run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def read_losses(run_folder):
    try:
        with open(os.path.join(run_folder, "metrics.csv"), encoding="utf-8", newline="") as file:
            return [float(row["loss"]) for row in csv.DictReader(file)]
    except FileNotFoundError:
        return []


def train_pada(args, backend, seed, out):
    """Mean losses of the epochs."""
    command = [args.pada, "train", "--method", "spos", "--data", args.data, "--backend", backend, "--channels",
               str(args.channels), "--cells", str(args.cells), "--epochs", str(args.schedule), "--batch-size",
               str(args.batch_size), "--seed", str(seed), "--validate", "0", "--quiet", "--no-events", "--out", out]
    if args.schedule == args.epochs:
        run(command)
    else:  # stop it when the epochs that are compared are there
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(read_losses(out)) < args.epochs:
            time.sleep(0.2)
        process.terminate()
        process.wait()
    return read_losses(out)[:args.epochs]


def train_torch(args, setting, about, folder):
    """The same of PyTorch, on the draws in the folder."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    kind = torch.float64 if setting == "f64" else torch.float32
    images = Images(folder, about, device, kind)
    steps = np.fromfile(os.path.join(folder, "steps.i32"), np.int32).reshape(-1, 7)
    draws = np.fromfile(os.path.join(folder, "draws.i32"), np.int32).reshape(-1, 4)
    net = nb201_torch.Supernet(args.channels, args.cells, about["classes"]).to(device)
    net.load_state_dict(load_file(os.path.join(folder, "w.safetensors")))
    net.to(kind)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=2.5e-4)
    per_epoch, first, losses = len(steps) // args.epochs, 0, []
    for epoch in range(args.epochs):
        optimiser.param_groups[0]["lr"] = 0.025 * (1 + math.cos(math.pi * epoch / args.schedule))
        total, start = torch.zeros((), device=device, dtype=kind), first
        for step in steps[epoch * per_epoch:(epoch + 1) * per_epoch]:
            count, path = int(step[6]), [int(op) for op in step[:6]]
            x, y = images.batch(draws[first:first + count])
            first += count
            optimiser.zero_grad(set_to_none=False)
            logits = without_noise(net, x, path) if setting == "f32_pruned" else net(x, path)
            loss = F.cross_entropy(logits, y)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
            optimiser.step()
            total += loss.detach() * count
        losses.append(total.item() / (first - start))
    return losses


def train_all(args, seed):
    """The losses of every column, by its name."""
    with tempfile.TemporaryDirectory() as folder:
        about = json.loads(run([args.dump, "--data", args.data, "--seed", str(seed), "--epochs", str(args.epochs),
                                "--batch-size", str(args.batch_size), "--out", folder]))
        run([args.pada, "init", "--channels", str(args.channels), "--cells", str(args.cells), "--classes",
             str(about["classes"]), "--image-size", str(about["size"]), "--seed", str(seed), "--out",
             os.path.join(folder, "w.safetensors")])
        losses = {f"torch {name}": train_torch(args, name, about, folder) for name in args.torch.split(",")}
        for backend in args.backends.split(","):
            losses[backend] = train_pada(args, backend, seed, os.path.join(folder, backend))
    return losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--pada", default=os.environ.get("PADA_BINARY", "build/release/pada"))
    parser.add_argument("--dump", required=True, help="the program draws_dump")
    parser.add_argument("--data", default="builtin")
    parser.add_argument("--backends", default="cpu")
    parser.add_argument("--torch", default="f64", help="f64, f32, f32_pruned; the first is compared with")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=10, help="to run")
    parser.add_argument("--schedule", type=int, default=0, help="epochs that learning rates are for; 0: --epochs")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=0.02)
    args = parser.parse_args()
    args.schedule = args.schedule or args.epochs
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True

    apart, worst = {}, 0.0
    for seed in range(args.seed, args.seed + args.seeds):
        losses = train_all(args, seed)
        names = list(losses)
        if seed == args.seed:
            print("seed epoch " + "".join(f"{name:>20}" for name in names))
        for epoch in range(args.epochs):
            truth = losses[names[0]][epoch]
            print(f"{seed:4d} {epoch + 1:5d} " + "".join(f"{x[epoch]:11.4f} {x[epoch] - truth:+8.4f}" for x in losses.values()),
                  flush=True)
            for name in names[1:]:
                apart.setdefault((epoch, name), []).append(losses[name][epoch] - truth)
                if not name.startswith("torch"):
                    worst = max(worst, abs(losses[name][epoch] - truth))
    for (epoch, name), values in apart.items():
        if args.seeds > 1:
            error = statistics.stdev(values) / math.sqrt(len(values))
            print(f"epoch {epoch + 1}: {name} is {statistics.mean(values):+.4f} +- {error:.4f} from {names[0]}")
    return worst > args.limit


if __name__ == "__main__":
    sys.exit(main())
