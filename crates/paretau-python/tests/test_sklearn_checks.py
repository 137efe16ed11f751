"""scikit-learn's own conformance checks, over every class.

The checks call `fit(X, y)`. A subclass of each class, for these tests only, derives a treatment from the row when none
is given, so that everything else is checked as it is.
"""

from __future__ import annotations

import zlib
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import CLASSES, SMALL
from sklearn.utils.estimator_checks import parametrize_with_checks


class DrawsTreatment:
    """Derives the treatment of a row from the row itself, so that copies and subsets of rows keep theirs."""

    def fit(self, X, y, *, treatment=None, sample_weight=None):
        if treatment is None:
            treatment = drawn(X)
        return super().fit(X, y, treatment=treatment, sample_weight=sample_weight)

    def score(self, X, y, *, treatment=None, sample_weight=None):
        return super().score(X, y, treatment=drawn(X) if treatment is None else treatment, sample_weight=sample_weight)


def drawn(x):
    """0 or 1 from a digest of each row, alternating among equal rows: no column may tell the arms apart."""
    rows = x.toarray() if sp.issparse(x) else np.asarray(x)
    if rows.ndim != 2 or rows.dtype.kind == "c":
        return [0, 1]  # the estimator refuses X before it looks at this
    try:
        rows = rows.astype(np.float32)
    except (TypeError, ValueError):
        return np.arange(len(rows)) % 2
    digests = [zlib.crc32(np.ascontiguousarray(row).tobytes()) for row in rows]
    seen = Counter()
    arms = np.array([(digest + count(seen, digest)) % 2 for digest in digests])
    return np.arange(len(rows)) % 2 if len(arms) and arms.min() == arms.max() else arms


def count(seen, digest):
    """How often a row was seen before."""
    seen[digest] += 1
    return seen[digest] - 1


#: Checks that cannot apply, with the reason.
CANNOT = {
    **dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "penalties and stopping times are chosen on held-out rows: a row twice is in both halves, a heavy row is not",
    ),
}


def checked(cls):
    """An estimator of the test's subclass, importable so that it can be pickled."""
    sub = type(cls.__name__, (DrawsTreatment, cls), {"__module__": __name__, "__qualname__": f"Checked{cls.__name__}"})
    globals()[f"Checked{cls.__name__}"] = sub
    return sub(**{k: v for k, v in SMALL.items() if k in cls._get_param_names()})


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [checked(cls) for cls in CLASSES],
    expected_failed_checks=lambda _: CANNOT,
)
def test_conformance(estimator, check):
    check(estimator)
