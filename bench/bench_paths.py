"""The paths that a benchmark runs: those of a file, or random ones of another space than nb201. Needs no PyTorch."""
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/parity"))

import random_paths  # pylint: disable=wrong-import-position

WARM_UP = [[op] * 6 for op in (3, 2, 4, 1)]  # nb201: every kernel, and the largest network first


def add_arguments(parser, paths):
    parser.add_argument("--space", default="nb201", choices=["nb201", "macro", "proxyless", "darts"],
                        help="others than nb201 have their own sizes")
    parser.add_argument("--paths", default=os.path.join(ROOT, "bench", paths), help="of nb201: one [a,b,c,d,e,f] per line")
    parser.add_argument("--networks", type=int, default=40, help="random paths of another space")
    parser.add_argument("--arch", help="one network by itself, in the form and size it is retrained with, instead of paths")
    parser.add_argument("--channels", type=int, default=16, help="of nb201")
    parser.add_argument("--cells", type=int, default=5, help="of nb201")
    parser.add_argument("--image-size", type=int, default=32, help="of nb201")


def read_arch(args):
    """--arch, in any dialect, as PyTorch's side reads it."""
    command = [args.pada, "arch", "--space", args.space, args.arch]
    answer = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if answer.returncode != 0:  # pada has said why
        sys.exit(answer.returncode)
    return answer.stdout.strip()


def prepare(args, folder):
    """The paths, and those to warm up with. For other spaces args.paths and args.weights become files in the folder."""
    args.weights = ""
    if args.space == "nb201":
        with open(args.paths, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.strip()], WARM_UP
    paths = [read_arch(args)] if args.arch else random_paths.random_paths(args.space, args.networks, 0)
    args.paths, args.weights = os.path.join(folder, "paths"), os.path.join(folder, "weights.safetensors")
    with open(args.paths, "w", encoding="utf-8") as file:
        file.writelines(path + "\n" for path in paths)
    form = ["--arch", args.arch] if args.arch else []
    subprocess.run([args.pada, "init", "--space", args.space, *form, "--out", args.weights], check=True, stdout=subprocess.DEVNULL)
    return paths, paths


def torch_options(args):
    """For bench/torch_nets.py."""
    form = ["--final"] if args.arch else []
    return [f"--space={args.space}", f"--weights={args.weights}", f"--channels={args.channels}", f"--cells={args.cells}",
            f"--image-size={args.image_size}", *form]


def pada_options(args):
    sizes = [f"--channels={args.channels}", f"--cells={args.cells}", f"--image-size={args.image_size}"] if args.space == "nb201" else []
    form = ["--form", "final"] if args.arch else []
    return ["--list", args.paths, "--space", args.space, *form, *sizes]
