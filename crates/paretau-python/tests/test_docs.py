"""The code in the documentation's pages for Python and in the package's docstrings runs."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import paretau
import pytest
from paretau.compat import causalml, econml

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


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
@pytest.mark.parametrize("module", [paretau, econml, causalml], ids=lambda module: module.__name__)
def test_docstrings_run(module):
    found = doctest.testmod(module)
    assert found.attempted > 0 and found.failed == 0
