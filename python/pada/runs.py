"""Trainings, and their run folders."""

from __future__ import annotations

import csv
import ctypes
import os
from collections import namedtuple
from ctypes import byref, c_void_p
from typing import Any, Iterable, Optional, Union

from . import _values
from ._calls import MessageCallback, ProgressCallback, follow
from ._handle import begin_computing
from ._library import check, lib, text
from ._tables import Table
from ._values import PathLike
from .errors import NotFound
from .images import Images
from .models import Model
from .nets import Found, Net
from .spaces import Architecture, Space


class Run:
    """The run folder of a supernet, of pada.train or `pada train`."""

    def __init__(self, path: PathLike) -> None:
        self._path = _values.string(path, "path")
        if not os.path.isfile(os.path.join(self._path, b"config.yaml")):
            raise NotFound(f"{self.path}: no run folder, there is no config.yaml in it")

    @property
    def path(self) -> str:
        """The folder, as it was given."""
        return text(self._path)

    @property
    def space(self) -> Space:
        """The space of its supernet, with its sizes."""
        out = c_void_p()
        check(lib.pada_run_space(byref(out), self._path))
        return Space._of_pointer(out)

    @property
    def weights(self) -> str:
        """The file of its newest weights, for Net.load."""
        buffer = ctypes.create_string_buffer(len(self._path) + 1000)
        check(lib.pada_run_weights(self._path, buffer, len(buffer)))
        return text(buffer.value)

    def images(self, split: Optional[str] = None) -> Images:
        """Images of its data set, read and normalised as its own. None: those that networks are chosen on, val, or test
        where there is none."""
        return Images._of_run(self._path, split)

    def net(self, *, backend: Optional[str] = None, threads: Optional[int] = None,
            batch_size: Optional[int] = None) -> Net:
        """Its supernet with the newest weights."""
        return Net(self.space, weights=self.weights, backend=backend, threads=threads, batch_size=batch_size)

    def metrics(self) -> "Table[Any]":
        """metrics.csv: a row for every epoch so far."""
        try:
            with open(os.path.join(self._path, b"metrics.csv"), newline="", encoding="utf-8") as file:
                lines = list(csv.reader(file))
        except FileNotFoundError:
            raise NotFound(f"{self.path}: no metrics.csv") from None
        columns = lines[0] if lines else []
        row = namedtuple("Metrics", columns, rename=True)  # type: ignore[misc]
        return Table(columns, [row(*map(_field, columns, line)) for line in lines[1:] if len(line) == len(columns)])

    def rank(self, archs: Optional[Iterable[Union[Architecture, str]]] = None, *, networks: int = 200, seed: int = 0,
             split: Optional[str] = None, limit: int = 0, backend: Optional[str] = None,
             threads: Optional[int] = None, batch_size: Optional[int] = None,
             progress: Optional[ProgressCallback] = None) -> "Table[Found]":
        """Networks of its supernet, best first: those given, or so many random ones. Writes nothing; `pada rank` keeps
        what it evaluated in the run."""
        with self.net(backend=backend, threads=threads, batch_size=batch_size) as net, self.images(split) as images:
            chosen = net.space.sample(networks, seed) if archs is None else archs
            return net.rank(chosen, images, limit=limit, progress=progress)

    def search(self, *, split: Optional[str] = None, backend: Optional[str] = None, threads: Optional[int] = None,
               batch_size: Optional[int] = None, progress: Optional[ProgressCallback] = None,
               **options: Any) -> "Table[Found]":
        """The best networks of its supernet inside limits, best first; options are those of Net.search."""
        with self.net(backend=backend, threads=threads, batch_size=batch_size) as net, self.images(split) as images:
            return net.search(images, progress=progress, **options)

    def retrain(self, arch: Union[Architecture, str, None] = None, *, out: PathLike,
                progress: Optional[ProgressCallback] = None, message: Optional[MessageCallback] = None,
                **options: Any) -> Model:
        """Trains one of its networks alone, on its images; None: the best one that `pada rank` or `pada search` found."""
        words = ["--from=" + self.path] + ([] if arch is None else [f"--arch={arch}"])
        return _retrain(out, words, options, progress, message)

    def __fspath__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"<pada.Run {self.path}>"


def train(data: PathLike = "builtin", *, out: PathLike, method: str = "pada", space: Union[Space, str, None] = None,
          progress: Optional[ProgressCallback] = None, message: Optional[MessageCallback] = None,
          **options: Any) -> Run:
    """Trains a supernet in the run folder `out`, which is made or, if it is there, continued.

    Options are those of `pada train`: learning_rate=0.1 is --learning-rate 0.1. progress is called ten times a second with
    a pada.Progress; False stops the training, as does whatever it raises, and Ctrl-C: there is a checkpoint, and the same
    call continues it. Lines for people go to `message`, or to the logger "pada".
    """
    words = [f"--data={text(_values.string(data, 'data'))}"] + _values.flags({"method": method}) + _space_flags(space)
    flags = _values.flag_array(words + _values.flags(options))
    run = _values.string(out, "out")
    begin_computing()
    follow(lambda observer: lib.pada_run_train(run, flags, observer), progress, message)
    return Run(out)


def retrain(network: Union[Architecture, Run], data: Optional[PathLike] = None, *, out: PathLike,
            progress: Optional[ProgressCallback] = None, message: Optional[MessageCallback] = None,
            **options: Any) -> Model:
    """Trains one network alone in the run folder `out`, by the recipe of its space, and opens it.

    An architecture has the sizes of its space, unless options say otherwise, and needs `data`; the best network of a run
    has the run's. Otherwise as pada.train, with the options of `pada retrain`.
    """
    if data is not None:
        options["data"] = data
    if isinstance(network, Run):
        return network.retrain(out=out, progress=progress, message=message, **options)
    if not isinstance(network, Architecture):
        raise TypeError(f"retrain takes a pada.Architecture or a pada.Run, and not {type(network).__name__}")
    return _retrain(out, [*network.space.flags, f"--arch={network}"], options, progress, message)


def _retrain(out: PathLike, words: list[str], options: dict[str, Any], progress: Optional[ProgressCallback],
             message: Optional[MessageCallback]) -> Model:
    flags = _values.flag_array(words + _values.flags(options))
    run = _values.string(out, "out")
    begin_computing()
    follow(lambda observer: lib.pada_run_retrain(run, flags, observer), progress, message)
    return Model(out)


def _space_flags(space: Union[Space, str, None]) -> list[str]:
    if space is None or isinstance(space, Space):
        return list(space.flags) if space else []
    return [f"--space={text(_values.string(space, 'space'))}"]


def _field(column: str, value: str) -> Any:
    """A number where the column has numbers; hashes of digits have none."""
    if column not in ("weights_hash", "warnings"):
        for kind in (int, float):
            try:
                return kind(value)
            except ValueError:
                continue
    return value or None
