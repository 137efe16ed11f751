"""Makes uplift.json: scikit-uplift's uplift and Qini curves of rows whose predicted effects are partly tied.

    pip install scikit-uplift==0.5.1 scikit-learn==1.9.1
    python make_uplift.py

Its uplift curve at k rows is k times the difference of arm means among the k rows with the largest predictions, and its Qini curve
the treated outcomes less the control ones scaled to as many rows; an arm without rows so far counts with mean 0. Ours say nothing
until both arms occur: `first` is the number of rows from which on they do. Curves stand at the ends of ties.
"""

import json
from pathlib import Path

import numpy as np
import sklift
from sklift.metrics import qini_curve, uplift_curve

rng = np.random.default_rng(5)
cases = []
for n, tied in [(60, False), (200, True)]:
    x = rng.normal(size=n)
    t = (rng.uniform(size=n) < 0.5).astype(int)
    y = (rng.uniform(size=n) < 0.3 + 0.2 * t * (x > 0)).astype(int)
    prediction = x + 0.5 * rng.normal(size=n)
    if tied:
        prediction = np.round(prediction, 1)
    order = np.argsort(-prediction, kind="stable")
    ends, uplift = uplift_curve(y, prediction, t)
    qini_ends, qini = qini_curve(y, prediction, t)
    assert (ends == qini_ends).all()
    seen = [len(set(t[prediction >= threshold])) == 2 for threshold in prediction[order]]
    first = int(np.argmax(seen)) + 1
    cases.append({
        "t": t.tolist(), "y": y.tolist(), "prediction": prediction.tolist(), "first": first,
        "ends": ends[1:].astype(int).tolist(), "uplift": uplift[1:].tolist(), "qini": qini[1:].tolist(),
    })
document = {"scikit-uplift": sklift.__version__, "cases": cases}
Path(__file__).with_name("uplift.json").write_text(json.dumps(document) + "\n")
