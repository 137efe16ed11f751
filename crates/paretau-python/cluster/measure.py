"""What two single-core workers gain, what a task costs, and what scoring yields beside EconML. Prints a table.

    .venv-cluster/bin/python crates/paretau-python/cluster/measure.py [cells] [tasks] [scoring] [econml]

Everything is asked of Dask with one and with two worker processes of one thread, which need the least of their own; `econml` runs both forests
under Spark's `mapInArrow` and `mapInPandas` with one worker (needs `econml` installed). Times are by the clock, the best of two: on a machine
that does other work speed-ups are wrong in both directions, since two workers then get twice as many turns as one. The load is printed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import paretau

CELLS = """
name = "cells"
summary = "cells of some seconds"

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 2000, d = 9, noise = 0.1 }
realisations = [1, 2, 3, 4, 5, 6]

[[methods]]
estimator = "causal-forest"
params = { n_estimators = 400 }
"""
TASKS = """
name = "tasks"
summary = "cells of some milliseconds"

[[data]]
name = "synthetic"
simulator = "synthetic"
params = { n = 200, d = 3, noise = 0.1 }
realisations = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]

[[methods]]
estimator = "lr-1"
"""
#: Rows to score, and rows of a partition.
ROWS, PART = 400_000, 50_000


def seconds(work: Callable[[], object]) -> float:
    """The shorter of two times by the clock."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def with_dask(workers: int, work: Callable[[object], object]) -> float:
    """Seconds of something that is done by so many worker processes."""
    import distributed

    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(lambda: __import__("paretau"))
        return seconds(lambda: work(client))


def run(plan: str, executor: object) -> None:
    """A whole study, from the start."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "plan.toml")
        file.write_text(plan)
        done = paretau.run(file, Path(folder, "out"), executor=executor, n_jobs=1)
        assert done["failed"] == 0, done


def cells() -> list[str]:
    one, two = (with_dask(workers, lambda client: run(CELLS, client)) for workers in (1, 2))
    return [f"| 6 cells of a causal forest, 1 and 2 workers | {one:.1f} s, {two:.1f} s | speed-up {one / two:.2f} |"]


def tasks() -> list[str]:
    here = seconds(lambda: run(TASKS, None))
    there = with_dask(1, lambda client: run(TASKS, client))
    return [f"| 20 cells of milliseconds, here and on 1 worker | {here:.2f} s, {there:.2f} s | {1000 * (there - here) / 20:.0f} ms per task |"]


def people(folder: str):
    """A model file and a folder of rows to score."""
    train = paretau.make_synthetic(n=5000, d=9, noise=0.5, random_state=1).frame()
    model = paretau.fit("causal-forest", train, treatment="t", outcome="y", n_estimators=200)
    file = str(Path(folder, "m.paretau"))
    model.save(file)
    rows = Path(folder, "rows")
    rows.mkdir()
    for k in range(ROWS // PART):
        paretau.make_synthetic(n=PART, d=9, noise=0.5, random_state=k).frame().to_parquet(rows / f"{k}.parquet")
    return file, rows, train


def scoring() -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        file, rows, _ = people(folder)

        def score(client) -> None:
            import dask.dataframe as dd

            from paretau.cluster import dask_scorer

            effects = dask_scorer(file, dd.read_parquet(rows), interval=0.95)
            assert client.compute(effects["tau"].count()).result() == ROWS

        one, two = (with_dask(workers, score) for workers in (1, 2))
    return [
        f"| {ROWS} rows scored with intervals, 1 and 2 workers | {one:.1f} s, {two:.1f} s | speed-up {one / two:.2f}; "
        f"{ROWS / one / 1000:.0f} thousand rows per second and worker |"
    ]


def econml() -> list[str]:
    from econml.grf import CausalForest
    from pyspark.sql import SparkSession

    from paretau.cluster import spark_scorer

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    try:
        with tempfile.TemporaryDirectory() as folder:
            file, rows, train = people(folder)
            features = [name for name in train.columns if name.startswith("x")]
            x, t, y = (train[names].to_numpy() for names in (features, ["t"], ["y"]))
            theirs = CausalForest(n_estimators=200, random_state=1).fit(x, t - t.mean(), y - y.mean())
            sent = spark.sparkContext.broadcast(theirs)

            def effects(frames):
                for frame in frames:
                    point, low, high = sent.value.predict(frame[features].to_numpy(), interval=True, alpha=0.05)
                    yield frame[[]].assign(tau=point[:, 0], lo=low[:, 0], hi=high[:, 0])

            table = spark.read.parquet(str(rows))
            score, schema = spark_scorer(file, spark, interval=0.95)

            def write(result) -> None:
                result.write.format("noop").mode("overwrite").save()

            ours = seconds(lambda: write(table.mapInArrow(score, schema)))
            peer = seconds(lambda: write(table.mapInPandas(effects, "tau double, lo double, hi double")))
    finally:
        spark.stop()
    return [
        f"| {ROWS} rows with intervals on one Spark core: paretau, EconML | {ours:.1f} s, {peer:.1f} s | "
        f"{ROWS / ours / 1000:.0f} and {ROWS / peer / 1000:.0f} thousand rows per second |"
    ]


def main() -> None:
    parts = {"cells": cells, "tasks": tasks, "scoring": scoring, "econml": econml}
    print("| what | time | that is |\n|---|---|---|")
    for name in sys.argv[1:] or parts:
        for line in parts[name]():
            print(line, flush=True)
    print(f"\nLoad of the machine at the end: {os.getloadavg()[1]:.1f} processes that want to run, on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
