"""Plans, comparisons and searches from Python."""

from __future__ import annotations

import json

import pytest

import paretau

PLAN = """
name = "small"
summary = "two linear methods"
metrics = ["pehe", "ate_error"]
hero = "lr-2"

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 400, d = 6, noise = 0.1 }
realisations = [1, 2, 3, 4]

[[methods]]
estimator = "lr-1"

[[methods]]
estimator = "lr-2"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    (folder / "small.toml").write_text(PLAN)
    paretau.run(folder / "small.toml", folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def people():
    return paretau.make_synthetic(n=400, d=6, noise=0.5, random_state=3).frame()


def test_a_run_leaves_tables_figure_and_page(folder):
    left = {path.name for path in folder.iterdir()}
    wanted = {"records.jsonl", "plan.toml", "table.md", "table.csv", "comparison.md", "figure.svg", "figure.png", "report.html"}
    assert wanted <= left
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_methods_are_compared_within_realisations(folder):
    found = paretau.compare(folder)
    assert (found["metric"], found["n"], found["hero"]) == ("pehe", 4, "lr-2")
    assert {name for name, _ in found["ranks"]} == {"lr-1", "lr-2"}
    (pair,) = found["pairs"]
    scores = {}
    for line in (folder / "records.jsonl").read_text().splitlines():
        record = json.loads(line)
        key = record["cell"]["realisation"]
        scores.setdefault(key, {})[record["cell"]["method"]["estimator"]] = record["scores"]["pehe"]
    ratio = 1.0
    for both in scores.values():
        ratio *= (both["lr-2"] / both["lr-1"]) ** (1 / len(scores))
    assert pair["ratio"] == pytest.approx(ratio)
    assert pair["interval"][0] <= pair["ratio"] <= pair["interval"][1]
    assert pair["wins"] == sum(both["lr-2"] < both["lr-1"] for both in scores.values())


def test_plans_need_their_folder(tmp_path):
    with pytest.raises(paretau.DataError, match="holds no run"):
        paretau.compare(tmp_path)
    # The paper's table on the data that are there; here there are none, so that a generated corpus stands in.
    plan = tmp_path / "news.toml"
    plan.write_text(
        'name = "n"\nsummary = "s"\n[[data]]\nname = "News"\ndataset = ["news"]\nsimulator = "news"\n'
        'params = { n = 200, d = 60, topics = 5 }\nrealisations = [1]\n[[methods]]\nestimator = "lr-2"\n'
    )
    done = paretau.run(plan, tmp_path / "out", data=tmp_path)
    assert (done["cells"], done["failed"]) == (1, 0)


def test_a_search_starts_with_the_defaults_and_makes_an_estimator(people, tmp_path):
    settings = {"treatment": "t", "outcome": "y", "trials": 4, "folds": 2, "random_state": 1, "n_estimators": 50}
    found = paretau.tune("causal-forest", people, records=tmp_path / "trials.jsonl", **settings)
    assert len(found.trials) == 4
    assert found.trials[0]["params"] == {"n_estimators": 50}
    assert all(trial["params"]["n_estimators"] == 50 for trial in found.trials)
    assert found.value <= found.default_value
    again = paretau.tune("causal-forest", people, records=tmp_path / "trials.jsonl", resume=True, **settings)
    assert again == found
    model = found.estimator(random_state=0)
    assert isinstance(model, paretau.CausalForest)
    assert model.get_params()["n_estimators"] == 50
    x = people[[c for c in people.columns if c.startswith("x")]]
    assert model.fit(x, people["y"], treatment=people["t"]).effect(x).shape == (400,)


def test_a_search_takes_a_space_of_ones_own(people):
    found = paretau.tune("lr-2", people, treatment="t", outcome="y", trials=3, search="grid", space={"penalty": [0.5, 5.0]})
    assert [trial["params"].get("penalty") for trial in found.trials] == [None, 0.5, 5.0]


def test_refusals(people):
    named = {"treatment": "t", "outcome": "y", "trials": 2}
    with pytest.raises(paretau.UsageError, match="lr-2"):
        paretau.tune("lr-22", people, **named)
    with pytest.raises(paretau.UsageError):
        paretau.tune("lr-2", people, search="clever", **named)
    with pytest.raises(paretau.UsageError, match="did you mean"):
        paretau.tune("lr-2", people, penaltyy=1.0, **named)
    with pytest.raises(paretau.InputTypeError, match="data frame"):
        paretau.tune("lr-2", people.to_numpy(), **named)


def test_a_run_of_nothing_is_refused(tmp_path):
    with pytest.raises(paretau.UsageError, match="realisations"):
        paretau.run("first-look", tmp_path / "run", realisations=0)
    assert not (tmp_path / "run").exists()


def test_a_run_searches_parameters(tmp_path):
    forest = PLAN.replace('estimator = "lr-2"', 'estimator = "causal-forest"\nlabel = "lr-2"\nparams = { n_estimators = 20 }')
    (tmp_path / "forest.toml").write_text(forest)
    paretau.run(tmp_path / "forest.toml", tmp_path / "out", tune=2, realisations=1)
    records = [json.loads(line) for line in (tmp_path / "out" / "records.jsonl").read_text().splitlines()]
    (found,) = [record["found"] for record in records if "found" in record]
    assert found["trials"] == 2 and found["value"] <= found["default_value"]
    assert "Not searched: lr-1." in (tmp_path / "out" / "tuning.md").read_text()
    with pytest.raises(paretau.ParetauError, match="no method of the plan has a parameter to search"):
        paretau.run("first-look", tmp_path / "none", tune=2)
    with pytest.raises(paretau.UsageError, match="quick"):
        paretau.run("first-look", tmp_path / "none", tune=2, quick=True)
    with pytest.raises(paretau.UsageError, match="tune must be 1 or more"):
        paretau.run("first-look", tmp_path / "none", tune=0)
    assert not (tmp_path / "none").exists()
