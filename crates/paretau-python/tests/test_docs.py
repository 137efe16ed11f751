"""The code in the documentation's pages for Python and in the package's docstrings runs."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import re
from pathlib import Path

import paretau
import pytest
from paretau import _estimators

DOCS = Path(__file__).parents[3] / "docs"


def blocks(page: str) -> list[str]:
    """Python blocks of a page, in order; they are one session."""
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), flags=re.DOTALL)


def run(page: str) -> dict[str, object]:
    """What a page's session leaves."""
    session: dict[str, object] = {}
    for k, block in enumerate(blocks(page)):
        exec(compile(block, f"docs/{page}, block {k + 1}", "exec"), session)
    return session


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(blocks("python.md")) > 5
    run("python.md")


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_every_line_of_the_tables_for_users_of_other_packages_runs():
    page = "from-other-packages.md"
    session = run(page)
    lines = re.findall(r"^\| .* \| `(.*)` \|$", (DOCS / page).read_text(), flags=re.MULTILINE)
    rows = [line for line in (DOCS / page).read_text().splitlines() if line.startswith("|") and "---" not in line]
    assert len(lines) == len(rows) - 5 and len(lines) > 45, "every line but the five heads has a call"
    done: dict[str, object] = {}
    for line in lines:
        if line not in done:  # the same call answers several packages
            try:
                done[line] = eval(line, session)
            except Exception as error:
                pytest.fail(f"{line}: {error!r}")
        assert done[line] is not None, line


def modules() -> list[str]:
    """Every module of the package that has examples."""
    names = ["paretau", *(module.name for module in pkgutil.walk_packages(paretau.__path__, "paretau."))]
    origins = {name: Path(importlib.util.find_spec(name).origin) for name in names}
    return [name for name, path in origins.items() if path.suffix == ".py" and ">>> " in path.read_text()]


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
@pytest.mark.parametrize("name", modules())
def test_docstrings_run(name):
    module = pytest.importorskip(name, exc_type=ImportError) if name.startswith("paretau.compat.") else importlib.import_module(name)
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0, name


#: Parts of numpydoc's kind in their order.
PARTS = ["Parameters", "Attributes", "Returns", "Raises", "See Also", "Notes", "References", "Examples"]


def parts(text: str) -> list[str]:
    """Headings of a docstring's parts."""
    lines = text.splitlines()
    return [a.strip() for a, b in zip(lines, lines[1:], strict=False) if b.strip() and set(b.strip()) == {"-"}]


@pytest.mark.parametrize("name", _estimators.__all__)
def test_every_class_documents_its_parameters_attributes_and_an_example(name):
    cls = getattr(paretau, name)
    text = inspect.getdoc(cls)
    assert [part for part in parts(text) if part != "References"] == ["Parameters", "Attributes", "Examples"]
    described = set(re.findall(r"^(\w+) : ", text, flags=re.MULTILINE))
    assert set(cls._get_param_names()) <= described


def public_methods() -> list[str]:
    """Methods of an estimator that are ours."""
    return [
        name
        for name, value in inspect.getmembers(paretau.CausalForest, inspect.isfunction)
        if not name.startswith("_") and value.__module__.startswith("paretau")
    ]


@pytest.mark.parametrize("name", public_methods())
def test_every_method_documents_its_arguments_and_has_an_example(name):
    method = getattr(paretau.CausalForest, name)
    text = inspect.getdoc(method)
    found = parts(text)
    assert found == sorted(found, key=PARTS.index), "parts in numpydoc's order"
    own = [p for p in inspect.signature(method).parameters.values() if p.name != "self"]
    assert ("Parameters" in found) == bool(own)
    heads = re.findall(r"^([\w, ]+) : |^(\*\*\w+)$", text, flags=re.MULTILINE)
    described = {label.strip() for head in heads for label in "".join(head).split(",")}
    for parameter in own:
        label = f"**{parameter.name}" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
        assert label in described, f"{name}: {label} is not described"
    assert ">>> " in text or "See Also" in found or name == "predict"
