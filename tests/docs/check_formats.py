#!/usr/bin/env python3
"""The tables of docs/formats.md against a run folder: check_formats.py FORMATS.md RUN PADA"""
import csv
import fnmatch
import glob
import json
import os
import re
import struct
import subprocess
import sys


def table(text, title):
    """The backquoted names in the first column of the table under a heading, and the whole first columns."""
    section = re.split(r"^## ", text.split(f"\n## {title}\n", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
    cells = [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| ")]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)], cells


def header(path):
    with open(path, encoding="utf-8", newline="") as file:
        return next(csv.reader(file))


def fail(what, documented, found):
    sys.exit(f"{what}\n  only documented: {sorted(set(documented) - set(found))}\n"
             f"  only found:      {sorted(set(found) - set(documented))}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    run, pada = sys.argv[2], sys.argv[3]
    info = json.loads(subprocess.run([pada, "info", "--json"], stdout=subprocess.PIPE, check=True).stdout)

    files = [name.rstrip("/") for name in table(text, "Run folder")[0]]
    for found in os.listdir(run):
        if not any(fnmatch.fnmatch(found, name) for name in files):
            fail("Run folder", files, os.listdir(run))
    final = os.path.join(os.path.dirname(os.path.abspath(run)), "final")  # of `pada retrain`
    retrained = ["last.safetensors", "best.safetensors", "test.json", "confusion.csv"]
    for name in files:
        if name not in ("report.html", "supernets", "parts", "study") and not glob.glob(os.path.join(final if name in retrained else run, name)):
            fail("Run folder", files, os.listdir(run))
    for found in os.listdir(final):
        if not any(fnmatch.fnmatch(found, name) for name in files):
            fail("Run folder of retrain", files, os.listdir(final))
    with open(os.path.join(final, "test.json"), encoding="utf-8") as file:
        test = json.load(file)
    if table(text, "test.json")[0] != list(test) + list(test["best"]):
        fail("test.json", table(text, "test.json")[0], list(test) + list(test["best"]))

    study = os.path.join(os.path.dirname(os.path.abspath(run)), "small")  # of `pada study`
    columns = header(os.path.join(study, "study.csv"))
    if sorted(table(text, "Folder of pada study")[0]) != sorted(columns):
        fail("study.csv", table(text, "Folder of pada study")[0], columns)
    numbers = [name for name in columns if name not in ("run", "seed", "status", "weights_hash", "arch")]
    if header(os.path.join(study, "summary.csv")) != ["run"] + [n + e for n in numbers for e in ("", "_sd", "_seeds")]:
        sys.exit("summary.csv: other columns than documented")
    if header(os.path.join(study, "differences.csv")) != ["run", "against", "number", "seeds", "difference", "standard_error"]:
        sys.exit("differences.csv: other columns than documented")

    with open(os.path.join(run, "data.json"), encoding="utf-8") as file:
        card = json.load(file)
    if table(text, "data.json")[0] != list(card):
        fail("data.json", table(text, "data.json")[0], card)
    with open(os.path.join(run, "env.json"), encoding="utf-8") as file:
        env = json.load(file)
    if list(env) != ["format", "starts"] or table(text, "env.json")[0] != list(env["starts"][0]):
        fail("env.json", table(text, "env.json")[0], env["starts"][0])

    choices = info["spaces"][0]["slots"][0]
    columns = []
    for name in table(text, "metrics.csv")[0]:
        columns += [name.replace("CHOICE", choice) for choice in choices] if "CHOICE" in name else [name]
    if sorted(columns) != sorted(header(os.path.join(run, "metrics.csv"))):
        fail("metrics.csv", columns, header(os.path.join(run, "metrics.csv")))
    if table(text, "ranking.csv")[0] != header(os.path.join(run, "ranking.csv")):
        fail("ranking.csv", table(text, "ranking.csv")[0], header(os.path.join(run, "ranking.csv")))

    for name in ("search/best.csv", "search/history.csv"):
        if table(text, name)[0] != header(os.path.join(run, name)):
            fail(name, table(text, name)[0], header(os.path.join(run, name)))
    if header(os.path.join(run, "search/front.csv")) != header(os.path.join(run, "search/best.csv")):
        sys.exit("search/front.csv: other columns than best.csv")

    with open(sorted(glob.glob(os.path.join(run, "ckpt", "*.safetensors")))[-1], "rb") as file:
        tensors = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    documented = table(text, "Weights and checkpoints")[0]
    metadata = tensors.pop("__metadata__")
    patterns = [re.escape(name).replace("K", r"\d+").replace("CHOICE", r"[23]").replace("TO", r"\d").replace("FROM", r"\d")
                for name in documented if "." in name]
    for name in tensors:
        weight = name[:-len("bias")] + "weight" if name.endswith(".bias") else name
        if not name.startswith("pada/") and not any(re.fullmatch(p, weight) for p in patterns):
            sys.exit(f"checkpoint: tensor {name} is not documented")
    for pattern in patterns:
        if not any(re.fullmatch(pattern, name) for name in tensors):
            sys.exit(f"checkpoint: no tensor is called {pattern}")
    if sorted(metadata) != sorted(name for name in documented if "." not in name):
        fail("metadata", [name for name in documented if "." not in name], metadata)

    codes = [cell for cell in table(text, "Exit codes")[1] if cell.isdigit()]
    if codes != [str(code["code"]) for code in info["exit_codes"]]:
        fail("exit codes", codes, [str(code["code"]) for code in info["exit_codes"]])
    for code in info["exit_codes"]:
        if f"| {code['code']} | {code['meaning']} |" not in text:
            sys.exit(f"exit code {code['code']} means: {code['meaning']}")


if __name__ == "__main__":
    main()
