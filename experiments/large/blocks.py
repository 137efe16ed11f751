"""Fits in blocks of rows beside ordinary fits: what they cost, and what they lose. Needs nothing but Python and the command.

    python experiments/large/blocks.py cost PARETAU FOLDER ESTIMATOR ROWS:BLOCK_ROWS...
    python experiments/large/blocks.py accuracy PARETAU FOLDER ESTIMATOR DRAWS DESIGN...
    python experiments/large/blocks.py table

`cost` prints the table of peak memory and processor time: the data are simulated part by part (`grf`, design `aw2`, 20 features, parts of
250 000 rows), ESTIMATOR (forests of 200 trees) is fitted with one thread; BLOCK_ROWS as many as ROWS is an ordinary fit.
`accuracy` prints root mean squared errors of effects of 4000 new rows and, where the estimator has intervals of its own, how often the
95 % intervals hold the truth, for an ordinary fit of 10 000 rows, the same in 2 and 5 blocks, and an ordinary one on the rows of one
block alone. It adds a line to blocks.jsonl for every fit and goes on where it was stopped; `table` prints the table of these lines.
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
RECORDS = Path(__file__).parent / "blocks.jsonl"
#: Parameters of estimators that are not the defaults, and whether they have intervals of their own.
ESTIMATORS = {
    "causal-forest": (["--set", "n_estimators=200"], True),
    "dr-learner": ([], False),
    "x-learner": ([], False),
    "lr-1": ([], False),
    "lr-2": ([], False),
}
#: Rows, and rows per block.
FITS = {"one fit of 10 000 rows": (10_000, 10_000), "2 blocks": (10_000, 5_000), "5 blocks": (10_000, 2_000), "one block alone": (2_000, 2_000)}


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


def cost(paretau: str, folder: Path, estimator: str, sizes: list[str]) -> None:
    print("| estimator | rows | rows per block | blocks | processor seconds | processor seconds per million rows | peak memory, MB | model file, MB |")
    print("|---|---|---|---|---|---|---|---|")
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
        fit = ["-e", estimator, *ESTIMATORS[estimator][0], "--threads", 1, "--block-rows", block]
        seconds, memory = measured(paretau, "fit", data, *ROLES, *fit, "--out", model, "--force", "--quiet")
        megabytes = model.stat().st_size / 2**20
        blocks = math.ceil(n / block)
        print(f"| {estimator} | {n} | {block} | {blocks} | {seconds:.0f} | {1e6 * seconds / n:.0f} | {memory:.0f} | {megabytes:.1f} |", flush=True)


def accuracy(paretau: str, folder: Path, estimator: str, draws: int, designs: list[str]) -> None:
    params, intervals = ESTIMATORS[estimator]
    done = {(r["design"], r["draw"], r["fit"]) for r in records() if r["estimator"] == estimator}
    for design in designs:
        for draw in range(draws):
            missing = [name for name in FITS if (design, draw, name) not in done]
            if not missing:
                continue
            test, train = folder / "test.csv", {}
            simulate = [paretau, "simulate", "grf", "--set", f"design={design}", "--d", 10, "--quiet"]
            command(*simulate, "--n", 4_000, "--seed", 10_000 + draw, "--out", test, "--force")
            for n in {rows for rows, _ in FITS.values()}:
                train[n] = folder / f"train-{n}.csv"
                command(*simulate, "--n", n, "--seed", draw, "--out", train[n], "--force")
            truth = [float(row["mu1"]) - float(row["mu0"]) for row in csv.DictReader(test.open())]
            for name in missing:
                n, block = FITS[name]
                fit = ["-e", estimator, *params, "--block-rows", block, "--seed", draw]
                model, effects = folder / "model.paretau", folder / "effects.csv"
                output = command(paretau, "fit", train[n], *ROLES, *fit, "--out", model, "--force", "--json", "--quiet")
                ate = json.loads(output)["averages"]["ate"]
                wished = ["--interval", 0.95] if intervals else []
                command(paretau, "effect", model, test, *wished, "--out", effects, "--force", "--quiet")
                rows = [(float(r["tau"]), float(r.get("lo", "nan")), float(r.get("hi", "nan"))) for r in csv.DictReader(effects.open())]
                mean = statistics.fmean(float(r["mu1"]) - float(r["mu0"]) for r in csv.DictReader(train[n].open()))
                record = {
                    "estimator": estimator,
                    "design": design,
                    "draw": draw,
                    "fit": name,
                    "error": math.sqrt(statistics.fmean((row[0] - t) ** 2 for row, t in zip(rows, truth, strict=True))),
                    "average_error": ate["value"] - mean,
                    "average_holds": float(ate["lo"] <= mean <= ate["hi"]),
                }
                of_intervals = {
                    "holds": statistics.fmean(row[1] <= t <= row[2] for row, t in zip(rows, truth, strict=True)),
                    "width": statistics.fmean(row[2] - row[1] for row in rows),
                }
                record |= of_intervals if intervals else {}
                record = {k: round(v, 5) if isinstance(v, float) else v for k, v in record.items()}
                with RECORDS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
    table()


def records() -> list[dict]:
    """What was measured so far."""
    return [{"estimator": "causal-forest"} | json.loads(line) for line in RECORDS.open()] if RECORDS.exists() else []


def table() -> None:
    found = records()
    print("| estimator | design | draws | fit | error of effects | share of intervals that hold | mean width | error of the average | averages that hold |")
    print("|---|---|---|---|---|---|---|---|---|")
    for estimator, design in sorted({(r["estimator"], r["design"]) for r in found}):
        of_both = [r for r in found if (r["estimator"], r["design"]) == (estimator, design)]
        # Draws in which every fit was made.
        whole = [k for k in {r["draw"] for r in of_both} if sum(r["draw"] == k for r in of_both) == len(FITS)]
        for name in FITS:
            own = [r for r in of_both if r["fit"] == name and r["draw"] in whole]
            if not own:
                continue
            mean = {key: statistics.fmean(r[key] for r in own) for key in ("error", "average_holds")}
            intervals = "– | –"
            if "holds" in own[0]:
                intervals = f"{statistics.fmean(r['holds'] for r in own):.3f} | {statistics.fmean(r['width'] for r in own):.2f}"
            spread = f" ± {statistics.stdev(r['error'] for r in own) / math.sqrt(len(own)):.3f}" if len(own) > 1 else ""
            average = math.sqrt(statistics.fmean(r["average_error"] ** 2 for r in own))
            print(
                f"| {estimator} | {design} | {len(own)} | {name} | {mean['error']:.3f}{spread} | {intervals} "
                f"| {average:.3f} | {mean['average_holds']:.2f} |"
            )


def main() -> None:
    if sys.argv[1:] == ["table"]:
        table()
        return
    if len(sys.argv) < 6 or sys.argv[4] not in ESTIMATORS:
        sys.exit(__doc__)
    what, paretau, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    made = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if what == "cost":
            cost(paretau, folder, sys.argv[4], sys.argv[5:])
        else:
            accuracy(paretau, folder, sys.argv[4], int(sys.argv[5]), sys.argv[6:])
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
