"""pada: one-shot neural architecture search.

    import pada

    run = pada.train("photos", out="runs/a", epochs=100)      # a supernet
    best = run.search(max_macs=50e6)[0].arch                  # the best network in it
    model = run.retrain(best, out="runs/final")               # that network alone
    model.predict("photo.jpg")                                # probabilities of the classes
    model.export("photos.onnx")

Objects are described in docs/python.md of the sources; help() has the rest.
"""

from ._calls import Progress
from ._library import lib as _lib, text as _text
from ._tables import Count, Table
from .errors import (DataError, DeviceError, Error, FileError, NotFound, NumericError, OutOfMemory, Stopped,
                     Unsupported, UsageError)
from .images import Images
from .models import Model
from .nets import Found, Net
from .runs import Run, retrain, train
from .spaces import Architecture, Cost, Space, spaces

__version__ = _text(_lib.pada_version())

__all__ = [
    "Architecture", "Cost", "Count", "DataError", "DeviceError", "Error", "FileError", "Found", "Images", "Model",
    "Net", "NotFound", "NumericError", "OutOfMemory", "Progress", "Run", "Space", "Stopped", "Table", "Unsupported",
    "UsageError", "retrain", "spaces", "train",
]
