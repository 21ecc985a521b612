"""Random networks of the spaces macro, proxyless and darts, as pada reads them. Needs no PyTorch."""
import random

OPS = ["none", "max_pool_3x3", "avg_pool_3x3", "skip_connect", "sep_conv_3x3", "sep_conv_5x5", "dil_conv_3x3",
       "dil_conv_5x5"]


def macro(rng):
    return "".join(str(rng.randrange(3)) for _ in range(8))


def proxyless(rng):
    return " ".join(str(rng.randrange(6 if layer % 4 == 0 else 7)) for layer in range(21))


def darts(rng):
    def cell():
        nodes = [sorted(rng.sample(range(node + 2), 2)) for node in range(4)]
        return "+".join("|" + "".join(f"{rng.choice(OPS)}~{i}|" for i in inputs) for inputs in nodes)
    return f"{cell()}/{cell()}"


def random_paths(space, n, seed):
    rng = random.Random(seed)
    return [{"macro": macro, "proxyless": proxyless, "darts": darts}[space](rng) for _ in range(n)]
