"""Models written as ONNX say in onnxruntime what they say here."""

from __future__ import annotations

import numpy as np
import pandas as pd
import paretau
import pytest
from conftest import small

ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")


def answers(model: bytes, rows: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Outputs of a session."""
    return ort.InferenceSession(model).run(None, rows)


def with_gaps(x: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[::7, 2] = np.nan
    return out


@pytest.fixture(scope="module")
def new_rows() -> np.ndarray:
    """Rows that no model has seen, some of them strange."""
    rows = with_gaps(np.random.default_rng(9).normal(size=(300, 5)))
    rows[3, 0], rows[4, 1] = 60.0, -60.0
    return rows


def check(est, inputs: dict[str, np.ndarray], rows, tolerance: float = 1e-5) -> None:
    """Effects and outcomes agree, relative to how large outcomes are."""
    effect, outcomes = answers(est.to_onnx(outcomes=True), inputs)
    expected, mu = est.const_marginal_effect(rows), est.predict_outcomes(rows)
    scale = max(1.0, float(np.abs(mu).max()))
    np.testing.assert_allclose(effect, expected, rtol=0, atol=tolerance * scale)
    np.testing.assert_allclose(outcomes, mu, rtol=0, atol=tolerance * scale)


def test_every_class(estimator, data, new_rows):
    est = estimator.fit(with_gaps(data.X), data.y, treatment=data.treatment)
    check(est, {"X": new_rows}, new_rows)


@pytest.mark.parametrize("cls", [paretau.LinearEffect, paretau.CausalForest, paretau.TLearner, paretau.TARNet], ids=str)
@pytest.mark.parametrize("case", ["yes/no", "three arms"])
def test_outcomes_and_arms(cls, case, data, new_rows):
    several = case == "three arms"
    y = data.y if several else (data.y > 0).astype(float)
    t = np.arange(len(y)) % 3 if several else data.treatment
    est = small(cls).fit(with_gaps(data.X), y, treatment=t)
    check(est, {"X": new_rows}, new_rows)


@pytest.mark.parametrize("base", ["ridge", "lasso", "products", "boosting", {"name": "mlp", "params": {"max_steps": 60}}, "stack"], ids=str)
def test_every_base_learner_for_means_and_probabilities(base, data, new_rows):
    est = paretau.XLearner(base=base).fit(with_gaps(data.X), (data.y > 0).astype(float), treatment=data.treatment)
    check(est, {"X": new_rows}, new_rows)


def towns(n: int, seed: int) -> pd.DataFrame:
    """A frame with numbers, gaps, few and many levels, a date and a constant."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 10, n),
            "town": rng.choice(["Kyoto", "Oslo", "Lima", "Bern", "Quito"], n),
            "pet": rng.choice(["cat", "dog"], n),
            "street": [f"street {k}" for k in rng.integers(0, 150, n)],
            "seen": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, n), "D"),
            "one": 1.0,
        }
    )
    frame.loc[::9, "age"] = np.nan
    frame.loc[::11, "town"] = None
    return frame


@pytest.mark.parametrize("cls", [paretau.CausalForest, paretau.LinearEffect, paretau.DRLearner], ids=str)
def test_frames_have_an_input_for_each_column(cls):
    frame = towns(500, 1)
    rng = np.random.default_rng(2)
    t = rng.integers(0, 2, len(frame))
    y = t * (frame["town"].isin(["Oslo", "Bern"]) * 2.0) + rng.normal(size=len(frame))
    est = small(cls).fit(frame, y, treatment=t)
    new = towns(200, 3)
    new.loc[5, "town"], new.loc[6, "town"] = "Paris", "OSLO"  # never seen; another spelling
    inputs = {}
    for name in est.model_.input_names():
        column = new[name]
        if name == "seen":
            values = (column - pd.Timestamp("1970-01-01")) / pd.Timedelta(days=1)
        else:
            values = column.fillna("") if name in ("town", "pet", "street") else column
        kind = object if name in ("town", "pet", "street") else np.float64
        inputs[name] = values.to_numpy(kind).reshape(-1, 1)
    check(est, inputs, new, tolerance=1e-9)


def test_single_precision_inputs_files_and_sparse_matrices(data, tmp_path):
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.where(np.abs(data.X) > 0.7, data.X, 0.0).astype(np.float32)
    est = paretau.LinearEffect().fit(sparse.csr_array(rows), data.y, treatment=data.treatment)
    written = est.to_onnx(tmp_path / "model.onnx", inputs="float")
    assert (tmp_path / "model.onnx").read_bytes() == written
    np.testing.assert_allclose(answers(written, {"X": rows})[0][:, 0], est.effect(rows), rtol=0, atol=1e-9)


def test_what_cannot_be_written_is_refused(data):
    from sklearn.linear_model import Ridge

    with pytest.raises(paretau.NotFittedError):
        paretau.LinearEffect().to_onnx()
    est = paretau.TLearner(base=Ridge()).fit(data.X, data.y, treatment=data.treatment)
    with pytest.raises(paretau.UsageError):
        est.to_onnx()
    with pytest.raises(paretau.UsageError, match="double"):
        paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment).to_onnx(inputs="half")


def test_the_file_is_sound_for_onnx_itself(data):
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    est = paretau.CausalForest(n_estimators=24).fit(data.X, data.y, treatment=data.treatment)
    model = onnx.load_from_string(est.to_onnx())
    onnx.checker.check_model(model, full_check=True)
    assert {p.key: p.value for p in model.metadata_props}["estimator"] == "causal-forest"
