"""The type stub of the compiled module lists what the module has."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import paretau
from paretau import _paretau

STUB = ast.parse((Path(paretau.__file__).parent / "_paretau.pyi").read_text())


def names(node: ast.FunctionDef, skip_self: bool) -> list[str]:
    """Argument names of a function in the stub."""
    found = [a.arg for a in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]]
    return found[1:] if skip_self else found


def real_names(function) -> list[str]:
    """Argument names of a compiled function."""
    return [name for name in inspect.signature(function).parameters if name != "self"]


def is_static(node: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in node.decorator_list)


def test_stub_and_module_have_the_same_names():
    stubbed = {n.name for n in STUB.body if isinstance(n, (ast.FunctionDef, ast.ClassDef))}
    stubbed |= {n.target.id for n in STUB.body if isinstance(n, ast.AnnAssign)}
    real = {n for n in dir(_paretau) if not n.startswith("_") or n == "__version__"}
    assert stubbed == real


def test_functions_have_the_same_arguments():
    for node in STUB.body:
        if isinstance(node, ast.FunctionDef):
            assert names(node, False) == real_names(getattr(_paretau, node.name)), node.name


def test_classes_have_the_same_methods():
    for node in STUB.body:
        if not isinstance(node, ast.ClassDef):
            continue
        cls = getattr(_paretau, node.name)
        methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
        real = {n for n in vars(cls) if not n.startswith("_")}
        assert {n for n in methods if not n.startswith("_")} == real, node.name
        for name in real:
            assert names(methods[name], not is_static(methods[name])) == real_names(getattr(cls, name)), name


def test_the_stub_of_metrics_lists_every_metric_with_its_arguments():
    from paretau import metrics

    stub = ast.parse((Path(paretau.__file__).parent / "metrics.pyi").read_text())
    functions = {n.name: n for n in stub.body if isinstance(n, ast.FunctionDef)}
    assert set(functions) == {fact["name"] for fact in metrics.METRICS}
    for name, node in functions.items():
        assert names(node, False) == real_names(getattr(metrics, name)), name
