"""Writes gpd.json: quantiles and distribution function of the generalised Pareto distribution by SciPy.

Usage: python make_gpd.py [output directory]
"""
import json
import pathlib
import sys

import numpy as np
from scipy.stats import genpareto


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    p = np.concatenate([[0.0, 1e-8, 1e-3], np.linspace(0.05, 0.95, 19), [0.99, 0.999, 0.999999]])
    cases = []
    for mu, sigma in [(0.0, 1.0), (1.5, 0.3), (-2.0, 40.0)]:
        for xi in [-2.0, -1.0, -0.5, -0.3, -0.01, 0.0, 0.01, 0.3, 0.7, 1.0, 2.5]:
            d = genpareto(c=xi, loc=mu, scale=sigma)
            q = d.ppf(p)
            cases.append({
                "mu": mu, "sigma": sigma, "xi": xi,
                "p": p.tolist(), "quantile": q.tolist(), "cdf": d.cdf(q).tolist(), "pdf": d.pdf(q[:-3]).tolist(),
            })
    (out / "gpd.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
