"""Memory over a thousand fits in one process: `python fits.py [FITS]`, with the package installed.

Each estimator is fitted again and again to 200 rows, predicts, answers a few questions and is pickled, as in a service or a search.
What the process holds is read along the way: a leak would show as a slope in the second half.
"""

import gc
import os
import pickle
import sys
import time
import warnings

import numpy as np
import paretau

ESTIMATORS = {
    "lr-2": lambda seed: paretau.LinearEffect(random_state=seed),
    "causal-forest, 20 trees": lambda seed: paretau.CausalForest(n_estimators=20, random_state=seed),
    "t-learner, ridge": lambda seed: paretau.TLearner(base="ridge", random_state=seed),
    "dr-learner, scikit-learn's ridge": lambda seed: paretau.DRLearner(base=ridge(), random_state=seed),
}


def ridge():
    from sklearn.linear_model import Ridge

    return Ridge()


def held():
    """Bytes that this process holds now."""
    gc.collect()
    with open("/proc/self/statm") as pages:
        return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def once(make, seed):
    """One fit with what is asked of it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(200, 4))
    t = rng.integers(0, 2, 200)
    y = x[:, 0] + t * (1 + x[:, 1]) + rng.normal(size=200)
    est = make(seed).fit(x, y, treatment=t)
    est.effect(x)
    est.ate_interval()
    est.summary()
    pickle.loads(pickle.dumps(est)).effect(x)


def main():
    n_fits = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    each = n_fits // len(ESTIMATORS)
    warnings.simplefilter("ignore")
    print(f"{each * len(ESTIMATORS)} fits of 200 rows in one process\n")
    print("| estimator | fits | MB after a tenth | after half | after all | KB per fit in the second half | seconds |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, make in ESTIMATORS.items():
        marks, start = {each // 10: 0, each // 2: 0, each: 0}, time.monotonic()
        for k in range(1, each + 1):
            once(make, k)
            if k in marks:
                marks[k] = held()
        tenth, half, end = marks.values()
        slope = (end - half) / max(each - each // 2, 1) / 1e3
        numbers = f"{each} | {tenth / 1e6:.1f} | {half / 1e6:.1f} | {end / 1e6:.1f} | {slope:.2f} | {time.monotonic() - start:.0f}"
        print(f"| {name} | {numbers} |", flush=True)


if __name__ == "__main__":
    main()
