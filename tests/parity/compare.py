#!/usr/bin/env python3
"""pada against PyTorch on whole NB201 networks: the same weights, images and paths on both sides.

Per path, three tables: `ref` (float64 loops) against PyTorch float64; the forward pass and the gradients of `cpu`
(float32) against PyTorch float64, beside the errors of PyTorch's own float32 (NCHW and channels_last).

  ref        logits, loss, norms and every gradient within 1e-9 of float64
  forward    logits, loss and norms within 1e-5 of float64, or within twice the error of PyTorch float32 NCHW where
             that is worse than 1e-5 itself (errors divided by max(1, |value|))
  gradients  at most twice the error of PyTorch's worse layout: the worst tensor of max|g-g64|/max|g64|,
             and ||g-g64||/||g64|| over all of them
  zeros      biases before batch norm and parameters of dead or unused edges have exactly no gradient

In float32 one ReLU input that rounds to the other side of zero changes gradients more than all other rounding
together, and where it happens is chance. So the tables count the masks that PyTorch's layouts flip and the inputs
near enough to zero to flip; `--seeds K` repeats everything with other weights and images and reports fractions.

Exit status: 0 all within the limits, 1 something is not, 77 no PyTorch here (PADA_TORCH_PYTHON names the Python
that has it).
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from safetensors.numpy import load_file, save_file

    import nb201_torch
except ImportError as error:
    python = os.environ.pop("PADA_TORCH_PYTHON", None)
    if python:
        os.execvp(python, [python] + sys.argv)
    print(f"skipped: {error}; PADA_TORCH_PYTHON can name a Python with torch, numpy and safetensors")
    sys.exit(77)

REF_LIMIT = 1e-9
FORWARD_LIMIT = 1e-5
GRAD_FACTOR = 2.0
DEAD_LIMIT = 1e-12  # of PyTorch's float64, where pada has exact zeros
NEAR_ZERO = 1e-6
FORWARD = ("logits", "loss", "losses", "norms")
UNIFORM_PATHS = [(op,) * 6 for op in (3, 2, 1, 4, 0)]


# ---- what is alive in a path ----

def is_live(name, path):
    """Whether a parameter or module of this name takes part in the network of a path."""
    live = nb201_torch.live_edges(path)
    match = re.match(r"cells\.\d+\.edges\.(\d)<-(\d)\.(\d)\.", name)
    if match:
        to, source, op = map(int, match.groups())
        k = nb201_torch.EDGES.index((to, source))
        return live[k] and path[k] == op
    return any(live) or name == "classifier.bias"


def is_bias_before_norm(name):
    return name.endswith(".op.1.bias")


# ---- PyTorch ----

def run_torch(net, images, labels, path):
    """Everything pada reports, as float64 arrays, and the masks of the live ReLUs."""
    relus = {}

    def keep(name):
        def hook(_, inputs):
            relus[name] = inputs[0].detach().clone()
        return hook

    hooks = [module.register_forward_pre_hook(keep(name)) for name, module in net.named_modules()
             if isinstance(module, torch.nn.ReLU) and is_live(name, path)]
    net.zero_grad(set_to_none=True)
    logits = net(images, path)
    for hook in hooks:
        hook.remove()
    losses = F.cross_entropy(logits, labels, reduction="none")
    norms = (logits.softmax(1) - F.one_hot(labels, logits.shape[1])).norm(dim=1)
    losses.mean().backward()
    results = {"logits": logits, "losses": losses, "norms": norms, "loss": losses.mean().reshape(1)}
    for name, p in net.named_parameters():
        results["grad." + name] = torch.zeros_like(p) if p.grad is None else p.grad
    arrays = {key: np.ascontiguousarray(value.detach().numpy().astype(np.float64)) for key, value in results.items()}
    return arrays, relus


def make_net(sizes, weights, dtype, channels_last=False):
    net = nb201_torch.Supernet(sizes["channels"], sizes["cells"], sizes["classes"])
    net.load_state_dict({name: torch.from_numpy(value) for name, value in weights.items()})
    net = net.to(dtype)
    return net.to(memory_format=torch.channels_last) if channels_last else net


def count_flips(relus, exact):
    return sum(int(((relus[name] > 0) != (exact[name] > 0)).sum()) for name in exact)


# ---- pada ----

class Pada:
    def __init__(self, program, sizes, threads, folder):
        self.program, self.folder = program, folder
        self.flags = [f"--{key}={value}" for key, value in sizes.items()] + [f"--threads={threads}"]
        self.weights, self.data = os.path.join(folder, "weights"), os.path.join(folder, "data")

    def call(self, *flags):
        done = subprocess.run([self.program, *flags, *self.flags], stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{self.program} ended with {done.returncode}: {done.stderr.strip()}")

    def init_weights(self, seed, image_size):
        self.call(f"--weights={self.weights}", f"--init-seed={seed}", f"--image-size={image_size}")
        return load_file(self.weights)

    def run(self, backend, paths):
        """Yields the results of each path; a few of them share an engine and a file."""
        out = os.path.join(self.folder, "out")
        for first in range(0, len(paths), 5):
            some = paths[first:first + 5]
            self.call(f"--weights={self.weights}", f"--data={self.data}", f"--out={out}", f"--backend={backend}",
                      "--path=" + ";".join(",".join(map(str, path)) for path in some))
            tensors = load_file(out)
            for i in range(len(some)):
                prefix = f"{i}."
                yield {key[len(prefix):]: value for key, value in tensors.items() if key.startswith(prefix)}


# ---- errors ----

def relative(a, b):
    """max |a - b| / max |b|"""
    apart, size = np.abs(a - b).max(), np.abs(b).max()
    return 0.0 if apart == 0 else float(apart / size) if size > 0 else float("inf")


def forward_error(a, b):
    return float((np.abs(a - b) / np.maximum(1, np.abs(b))).max())


def compared_grads(results, path):
    return [key for key in results if key.startswith("grad.") and is_live(key[5:], path)
            and not is_bias_before_norm(key)]


def grad_errors(results, exact, keys):
    """The worst tensor's error, its name, and the error of all tensors together in L2."""
    errors = {key: relative(results[key], exact[key]) for key in keys}
    worst = max(keys, key=lambda key: errors[key])
    apart = sum(float(((results[key] - exact[key]) ** 2).sum()) for key in keys)
    size = sum(float((exact[key] ** 2).sum()) for key in keys)
    return errors[worst], worst[5:], (apart / size) ** 0.5


def forward_errors(results, exact):
    return {key: forward_error(results[key], exact[key]) for key in FORWARD}


def must_be_zero(results, path):
    """Gradients that pada has to leave at exactly zero, and are not."""
    return [key[5:] for key, value in results.items() if key.startswith("grad.") and value.any()
            and (is_bias_before_norm(key) or not is_live(key[5:], path))]


def missing_names(results, exact):
    return sorted(set(results) ^ set(exact))


class Row:
    """All numbers of one path and what is wrong with them."""

    def __init__(self, seed, path, exact, relus):
        self.seed, self.path, self.exact, self.relus = seed, path, exact, relus
        self.keys = compared_grads(exact, path)
        self.near = sum(int((x.abs() < NEAR_ZERO).sum()) for x in relus.values())
        self.total = sum(x.numel() for x in relus.values())
        self.failures = []  # (text, whether a flipped mask may be the reason)
        self.ref, self.torch, self.pada = {}, {}, {}
        self.dead = max([float(np.abs(exact[key]).max()) for key in exact
                         if key.startswith("grad.") and not is_live(key[5:], path)], default=0.0)
        if self.dead > DEAD_LIMIT:
            self.fail(f"PyTorch float64 has a gradient of {self.dead:.1e} in a dead parameter")

    def name(self):
        return ",".join(map(str, self.path))

    def fail(self, text, chance=False):
        self.failures.append((f"seed {self.seed}, path {self.name()}: {text}", chance))

    def add_torch(self, layout, results, relus):
        worst, _, l2 = grad_errors(results, self.exact, self.keys)
        self.torch[layout] = dict(forward_errors(results, self.exact), grad=worst, l2=l2,
                                  flips=count_flips(relus, self.relus))

    def check_zeros(self, backend, results):
        for name in missing_names(results, self.exact):
            self.fail(f"{backend}: {name} is on one side only")
        wrong = must_be_zero(results, self.path)
        if wrong:
            self.fail(f"{backend}: {len(wrong)} gradients are not exactly zero, such as {wrong[0]}")

    def add_ref(self, results):
        self.check_zeros("ref", results)
        grad, name, _ = grad_errors(results, self.exact, self.keys)
        self.ref = {key: relative(results[key], self.exact[key]) for key in FORWARD}
        self.ref["grad"] = grad
        for key, value in self.ref.items():
            if not value <= REF_LIMIT:
                self.fail(f"ref: {key} apart by {value:.1e}" + (f" ({name})" if key == "grad" else ""))

    def add_pada(self, backend, results):
        self.check_zeros(backend, results)
        own = forward_errors(results, self.exact)
        own["grad"], name, own["l2"] = grad_errors(results, self.exact, self.keys)
        self.pada[backend] = own
        for key in FORWARD:
            by_torch = self.torch["nchw"][key]
            limit = FORWARD_LIMIT if by_torch <= FORWARD_LIMIT else 2 * by_torch
            if not own[key] <= limit:
                self.fail(f"{backend}: {key} apart by {own[key]:.1e}, limit {limit:.1e}")
        for key in ("grad", "l2"):
            own[key + "_ratio"] = ratio = self.ratio(own[key], key)
            if not ratio <= GRAD_FACTOR:
                self.fail(f"{backend}: gradients, {key}: {own[key]:.1e} is {ratio:.2f} times PyTorch's worse layout"
                          + (f" ({name})" if key == "grad" else ""), chance=True)

    def ratio(self, value, key):
        worse = max(self.torch[layout][key] for layout in self.torch)
        return 0.0 if value == 0 else value / worse if worse > 0 else float("inf")


# ---- tables ----

def tables(rows, backends):
    """(title, header, lines) of the tables of one seed."""
    e = "{:.1e}".format
    if rows[0].ref:
        yield ("`ref` against PyTorch float64 (relative)", ["path", "logits", "loss", "norms", "worst gradient"],
               [[r.name()] + [e(r.ref[key]) for key in ("logits", "loss", "norms", "grad")] for r in rows])
    for b in backends:
        yield (f"`{b}` and PyTorch float32 against PyTorch float64, forward",
               ["path", f"logits {b}", "torch nchw", "torch cl", f"loss {b}", "torch nchw", "torch cl"],
               [[r.name()] + [e(x[key]) for key in ("logits", "loss")
                              for x in (r.pada[b], r.torch["nchw"], r.torch["cl"])] for r in rows])
        yield (f"`{b}` and PyTorch float32 against PyTorch float64, gradients",
               ["path", f"worst {b}", "torch nchw", "torch cl", "ratio", f"L2 {b}", "torch nchw", "torch cl", "ratio",
                "flips nchw", "flips cl", "near 0"],
               [[r.name()] + [text for key in ("grad", "l2") for text in
                              (e(r.pada[b][key]), e(r.torch["nchw"][key]), e(r.torch["cl"][key]),
                               f"{r.pada[b][key + '_ratio']:.2f}")]
                + [str(r.torch["nchw"]["flips"]), str(r.torch["cl"]["flips"]), str(r.near)] for r in rows])


def as_text(header, lines):
    widths = [max(len(line[i]) for line in [header] + lines) for i in range(len(header))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(line, widths)) for line in [header] + lines)


def as_markdown(header, lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in [header, ["---"] * len(header)] + lines)


def summary(rows, backends):
    """Lines about all paths of all seeds together."""
    n = len(rows)
    lines = [f"{n} paths times seeds; of {sum(r.total for r in rows):,} ReLU inputs {sum(r.near for r in rows)} are "
             f"nearer to zero than {NEAR_ZERO:g}"]
    if rows[0].ref:
        lines.append("ref: worst " + ", ".join(f"{key} {max(r.ref[key] for r in rows):.1e}" for key in rows[0].ref))
    lines.append(f"PyTorch float64: largest gradient of a dead parameter {max(r.dead for r in rows):.1e}")
    for layout in ("nchw", "cl"):
        t = [r.torch[layout] for r in rows]
        lines.append(f"torch {layout}: median worst gradient {statistics.median(x['grad'] for x in t):.1e}, "
                     f"L2 {statistics.median(x['l2'] for x in t):.1e}; {sum(x['flips'] for x in t)} flips on "
                     f"{sum(x['flips'] > 0 for x in t)} of {n}")
    pairs = [sorted(t["grad"] for t in r.torch.values()) for r in rows]
    lines.append(f"the worst gradients of PyTorch's two layouts are apart by more than a factor of {GRAD_FACTOR:g} on "
                 f"{sum(large > GRAD_FACTOR * small for small, large in pairs)} of {n}")
    for b in backends:
        own = [r.pada[b] for r in rows]
        lines.append(f"{b}: worst logits {max(x['logits'] for x in own):.1e}, loss {max(x['loss'] for x in own):.1e}; "
                     f"median worst gradient {statistics.median(x['grad'] for x in own):.1e}, "
                     f"L2 {statistics.median(x['l2'] for x in own):.1e}")
        for key, text in (("grad_ratio", "worst gradient"), ("l2_ratio", "L2")):
            ratios = [x[key] for x in own]
            lines.append(f"{b}: {text} over PyTorch's worse layout: median {statistics.median(ratios):.2f}, "
                         f"at most 1 on {sum(x <= 1 for x in ratios)} of {n}, at most {GRAD_FACTOR:g} on "
                         f"{sum(x <= GRAD_FACTOR for x in ratios)} of {n}, largest {max(ratios):.2f}")
        alone = [x["l2"] / r.torch["nchw"]["l2"] for x, r in zip(own, rows) if r.torch["nchw"]["l2"] > 0]
        lines.append(f"{b}: L2 over PyTorch NCHW alone: median {statistics.median(alone):.2f}")
    return lines


# ---- the comparison ----

def compare_seed(args, sizes, seed, paths, backends, folder):
    pada = Pada(args.dump, sizes, args.threads, folder)
    weights = load_file(args.weights) if args.weights else pada.init_weights(seed, args.image_size)
    if args.weights:
        save_file(weights, pada.weights)
    torch.manual_seed(seed)
    images = torch.randn(args.batch, 3, args.image_size, args.image_size)
    labels = torch.randint(args.classes, (args.batch,))
    save_file({"images": images.numpy(), "labels": labels.numpy()}, pada.data)

    wide = make_net(sizes, weights, torch.float64)
    plain = make_net(sizes, weights, torch.float32)
    last = make_net(sizes, weights, torch.float32, channels_last=True)
    runs = {backend: pada.run(backend, paths) for backend in ([] if args.no_ref else ["ref"]) + backends}
    rows = []
    for path in paths:
        row = Row(seed, path, *run_torch(wide, images.double(), labels, path))
        narrow = nb201_torch.without_dead_edges(path) if args.prune else path
        row.add_torch("nchw", *run_torch(plain, images, labels, narrow))
        row.add_torch("cl", *run_torch(last, images.to(memory_format=torch.channels_last), labels, narrow))
        for backend, results in runs.items():
            if backend == "ref":
                row.add_ref(next(results))
            else:
                row.add_pada(backend, next(results))
        row.exact = row.relus = None  # large
        rows.append(row)
        if sys.stderr.isatty():
            print(f"\rseed {seed}: {len(rows)} of {len(paths)} paths ", end="", file=sys.stderr, flush=True)
    return rows


def parse_args():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--dump", default=os.path.join(root, "build/release/tests/parity/parity_dump"),
                        help="the program parity_dump (default %(default)s)")
    parser.add_argument("--paths", type=int, default=20, help="random paths beside the five uniform ones")
    parser.add_argument("--path", action="append", help="compare this path, e.g. 3,1,4,2,0,3; repeatable")
    parser.add_argument("--channels", type=int, default=16)
    parser.add_argument("--cells", type=int, default=5)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--image-size", type=int, default=32)
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="of both sides (default: all cores)")
    parser.add_argument("--backends", default="cpu", help="float32 backends, separated by commas")
    parser.add_argument("--no-ref", action="store_true", help="leave the slow reference backend out")
    parser.add_argument("--prune", action="store_true",
                        help="PyTorch float32 runs without dead edges, whose batch norms of constants only add noise: a "
                             "stricter limit for pada, which drops them")
    parser.add_argument("--weights", help="safetensors file, such as `pada init` writes (default: made from the seed)")
    parser.add_argument("--seed", type=int, default=1, help="of weights and images")
    parser.add_argument("--seeds", type=int, default=1, help="repeat with this many seeds and report fractions")
    parser.add_argument("--allow", type=float, default=0.0,
                        help="fraction of paths whose gradients may exceed their limit: flipped masks are chance")
    parser.add_argument("--markdown", help="write the tables to this file too")
    return parser.parse_args()


def main():
    args = parse_args()
    sizes = {"channels": args.channels, "cells": args.cells, "classes": args.classes}
    backends = [name for name in args.backends.split(",") if name]
    torch.set_num_threads(args.threads)
    paths = [tuple(map(int, text.split(","))) for text in args.path or []]
    if not paths:
        paths = nb201_torch.random_paths(args.paths) + UNIFORM_PATHS
    title = (f"{args.channels} channels, {args.cells} cells per stage, batch {args.batch}, images of {args.image_size}, "
             f"{args.threads} threads, PyTorch {torch.__version__}")
    document = ["# pada against PyTorch\n", title + "\n"]
    print(title)

    rows = []
    for seed in range(args.seed, args.seed + args.seeds):
        with tempfile.TemporaryDirectory() as folder:
            of_seed = compare_seed(args, sizes, seed, paths, backends, folder)
        rows += of_seed
        for name, header, lines in tables(of_seed, backends):
            name += f", seed {seed}"
            print(f"\n{name}\n{as_text(header, lines)}")
            document.append(f"## {name}\n\n{as_markdown(header, lines)}\n")

    lines = summary(rows, backends)
    print("\n" + "\n".join(lines))
    failures = [failure for row in rows for failure in row.failures]
    over = sum(any(chance for _, chance in row.failures) for row in rows)
    excused = over <= args.allow * len(rows)
    serious = [text for text, chance in failures if not (chance and excused)]
    verdict = [("allowed: " if chance and excused else "FAILED: ") + text for text, chance in failures]
    verdict.append("verdict: " + (f"{len(serious)} failures" if serious else "within the limits"))
    if over and excused:
        verdict[-1] += f"; {over} of {len(rows)} over the gradient limit, {args.allow:g} of all allowed"
    print("\n".join(verdict))
    if args.markdown:
        document.append("## Summary\n\n" + "\n".join("- " + line for line in lines + verdict) + "\n")
        with open(args.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(document))
    return 1 if serious else 0


if __name__ == "__main__":
    sys.exit(main())
