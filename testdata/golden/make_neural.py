"""Makes neural_*.json: parameters of small nets after 20 steps, by an independent PyTorch implementation.

Run with PyTorch (CPU, any recent version): python make_neural.py [FOLDER]
Everything is in double precision. Each file holds the batch, the initial parameters as one flat vector in the engine's order
(encoders layer by layer, propensity net, head of controls, head of treated, epsilon), and the parameters after 20 steps.
With batch normalisation each hidden layer's running means and variances follow its bias.
"""

import json
import math
import sys
from pathlib import Path

import torch

torch.set_default_dtype(torch.float64)
HERE = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
STEPS, RATE, L2 = 20, 0.01, 0.02
D, N, N0 = 4, 60, 28
ENCODER, REP, PROPENSITY, HEADS = [5, 4], 3, [4, 3], [5, 4]


def batch(seed, binary=False):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(N, D, generator=g)
    t = torch.cat([torch.zeros(N0), torch.ones(N - N0)])
    x[:, 0] += 0.8 * (2 * t - 1)
    mu = x[:, 1] + x[:, 3] + t * (1 + x[:, 3])
    y = mu + 0.3 * torch.randn(N, generator=g)
    if binary:
        y = (y > 0.5).double()
    return x, t, y


class Block:
    """A leaf tensor that knows whether L2 pulls on it."""

    def __init__(self, shape, spread, g, decays):
        self.value = (spread * torch.randn(*shape, generator=g)).requires_grad_()
        self.decays = decays


class Statistics:
    """A buffer of PyTorch's batch normalisation, which no optimiser moves."""

    decays = None

    def __init__(self, value):
        self.value = value


class Net:
    """Nets side by side: the first layers are one matrix, later ones one matrix a group."""

    def __init__(self, inputs, groups, widths, g, last=None, batch_norm=False):
        self.groups, self.layers, self.last = groups, [], last
        self.norms = [torch.nn.BatchNorm1d(groups * w, affine=False) for w in widths[:-1]] if batch_norm else []
        for i, width in enumerate(widths):
            spread = 1.2 / math.sqrt(inputs)
            if i == 0:
                w = [Block((inputs, groups * width), spread, g, True)]
            else:
                w = [Block((inputs, width), spread, g, True) for _ in range(groups)]
            self.layers.append((w, Block((groups * width,), 0.1, g, False), width))
            inputs = width

    def blocks(self):
        for i, (w, b, _) in enumerate(self.layers):
            yield from w
            yield b
            for norm in self.norms[i : i + 1]:
                yield Statistics(norm.running_mean)
                yield Statistics(norm.running_var)

    def train(self, training):
        for norm in self.norms:
            norm.train(training)
        return self

    def __call__(self, x):
        for i, (w, b, width) in enumerate(self.layers):
            if i == 0:
                z = x @ w[0].value
            else:
                parts = torch.split(x, x.shape[1] // self.groups, dim=1)
                z = torch.cat([p @ v.value for p, v in zip(parts, w)], dim=1)
            for norm in self.norms[i : i + 1]:
                z = norm(z)
            z = z + b.value
            final = i + 1 == len(self.layers)
            x = self.last(z) if final and self.last else z if final else torch.nn.functional.elu(z)
        return x


def median_width(z):
    """Median distance among the first 32 rows of each arm, the upper one of two."""
    rows = torch.cat([z[:N0][:32], z[N0:][:32]]).detach()
    i, j = torch.tril_indices(len(rows), len(rows), -1)
    d = (rows[i] - rows[j]).pow(2).sum(1)
    return d.sort().values[len(d) // 2].sqrt()


def rbf_mmd(z):
    s = median_width(z)
    k = torch.exp(-torch.cdist(z, z).pow(2) / (2 * s * s))
    return k[:N0, :N0].mean() + k[N0:, N0:].mean() - 2 * k[:N0, N0:].mean()


def soft_rank(v, eps):
    """Ascending L2-regularised soft rank: pools found on numbers, ranks written with torch."""
    order = torch.argsort(v)
    s = v[order]
    blocks = []
    for i, value in enumerate(s.tolist()):
        blocks.append([i, i + 1, value / eps - (i + 1)])
        # The projection needs v non-decreasing in this direction: pool while it falls.
        while len(blocks) > 1 and blocks[-2][2] >= blocks[-1][2]:
            a, b = blocks[-2], blocks.pop()
            n1, n2 = a[1] - a[0], b[1] - b[0]
            a[2] = (a[2] * n1 + b[2] * n2) / (n1 + n2)
            a[1] = b[1]
    r = torch.empty_like(s)
    for a, b, _ in blocks:
        part = s[a:b]
        r[a:b] = (part - part.mean()) / eps + (a + b + 1) / 2
    out = torch.empty_like(s)
    out[order] = r
    return out


def soft_pareto(w, eps, kappa):
    """Scale-free soft Pareto smoothing; None when the fit falls back."""
    n = len(w)
    m = min(n // 5, int(3 * math.sqrt(n)))
    log = w.log()
    z = (log - log.mean()) / (log - log.mean()).pow(2).mean().sqrt()
    r = soft_rank(z, eps / n)
    s = torch.sigmoid(10 * kappa / m * (r - (n - m + 0.5)))
    below = torch.where(r <= n - m, r, torch.full_like(r, -1.0))
    mu = w[below.argmax()]
    soft_m = s.sum()
    a0 = (s * (w - mu)).sum() / soft_m
    place = ((n - r) / (soft_m - 1)).clamp(0, 1)
    a1 = (s * place * (w - mu)).sum() / soft_m
    sigma, xi = 2 * a0 * a1 / (a0 - 2 * a1), 2 - a0 / (a0 - 2 * a1)
    assert sigma > 0 and xi > -5, (sigma, xi)
    p = ((r - (n - m) - 0.5) / m).clamp(0, 1)
    q = mu + sigma / xi * ((1 - p) ** (-xi) - 1)
    return s * q + (1 - s) * w


def arm_mean(w):
    return torch.cat([w[:N0] / w[:N0].mean(), w[N0:] / w[N0:].mean()])


def weights(logit, t, scheme):
    share = (N - N0) / N
    if scheme == "uniform":
        return torch.ones(N)
    if scheme == "trunc":
        logit = torch.logit(torch.sigmoid(logit).clamp(0.3, 0.7))
    own = torch.where(t == 1, logit, -logit)
    odds = torch.where(t == 1, torch.tensor(share / (1 - share)), torch.tensor((1 - share) / share))
    w = 1 + odds * torch.exp(-own)
    if scheme == "ignore":
        p = torch.sigmoid(own)
        w = torch.where((p >= 0.3) & (p <= 0.7), w, torch.zeros(N))
    if scheme == "norm":
        w = arm_mean(w)
    if scheme.startswith("pareto"):
        w = soft_pareto(w, 1.0, 1.0)
        if scheme == "pareto-norm":
            w = arm_mean(w)
    return w


def adam(blocks):
    groups = [
        {"params": [b.value for b in blocks if b.decays], "weight_decay": L2},
        {"params": [b.value for b in blocks if b.decays is False], "weight_decay": 0.0},
    ]
    return torch.optim.Adam(groups, lr=RATE)


def flat(blocks):
    return [v for b in blocks for v in b.value.detach().reshape(-1).tolist()]


def run(name, seed, scheme="uniform", groups=3, balance=0.0, joint=0.0, targeted=0.0, binary=False, norm=False, elu=False):
    x, t, y = batch(seed, binary)
    g = torch.Generator().manual_seed(seed + 100)
    last = torch.nn.functional.elu if groups == 1 or elu else None
    encoders = Net(D, groups, ENCODER + [REP], g, last, norm)
    propensity_net = None
    if groups == 3:
        propensity_net = Net(2 * REP, 1, PROPENSITY + [1], g, batch_norm=norm)
    elif joint:
        propensity_net = Net(REP, 1, [1], g)
    reads = 2 * REP if groups == 3 else REP
    heads = [Net(reads, 1, HEADS + [1], g, batch_norm=norm) for _ in range(2)]
    epsilon = [Block((1,), 0.1, g, False)] if targeted else []
    propensity_blocks = list(propensity_net.blocks()) if propensity_net else []
    head_blocks = list(heads[0].blocks()) + list(heads[1].blocks())
    everything = list(encoders.blocks()) + propensity_blocks + head_blocks + epsilon
    moving = list(encoders.blocks()) + head_blocks + epsilon + (propensity_blocks if joint else [])
    start = flat(everything)
    phase_b = adam(moving)
    phase_a = adam(propensity_blocks) if propensity_net and not joint else None
    bce = torch.nn.functional.binary_cross_entropy_with_logits
    losses = []
    for _ in range(STEPS):
        # Once for both phases: the first moves the propensity net alone, and a batch counts once in the running statistics.
        z = encoders(x)
        if phase_a:
            loss = bce(propensity_net.train(True)(z[:, : 2 * REP].detach())[:, 0], t)
            phase_a.zero_grad()
            loss.backward()
            phase_a.step()
            propensity_net.train(False)
        r = z[:, REP:] if groups == 3 else z
        h = torch.cat([heads[0](r[:N0])[:, 0], heads[1](r[N0:])[:, 0]])
        each = torch.nn.functional.softplus(h) - y * h if binary else (h - y) ** 2
        loss = 0.0
        w = torch.ones(N)
        if propensity_net:
            logit = propensity_net(z[:, : 2 * REP] if groups == 3 else z)[:, 0]
            if scheme != "uniform":
                w = weights(logit, t, scheme)
            if joint:
                loss = joint * bce(logit, t)
                if targeted:
                    p = (torch.sigmoid(logit) + 0.01) / 1.02
                    clever = torch.where(t == 1, 1 / p, -1 / (1 - p))
                    loss = loss + targeted * (y - h - epsilon[0].value * clever).pow(2).mean()
        loss = loss + (w * each).mean()
        if balance:
            loss = loss + balance * rbf_mmd(z[:, -REP:])
        phase_b.zero_grad()
        loss.backward()
        phase_b.step()
        losses.append(loss.item())
    return {
        "name": name,
        "weighting": scheme,
        "groups": groups,
        "balance": balance,
        "joint": joint,
        "targeted": targeted,
        "binary": binary,
        **({"batch_norm": True, "elu_representation": elu} if norm else {}),
        "x": x.reshape(-1).tolist(),
        "n0": N0,
        "y": y.tolist(),
        "start": start,
        "end": flat(everything),
        "losses": losses,
    }


def write(name, cases):
    settings = {"steps": STEPS, "rate": RATE, "l2": L2, "d": D, "n": N}
    text = json.dumps({"made_by": "make_neural.py", "torch": torch.__version__.split("+")[0], **settings, "cases": cases})
    (HERE / name).write_text(text + "\n")
    print(name, len(text))


if __name__ == "__main__":
    write(
        "neural_steps.json",
        [
            run("tarnet", 1, groups=1),
            run("tarnet-binary", 2, groups=1, binary=True),
            run("cfr-mmd", 3, groups=1, balance=0.7),
            run("dragonnet", 4, groups=1, joint=1.0, targeted=1.0),
            run("drcfr", 5, "ipw", balance=0.5),
            run("drcfr-norm", 6, "norm", balance=0.5),
            run("drcfr-trunc", 7, "trunc", balance=0.5),
            run("drcfr-ignore", 8, "ignore", balance=0.5),
            run("dpsw", 9, "pareto", balance=0.5),
            run("dpsw-norm", 10, "pareto-norm", balance=0.5),
            run("dpsw-norm-binary", 11, "pareto-norm", balance=0.5, binary=True),
        ],
    )
    write(
        "neural_batch_norm.json",
        [
            run("tarnet", 21, groups=1, norm=True),
            run("dragonnet-binary", 22, groups=1, joint=1.0, binary=True, norm=True),
            run("dpsw-norm", 23, "pareto-norm", balance=0.5, norm=True, elu=True),
            run("dpsw-norm-linear", 23, "pareto-norm", balance=0.5, norm=True),
        ],
    )
