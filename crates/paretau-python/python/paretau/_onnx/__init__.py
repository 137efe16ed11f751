"""Fitted models as ONNX: the effect of new rows wherever onnxruntime runs, without paretau.

Arithmetic is in double precision throughout, so that a row falls on the same side of every cut as it does here. The file is
written by this package itself; neither `onnx` nor anything else has to be installed.
"""

from __future__ import annotations

from typing import Any

from .._errors import UsageError
from .._model_state import State
from .._paretau import __version__
from . import proto
from .encoder import features
from .estimators import answers
from .graph import Graph

_INPUTS = {"double": proto.DOUBLE, "float": proto.FLOAT}


def export(estimator: Any, *, outcomes: bool, inputs: str) -> bytes:
    """The model of a fitted estimator as the bytes of an ONNX file."""
    if inputs not in _INPUTS:
        raise UsageError(f"inputs must be 'double' or 'float', not {inputs!r}")
    state = State.of(estimator.model_)
    about, encoder = state.facts["about"], dict(state.facts["encoder"])
    named = hasattr(estimator, "feature_names_in_")
    if named and encoder.get("sparse"):
        raise UsageError("to_onnx: models of named sparse columns are not written; fit on the matrix itself")
    encoder["n_inputs"] = int(estimator.n_features_in_)
    graph = Graph()
    x = features(graph, encoder, named=named, kind=_INPUTS[inputs])
    n_treated = len(about["arms"]) - 1
    found = answers(graph, state.part("fitted"), x, n_treated=n_treated, outcomes=outcomes)
    graph.output("effect", graph.beside([a.tau for a in found]), proto.DOUBLE, ["rows", n_treated])
    if outcomes:
        # Each arm's model has an opinion about the control; the first arm's is the one that is shown.
        columns = [c for c in (found[0].mu0, *(a.mu1 for a in found)) if c is not None]
        mu = graph.beside(columns)
        if str(about["outcome"]).lower() == "binary":
            mu = graph.clamped(mu, 0.0, 1.0)
        graph.output("outcomes", mu, proto.DOUBLE, ["rows", n_treated + 1])
    arms = [arm["name"] for arm in about["arms"]]
    return graph.model({"version": __version__, "estimator": about["estimator"], "arms": ", ".join(arms)})
