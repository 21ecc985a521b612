"""Python values as the library takes them: whole numbers that fit, strings without zeros, flags of commands."""

from __future__ import annotations

import ctypes
import operator
import os
from typing import Any, Iterable, Optional, Union

from .errors import UsageError

PathLike = Union[str, "os.PathLike[str]"]


def whole(value: Any, name: str, bits: int = 32, signed: bool = True) -> int:
    """A whole number that fits; ctypes would cut off what does not."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, and not {type(value).__name__}") from None
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if not low <= number <= high:
        raise UsageError(f"{name} {number} is not in {low} to {high}")
    return number


def count(value: Any, name: str) -> int:
    """A large number of something, also written as 1e8; None is 0, none."""
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return whole(value, name, 64)


def string(value: Any, name: str) -> bytes:
    """Text or a path, terminated by its first zero in C, so that there may be none."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name} is text or a path, and not {type(value).__name__}")
    encoded = os.fsencode(value)
    if b"\0" in encoded:
        raise UsageError(f"{name} has a zero character")
    return encoded


def string_or_none(value: Any, name: str) -> Optional[bytes]:
    return None if value is None else string(value, name)


def _word(value: Any, name: str) -> str:
    if getattr(value, "ndim", None) == 0:  # a number of numpy
        value = value.item()
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(string(value, name))
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)) and value:
        return ",".join(_word(each, name) for each in value)
    raise TypeError(f"{name} is text, a number, True, False or a list, and not {type(value).__name__}")


def flags(options: dict[str, Any]) -> list[str]:
    """learning_rate=0.1 becomes --learning-rate=0.1; True and False --name and --no-name; None is left out."""
    words = []
    for key, value in options.items():
        name = key.replace("_", "-")
        if getattr(value, "ndim", None) == 0:
            value = value.item()
        if value is True or value is False:
            words.append(f"--{'' if value else 'no-'}{name}")
        elif value is not None:
            words.append(f"--{name}={_word(value, key)}")
    return words


def flag_array(words: Iterable[str]) -> "ctypes.Array[ctypes.c_char_p]":
    """As C wants them, NULL behind the last."""
    encoded = [string(word, "an option") for word in words]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded, None)
