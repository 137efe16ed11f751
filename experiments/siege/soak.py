"""Long use of one build: rows without end, columns without end, fits without end.

    python experiments/siege/soak.py target/release/paretau        # rows and columns, by the command line; or one of them by name
    .venv/bin/python experiments/siege/soak.py --python            # 1 000 fits, or so many, in one Python process

Prints tables; experiments/siege/soak.md keeps those of the last time.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def measured(command: list[str]) -> tuple[float, float]:
    """Processor seconds, which a busy machine does not change much, and peak memory in MB of a command that must end well."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = usage.ru_utime + usage.ru_stime
    message = process.stderr.read().decode(errors="replace")
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with {status}: {message}")
    return seconds, usage.ru_maxrss / 1024


def rows(program: str, folder: Path) -> None:
    """Effects of ever more rows: the memory must not follow."""
    few, model = folder / "few.csv", folder / "m.paretau"
    measured([program, "simulate", "synthetic", "--n", "10000", "--set", "d=3", "--out", str(few)])
    roles = ["--treatment", "t", "--outcome", "y"]
    measured([program, "fit", str(few), *roles, "-e", "lr-2", "--out", str(model)])
    header, body = few.read_bytes().split(b"\n", 1)
    print("| rows | file, MB | processor seconds | peak, MB |\n|---|---|---|---|")
    for millions in (0.1, 1, 10):
        many = folder / "many.csv"
        with many.open("wb") as file:
            file.write(header + b"\n")
            for _ in range(int(millions * 100)):
                file.write(body)
        size = many.stat().st_size / 1e6
        command = [program, "effect", str(model), str(many), "--out", str(folder / "effects.parquet"), "--quiet"]
        seconds, peak = measured(command)
        print(f"| {millions * 1e6:,.0f} | {size:.0f} | {seconds:.1f} | {peak:.0f} |", flush=True)
        many.unlink()


def columns(program: str, folder: Path) -> None:
    """100 rows of ever more columns: the time of a fit and of its effects must grow no faster than they do."""
    import random

    draws = random.Random(1)
    small = {
        "lr-2": [],
        "t-learner": ["--set", "base=lasso"],
        "dr-learner": ["--set", "base=ridge"],
        "causal-forest": ["--set", "n_estimators=50"],
    }
    print("| estimator | columns | fit, processor s | effect, processor s | peak of the fit, MB |\n|---|---|---|---|---|")
    for n in (1_000, 10_000, 100_000):
        wide = folder / "wide.csv"
        with wide.open("w") as file:
            file.write("t,y," + ",".join(f"x{j}" for j in range(n)) + "\n")
            for i in range(100):
                x = [f"{draws.gauss(0, 1):.4f}" for _ in range(n)]
                file.write(f"{i % 2},{float(x[0]) + (i % 2) + draws.gauss(0, 0.5):.4f}," + ",".join(x) + "\n")
        for name, more in small.items():
            model = folder / "wide.paretau"
            fit = [program, "fit", str(wide), "--treatment", "t", "--outcome", "y", "-e", name, *more, "--quiet"]
            fitted, peak = measured([*fit, "--out", str(model)])
            effect, _ = measured([program, "effect", str(model), str(wide), "--out", str(folder / "w.csv"), "--quiet"])
            print(f"| {name} | {n:,} | {fitted:.1f} | {effect:.1f} | {peak:.0f} |", flush=True)


def resident() -> float:
    """Memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def fits(most: int) -> None:
    """So many fits in one process, then 24 at once in threads, which must agree with one of them alone."""
    import numpy as np
    import paretau

    draws = np.random.default_rng(0)
    x = draws.normal(size=(300, 5))
    t = draws.integers(0, 2, 300)
    y = x[:, 0] + t * (1 + x[:, 1]) + draws.normal(size=300)

    def fit() -> np.ndarray:
        return paretau.LinearEffect(random_state=0).fit(x, y, treatment=t).effect(x)

    alone = fit()
    print("| fits | resident, MB |\n|---|---|")
    for done in range(1, most + 1):
        fit()
        if done in (1, 10, 100, 250, 500, 750, 1000):
            print(f"| {done} | {resident():.0f} |", flush=True)
    found: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: found.append(fit())) for _ in range(24)]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same = sum(bool((one == alone).all()) for one in found)
    print(f"\n{same} of 24 fits at once gave the bits of the fit alone, in {time.monotonic() - start:.1f} s.")


def main() -> None:
    if sys.argv[1] == "--python":
        fits(int(sys.argv[2]) if len(sys.argv) > 2 else 1000)
        return
    program = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:] or ["rows", "columns"]
    with tempfile.TemporaryDirectory() as folder:
        if "rows" in wanted:
            rows(program, Path(folder))
            print()
        if "columns" in wanted:
            columns(program, Path(folder))


main()
