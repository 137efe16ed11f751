"""Reading and scoring large files beside pandas, in turn, in one run: Markdown tables.

The file is made by `paretau simulate` (a million rows of 51 features: 1.08 GB of text), the model by `paretau fit` on its
first rows. Every reading is a fresh process that has both its time on the clock and its processor time taken. For pandas
the clock runs around the reading alone, without the start of Python and its imports; for paretau it runs around the whole
process. Times on a shared machine wander and only their ratio means something: what is compared is run in turn, and the
medians of the rounds are shown. A reading right after the file was written finds it in memory, for all alike.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent

PANDAS = """
import resource, sys, time
import pandas, pyarrow.parquet
reader, path, engine = sys.argv[1:]
options = {"engine": engine} if engine else {}
start, used = time.perf_counter(), time.process_time()
table = getattr(pandas, reader)(path, **options)
spent = time.perf_counter() - start, time.process_time() - used
assert len(table) > 0
print(*spent, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


class Spent(NamedTuple):
    """What a reading cost: seconds on the clock, seconds of the processors, most memory in MB."""

    wall: float
    processor: float
    memory: float


def process(command: list[str]) -> Spent:
    """A whole process, as the operating system counts it."""
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    errors = child.stderr.read() if child.stderr else b""
    _, status, usage = os.wait4(child.pid, 0)
    wall = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(command)} failed: {errors.decode(errors='replace')}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024.0)


def pandas(reader: str, path: Path, engine: str = "") -> Spent:
    """A reading by pandas, timed inside its process."""
    out = subprocess.run(
        [sys.executable, "-c", PANDAS, reader, str(path), engine], check=True, capture_output=True, text=True
    )
    return Spent(*map(float, out.stdout.split()))


def median(rounds: list[Spent]) -> Spent:
    """The median of each of the three."""
    return Spent(*(statistics.median(values) for values in zip(*rounds, strict=True)))


def table(title: str, rounds: dict[str, list[Spent]], against: list[str]) -> None:
    """A Markdown table, with the median over rounds of the ratios to each of the peers."""
    print(f"\n### {title}\n")
    ratios = [f"× {peer} (range)" for peer in against]
    header = ["", "seconds", "processor seconds", "peak MB", *ratios, *(f"processor × {peer}" for peer in against)]
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for name, spent in rounds.items():
        middle = median(spent)
        row = [name, f"{middle.wall:.2f}", f"{middle.processor:.2f}", f"{middle.memory:.0f}"]
        for peer in against:
            each = [a.wall / b.wall for a, b in zip(spent, rounds[peer], strict=True)]
            row.append(f"{statistics.median(each):.2f} ({min(each):.2f}–{max(each):.2f})")
        row += [f"{middle.processor / median(rounds[peer]).processor:.2f}" for peer in against]
        print(f"| {' | '.join(row)} |")
    sys.stdout.flush()


def main() -> None:
    """Makes the files, reads them in turn, prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=51)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--head", type=int, default=20_000, help="rows to which the model is fitted")
    parser.add_argument("--folder", type=Path, help="where the files are kept, instead of a folder that is removed")
    parser.add_argument("--built", action="store_true", help="take the programs as they are, without building them")
    args = parser.parse_args()
    build = ["cargo", "build", "--release", "--quiet", "-p", "paretau-cli", "-p", "paretau-data", "--bin", "paretau"]
    if not args.built:
        subprocess.run([*build, "--example", "read_table"], cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    command, reader = str(target / "paretau"), str(target / "examples" / "read_table")
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        text, parquet, model = folder / "big.csv", folder / "big.parquet", folder / "model.paretau"
        if not text.exists():
            size = ["--n", str(args.rows), "--d", str(args.features)]
            process([command, "simulate", "synthetic", *size, "--out", str(text)])
        if not parquet.exists():
            # As most Parquet files come about: by pandas, with its defaults.
            subprocess.run(
                [sys.executable, "-c", f"import pandas; pandas.read_csv({str(text)!r}).to_parquet({str(parquet)!r})"],
                check=True,
            )
        head = folder / "head.csv"
        with text.open() as lines, head.open("w") as out:
            out.writelines(line for line, _ in zip(lines, range(args.head + 1), strict=False))
        roles = ["--treatment", "t", "--outcome", "y", "-e", "lr-1", "--quiet"]
        process([command, "fit", str(head), *roles, "--out", str(model)])

        def effect(path: Path) -> Spent:
            return process([command, "effect", str(model), str(path), "--out", str(folder / "effects.csv"), "--quiet"])

        print(f"{args.rows} rows, {args.features} features, {os.cpu_count()} processors, {args.rounds} rounds in turn; ")
        print(f"text of {text.stat().st_size / 1e9:.2f} GB, Parquet of {parquet.stat().st_size / 1e9:.2f} GB")
        csv = {"pandas": lambda: pandas("read_csv", text), "pandas by pyarrow": lambda: pandas("read_csv", text, "pyarrow")}
        csv |= {"`paretau effect`": lambda: effect(text), "reading of `fit`": lambda: process([reader, str(text)])}
        columns = {"pandas": lambda: pandas("read_parquet", parquet), "`paretau effect`": lambda: effect(parquet)}
        columns |= {"reading of `fit`": lambda: process([reader, str(parquet)])}
        for title, contenders, against in [
            ("CSV", csv, ["pandas", "pandas by pyarrow"]),
            ("Parquet", columns, ["pandas"]),
        ]:
            rounds: dict[str, list[Spent]] = {name: [] for name in contenders}
            for _ in range(args.rounds):
                for name, run in contenders.items():
                    rounds[name].append(run())
            table(title, rounds, against)


if __name__ == "__main__":
    main()
