"""Handles of the library: each is freed once, when it is closed and nobody uses it any more."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Optional, TypeVar

from .errors import UsageError


class _Process:
    """Threads of the library do not survive a fork."""

    computed = False  # whether it has, or had, threads
    forked = False


def _after_fork() -> None:
    _Process.forked = _Process.computed


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def begin_computing() -> None:
    """To be called before the library starts threads."""
    if _Process.forked:
        raise UsageError("this process is a fork of one that was computing with pada, whose threads it does not have; "
                         "start workers by multiprocessing.get_context('spawn')")
    _Process.computed = True


class Handle:
    """A pointer of the library. `with handle as pointer` uses it; what is closed meanwhile is freed afterwards."""

    def __init__(self, pointer: Any, free: Callable[[Any], None], what: str) -> None:
        self._pointer = pointer
        self._free = free
        self._what = what
        self._lock = threading.RLock()
        self._n_users = 0
        self._kept: list[Handle] = []
        self._process = os.getpid()
        self._followed_in: set[int] = set()
        self.is_closed = False

    def __enter__(self) -> Any:
        if self._process != os.getpid():
            raise UsageError(f"{self._what} belongs to the process that this one is a fork of")
        with self._lock:
            if self.is_closed:
                raise UsageError(f"{self._what} is closed")
            if threading.get_ident() in self._followed_in:
                raise UsageError(f"{self._what} is in use by the call that this function follows")
            self._n_users += 1
        return self._pointer

    def __exit__(self, *_: object) -> None:
        self._let_go()

    def _let_go(self) -> None:
        with self._lock:
            self._n_users -= 1
        self._free_if_unused()

    def _free_if_unused(self) -> None:
        with self._lock:
            if not self.is_closed or self._n_users > 0 or self._pointer is None:
                return
            pointer, self._pointer = self._pointer, None
            kept, self._kept = self._kept, []
        if self._process == os.getpid():
            self._free(pointer)
        for other in kept:
            other._let_go()

    def close(self) -> None:
        self.is_closed = True
        self._free_if_unused()

    def keep(self, other: Handle) -> None:
        """Another one is not freed before this one."""
        with self._lock:
            if other in self._kept:
                return
            other.__enter__()
            self._kept.append(other)

    def followed(self) -> "_Followed":
        """`with handle.followed()`: a call of this thread whose observer must not use the handle."""
        return _Followed(self._followed_in)


class _Followed:
    def __init__(self, threads: set[int]) -> None:
        self._threads = threads

    def __enter__(self) -> None:
        self._threads.add(threading.get_ident())

    def __exit__(self, *_: object) -> None:
        self._threads.discard(threading.get_ident())


Self = TypeVar("Self", bound="Resource")


class Resource:
    """An object with a handle: closed by close(), by `with`, or when nobody has it any more."""

    _handle: Handle
    _finalizer: Optional["weakref.finalize[Any, Any]"] = None

    def _own(self, handle: Handle) -> None:
        self._handle = handle
        finalizer = weakref.finalize(self, handle.close)
        finalizer.atexit = False  # threads may still be using it then
        self._finalizer = finalizer

    def close(self) -> None:
        """Frees it, once calls of other threads are over. May be repeated."""
        self._handle.close()

    @property
    def closed(self) -> bool:
        return self._handle.is_closed

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise TypeError(f"{type(self).__name__} belongs to this process and cannot be pickled or copied")
