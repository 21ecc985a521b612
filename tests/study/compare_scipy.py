#!/usr/bin/env python3
"""The metrics of `pada rank` against scipy and numpy, on random scores with many ties.

compare_scipy.py PADA: exit status 0 all equal, 1 something is not, 77 no scipy here (PADA_TORCH_PYTHON names a Python
that has it).
"""
import itertools
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from scipy import stats
except ImportError as error:
    python = os.environ.pop("PADA_TORCH_PYTHON", None)
    if python:
        os.execvp(python, [python] + sys.argv)
    print(f"skipped: {error}; PADA_TORCH_PYTHON can name a Python with numpy and scipy")
    sys.exit(77)

OPS = ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
TOLERANCE = 1e-12


def all_archs():
    for a in itertools.product(OPS, repeat=6):
        yield f"|{a[0]}~0|+|{a[1]}~0|{a[2]}~1|+|{a[3]}~0|{a[4]}~1|{a[5]}~2|"


def chances(values, k):
    """Probability of every value to be among the k highest, ties broken at random."""
    threshold = np.sort(values)[::-1][k - 1]
    above, at = values > threshold, values == threshold
    return above + at * (k - above.sum()) / at.sum()


def expected_metrics(score, truth):
    n = len(score)
    k = max(1, int(0.05 * n))
    by_score, by_truth = np.argsort(-score, kind="stable"), np.argsort(-truth, kind="stable")
    metrics = {
        "tau_b": stats.kendalltau(score, truth)[0],
        "spearman": stats.spearmanr(score, truth)[0],
        "p_at_top5": len(set(by_score[:k]) & set(by_truth[:k])) / k,
        "p_at_top5_expected": (chances(score, k) * chances(truth, k)).sum() / k,
        "best_rank_top5": 1 + (truth > truth[by_score[:k]].max()).sum(),
        "best_rank_10": 1 + (truth > truth[by_score[:10]].max()).sum(),
        "regret": truth.max() - truth[score == score.max()].mean(),
    }
    for percent in (50, 20, 10, 5):
        part = truth >= truth[by_truth[max(1, int(percent / 100 * n)) - 1]]
        metrics[f"tau_top{percent}"] = stats.kendalltau(score[part], truth[part])[0]
    return metrics


def write_csv(path, archs, column, values):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"arch,{column}\n")
        file.writelines(f"{arch},{value!r}\n" for arch, value in zip(archs, values.tolist()))


def pada_metrics(pada, folder, archs, score, truth, rng):
    """The predictions come in another order than the truth, which is the one that counts."""
    order = rng.permutation(len(archs))
    write_csv(folder + "/truth.csv", archs, "t", truth)
    write_csv(folder + "/scores.csv", [archs[i] for i in order], "score", score[order])
    out = subprocess.run([pada, "rank", "--predictions", folder + "/scores.csv", "--truth", folder + "/truth.csv",
                          "--bootstrap", "0", "--json"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out.splitlines()[0])


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    rng = np.random.default_rng(1)
    archs = list(all_archs())
    worst = 0.0
    cases = [(n, levels) for n in (2, 9, 40, 333) for levels in (1, 2, 7, 10**6)] + [(15625, 50), (15625, 10**9)]
    with tempfile.TemporaryDirectory() as folder:
        for n, levels in cases:
            truth = rng.integers(0, levels, n) / 4
            score = np.where(rng.random(n) < 0.5, truth, rng.integers(0, levels, n) / 4)
            found = pada_metrics(sys.argv[1], folder, archs[:n], score, truth, rng)
            for key, value in expected_metrics(score, truth).items():
                undefined = np.isnan(value)
                if undefined != (found[key] is None) or (not undefined and abs(found[key] - value) > TOLERANCE):
                    print(f"{key} of {n} networks with {levels} levels: {found[key]}, not {value}")
                    return 1
                worst = worst if undefined else max(worst, abs(found[key] - value))
    print(f"{len(cases)} cases, largest difference {worst:.2g}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
