"""Fuzzing with coverage, the targets in turn; counts every execution.

    python experiments/siege/fuzz.py --build              # with a nightly compiler, without cargo-fuzz; 10 minutes or so
    python experiments/siege/fuzz.py --hours 1            # rotates over all targets, 60 seconds each, until the time is up
    python experiments/siege/fuzz.py --reduce             # packs the smallest inputs that reach as much into fuzz/found
    python experiments/siege/fuzz.py --table              # only prints the table of what was counted so far

Each turn adds a line to experiments/siege/fuzz.jsonl: target, executions, seconds, edges that were reached, inputs that were kept, and
the inputs that ended the program (their files are in fuzz/artifacts). Found inputs are kept in fuzz/corpus, so that the next turn
goes on from them. The packed ones in fuzz/found, of at most 600 bytes each, are committed, and every first turn begins with them.
"""

import argparse
import gzip
import io
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "fuzz"
RECORDS = ROOT / "experiments" / "siege" / "fuzz.jsonl"

TRIPLE = "x86_64-unknown-linux-gnu"
# What `cargo fuzz build --sanitizer none` asks of the compiler: counters per edge, and comparisons that the fuzzer sees. Debug
# assertions bring the checks of overflow.
FLAGS = (
    "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
    " -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table"
    " -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions"
)
# Little is optimised, so that the build ends within minutes; products of complex numbers are not used at all.
UNUSED = ("nano-gemm-c32", "nano-gemm-c64", "gemm-c32", "gemm-c64")
PROFILE = ["debug=0", "opt-level=1", *(f"package.{name}.opt-level=0" for name in UNUSED)]


def build() -> None:
    """Compiles every target with coverage."""
    settings = [word for value in PROFILE for word in ("--config", f"profile.release.{value}")]
    command = ["cargo", "+nightly", "build", "--release", "--bins", "--target", TRIPLE, *settings]
    subprocess.run(command, cwd=FUZZ, env=os.environ | {"RUSTFLAGS": FLAGS}, check=True)


def program(target: str) -> Path | None:
    """The newest build of a target."""
    built = sorted(FUZZ.glob(f"target/*/release/{target}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else None


def targets() -> list[str]:
    return sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))


def inputs(target: str) -> Path:
    """The folder of a target's inputs; a new one gets those that are committed."""
    corpus, packed = FUZZ / "corpus" / target, FUZZ / "found" / f"{target}.tar.gz"
    if not corpus.exists():
        corpus.mkdir(parents=True)
        if packed.exists():
            with tarfile.open(packed) as archive:
                archive.extractall(corpus, filter="data")
    return corpus


def reduce(target: str) -> None:
    """Packs the smallest inputs that reach what all of them reach."""
    with tempfile.TemporaryDirectory() as kept:
        options = ["-merge=1", "-max_len=600", "-rss_limit_mb=4096"]
        command = [program(target), *options, kept, inputs(target)]
        subprocess.run([str(word) for word in command], cwd=FUZZ, capture_output=True, check=True)
        pack(target, Path(kept))


def pack(target: str, folder: Path) -> None:
    """Writes a folder as the target's committed inputs, the same bytes whenever they are the same inputs."""
    packed = FUZZ / "found" / f"{target}.tar.gz"
    packed.parent.mkdir(exist_ok=True)
    bytes_ = io.BytesIO()
    with tarfile.open(fileobj=bytes_, mode="w") as archive:
        for path in sorted(folder.iterdir()):
            member = tarfile.TarInfo(path.name)
            member.size = path.stat().st_size
            archive.addfile(member, io.BytesIO(path.read_bytes()))
    packed.write_bytes(gzip.compress(bytes_.getvalue(), mtime=0))
    print(f"{target}: {len(list(folder.iterdir()))} inputs, {packed.stat().st_size} bytes packed")


def turn(target: str, seconds: int) -> dict:
    """Fuzzes one target for so many seconds."""
    corpus, artifacts = inputs(target), FUZZ / "artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    known = set(artifacts.iterdir())
    options = [f"-max_total_time={seconds}", "-timeout=30", "-rss_limit_mb=4096", "-print_final_stats=1"]
    command = [program(target), corpus, FUZZ / "seeds" / target, f"-artifact_prefix={artifacts}/", *options]
    start = time.monotonic()
    done = subprocess.run([str(word) for word in command], cwd=FUZZ, capture_output=True, text=True, errors="replace", check=False)
    words = done.stderr

    def last(pattern: str) -> int:
        found = re.findall(pattern, words)
        return int(found[-1]) if found else 0

    return {
        "target": target,
        "executions": last(r"number_of_executed_units:\s*(\d+)") or last(r"#(\d+)"),
        "seconds": round(time.monotonic() - start),
        "edges": last(r"cov: (\d+)"),
        "corpus": last(r"corp: (\d+)"),
        "exit": done.returncode,
        "findings": sorted(path.name for path in set(artifacts.iterdir()) - known),
    }


def table() -> str:
    """What was counted, one row per target."""
    records = [json.loads(line) for line in RECORDS.read_text().splitlines()] if RECORDS.exists() else []
    lines = ["| target | executions | seconds | edges reached | inputs kept | findings |", "|---|---|---|---|---|---|"]
    for target in targets():
        own = [record for record in records if record["target"] == target]
        found = sum(len(record["findings"]) for record in own)
        total = [sum(record[key] for record in own) for key in ("executions", "seconds")]
        most = [max((record[key] for record in own), default=0) for key in ("edges", "corpus")]
        lines.append(f"| {target} | {total[0]:,} | {total[1]:,} | {most[0]:,} | {most[1]:,} | {found} |")
    total = sum(record["executions"] for record in records)
    lines.append(f"\n{total:,} executions with coverage guidance in {sum(record['seconds'] for record in records):,} seconds.")
    return "\n".join(lines)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--hours", type=float, default=1)
    options.add_argument("--turn", type=int, default=60, help="seconds per target and turn")
    options.add_argument("--build", action="store_true", help="compiles the targets, and ends")
    options.add_argument("--reduce", action="store_true", help="packs the inputs that were found, and ends")
    options.add_argument("--table", action="store_true")
    options.add_argument("names", nargs="*", help="targets [default: all that are built]")
    args = options.parse_args()
    if args.build:
        build()
        return
    built = [target for target in args.names or targets() if program(target)]
    if not built and not args.table:
        sys.exit("no target is built; begin with --build")
    if args.reduce:
        for target in built:
            reduce(target)
        return
    end = time.monotonic() + 3600 * args.hours
    while not args.table and time.monotonic() < end:
        for target in built:
            if time.monotonic() < end:
                record = turn(target, args.turn)
                with RECORDS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(record, flush=True)
    print(table())


main()
