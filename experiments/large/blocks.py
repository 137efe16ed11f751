"""Fits in blocks of rows beside ordinary fits: what they cost, and what they lose. Needs nothing but Python and the command.

    python experiments/large/blocks.py cost PARETAU FOLDER ROWS:BLOCK_ROWS...
    python experiments/large/blocks.py accuracy PARETAU FOLDER DRAWS DESIGN...

`cost` prints the table of peak memory and processor time: the data are simulated part by part (`grf`, design `aw2`, 20 features, parts of
250 000 rows), a causal forest of 200 trees is fitted with one thread; BLOCK_ROWS as many as ROWS is an ordinary fit.
`accuracy` prints root mean squared errors of effects of 4000 new rows and how often their 95 % intervals hold the truth, for an
ordinary forest of 200 trees on 10 000 rows, the same in 2 and 5 blocks, and an ordinary one on the rows of one block alone.
Files are made in FOLDER and removed at the end.
"""

import csv
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROLES = ["--treatment", "t", "--outcome", "y", "--truth", "mu0,mu1", "--ignore", "e"]
PART = 250_000


def command(*args: object) -> str:
    """Output of a run that must succeed."""
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{args}: {done.stderr}")
    return done.stdout


def measured(*args: object) -> tuple[float, float]:
    """Processor seconds and peak memory in MB of a run."""
    child = subprocess.Popen([str(a) for a in args], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert child.stderr is not None
    errors = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{args}: {errors}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def cost(paretau: str, folder: Path, sizes: list[str]) -> None:
    print("| rows | rows per block | blocks | processor seconds | processor seconds per million rows | peak memory, MB | model file, MB |")
    print("|---|---|---|---|---|---|---|")
    for size in sizes:
        n, block = (int(part) for part in size.split(":"))
        data = folder / f"data-{n}"
        data.mkdir(exist_ok=True)
        for k in range(math.ceil(n / PART)):
            part = data / f"part-{k:05}.parquet"
            if not part.exists():
                rows = min(PART, n - k * PART)
                command(paretau, "simulate", "grf", "--set", "design=aw2", "--n", rows, "--d", 20, "--seed", k, "--out", part, "--quiet")
        model = folder / "model.paretau"
        forest = ["-e", "causal-forest", "--set", "n_estimators=200", "--threads", 1, "--block-rows", block]
        seconds, memory = measured(paretau, "fit", data, *ROLES, *forest, "--out", model, "--force", "--quiet")
        megabytes = model.stat().st_size / 2**20
        blocks = math.ceil(n / block)
        print(f"| {n} | {block} | {blocks} | {seconds:.0f} | {1e6 * seconds / n:.0f} | {memory:.0f} | {megabytes:.1f} |", flush=True)


def accuracy(paretau: str, folder: Path, draws: int, designs: list[str]) -> None:
    fits = {"one fit of 10 000 rows": (10_000, 10_000), "2 blocks": (10_000, 5_000), "5 blocks": (10_000, 2_000), "one block alone": (2_000, 2_000)}
    print("| design | fit | error of effects | share of intervals that hold | mean width | error of the average | averages that hold |")
    print("|---|---|---|---|---|---|---|")
    for design in designs:
        found: dict[str, list[tuple[float, ...]]] = {name: [] for name in fits}
        for draw in range(draws):
            test, train = folder / "test.csv", {}
            simulate = [paretau, "simulate", "grf", "--set", f"design={design}", "--d", 10, "--quiet"]
            command(*simulate, "--n", 4_000, "--seed", 10_000 + draw, "--out", test, "--force")
            for n in {rows for rows, _ in fits.values()}:
                train[n] = folder / f"train-{n}.csv"
                command(*simulate, "--n", n, "--seed", draw, "--out", train[n], "--force")
            truth = [float(row["mu1"]) - float(row["mu0"]) for row in csv.DictReader(test.open())]
            for name, (n, block) in fits.items():
                forest = ["-e", "causal-forest", "--set", "n_estimators=200", "--block-rows", block, "--seed", draw]
                model, effects = folder / "model.paretau", folder / "effects.csv"
                output = command(paretau, "fit", train[n], *ROLES, *forest, "--out", model, "--force", "--json", "--quiet")
                ate = json.loads(output)["averages"]["ate"]
                command(paretau, "effect", model, test, "--interval", 0.95, "--out", effects, "--force", "--quiet")
                rows = [(float(r["tau"]), float(r["lo"]), float(r["hi"])) for r in csv.DictReader(effects.open())]
                error = math.sqrt(statistics.fmean((row[0] - t) ** 2 for row, t in zip(rows, truth, strict=True)))
                holds = statistics.fmean(row[1] <= t <= row[2] for row, t in zip(rows, truth, strict=True))
                width = statistics.fmean(row[2] - row[1] for row in rows)
                mean = statistics.fmean(float(r["mu1"]) - float(r["mu0"]) for r in csv.DictReader(train[n].open()))
                found[name].append((error, holds, width, (ate["value"] - mean) ** 2, ate["lo"] <= mean <= ate["hi"]))
        for name, own in found.items():
            error, holds, width, squared, held = (statistics.fmean(column) for column in zip(*own, strict=True))
            spread = statistics.stdev(row[0] for row in own) / math.sqrt(len(own)) if len(own) > 1 else 0.0
            print(f"| {design} | {name} | {error:.3f} ± {spread:.3f} | {holds:.3f} | {width:.2f} | {math.sqrt(squared):.3f} | {held:.2f} |", flush=True)


def main() -> None:
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    what, paretau, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if what == "cost":
            cost(paretau, folder, sys.argv[4:])
        else:
            accuracy(paretau, folder, int(sys.argv[4]), sys.argv[5:])
    finally:
        for path in [folder / name for name in ("model.paretau", "effects.csv", "test.csv", "train-10000.csv", "train-2000.csv")]:
            path.unlink(missing_ok=True)
        for path in folder.glob("data-*/part-*.parquet"):
            path.unlink()
        for path in folder.glob("data-*"):
            path.rmdir()
        if made:
            folder.rmdir()


if __name__ == "__main__":
    main()
