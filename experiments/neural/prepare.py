"""Lays the data sets out as plain text for the example `study`: python prepare.py DATA OUT

DATA is the folder with `ihdp/`, `acic2016/`, `lbidd/` and `newslike/`; OUT gets the same files, the compressed News-like words
unpacked and the LBIDD covariates as CSV. Needs pandas with a Parquet reader.
"""

import gzip
import shutil
import sys
from pathlib import Path

import pandas as pd

data, out = Path(sys.argv[1]), Path(sys.argv[2])
for folder in ("ihdp", "acic2016", "lbidd/heterogeneous"):
    shutil.copytree(data / folder, out / folder, dirs_exist_ok=True)
pd.read_parquet(data / "lbidd/covariates.parquet").to_csv(out / "lbidd/covariates.csv", index=False)
(out / "newslike").mkdir(parents=True, exist_ok=True)
for file in (data / "newslike").iterdir():
    if file.suffix == ".gz":
        with gzip.open(file) as packed, open(out / "newslike" / file.stem, "wb") as plain:
            shutil.copyfileobj(packed, plain)
    else:
        shutil.copy(file, out / "newslike")
