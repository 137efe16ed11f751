"""scikit-learn's callbacks, where its version has them."""

from __future__ import annotations

import paretau
import pytest

callback = pytest.importorskip("sklearn.callback")

pytestmark = pytest.mark.filterwarnings("ignore::paretau.DataWarning")


class Recorder:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []
        self.fitted: list[object] = []

    def setup(self, estimator, context):
        self.heard.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.heard.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, metadata=None, fitted_estimator=None):
        self.heard.append(("end", context.task_name))
        if context.parent is None:
            self.fitted.append((fitted_estimator, metadata))


def test_stages_and_epochs_are_tasks(data):
    recorder = Recorder()
    net = paretau.TARNet(members=1, max_steps=60)
    assert net.set_callbacks(recorder) is net
    net.fit(data.X, data.y, treatment=data.treatment)
    heard = recorder.heard
    assert heard[:2] == [("setup", "fit"), ("begin", "fit")] and heard[-2:] == [("end", "fit"), ("teardown", "fit")]
    stages = [name for kind, name in heard if kind == "begin" and name not in ("fit", "epoch")]
    assert any("tarnet" in name for name in stages) and any("propensity" in name for name in stages)
    assert ("begin", "epoch") in heard
    begun = [name for kind, name in heard if kind == "begin"]
    assert sorted(begun) == sorted(name for kind, name in heard if kind == "end")
    (copy, metadata), = recorder.fitted
    assert copy is not net and (copy.effect(data.X) == net.effect(data.X)).all()
    assert (metadata["treatment"] == data.treatment).all()


def test_nothing_of_a_fit_changes_and_nothing_is_left(data):
    plain = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    heard = paretau.LinearEffect().set_callbacks(Recorder()).fit(data.X, data.y, treatment=data.treatment)
    assert (plain.effect(data.X) == heard.effect(data.X)).all()
    assert not [name for name in vars(heard) if "callback" in name and name != "_skl_callbacks"]


def test_a_callback_that_raises_ends_the_fit_and_is_torn_down(data):
    class Stops(Recorder):
        def on_fit_task_begin(self, estimator, context):
            super().on_fit_task_begin(estimator, context)
            if context.parent is not None:
                raise RuntimeError("enough")

    stops = Stops()
    est = paretau.LinearEffect().set_callbacks(stops)
    with pytest.raises(RuntimeError, match="enough"):
        est.fit(data.X, data.y, treatment=data.treatment)
    assert not hasattr(est, "model_")
    assert stops.heard[-1] == ("teardown", "fit")


def test_a_search_hands_its_callbacks_on(data):
    sklearn = pytest.importorskip("sklearn")
    from sklearn.model_selection import GridSearchCV

    class Everywhere(Recorder):
        max_propagation_depth = None

    recorder = Everywhere()
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(paretau.LinearEffect(), {"penalty": [0.1, 1.0]}, cv=2)
        search.set_callbacks(recorder)
        search.fit(data.X, data.y, treatment=data.treatment)
    assert sum(name.startswith("fitting lr-2") for kind, name in recorder.heard if kind == "begin") == 5


def test_warnings_point_at_the_caller(data):
    with pytest.warns(paretau.DataWarning) as seen:
        arms = [0, 1, 2] * 80
        paretau.LinearEffect().fit(data.X, data.y, treatment=arms)
    assert {warning.filename for warning in seen} == {__file__}
