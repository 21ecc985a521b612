"""What can go wrong: one class for each status of the library, all of them pada.Error."""

from __future__ import annotations


class Error(Exception):
    """A call of pada failed; the text is the library's one line."""


class UsageError(Error, ValueError):
    """An argument or an option is wrong, or its object is closed."""


class DataError(Error):
    """A file or a data set holds something that it must not."""


class NotFound(Error, FileNotFoundError):
    """An input is missing."""


class DeviceError(Error):
    """A device, a backend or an optional library is not available."""


class Stopped(Error):
    """A long call was stopped; a training has a checkpoint, and the same call continues it."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory."""


class FileError(Error, OSError):
    """Reading or writing failed."""


class NumericError(Error, ArithmeticError):
    """NaN or infinity, where a number was needed."""


class Unsupported(Error, NotImplementedError):
    """This backend, space or build cannot do it."""


# In the order of pada_status, behind PADA_OK.
BY_STATUS = (UsageError, DataError, NotFound, DeviceError, Stopped, OutOfMemory, FileError, NumericError, Unsupported)
