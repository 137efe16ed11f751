"""Fuzzing with coverage, the targets in turn; counts every execution.

    cargo install cargo-fuzz
    cd fuzz && cargo +nightly fuzz build --sanitizer none
    python experiments/siege/fuzz.py --hours 1            # rotates over all targets, 60 seconds each, until the time is up
    python experiments/siege/fuzz.py --table              # only prints the table of what was counted so far

Each turn adds a line to experiments/siege/fuzz.jsonl: target, executions, seconds, edges that were reached, inputs that were kept, and
the inputs that ended the program (their files are in fuzz/artifacts). Found inputs are kept in fuzz/corpus, so that the next turn
goes on from them.
"""

import argparse
import json
import re
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FUZZ = ROOT / "fuzz"
RECORDS = ROOT / "experiments" / "siege" / "fuzz.jsonl"


def program(target: str) -> Path | None:
    """The newest build of a target."""
    built = sorted(FUZZ.glob(f"target/*/release/{target}"), key=lambda path: path.stat().st_mtime)
    return built[-1] if built else None


def targets() -> list[str]:
    return sorted(path.stem for path in (FUZZ / "fuzz_targets").glob("*.rs"))


def turn(target: str, seconds: int) -> dict:
    """Fuzzes one target for so many seconds."""
    corpus, artifacts = FUZZ / "corpus" / target, FUZZ / "artifacts" / target
    corpus.mkdir(parents=True, exist_ok=True)
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
    options.add_argument("--table", action="store_true")
    options.add_argument("names", nargs="*", help="targets [default: all that are built]")
    args = options.parse_args()
    end = time.monotonic() + 3600 * args.hours
    while not args.table and time.monotonic() < end:
        for target in args.names or targets():
            if program(target) and time.monotonic() < end:
                record = turn(target, args.turn)
                with RECORDS.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(record, flush=True)
    print(table())


main()
