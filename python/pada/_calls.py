"""Long calls: who follows them, and how exceptions and signals stop them.

A callback of C has nowhere to raise to. What a callable raises is kept, the call is asked to stop, and it is raised again
when the call has returned. Python runs its signal handlers at the first instruction of a callback, where nothing could
catch them; during a call they are therefore only noted, and run by the callback itself.
"""

from __future__ import annotations

import ctypes
import logging
import signal
import threading
from typing import Any, Callable, NamedTuple, Optional

from . import _library
from ._library import check, text
from .errors import Stopped

logger = logging.getLogger("pada")


class Progress(NamedTuple):
    """Where a long call stands. NaN: not known yet."""

    done: int  # evaluations, or steps of the epoch
    total: int  # at most
    epoch: int  # of a training, from 0
    epochs: int
    top1: float  # percent, of the best network or of the epoch so far
    loss: float
    seconds: float
    seconds_left: float


# Called now and then. False, and nothing else, stops the call, which then raises pada.Stopped.
ProgressCallback = Callable[[Progress], Any]
MessageCallback = Callable[[str], Any]


class _Signals:
    """Notes signals that Python handles, in the main thread; elsewhere none arrive."""

    def __init__(self) -> None:
        self._handlers: dict[int, Any] = {}
        self._noted: list[tuple[int, Any]] = []

    def _note(self, number: int, frame: Any) -> None:
        self._noted.append((number, frame))

    def __enter__(self) -> "_Signals":
        if threading.current_thread() is threading.main_thread():
            try:
                self._replace()
            except BaseException:  # of a handler that was still there
                self._restore()
                raise
        return self

    def _replace(self) -> None:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                try:
                    signal.signal(number, self._note)
                except (OSError, ValueError):  # not ours to handle, or in a subinterpreter
                    del self._handlers[number]

    def _restore(self) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def run(self) -> None:
        """Runs the handlers of what has arrived; they may raise."""
        while self._noted:
            number, frame = self._noted.pop(0)
            self._handlers[number](number, frame)

    def __exit__(self, *_: object) -> None:
        try:
            self._restore()
        except BaseException:  # of a handler that is back already
            self._restore()
            raise
        self.run()


class _Follower:
    def __init__(self, progress: Optional[ProgressCallback], message: Optional[MessageCallback],
                 signals: _Signals) -> None:
        self._progress = progress
        self._message = message or logger.info
        self._signals = signals
        self._stops = False
        self.error: Optional[BaseException] = None
        self.observer = _library.Observer(None, _library.PROGRESS(self._on_progress),
                                          _library.MESSAGE(self._on_message))

    def _on_progress(self, _: Any, standing: Any) -> int:
        try:
            self._signals.run()
            if self.error is None and self._progress is not None:
                s = standing.contents
                self._stops = self._progress(Progress(s.n_done, s.n_total, s.epoch, s.n_epochs, s.top1, s.loss,
                                                      s.seconds, s.seconds_left)) is False
        except BaseException as error:
            self.error = self.error or error
        return int(self._stops or self.error is not None)

    def _on_message(self, _: Any, line: Optional[bytes]) -> None:
        try:
            self._message(text(line))
        except BaseException as error:
            self.error = self.error or error


def follow(call: Callable[[Any], int], progress: Optional[ProgressCallback],
           message: Optional[MessageCallback] = None) -> None:
    """Makes a call that takes an observer; its status, or what stopped it, is raised."""
    for callback, name in ((progress, "progress"), (message, "message")):
        if callback is not None and not callable(callback):
            raise TypeError(f"{name} is a function, and not {type(callback).__name__}")
    with _Signals() as signals:
        follower = _Follower(progress, message, signals)
        status = call(ctypes.byref(follower.observer))
        try:
            check(status)
        except Stopped:
            if follower.error is None:
                raise
        if follower.error is not None:
            error, follower.error = follower.error, None
            raise error
