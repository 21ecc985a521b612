"""Arrays of numpy to and from the library. Imported where arrays are needed, so that `import pada` is quick."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from .errors import UsageError

MAX_SIDE = 1 << 30


def floats(array: "np.ndarray[Any, Any]") -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float))


def int32s(array: "np.ndarray[Any, Any]") -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))


def bytes_of(array: "np.ndarray[Any, Any]") -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


def empty(*shape: int, dtype: Any = np.float32) -> "np.ndarray[Any, Any]":
    return np.empty(shape, dtype)


def is_picture_array(value: Any) -> bool:
    """Whether it is an array, or something that says of itself that it can be one, such as an image of Pillow."""
    return isinstance(value, np.ndarray) or hasattr(value, "__array_interface__")


def pictures(value: Any) -> "np.ndarray[Any, Any]":
    """Pictures as [n, height, width, 3] bytes, contiguous; a copy where they are not."""
    if hasattr(value, "convert") and hasattr(value, "mode"):  # of Pillow: grey, transparent or with a palette, as in files
        value = value.convert("RGB")
    array = np.asarray(value)
    if array.dtype != np.uint8:
        raise TypeError(f"pictures are arrays of uint8, and not of {array.dtype}")
    if array.ndim == 3:
        array = array[np.newaxis]
    if array.ndim != 4 or array.shape[3] != 3:
        raise UsageError("pictures are [height, width, 3] or [n, height, width, 3], and not "
                         f"{list(np.shape(value))}")
    if max(array.shape) >= MAX_SIDE or min(array.shape[1:]) < 1:
        raise UsageError(f"there are no pictures in an array {list(np.shape(value))}")
    return np.ascontiguousarray(array)


def pixels(value: Any, image_size: int) -> "np.ndarray[Any, Any]":
    """Normalised images as [n, 3, size, size] float32, contiguous; a copy where they are not."""
    array = np.asarray(value)
    if not np.issubdtype(array.dtype, np.floating):
        raise TypeError(f"pixels are an array of float32, and not of {array.dtype}")
    if array.ndim != 4 or array.shape[1:] != (3, image_size, image_size):
        raise UsageError(f"pixels are [n, 3, {image_size}, {image_size}], and not {list(array.shape)}")
    return np.ascontiguousarray(array, dtype=np.float32)
