"""Writes the Stata files of this folder with pandas: `python testdata/stata/make.py`."""

from pathlib import Path

import pandas as pd

frame = pd.DataFrame(
    {
        "t": pd.Categorical(["control", "treated", "control", "treated"]),
        "y": [1, 2, 3, 4],
        "x": [1.5, None, -2.25, 1e6],
        "race": pd.Categorical(["black", "other", "white", "black"]),
        "town": ["Zürich", "", "Köln", "Łódź"],
        "day": pd.to_datetime(["2024-05-31", None, "1999-12-31", "1970-01-01"]),
        "remark": ["short", "", "a long one, which Stata keeps apart", "x"],
    }
)
folder = Path(__file__).parent
for version in (114, 117, 118, 119):
    old = version == 114
    frame.drop(columns=["town"] if version < 118 else []).to_stata(
        folder / f"v{version}.dta",
        version=version,
        write_index=False,
        convert_dates={"day": "td"},
        convert_strl=None if old else ["remark"],
        time_stamp=pd.Timestamp("2026-01-01").to_pydatetime(),
    )
