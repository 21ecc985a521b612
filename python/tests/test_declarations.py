"""The declarations of _library.py against include/pada.h: every function, its arguments, every structure."""

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pada import _calls, _library, errors

SOURCE = Path(os.environ.get("PADA_SOURCE", Path(__file__).parents[2]))
HEADER = SOURCE / "include" / "pada.h"

pytestmark = pytest.mark.skipif(not HEADER.exists(), reason="no include/pada.h here")

# What the types of the header are in Python. Handles are pointers without a type.
SCALARS = {"int": ctypes.c_int, "size_t": ctypes.c_size_t, "uint64_t": ctypes.c_uint64, "double": ctypes.c_double,
           "pada_status": _library.STATUS, "pada_split": ctypes.c_int, "void": None}
POINTERS = {"char": ctypes.c_char_p, "float": ctypes.POINTER(ctypes.c_float),
            "int": ctypes.POINTER(ctypes.c_int), "int32_t": ctypes.POINTER(ctypes.c_int32),
            "uint8_t": ctypes.POINTER(ctypes.c_uint8), "size_t": ctypes.POINTER(ctypes.c_size_t),
            "pada_split": ctypes.POINTER(ctypes.c_int),
            **{name: ctypes.POINTER(kind) for name, kind in _library.STRUCTURES.items()}}


def header():
    return re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.S)


def python_type(declared):
    """That of "const char *const *flags" is POINTER(c_char_p)."""
    words = re.findall(r"\w+", declared.replace("const", " "))
    stars = declared.count("*")
    name = words[0]
    if stars == 0:
        return SCALARS[name]
    if stars == 2:
        return ctypes.POINTER(ctypes.c_char_p if name == "char" else ctypes.c_void_p)
    return POINTERS[name] if name in POINTERS else ctypes.c_void_p


def functions():
    found = {}
    for result, name, arguments in re.findall(r"^PADA_API\s+([^;(]*?)\b(pada_\w+)\(([^;]*)\);", header(), re.M):
        arguments = [] if arguments.strip() == "void" else arguments.split(",")
        found[name] = (python_type(result), [python_type(argument) for argument in arguments])
    return found


def test_every_function_is_declared_as_in_the_header():
    expected = functions()
    assert len(expected) > 40
    assert _library.FUNCTIONS.keys() == expected.keys()
    for name, (result, arguments) in expected.items():
        assert _library.FUNCTIONS[name] == (result, arguments), name


def test_every_structure_of_the_header_is_there():
    names = set(re.findall(r"^typedef struct (\w+) \{", header(), re.M))
    assert names == _library.STRUCTURES.keys()


def test_structures_are_laid_out_as_in_c(tmp_path):
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler")
    lines = ["#include <pada.h>", "#include <stdio.h>", "int main(void) {"]
    expected = []
    for name, kind in _library.STRUCTURES.items():
        lines.append(f'printf("{name} %zu\\n", sizeof({name}));')
        expected.append(f"{name} {ctypes.sizeof(kind)}")
        for field, *_ in kind._fields_:
            lines.append(f'printf("{name}.{field} %zu %zu\\n", offsetof({name}, {field}), sizeof((({name} *)0)->{field}));')
            expected.append(f"{name}.{field} {getattr(kind, field).offset} {getattr(kind, field).size}")
    (tmp_path / "dump.c").write_text("\n".join([*lines, "return 0; }"]))
    subprocess.run([compiler, f"-I{HEADER.parent}", "dump.c", "-o", "dump"], cwd=tmp_path, check=True)
    assert subprocess.run(["./dump"], cwd=tmp_path, check=True, capture_output=True,
                          text=True).stdout.splitlines() == expected


def test_every_status_has_its_exception():
    body = re.search(r"typedef enum pada_status \{(.*?)\}", header(), re.S)[1]
    names = re.findall(r"PADA_\w+", body)
    assert names[0] == "PADA_OK"
    assert len(names) == 1 + len(errors.BY_STATUS)
    of = dict(zip(names[1:], errors.BY_STATUS))
    assert of["PADA_EINVAL"] is errors.UsageError
    assert of["PADA_ENOENT"] is errors.NotFound
    assert of["PADA_ESTOPPED"] is errors.Stopped
    assert of["PADA_EUNSUPPORTED"] is errors.Unsupported


def test_splits_and_slots_are_those_of_the_header():
    from pada.images import SPLITS

    body = re.search(r"typedef enum pada_split \{(.*?)\}", header(), re.S)[1]
    assert [name.lower() for name in re.findall(r"PADA_SPLIT_(\w+)", body)] == list(SPLITS)
    assert int(re.search(r"#define PADA_MAX_SLOTS (\d+)", header())[1]) == _library.MAX_SLOTS
    assert len(_calls.Progress._fields) == len(_library.Standing._fields_)
