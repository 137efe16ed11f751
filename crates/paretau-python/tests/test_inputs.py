"""Every form of X gives the same effects, and bad input gives an exception with a remedy."""

from __future__ import annotations

import datetime
import sys
import warnings

import numpy as np
import pandas as pd
import paretau
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
import sklearn
from conftest import small


class Stream:
    """An object of no known library that speaks the Arrow stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


@pytest.fixture(scope="module")
def mixed():
    """Numbers, yes/no, text, categories, dates and missing cells."""
    rng = np.random.default_rng(8)
    n = 300
    town = rng.choice(["Kyoto", "Oslo", "Lima"], n)
    frame = pd.DataFrame(
        {
            "age": rng.normal(50, 9, n),
            "visits": rng.integers(0, 9, n),
            "member": rng.random(n) < 0.4,
            "town": town,
            "grade": pd.Categorical(rng.choice(["low", "mid", "high"], n), categories=["low", "mid", "high"]),
            "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    frame.loc[rng.random(n) < 0.1, "town"] = None
    treatment = rng.integers(0, 2, n)
    y = frame["visits"] + treatment * (1.0 + (town == "Oslo")) + rng.normal(size=n)
    return frame, y.to_numpy(), treatment


def test_frames_of_all_libraries_agree(estimator, mixed):
    frame, y, treatment = mixed
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    forms = {
        "pandas": frame,
        "pandas, arrow types": frame.convert_dtypes(dtype_backend="pyarrow"),
        "polars": pl.from_arrow(arrow),
        "polars lazy": pl.from_arrow(arrow).lazy(),
        "pyarrow": arrow,
        "arrow stream": Stream(arrow),
    }
    reference = None
    for name, form in forms.items():
        est = small(type(estimator)).fit(form, y, treatment=treatment)
        effect = est.effect(form)
        assert list(est.feature_names_in_) == list(frame.columns), name
        reference = effect if reference is None else reference
        np.testing.assert_array_equal(effect, reference, err_msg=name)


def test_series_of_all_libraries_are_taken(mixed):
    frame, y, treatment = mixed
    reference = paretau.LinearEffect().fit(frame, y, treatment=treatment).effect(frame)
    for wrap in (pd.Series, lambda v: pl.Series("v", v), pa.array, lambda v: pa.chunked_array([pa.array(v)]), list):
        est = paretau.LinearEffect().fit(frame, wrap(y), treatment=wrap(treatment))
        np.testing.assert_array_equal(est.effect(frame), reference)
    for arms in (treatment.astype(bool), treatment.astype(np.float32), np.where(treatment, "treated", "control")):
        est = paretau.LinearEffect().fit(frame, y, treatment=arms)
        np.testing.assert_array_equal(est.effect(frame), reference)


def test_layouts_of_a_matrix_agree(estimator, data):
    reference = estimator.fit(data.X, data.y, treatment=data.treatment).effect(data.X)
    for form in (np.asfortranarray(data.X), data.X[::1], data.X.tolist(), np.ma.asarray(data.X)):
        np.testing.assert_array_equal(estimator.effect(form), reference)
    wide = np.repeat(data.X, 2, axis=1)[:, ::2]
    np.testing.assert_array_equal(estimator.effect(wide), reference)
    readonly = data.X.copy()
    readonly.flags.writeable = False
    np.testing.assert_array_equal(estimator.effect(readonly), reference)


class OnlyDLPack:
    """An array of a library that offers nothing but DLPack."""

    def __init__(self, array, device=(1, 0)) -> None:
        self._array, self._device = array, device

    def __dlpack__(self, **wishes):
        if self._device[0] != 1:
            raise BufferError("the array lies on another device")
        return self._array.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return self._device


def test_arrays_by_dlpack(data):
    reference = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    x, y, t = OnlyDLPack(data.X), OnlyDLPack(data.y), OnlyDLPack(data.treatment)
    est = paretau.LinearEffect().fit(x, y, treatment=t)
    np.testing.assert_array_equal(est.effect(x), reference.effect(data.X))
    with pytest.raises(paretau.InputTypeError, match="OnlyDLPack cannot be read where it lies"):
        est.effect(OnlyDLPack(data.X, device=(2, 0)))


def test_masked_cells_are_missing(data):
    hidden = np.zeros(data.X.shape, dtype=bool)
    hidden[::7, 2] = True
    masked = np.ma.masked_array(np.where(hidden, 1e6, data.X), mask=hidden)
    missing = np.where(hidden, np.nan, data.X)
    want = paretau.LinearEffect().fit(missing, data.y, treatment=data.treatment).effect(missing)
    np.testing.assert_array_equal(paretau.LinearEffect().fit(masked, data.y, treatment=data.treatment).effect(masked), want)
    y = np.ma.masked_array(data.y, mask=hidden[:, 2])
    with pytest.raises(paretau.DataError, match="y contains NaN or infinity: row 1"):
        paretau.LinearEffect().fit(data.X, y, treatment=data.treatment)


def test_single_precision_is_close(estimator, data):
    x32 = data.X.astype(np.float32)
    exact = estimator.fit(x32.astype(np.float64), data.y, treatment=data.treatment).effect(x32.astype(np.float64))
    rounded = estimator.fit(x32, data.y, treatment=data.treatment).effect(x32)
    np.testing.assert_array_equal(rounded, exact)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csr_array, sp.csc_matrix, sp.coo_matrix])
def test_sparse_agrees_with_dense(estimator, kind, data):
    dense = np.where(np.abs(data.X) < 0.8, 0.0, data.X)
    est = estimator.fit(kind(dense), data.y, treatment=data.treatment)
    assert est.n_features_in_ == 5
    sparse_effect = est.effect(kind(dense))
    again = small(type(estimator)).fit(dense, data.y, treatment=data.treatment)
    assert np.corrcoef(sparse_effect, again.effect(dense))[0, 1] > 0.99 or np.ptp(sparse_effect) < 1e-9


def test_columns_are_found_by_name_in_any_order(fitted, mixed):
    frame, y, treatment = mixed
    est = paretau.LinearEffect().fit(frame, y, treatment=treatment)
    shuffled = frame[frame.columns[::-1]].assign(strange=[{}] * len(frame))
    np.testing.assert_array_equal(est.effect(shuffled), est.effect(frame))
    with pytest.raises(paretau.SchemaError, match="no column 'age'"):
        est.effect(frame.drop(columns="age"))


def test_names_that_look_like_the_truth_are_features_here(data):
    frame = pd.DataFrame(data.X, columns=["mu0", "tau", "e", "treatment", "outcome"])
    named = paretau.LinearEffect().fit(frame, data.y, treatment=data.treatment)
    plain = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    np.testing.assert_allclose(named.effect(frame), plain.effect(data.X), rtol=1e-9)


def test_arrays_after_frames_and_frames_after_arrays(data):
    frame = pd.DataFrame(data.X, columns=list("abcde"))
    named = paretau.LinearEffect().fit(frame, data.y, treatment=data.treatment)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        by_place = named.effect(data.X)
    np.testing.assert_array_equal(by_place, named.effect(frame))
    plain = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        np.testing.assert_array_equal(plain.effect(frame), by_place)


def test_missing_numbers_are_taken(estimator, data):
    x = data.X.copy()
    x[::7, 2] = np.nan
    assert np.isfinite(estimator.fit(x, data.y, treatment=data.treatment).effect(x)).all()


def test_by_registry_name_on_a_frame(mixed):
    frame, y, treatment = mixed
    whole = frame.assign(t=np.where(treatment, "drug", "placebo"), y=y, mu0=0.0)
    est = paretau.fit("lr-2", whole, treatment="t", outcome="y", treated_value="drug", control_value="placebo")
    assert "mu0" not in est.feature_names_in_
    assert any("mu0" in note for note in est.notes_)
    assert np.isfinite(est.effect(whole)).all()
    direct = paretau.fit("lr-2", whole.assign(t=treatment), treatment="t", outcome="y")
    np.testing.assert_array_equal(direct.effect(whole), est.effect(whole))
    assert direct.weights_.shape == (len(whole),)
    # A word that only a control goes by needs no naming; two names of anything do.
    np.testing.assert_array_equal(paretau.fit("lr-2", whole, treatment="t", outcome="y").effect(whole), est.effect(whole))
    with pytest.raises(paretau.DataError, match="treated_value="):
        paretau.fit("lr-2", whole.assign(t=np.where(treatment, "oak", "elm")), treatment="t", outcome="y")
    with pytest.raises(paretau.UsageError, match="did you mean"):
        paretau.fit("lr-2", whole, treatment="t", outcome="yy", treated_value="drug", control_value="placebo")
    with pytest.raises(TypeError, match="data frame"):
        paretau.fit("lr-2", y, treatment="t", outcome="y")
    with pytest.raises(TypeError, match="no_such"):
        paretau.fit("lr-2", whole, treatment="t", outcome="y", no_such=1)


# What must be refused, with a part of the message.

BAD = {
    "y with NaN": (lambda d: {"y": np.where(np.arange(len(d.y)) == 4, np.nan, d.y)}, "row 5 holds nan"),
    "y too short": (lambda d: {"y": d.y[:-1]}, "y has 239"),
    "y of text": (lambda d: {"y": ["a"] * len(d.y)}, "must be numbers"),
    "y with two columns": (lambda d: {"y": np.column_stack([d.y, d.y])}, "1d array"),
    "constant y": (lambda d: {"y": np.zeros(len(d.y))}, "no effect to learn"),
    "treatment too short": (lambda d: {"treatment": d.treatment[:-1]}, "treatment has 239"),
    "arms 1 and 2": (lambda d: {"treatment": d.treatment + 1}, "0 .control. or 1"),
    "three words": (lambda d: {"treatment": np.array(["a", "b", "c"])[np.arange(len(d.y)) % 3]}, "t == 'drug'"),
    "one arm": (lambda d: {"treatment": np.ones(len(d.y))}, "both arms"),
    "treatment with NaN": (lambda d: {"treatment": np.where(np.arange(len(d.y)) == 2, np.nan, 1.0)}, "row 3 is missing"),
    "swapped": (lambda d: {"y": d.treatment, "treatment": d.y}, "swapped"),
    "infinite X": (lambda d: {"X": np.where(d.X == d.X[3, 1], np.inf, d.X)}, "inf"),
    "complex X": (lambda d: {"X": d.X + 1j}, "Complex"),
    "1-D X": (lambda d: {"X": d.X[:, 0]}, "Reshape your data"),
    "no rows": (lambda d: {"X": d.X[:0], "y": d.y[:0], "treatment": d.treatment[:0]}, "0 sample"),
    "no columns": (lambda d: {"X": d.X[:, :0]}, "0 feature"),
    "negative weights": (lambda d: {"sample_weight": -np.ones(len(d.y))}, "negative"),
    "weights too short": (lambda d: {"sample_weight": np.ones(3)}, "sample_weight has 3"),
    "propensity of 1": (lambda d: {"propensity": np.ones(len(d.y))}, "strictly between 0 and 1"),
    "groups too short": (lambda d: {"groups": [1, 2]}, "groups has 2"),
}


@pytest.mark.parametrize("case", BAD, ids=str)
def test_bad_data_is_refused(case, data):
    change, message = BAD[case]
    arguments = {"X": data.X, "y": data.y, "treatment": data.treatment, **change(data)}
    with pytest.raises(paretau.DataError, match=message) as caught:
        paretau.LinearEffect().fit(arguments.pop("X"), arguments.pop("y"), **arguments)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, paretau.ParetauError)


def test_bad_types_are_type_errors(data):
    strange = pd.DataFrame(data.X).rename(columns=str).assign(odd=[object()] * len(data.y))
    with pytest.raises(TypeError, match="odd"):
        paretau.LinearEffect().fit(strange, data.y, treatment=data.treatment)
    with pytest.raises(TypeError, match="treatment"):
        paretau.LinearEffect().fit(data.X, data.y)
    with pytest.raises(TypeError, match="positional"):
        paretau.LinearEffect().fit(data.X, data.y, data.treatment)
    with pytest.raises(paretau.UsageError, match="must be a data frame"):
        paretau.LinearEffect().fit(data.X, data.y, treatment="t")
    mixed_names = pd.DataFrame(data.X, columns=["a", 1, 2, 3, 4])
    with pytest.raises(TypeError, match="string names"):
        paretau.LinearEffect().fit(mixed_names, data.y, treatment=data.treatment)


def test_unfitted_use_is_said(estimator, data):
    for method in ("effect", "predict", "predict_outcomes", "predict_propensity", "effect_interval"):
        with pytest.raises(paretau.NotFittedError, match="not fitted"):
            getattr(estimator, method)(data.X)
    for method in ("ate", "att", "ate_interval", "overlap_report", "summary"):
        with pytest.raises(paretau.NotFittedError):
            getattr(estimator, method)()


def test_wrong_columns_at_prediction(fitted, data):
    with pytest.raises(paretau.SchemaError, match="X has 3 features, but LinearEffect is expecting 5 features"):
        fitted.effect(data.X[:, :3])


def test_a_column_vector_y_is_raveled_with_a_warning(data):
    from sklearn.exceptions import DataConversionWarning

    with pytest.warns(DataConversionWarning, match="column-vector y"):
        est = paretau.LinearEffect().fit(data.X, data.y[:, None], treatment=data.treatment)
    np.testing.assert_array_equal(
        est.effect(data.X), paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment).effect(data.X)
    )


def test_words_beside_a_binary_outcome_are_warned_of(data):
    binary = (data.y > 0).astype(float)
    with pytest.warns(paretau.DataWarning, match="'yes' is taken as treated"):
        paretau.LinearEffect().fit(data.X, binary, treatment=np.where(data.treatment, "yes", "no"))


def test_dates_of_python_are_not_features_by_accident(data):
    frame = pd.DataFrame(data.X, columns=list("abcde")).assign(day=[datetime.timedelta(1)] * len(data.y))
    with pytest.raises(TypeError, match="day"):
        paretau.LinearEffect().fit(frame, data.y, treatment=data.treatment)


def test_an_array_is_read_where_it_lies_and_given_back(data):
    X = np.array(data.X, order="C")
    held = sys.getrefcount(X)
    est = paretau.LinearEffect().fit(X, data.y, treatment=data.treatment)
    effect = est.effect(X)
    assert sys.getrefcount(X) == held, "neither a model nor a prediction keeps the array"
    before = X.copy()
    X += 1.0
    np.testing.assert_array_equal(est.effect(before), effect)
    # Read where it lies or copied, the numbers are the same to the bit.
    unaligned = np.frombuffer(b"\0" + before.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(before.shape)
    assert not unaligned.flags.aligned
    for other in (np.asfortranarray(before), np.repeat(before, 2, axis=1)[:, ::2], unaligned):
        again = paretau.LinearEffect().fit(other, data.y, treatment=data.treatment)
        np.testing.assert_array_equal(again.effect(other), effect)
    frozen = before.copy()
    frozen.flags.writeable = False
    np.testing.assert_array_equal(paretau.LinearEffect().fit(frozen, data.y, treatment=data.treatment).effect(frozen), effect)


def test_rows_left_out_of_an_array_and_several_arms_share_no_cells():
    rng = np.random.default_rng(5)
    X, arm = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)
    y = X[:, 0] + arm + rng.normal(size=300)
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", paretau.DataWarning)
        for kind in (paretau.LinearEffect(), paretau.CausalForest(n_estimators=40)):
            of_array = sklearn.clone(kind).fit(X, y, treatment=arm).const_marginal_effect(X)
            of_frame = sklearn.clone(kind).fit(frame, y, treatment=arm).const_marginal_effect(frame)
            np.testing.assert_array_equal(of_array, of_frame)
