"""Trained networks."""

from __future__ import annotations

import os
from ctypes import byref, c_void_p
from typing import TYPE_CHECKING, Any, Optional

from . import _library, _values
from ._handle import Handle, Resource, begin_computing
from ._library import check, lib, text
from ._tables import Count
from .errors import UsageError
from .images import Images, class_names, handle_of
from .nets import net_config

if TYPE_CHECKING:
    import numpy as np

DEFAULT_BATCH = 64
FORMATS = {".onnx": "onnx", ".py": "torch", ".c": "c", ".safetensors": "safetensors"}


class Model(Resource):
    """A network that was trained alone: a model file of pada, or the run folder of `pada retrain`.

    Several threads may use it: their calls wait for each other. batch_size is only a matter of memory and speed.
    """

    def __init__(self, where: _values.PathLike, *, backend: Optional[str] = None, threads: Optional[int] = None,
                 batch_size: Optional[int] = None) -> None:
        config = net_config(backend, threads, batch_size)
        self._batch_size = config.batch_size or DEFAULT_BATCH
        out = c_void_p()
        begin_computing()
        check(lib.pada_model_open(byref(out), _values.string(where, "where"), byref(config)))
        self._own(Handle(out, lib.pada_model_close, "the model"))
        self.classes = class_names(lib.pada_model_classes(out), lambda i: lib.pada_model_class_name(out, i))
        self.image_size: int = lib.pada_model_image_size(out)
        self.arch = text(lib.pada_model_arch(out))
        self.space = text(lib.pada_model_space(out))

    def predict(self, pictures: Any) -> "np.ndarray[Any, Any]":
        """Probabilities of the classes, float32.

        One picture gives [classes]: the path of a file, an image of Pillow, or uint8 [height, width, 3] of any size. Several
        give [n, classes]: uint8 [n, height, width, 3], or a list of single ones. They are scaled and normalised as in the
        evaluation of the network.
        """
        from . import _arrays

        if isinstance(pictures, (str, os.PathLike)):
            return self._predict_file(pictures)
        if _arrays.is_picture_array(pictures):
            array = _arrays.pictures(pictures)
            found = self._predict_array(array)
            return found[0] if getattr(pictures, "ndim", 3) == 3 else found
        if not isinstance(pictures, (list, tuple)):
            raise TypeError("pictures are a path, an array of uint8, or a list of them, and not "
                            f"{type(pictures).__name__}")
        out = _arrays.empty(len(pictures), len(self.classes))
        for i, picture in enumerate(pictures):
            if isinstance(picture, (list, tuple)):
                raise TypeError("a list of pictures has paths and arrays, and not lists")
            one = self.predict(picture)
            if one.ndim != 1:
                raise UsageError(f"picture {i} of a list is an array [n, height, width, 3]")
            out[i] = one
        return out

    def _predict_file(self, path: Any) -> "np.ndarray[Any, Any]":
        from . import _arrays

        out = _arrays.empty(len(self.classes))
        with self._handle as pointer:
            check(lib.pada_model_predict_file(pointer, _values.string(path, "path"), _arrays.floats(out)))
        return out

    def _predict_array(self, array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        """Batch by batch, so that a signal is not kept waiting."""
        from . import _arrays

        n, height, width = array.shape[:3]
        out = _arrays.empty(n, len(self.classes))
        for first in range(0, n, self._batch_size):
            batch = array[first:first + self._batch_size]
            with self._handle as pointer:
                check(lib.pada_model_predict(pointer, _arrays.bytes_of(batch), len(batch), width, height,
                                             _arrays.floats(out[first:first + self._batch_size])))
        return out

    def top(self, picture: Any, k: int = 5) -> "list[tuple[str, float]]":
        """The k likeliest classes of one picture, and their probabilities."""
        found = self.predict(picture)
        if found.ndim != 1:
            raise UsageError("top is about one picture")
        best = found.argsort(kind="stable")[::-1][:max(_values.whole(k, "k"), 0)]
        return [(self.classes[i], float(found[i])) for i in best]

    def evaluate(self, images: Images, *, limit: int = 0) -> Count:
        """What it gets on the first `limit` images (0: all) of its classes, its size and its normalisation:
        Run.images("test") of its run folder."""
        out = _library.Evaluation()
        with self._handle as pointer, handle_of(images) as set_of_images:
            self._handle.keep(images._handle)
            check(lib.pada_model_evaluate(pointer, set_of_images, _values.whole(limit, "limit"), byref(out)))
        return Count._of(out)

    def export(self, path: _values.PathLike, format: Optional[str] = None, *, normalise: bool = False,
               keep_norms: bool = False, name: Optional[str] = None,
               weights_file: Optional[_values.PathLike] = None) -> None:
        """Writes the network for other programs: "onnx", "torch", "c" or "safetensors"; None: by the ending of the file.

        normalise: it takes pixels / 255 and normalises them itself. keep_norms: batch norms are not multiplied into the
        convolutions before them. name: of the network in C and Python. weights_file: where the weights of "c" and "torch" go.
        """
        file = _values.string(path, "path")
        if format is None:
            format = FORMATS.get(os.path.splitext(text(file))[1].lower())
            if format is None:
                raise UsageError(f"{text(file)} ends in none of {', '.join(FORMATS)}: give the format")
        config = _library.ExportConfig(int(bool(keep_norms)), int(bool(normalise)), _values.string_or_none(name, "name"),
                                       _values.string_or_none(weights_file, "weights_file"))
        with self._handle as pointer:
            check(lib.pada_model_export(pointer, _values.string(format, "format"), file, byref(config)))

    def __repr__(self) -> str:
        return (f"<pada.Model {self.space} {self.arch}, {len(self.classes)} classes, images of {self.image_size}"
                f"{', closed' if self.closed else ''}>")
