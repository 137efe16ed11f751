"""Ctrl-C is heard within a second, whatever is being done."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

#: Calls that take many seconds, each made ready by the lines before it.
LONG = {
    "fit": ("", "paretau.CausalForest(n_estimators=4000).fit(X, y, treatment=t)"),
    "effect": ("est = fitted()", "est.effect(np.tile(X, (400, 1)))"),
    "shap_values": ("est = paretau.CausalForest(n_estimators=40).fit(X, y, treatment=t)", "est.shap_values(np.tile(X, (20, 1)))"),
    "refute": ("est = fitted()", "est.refute(X, y, treatment=t, replicates=2000)"),
    "compare": ("", "paretau.compare(frame(), treatment='t', outcome='y', estimators=['causal-forest', 'lr-2'])"),
    "evaluate": ("est = fitted()", "est.evaluate(big, big_y, treatment=big_t)"),
    "roles": ("", "paretau.roles(frame(), treatment='t', outcome='y')"),
    "read": ("path = written()", "paretau.fit('lr-2', path, treatment='t', outcome='y')"),
}

PROGRAM = """
    import _thread, os, signal, sys, tempfile, threading, time, warnings
    import numpy as np
    import pandas as pd
    import paretau

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8))
    t = rng.integers(0, 2, 2000)
    y = X[:, 0] + t + rng.normal(size=2000)
    big = rng.normal(size=(60_000, 8))
    big_t = rng.integers(0, 2, 60_000)
    big_y = big[:, 0] + big_t + rng.normal(size=60_000)

    def fitted():
        return paretau.LinearEffect().fit(X, y, treatment=t)

    def frame():
        return pd.DataFrame(big).rename(columns="x{{}}".format).assign(t=big_t, y=big_y)

    def written():
        path = os.path.join(tempfile.mkdtemp(), "x.csv")
        frame().to_csv(path, index=False)
        return path

    {ready}
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Timer(0.5, press).start()
    try:
        while True:
            {call}
    except KeyboardInterrupt:
        print(time.perf_counter() - pressed[0])
"""


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_is_heard(name):
    ready, call = LONG[name]
    program = textwrap.dedent(PROGRAM).format(ready=ready, call=call)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    # A second on an idle machine; crowded ones are slower, and a call that hears nothing takes minutes.
    assert float(done.stdout) < 10, f"{name} went on for {done.stdout} s"
