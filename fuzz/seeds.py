"""Small valid files of every format, from which `damage` and cargo-fuzz start: made up here, so that they are free of any licence.

    python fuzz/seeds.py        # needs pyarrow and numpy; writes fuzz/seeds/TARGET/NAME
"""

import gzip
import io
import json
import random
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

ROOT = Path(__file__).parent / "seeds"
DRAWS = random.Random(7)
N = 24


def rows() -> dict[str, list]:
    """A few rows with every kind of column."""
    t = [k % 2 for k in range(N)]
    x = [round(DRAWS.gauss(0, 1), 3) for _ in range(N)]
    return {
        "t": t,
        "y": [round(a + b + DRAWS.gauss(0, 0.3), 3) for a, b in zip(t, x)],
        "x1": x,
        "town": [["Ulm", "Köln", None][k % 3] for k in range(N)],
        "day": [f"2024-0{1 + k % 9}-1{k % 10}" if k % 7 else None for k in range(N)],
    }


def save(target: str, name: str, data: bytes) -> None:
    (ROOT / target).mkdir(parents=True, exist_ok=True)
    (ROOT / target / name).write_bytes(data)


def main() -> None:
    data = rows()
    cells = [["" if v is None else str(v) for v in column] for column in data.values()]
    for target, mark in (("read_csv", ","), ("read_tsv", "\t")):
        text = "\n".join(mark.join(row) for row in [list(data), *map(list, zip(*cells))]) + "\n"
        save(target, "plain", text.encode())
        save(target, "quoted", text.replace("Ulm", f'"Ul{mark}m ""a"""').encode())
        save(target, "latin", text.encode("latin-1"))
        if mark == ",":
            save("read_csv_gz", "plain", gzip.compress(text.encode(), mtime=0))
            german = ";".join(data) + "\n" + "\n".join(";".join(c.replace(".", ",") for c in r) for r in zip(*cells))
            save(target, "german", german.encode())
    records = [dict(zip(data, row)) for row in zip(*data.values())]
    save("read_json", "records", json.dumps(records, ensure_ascii=False).encode())
    save("read_json", "lines", "\n".join(json.dumps(r) for r in records).encode())
    table = pa.table(data)
    table = table.append_column("code", pa.array([["a", "b", None][k % 3] for k in range(N)]).dictionary_encode())
    for compression in ("uncompressed", "lz4", "zstd"):
        out = io.BytesIO()
        feather.write_feather(table, out, compression=compression, chunksize=10)
        save("read_arrow", compression, out.getvalue())
    for compression, version, checked in (("none", "1.0", True), ("snappy", "2.0", True), ("zstd", "1.0", False)):
        out = io.BytesIO()
        pq.write_table(
            table, out, compression=compression, data_page_version=version, write_page_checksum=checked, row_group_size=10
        )
        save("read_parquet", compression, out.getvalue())
    for name, write in (("stored", np.savez), ("deflated", np.savez_compressed)):
        out = io.BytesIO()
        write(out, x=np.arange(12.0).reshape(6, 2), t=np.array([0, 1] * 3), yf=np.arange(6.0))
        save("read_npz", name, out.getvalue())
    save("read_svm", "plain", b"1.5 0 1:2 3:4\n2.5 1 2:1 # a remark\n0.5 0\n1 1 1:1\n")
    save("read_news", "pair", b"4,3,0\n1,1,4\n2,3,1\n4,2,2\n\x000,1,2,1,2\n1,2,1,1,2\n0,1,2,1,2\n1,2,1,1,2\n")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        space = "http://schemas.openxmlformats.org/"
        main = space + "spreadsheetml/2006/main"
        relations = space + "officeDocument/2006/relationships"
        letters = "ABCDE"
        lines = "".join(
            f'<row r="{i + 1}">'
            + "".join(f'<c r="{letters[j]}{i + 1}" t="str"><v>{v}</v></c>' for j, v in enumerate(row))
            + "</row>"
            for i, row in enumerate([list(data), *zip(*cells)])
        )
        for name, text in (
            ("[Content_Types].xml", f'<Types xmlns="{space}package/2006/content-types"/>'),
            ("_rels/.rels", f'<Relationships xmlns="{space}package/2006/relationships"><Relationship Id="rId1" Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>'),
            ("xl/workbook.xml", f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets><sheet name="S" sheetId="1" r:id="rId1"/></sheets></workbook>'),
            ("xl/_rels/workbook.xml.rels", f'<Relationships xmlns="{space}package/2006/relationships"><Relationship Id="rId1" Type="{relations}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>'),
            ("xl/worksheets/sheet1.xml", f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'),
        ):
            book.writestr(zipfile.ZipInfo(name), '<?xml version="1.0"?>' + text, zipfile.ZIP_DEFLATED)
    save("read_xlsx", "book", out.getvalue())
    plan = (
        'name = "p"\nsummary = "s"\nmetrics = ["pehe", "ate_error"]\n\n[[data]]\nname = "d"\nsimulator = "synthetic"\n'
        'params = { n = 60, d = 3 }\nrealisations = [1, 2]\n\n[[methods]]\nestimator = "lr-2"\nparams = { penalty = 0.1 }\n'
    )
    save("plan", "plain", plan.encode())
    save("plan", "tuned", (plan + 'tuned = true\n\n[tune]\ntrials = 4\nsearch = "random"\nobjective = "dr"\nfolds = 2\n').encode())
    save("plan", "file", plan.replace('simulator = "synthetic"\nparams = { n = 60, d = 3 }', 'file = "set{i}.csv"\nroles = { treatment = "t", outcome = "y", truth = ["mu0", "mu1"] }').encode())
    record = {"seconds": 0.1, "scores": {"pehe": 1.0}, "key": "k", "error": None}
    save("page", "records", (json.dumps(record) + "\n").encode())
    save("page", "numbers", np.array([1.0, 1e308, -1e308, 5e-324, 0.0, -0.0, np.inf, np.nan, 1e17]).tobytes() + b"\xff")
    save("model_state", "json", b"\x02\x01[1, null]")
    save("model_state", "numbers", bytes(range(1, 40)))
    save("model_file", "empty", b"\x02\0\0\0\0\0\0\0{}")


main()
