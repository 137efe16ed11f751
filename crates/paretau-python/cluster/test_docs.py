"""The code of the page about clusters runs, in order, on real clusters."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "cluster.md"


@pytest.mark.filterwarnings("ignore::paretau.DataWarning")
def test_the_page_runs_from_top_to_bottom(tmp_path, monkeypatch, ray_nodes, dask_client, spark):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    assert len(blocks) >= 5
    session = {"client": dask_client, "spark": spark}
    for k, block in enumerate(blocks):
        exec(compile(block, f"docs/cluster.md, block {k + 1}", "exec"), session)
