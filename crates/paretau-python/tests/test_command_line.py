"""The package and the command line are one program: from the same file they make the same model and the same numbers, bit by bit.

`cargo xtask test` names the program in `PARETAU_PROGRAM`; without that name the one that `cargo build` made is taken, if there
is one.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
from pathlib import Path

import numpy as np
import paretau
import pytest

NAMED = os.environ.get("PARETAU_PROGRAM")
PROGRAM = Path(NAMED) if NAMED else Path(__file__).parents[3] / "target/debug/paretau"

pytestmark = [
    pytest.mark.filterwarnings("ignore::paretau.DataWarning"),
    pytest.mark.skipif(not NAMED and not PROGRAM.exists(), reason="the command line is not built"),
]

#: Estimators of every family, with parameters for a quick fit.
CASES = {
    "lr-2": {},
    "x-learner": {"base": "ridge"},
    "dr-learner": {"base": "boosting"},
    "causal-forest": {"n_estimators": 40},
    "dpsw-norm": {"members": 1, "max_steps": 60},
    "auto": {"effort": "quick"},
}


def program(*args: object) -> str:
    done = subprocess.run([str(PROGRAM), *map(str, args)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """A file with numbers, gaps and words."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("people") / "people.csv"
    rows = 240
    x, town, t = rng.normal(size=(rows, 2)), rng.choice(["Kyoto", "Oslo", "Lima"], rows), rng.integers(0, 2, rows)
    y = x[:, 0] + t * (1 + x[:, 1]) + (town == "Oslo") + rng.normal(size=rows)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["age", "income", "town", "t", "y"])
        for k in range(rows):
            out.writerow(["" if k % 31 == 0 else x[k, 0], x[k, 1], town[k], t[k], y[k]])
    return path


@pytest.mark.parametrize("name", CASES)
def test_models_and_numbers_are_the_same(name, people, tmp_path):
    params = CASES[name]
    by_command, by_package = tmp_path / "command.paretau", tmp_path / "package.paretau"
    settings = [part for key, value in params.items() for part in ("--set", f"{key}={value}")]
    said = json.loads(
        program("fit", people, "--treatment", "t", "--outcome", "y", "-e", name, *settings, "--out", by_command, "--json", "--quiet")
    )
    model = paretau.fit(name, people, treatment="t", outcome="y", **params)
    model.save(by_package)
    assert by_command.read_bytes() == by_package.read_bytes()

    assert said["averages"]["ate"]["value"] == model.ate()
    assert tuple(said["averages"]["ate"][end] for end in ("lo", "hi")) == model.ate_interval()

    program("effect", by_command, people, "--out", tmp_path / "effects.csv", "--quiet")
    with (tmp_path / "effects.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    import pandas as pd

    frame = pd.read_csv(people, float_precision="round_trip")
    np.testing.assert_array_equal([float(row["tau"]) for row in written], model.effect(frame))
    np.testing.assert_array_equal([float(row["w"]) for row in written], model.weights_)
