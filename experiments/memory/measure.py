"""Peak memory of fits, as multiples of the feature matrix: `python measure.py PARETAU [ROWS [COLUMNS]]`.

Each fit is a process of its own, whose largest resident size the system tells. What `check` takes to read the same file is
subtracted: it is there before a fit begins.
"""

import os
import subprocess
import sys
import tempfile
import time

FITS = [
    ("lr-2", ["-e", "lr-2"]),
    ("t-learner, ridge", ["-e", "t-learner", "--set", "base=ridge"]),
    ("causal-forest, 50 trees", ["-e", "causal-forest", "--set", "n_estimators=50"]),
]
ROLES = ["--treatment", "t", "--outcome", "y", "--truth", "mu0,mu1", "--quiet"]


def peak(command):
    """Largest resident size of a command in bytes, and its seconds."""
    start = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"failed: {' '.join(command)}")
    return usage.ru_maxrss * 1024, time.monotonic() - start


def main():
    paretau = os.path.abspath(sys.argv[1])
    rows = int(sys.argv[2]) if len(sys.argv) > 2 else 60_000
    columns = int(sys.argv[3]) if len(sys.argv) > 3 else 18
    size = rows * columns * 8
    with tempfile.TemporaryDirectory() as folder:
        data, model = os.path.join(folder, "x.parquet"), os.path.join(folder, "m.paretau")
        simulate = ["simulate", "synthetic", "--n", str(rows), "--d", str(columns), "--out", data]
        subprocess.run([paretau, *simulate], check=True, stdout=subprocess.DEVNULL)
        read, _ = peak([paretau, "check", data])
        print(f"{rows} rows, {columns} columns: features {size / 1e6:.1f} MB, reading alone {read / 1e6:.1f} MB\n")
        print("| fit | threads | peak MB | beyond reading, times the features | seconds |")
        print("|---|---:|---:|---:|---:|")
        for name, arguments in FITS:
            for threads in ("1", "2"):
                fit = [paretau, "fit", data, *ROLES, *arguments, "--threads", threads, "--out", model, "--force"]
                most, seconds = peak(fit)
                times = (most - read) / size
                print(f"| {name} | {threads} | {most / 1e6:.1f} | {times:.1f} | {seconds:.0f} |", flush=True)


if __name__ == "__main__":
    main()
