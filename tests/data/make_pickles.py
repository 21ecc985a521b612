#!/usr/bin/env python3
"""Makes the pickles of tests/data/pickles, once: make_pickles.py FOLDER (needs numpy)

All hold {'data': uint8 [3, 4], 'labels': [1, 120, 1000], 'mean': float64 [2]}. p2 to p5 are as numpy 2 writes them in
protocols 2 to 5; numpy1 is p2 with the module names of numpy 1.
"""
import os
import pickle
import sys

import numpy

entry = {
    "data": numpy.array([[0, 1, 127, 128], [200, 255, 10, 92], [39, 46, 194, 3]], dtype=numpy.uint8),
    "labels": [1, 120, 1000],
    "mean": numpy.array([0.5, 2.0]),
}
for protocol in range(2, 6):
    with open(os.path.join(sys.argv[1], f"p{protocol}.pickle"), "wb") as file:
        file.write(pickle.dumps(entry, protocol))
with open(os.path.join(sys.argv[1], "numpy1.pickle"), "wb") as file:
    file.write(pickle.dumps(entry, 2).replace(b"numpy._core.", b"numpy.core."))
