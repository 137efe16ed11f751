"""Kernels beside their peers in one process, with the same number of threads: prints a Markdown table with ratios.

Times on a shared machine wander, so each pair is measured in turn, several times, and the ratio of the medians is the
result. Memory is the peak above what was in use before the call, as the operating system counts it for a fresh process;
ours and the peer's are measured in the same way (Linux only).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import paretau.kernels as kernels

ROUNDS = 7


def interleaved(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds of both, measured alternately."""
    times: tuple[list[float], list[float]] = ([], [])
    ours(), theirs()
    for _ in range(rounds):
        for call, into in zip((ours, theirs), times, strict=True):
            start = time.perf_counter()
            call()
            into.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def alone(call: Callable[[], object], rounds: int) -> float:
    """Median seconds of one."""
    call()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """A Markdown table."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def milliseconds(seconds: float) -> str:
    """Seconds for people."""
    return f"{1e3 * seconds:.2f}"


def soft_rank_beside_torchsort() -> None:
    """Soft rank and its gradient against torchsort's compiled kernels."""
    import torch
    import torchsort

    rows = []
    rng = np.random.default_rng(0)
    for n in (5_000, 100_000):
        # Weights as they occur: inverse propensities, heavy to the right.
        w = 1.0 / rng.uniform(0.02, 1.0, n)
        g = rng.normal(size=n)
        for eps in (0.1, 1.0):
            tensor = torch.tensor(w[None], dtype=torch.float64, requires_grad=True)
            cotangent = torch.tensor(g[None], dtype=torch.float64)

            def theirs() -> object:
                tensor.grad = None
                ranks = torchsort.soft_rank(tensor, regularization="l2", regularization_strength=eps)
                ranks.backward(cotangent)
                return ranks

            def ours() -> object:
                return kernels.soft_rank_and_vjp(w, eps, g)

            ranks = theirs().detach().numpy()[0]
            mine, gradient = ours()
            worst = max(np.abs(ranks - mine).max(), np.abs(tensor.grad.numpy()[0] - gradient).max())
            a, b = interleaved(ours, theirs, ROUNDS)
            rows.append([f"{n:,}", str(eps), milliseconds(a), milliseconds(b), f"{b / a:.1f}x", f"{worst:.1e}"])
    header = ["rows", "eps", "paretau ms", "torchsort ms", "ratio", "largest difference"]
    table("Soft rank with gradient, double precision", header, rows)


def soft_rank_scaling(largest: int) -> None:
    """Time per row as the number of rows grows."""
    rows = []
    rng = np.random.default_rng(1)
    n = 10_000
    while n <= largest:
        w, g = 1.0 / rng.uniform(0.02, 1.0, n), rng.normal(size=n)
        seconds = alone(lambda w=w, g=g: kernels.soft_rank_and_vjp(w, 1.0, g), 3)
        rows.append([f"{n:,}", milliseconds(seconds), f"{1e9 * seconds / n:.0f}"])
        n *= 10
    table("Soft rank with gradient, growth", ["rows", "ms", "ns per row"], rows)


def mmd_beside_torch(n: int, k: int, threads: int) -> None:
    """RBF-MMD² with gradient against PyTorch eager, time and memory."""
    import torch

    rows = []
    for precision in ("float32", "float64"):
        a, b, sigma = mmd_points(n, k, precision)
        ta = torch.tensor(a, requires_grad=True)
        tb = torch.tensor(b, requires_grad=True)

        def theirs() -> float:
            ta.grad = tb.grad = None
            value = torch_mmd(ta, tb, sigma)
            value.backward()
            return float(value.detach())

        def ours() -> float:
            return kernels.mmd_rbf_grad(a, b, sigma)[0]

        difference = abs(ours() - theirs())
        mine, peer = interleaved(ours, theirs, ROUNDS)
        memory = [peak_memory(who, n, k, precision, threads) for who in ("paretau", "torch")]
        rows.append(
            [
                precision,
                milliseconds(mine),
                milliseconds(peer),
                f"{peer / mine:.1f}x",
                *(f"{m:.0f}" for m in memory),
                f"1/{memory[1] / max(memory[0], 1e-3):.0f}",
                f"{difference:.1e}",
            ]
        )
    title = f"RBF-MMD² with gradient, B={n} rows in both arms together, k={k}"
    header = ["precision", "paretau ms", "PyTorch ms", "ratio", "paretau MB", "PyTorch MB", "memory ratio", "difference"]
    table(title, header, rows)


def mmd_points(n: int, k: int, precision: str) -> tuple[np.ndarray, np.ndarray, float]:
    """Two arms of n/2 rows each and a bandwidth of the size of their distances."""
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(n // 2, k)), rng.normal(size=(n - n // 2, k)) + 0.1
    return a.astype(precision), b.astype(precision), float(np.sqrt(2.0 * k))


def torch_mmd(a, b, sigma: float):  # noqa: ANN001, ANN201 (torch is imported by the caller)
    """The formula as one writes it in PyTorch."""
    import torch

    def kernel_mean(x, y):  # noqa: ANN001, ANN202
        return torch.exp(-torch.cdist(x, y).square() / (2.0 * sigma**2)).mean()

    return kernel_mean(a, a) + kernel_mean(b, b) - 2.0 * kernel_mean(a, b)


def peak_memory(who: str, n: int, k: int, precision: str, threads: int) -> float:
    """Megabytes that one call adds to a fresh process at its peak."""
    words = [sys.executable, __file__, "--memory-of", who, "--rows", str(n), "--columns", str(k)]
    words += ["--precision", precision, "--threads", str(threads)]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def added_memory(who: str, n: int, k: int, precision: str) -> float:
    """What `peak_memory` asks the fresh process: the peak of one call above what was held before it."""

    def prepare(rows: int) -> Callable[[], object]:
        a, b, sigma = mmd_points(rows, k, precision)
        if who == "paretau":
            return lambda: kernels.mmd_rbf_grad(a, b, sigma)
        import torch

        ta, tb = torch.tensor(a, requires_grad=True), torch.tensor(b, requires_grad=True)
        return lambda: torch_mmd(ta, tb, sigma).backward()

    prepare(64)()  # loads everything that is loaded once
    call = prepare(n)
    reset_peak()
    before = memory_kb("VmRSS")
    call()
    return (memory_kb("VmHWM") - before) / 1024.0


def reset_peak() -> None:
    """Forgets the process's peak so far; Linux only, as is `memory_kb`."""
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def memory_kb(field: str) -> float:
    """A figure of the process's memory in kilobytes."""
    with open("/proc/self/status") as file:
        return next(float(line.split()[1]) for line in file if line.startswith(field))


def main() -> None:
    """Everything, or with `--memory-of` one measurement for the parent process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--largest", type=int, default=10_000_000)
    parser.add_argument("--rows", type=int, default=5_000)
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--precision", choices=("float32", "float64"), default="float64")
    parser.add_argument("--memory-of", choices=("paretau", "torch"))
    options = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(options.threads)
    if options.memory_of != "paretau":
        import torch

        torch.set_num_threads(options.threads)
    if options.memory_of:
        print(added_memory(options.memory_of, options.rows, options.columns, options.precision))
        return
    print(f"{options.threads} threads, medians of {ROUNDS} alternating runs")
    soft_rank_beside_torchsort()
    soft_rank_scaling(options.largest)
    mmd_beside_torch(options.rows, options.columns, options.threads)


if __name__ == "__main__":
    main()
