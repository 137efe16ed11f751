"""A fit lets other Python threads run, and Ctrl-C stops it."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import paretau
import pytest
from conftest import CLASSES


@pytest.fixture(scope="module")
def large():
    """Data that keep an estimator busy for a while."""
    rng = np.random.default_rng(0)
    n, d = 60_000, 60
    x = rng.normal(size=(n, d))
    t = rng.integers(0, 2, n)
    return x, x[:, 0] + t + rng.normal(size=n), t


def test_other_threads_run_during_a_fit(large):
    x, y, t = large
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    paretau.LinearEffect(n_jobs=1).fit(x, y, treatment=t)
    end = time.perf_counter()
    stop.set()
    thread.join()
    during = [s for s in ticks if start < s < end]
    longest = max(np.diff([start, *during, end]))
    # With the interpreter held, one gap would be the whole fit.
    assert len(during) > 20
    assert longest < 0.5 * (end - start)


def slow_estimator():
    """An estimator whose fit lasts many seconds and asks about interruption, if the registry has one."""
    for cls in CLASSES:
        if "n_estimators" in cls._get_param_names():
            return cls(n_estimators=20_000)
    return None


def test_ctrl_c_stops_a_fit(large):
    slow = slow_estimator()
    if slow is None:
        pytest.skip("no estimator of the registry is slow enough")
    x, y, t = large
    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    try:
        with pytest.raises(KeyboardInterrupt):
            slow.fit(x, y, treatment=t)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    assert time.perf_counter() - start < 20
    assert not hasattr(slow, "model_")


def test_an_exception_of_the_listener_stops_the_fit(data, monkeypatch):
    def fail(self, text):
        raise RuntimeError("the listener fell over")

    monkeypatch.setattr("paretau._progress.Progress.__call__", fail)
    with pytest.raises(RuntimeError, match="fell over"):
        paretau.LinearEffect(verbose=True).fit(data.X, data.y, treatment=data.treatment)


def test_threads_may_share_a_model(fitted, data):
    expected = fitted.effect(data.X)
    results: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: results.append(fitted.effect(data.X))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 8
    assert all(np.array_equal(r, expected) for r in results)


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_two_fits_in_threads_are_the_fits_one_after_the_other(data):
    def fitted(seed):
        return paretau.CausalForest(n_estimators=40, random_state=seed).fit(data.X, data.y, treatment=data.treatment)

    expected = [fitted(seed).effect(data.X) for seed in (0, 1)]
    found: dict[int, np.ndarray] = {}
    threads = [threading.Thread(target=lambda s=s: found.__setitem__(s, fitted(s).effect(data.X))) for s in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(found[seed], expected[seed]) for seed in (0, 1))
