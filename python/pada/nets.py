"""Supernets: all networks of a space with shared weights."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Iterable, NamedTuple, Optional, Union

from . import _library, _values
from ._calls import ProgressCallback, follow
from ._handle import Handle, Resource, begin_computing
from ._library import check, lib
from ._tables import Count, Table
from .errors import UsageError
from .images import Images, handle_of
from .spaces import Architecture, Space, in_space

if TYPE_CHECKING:
    import numpy as np


class Found(NamedTuple):
    """A network and what it got."""

    arch: Architecture
    top1: float  # percent
    loss: float
    macs: int
    params: int


def net_config(backend: Optional[str], threads: Optional[int], batch_size: Optional[int]) -> _library.NetConfig:
    return _library.NetConfig(_values.string_or_none(backend, "backend"),
                              _values.whole(0 if threads is None else threads, "threads"),
                              _values.whole(0 if batch_size is None else batch_size, "batch_size"))


class Net(Resource):
    """A supernet of a space, with the weights of a file, or fresh ones of a seed.

    Several threads may use it: their calls wait for each other. Batch norm takes its statistics from batches of batch_size
    (None: 512), unless the weights bring their own. threads None: OMP_NUM_THREADS, or one per CPU; backend None: the
    fastest one here.
    """

    def __init__(self, space: Space, *, weights: Optional[_values.PathLike] = None, seed: int = 0,
                 backend: Optional[str] = None, threads: Optional[int] = None,
                 batch_size: Optional[int] = None) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space is a pada.Space, and not {type(space).__name__}")
        config = net_config(backend, threads, batch_size)
        out = c_void_p()
        begin_computing()
        check(lib.pada_net_create(byref(out), space._pointer, byref(config)))
        self._own(Handle(out, lib.pada_net_destroy, "the net"))
        self.space = space
        if weights is not None:
            self.load(weights)
        elif seed != 0:
            self.init(seed)

    def init(self, seed: int) -> None:
        """Fresh weights, the same ones as `pada init --seed`."""
        with self._handle as pointer:
            check(lib.pada_net_init(pointer, _values.whole(seed, "seed", 64, False)))

    def load(self, path: _values.PathLike) -> None:
        """Weights of a safetensors file; checkpoints of `pada train` are such files."""
        with self._handle as pointer:
            check(lib.pada_net_load(pointer, _values.string(path, "path")))

    def save(self, path: _values.PathLike) -> None:
        """Writes the weights."""
        with self._handle as pointer:
            check(lib.pada_net_save(pointer, _values.string(path, "path")))

    def evaluate(self, arch: Union[Architecture, str], images: Images, *, limit: int = 0) -> Count:
        """One network on the first `limit` images (0: all), as `pada eval` does it."""
        out = _library.Evaluation()
        path = in_space(arch, self.space)._path
        with self._handle as pointer, handle_of(images) as set_of_images:
            self._handle.keep(images._handle)
            check(lib.pada_net_evaluate(pointer, byref(path), set_of_images, _values.whole(limit, "limit"),
                                        byref(out)))
        return Count._of(out)

    def predict(self, arch: Union[Architecture, str], pixels: Any) -> "np.ndarray[Any, Any]":
        """The scores [n, classes] of one batch of pixels as Images.read gives them, at most batch_size."""
        from . import _arrays

        batch = _arrays.pixels(pixels, self.space.image_size)
        path = in_space(arch, self.space)._path
        logits = _arrays.empty(len(batch), self.space.classes)
        with self._handle as pointer:
            check(lib.pada_net_predict(pointer, byref(path), _arrays.floats(batch),
                                       _values.whole(len(batch), "the number of images"), _arrays.floats(logits)))
        return logits

    def rank(self, archs: Iterable[Union[Architecture, str]], images: Images, *, limit: int = 0,
             progress: Optional[ProgressCallback] = None) -> Table[Found]:
        """Networks, best first, as `pada rank` evaluates them: each in its canonical form, and equal forms once."""
        handle_of(images)
        networks = [in_space(arch, self.space) for arch in archs]
        if not networks:
            raise UsageError("no networks to rank")
        n = len(networks)
        paths = (_library.Path * n)(*(arch._path for arch in networks))
        found = (_library.Evaluation * n)()
        order = (c_int * n)()
        first = _values.whole(limit, "limit")
        with self._handle as pointer, images._handle as set_of_images, self._handle.followed():
            self._handle.keep(images._handle)
            follow(lambda observer: lib.pada_net_rank(pointer, paths, n, set_of_images, first, observer, found, order),
                   progress)
        rows = []
        for i in order:
            cost = networks[i].cost
            rows.append(Found(networks[i], 100.0 * found[i].top1 / found[i].n_images, found[i].loss, cost.macs,
                              cost.params))
        return Table(Found._fields, rows)

    def search(self, images: Images, *, algorithm: Optional[str] = None, top: int = 10, seed: int = 0, limit: int = 0,
               min_macs: Optional[float] = None, max_macs: Optional[float] = None,
               min_params: Optional[float] = None, max_params: Optional[float] = None,
               progress: Optional[ProgressCallback] = None, **options: Any) -> Table[Found]:
        """The best networks inside limits, at most `top`, as `pada search` finds them. Further options are those of its
        algorithm: population=50."""
        handle_of(images)
        room = _values.whole(top, "top")
        if not 1 <= room <= 1000000:
            raise UsageError(f"top {room} is not in 1 to 1000000")
        config = _library.SearchConfig(
            algorithm=_values.string_or_none(algorithm, "algorithm"), seed=_values.whole(seed, "seed", 64, False),
            limit=_values.whole(limit, "limit"), min_macs=_values.count(min_macs, "min_macs"),
            max_macs=_values.count(max_macs, "max_macs"), min_params=_values.count(min_params, "min_params"),
            max_params=_values.count(max_params, "max_params"))
        config.flags = _values.flag_array(_values.flags(options))
        found = (_library.Network * room)()
        n = c_int()
        with self._handle as pointer, images._handle as set_of_images, self._handle.followed():
            self._handle.keep(images._handle)
            follow(lambda observer: lib.pada_net_search(pointer, set_of_images, byref(config), observer, found, room,
                                                        byref(n)), progress)
        n_slots = lib.pada_space_n_slots(self.space._pointer)
        return Table(Found._fields,
                     [Found(Architecture(self.space, list(each.path.choice[:n_slots])), each.top1, each.loss,
                            each.macs, each.params) for each in found[:n.value]])

    def __repr__(self) -> str:
        return f"<pada.Net of {self.space!r}{', closed' if self.closed else ''}>"
