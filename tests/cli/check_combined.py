#!/usr/bin/env python3
"""A ranking by several runs and a prior, computed again from the rankings of the runs.

check_combined.py COMBINED.csv UNIT PRIOR WEIGHT RUN.csv..: PRIOR is a column of the rankings, or - for none.
"""
import csv
import statistics
import sys


def ranks(values):
    """1 for the lowest; equal ones share their mean rank."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    for place, i in enumerate(order):
        same = [k for k, j in enumerate(order) if values[j] == values[i]]
        found[i] = 1 + sum(same) / len(same)
        assert place in same
    return found


def shares(values):
    return [(rank - 0.5) / len(values) for rank in ranks(values)]


def calibrated(values):
    mean, deviation = statistics.fmean(values), statistics.pstdev(values)
    return [(v - mean) / deviation for v in values]


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return {row["arch"]: row for row in csv.DictReader(file)}


def main():
    combined, unit, prior, weight, *runs = sys.argv[1:]
    table = read(combined)
    archs = list(table)
    tables = [read(path) for path in runs]
    to_unit = {"accuracy": list, "rank": shares, "calibrated": calibrated}[unit]
    said = [[float(t[arch]["score"]) for arch in archs] for t in tables]
    units = [to_unit(values) for values in said]
    scores = means = [statistics.fmean(values) for values in zip(*units)]
    if prior != "-":
        # rounded, since the sum of equal shares may differ in its last bit
        of_mean = shares([round(mean, 12) for mean in means])
        of_prior = shares([float(tables[0][arch][prior]) for arch in archs])
        scores = [a + float(weight) * b for a, b in zip(of_mean, of_prior)]
    columns = [name for name in table[archs[0]] if name.startswith("run")]
    assert len(columns) == len(runs), columns
    for i, arch in enumerate(archs):
        row = table[arch]
        assert abs(float(row["score"]) - scores[i]) < 1e-9, (arch, row["score"], scores[i])
        assert abs(float(row["mean"]) - means[i]) < 1e-9, (arch, row["mean"], means[i])
        for name, values in zip(columns, said):
            assert float(row[name]) == values[i], (arch, name)
        if prior != "-":
            assert float(row["prior"]) == float(row[prior]), arch
    best = [float(row["score"]) for row in table.values() if not row["same_as"]]
    assert best == sorted(best, reverse=True)


main()
