"""Writes isotonic.json: isotonic regressions by scikit-learn.

Usage: python make_isotonic.py [output directory]
"""
import json
import pathlib
import sys

import numpy as np
from sklearn.isotonic import isotonic_regression


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    rng = np.random.default_rng(7)
    cases = []
    for n in (1, 2, 5, 20, 100, 300):
        for shape in ("noise", "trend", "ties"):
            y = rng.standard_normal(n)
            if shape == "trend":
                y = y + np.linspace(-3, 3, n)
            if shape == "ties":
                y = np.round(2 * y) / 2
            weights = rng.uniform(0.1, 5.0, n)
            cases.append({
                "y": y.tolist(),
                "weights": weights.tolist(),
                "increasing": isotonic_regression(y).tolist(),
                "decreasing": isotonic_regression(y, increasing=False).tolist(),
                "increasing_weighted": isotonic_regression(y, sample_weight=weights).tolist(),
                "decreasing_weighted": isotonic_regression(y, sample_weight=weights, increasing=False).tolist(),
            })
    (out / "isotonic.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
