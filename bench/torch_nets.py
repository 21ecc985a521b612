"""What the PyTorch sides of the benchmarks time: steps and evaluations of a supernet of nb201, or of another space.

A net is called with images and a path and returns logits and those of an auxiliary head, or None; `place` puts it on a device, `parameters` is what an optimiser gets. Weights of
other spaces come from a file of `pada init`.
"""
import contextlib
import os
import sys

import torch
import torch.nn.functional as F

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/parity"))


class Supernet201:
    classes = 10

    def __init__(self, channels, cells, image_size):
        import nb201_torch  # pylint: disable=import-outside-toplevel
        self.image_size = image_size
        self.net = nb201_torch.Supernet(channels, cells)

    def place(self, device, channels_last):
        self.net = self.net.to(device)
        if channels_last:
            self.net = self.net.to(memory_format=torch.channels_last)

    def parameters(self):
        return list(self.net.parameters())

    def __call__(self, images, path):
        return self.net(images, path), None


class SpaceNet:
    """The functions of the parity tests, at the sizes that pada's spaces have by default."""

    def __init__(self, space, weights, final):
        import spaces_torch  # pylint: disable=import-outside-toplevel
        from safetensors.numpy import load_file  # pylint: disable=import-outside-toplevel
        self.function, self.final = spaces_torch.SPACES[space][0], final
        self.weights = spaces_torch.Weights(load_file(weights), torch.float32)
        self.image_size, self.classes = (224, 1000) if space == "proxyless" else (32, 10)

    def place(self, device, channels_last):
        for name, tensor in self.weights.tensors.items():
            tensor = tensor.detach().to(device)
            if channels_last and tensor.dim() == 4:
                tensor = tensor.contiguous(memory_format=torch.channels_last)
            self.weights.tensors[name] = tensor.requires_grad_()

    def parameters(self):
        return list(self.weights.tensors.values())

    def __call__(self, images, path):
        return self.function(self.weights, images, path, self.final, {"cells": 8, "final-cells": 20})


def add_arguments(parser):
    parser.add_argument("mode", choices=["step", "eval"])
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--space", default="nb201")
    parser.add_argument("--weights", help="of another space than nb201: a file of `pada init`")
    parser.add_argument("--final", action="store_true", help="the weights are those of one network by itself")
    parser.add_argument("--channels", type=int, help="of nb201")
    parser.add_argument("--cells", type=int, help="of nb201")
    parser.add_argument("--image-size", type=int, default=32, help="of nb201")


def make_run(args, device, channels_last, precision=contextlib.nullcontext):
    """What is timed, a function of a path: a training step or an evaluation (args.mode) of a random batch."""
    net = Supernet201(args.channels, args.cells, args.image_size) if args.space == "nb201" else SpaceNet(args.space, args.weights, args.final)
    net.place(device, channels_last)
    images = torch.randn(args.batch, 3, net.image_size, net.image_size).to(device)
    labels = torch.randint(net.classes, (args.batch,)).to(device)
    if channels_last:
        images = images.to(memory_format=torch.channels_last)
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=2.5e-4)

    def step(path):
        optimiser.zero_grad(set_to_none=True)
        with precision():
            logits, auxiliary = net(images, path)
            loss = F.cross_entropy(logits, labels)
            if auxiliary is not None:
                loss = loss + 0.4 * F.cross_entropy(auxiliary, labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimiser.step()

    def evaluate(path):
        with torch.inference_mode(), precision():
            F.cross_entropy(net(images, path)[0], labels)

    return step if args.mode == "step" else evaluate
