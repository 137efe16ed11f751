"""Every picture looks as it did when it was last looked at.

References are in `tests/pictures`. After a change that is meant, look at what `PARETAU_PICTURES=new pytest tests/test_pictures.py`
writes there, and commit it. Words are left out of the comparison, since fonts differ between versions of matplotlib; the tests
of `test_plot.py` read them.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import paretau
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.testing.compare import compare_images  # noqa: E402
from paretau import plot  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")
REFERENCES = Path(__file__).parent / "pictures"
#: Root mean square difference of pixels, of 255, that versions of matplotlib and last bits of numbers may make.
TOLERANCE = 6.0


@pytest.fixture(scope="module")
def study():
    rng = np.random.default_rng(1)
    n = 600
    X = pd.DataFrame({"age": rng.normal(50, 12, n).round(), "town": rng.choice(["Kyoto", "Oslo"], n)})
    t = (rng.uniform(size=n) < 1 / (1 + np.exp(-(X["age"] - 50) / 12))).astype(int)
    y = 0.05 * X["age"] + t * (0.5 + (X["town"] == "Oslo")) + rng.normal(size=n)
    return X, y, t, paretau.CausalForest(n_estimators=100, random_state=0).fit(X, y, treatment=t)


DRAWN = {
    "overlap": lambda X, y, t, m: plot.overlap(m),
    "weights": lambda X, y, t, m: plot.weights(m),
    "love": lambda X, y, t, m: plot.love(m),
    "effects": lambda X, y, t, m: plot.effects(m, X),
    "effect_by_number": lambda X, y, t, m: plot.effect_by_feature(m, X, "age"),
    "effect_by_level": lambda X, y, t, m: plot.effect_by_feature(m, X, "town"),
    "groups": lambda X, y, t, m: plot.groups(m, X["town"]),
    "calibration": lambda X, y, t, m: plot.calibration(m, k=4),
    "toc": lambda X, y, t, m: plot.toc(m.rank_average_treatment_effect()),
    "qini": lambda X, y, t, m: plot.toc(m.rank_average_treatment_effect(target="QINI")),
    "policy_tree": lambda X, y, t, m: plot.policy_tree(m.policy_tree(X, y, treatment=t)),
    "sensitivity": lambda X, y, t, m: plot.sensitivity(m.sensitivity_analysis(X, y, treatment=t)),
    "roles": lambda X, y, t, m: plot.roles(paretau.roles(X.assign(t=t, y=y), treatment="t", outcome="y")),
    "training": lambda X, y, t, m: plot.training(paretau.TARNet(members=1, max_steps=60, random_state=0).fit(X, y, treatment=t)),
}


def without_words(axes) -> None:
    """Takes away what is set in a font."""
    figure = axes.figure
    for text in figure.findobj(matplotlib.text.Text):
        text.set_visible(False)
    for legend in figure.findobj(matplotlib.legend.Legend):
        legend.set_visible(False)


@pytest.mark.parametrize("name", DRAWN)
def test_picture(name, study, tmp_path):
    with plt.rc_context({"figure.dpi": 60, "savefig.dpi": 60, "figure.figsize": (6.4, 4.8)}):
        axes = DRAWN[name](*study)
        reference = REFERENCES / f"{name}.png"
        if os.environ.get("PARETAU_PICTURES") == "new":
            REFERENCES.mkdir(exist_ok=True)
            axes.figure.savefig(tmp_path / f"{name}-with-words.png")
            without_words(axes)
            axes.figure.savefig(reference, metadata={"Software": None})
            return
        without_words(axes)
        axes.figure.savefig(tmp_path / f"{name}.png")
    plt.close("all")
    difference = compare_images(str(reference), str(tmp_path / f"{name}.png"), tol=TOLERANCE)
    assert difference is None, difference


def test_every_function_is_drawn():
    others = {"effect_by_number": "effect_by_feature", "effect_by_level": "effect_by_feature", "qini": "toc"}
    assert {others.get(name, name) for name in DRAWN} == set(plot.__all__)
