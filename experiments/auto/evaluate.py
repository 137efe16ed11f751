"""`auto`, our single estimators and peers on the same rows: root-PEHE over the effect's sd on rows held out.

    python experiments/auto/evaluate.py run path/to/paretau [--families ihdp acic ...] [--rounds 5] [--methods auto tarnet ...]
    python experiments/auto/evaluate.py table > experiments/auto/table.md

`run` appends one record per data set and method to records.jsonl and skips what is there, so that it can be broken off and
goes on with the same command; with `--renew --build NAME` those of ours by another build are made again, and the later record counts. Round k takes the k-th set of every family. A fifth of the rows, the same for all methods, is
held out; the truth scores and chooses nothing. Everything runs on one thread. Real data are looked for in the folder that
PARETAU_DATA names. Peers need `pip install -r experiments/auto/requirements.txt`; one that is not installed is named and
left out. `table` needs no data: geometric means of pehe_rel per family, over the sets that all methods of the table have.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
RECORDS = HERE / "records.jsonl"
SEED = 0
# Seeds of simulated sets; decisions about `auto` were made on other ones, named in reading.md.
FIRST_DRAW = 9000


class Data(NamedTuple):
    """One set: a frame of features, treatment, outcome, expected outcomes."""

    x: Any
    t: Any
    y: Any
    mu0: Any
    mu1: Any


# --- data sets ----------------------------------------------------------------------------------------------------


def folder() -> Path:
    """Where real data are."""
    return Path(os.environ.get("PARETAU_DATA", HERE.parent.parent / "data"))


def ihdp(k: int, _program: str) -> Data:
    """IHDP realisation k."""
    import pandas as pd

    rows = pd.read_csv(folder() / "ihdp" / f"ihdp_npci_{k}.csv", header=None)
    x = rows.iloc[:, 5:].set_axis([f"x{j + 1}" for j in range(25)], axis=1)
    return Data(x, rows[0].to_numpy(), rows[1].to_numpy(), rows[3].to_numpy(), rows[4].to_numpy())


def acic(k: int, _program: str) -> Data:
    """ACIC 2016, the k-th set whose effect varies."""
    import numpy as np
    import pandas as pd

    x = pd.read_csv(folder() / "acic2016" / "x.csv")
    z = pd.read_csv(folder() / "acic2016" / f"zymu_{[1, 4, 5, 6][k - 1]}.csv")
    return Data(x, z.z.to_numpy(), np.where(z.z == 1, z.y1, z.y0), z.mu0.to_numpy(), z.mu1.to_numpy())


def lbidd(k: int, _program: str) -> Data:
    """LBIDD with a varying effect, smallest sets first."""
    import numpy as np
    import pandas as pd

    names = sorted(p for p in (folder() / "lbidd" / "heterogeneous").glob("*.csv") if not p.stem.endswith("_cf"))
    path = sorted(names, key=lambda p: (p.stat().st_size, p.name))[k - 1]
    rows = pd.read_csv(path).merge(pd.read_csv(path.with_name(f"{path.stem}_cf.csv")), on="sample_id")
    x = pd.read_parquet(folder() / "lbidd" / "covariates.parquet").set_index("sample_id").loc[rows.sample_id]
    y = np.where(rows.z == 1, rows.y1, rows.y0)
    return Data(x.reset_index(drop=True), rows.z.to_numpy(), y, rows.y0.to_numpy(), rows.y1.to_numpy())


def news(k: int, _program: str) -> Data:
    """News-like realisation k; words that fewer than 50 articles use are left out, for the peers' sake."""
    import numpy as np
    import pandas as pd

    base = folder() / "newslike" / "topic_doc_mean_n5000_k3477_seed_1.csv.x.gz"
    with gzip.open(base, "rt") as file:
        n, d, _ = (int(v) for v in next(file).split(","))
        cells = np.loadtxt(file, delimiter=",")
    x = np.zeros((n, d))
    x[cells[:, 0].astype(int) - 1, cells[:, 1].astype(int) - 1] = cells[:, 2]
    y = np.loadtxt(base.with_name(f"topic_doc_mean_n5000_k3477_seed_{k}.csv.y"), delimiter=",")
    often = np.flatnonzero((x > 0).sum(axis=0) >= 50)
    return Data(pd.DataFrame(x[:, often], columns=[f"w{j}" for j in often]), y[:, 0], y[:, 1], y[:, 3], y[:, 4])


def simulated(words: Callable[[int], list[str]]) -> Callable[[int, str], Data]:
    """Draws of a process by the command line."""

    def draw(k: int, program: str) -> Data:
        import pandas as pd

        with tempfile.TemporaryDirectory() as place:
            path = str(Path(place) / "draw.csv")
            command = [program, "simulate", *words(k), "--seed", str(FIRST_DRAW + k), "--out", path, "--quiet"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            rows = pd.read_csv(path)
        x = rows[[name for name in rows.columns if name.startswith("x")]]
        return Data(x, rows.t.to_numpy(), rows.y.to_numpy(), rows.mu0.to_numpy(), rows.mu1.to_numpy())

    return draw


FAMILIES: dict[str, tuple[str, int, Callable[[int, str], Data]]] = {
    "ihdp": ("IHDP", 25, ihdp),
    "synthetic": ("synthetic, 2 000 × 15", 5, simulated(lambda _: ["synthetic", "--n", "2000", "--d", "15"])),
    "overlap": (
        "overlap, 2 000 × 20",
        6,
        simulated(lambda k: ["overlap", "--n", "2000", "--d", "20", "--set", f"strength={[1, 2, 4][(k - 1) % 3]}"]),
    ),
    "acic": ("ACIC 2016", 4, acic),
    "lbidd": ("LBIDD, effect varies", 4, lbidd),
    "news": ("News-like, common words", 10, news),
}

# --- our estimators -----------------------------------------------------------------------------------------------

OURS: dict[str, list[str]] = {
    "auto": ["auto"],
    "auto, quick": ["auto", "--set", "effort=quick"],
    "causal-forest": ["causal-forest"],
    "t-learner": ["t-learner"],
    "x-learner": ["x-learner"],
    "dr-learner": ["dr-learner"],
    "r-learner": ["r-learner"],
    "t-learner, boosting": ["t-learner", "--set", "base=boosting"],
    "t-learner, stack": ["t-learner", "--set", "base=stack"],
    "x-learner, stack": ["x-learner", "--set", "base=stack"],
    "lr-2": ["lr-2"],
    "tarnet": ["tarnet"],
    "dpsw-norm": ["dpsw-norm"],
}


def ours(method: str, train: Data, test: Data, program: str) -> tuple[list[float], dict[str, Any]]:
    """Effects of the test rows by the command line, and facts of the fit."""
    with tempfile.TemporaryDirectory() as place:
        paths = {name: str(Path(place) / name) for name in ("train.parquet", "test.parquet", "model.paretau", "out.csv")}
        for name, part in (("train.parquet", train), ("test.parquet", test)):
            part.x.assign(treated_=part.t, outcome_=part.y).to_parquet(paths[name], index=False)
        common = ["--quiet", "--threads", "1"]
        fit = ["fit", paths["train.parquet"], "--treatment", "treated_", "--outcome", "outcome_", "--estimator", *OURS[method]]
        words = [program, "--json", *fit, "--seed", str(SEED), "--out", paths["model.paretau"], *common]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        words = [program, "effect", paths["model.paretau"], paths["test.parquet"], "--out", paths["out.csv"], *common]
        subprocess.run(words, check=True, capture_output=True)
        with open(paths["out.csv"], newline="") as file:
            effects = [float(row["tau"]) for row in csv.DictReader(file)]
        diagnostics = json.loads(done.stdout).get("diagnostics", {})
        numbers = diagnostics.get("numbers", diagnostics)
        facts = {k: v for k, v in numbers.items() if k.startswith(("share_", "dr_loss", "r_loss")) and isinstance(v, float)}
        return effects, {k: float(f"{v:.6g}") for k, v in facts.items()}


# --- peers --------------------------------------------------------------------------------------------------------


def matrices(train: Data, test: Data) -> tuple[Any, Any]:
    """Numbers for the peers: indicators for text, column means for missing cells."""
    import pandas as pd

    both = pd.get_dummies(pd.concat([train.x, test.x])).astype(float)
    both = both.fillna(both.iloc[: len(train.x)].mean()).fillna(0.0).to_numpy()
    return both[: len(train.x)], both[len(train.x) :]


def lightgbm(**settings: Any) -> Any:
    """LightGBM's regressor on one thread."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, random_state=SEED, verbose=-1, **settings)


def tuned_lightgbm(x: Any, y: Any) -> Any:
    """LightGBM with leaves, rate and rounds chosen by five-fold cross-validation."""
    import numpy as np
    from sklearn.model_selection import GridSearchCV

    grid = {"num_leaves": [4, 8, 31], "n_estimators": [100, 300, 800], "learning_rate": [0.03, 0.1]}
    model = lightgbm(min_child_samples=10)
    search = GridSearchCV(model, grid, cv=5, scoring="neg_mean_squared_error", n_jobs=1)
    return search.fit(x, np.asarray(y)).best_estimator_


def forest() -> tuple[Any, Any]:
    """scikit-learn's forests with leaves of five."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    settings = {"n_estimators": 200, "min_samples_leaf": 5, "n_jobs": 1, "random_state": SEED}
    return RandomForestRegressor(**settings), RandomForestClassifier(**settings)


def econml_cf(train: Data, x: Any, new: Any) -> Any:
    """EconML's CausalForestDML with forests as nuisances."""
    from econml.dml import CausalForestDML

    regress, classify = forest()
    model = CausalForestDML(
        model_y=regress, model_t=classify, discrete_treatment=True, n_estimators=500, random_state=SEED, n_jobs=1
    )
    return model.fit(train.y, train.t, X=x).effect(new)


def econml_x(train: Data, x: Any, new: Any) -> Any:
    """EconML's X-learner over scikit-learn's forests."""
    from econml.metalearners import XLearner

    regress, classify = forest()
    return XLearner(models=regress, propensity_model=classify).fit(train.y, train.t, X=x).effect(new).ravel()


def econml_dr(train: Data, x: Any, new: Any) -> Any:
    """EconML's DR-learner over scikit-learn's forests."""
    from econml.dr import DRLearner

    regress, classify = forest()
    model = DRLearner(
        model_propensity=classify, model_regression=regress, model_final=forest()[0], min_propensity=0.02, random_state=SEED
    )
    return model.fit(train.y, train.t, X=x).effect(new).ravel()


def causalml_x(train: Data, x: Any, new: Any) -> Any:
    """CausalML's X-learner over LightGBM."""
    from causalml.inference.meta import BaseXRegressor

    model = BaseXRegressor(learner=lightgbm())
    model.fit(x, train.t.astype(int), train.y)
    return model.predict(new).ravel()


def t_lightgbm(train: Data, x: Any, new: Any) -> Any:
    """Two LightGBM models with their defaults."""
    arms = [lightgbm().fit(x[train.t == arm], train.y[train.t == arm]) for arm in (0, 1)]
    return arms[1].predict(new) - arms[0].predict(new)


def t_tuned(train: Data, x: Any, new: Any) -> Any:
    """Two LightGBM models, each tuned."""
    arms = [tuned_lightgbm(x[train.t == arm], train.y[train.t == arm]) for arm in (0, 1)]
    return arms[1].predict(new) - arms[0].predict(new)


def bcf(train: Data, x: Any, new: Any) -> Any:
    """stochtree's Bayesian causal forest, propensities by a logistic line."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from stochtree import BCFModel

    scaler = StandardScaler().fit(x)
    line = LogisticRegression(max_iter=1000).fit(scaler.transform(x), train.t)
    e, e_new = (line.predict_proba(scaler.transform(part))[:, 1] for part in (x, new))
    model = BCFModel()
    model.sample(
        X_train=x, Z_train=train.t.astype(float), y_train=train.y, propensity_train=e,
        X_test=new, Z_test=np.zeros(len(new)), propensity_test=e_new,
        num_gfr=10, num_burnin=0, num_mcmc=100, general_params={"random_seed": SEED, "num_threads": 1},
    )
    return np.asarray(model.tau_hat_test).reshape(len(new), -1).mean(axis=1)


PEERS: dict[str, tuple[str, Callable[[Data, Any, Any], Any]]] = {
    "EconML CausalForestDML": ("econml", econml_cf),
    "EconML X-learner, forests": ("econml", econml_x),
    "EconML DR-learner, forests": ("econml", econml_dr),
    "CausalML X-learner, LightGBM": ("causalml", causalml_x),
    "T-learner, LightGBM": ("lightgbm", t_lightgbm),
    "T-learner, LightGBM tuned": ("lightgbm", t_tuned),
    "stochtree BCF": ("stochtree", bcf),
}

# --- `compare` against the truth ----------------------------------------------------------------------------------

LOSSES = {"dr_loss": "doubly robust loss", "r_loss": "R-loss", "plugin_loss": "plug-in loss"}
COMPARED = "lr-2,t-learner,x-learner,dr-learner,r-learner,causal-forest,causal-forest-dml,tarnet"


def comparison(train: Data, program: str) -> dict[str, Any]:
    """Spearman's correlation of `compare`'s order with the true one, over eight estimators, for each loss."""
    with tempfile.TemporaryDirectory() as place:
        path = str(Path(place) / "train.parquet")
        rows = train.x.assign(treated_=train.t, outcome_=train.y, mu0_=train.mu0, mu1_=train.mu1)
        rows.to_parquet(path, index=False)
        roles = ["--treatment", "treated_", "--outcome", "outcome_", "--truth", "mu0_,mu1_"]
        words = ["compare", path, *roles, "--estimators", COMPARED, "--seed", str(SEED), "--quiet", "--threads", "1"]
        done = subprocess.run([program, "--json", *words], capture_output=True, text=True, check=True)
    found = [row for row in json.loads(done.stdout)["rows"] if row.get("dr_loss") is not None]
    truth = [row["pehe"] for row in found]
    out: dict[str, Any] = {
        f"spearman_{name}": spearman([row[name] for row in found], truth) for name in LOSSES
    }
    out["regret"] = found[0]["pehe"] / min(truth) - 1.0
    out["tied_best"] = min(found, key=lambda row: row["pehe"])["ties_with_best"]
    return out


def spearman(a: list[float], b: list[float]) -> float:
    """Correlation of ranks; the figures have no ties."""
    order = [{i: rank for rank, i in enumerate(sorted(range(len(v)), key=v.__getitem__))} for v in (a, b)]
    n = len(a)
    return 1.0 - 6.0 * sum((order[0][i] - order[1][i]) ** 2 for i in range(n)) / (n * (n * n - 1))


# --- running ------------------------------------------------------------------------------------------------------


def split(data: Data) -> tuple[Data, Data]:
    """The same rows held out for every method."""
    import numpy as np

    order = np.random.default_rng(SEED).permutation(len(data.y))
    cut = len(order) // 5
    take = lambda rows: Data(data.x.iloc[rows].reset_index(drop=True), *(np.asarray(v)[rows] for v in data[1:]))  # noqa: E731
    return take(np.sort(order[cut:])), take(np.sort(order[:cut]))


def kept(path: Path) -> list[dict[str, Any]]:
    """Records so far."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def fit_one(method: str, train: Data, test: Data, program: str) -> dict[str, Any]:
    """The record of one method on one set."""
    import numpy as np

    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    start = time.process_time()
    facts: dict[str, Any] = {}
    try:
        if method == "compare":
            facts = comparison(train, program)
        elif method in OURS:
            effects, facts = ours(method, train, test, program)
        else:
            x, new = matrices(train, test)
            effects = PEERS[method][1](train, x, new)
    except Exception as error:  # a failure is a record too
        return {"error": str(error).strip().splitlines()[-1][:300] if str(error).strip() else type(error).__name__}
    cpu = time.process_time() - start + resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    record: dict[str, Any] = {"cpu_seconds": round(cpu, 2)}
    if method != "compare":
        truth = test.mu1 - test.mu0
        error = math.sqrt(float(np.mean((np.asarray(effects) - truth) ** 2)))
        record |= {"pehe": round(error, 6), "pehe_rel": round(error / float(np.std(truth)), 6)}
    return record | ({"facts": facts} if facts else {})


def run(options: argparse.Namespace) -> None:
    """Fits what is missing."""
    warnings.simplefilter("ignore")
    installed = {module for module, _ in PEERS.values() if importable(module)}
    every = ["compare", *OURS, *(name for name, (module, _) in PEERS.items() if module in installed)]
    for module in sorted({module for module, _ in PEERS.values()} - installed):
        print(f"{module} is not installed: left out", file=sys.stderr)
    methods = [name for name in every if not options.methods or name in options.methods or group(name) in options.methods]
    stands = lambda r: not options.renew or r["method"] in PEERS or r.get("build") == options.build  # noqa: E731
    done = {(r["family"], r["set"], r["method"]) for r in kept(options.records) if stands(r)}
    for k in range(options.first, options.rounds + 1):
        for family in options.families:
            title, sets, read = FAMILIES[family]
            missing = [m for m in methods if (title, k, m) not in done]
            if k > sets or not missing:
                continue
            train, test = split(read(k, options.program))
            for method in missing:
                record = {"family": title, "set": k, "method": method, "rows": len(train.y)}
                record |= {"build": options.build} if options.build and method not in PEERS else {}
                record |= fit_one(method, train, test, options.program)
                with options.records.open("a") as file:
                    file.write(json.dumps(record) + "\n")
                print(title, k, method, record.get("pehe_rel", record.get("error", record.get("facts"))), flush=True)


def importable(module: str) -> bool:
    """Whether a package is there."""
    import importlib.util

    return importlib.util.find_spec(module) is not None


def group(method: str) -> str:
    """`ours`, `peers` or `compare`, for `--methods`."""
    return "ours" if method in OURS else "peers" if method in PEERS else method


# --- the table ----------------------------------------------------------------------------------------------------


def geometric(values: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def table(options: argparse.Namespace) -> None:
    """Geometric means per family, regret of `auto`, ranking of `compare`."""
    records = {(r["family"], r["set"], r["method"]): r for r in kept(options.records)}
    titles = [title for title, _, _ in FAMILIES.values()]
    common = {
        title: [k for k in sets_of(records, title) if all((title, k, m) in records for m in seen(records, title))]
        for title in titles
    }
    shown = [title for title in titles if common[title]]
    print("# Errors of effects on rows held out\n")
    print("Geometric mean of `pehe_rel` (root-PEHE over the effect's sd) over the sets of a family; CPU seconds per fit in brackets.")
    print("Made from `records.jsonl` by `python experiments/auto/evaluate.py table`. Records of ours by build:", builds(records) + ".\n")
    print("| method |", " | ".join(f"{title} ({len(common[title])})" for title in shown), "|\n|---|" + "---|" * len(shown))
    for method in [*OURS, *PEERS]:
        print(f"| {method} |", " | ".join(cell(records, title, common[title], method) for title in shown), "|")
    print("\n## What `auto` costs against hindsight\n")
    print("| family | `auto` | best of our single estimators | `auto` over it | best peer | `auto` over it |\n|---|---|---|---|---|---|")
    for title in shown:
        score = {m: v for m in [*OURS, *PEERS] if (v := value(records, title, common[title], m)) is not None}
        if "auto" not in score:
            continue
        single = min((m for m in OURS if m in score and not m.startswith("auto")), key=score.__getitem__)
        line = [title, f"{score['auto']:.3f}", f"{single} {score[single]:.3f}", f"{score['auto'] / score[single]:.2f}"]
        peer = min((m for m in PEERS if m in score), key=score.__getitem__, default=None)
        line += [f"{peer} {score[peer]:.3f}", f"{score['auto'] / score[peer]:.2f}"] if peer else ["", ""]
        print("|", " | ".join(line), "|")
    ihdp_rows = [records[key]["pehe"] for key in records if key[0] == "IHDP" and key[2] == "auto" and "pehe" in records[key]]
    if ihdp_rows:
        print(f"\nMean root-PEHE of `auto` on IHDP: {sum(ihdp_rows) / len(ihdp_rows):.3f} over {len(ihdp_rows)} sets.")
    compared(records, titles)
    failed = [(key, r["error"]) for key, r in records.items() if "error" in r]
    print(f"\nFailures: {len(failed)}" + "".join(f"\n- {' / '.join(map(str, key))}: {why}" for key, why in failed))


def builds(records: dict[Any, Any]) -> str:
    """How many records of ours each build has, and of which methods the less frequent builds are."""
    found: dict[str, list[str]] = {}
    for (family, k, method), record in records.items():
        if method not in PEERS:
            found.setdefault(record.get("build", "unnamed"), []).append(f"{method} on {family.split(',')[0]} {k}")
    most = max(found, key=lambda name: len(found[name]), default="")
    return "; ".join(f"{name}: {len(rows)}" + ("" if name == most else f" ({', '.join(rows)})") for name, rows in found.items())


def sets_of(records: dict[Any, Any], title: str) -> list[int]:
    """Sets of a family with any record."""
    return sorted({k for family, k, _ in records if family == title})


def seen(records: dict[Any, Any], title: str) -> set[str]:
    """Methods with a record on more than half of the family's sets, as far as others than `auto` were run: a method that was barely
    begun holds no set back."""
    counts: dict[str, int] = {}
    for family, _, method in records:
        if family == title and method != "compare":
            counts[method] = counts.get(method, 0) + 1
    most = max((n for method, n in counts.items() if not method.startswith("auto")), default=0)
    return {m for m, n in counts.items() if 2 * n > most}


def value(records: dict[Any, Any], title: str, sets: list[int], method: str) -> float | None:
    """Geometric mean of a method where it has every set."""
    found = [records.get((title, k, method), {}).get("pehe_rel") for k in sets]
    return None if not found or None in found else geometric(found)


def cell(records: dict[Any, Any], title: str, sets: list[int], method: str) -> str:
    """Error and time."""
    score = value(records, title, sets, method)
    if score is None:
        return ""
    seconds = sum(records[title, k, method]["cpu_seconds"] for k in sets) / len(sets)
    return f"{score:.3f} ({seconds:.1f})"


def compared(records: dict[Any, Any], titles: list[str]) -> None:
    """How `compare` ranks eight estimators beside the truth."""
    found = {title: [r["facts"] for (f, _, m), r in records.items() if f == title and m == "compare" and "facts" in r] for title in titles}
    print("\n## `compare` against the truth\n")
    print(f"Spearman's correlation of the order by a held-out loss with the order by PEHE, over {COMPARED.replace(',', ', ')}; how much")
    print("higher the PEHE of the first in `compare`'s list is than the lowest; how often the truly best is among those that `compare`")
    print("cannot tell from the first.\n\n| family | sets |", " | ".join(LOSSES.values()), "| regret of the first | best among ties |")
    print("|---|---|" + "---|" * len(LOSSES) + "---|---|")
    everything = [facts for rows in found.values() for facts in rows]
    for title, rows in [*found.items(), ("all", everything)]:
        if rows:
            mean = lambda key, rows=rows: sum(row[key] for row in rows) / len(rows)  # noqa: E731
            losses = [f"{mean(f'spearman_{name}'):.2f}" for name in LOSSES]
            print("|", " | ".join([title, str(len(rows)), *losses, f"{100 * mean('regret'):.0f} %", f"{100 * mean('tied_best'):.0f} %"]), "|")


def main() -> None:
    """Words of the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("program", help="the paretau command")
    running.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    running.add_argument("--methods", nargs="+", default=[], help="names of methods, or ours, peers, compare")
    running.add_argument("--first", type=int, default=1)
    running.add_argument("--rounds", type=int, default=25)
    running.add_argument("--build", help="name of the build, kept in records of ours")
    running.add_argument("--renew", action="store_true", help="fit ours again where the record is of another build than --build")
    running.set_defaults(call=run)
    printing = commands.add_parser("table")
    printing.set_defaults(call=table)
    for command in (running, printing):
        command.add_argument("--records", type=Path, default=RECORDS, help="file of records, to keep those of another build apart")
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
