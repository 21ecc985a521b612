"""Search spaces, and the architectures in them."""

from __future__ import annotations

import ctypes
import weakref
from ctypes import byref, c_size_t, c_void_p
from typing import Any, Iterator, NamedTuple, Optional, Sequence, Union

from . import _library
from ._library import check, lib, text
from ._tables import shown
from ._values import flag_array, flags, string, string_or_none, whole
from .errors import UsageError


class Cost(NamedTuple):
    """What a network costs in the form in which it is trained alone."""

    macs: int
    params: int


class Space:
    """A search space with the sizes of its networks; cannot be changed.

    Space("nb201", channels=16): names are in pada.spaces(), options are those of `pada train`. Classes and image size are
    those of the space, unless given; trainings take them from their images.
    """

    def __init__(self, name: str = "nb201", *, classes: Optional[int] = None, image_size: Optional[int] = None,
                 **options: Any) -> None:
        config = _library.SpaceConfig(classes=whole(0 if classes is None else classes, "classes"),
                                      image_size=whole(0 if image_size is None else image_size, "image_size"))
        config.flags = flag_array(flags(options))
        out = c_void_p()
        check(lib.pada_space_open(byref(out), string(name, "name"), byref(config)))
        self._own(out)

    def _own(self, pointer: c_void_p) -> None:
        self._pointer = pointer
        weakref.finalize(self, lib.pada_space_close, pointer).atexit = False
        self.name = text(lib.pada_space_name(pointer))
        self.classes: int = lib.pada_space_classes(pointer)
        self.image_size: int = lib.pada_space_image_size(pointer)
        buffer = ctypes.create_string_buffer(10000)
        check(lib.pada_space_options(pointer, buffer, len(buffer)))
        self.flags = tuple(text(buffer.value).split())

    @classmethod
    def _of_pointer(cls, pointer: c_void_p) -> "Space":
        space = cls.__new__(cls)
        space._own(pointer)
        return space

    # ---- what it is ----

    @property
    def slots(self) -> tuple[tuple[str, ...], ...]:
        """The names of the choices of every slot."""
        return tuple(
            tuple(text(lib.pada_space_choice_label(self._pointer, slot, choice))
                  for choice in range(lib.pada_space_n_choices(self._pointer, slot)))
            for slot in range(lib.pada_space_n_slots(self._pointer)))

    @property
    def networks(self) -> float:
        """How many there are; a rounded number where it is large."""
        return float(lib.pada_space_n_networks(self._pointer))

    @property
    def dialects(self) -> tuple[str, ...]:
        """How architectures may be written, the canonical dialect first."""
        return tuple(_list(lambda i: lib.pada_space_dialect(self._pointer, i)))

    def _key(self) -> tuple[Any, ...]:
        return self.flags, self.classes, self.image_size

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Space) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> Any:
        return _restore, self._key()

    def __repr__(self) -> str:
        return f"<pada.Space {' '.join(self.flags[1:])}, {self.classes} classes, images of {self.image_size}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{i}</td><td>{', '.join(labels)}</td></tr>" for i, labels in enumerate(self.slots))
        return (f"<p>{self.name}: {shown(self.networks)} networks, {self.classes} classes, images of "
                f"{self.image_size}</p><table><tr><th>slot</th><th>choices</th></tr>{rows}</table>")

    # ---- architectures ----

    def parse(self, architecture: str, dialect: Optional[str] = None) -> "Architecture":
        """Reads an architecture, in any dialect that is not ambiguous or in the one given."""
        path = _library.Path()
        check(lib.pada_path_parse(self._pointer, string(architecture, "architecture"),
                                  string_or_none(dialect, "dialect"), byref(path)))
        return Architecture(self, _choices(self, path))

    def random(self, seed: int = 0, index: int = 0) -> "Architecture":
        """Number `index` of the random networks of a seed, every choice equally likely."""
        path = _library.Path()
        check(lib.pada_path_draw(self._pointer, whole(seed, "seed", 64, False), whole(index, "index", 64, False),
                                 byref(path)))
        return Architecture(self, _choices(self, path))

    def sample(self, n: int, seed: int = 0) -> list["Architecture"]:
        """n different random networks, no two with the same canonical form."""
        n = whole(n, "n")
        if not 0 <= n <= self.networks:
            raise UsageError(f"{n} networks are not in 0 to {shown(self.networks)}")
        found: dict[Architecture, Architecture] = {}
        for index in range(100 * n + 1000):
            if len(found) == n:
                break
            arch = self.random(seed, index)
            found.setdefault(arch.canonical(), arch)
        if len(found) < n:
            raise UsageError(f"{n} different networks are more than a sample of space {self.name} finds")
        return list(found.values())


class Architecture:
    """One network of a space: the choice of every slot. Equal and hashed by space and choices; cannot be changed.

    str() is its text in the canonical dialect; Jupyter draws its cell.
    """

    __slots__ = ("_space", "_choices", "_path")

    def __init__(self, space: Space, choices: Sequence[int]) -> None:
        if not isinstance(space, Space):
            raise TypeError(f"space is a pada.Space, and not {type(space).__name__}")
        self._space = space
        self._choices = tuple(whole(choice, "a choice") for choice in choices)
        n = lib.pada_space_n_slots(space._pointer)
        if len(self._choices) != n:
            raise UsageError(f"{len(self._choices)} choices, and space {space.name} has {n} slots")
        for slot, choice in enumerate(self._choices):
            if not 0 <= choice < lib.pada_space_n_choices(space._pointer, slot):
                raise UsageError(f"slot {slot} of space {space.name} has no choice {choice}")
        self._path = _library.Path((ctypes.c_uint8 * _library.MAX_SLOTS)(*self._choices))

    @property
    def space(self) -> Space:
        """Where it is from."""
        return self._space

    @property
    def choices(self) -> tuple[int, ...]:
        """The number of the choice of every slot."""
        return self._choices

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of its choices."""
        return tuple(text(lib.pada_space_choice_label(self._space._pointer, slot, choice))
                     for slot, choice in enumerate(self._choices))

    def to(self, form: str) -> str:
        """Its text in a dialect of the space (Space.dialects), or a drawing: "svg", "dot" or "text"."""
        word = text(string(form, "form"))
        return self._draw(word) if word in ("svg", "dot", "text") else self._format(word)

    def canonical(self) -> "Architecture":
        """The same function with the fewest live choices: networks with equal ones are one network."""
        path = _library.Path()
        check(lib.pada_path_canonical(self._space._pointer, byref(self._path), byref(path)))
        return Architecture(self._space, _choices(self._space, path))

    @property
    def cost(self) -> Cost:
        """Multiply-adds and parameters of the network by itself, in its final size."""
        cost = _library.Cost()
        check(lib.pada_path_costs(self._space._pointer, byref(self._path), byref(cost)))
        return Cost(cost.macs, cost.params)

    def _format(self, dialect: Optional[str]) -> str:
        buffer = ctypes.create_string_buffer(10000)
        check(lib.pada_path_format(self._space._pointer, byref(self._path), string_or_none(dialect, "form"), buffer,
                                   len(buffer)))
        return text(buffer.value)

    def _draw(self, form: str) -> str:
        needed = c_size_t()
        word = string(form, "form")
        check(lib.pada_path_drawing(self._space._pointer, byref(self._path), word, None, 0, byref(needed)))
        buffer = ctypes.create_string_buffer(needed.value)
        check(lib.pada_path_drawing(self._space._pointer, byref(self._path), word, buffer, len(buffer), None))
        return text(buffer.value)

    def __str__(self) -> str:
        return self._format(None)

    def __repr__(self) -> str:
        return f"<pada.Architecture {self}>"

    def _repr_svg_(self) -> str:
        return self._draw("svg")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Architecture):
            return NotImplemented
        return self._choices == other._choices and self._space == other._space

    def __hash__(self) -> int:
        return hash((self._choices, self._space))

    def __reduce__(self) -> Any:
        return Architecture, (self._space, self._choices)


def _list(get: Any) -> Iterator[str]:
    i = 0
    while (name := get(i)) is not None:
        yield text(name)
        i += 1


def _choices(space: Space, path: _library.Path) -> list[int]:
    return list(path.choice[:lib.pada_space_n_slots(space._pointer)])


def _restore(words: Sequence[str], classes: int, image_size: int) -> Space:
    config = _library.SpaceConfig(classes=classes, image_size=image_size)
    config.flags = flag_array(words[2:])
    out = c_void_p()
    check(lib.pada_space_open(byref(out), string(words[1], "name"), byref(config)))
    return Space._of_pointer(out)


def in_space(arch: Union[Architecture, str], space: Space) -> Architecture:
    """An architecture, or its text, as one of a space."""
    if isinstance(arch, str):
        return space.parse(arch)
    if not isinstance(arch, Architecture):
        raise TypeError(f"an architecture is a pada.Architecture or its text, and not {type(arch).__name__}")
    if arch.space.name != space.name:
        raise UsageError(f"{arch} is of space {arch.space.name}, and not {space.name}")
    return arch if arch.space == space else Architecture(space, arch.choices)


def spaces() -> tuple[str, ...]:
    """The names of the search spaces that there are."""
    return tuple(_list(lib.pada_space_known))
