"""Writes psis.json: Pareto-smoothed log-weights and k-hat by ArviZ, for both of its tail rules.

`arviz` (before 1.0) takes ceil(min(S/5, 3 sqrt(S/r_eff))) tail draws, as loo does; `arviz-stats` rounds down.
Usage: python make_psis.py [output directory]
"""
import json
import pathlib
import sys

import arviz
import numpy as np
from arviz_stats.base import array_stats


def draws():
    rng = np.random.default_rng(20240715)
    for name, size in [("normal", 31), ("normal", 101), ("heavy", 120), ("heavy", 250), ("light", 333)]:
        z = rng.standard_normal(size)
        x = {"normal": z, "heavy": 3.0 * z, "light": -np.exp(z)}[name]
        yield f"{name}-{size}", x
    yield "cauchy-500", np.log(np.abs(rng.standard_cauchy(500)))
    yield "balancing-400", np.log1p(np.exp(-2.0 * rng.standard_normal(400)))
    yield "far-200", 800.0 + 5.0 * rng.standard_normal(200)


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    cases = []
    for i, (name, x) in enumerate(draws()):
        for r_eff in (1.0, 0.7)[: 1 + i % 2]:
            loo, k_loo = arviz.psislw(x.copy(), reff=r_eff)
            stats, k_stats = array_stats.psislw(-x, r_eff=r_eff)
            cases.append({
                "name": name,
                "r_eff": r_eff,
                "log_ratios": x.tolist(),
                "loo": {"log_weights": np.asarray(loo).tolist(), "khat": float(k_loo)},
                "arviz_stats": {"log_weights": np.asarray(stats).tolist(), "khat": float(k_stats)},
            })
    (out / "psis.json").write_text(json.dumps({"cases": cases}) + "\n")


if __name__ == "__main__":
    main()
