"""Networks beside PyTorch in one run: the same nets, the same batch, the same threads; prints Markdown tables with ratios.

A step is both phases on one mini-batch: dropout, arm-normalised weights with gradients through them, RBF-MMD with median
width, clipping, Adam with L2. Ours smooths the weights besides (soft Pareto); PyTorch has no soft rank, and leaving it out
flatters PyTorch. On the News-like shape ours reads the sparse rows, PyTorch the dense ones, as the published code does.

Times on a shared machine wander, so both sides are measured in turn, several times, and the ratio of the medians is the
result. Ours runs as a process of its own (the example `time_steps`), which times its steps itself.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import time
from pathlib import Path

import torch
from torch import nn

ROOT = Path(__file__).resolve().parent.parent
# Columns, rows of a batch, units of encoders and propensity net, units of heads, and by how much we want to be faster.
SHAPES = {
    "acic-1000": (177, 1000, 100, 100, 3),
    "acic-5000": (177, 5000, 100, 100, 3),
    "news": (3477, 1000, 100, 100, 4),
    "synthetic": (15, 5000, 3, 100, 15),
}
# What the published code took for its synthetic set with the paper's schedule, on two cores.
PUBLISHED_SECONDS = 550.0


def ours(*words: object, threads: int) -> list[float]:
    """One measurement of our side; for whole jobs by the clock and by processor time."""
    program = ROOT / "target" / "release" / "examples" / ("time_steps.exe" if os.name == "nt" else "time_steps")
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [program, *map(str, words)], check=True, capture_output=True, text=True, env=environment
    )
    return [float(word) for word in done.stdout.split()]


def mlp(inputs: int, widths: list[int], out: int, dropout: float) -> nn.Sequential:
    """A feed-forward net."""
    layers: list[nn.Module] = []
    for width in widths:
        layers += [nn.Linear(inputs, width), nn.ELU(), nn.Dropout(dropout)]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, out))


def mmd(z: torch.Tensor, n0: int) -> torch.Tensor:
    """Maximum mean discrepancy between the first rows and the rest."""
    some = torch.cat([z[:n0][:32], z[n0:][:32]]).detach()
    s = torch.pdist(some).median()
    k = torch.exp(-torch.cdist(z, z, compute_mode="use_mm_for_euclid_dist").pow(2) / (2 * s * s))
    return k[:n0, :n0].mean() + k[n0:, n0:].mean() - 2 * k[:n0, n0:].mean()


class Peer:
    """The same nets in eager PyTorch."""

    def __init__(self, name: str) -> None:
        d, batch, width, heads, _ = SHAPES[name]
        torch.manual_seed(0)
        self.n0 = n0 = batch // 2
        if name == "news":
            x = (torch.rand(batch, d) < 0.03).float() * torch.randint(1, 5, (batch, d))
            x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
        else:
            x = torch.randn(batch, d)
        self.x = x
        self.t = torch.cat([torch.zeros(n0), torch.ones(batch - n0)])
        self.y = x[:, 1] + self.t * x[:, 2] + torch.randn(batch)
        self.encoders = [mlp(d, [width, width], width, 0.145) for _ in range(3)]
        self.adversary = mlp(2 * width, [width, width], 1, 0.145)
        self.heads = [mlp(2 * width, [heads, heads], 1, 0.145) for _ in range(2)]
        self.moving = [p for net in self.encoders + self.heads for p in net.parameters()]
        self.adam_a = torch.optim.Adam(self.adversary.parameters(), lr=1e-4, weight_decay=0.01)
        self.adam_b = torch.optim.Adam(self.moving, lr=1e-4, weight_decay=0.01)
        share = (batch - n0) / batch
        self.odds = torch.where(self.t == 1, share / (1 - share), (1 - share) / share)

    def step(self) -> None:
        """Both phases on the batch."""
        n0, t = self.n0, self.t
        g, c, u = (net(self.x) for net in self.encoders)
        self.adam_a.zero_grad(set_to_none=True)
        guess = self.adversary(torch.cat([g, c], 1).detach())[:, 0]
        nn.functional.binary_cross_entropy_with_logits(guess, t).backward()
        self.adam_a.step()
        w = 1 + self.odds * torch.exp(-(2 * t - 1) * self.adversary(torch.cat([g, c], 1))[:, 0])
        w = torch.cat([w[:n0] / w[:n0].mean(), w[n0:] / w[n0:].mean()])
        r = torch.cat([c, u], 1)
        predicted = torch.cat([self.heads[0](r[:n0])[:, 0], self.heads[1](r[n0:])[:, 0]])
        loss = (w * (predicted - self.y) ** 2).mean() + 0.1 * mmd(u, n0)
        self.adam_b.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.moving, 10.0)
        self.adam_b.step()

    def measure(self, seconds: float) -> float:
        """Median milliseconds per step over some seconds."""
        times: list[float] = []
        start = time.perf_counter()
        while len(times) < 5 or time.perf_counter() - start < seconds:
            now = time.perf_counter()
            self.step()
            times.append(1e3 * (time.perf_counter() - now))
        return statistics.median(times)


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """A Markdown table."""
    print(f"\n### {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def steps(threads: int, rounds: int, seconds: float) -> None:
    """Training steps beside PyTorch, in turn."""
    rows = []
    for name, (d, batch, width, _, target) in SHAPES.items():
        peer = Peer(name)
        pairs = [(ours("step", name, seconds, threads=threads)[0], peer.measure(seconds)) for _ in range(rounds)]
        mine, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
        ratios = sorted(b / a for a, b in pairs)
        spread = f"{ratios[0]:.1f} to {ratios[-1]:.1f}"
        shape = f"{name}: d={d}, B={batch}, width {width}"
        rows.append([shape, f"{mine:.2f}", f"{theirs:.2f}", f"{theirs / mine:.1f}x", spread, f"{target}x"])
    header = ["shape", "paretau ms", "PyTorch ms", "ratio", "ratio by round", "wanted"]
    table("Training step", header, rows)


def whole(threads: int) -> None:
    """A whole fit, memory and prediction against their targets."""
    rows = []
    clock, processor = ours("paper", threads=threads)
    rows.append(
        [
            "`dpsw` with the paper's schedule on its synthetic set (published code: 550 s)",
            f"{clock:.1f} s, {PUBLISHED_SECONDS / clock:.0f}x faster",
            f"{processor:.1f} s",
            "30x",
        ]
    )
    peak = ours("news", threads=threads)[0]
    rows.append(["peak memory of a process that fits News-like data", f"{peak:.0f} MB", "", "250 MB"])
    for command, label, members, wanted in (
        ("predict", "outcomes and effects", 1, "1 M rows/s"),
        ("predict-all", "propensities too", 1, ""),
        ("predict", "outcomes and effects", 5, ""),
    ):
        clock, processor = ours(command, members, threads=threads)
        what = f"prediction at d=177, {label}, {members} net{'s' if members > 1 else ''} of the default size"
        rows.append([what, f"{clock / 1e6:.2f} M rows/s", f"{processor / 1e6:.2f} M rows/s and core", wanted])
    table("Whole jobs", ["what", "by the clock", "by processor time", "wanted"], rows)


def growth(threads: int, largest: int) -> None:
    """Cost as rows and columns grow."""
    rows, n = [], 10_000
    while n <= largest:
        clock, processor = ours("tall", n, threads=threads)
        rows.append([f"{n:,}", f"{clock:.2f}", f"{processor:.2f}", f"{1e6 * processor / n:.2f}"])
        n *= 10
    header = ["rows", "s by the clock", "s of processor time", "µs of processor time per row"]
    table("Rows: one pass of a fit, d=15, batches of 1000", header, rows)
    rows = []
    for d in (30, 100, 300, 1000, 3000):
        took = ours("wide", d, 2, threads=threads)[0]
        rows.append([f"{d:,}", f"{took:.2f}", f"{1e3 * took / d:.1f}"])
    table("Columns: one step of 1000 dense rows, width 100", ["columns", "ms", "µs per column"], rows)


def main() -> None:
    """Everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--largest", type=int, default=1_000_000)
    parser.add_argument("--built", action="store_true", help="take `time_steps` as it is, without building it")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    if not options.built:
        build()
    print(f"{options.threads} threads, medians of {options.rounds} alternating rounds, PyTorch {torch.__version__}")
    print(f"({platform.machine()}, {os.cpu_count()} cores)")
    steps(options.threads, options.rounds, options.seconds)
    whole(options.threads)
    growth(options.threads, options.largest)


def build() -> None:
    """Builds our side."""
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "-p", "paretau-neural", "--example", "time_steps"],
        cwd=ROOT,
        check=True,
    )


if __name__ == "__main__":
    main()
