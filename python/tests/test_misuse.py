"""Thousands of calls with arguments that make no sense, on objects that may be closed: Python exceptions, never the end
of the process. PADA_MISUSE_SEED and PADA_MISUSE_CALLS choose others, and more."""

import os
import pathlib
import random
import threading

import numpy as np
import pytest

import pada

SEED = int(os.environ.get("PADA_MISUSE_SEED", "1"))
N_CALLS = int(os.environ.get("PADA_MISUSE_CALLS", "2000"))

# What a wrong call may raise. Everything else, such as an AttributeError from inside, is a bug of the package.
EXPECTED = (pada.Error, TypeError, ValueError, OverflowError, OSError)


class Odd:
    def __index__(self):
        raise ValueError("no index")

    def __array__(self, *_, **__):
        raise ValueError("no array")

    def __fspath__(self):
        raise ValueError("no path")


def odd_values(objects):
    return [
        None, True, False, 0, 1, -1, 2, 7, 255, 1 << 31, -(1 << 31) - 1, 1 << 63, 1 << 64, 1 << 200, 0.0, -0.5, 1e300,
        float("nan"), float("inf"), "", "a", "nb201", "--", "-1", "list", "svg", "\0", "\ud800", "%s%n", "a" * 100000,
        b"", b"nb201", bytearray(3), [], [1], [None], (), {}, {1: 2}, set(), Odd(), object(), int, len,
        pathlib.Path("/"), pathlib.Path("/nowhere/x"), np.zeros((0,)), np.zeros((2, 3)), np.zeros((4, 4, 3), np.uint8),
        np.zeros((2, 4, 4, 3), np.uint8), np.zeros((1, 3, 16, 16), np.float32), np.float32(1), np.int64(3),
        np.full((1, 3, 16, 16), np.nan, np.float32), np.zeros((1, 3, 16, 16))[..., ::-1], np.array(["x"]),
        np.zeros((3, 3, 3), np.uint8).view(np.recarray), memoryview(b"abc"), "|" * 5000, "3,3,4,1,3,1",
        "[0,0,0,0,0,0]", range(6), [0] * 6, [4] * 6, [5] * 6, "builtin", "test", "c", "onnx", *objects,
    ]


def calls(space, arch, net, model, images, run, folder):
    """What may be called: names of arguments that may be anything, and arguments that keep it short."""
    short = {"limit": 10}
    epochs = {"out": folder / "run", "epochs": -1}  # refused, so that what else is wrong must be found before
    return [
        (pada.Space, ["name", "classes", "image_size", "channels", "cells", "blocks", "width", "flags"], {}),
        (pada.Architecture, [], {}), (space.parse, ["dialect"], {}), (space.random, ["seed", "index"], {}),
        (space.sample, ["seed"], {}), (arch.to, [], {}), (arch.__eq__, [], {}), (space.__eq__, [], {}),
        (pada.Images, ["split", "image_size"], {}), (images.read, ["first", "n"], {}),
        (net.evaluate, ["images", "limit"], short), (net.predict, ["pixels"], {}),
        (net.rank, ["limit", "progress", "images"], short),
        (net.search, ["top", "max_macs", "min_params", "population", "generations", "algorithm", "progress", "seed"],
         {**short, "population": 3, "generations": 1}),
        (net.init, [], {}), (net.load, [], {}), (net.save, [], {}), (model.predict, [], {}), (model.top, ["k"], {}), (model.evaluate, ["images", "limit"], {}),
        (model.export, ["format", "normalise", "keep_norms", "name", "weights_file"], {}),
        (pada.Model, ["backend", "threads", "batch_size"], {}),
        (pada.Net, ["weights", "backend", "threads", "batch_size"], {}), (pada.Run, [], {}),
        (run.images, ["split"], {}), (run.rank, ["split", "limit", "progress"], {**short, "networks": 2}),
        (pada.retrain, ["data", "message", "batch_size", "recipe", "keep_best"], epochs),
        (pada.train, ["method", "space", "batch_size", "lr", "progress", "channels", "seed", "config"], epochs),
    ]


def misuse(seed, n_calls, net, model, images, run, folder):
    """Returns how many calls raised, and how many did not."""
    rng = random.Random(seed)
    space = pada.Space("nb201", channels=4, cells=1, image_size=16)
    arch = space.random(1)
    closed = pada.Images()
    closed.close()
    n_raised = n_fine = 0
    for i in range(n_calls):
        if i % 100 == 0:
            short_lived = pada.Net(space, threads=1, batch_size=10)
            values = odd_values([space, arch, net, model, images, run, closed, short_lived, pada.Images, folder])
        if i % 100 == 50:
            short_lived.close()
        function, names, fixed = rng.choice(calls(space, arch, rng.choice([net, short_lived]), model, images, run,
                                                  folder))
        positional = [rng.choice(values) for _ in range(rng.randrange(3))]
        named = {**fixed, **{name: rng.choice(values) for name in names if rng.random() < 0.25}}
        try:
            function(*positional, **named)
            n_fine += 1
        except EXPECTED:
            n_raised += 1
    return n_raised, n_fine


@pytest.fixture
def in_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_nothing_crashes(net, model, images, run, in_folder):
    n_raised, n_fine = misuse(SEED, N_CALLS, net, model, images, run, in_folder)
    assert n_raised > N_CALLS / 2 and n_fine > N_CALLS / 100
    assert len(images.read()[1]) == 1000 and model.predict(np.zeros((9, 9, 3), np.uint8)).shape == (10,)


def test_nothing_crashes_in_threads(net, model, images, run, in_folder):
    problems = []

    def work(i):
        try:
            misuse(SEED + 1 + i, N_CALLS // 8, net, model, images, run, in_folder)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
