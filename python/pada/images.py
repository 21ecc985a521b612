"""Images of data sets."""

from __future__ import annotations

from ctypes import byref, c_int, c_void_p
from typing import TYPE_CHECKING, Any, Optional

from . import _values
from ._handle import Handle, Resource, begin_computing
from ._library import check, lib, text
from .errors import UsageError

if TYPE_CHECKING:
    import numpy as np

SPLITS = ("train", "test", "val")  # in the order of pada_split


def split_number(split: str) -> int:
    if not isinstance(split, str):
        raise TypeError(f"split is text, and not {type(split).__name__}")
    if split not in SPLITS:
        raise UsageError(f"split {split!r} is neither train, test nor val")
    return SPLITS.index(split)


class Images(Resource):
    """A split of a data set: "builtin", or a folder as `pada data info` takes it.

    image_size scales folders of images; None: the data set's own. What uses the images keeps them open.
    """

    def __init__(self, where: _values.PathLike = "builtin", split: str = "test", *,
                 image_size: Optional[int] = None) -> None:
        size = _values.whole(0 if image_size is None else image_size, "image_size")
        out = c_void_p()
        begin_computing()
        check(lib.pada_images_open(byref(out), _values.string(where, "where"), split_number(split), size))
        self._own(Handle(out, lib.pada_images_close, "the images"))

    @classmethod
    def _of_run(cls, run: bytes, split: Optional[str]) -> "Images":
        images = cls.__new__(cls)
        wanted = None if split is None else byref(c_int(split_number(split)))
        out = c_void_p()
        begin_computing()
        check(lib.pada_run_images(byref(out), run, wanted))
        images._own(Handle(out, lib.pada_images_close, "the images"))
        return images

    def __len__(self) -> int:
        with self._handle as pointer:
            return int(lib.pada_images_count(pointer))

    @property
    def image_size(self) -> int:
        """Rows and columns of an image."""
        with self._handle as pointer:
            return int(lib.pada_images_size(pointer))

    @property
    def classes(self) -> tuple[str, ...]:
        """The names of the classes; their numbers, where they have no names."""
        with self._handle as pointer:
            return class_names(lib.pada_images_classes(pointer), lambda i: lib.pada_images_class_name(pointer, i))

    def read(self, first: int = 0, n: Optional[int] = None) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        """Images first .. first + n - 1 (None: to the last) as a network reads them, normalised: float32
        [n, 3, size, size], and their labels, int32 [n]."""
        from . import _arrays

        with self._handle as pointer:
            total = lib.pada_images_count(pointer)
            first = _values.whole(first, "first")
            n = total - first if n is None else _values.whole(n, "n")
            if first < 0 or n < 0 or first + n > total:
                raise UsageError(f"images {first} to {first + n - 1} are not among the {total}")
            size = lib.pada_images_size(pointer)
            out = _arrays.empty(n, 3, size, size)
            labels = _arrays.empty(n, dtype="int32")
            check(lib.pada_images_read(pointer, first, n, _arrays.floats(out), _arrays.int32s(labels)))
        return out, labels

    def __repr__(self) -> str:
        if self.closed:
            return "<pada.Images, closed>"
        return f"<pada.Images, {len(self)} of {self.image_size} x {self.image_size}, {len(self.classes)} classes>"


def class_names(n: int, get: Any) -> tuple[str, ...]:
    names = [get(i) for i in range(n)]
    return tuple(str(i) if name is None else text(name) for i, name in enumerate(names))


def handle_of(images: Images) -> Handle:
    if not isinstance(images, Images):
        raise TypeError(f"images are pada.Images, and not {type(images).__name__}")
    return images._handle
