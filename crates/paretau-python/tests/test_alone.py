"""numpy is the only package that paretau needs."""

from __future__ import annotations

import subprocess
import sys

SESSION = """
import sys
for name in ("sklearn", "pandas", "polars", "pyarrow", "scipy", "matplotlib"):
    sys.modules[name] = None  # importing it fails from here on
import pickle
import numpy as np
import paretau

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
t = rng.integers(0, 2, 200)
y = X[:, 0] + t + rng.normal(size=200)
est = paretau.LinearEffect(random_state=4)
assert repr(est) == "LinearEffect(random_state=4)", repr(est)
assert est.set_params(penalty=0.5).get_params()["penalty"] == 0.5
try:
    est.set_params(no_such=1)
except ValueError as error:
    assert "no_such" in str(error)
else:
    raise AssertionError
try:
    est.effect(X)
except AttributeError as error:
    assert isinstance(error, paretau.NotFittedError)
est.fit(X, y[:, None], treatment=t)
back = pickle.loads(pickle.dumps(est))
assert (back.effect(X) == est.effect(X)).all()
assert np.isfinite(est.score(X, y, treatment=t))
assert est.summary()

assert est.best_linear_projection(X).names == ["intercept", "A1", "A2", "A3"]
assert "intercept" in str(est.best_linear_projection()) and est.ato_interval()[0] < est.ato_interval()[1]
try:
    from paretau import plot
    plot.overlap(est)
except paretau.UsageError as error:
    assert "matplotlib" in str(error)
print("fine")
"""


def test_without_any_other_package():
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SESSION], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "fine", done.stderr
