"""Models in MLflow and back."""

from __future__ import annotations

import numpy as np
import paretau
import pytest
from paretau import mlflow as flavour

mlflow = pytest.importorskip("mlflow", reason="MLflow is not installed; `cargo xtask peers` installs it")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_a_model_comes_back_as_a_function_and_as_itself(tmp_path):
    import mlflow.pyfunc

    data = paretau.make_synthetic(n=400, d=3, random_state=0)
    frame = data.frame()[["x1", "x2", "x3"]]
    est = paretau.CausalForest(n_estimators=48).fit(frame, data.y, treatment=data.treatment)
    flavour.save_model(est, tmp_path / "model")
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    np.testing.assert_array_equal(loaded.predict(frame), est.effect(frame))
    np.testing.assert_array_equal(
        flavour.load_model(str(tmp_path / "model")).predict_outcomes(frame), est.predict_outcomes(frame)
    )
