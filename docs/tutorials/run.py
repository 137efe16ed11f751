"""Runs the Python of a tutorial while the site is built, and puts what it printed and drew beneath each block.

mkdocs calls `on_page_markdown` for every page (`hooks` in mkdocs.yml). A block that fails stops the build.
"""

from __future__ import annotations

import base64
import contextlib
import io
import re
import warnings
from typing import Any

#: Links to files of the repository that are no pages.
OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./([^)]+)\)")
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """A tutorial with its answers; in other pages, files of the repository are named instead of linked."""
    if not page.file.src_uri.startswith("tutorials/"):
        return OUTSIDE.sub(r"\1 (`\2` in the repository)", markdown)
    session: dict[str, Any] = {"__name__": "__main__"}

    def answered(match: re.Match[str]) -> str:
        return match.group(0) + _answer(match.group(1), session, page.file.src_uri)

    return BLOCK.sub(answered, markdown)


def _answer(code: str, session: dict[str, Any], name: str) -> str:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, name, "exec"), session)
    out = f"\n\n```text\n{printed.getvalue().rstrip()}\n```\n" if printed.getvalue().strip() else ""
    for number in pyplot.get_fignums():
        picture = io.BytesIO()
        pyplot.figure(number).savefig(picture, format="png", dpi=120, bbox_inches="tight")
        out += f"\n\n![what the code above draws](data:image/png;base64,{base64.b64encode(picture.getvalue()).decode()})\n"
    pyplot.close("all")
    return out
