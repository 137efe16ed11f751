"""Writes what every registry entry answers on fixed data, to the bit: effects, propensities, intervals, averages.

    python testdata/golden/registry_bits.py target/release/paretau               # compares with registry_bits.json, but for PURPOSE
    python testdata/golden/registry_bits.py target/release/paretau --threads 2   # with one number of threads only
    python testdata/golden/registry_bits.py target/release/paretau --data mixed --entries lr-2,tarnet
    python testdata/golden/registry_bits.py target/release/paretau --write       # writes it anew

It asks the command line only, with default parameters, one and two threads. What belongs to the data and not to the estimator
(propensities, weights, averages) must be the same for all entries. Numbers are written so that they come back
bit by bit, so equal digests are equal bits. Bits hold on one kind of processor (matrix products use its vector units),
which is why this is a command for changes that must not move a number, and no test of the everyday suite.
"""

import csv
import hashlib
import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
GOLDEN = HERE / "registry_bits.json"
NETS = "tarnet cfr-mmd cfr-wass dragonnet ganite drcfr drcfr-norm drcfr-trunc drcfr-ignore psw dpsw-norm dpsw dpsw-dr".split()
LAST_BITS = 1e-12
EFFECTS = {"mu0", "mu1", "tau"}
# What was changed on purpose since, as CHANGELOG.md says: any other difference is a fault. Where a bound stands, the first rows may
# differ by no more than that share of a number.
PURPOSE = [
    ("*", ["*"], {"e", "w_raw", "w", "averages"}, None, "nuisances and weights belong to the data and not to the estimator"),
    ("*", ["dr-learner"], EFFECTS, None, "the forest of the effect tries all columns"),
    ("*", ["r-learner"], EFFECTS, None, "the same; and propensities are not held at 0.001"),
    ("mixed", ["x-learner", "causal-forest-dml"], {"mu0"}, None, "expected outcomes of a yes/no outcome lie between 0 and 1"),
    ("*", ["lr-1", "lr-2"], EFFECTS, LAST_BITS, "products use AVX-512 where the processor has it"),
    ("overlap", ["causal-forest"], {"mu0", "mu1"}, LAST_BITS, "the same: the outcome is centred by a line"),
    ("*", NETS, EFFECTS, None, "the same; and nets with default settings compare and end their trainings earlier"),
]
SIMULATED = {"synthetic": ["--n", "300"], "overlap": ["--n", "300"]}


def mixed(path: Path) -> None:
    """A yes/no outcome, a category, missing cells: drawn by the standard library, so that it never changes."""
    draw = random.Random(7)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["t", "y", "age", "city", "dose"])
        for _ in range(300):
            age, city, dose = draw.gauss(50, 10), draw.choice(["north", "south", "west"]), draw.random()
            t = int(draw.random() < (0.3 if city == "west" else 0.6))
            y = int(draw.random() < 0.2 + 0.3 * t * (age > 50) + 0.2 * dose)
            out.writerow([t, y, "" if draw.random() < 0.1 else f"{age:.3f}", city, f"{dose:.4f}"])


def run(binary: str, *args: str) -> str:
    done = subprocess.run([binary, *args], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(args)}: {done.stderr}")
    return done.stdout


def digest(values: list[str]) -> str:
    return hashlib.sha256("\n".join(values).encode()).hexdigest()[:16]


def answers(binary: str, name: str, data: Path, folder: Path, threads: int) -> dict:
    model, out = str(folder / "model.paretau"), folder / "effects.csv"
    common = ["--threads", str(threads), "--quiet"]
    fit = json.loads(
        run(binary, "fit", str(data), "--treatment", "t", "--outcome", "y", "--estimator", name, "--out", model, "--json", *common)
    )
    run(binary, "effect", model, str(data), "--out", str(out), *common)
    with out.open() as file:
        rows = list(csv.DictReader(file))
    columns = {c: [row[c] for row in rows] for c in ("mu0", "mu1", "tau", "e", "w_raw", "w")}
    return {
        "digests": {c: digest(v) for c, v in columns.items()},
        "first": {c: v[:3] for c, v in columns.items()},
        "averages": fit["averages"],
    }


def option(name: str) -> list[str] | None:
    return sys.argv[sys.argv.index(name) + 1].split(",") if name in sys.argv else None


def on_purpose(data: str, entry: str, part: str, expected: dict, got: dict) -> bool:
    return any(
        d in ("*", data) and (entry in entries or entries == ["*"]) and part in parts and within(bound, part, expected, got)
        for d, entries, parts, bound, _ in PURPOSE
    )


def within(bound: float | None, part: str, expected: dict, got: dict) -> bool:
    if bound is None:
        return True
    pairs = zip(expected["first"][part], got["first"][part], strict=True)
    return all(math.isclose(float(a), float(b), rel_tol=bound) for a, b in pairs)


def main() -> None:
    binary, write = sys.argv[1], "--write" in sys.argv
    only_data, only_entries = option("--data"), option("--entries")
    if write and (only_data or only_entries):
        raise SystemExit("--write needs every entry on all data")
    threads = [int(k) for k in option("--threads") or ["1", "2"]]
    found: dict = {}
    unlike = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = {"mixed": folder / "mixed.csv"}
        mixed(files["mixed"])
        for process, options in SIMULATED.items():
            files[process] = folder / f"{process}.csv"
            run(binary, "simulate", process, *options, "--seed", "3", "--out", str(files[process]), "--quiet")
        names = [e["name"] for e in json.loads(run(binary, "list", "estimators", "--json"))]
        names = [name for name in names if name in (only_entries or names)]
        files = {data: path for data, path in files.items() if data in (only_data or files)}
        for data, path in files.items():
            for entry in names:
                one, *others = (answers(binary, entry, path, folder, k) for k in threads)
                if any(one != other for other in others):
                    raise SystemExit(f"{entry} on {data}: one and two threads differ")
                first = found.setdefault(data, {}).setdefault(names[0], one)
                for part in ("e", "w_raw", "w"):
                    if one["digests"][part] != first["digests"][part]:
                        print(f"{data}: {part} of {entry} is not that of {names[0]}")
                        unlike += 1
                if one["averages"] != first["averages"]:
                    print(f"{data}: averages of {entry} are not those of {names[0]}")
                    unlike += 1
                found[data][entry] = one
                print(f"{data} {entry}", file=sys.stderr, flush=True)
    if write:
        GOLDEN.write_text(json.dumps(found, indent=1) + "\n")
        return
    golden = json.loads(GOLDEN.read_text())
    compared = moved = purposed = 0
    for data, entries in golden.items():
        for entry, expected in entries.items():
            if data not in files or entry not in (only_entries or [entry]):
                continue
            compared += 1
            got = found.get(data, {}).get(entry)
            if got is None:
                print(f"{data} {entry}: gone")
                moved += 1
                continue
            parts = [c for c in expected["digests"] if got["digests"][c] != expected["digests"][c]]
            parts += ["averages"] * any(got["averages"].get(a) != v for a, v in expected["averages"].items())
            purposed += any(part in EFFECTS and on_purpose(data, entry, part, expected, got) for part in parts)
            if faults := [part for part in parts if not on_purpose(data, entry, part, expected, got)]:
                print(f"{data} {entry}: {', '.join(faults)} moved")
                moved += 1
    print(
        f"{compared} compared: effects of {compared - moved - purposed} equal to the bit, {purposed} changed on purpose, "
        f"{moved} moved otherwise; {unlike} answers that belong to the data differ between estimators"
    )
    raise SystemExit(int(moved + unlike > 0))


if __name__ == "__main__":
    main()
