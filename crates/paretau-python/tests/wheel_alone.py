"""What a new user does first with an installed wheel and nothing but numpy; `cargo xtask wheel` runs it."""

from __future__ import annotations

import sys
import time
from importlib import metadata
from pathlib import Path

import numpy as np

start = time.perf_counter()
import paretau  # noqa: E402 (timed)

took = time.perf_counter() - start

files = {Path(str(file)).name for file in metadata.files("paretau") or []}
assert {"LICENSE-MIT", "LICENSE-APACHE", "py.typed"} <= files, sorted(files)
about = metadata.metadata("paretau")
assert "# paretau" in str(about), "the wheel has no readme"
assert "site-packages" in paretau.__file__, paretau.__file__
assert not {"sklearn", "pandas", "scipy"} & set(sys.modules)

data = paretau.make_synthetic(n=400, d=6, random_state=0)
model = paretau.CausalForest(n_estimators=48).fit(data.X, data.y, treatment=data.treatment)
assert np.isfinite(model.effect(data.X)).all() and model.to_onnx()
low, high = model.ate_interval()
print(f"paretau {paretau.__version__}: imported in {took:.3f} s beyond numpy, average effect {low:.2f} to {high:.2f}")
