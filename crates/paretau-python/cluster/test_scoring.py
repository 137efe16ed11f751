"""Scoring on Ray Data, Spark and Dask: the bits of the plain command, and nothing lost when a worker is."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import paretau
import pytest
from paretau import cluster


@pytest.fixture(scope="module")
def scored(people, tmp_path_factory):
    """A model file, rows with their numbers, and their effects as the model gives them."""
    rows = people.drop(columns=["mu0", "mu1", "e"]).assign(who=[f"p{k:05}" for k in range(len(people))])
    model = paretau.fit("causal-forest", rows, treatment="t", outcome="y", ignore=["who"], n_estimators=50)
    file = tmp_path_factory.mktemp("model") / "m.paretau"
    model.save(file)
    low, high = model.effect_interval(rows, alpha=0.1)
    return str(file), rows, model.effect(rows), low, high


def check(frame, scored):
    frame = frame.sort_values("who")
    assert (frame["who"].to_numpy() == scored[1]["who"].to_numpy()).all()
    for name, expected in zip(("tau", "lo", "hi"), scored[2:], strict=True):
        assert np.array_equal(frame[name].to_numpy(np.float64), expected), name


def test_ray_data(scored, ray_nodes):
    import ray

    rows = ray.data.from_pandas([scored[1].iloc[k::4] for k in range(4)])
    score = cluster.ray_scorer(scored[0], interval=0.9, id="who")
    check(rows.map_batches(score, batch_format="pyarrow", batch_size=300, concurrency=1, num_cpus=1).to_pandas(), scored)


def test_dask(scored, dask_client):
    import dask.dataframe as dd

    rows = dd.from_pandas(scored[1], npartitions=4)
    check(cluster.dask_scorer(scored[0], rows, interval=0.9, id="who").compute(), scored)


def test_spark(scored, spark):
    rows = spark.createDataFrame(scored[1]).repartition(4)
    score, schema = cluster.spark_scorer(scored[0], spark, interval=0.9, id="who")
    check(rows.mapInArrow(score, schema).toPandas(), scored)


def test_a_killed_spark_worker_loses_nothing(scored, spark):
    import psutil

    rows = spark.createDataFrame(scored[1]).repartition(8)
    score, schema = cluster.spark_scorer(scored[0], spark, interval=0.9, id="who")
    killed = []

    def slow(batches):
        import time

        time.sleep(1)
        yield from score(batches)

    def watch():
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            for child in psutil.Process().children(recursive=True):
                try:
                    if "CoarseGrainedExecutorBackend" in " ".join(child.cmdline()):
                        time.sleep(1.5)
                        os.kill(child.pid, signal.SIGKILL)
                        killed.append(child.pid)
                        return
                except (psutil.Error, ProcessLookupError):
                    continue
            time.sleep(0.1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    check(rows.mapInArrow(slow, schema).toPandas(), scored)
    thread.join()
    assert killed


def test_a_foreign_model_file_is_refused_before_anything_is_sent(spark, tmp_path):
    (tmp_path / "odd.paretau").write_bytes(b"not a model")
    with pytest.raises(paretau.ModelFileError):
        cluster.spark_scorer(str(tmp_path / "odd.paretau"), spark)
