#!/usr/bin/env python3
"""pada against PyTorch on random networks of the spaces macro, proxyless and darts, in both forms.

Weights go both ways by name: pada makes them, this script moves them away from their first values, pada loads them
again. Final forms are trained with smoothed labels. `ref` (float64 loops) must be within 1e-9 of PyTorch float64 in
logits, losses and every gradient, and have no gradient for parameters that the network does not use. `cpu` must be no
further from float64 than twice PyTorch's float32, or 1e-5; where rounding has put a value on the other side of an
activation, other weights and images are tried: chance hits one set of them and not the next, a bug hits all.

Exit status: 0 all within the limits, 1 something is not, 77 no PyTorch here (PADA_TORCH_PYTHON names the Python that
has it).
"""
import argparse
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from safetensors.numpy import load_file, save_file

    import random_paths
    import spaces_torch
except ImportError as error:
    python = os.environ.pop("PADA_TORCH_PYTHON", None)
    if python:
        os.execvp(python, [python] + sys.argv)
    print(f"skipped: {error}; PADA_TORCH_PYTHON can name a Python with torch, numpy and safetensors")
    sys.exit(77)

REF_LIMIT, FLOAT_LIMIT, FACTOR, TRIES = 1e-9, 1e-5, 2.0, 3
CLASSES, BATCH, SMOOTHING = 7, 12, 0.1


def call(program, *flags):
    done = subprocess.run([program, *flags], stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{program} {' '.join(flags)} ended with {done.returncode}: {done.stderr.strip()}")


def run_torch(space, sizes, path, final, arrays, images, labels, dtype):
    weights = spaces_torch.Weights(arrays, dtype)
    logits, auxiliary = spaces_torch.SPACES[space][0](weights, images.to(dtype), path, final, sizes)
    smoothing = SMOOTHING if final else 0.0
    losses = F.cross_entropy(logits, labels, reduction="none", label_smoothing=smoothing)
    loss = losses.mean()
    if auxiliary is not None:
        loss = loss + 0.4 * F.cross_entropy(auxiliary, labels, label_smoothing=smoothing)
    loss.backward()
    results = {"logits": logits, "losses": losses}
    for name in weights.used:
        grad = weights.tensors[name].grad
        results["grad." + name] = torch.zeros_like(weights.tensors[name]) if grad is None else grad
    return {name: value.detach().double().numpy() for name, value in results.items()}


def worst(results, exact):
    """The largest error of a tensor, relative to the largest gradient of all, and its name."""
    size = max(np.abs(value).max() for name, value in exact.items() if name.startswith("grad."))
    errors = {}
    for name, value in exact.items():
        scale = max(np.abs(value).max(), 1e-3 * size) if name.startswith("grad.") else np.abs(value).max()
        errors[name] = float(np.abs(results[name] - value).max() / scale)
    name = max(errors, key=errors.get)
    return errors[name], name


def distance(results, exact):
    keys = [name for name in exact if name.startswith("grad.")]
    apart = sum(float(((results[name] - exact[name]) ** 2).sum()) for name in keys)
    return (apart / sum(float((exact[name] ** 2).sum()) for name in keys)) ** 0.5


class Comparison:
    def __init__(self, dump, space, folder):
        self.dump, self.space, self.folder = dump, space, folder
        self.sizes, self.image_size = spaces_torch.SPACES[space][1:]
        self.flags = [f"--space={space}", f"--dialect={space}", f"--classes={CLASSES}", "--threads=2"]
        self.flags += [f"--{key}={value}" for key, value in self.sizes.items()]
        self.failures, self.n_flips, self.ref_worst, self.ratios = [], 0, 0.0, []

    def weights(self, seed, path, final):
        """Fresh ones, but norms with other scales and shifts than 1 and 0."""
        file = os.path.join(self.folder, "weights")
        call(self.dump, f"--weights={file}", f"--init-seed={seed}", f"--image-size={self.image_size}",
             f"--path={path}", *(["--final"] if final else []), *self.flags)
        arrays, rng = load_file(file), np.random.default_rng(seed)
        for name, array in arrays.items():
            arrays[name] = (array + 0.1 * rng.standard_normal(array.shape)).astype(np.float32) if array.ndim == 1 else array
        save_file(arrays, file)
        return file, arrays

    def check(self, seed, path, final):
        for attempt in range(TRIES):
            ratio = self.compare(seed + 1000 * attempt, path, final)
            if ratio <= 1:
                break
            self.n_flips += 1
        else:
            self.failures.append(f"{path}{' final' if final else ''}: cpu is {ratio:.1f} times too far, whatever the images")
        self.ratios.append(ratio)

    def compare(self, seed, path, final):
        """Checks ref; returns how far cpu is over what it may be."""
        torch.manual_seed(seed)
        images = torch.randn(BATCH, 3, self.image_size, self.image_size)
        labels = torch.randint(CLASSES, (BATCH,))
        data, out = os.path.join(self.folder, "data"), os.path.join(self.folder, "out")
        save_file({"images": images.numpy(), "labels": labels.numpy()}, data)
        file, arrays = self.weights(seed, path, final)
        exact, narrow = (run_torch(self.space, self.sizes, path, final, arrays, images, labels, dtype)
                         for dtype in (torch.float64, torch.float32))
        limit = max(FACTOR * distance(narrow, exact), FLOAT_LIMIT)
        for backend in ("ref", "cpu"):
            call(self.dump, f"--data={data}", f"--weights={file}", f"--out={out}", f"--backend={backend}",
                 f"--path={path}", *(["--final", f"--label-smoothing={SMOOTHING}"] if final else []), *self.flags)
            results = {name[2:]: value for name, value in load_file(out).items()}
            self.check_unused(backend, path, results, exact)
            if backend == "ref":
                error, name = worst(results, exact)
                self.ref_worst = max(self.ref_worst, error)
                if not error <= REF_LIMIT:
                    self.failures.append(f"{path}{' final' if final else ''}: ref, {name} apart by {error:.1e}")
        return distance(results, exact) / limit

    def check_unused(self, backend, path, results, exact):
        wrong = [name for name, value in results.items()
                 if name.startswith("grad.") and name not in exact and value.any()]
        if wrong:
            self.failures.append(f"{path}: {backend}, unused {wrong[0]} has a gradient")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dump", required=True, help="the program parity_dump")
    parser.add_argument("--networks", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--spaces", nargs="+", default=list(spaces_torch.SPACES), choices=list(spaces_torch.SPACES))
    args = parser.parse_args()
    torch.set_num_threads(2)
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        for space in args.spaces:
            c = Comparison(args.dump, space, folder)
            paths = random_paths.random_paths(space, args.networks, args.seed)
            for i, path in enumerate(paths):
                c.check(args.seed + i, path, final=i % 2 == 1)
            print(f"{space}: {args.networks} networks, half of them in final form; ref within {c.ref_worst:.1e}; "
                  f"cpu over its limit: median {np.median(c.ratios):.2f}, largest {max(c.ratios):.2f}, {c.n_flips} sets tried again")
            for text in c.failures:
                print(f"  {text}")
            failed = failed or bool(c.failures)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
