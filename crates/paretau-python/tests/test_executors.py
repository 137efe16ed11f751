"""The same records wherever the fits of a study are done, and what happens when a worker is lost."""

from __future__ import annotations

import concurrent.futures as futures
import json
import os
import signal

import paretau
import pytest
from paretau import _worker, executors

PLAN = """
name = "small"
summary = "two linear methods"

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 300, d = 6, noise = 0.1 }
realisations = [1, 2]

[[methods]]
estimator = "lr-1"

[[methods]]
estimator = "lr-2"
"""


def records(folder):
    """Records of a run by key, without what a clock says."""
    lines = (folder / "records.jsonl").read_text().splitlines()
    found = {record["key"]: record for record in map(json.loads, lines)}
    assert len(found) == len(lines)
    for record in found.values():
        del record["seconds"]
    return found


def same(comparison):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in comparison.rows], comparison.verdict


@pytest.fixture(scope="module")
def people():
    return paretau.make_synthetic(n=300, d=6, noise=0.5, random_state=3).frame()


@pytest.fixture(scope="module")
def pool():
    """Two processes that several tests share."""
    import multiprocessing

    with futures.ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        yield executors.Futures(pool, workers=2)


def test_a_run_has_the_same_records(tmp_path, pool):
    (tmp_path / "plan.toml").write_text(PLAN)
    paretau.run(tmp_path / "plan.toml", tmp_path / "here")
    done = paretau.run(tmp_path / "plan.toml", tmp_path / "there", executor=pool)
    assert (done["cells"], done["done"], done["failed"]) == (4, 4, 0)
    assert records(tmp_path / "there") == records(tmp_path / "here")
    assert (tmp_path / "there/comparison.md").read_text() == (tmp_path / "here/comparison.md").read_text()
    again = paretau.run(tmp_path / "plan.toml", tmp_path / "there", executor=pool, resume=True)
    assert (again["done"], again["kept"]) == (0, 4)


def test_a_run_with_searches_has_the_same_records(tmp_path, pool):
    forest = PLAN.replace('estimator = "lr-2"', 'estimator = "causal-forest"\nparams = { n_estimators = 20 }')
    (tmp_path / "plan.toml").write_text(forest)
    for name, executor in (("here", None), ("there", pool)):
        paretau.run(tmp_path / "plan.toml", tmp_path / name, tune=2, realisations=1, executor=executor)
    assert records(tmp_path / "there") == records(tmp_path / "here")
    (here,), (there,) = (list((tmp_path / name / "tuning").iterdir()) for name in ("here", "there"))
    assert here.read_text() == there.read_text()


@pytest.mark.parametrize("search", ["random", "tpe"])
def test_a_search_has_the_same_trials(people, pool, search, tmp_path):
    settings = {"treatment": "t", "outcome": "y", "trials": 3, "folds": 2, "search": search, "n_estimators": 20}
    here = paretau.tune("causal-forest", people, **settings)
    file = tmp_path / "trials.jsonl"
    assert paretau.tune("causal-forest", people, executor=pool, records=file, **settings) == here
    assert paretau.tune("causal-forest", people, records=file, resume=True, **settings) == here


def test_a_comparison_is_the_same_and_resumes(people, pool, tmp_path):
    settings = {"treatment": "t", "outcome": "y", "estimators": ["lr-1", "lr-2"], "folds": 3}
    here = same(paretau.compare(people, **settings))
    file = tmp_path / "tasks.jsonl"
    assert same(paretau.compare(people, executor=pool, records=file, **settings)) == here
    lines = file.read_text().splitlines()
    assert len(lines) == 6
    # A driver that was killed in the middle of its fourth line.
    file.write_text("\n".join(lines[:3]) + "\n" + lines[3][:50])
    assert same(paretau.compare(people, records=file, resume=True, **settings)) == here
    assert len(file.read_text().splitlines()) == 6
    with pytest.raises(paretau.DataError, match="resume"):
        paretau.compare(people, records=file, **settings)


def test_intervals_are_the_same(data, pool):
    fits = [
        paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment, intervals=10, executor=executor)
        for executor in (None, pool)
    ]
    assert fits[0].model_.to_bytes() == fits[1].model_.to_bytes()


def test_workers_read_a_file_and_say_when_it_is_not_there_or_another(people, tmp_path, pool, monkeypatch):
    file = tmp_path / "people.parquet"
    people.to_parquet(file)
    settings = {"treatment": "t", "outcome": "y", "estimators": ["lr-2"], "folds": 2}
    here = same(paretau.compare(file, **settings))
    assert same(paretau.compare(file, executor=pool, **settings)) == here
    elsewhere = tmp_path / "gone.parquet"
    real = executors.over
    monkeypatch.setattr(executors, "over", lambda executor, table, path: real(executor, table, str(elsewhere)))
    with pytest.raises(paretau.ClusterError, match=r"gone\.parquet"):
        paretau.compare(file, executor=pool, **settings)
    people.iloc[::-1].to_parquet(elsewhere)
    with pytest.raises(paretau.ClusterError, match="same file"):
        paretau.compare(file, executor=pool, **settings)


def test_another_version_is_refused():
    what, message = _worker.perform("{}", None, None, 1, "0.0.1")
    assert what == "fault" and "0.0.1" in message and "same version" in message


def murder(task, *rest):
    """A worker that dies with the first task it gets, once or always."""
    once = os.environ["PARETAU_TEST_ONCE"]
    if once == "always" and '"lr-2"' in task:
        os.kill(os.getpid(), signal.SIGKILL)
    if once != "always" and not os.path.exists(once):
        open(once, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return _worker.perform(task, *rest)


def test_the_task_of_a_killed_worker_is_done_again(tmp_path, monkeypatch):
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setattr(executors, "perform", murder)
    monkeypatch.setenv("PARETAU_TEST_ONCE", str(tmp_path / "once"))
    paretau.run(tmp_path / "plan.toml", tmp_path / "here")
    done = paretau.run(tmp_path / "plan.toml", tmp_path / "there", executor=executors.Processes(2))
    assert (tmp_path / "once").exists() and done["failed"] == 0
    assert records(tmp_path / "there") == records(tmp_path / "here")


def test_a_task_that_always_kills_its_worker_is_a_record(tmp_path, monkeypatch):
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.setattr(executors, "perform", murder)
    monkeypatch.setenv("PARETAU_TEST_ONCE", "always")
    done = paretau.run(tmp_path / "plan.toml", tmp_path / "out", realisations=1, executor=executors.Processes(1))
    assert (done["cells"], done["failed"]) == (2, 1)
    failed = [record for record in records(tmp_path / "out").values() if "error" in record]
    assert len(failed) == 1 and "vanished 3 times" in failed[0]["error"]


def test_refusals(people):
    with pytest.raises(paretau.UsageError, match="'processes'"):
        paretau.tune("lr-2", people, treatment="t", outcome="y", executor="cluster")
    with pytest.raises(paretau.UsageError, match="submit"):
        paretau.compare(people, treatment="t", outcome="y", executor=3)
    with pytest.raises(paretau.UsageError, match="workers"):
        executors.Processes(0)
