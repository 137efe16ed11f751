"""Classes, names and presets follow the registry."""

from __future__ import annotations

import inspect
import json

import paretau
import pytest
from conftest import CLASSES, small
from paretau import _paretau

ENTRIES = json.loads(_paretau.describe_all())


def test_every_entry_has_a_class_and_every_class_an_entry():
    assert {e["class"] for e in ENTRIES} == {c.__name__ for c in CLASSES}
    assert {name for c in CLASSES for name in c._presets} == set(paretau.list_estimators())
    for cls in CLASSES:
        assert getattr(paretau, cls.__name__) is cls
        assert cls.__name__ in paretau.__all__


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["name"])
def test_defaults_of_an_entry_are_the_defaults_of_its_estimator(entry):
    made = paretau.make_estimator(entry["name"])
    for param in entry["params"]:
        value = getattr(made, param["name"])
        assert (list(value) if isinstance(value, tuple) else value) == param["default"], param["name"]
    params = {k: v for k, v in made.get_params().items() if k in {p["name"] for p in entry["params"]}}
    assert made._entry({k: list(v) if isinstance(v, tuple) else v for k, v in params.items()}) == entry["name"]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda e: e["name"])
def test_aliases_and_case_do_not_matter(entry):
    for alias in [*entry["aliases"], entry["name"].upper()]:
        assert paretau.describe(alias)["name"] == entry["name"]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
def test_signatures_are_explicit_and_keyword_only(cls):
    parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    assert all(p.kind is inspect.Parameter.KEYWORD_ONLY for p in parameters)
    for p in parameters:
        assert f"    {p.name} : " in cls.__doc__, f"{p.name} is not in the docstring"


def test_a_slip_of_the_finger_is_answered_with_the_nearest_name():
    with pytest.raises(paretau.UsageError, match="did you mean `lr-2`"):
        paretau.describe("lr-22")
    with pytest.raises(ValueError, match="unknown estimator"):
        paretau.make_estimator("zebra")


def test_the_registry_name_that_fits_the_parameters_is_recorded(data):
    for cls in CLASSES:
        for name in cls._presets:
            est = small(cls, **cls._presets[name])
            est.fit(data.X, data.y, treatment=data.treatment)
            assert json.loads(est.model_.about())["estimator"] == name


def test_bad_parameters_are_refused_by_name(data, estimator):
    for param in paretau.describe(next(iter(estimator._presets)))["params"]:
        bad = estimator.set_params(**{param["name"]: "#"})
        with pytest.raises(paretau.UsageError, match=param["name"]):
            bad.fit(data.X, data.y, treatment=data.treatment)
        break
