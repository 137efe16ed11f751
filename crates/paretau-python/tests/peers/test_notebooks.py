"""Notebooks of other packages, asked the same question here: the answers agree with the truth, and with theirs."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

STUDY = Path(__file__).parents[4] / "experiments/notebooks/notebooks.py"
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("notebooks", STUDY)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["notebooks"] = module
    spec.loader.exec_module(module)
    return module


def answers(notebook, package):
    """Numbers of a notebook by what they are, each with the truth beside it."""
    return {what: (value, float(truth) if truth else None) for _, _, what, value, truth in notebook(package)}


def test_customer_segmentation(study):
    econml = pytest.importorskip("econml")
    assert econml
    ours, theirs = (answers(study.of_customers, package) for package in ("paretau", "econml"))
    for segment in ("income below 1", "income from 1 on"):
        value, truth = ours[f"mean effect, {segment}"]
        assert abs(value - truth) < 0.15 and abs(value - theirs[f"mean effect, {segment}"][0]) < 0.25
    assert ours["root mean square error"][0] < 1.2 * theirs["root mean square error"][0]


def test_causal_forest(study):
    pytest.importorskip("econml")
    ours, theirs = (answers(study.of_forest, package) for package in ("paretau", "econml"))
    error = "root mean square error on the grid"
    assert ours[error][0] < 1.2 * theirs[error][0]
    assert ours["90 % intervals that hold the truth, away from the jump"][0] >= 0.8


def test_uplift(study):
    ours = answers(study.of_conversions, "paretau")
    value, truth = ours["average uplift"]
    assert abs(value - truth) < 2 * ours["half its 95 % interval"][0]
    assert ours["uplift of the best tenth"][0] > 2.5 * truth


def test_savings(study):
    pytest.importorskip("doubleml")
    ours, theirs = (answers(study.of_savings, package) for package in ("paretau", "doubleml"))
    for own in ("ATE", "ATT"):
        value, truth = ours[own]
        half = ours[f"half the 95 % interval of the {own}"][0]
        assert abs(value - truth) < 1.5 * half and abs(value - theirs[own][0]) < 1.5 * half
