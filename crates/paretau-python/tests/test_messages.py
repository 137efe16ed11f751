"""No message that reaches Python cites an option of the command line."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import paretau
from paretau._paretau import in_python

CRATES = Path(__file__).parents[2]
LIBRARIES = ["core", "data", "nuisance", "learners", "forest", "neural", "eval", "report", "study", ""]
#: An option in a text, and not a variable of a style sheet.
OPTION = re.compile(r"(?<![\w(-])--[a-z][a-z-]*")
TEXT = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def texts():
    """The texts in the libraries' sources that cite an option, tests left out."""
    for name in LIBRARIES:
        for file in sorted((CRATES / f"paretau{'-' if name else ''}{name}" / "src").rglob("*.rs")):
            code = file.read_text().split("#[cfg(test)]")[0]
            code = "\n".join(line for line in code.splitlines() if not line.lstrip().startswith("//"))
            code = re.sub(r"\\\n\s*", "", code)
            for text in TEXT.findall(code):
                if OPTION.search(text):
                    yield file.relative_to(CRATES).as_posix(), text[1:-1]


def arguments():
    """Names of the arguments of everything public."""
    public = [getattr(paretau, name) for name in paretau.__all__]
    calls = [c for c in public if inspect.isfunction(c)]
    calls += [m for c in public if inspect.isclass(c) for _, m in inspect.getmembers(c, inspect.isfunction)]
    return {name for call in calls for name in inspect.signature(call).parameters}


def test_every_option_in_a_message_becomes_an_argument():
    found = list(texts())
    assert len(found) > 30, "the sources were not found"
    known = arguments()
    for file, text in found:
        worded = in_python(text)
        assert not OPTION.search(worded), f"{file}: {worded}"
        # What a phrase does not word anew is an argument that exists.
        for option in re.findall(r"(?<![\w-])--([a-z][a-z-]*)", text):
            argument = option.replace("-", "_")
            if re.search(rf"\b{argument}=", worded):
                assert argument in known or f"{argument}s" in known, f"{file}: {worded}"


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("name others with --features", "name others with features="),
        ("name them in --features to use them", "name them in features= to use them"),
        ("--group names other groups", "group= names other groups"),
        ("with --treated-value 2 also give --control-value", "with treated_value=2 also give control_value="),
        ("or ask for in-sample scores with --in-sample", "or ask for in-sample scores with in_sample=True"),
        ("--treated-value and --control-value are both `2`", "treated_value= and control_value= are both `2`"),
        ("fit without `--intervals`", "fit without `intervals=`"),
        ("if so, add --ignore dose", "if so, give ignore= (of paretau.fit), or drop from X: dose"),
        ("add --na -99", "replace it by NaN, or for a file give na=-99"),
        ("add --resume to go on, or", "add resume=True to go on, or"),
        ("column `a--b --other` is text", "column `a--b --other` is text"),
        ("column `x--ignore`", "column `x--ignore`"),
    ],
)
def test_wording(theirs, ours):
    assert in_python(theirs) == ours


def test_messages_of_fits_and_files(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    t = rng.integers(0, 2, 200)
    y = x[:, 0] + t + rng.normal(size=200)
    x[::10, 1] = -99
    with pytest.warns(paretau.DataWarning, match="replace it by NaN, or for a file give na=-99"):
        paretau.LinearEffect().fit(x, y, treatment=t)
    file = tmp_path / "x.csv"
    file.write_text("\n".join(["1,2,3"] * 9))
    with pytest.raises(paretau.DataError, match="write a line of names above it"):
        paretau.fit("lr-2", file, treatment="t", outcome="y")
    with pytest.raises(paretau.DataError, match="name the control with control_value= to"):
        rows = "\n".join(f"{'abc'[i % 3]},{i},{i * i % 7}" for i in range(60))
        file.write_text(f"t,y,x\n{rows}\n")
        paretau.fit("lr-2", file, treatment="t", outcome="y")
