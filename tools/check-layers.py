#!/usr/bin/env python3
"""Checks the rules of the source tree that a compiler does not: check-layers.py [ROOT]

  layers    an include goes down in LAYERS, never up or sideways
  backends  src/backend/NAME/ is private: its headers are read there and by .c files of src/backend only
  names     no two files under src/ have the same name
  calls     host memory, printing, exiting and the environment are left to the files of CALLS

Prints one line per violation, in the form of a compiler message, and exits with 1 if there is any.
"""
import os
import re
import sys
from collections import defaultdict

# Bottom to top. Folders of one row are siblings and must not include each other.
LAYERS = [
    ["base"],
    ["dist"],
    ["tensor"],
    ["op"],
    ["backend"],
    ["graph"],
    ["data", "space", "optim"],  # space reads graph, one row below
    ["sampler"],
    ["engine"],
    ["model"],
    ["strategy"],
    ["train"],
    ["study"],
    ["probe"],
    ["run"],
    ["report"],
    ["api"],
    ["cli"],
]
RANK = {folder: rank for rank, row in enumerate(LAYERS) for folder in row}

# Functions, and the only places under src/ that may call them (a folder ends with /).
CALLS = [
    (["malloc", "calloc", "realloc", "free", "aligned_alloc", "posix_memalign", "strdup", "strndup"],
     ["base/mem.c"], "host memory comes from base/mem.h"),
    (["printf", "fprintf", "vprintf", "vfprintf", "puts", "putchar", "perror", "exit"],
     ["cli/", "base/status.c"], "only cli prints or exits (and a failed assert)"),
    (["getenv", "secure_getenv"],
     ["base/", "cli/"], "only base and cli read the environment"),
]

SOURCES = (".c", ".h", ".cu", ".cuh", ".inc", ".def")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*["<]([^">\n]+)[">]', re.MULTILINE)
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)


def blank(text, comments_only):
    """The text with comments (and literals) replaced by blanks; line numbers stay."""

    def replace(match):
        token = match.group()
        if comments_only and token[0] in "\"'":
            return token
        return re.sub(r"[^\n]", " ", token)

    return TOKEN.sub(replace, text)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def private_backend(path):
    """"cpu" for backend/cpu/x.h, None for everything else. Paths are relative to src/."""
    parts = path.split("/")
    return parts[1] if parts[0] == "backend" and len(parts) > 2 else None


def resolve(root, source, name):
    """The included file relative to src/, or None if it is not one of ours."""
    beside = os.path.normpath(os.path.join(os.path.dirname(source), name))
    if not beside.startswith("..") and os.path.isfile(os.path.join(root, "src", beside)):
        return beside
    path = os.path.normpath(name)
    if os.path.isfile(os.path.join(root, "src", path)) or path.split("/")[0] in RANK:
        return path  # a header of a known layer counts even if it is not written yet
    return None


def include_problem(source, target):
    """Why src/SOURCE must not include src/TARGET, or None."""
    here, there = source.split("/")[0], target.split("/")[0]
    if there not in RANK or "/" not in target:
        return "is in no layer"
    backend, other = private_backend(source), private_backend(target)
    if other and here != "backend":
        return f"is private to backend/{other}"
    if other and backend and other != backend:
        return f"is private to backend/{other}: backends do not know each other"
    if other and not backend and not source.endswith(".c"):
        return f"is private to backend/{other} and would leak through this header"
    if here == there or RANK[there] < RANK[here]:
        return None
    if RANK[there] == RANK[here]:
        return f"goes sideways: {here} and {there} are siblings"
    return f"goes up: {there} is above {here}"


def check_source(root, source):
    with open(os.path.join(root, "src", source), encoding="utf-8") as file:
        text = file.read()
    name = "src/" + source
    problems = []

    if source.split("/")[0] not in RANK or "/" not in source:
        return [f"{name}:1: in no layer; LAYERS of tools/check-layers.py lists the folders of src/"]

    code = blank(text, comments_only=True)
    for match in INCLUDE.finditer(code):
        target = resolve(root, source, match.group(1))
        problem = target and include_problem(source, target)
        if problem:
            problems.append(f"{name}:{line_of(code, match.start(1))}: {target} {problem}")

    code = blank(text, comments_only=False)
    for functions, allowed, why in CALLS:
        if any(source == place or (place.endswith("/") and source.startswith(place)) for place in allowed):
            continue
        # Members (ops->free) are other functions; so are declarations of pointers, (*free)(..).
        call = re.compile(r"(?<![\w.])(?<!->)(" + "|".join(functions) + r")\s*\(")
        for match in call.finditer(code):
            problems.append(f"{name}:{line_of(code, match.start())}: {match.group(1)}() is banned here: {why}")
    return problems


def check_public(root):
    """The public headers stand on their own."""
    problems = []
    folder = os.path.join(root, "include")
    for path, _, files in sorted(os.walk(folder)):
        for file in sorted(files):
            full = os.path.join(path, file)
            with open(full, encoding="utf-8") as handle:
                code = blank(handle.read(), comments_only=True)
            for match in INCLUDE.finditer(code):
                if match.group(1).split("/")[0] in RANK:
                    where = os.path.relpath(full, root)
                    problems.append(f"{where}:{line_of(code, match.start(1))}: a public header must not include "
                                    f"{match.group(1)}")
    return problems


def check(root):
    by_name = defaultdict(list)
    sources = []
    src = os.path.join(root, "src")
    for path, _, files in os.walk(src):
        for file in files:
            relative = os.path.relpath(os.path.join(path, file), src)
            if file != "CMakeLists.txt":
                by_name[file].append(relative)
            if file.endswith(SOURCES):
                sources.append(relative)

    problems = []
    for source in sorted(sources):
        problems += check_source(root, source)
    for file, paths in sorted(by_name.items()):
        if len(paths) > 1:
            problems.append(f"src/{sorted(paths)[0]}:1: the name {file} is used more than once: "
                            + ", ".join("src/" + path for path in sorted(paths)))
    return len(sources), problems + check_public(root)


def main():
    if len(sys.argv) > 2:
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    root = sys.argv[1] if len(sys.argv) == 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    n_sources, problems = check(root)
    for problem in problems:
        print(problem)
    print(f"check-layers: {n_sources} files, {len(problems)} violations")
    if n_sources == 0:
        print(f"check-layers: nothing to check under {root}/src", file=sys.stderr)
        return 1
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
