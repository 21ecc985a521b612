"""Networks of the spaces macro, proxyless and darts in PyTorch, from parameters by pada's names.

A network is a function of images that returns logits and those of its auxiliary head or None; `Weights` hands out
parameters and remembers which were used. The search form has batch norms without scale and shift, but for the stem of
darts; the final form has them everywhere.
"""
import torch
import torch.nn.functional as F

from random_paths import OPS


class Weights:
    def __init__(self, arrays, dtype):
        self.tensors = {name: torch.from_numpy(array).to(dtype).requires_grad_() for name, array in arrays.items()}
        self.used = set()
        self.epsilon = 1e-5  # of batch norms

    def get(self, name):
        self.used.add(name)
        return self.tensors[name]

    def conv(self, x, name, stride=1, pad=0, groups=1, dilation=1):
        return F.conv2d(x, self.get(name + ".weight"), None, stride, pad, dilation, groups)

    def norm(self, x, name):
        affine = name + ".weight" in self.tensors
        scale, shift = (self.get(name + ".weight"), self.get(name + ".bias")) if affine else (None, None)
        return F.batch_norm(x, None, None, scale, shift, training=True, eps=self.epsilon)

    def linear(self, x, name):
        return F.linear(x, self.get(name + ".weight"), self.get(name + ".bias"))

    def head(self, x, name):
        return self.linear(x.mean((2, 3)), name)


def squeeze_excite(w, x, name):
    s = x.mean((2, 3), keepdim=True)
    s = F.relu(w.conv(s, name + "reduce") + w.get(name + "reduce.bias").view(1, -1, 1, 1))
    return x * torch.sigmoid(w.conv(s, name + "expand") + w.get(name + "expand.bias").view(1, -1, 1, 1))


def mobile(w, x, name, modules, kernel, expand, stride, act, residual):
    """The inverted bottleneck; modules are (conv, norm) of its three layers."""
    (wide, wide_norm), (deep, deep_norm), (narrow, narrow_norm) = modules
    y, channels = x, x.shape[1] * expand
    if expand > 1:
        y = act(w.norm(w.conv(y, name + wide), name + wide_norm))
    y = act(w.norm(w.conv(y, name + deep, stride, kernel // 2, channels), name + deep_norm))
    if name + "depth_conv.se.fc.reduce.weight" in w.tensors:
        y = squeeze_excite(w, y, name + "depth_conv.se.fc.")
    y = w.norm(w.conv(y, name + narrow), name + narrow_norm)
    return x + y if residual else y


# ---- macro ----

def macro(w, images, code, final, _):
    modules = [("conv.0", "conv.1"), ("conv.3", "conv.4"), ("conv.6", "conv.7")]
    x = F.relu(w.norm(w.conv(images, "stem.0", pad=1), "stem.1"))
    for layer, choice in enumerate(map(int, code)):
        name = f"features.{layer}." if final else f"features.{layer}.{choice}."
        first = layer in (0, 2, 5)
        if choice:
            x = mobile(w, x, name, modules, 3 if choice == 1 else 5, 3 * choice, 2 if first else 1, F.relu, not first)
        elif first:
            x = w.norm(w.conv(x, name + "downsample.0", 2), name + "downsample.1")
    return w.head(F.relu(w.norm(w.conv(x, "out.0"), "out.1")), "classifier"), None


# ---- proxyless ----

def proxyless(w, images, genes, final, _):
    w.epsilon = 1e-3
    modules = [(f"{part}.conv", f"{part}.bn") for part in ("inverted_bottleneck", "depth_conv", "point_linear")]
    x = F.relu6(w.norm(w.conv(images, "first_conv.conv", 2, 1), "first_conv.bn"))
    x = mobile(w, x, "blocks.0.mobile_inverted_conv.", modules, 3, 1, 1, F.relu6, False)
    strides = {0: 2, 4: 2, 8: 2, 12: 1, 16: 2, 20: 1}
    for layer, gene in enumerate(map(int, genes.split())):
        if gene == 6:
            continue
        name = f"blocks.{layer + 1}.mobile_inverted_conv." + ("" if final else f"candidate_ops.{gene}.")
        x = mobile(w, x, name, modules, 3 + gene // 2 * 2, 3 + gene % 2 * 3, strides.get(layer, 1), F.relu6,
                   layer not in strides)
    x = F.relu6(w.norm(w.conv(x, "feature_mix_layer.conv"), "feature_mix_layer.bn"))
    return w.head(x, "classifier.linear"), None


# ---- darts ----

def factorised_reduction(w, x, name):
    x = F.relu(x)
    parts = [w.conv(x, name + "conv_1", 2), w.conv(x[:, :, 1:, 1:], name + "conv_2", 2)]
    return w.norm(torch.cat(parts, 1), name + "bn")


def separable(w, x, name, first, kernel, stride, dilation):
    x = w.conv(F.relu(x), f"{name}op.{first}", stride, dilation * (kernel - 1) // 2, x.shape[1], dilation)
    return w.norm(w.conv(x, f"{name}op.{first + 1}"), f"{name}op.{first + 2}")


def darts_op(w, x, op, name, stride, final):
    kernel = 3 if op.endswith("3x3") else 5
    if op == "none":
        return x[:, :, ::stride, ::stride] * 0
    if op == "max_pool_3x3":
        y = F.max_pool2d(x, 3, stride, 1)
    elif op == "avg_pool_3x3":
        y = F.avg_pool2d(x, 3, stride, 1, count_include_pad=False)
    elif op == "skip_connect":
        return x if stride == 1 else factorised_reduction(w, x, name)
    elif op.startswith("sep"):
        return separable(w, separable(w, x, name, 1, kernel, stride, 1), name, 5, kernel, 1, 1)
    else:
        return separable(w, x, name, 1, kernel, stride, 2)
    return y if final else w.norm(y, name + "1")


def auxiliary_head(w, x, name):
    x = F.avg_pool2d(F.relu(x), 5, 3)
    x = F.relu(w.norm(w.conv(x, name + "features.2"), name + "features.3"))
    x = F.relu(w.norm(w.conv(x, name + "features.5"), name + "features.6"))
    return w.head(x, name + "classifier")


def darts(w, images, text, final, sizes):
    kinds = [[[pair.split("~") for pair in node.strip("|").split("|")] for node in cell.split("+")]
             for cell in text.split("/")]
    n = sizes["final-cells" if final else "cells"]
    before = x = w.norm(w.conv(images, "stem.0", pad=1), "stem.1")
    follows, auxiliary = False, None
    for place in range(n):
        kind = int(place in (n // 3, 2 * n // 3))
        name = f"cells.{place}."
        values = [factorised_reduction(w, before, name + "preprocess0.") if follows else
                  w.norm(w.conv(F.relu(before), name + "preprocess0.op.1"), name + "preprocess0.op.2"),
                  w.norm(w.conv(F.relu(x), name + "preprocess1.op.1"), name + "preprocess1.op.2")]
        for node, pairs in enumerate(kinds[kind]):
            terms = []
            for k, (op, number) in enumerate(pairs):
                i = int(number)
                edge = node * (node + 3) // 2 + i
                own = f"{name}_ops.{2 * node + k}." if final else f"{name}_ops.{edge}._ops.{OPS.index(op)}."
                terms.append(darts_op(w, values[i], op, own, 2 if kind and i < 2 else 1, final))
            values.append(terms[0] + terms[1])
        before, x, follows = x, torch.cat(values[2:], 1), bool(kind)
        if final and place == 2 * n // 3 and sizes.get("auxiliary", 0.4):
            auxiliary = auxiliary_head(w, x, "auxiliary_head.")
    return w.head(x, "classifier"), auxiliary


SPACES = {
    "macro": (macro, {"channels": 4, "features": 16}, 16),
    "proxyless": (proxyless, {"widths": "4,4,4,6,8,10,12,14,20", "se": 0.25}, 64),
    "darts": (darts, {"channels": 4, "cells": 5, "final-channels": 4, "final-cells": 6}, 32),
}
