"""Exports the models of a folder (export_dump.c) and holds them against the engine: check_exports.py PADA DIR onnx|torch"""
import glob
import importlib.util
import os
import subprocess
import sys

import numpy as np

TOLERANCE = 1e-4  # of the largest logit


def export(pada, model, to, out, *flags):
    subprocess.run([pada, "export", model, "--to", to, "--out", out, *flags], check=True)


def run_onnx(pada, model, stem, flags):
    import onnx
    import onnxruntime

    file = stem + ".onnx"
    export(pada, model, "onnx", file, *flags)
    onnx.checker.check_model(file, full_check=True)
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    return lambda images: session.run(["logits"], {"input": images})[0]


def run_torch(pada, model, stem, flags):
    import torch

    file = stem + "_module.py"
    export(pada, model, "torch", file, "--name", "Net", *flags)
    spec = importlib.util.spec_from_file_location("net", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    network = module.load()

    def predict(images):
        with torch.no_grad():
            return network(torch.from_numpy(images)).numpy()

    return predict


def check(pada, model, run, number):
    stem = model[: -len(".safetensors")]
    images = np.load(stem.rsplit("-", 1)[0] + ".npy")
    want = np.load(stem + ".npy")
    predict = run(pada, model, stem, [] if number % 3 else ["--no-fold-norms"])
    have = predict(images)
    error = np.abs(have - want).max() / np.abs(want).max()
    assert have.shape == want.shape and error < TOLERANCE, f"{model}: apart by {error:g}"
    spread = np.sort(want, 1)
    is_clear = spread[:, -1] - spread[:, -2] > 2 * TOLERANCE * np.abs(want).max()
    assert (have.argmax(1) == want.argmax(1))[is_clear].all(), f"{model}: other classes"
    for n in (1, 7):
        part = predict(images[:n])
        assert np.abs(part - want[:n]).max() < TOLERANCE * np.abs(want).max(), f"{model}: batch of {n}"
    return error


def main():
    pada, folder, to = sys.argv[1:]
    models = sorted(f for f in glob.glob(os.path.join(folder, "?-*.safetensors")) if "module" not in f)
    errors = [check(pada, model, {"onnx": run_onnx, "torch": run_torch}[to], i) for i, model in enumerate(models)]
    print(f"{to}: {len(errors)} networks, at most {max(errors):.2g} of the largest logit apart")
    assert len(errors) > 0


main()
