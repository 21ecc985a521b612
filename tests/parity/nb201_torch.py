"""The NAS-Bench-201 supernet in PyTorch: the other side of pada's parity tests and benchmarks.

Parameter names are those of pada's safetensors files, so `load_state_dict` accepts them as they are.
Batch norm has no affine parameters and no running statistics; hence the convolutions before it have biases.
"""
import torch
import torch.nn as nn

OPS = ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
EDGES = [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]  # (to, from), in path order


def batch_norm(channels):
    return nn.BatchNorm2d(channels, affine=False, track_running_stats=False)


class ReLUConvBN(nn.Module):
    def __init__(self, c_in, c_out, kernel, stride=1):
        super().__init__()
        self.op = nn.Sequential(
            nn.ReLU(inplace=False),
            nn.Conv2d(c_in, c_out, kernel, stride, padding=kernel // 2, bias=True),
            batch_norm(c_out),
        )

    def forward(self, x):
        return self.op(x)


class Zero(nn.Module):
    def forward(self, x):
        return x.mul(0.0)


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = nn.AvgPool2d(3, stride=1, padding=1, count_include_pad=False)

    def forward(self, x):
        return self.op(x)


class Cell(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.edges = nn.ModuleDict()
        for i, j in EDGES:
            self.edges["%d<-%d" % (i, j)] = nn.ModuleList(
                [Zero(), nn.Identity(), ReLUConvBN(c, c, 1), ReLUConvBN(c, c, 3), Pool()]
            )

    def forward(self, x, path):
        nodes = [x]
        for i in range(1, 4):
            nodes.append(
                sum(
                    self.edges["%d<-%d" % (i, j)][path[k]](nodes[j])
                    for k, (to, j) in enumerate(EDGES)
                    if to == i
                )
            )
        return nodes[3]


class Reduce(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.conv_a = ReLUConvBN(c_in, c_out, 3, 2)
        self.conv_b = ReLUConvBN(c_out, c_out, 3)
        self.downsample = nn.Sequential(
            nn.AvgPool2d(2, stride=2), nn.Conv2d(c_in, c_out, 1, bias=False)
        )

    def forward(self, x, path):
        return self.downsample(x) + self.conv_b(self.conv_a(x))


class Supernet(nn.Module):
    def __init__(self, channels=16, cells=5, classes=10):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels, 3, padding=1, bias=False), batch_norm(channels)
        )
        self.cells = nn.ModuleList()
        for stage in range(3):
            c = channels << stage
            if stage:
                self.cells.append(Reduce(c // 2, c))
            self.cells.extend(Cell(c) for _ in range(cells))
        self.lastact = nn.Sequential(batch_norm(4 * channels), nn.ReLU(inplace=True))
        self.classifier = nn.Linear(4 * channels, classes)

    def forward(self, x, path):
        x = self.stem(x)
        for cell in self.cells:
            x = cell(x, path)
        return self.classifier(self.lastact(x).mean((2, 3)))


def live_edges(path):
    """Which edges of a cell carry something from its input to its output."""
    reached, used = {0}, {3}
    for k, (to, source) in enumerate(EDGES):
        if path[k] != 0 and source in reached:
            reached.add(to)
    for k, (to, source) in reversed(list(enumerate(EDGES))):
        if path[k] != 0 and to in used:
            used.add(source)
    return [path[k] != 0 and source in reached and to in used for k, (to, source) in enumerate(EDGES)]


def without_dead_edges(path):
    """The same function with `none` on every dead edge."""
    return tuple(op if live else 0 for op, live in zip(path, live_edges(path)))


def random_paths(n, seed=0):
    """The n paths every benchmark uses: six randrange(5) each."""
    import random

    rng = random.Random(seed)
    return [tuple(rng.randrange(5) for _ in range(6)) for _ in range(n)]
