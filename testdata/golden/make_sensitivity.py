"""Makes sensitivity.json: DoubleML's sensitivity analysis of the interactive regression model, with predictions given from outside.

    pip install doubleml==0.11.4
    python make_sensitivity.py

DoubleML's standard errors divide by n, ours by n - 1: the test multiplies by sqrt((n - 1) / n).
"""

import json
from pathlib import Path

import doubleml as dml
import numpy as np
from doubleml.utils import DMLDummyClassifier, DMLDummyRegressor

rng = np.random.default_rng(17)
n = 120
x = rng.normal(size=(n, 2))
e = 1 / (1 + np.exp(-0.8 * x[:, 0]))
t = (rng.uniform(size=n) < e).astype(float)
y = x[:, 0] + 0.5 * x[:, 1] + t * (1 + 0.3 * x[:, 1]) + rng.normal(size=n)
full = {"mu0": x[:, 0] + 0.4 * x[:, 1], "mu1": 1 + 0.9 * x[:, 0] + 0.8 * x[:, 1], "e": 0.9 * e + 0.05}
short = {"mu0": 0.4 * x[:, 1] - 0.3, "mu1": 1.3 + 0.8 * x[:, 1], "e": np.full(n, t.mean())}


def model(nuisance):
    data = dml.DoubleMLData.from_arrays(x, y, t)
    irm = dml.DoubleMLIRM(data, DMLDummyRegressor(), DMLDummyClassifier(), n_folds=2)
    column = lambda v: np.asarray(v).reshape(-1, 1)
    predictions = {"ml_g0": column(nuisance["mu0"]), "ml_g1": column(nuisance["mu1"]), "ml_m": column(nuisance["e"])}
    return irm.fit(external_predictions={"d": predictions})


long_model, short_model = model(full), model(short)
cases = []
for cf_y, cf_d, rho in [(0.03, 0.03, 1.0), (0.1, 0.2, 1.0), (0.3, 0.05, 0.5)]:
    long_model.sensitivity_analysis(cf_y=cf_y, cf_d=cf_d, rho=rho, level=0.95)
    found = long_model.sensitivity_params
    cases.append({
        "cf_y": cf_y, "cf_d": cf_d, "rho": rho,
        **{f"{what}_{side}": float(found[what][side][0]) for what in ("theta", "se", "ci") for side in ("lower", "upper")},
        "rv": float(found["rv"][0]), "rva": float(found["rva"][0]),
    })
gain = dml.utils.gain_statistics(long_model, short_model)
elements = long_model.framework.sensitivity_elements
document = {
    "doubleml": dml.__version__, "t": [int(v) for v in t], "y": y.tolist(),
    **{name: np.asarray(values).tolist() for name, values in full.items()},
    **{f"short_{name}": np.asarray(values).tolist() for name, values in short.items()},
    "theta": float(long_model.coef[0]), "se": float(long_model.se[0]),
    "sigma2": float(elements["sigma2"].ravel()[0]), "nu2": float(elements["nu2"].ravel()[0]),
    "cases": cases, "gain": {name: float(np.ravel(value)[0]) for name, value in gain.items()},
}
Path(__file__).with_name("sensitivity.json").write_text(json.dumps(document, indent=1) + "\n")
