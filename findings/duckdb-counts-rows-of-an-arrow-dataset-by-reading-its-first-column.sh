#!/usr/bin/env bash
# DuckDB counts the rows of an Arrow dataset by reading all values of its first column.
#
# Belief: `select count(*)` over a dataset of Arrow asks for no column, so Parquet's footers answer
#   it, as they do where DuckDB reads the files itself or where Arrow is asked (`count_rows`).
# Behaviour: DuckDB asks the dataset for its first column, whatever is in it, and counts values. The
#   same rows cost 20 MB to read where a column of keys comes first, and 0.6 MB where numbers do:
#   the order of columns decides what a count costs.
# Versions: DuckDB 2.0.0, PyArrow 26.0.1.
# Source: none; the documentation of DuckDB's replacement scans names projection and filters only.
# Output seen (30 November 2026):
#   keys first: 100000 rows; read by Arrow 0.1 MB, by DuckDB from the dataset 20.5 MB
#   numbers first: 100000 rows; read by Arrow 0.1 MB, by DuckDB from the dataset 0.6 MB
#   as stated
# Needs: Python 3.10 or newer with venv and pip, and 400 MB on disk.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install -q duckdb==2.0.0 pyarrow==26.0.1 fsspec==2026.9.0 > pip.log 2>&1 || { tail -5 pip.log; exit 2; }
cat > count.py <<'PY'
import os
import sys

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem
from pyarrow.fs import FSSpecHandler, PyFileSystem

ROWS = 100_000
read = 0


class Counted:
    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def read(self, *size):
        global read
        data = self._file.read(*size)
        read += len(data)
        return data


class CountingFiles(LocalFileSystem):
    def _open(self, path, mode="rb", **more):
        return Counted(super()._open(path, mode, **more))


def taken(count):
    global read
    read = 0
    rows = count()
    return rows, read / 1e6


keys, numbers = pa.array([os.urandom(200) for _ in range(ROWS)]), pa.array(range(ROWS))
tables = {
    "keys first": pa.table({"key": keys, "number": numbers}),
    "numbers first": pa.table({"number": numbers, "key": keys}),
}
found = []
for name, table in tables.items():
    pq.write_table(table, "rows.parquet", row_group_size=10_000)
    files = PyFileSystem(FSSpecHandler(CountingFiles(skip_instance_cache=True)))
    rows = ds.dataset(os.path.abspath("rows.parquet"), filesystem=files)
    count, by_arrow = taken(rows.count_rows)
    counted, by_duckdb = taken(lambda: duckdb.sql("select count(*) from rows").fetchall()[0][0])
    print(f"{name}: {counted} rows; read by Arrow {by_arrow:.1f} MB, by DuckDB from the dataset {by_duckdb:.1f} MB")
    found.append((count == counted == ROWS, by_arrow < 1, by_duckdb))
same = all(right and little for right, little, _ in found) and found[0][2] > 15 and found[1][2] < 2
print("as stated" if same else "different now")
sys.exit(not same)
PY
venv/bin/python count.py
