"""Milliseconds a training step of the same nets in eager PyTorch, for the shapes of `examples/time_steps.rs`.

Both phases on every mini-batch, dropout, arm-normalised weights with gradients through them, RBF-MMD with median width, Adam
with L2. Soft Pareto smoothing is left out here (PyTorch has no soft rank), which flatters PyTorch.
Usage: python time_torch.py [THREADS] [SHAPE ...]
"""

import statistics
import sys
import time

import torch
from torch import nn

SHAPES = {
    "news": (3477, 1000, 100, 100),
    "acic-1000": (177, 1000, 100, 100),
    "acic-5000": (177, 5000, 100, 100),
    "synthetic": (15, 5000, 3, 100),
    "default-128": (25, 128, 64, 64),
}


def mlp(inputs, widths, out, dropout):
    layers = []
    for width in widths:
        layers += [nn.Linear(inputs, width), nn.ELU(), nn.Dropout(dropout)]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, out))


def mmd(z, n0):
    some = torch.cat([z[:n0][:32], z[n0:][:32]]).detach()
    s = torch.pdist(some).median()
    k = torch.exp(-torch.cdist(z, z, compute_mode="use_mm_for_euclid_dist").pow(2) / (2 * s * s))
    return k[:n0, :n0].mean() + k[n0:, n0:].mean() - 2 * k[:n0, n0:].mean()


def run(name):
    d, batch, width, heads = SHAPES[name]
    n0 = batch // 2
    torch.manual_seed(0)
    if name == "news":
        x = (torch.rand(batch, d) < 0.03).float() * torch.randint(1, 5, (batch, d))
        x = (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
    else:
        x = torch.randn(batch, d)
    t = torch.cat([torch.zeros(n0), torch.ones(batch - n0)])
    y = x[:, 1] + t * x[:, 2] + torch.randn(batch)
    encoders = [mlp(d, [width, width], width, 0.145) for _ in range(3)]
    judge = mlp(2 * width, [width, width], 1, 0.145)
    h = [mlp(2 * width, [heads, heads], 1, 0.145) for _ in range(2)]
    moving = [p for net in encoders + h for p in net.parameters()]
    a = torch.optim.Adam(judge.parameters(), lr=1e-4, weight_decay=0.01)
    b = torch.optim.Adam(moving, lr=1e-4, weight_decay=0.01)
    bce = nn.functional.binary_cross_entropy_with_logits
    share = (batch - n0) / batch
    odds = torch.where(t == 1, share / (1 - share), (1 - share) / share)
    sign = 2 * t - 1
    times, start = [], time.perf_counter()
    while len(times) < 5 or time.perf_counter() - start < 4:
        now = time.perf_counter()
        g, c, u = (net(x) for net in encoders)
        a.zero_grad(set_to_none=True)
        bce(judge(torch.cat([g, c], 1).detach())[:, 0], t).backward()
        a.step()
        w = 1 + odds * torch.exp(-sign * judge(torch.cat([g, c], 1))[:, 0])
        w = torch.cat([w[:n0] / w[:n0].mean(), w[n0:] / w[n0:].mean()])
        r = torch.cat([c, u], 1)
        said = torch.cat([h[0](r[:n0])[:, 0], h[1](r[n0:])[:, 0]])
        loss = (w * (said - y) ** 2).mean() + 0.1 * mmd(u, n0)
        b.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(moving, 10.0)
        b.step()
        times.append(1e3 * (time.perf_counter() - now))
    print(f"| {name} | {statistics.median(times):.2f} | {min(times):.2f} |", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
    print(f"threads: {torch.get_num_threads()}\n| shape | ms a step (median) | fastest |\n|---|---|---|")
    for shape in sys.argv[2:] or SHAPES:
        run(shape)
