"""libpada by ctypes: where it is, its structures, its functions (include/pada.h), and failures as exceptions.

Foreign calls give the interpreter's lock back, so that other threads run meanwhile. tests/test_declarations.py holds
everything here against the header.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t,
                    c_uint8, c_uint64, c_void_p)
from pathlib import Path as FilePath
from typing import Any, Optional

from .errors import BY_STATUS, Error

MAX_SLOTS = 64


class Path(Structure):
    _fields_ = [("choice", c_uint8 * MAX_SLOTS)]


class SpaceConfig(Structure):
    _fields_ = [("channels", c_int), ("cells", c_int), ("classes", c_int), ("image_size", c_int), ("blocks", c_int),
                ("flags", POINTER(c_char_p))]


class Cost(Structure):
    _fields_ = [("macs", c_int64), ("params", c_int64)]


class Standing(Structure):
    _fields_ = [("n_done", c_int64), ("n_total", c_int64), ("epoch", c_int), ("n_epochs", c_int), ("top1", c_double),
                ("loss", c_double), ("seconds", c_double), ("seconds_left", c_double)]


PROGRESS = CFUNCTYPE(c_int, c_void_p, POINTER(Standing))
MESSAGE = CFUNCTYPE(None, c_void_p, c_char_p)


class Observer(Structure):
    _fields_ = [("user", c_void_p), ("progress", PROGRESS), ("message", MESSAGE)]


class NetConfig(Structure):
    _fields_ = [("backend", c_char_p), ("threads", c_int), ("batch_size", c_int)]


class Evaluation(Structure):
    _fields_ = [("n_images", c_int), ("top1", c_int), ("top5", c_int), ("loss", c_double)]


class SearchConfig(Structure):
    _fields_ = [("algorithm", c_char_p), ("seed", c_uint64), ("limit", c_int), ("min_macs", c_int64),
                ("max_macs", c_int64), ("min_params", c_int64), ("max_params", c_int64),
                ("flags", POINTER(c_char_p))]


class Network(Structure):
    _fields_ = [("path", Path), ("top1", c_double), ("loss", c_double), ("macs", c_int64), ("params", c_int64)]


class ExportConfig(Structure):
    _fields_ = [("keep_norms", c_int), ("normalise", c_int), ("name", c_char_p), ("weights_file", c_char_p)]


# Structures by their names in the header, for the test.
STRUCTURES = {
    "pada_path": Path, "pada_space_config": SpaceConfig, "pada_cost": Cost, "pada_standing": Standing,
    "pada_observer": Observer, "pada_net_config": NetConfig, "pada_evaluation": Evaluation,
    "pada_search_config": SearchConfig, "pada_network": Network, "pada_export_config": ExportConfig,
}

# pada_status, the only thing that is an int in this table and no number.
STATUS: Any = c_int
HANDLE = c_void_p
OUT = POINTER(c_void_p)
FLAGS = POINTER(c_char_p)
FLOATS = POINTER(c_float)

# Results and arguments of every function of the header.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "pada_message": (c_char_p, []),
    "pada_version": (c_char_p, []),
    "pada_space_open": (STATUS, [OUT, c_char_p, POINTER(SpaceConfig)]),
    "pada_space_close": (None, [HANDLE]),
    "pada_space_known": (c_char_p, [c_int]),
    "pada_space_name": (c_char_p, [HANDLE]),
    "pada_space_classes": (c_int, [HANDLE]),
    "pada_space_image_size": (c_int, [HANDLE]),
    "pada_space_options": (STATUS, [HANDLE, c_char_p, c_size_t]),
    "pada_space_n_slots": (c_int, [HANDLE]),
    "pada_space_n_choices": (c_int, [HANDLE, c_int]),
    "pada_space_choice_label": (c_char_p, [HANDLE, c_int, c_int]),
    "pada_space_n_networks": (c_double, [HANDLE]),
    "pada_space_dialect": (c_char_p, [HANDLE, c_int]),
    "pada_path_parse": (STATUS, [HANDLE, c_char_p, c_char_p, POINTER(Path)]),
    "pada_path_format": (STATUS, [HANDLE, POINTER(Path), c_char_p, c_char_p, c_size_t]),
    "pada_path_draw": (STATUS, [HANDLE, c_uint64, c_uint64, POINTER(Path)]),
    "pada_path_canonical": (STATUS, [HANDLE, POINTER(Path), POINTER(Path)]),
    "pada_path_drawing": (STATUS, [HANDLE, POINTER(Path), c_char_p, c_char_p, c_size_t, POINTER(c_size_t)]),
    "pada_path_costs": (STATUS, [HANDLE, POINTER(Path), POINTER(Cost)]),
    "pada_images_open": (STATUS, [OUT, c_char_p, c_int, c_int]),
    "pada_images_close": (None, [HANDLE]),
    "pada_images_count": (c_int, [HANDLE]),
    "pada_images_classes": (c_int, [HANDLE]),
    "pada_images_size": (c_int, [HANDLE]),
    "pada_images_class_name": (c_char_p, [HANDLE, c_int]),
    "pada_images_read": (STATUS, [HANDLE, c_int, c_int, FLOATS, POINTER(c_int32)]),
    "pada_net_create": (STATUS, [OUT, HANDLE, POINTER(NetConfig)]),
    "pada_net_destroy": (None, [HANDLE]),
    "pada_net_init": (STATUS, [HANDLE, c_uint64]),
    "pada_net_load": (STATUS, [HANDLE, c_char_p]),
    "pada_net_save": (STATUS, [HANDLE, c_char_p]),
    "pada_net_evaluate": (STATUS, [HANDLE, POINTER(Path), HANDLE, c_int, POINTER(Evaluation)]),
    "pada_net_predict": (STATUS, [HANDLE, POINTER(Path), FLOATS, c_int, FLOATS]),
    "pada_net_rank": (STATUS, [HANDLE, POINTER(Path), c_int, HANDLE, c_int, POINTER(Observer), POINTER(Evaluation),
                               POINTER(c_int)]),
    "pada_net_search": (STATUS, [HANDLE, HANDLE, POINTER(SearchConfig), POINTER(Observer), POINTER(Network), c_int,
                                 POINTER(c_int)]),
    "pada_model_open": (STATUS, [OUT, c_char_p, POINTER(NetConfig)]),
    "pada_model_close": (None, [HANDLE]),
    "pada_model_classes": (c_int, [HANDLE]),
    "pada_model_class_name": (c_char_p, [HANDLE, c_int]),
    "pada_model_image_size": (c_int, [HANDLE]),
    "pada_model_arch": (c_char_p, [HANDLE]),
    "pada_model_space": (c_char_p, [HANDLE]),
    "pada_model_predict": (STATUS, [HANDLE, POINTER(c_uint8), c_int, c_int, c_int, FLOATS]),
    "pada_model_predict_file": (STATUS, [HANDLE, c_char_p, FLOATS]),
    "pada_model_evaluate": (STATUS, [HANDLE, HANDLE, c_int, POINTER(Evaluation)]),
    "pada_model_export": (STATUS, [HANDLE, c_char_p, c_char_p, POINTER(ExportConfig)]),
    "pada_run_train": (STATUS, [c_char_p, FLAGS, POINTER(Observer)]),
    "pada_run_retrain": (STATUS, [c_char_p, FLAGS, POINTER(Observer)]),
    "pada_run_weights": (STATUS, [c_char_p, c_char_p, c_size_t]),
    "pada_run_space": (STATUS, [OUT, c_char_p]),
    "pada_run_images": (STATUS, [OUT, c_char_p, POINTER(c_int)]),
}

PACKAGES = "libjansson4 libyaml-0-2 libxxhash0 libpng16-16 libjpeg62-turbo (or libjpeg-turbo8) libwebp7 libgomp1"


def _load() -> ctypes.CDLL:
    """The library of PADA_LIBRARY, or the one in the package."""
    path = os.environ.get("PADA_LIBRARY") or str(FilePath(__file__).parent / "libpada.so")
    try:
        library = ctypes.CDLL(path)
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
    except AttributeError as error:
        raise ImportError(f"{path}: another version than that of the Python package ({error})") from None
    except OSError as error:
        raise ImportError(f"{path} cannot be loaded ({error}). It needs these packages of Debian or Ubuntu, or their "
                          f"equivalents: {PACKAGES}") from None
    return library


lib = _load()


def text(value: Optional[bytes]) -> str:
    """A string of the library."""
    return os.fsdecode(value or b"")


def check(status: int) -> None:
    """Raises what a status means. In the thread of the call, whose message it takes."""
    if status != 0:
        kind = BY_STATUS[status - 1] if 0 < status <= len(BY_STATUS) else Error
        raise kind(text(lib.pada_message()))
