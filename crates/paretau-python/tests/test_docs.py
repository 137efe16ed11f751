"""The code in docs/python.md and in the package's docstring runs."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import paretau
import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"


def blocks() -> list[str]:
    """Python blocks of the page, in order; they are one session."""
    return re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = blocks()
    assert len(found) > 5
    session: dict[str, object] = {}
    for k, block in enumerate(found):
        exec(compile(block, f"docs/python.md, block {k + 1}", "exec"), session)


def test_the_docstring_of_the_package_runs():
    assert doctest.testmod(paretau).failed == 0
