"""Fits in forked processes, in joblib's workers, one after another, and calls that Ctrl-C ends."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import sys
import threading
import time

import numpy as np
import paretau
import pytest

pytestmark = pytest.mark.filterwarnings("ignore")


def answers(seed: int, x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Effects by a fit of its own."""
    return paretau.CausalForest(n_estimators=24, random_state=seed).fit(x, y, treatment=t).effect(x)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_process_fits_and_predicts(data):
    # Threads of the parent's pool are gone in the child, which must not wait for them.
    expected = answers(0, data.X, data.y, data.treatment)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        found = pool.starmap_async(answers, [(seed, data.X, data.y, data.treatment) for seed in (0, 1)]).get(timeout=120)
    np.testing.assert_array_equal(found[0], expected)


def test_joblib_workers_give_the_same_numbers(data):
    joblib = pytest.importorskip("joblib")
    expected = [answers(seed, data.X, data.y, data.treatment) for seed in (0, 1)]
    work = (joblib.delayed(answers)(seed, data.X, data.y, data.treatment) for seed in (0, 1))
    found = joblib.Parallel(n_jobs=2, backend="loky")(work)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the system's table of memory is read")
def test_many_fits_leave_no_memory_behind(data):
    def held() -> int:
        gc.collect()
        with open("/proc/self/statm") as pages:
            return int(pages.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    x, y, t = data.X[:60], data.y[:60], data.treatment[:60]

    def fits(n: int) -> None:
        for seed in range(n):
            paretau.LinearEffect(random_state=seed, n_jobs=1).fit(x, y, treatment=t).effect(x)

    fits(20)  # pools and caches
    before = held()
    fits(60)
    # A model and its rows are some hundred kB: kept ones would be 6 MB at least.
    assert held() - before < 3_000_000


def interrupted(call, after: float) -> float:
    """Seconds from Ctrl-C to its exception."""
    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
            time.sleep(3600)  # a call that ends before Ctrl-C proves nothing
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, handler)
    return time.perf_counter() - sent[0]


@pytest.mark.skipif(os.name == "nt", reason="signals to oneself end the process there")
@pytest.mark.parametrize("what", ["effect", "shap_values", "refute", "compare"])
def test_ctrl_c_ends_every_long_call(what, data):
    forest = paretau.CausalForest(n_estimators=400).fit(data.X, data.y, treatment=data.treatment)
    many = np.tile(data.X, (4000, 1))
    frame = __import__("pandas").DataFrame(data.X, columns=list("abcde")).assign(t=data.treatment, y=data.y)
    calls = {
        "effect": lambda: [forest.effect(many) for _ in range(100)],
        "shap_values": lambda: forest.shap_values(many[:200], background=many[:200], permutations="exact"),
        "refute": lambda: forest.refute(data.X, data.y, treatment=data.treatment, replicates=10_000),
        "compare": lambda: paretau.compare(frame, treatment="t", outcome="y", estimators=["causal-forest", "x-learner"]),
    }
    # Generous, because the machine may be busy; a deaf call would not end within minutes.
    assert interrupted(calls[what], 1.0) < 30


@pytest.mark.skipif(os.name == "nt", reason="signals to oneself end the process there")
def test_ctrl_c_does_not_wait_for_the_decomposition_of_wide_data():
    rng = np.random.default_rng(0)
    n, d = 4000, 2000
    x = rng.normal(size=(n, d))
    t = rng.integers(0, 2, n)
    y = x[:, 0] + t + rng.normal(size=n)
    # Alone the decomposition takes many times as long.
    assert interrupted(lambda: paretau.LinearEffect().fit(x, y, treatment=t), 1.5) < 3


def test_partial_dependence_of_an_effect(data):
    inspection = pytest.importorskip("sklearn.inspection")
    est = paretau.LinearEffect().fit(data.X, data.y, treatment=data.treatment)
    found = inspection.partial_dependence(est, data.X, [0], grid_resolution=7, kind="average")
    slope = np.polyfit(found["grid_values"][0], found["average"][0], 1)[0]
    assert abs(slope - est.coef_[0]) < 1e-9
