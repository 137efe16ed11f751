"""Runs, searches, comparisons and intervals on Ray and Dask: the records and bits of a local run, whatever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import paretau
import pytest
from conftest import records
from paretau import executors

PLAN = """
name = "killed"
summary = "cells of about a second"

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 1500, d = 9, noise = 0.1 }
realisations = [1, 2, 3]

[[methods]]
estimator = "causal-forest"
params = { n_estimators = 200 }

[[methods]]
estimator = "lr-2"
"""


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """The plan and the records of a local run."""
    folder = tmp_path_factory.mktemp("plan")
    (folder / "plan.toml").write_text(PLAN)
    paretau.run(folder / "plan.toml", folder / "here")
    return folder / "plan.toml", records(folder / "here")


@pytest.fixture(params=["ray", "dask", "joblib"])
def executor(request):
    if request.param == "ray":
        request.getfixturevalue("ray_nodes")
    elif request.param == "dask":
        return request.getfixturevalue("dask_client")
    return request.param


def same(comparison):
    return [{k: v for k, v in row.items() if k != "seconds"} for row in comparison.rows], comparison.verdict


def test_a_run(plan, executor, tmp_path):
    done = paretau.run(plan[0], tmp_path / "there", executor=executor)
    assert done["failed"] == 0
    assert records(tmp_path / "there") == plan[1]


def test_a_search(people, executor):
    settings = {"treatment": "t", "outcome": "y", "trials": 4, "folds": 2, "search": "random", "n_estimators": 50}
    assert paretau.tune("causal-forest", people, executor=executor, **settings) == paretau.tune("causal-forest", people, **settings)


def test_a_comparison(people, executor):
    settings = {"treatment": "t", "outcome": "y", "estimators": ["lr-2", "x-learner"], "folds": 3}
    assert same(paretau.compare(people, executor=executor, **settings)) == same(paretau.compare(people, **settings))


def test_intervals(people, executor):
    x = people[[c for c in people.columns if c.startswith("x")]]
    here, there = (
        paretau.LinearEffect().fit(x, people["y"], treatment=people["t"], intervals=10, executor=where)
        for where in (None, executor)
    )
    assert here.model_.to_bytes() == there.model_.to_bytes()


def killer(find):
    """Kills the first worker that `find` names, in the background."""
    killed = []

    def watch():
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            for pid in find():
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return
            time.sleep(0.02)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return killed


def test_a_killed_ray_worker_loses_nothing(plan, ray_nodes, tmp_path):
    killed = killer(lambda: [pid for node in ray_nodes for pid in node.workers()])
    done = paretau.run(plan[0], tmp_path / "there", executor="ray")
    assert killed and done["failed"] == 0
    assert records(tmp_path / "there") == plan[1]


def test_a_killed_dask_worker_loses_nothing(plan, dask_client, tmp_path):
    pids = list(dask_client.run(os.getpid).values())

    def busy():
        return pids[:1] if any(dask_client.processing().values()) else []

    killed = killer(busy)
    done = paretau.run(plan[0], tmp_path / "there", executor=dask_client)
    assert killed and done["failed"] == 0
    assert records(tmp_path / "there") == plan[1]


def test_a_killed_driver_resumes(plan, ray_nodes, tmp_path):
    code = f"import paretau; paretau.run({str(plan[0])!r}, {str(tmp_path / 'there')!r}, executor='ray')"
    driver = subprocess.Popen([sys.executable, "-c", code])
    file = tmp_path / "there" / "records.jsonl"
    deadline = time.monotonic() + 180
    while not (file.exists() and file.read_text().count("\n") >= 1):
        assert driver.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    driver.kill()
    driver.wait()
    before = file.read_text().count("\n")
    done = paretau.run(plan[0], tmp_path / "there", executor="ray", resume=True)
    assert done["kept"] == before and done["done"] == 6 - before
    assert records(tmp_path / "there") == plan[1]


def test_a_task_out_of_memory_is_a_record(tmp_path):
    (tmp_path / "plan.toml").write_text(PLAN.replace("n = 1500, d = 9", "n = 30000000, d = 21").replace("[1, 2, 3]", "[1]"))
    done = paretau.run(tmp_path / "plan.toml", tmp_path / "out", executor=executors.Processes(1, memory_mb=3000))
    assert (done["cells"], done["failed"]) == (2, 2)
    assert all("vanished" in record["error"] for record in records(tmp_path / "out").values())


def test_clusters_that_are_not_there(people):
    settings = {"treatment": "t", "outcome": "y", "estimators": ["lr-2"]}
    with pytest.raises(paretau.ClusterError, match="dask scheduler"):
        paretau.compare(people, executor=executors.Dask("tcp://127.0.0.1:9"), **settings)


def test_a_ray_cluster_that_is_not_there(tmp_path):
    code = (
        "import paretau\nfrom paretau import executors\n"
        "try:\n    paretau.run('first-look', 'nowhere', executor=executors.Ray('127.0.0.1:9'))\n"
        "except paretau.ClusterError as error:\n    print('refused', 'ray start' in str(error))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert done.stdout.strip().endswith("refused True"), done.stderr[-2000:]
    assert "records.jsonl" not in str(list(tmp_path.rglob("*"))) or not (tmp_path / "nowhere/records.jsonl").read_text()


def test_more_cpus_than_a_node_has_are_refused(people, ray_nodes):
    with pytest.raises(paretau.ClusterError, match="no node"):
        paretau.compare(people, treatment="t", outcome="y", estimators=["lr-2"], executor=executors.Ray(cpus=64))
