"""Ways of weighing candidates, of adding one, and of ranking estimators, on development draws.

    sh experiments/auto/draws.sh path/to/candidates FOLDER SEED...
    python experiments/auto/weighing.py FOLDER

`draws.sh` writes one file per draw with the example `candidates` of paretau-study: held-out predictions and effects of fresh rows
of every candidate. This script fits nothing: it prints what other weights would have given on the same predictions. Losses of the fresh rows are
what a choice may go by; root-PEHE scores it. Seeds are 9101 and after, used by no other study.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np

# Candidates of `auto` when this was written; a draw may lack some (the net, which takes most of the time).
USUAL = [
    "lr-2",
    "t-learner",
    "x-learner",
    "dr-learner",
    "t-learner over boosting",
    "x-learner over a stack",
    "t-learner over a stack",
    "causal-forest",
    "r-learner",
    "tarnet",
]
FURTHER = ["x-learner over boosting", "s-learner over boosting"]
LEAST_WEIGHT = 0.02


class Draw:
    """One file: rows to learn from, fresh rows, candidates."""

    def __init__(self, path: Path):
        document = json.loads(path.read_text())
        own = {name: np.array(values) for name, values in document["nuisance"].items()}
        self.name, self.own = path.stem, own
        self.fresh = {name: np.array(values) for name, values in document["fresh_nuisance"].items()}
        n = self.n = len(own["e"])
        rows = {name: np.array(document[name]) for name in ("t", "y", "mu0", "mu1")}
        self.t, self.y, self.new_t, self.new_y = rows["t"][:n], rows["y"][:n], rows["t"][n:], rows["y"][n:]
        self.effect, self.new_effect = np.split(rows["mu1"] - rows["mu0"], [n])
        self.candidates = {
            name: {part: np.array(values) for part, values in found.items() if part != "seconds"}
            for name, found in document["candidates"].items()
        }
        # The constant effect as `auto` has it: of the rows outside a row's fold.
        self.constant = np.zeros(n)
        self.folds = [np.array(fold) for fold in document["folds"]]
        for fold in self.folds:
            self.constant[fold] = np.delete(own["scores"], fold).mean()


def on_simplex(gram: Any, nu: float) -> Any:
    """Minimum of w'Gw + nu w·diag(G) over convex weights; nu = 1 is Q-aggregation as `auto` has it, 0 least squares."""
    own = np.diag(gram)
    weights = np.eye(len(gram))[np.argmin(own)]
    for _ in range(20_000):
        slope = 2 * gram @ weights + nu * own
        to, active = np.argmin(slope), np.flatnonzero(weights > 0)
        origin = active[np.argmax(slope[active])]
        gain, curve = slope[origin] - slope[to], 2 * (own[origin] + own[to] - 2 * gram[origin, to])
        if origin == to or gain <= 1e-13 * own.min():
            break
        step = min(gain / curve, weights[origin]) if curve > 0 else weights[origin]
        weights[to] += step
        weights[origin] = 0 if step >= weights[origin] else weights[origin] - step
    return weights / weights.sum()


def stacked_outcomes(draw: Draw, names: list[str]) -> tuple[Any, Any]:
    """Expected outcomes of both arms as convex mixtures of the nuisances and of the candidates' own predictions."""
    out = []
    for arm, key in ((0, "mu0"), (1, "mu1")):
        every = np.array([draw.own[key], *(draw.candidates[name][key] for name in names)])
        rows = draw.t == arm
        misses = every[:, rows] - draw.y[rows]
        out.append(on_simplex(misses @ misses.T, 0.0) @ every)
    return out[0], out[1]


def yardsticks(draw: Draw, names: list[str]) -> dict[str, tuple[Any, Any]]:
    """Doubly robust scores and mean outcomes: by the nuisances, and with the candidates' outcomes stacked into them."""
    mu0, mu1 = stacked_outcomes(draw, names)
    e, t = draw.own["e"], draw.t
    scores = mu1 - mu0 + draw.own["inverse"] * (2 * t - 1) * (draw.y - np.where(t == 1, mu1, mu0))
    return {"nuisances": (draw.own["scores"], draw.own["m"]), "stacked": (scores, e * mu1 + (1 - e) * mu0)}


def parts(draw: Draw, taus: Any, yard: tuple[Any, Any]) -> tuple[Any, Any]:
    """What effects leave of the doubly robust and of the R-loss."""
    scores, m = yard
    return scores - taus, (draw.y - m) - (draw.t - draw.own["e"]) * taus


def weigh(draw: Draw, names: list[str], yard: tuple[Any, Any], nu: float = 1.0, use: tuple[float, float] = (1.0, 1.0), even: float = 0.0) -> Any:
    """Weights of the constant effect and of the candidates: `use` of the two losses, `even` of the way to equal weights."""
    taus = np.array([draw.constant, *(draw.candidates[name]["tau"] for name in names)])
    gram = np.zeros((len(taus), len(taus)))
    for left, share in zip(parts(draw, taus, yard), use):
        gram += share * (left @ left.T) / np.sum(left[0] ** 2)
    weights = np.eye(len(taus))[np.argmin(np.diag(gram))] if math.isinf(nu) else on_simplex(gram, nu)
    weights = (1 - even) * weights + even * np.append(0, np.full(len(names), 1 / len(names)))
    weights[weights < LEAST_WEIGHT] = 0
    return weights / weights.sum()


def scored(draw: Draw, names: list[str], weights: Any) -> Any:
    """Root-PEHE, doubly robust and R-loss of the mixture on the fresh rows."""
    tau = weights[0] * draw.own["scores"].mean() + weights[1:] @ np.array([draw.candidates[name]["fresh"] for name in names])
    new = draw.fresh
    residual = (draw.new_y - new["m"]) - (draw.new_t - new["e"]) * tau
    return np.array([math.sqrt(np.mean((tau - draw.new_effect) ** 2)), np.mean((new["scores"] - tau) ** 2), np.mean(residual**2)])


RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "Q-aggregation (as `auto`)": ("nuisances", {}),
    "Q-aggregation, candidates' outcomes stacked into the yardstick": ("stacked", {}),
    "halfway to least squares": ("nuisances", {"nu": 0.3}),
    "least squares": ("nuisances", {"nu": 0.0}),
    "the best alone": ("nuisances", {"nu": math.inf}),
    "doubly robust loss alone": ("nuisances", {"use": (1.0, 0.0)}),
    "R-loss alone": ("nuisances", {"use": (0.0, 1.0)}),
    "three tenths of the way to equal weights": ("nuisances", {"even": 0.3}),
    "equal weights": ("nuisances", {"even": 1.0}),
}


def alive_after(draw: Draw, names: list[str], yard: tuple[Any, Any], errors: float, every_fold: bool) -> tuple[list[str], float]:
    """Candidates that stay when those `errors` standard errors above the best are given up, and the share of fits saved."""
    alive, fits, done = list(names), 0, np.array([], dtype=int)
    for number, fold in enumerate(draw.folds):
        fits += len(alive)
        done = np.append(done, fold)
        last = number + 1 == len(draw.folds)
        if last or (number > 0 and not every_fold):
            continue
        units = [np.mean(left[done] ** 2) for left in parts(draw, draw.constant, yard)]
        taus = {name: draw.candidates[name]["tau"] for name in alive} | {"": draw.constant}
        losses = {n: sum(left[done] ** 2 / unit for left, unit in zip(parts(draw, tau, yard), units)) for n, tau in taus.items()}
        best = min(losses.values(), key=np.mean)
        gaps = {name: losses[name] - best for name in alive}
        alive = [name for name, gap in gaps.items() if gap.mean() <= errors * gap.std(ddof=1) / math.sqrt(len(gap))]
    return alive, 1 - fits / (len(names) * len(draw.folds))


def line(name: str, ratios: list[Any]) -> str:
    """A row of the table: geometric means, the standard error of the first loss's logarithm, number of draws better by it."""
    logs = np.log(np.array(ratios))
    mean, n = logs.mean(axis=0), len(logs)
    spread = logs[:, 1].std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
    figures = [f"{1000 * mean[1]:+.1f} ({1000 * spread:.1f})", f"{1000 * mean[2]:+.1f}", f"{np.exp(mean[0]):.3f}", f"{np.exp(logs[:, 0].max()):.2f}"]
    return "| " + " | ".join([name, *figures]) + " |"


def ranks(values: Any) -> Any:
    """Ranks; the figures have no ties."""
    return np.argsort(np.argsort(values))


def rankings(draw: Draw) -> dict[str, tuple[float, float]]:
    """Spearman's correlation with the true order, and the first one's regret, by ways of ordering."""
    names = list(draw.candidates)
    taus = np.array([draw.candidates[name]["tau"] for name in names])
    truth = np.sqrt(np.mean((taus - draw.effect) ** 2, axis=1))
    found = {}
    for yard_name, yard in yardsticks(draw, names).items():
        units = [np.mean(left**2) for left in parts(draw, draw.constant, yard)]
        dr, r = (np.mean(left**2, axis=1) / unit for left, unit in zip(parts(draw, taus, yard), units))
        found |= {f"doubly robust, {yard_name}": dr, f"R, {yard_name}": r, f"both, {yard_name}": dr + r}
    found["plug-in"] = np.mean((draw.own["mu1"] - draw.own["mu0"] - taus) ** 2, axis=1)
    weights = weigh(draw, names, (draw.own["scores"], draw.own["m"]))
    mixed = weights[0] * draw.constant + weights[1:] @ taus
    found["distance from the mixture of `auto`"] = np.mean((taus - mixed) ** 2, axis=1)
    spearman = lambda v: float(np.corrcoef(ranks(v), ranks(truth))[0, 1])  # noqa: E731
    return {name: (spearman(v), float(truth[np.argmin(v)] / truth.min() - 1)) for name, v in found.items()}


def main() -> None:
    """Prints the tables."""
    draws = [Draw(path) for path in sorted(Path(sys.argv[1]).glob("*.json"))]
    print(f"{len(draws)} draws: {', '.join(draw.name for draw in draws)}\n")
    head = "doubly robust loss, ‰ (standard error) | R-loss, ‰ | root-PEHE, ratio | worst draw's |\n|---|---|---|---|---|"
    usual = {draw.name: [name for name in USUAL if name in draw.candidates] for draw in draws}
    now = {d.name: scored(d, usual[d.name], weigh(d, usual[d.name], yardsticks(d, usual[d.name])["nuisances"])) for d in draws}
    print(f"| weights, against those of `auto` | {head}")
    for rule, (yard, settings) in RULES.items():
        print(line(rule, [scored(d, names := usual[d.name], weigh(d, names, yardsticks(d, names)[yard], **settings)) / now[d.name] for d in draws]))
    print(f"\n| candidate added, or left out | {head}")
    for change in [[name] for name in FURTHER] + [FURTHER]:
        ratios = []
        for d in draws:
            names = usual[d.name] + [name for name in change if name in d.candidates]
            ratios.append(scored(d, names, weigh(d, names, yardsticks(d, names)["nuisances"])) / now[d.name])
        print(line("with " + " and ".join(change), ratios))
    for name in USUAL:
        having = [d for d in draws if name in d.candidates]
        if having:
            ratios = []
            for d in having:
                names = [other for other in usual[d.name] if other != name]
                ratios.append(scored(d, names, weigh(d, names, yardsticks(d, names)["nuisances"])) / now[d.name])
            print(line(f"without {name}", ratios))
    print(f"\n| candidates given up at | fits saved | {head}---|")
    for errors, every_fold in ((3.0, False), (3.0, True), (2.5, False), (2.5, True), (2.0, False), (2.0, True)):
        ratios, saved = [], []
        for d in draws:
            names = [name for name in [*USUAL, FURTHER[0]] if name in d.candidates]
            yard = yardsticks(d, names)["nuisances"]
            alive, share = alive_after(d, names, yard, errors, every_fold)
            ratios.append(scored(d, alive, weigh(d, alive, yard)) / scored(d, names, weigh(d, names, yard)))
            saved.append(share)
        when = "every fold" if every_fold else "the first fold"
        label = f"{errors:g} standard errors, after {when} | {100 * np.mean(saved):.0f} %"
        print(line(label, ratios))
    print("\n| order of the candidates by | Spearman with the true order | above the first line's (standard error) | lowest | regret of the first |")
    print("|---|---|---|---|---|")
    every = [rankings(draw) for draw in draws]
    usual_order = np.array([next(iter(found.values()))[0] for found in every])
    for name in every[0]:
        rho, regret = np.array([found[name] for found in every]).T
        gap = rho - usual_order
        gain = f"{gap.mean():+.2f} ({gap.std(ddof=1) / math.sqrt(len(gap)):.2f})"
        print(f"| {name} | {rho.mean():.2f} | {gain} | {rho.min():.2f} | {100 * regret.mean():.0f} % |")


if __name__ == "__main__":
    main()
