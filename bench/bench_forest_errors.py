"""Errors of the causal forest beside EconML's on data with a known truth, without the Python package of paretau.

Same sets, same 70/30 split and same trees as the table of errors of bench_forests.py; ours is run by the example
`effects_file`, synthetic designs are drawn by the command line, and both are built first. The data folder is the one PARETAU_DATA
names; PARETAU names another command to draw with. Results of the peers are kept in the folder of `--keep`, since
they take most of the time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path

import bench_forests as forests
import numpy as np
import pandas as pd

ROOT = forests.ROOT
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
DESIGNS = ["simple", "aw1", "aw2", "aw3", "aw3reverse", "ai1", "ai2"]
PROCESSES = [("grf", f"design={name}") for name in DESIGNS] + [("causalml", f"mode={mode}") for mode in (1, 2, 3, 4)]


def synthetic(keep: Path) -> Iterator[forests.Study]:
    """The synthetic designs by the command line: three draws each, 2,000 rows, 10 features."""
    program = os.environ.get("PARETAU", str(TARGET / "release" / "paretau"))
    path = keep / "drawn.csv"
    for process, setting in PROCESSES:
        for seed in range(3):
            words = [program, "simulate", process, "--n", "2000", "--d", "10", "--seed", str(seed), "--set", setting]
            subprocess.run([*words, "--out", str(path), "--quiet"], check=True, stdout=subprocess.DEVNULL)
            rows = pd.read_csv(path)
            x = rows[[name for name in rows.columns if name.startswith("x")]]
            treated = rows["t" if "t" in rows else "treatment"].to_numpy(float)
            yield forests.Study("synthetic designs", x, treated, rows.y.to_numpy(), (rows.mu1 - rows.mu0).to_numpy())


def studies(keep: Path) -> Iterator[forests.Study]:
    """All sets, those that are absent named and skipped."""
    yield from synthetic(keep)
    for name, read in (("ihdp", forests.ihdp), ("acic2016", forests.acic), ("lbidd", forests.lbidd)):
        folder = forests.data_folder() / name
        if folder.is_dir():
            yield from read(folder, False)
        else:
            print(f"Skipped {name}: there is no folder {name} in the data folder (set PARETAU_DATA).")


def write(folder: Path, study: forests.Study, train: np.ndarray, test: np.ndarray) -> None:
    """The files that `effects_file` reads; text columns become codes of levels."""
    columns, levels = [], []
    for name in study.x.columns:
        values = study.x[name]
        if pd.api.types.is_numeric_dtype(values):
            columns.append(values.to_numpy(float))
            levels.append(0)
        else:
            codes, names = pd.factorize(values, sort=True)
            columns.append(np.where(codes < 0, np.nan, codes))
            levels.append(len(names))
    rows = np.column_stack([*columns, study.t, study.y, study.tau]).astype("<f8")
    folder.mkdir(parents=True, exist_ok=True)
    rows[train].tofile(folder / "train")
    rows[test].tofile(folder / "test")
    (folder / "meta.json").write_text(json.dumps({"levels": levels}))


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trees", type=int, default=500)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--keep", type=Path, default=ROOT / "target" / "forest-errors")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    options.keep.mkdir(parents=True, exist_ok=True)
    cargo = ["cargo", "build", "--release", "--quiet", "-p", "paretau-cli", "-p", "paretau-forest", "--bin", "paretau"]
    subprocess.run([*cargo, "--example", "effects_file"], check=True, cwd=ROOT)
    program = TARGET / "release" / "examples" / "effects_file"
    peers = ["EconML grf.CausalForest", "EconML CausalForestDML"]
    found: dict[str, list[list[float]]] = {}
    for number, study in enumerate(studies(options.keep)):
        order = np.random.default_rng(0).permutation(len(study.y))
        train, test = np.split(order, [int(0.7 * len(order))])
        folder = options.keep / f"set{number}"
        write(folder, study, train, test)
        words = [str(program), "causal-forest", json.dumps({"n_estimators": options.trees}), str(folder)]
        done = subprocess.run(
            words, check=True, capture_output=True, text=True, env=forests.environment(options.threads)
        )
        scores = [float(done.stdout.split()[1])]
        kept = folder / f"peers-{options.trees}.json"
        if not kept.exists():
            x = pd.get_dummies(study.x).to_numpy(float)
            effects = [
                forests.forest_effects(name, x, study, train, test, options.trees, options.threads) for name in peers
            ]
            kept.write_text(json.dumps([float(np.sqrt(np.mean((e - study.tau[test]) ** 2))) for e in effects]))
        scores += json.loads(kept.read_text())
        found.setdefault(study.family, []).append(scores)
    values = [np.array(scores) for scores in found.values()]
    rows = [
        [name, str(len(scores)), *(f"{v:.3f}" for v in np.mean(scores, axis=0))] for name, scores in found.items()
    ]
    rows.append(["**mean of the families**", "", *(f"{v:.3f}" for v in np.mean([v.mean(axis=0) for v in values], axis=0))])
    logs = [np.log(v / v[:, [0]]).mean(axis=0) for v in values]
    for name, ratio in zip(found, np.exp(logs), strict=True):
        rows.append([f"error over `causal-forest`'s, {name}", "", *(f"{v:.3f}" for v in ratio)])
    mean = np.exp(np.mean(logs, axis=0))
    rows.append(["**error over `causal-forest`'s**, geometric mean", "", *(f"{v:.3f}" for v in mean)])
    title = f"PEHE on the 30 % of rows held out, {options.trees} trees"
    forests.table(title, ["data", "sets", "causal-forest", *peers], rows)


if __name__ == "__main__":
    main()
