"""Memory that `fit` and `effect` add to a NumPy array: `python arrays.py [ROWS [COLUMNS]]`, with the package installed.

Each line is a process of its own. What it holds before the call, the array among it, is subtracted from the most that it ever
holds, as the system tells, and the rest is given as a multiple of the array.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time

FITS = {
    "lr-2": ("LinearEffect", {}),
    "t-learner, ridge": ("TLearner", {"base": "ridge"}),
    "causal-forest, 100 trees": ("CausalForest", {"n_estimators": 100}),
}


def held():
    """Bytes that this process holds now."""
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def data(rows, columns):
    """A study whose treatment and effect follow single columns."""
    import numpy as np

    rng = np.random.default_rng(0)
    x = np.empty((rows, columns))
    for start in range(0, rows, 10_000):
        x[start : start + 10_000] = rng.normal(size=x[start : start + 10_000].shape)
    t = (rng.uniform(size=rows) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)
    return x, x[:, 1] + t * (1 + x[:, 2]) + rng.normal(size=rows), t


def measure(what, name, model, rows, columns):
    """One call in this process: bytes added and seconds of processor time."""
    import warnings

    import paretau

    warnings.simplefilter("ignore")
    kind, params = FITS[name]
    x, y, t = data(rows, columns)
    estimator = getattr(paretau, kind)(n_jobs=2, **params) if what == "fit" else paretau.load(model)
    before, start = held(), time.process_time()
    if what == "fit":
        estimator.fit(x, y, treatment=t)
    else:
        estimator.effect(x)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(max(most - before, 0), x.nbytes, time.process_time() - start, flush=True)
    if what == "fit":
        estimator.save(model)


def main():
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    columns = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    print(f"{rows} rows, {columns} columns: an array of {rows * columns * 8 / 1e6:.0f} MB\n")
    print("| fit | `fit` adds MB | times the array | `effect` adds MB | times the array | processor seconds of both |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        for k, name in enumerate(FITS):
            model, line, seconds = os.path.join(folder, f"{k}.paretau"), [name], 0.0
            for what in ("fit", "effect"):
                call = [sys.executable, __file__, "--one", what, name, model, str(rows), str(columns)]
                out = subprocess.run(call, check=True, capture_output=True, text=True).stdout
                added, size, took = map(float, out.split())
                line += [f"{added / 1e6:.0f}", f"{added / size:.2f}"]
                seconds += took
            print("| " + " | ".join(line) + f" | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]), int(sys.argv[6]))
    else:
        main()
