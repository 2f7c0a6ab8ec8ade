"""Reads with deltalake and with DuckDB the tables that the model's sequences left, and compares with the model's rows.

WASMHOST_MODEL_KEEP=FOLDER WASMHOST_MODEL_SEQUENCES=5 cargo xtask test, then: model.py FOLDER
"""
import datetime as dt
import decimal
import json
import math
import struct
import sys
from pathlib import Path
from urllib.parse import unquote

import duckdb
from deltalake import DeltaTable

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def told(value):
    match value:
        case bool() | int():
            return value
        case float():
            return "float nan" if math.isnan(value) else f"float {struct.pack('>d', value).hex()}"
        case decimal.Decimal():
            return f"hundredths {int(value * 100)}"
        case dt.datetime():
            value = value if value.tzinfo else value.replace(tzinfo=dt.timezone.utc)
            return f"micros {(value - EPOCH) // dt.timedelta(microseconds=1)}"
        case dt.date():
            return f"days {(value - EPOCH.date()).days}"
        case str():
            return f"text {value}"
    raise TypeError(f"{value!r}")


def rows(dicts):
    canonical = ({name: told(value) for name, value in row.items() if value is not None} for row in dicts)
    return sorted(json.dumps(row, sort_keys=True) for row in canonical)


def by_duckdb(folder, table):
    """The live files as the log names them, each with its partition's values."""
    found = []
    actions = table.get_add_actions()
    columns = {name: actions.column(name).to_pylist() for name in actions.schema.names}
    partitions = columns.get("partition") or columns.get("partition_values") or [None] * len(columns["path"])
    for path, partition in zip(columns["path"], partitions):
        file = duckdb.execute("SELECT * FROM read_parquet(?, hive_partitioning = false)", [str(folder / unquote(path))])
        names = [column[0] for column in file.description]
        found += [dict(zip(names, row)) | dict(partition or {}) for row in file.fetchall()]
    return found


tables = sorted(Path(sys.argv[1]).glob("*/rows.json"))
count = 0
for expected in tables:
    folder = expected.parent / "t"
    right = sorted(json.dumps(row, sort_keys=True) for row in json.loads(expected.read_text()))
    if not folder.exists():
        assert not right, folder
        continue
    table = DeltaTable(folder)
    for reader, found in [("deltalake", table.to_pyarrow_table().to_pylist()), ("duckdb", by_duckdb(folder, table))]:
        got = rows(found)
        assert got == right, f"{folder}, by {reader}:\n got   {got}\n right {right}"
    count += len(right)
assert tables and count, "no tables to read"
print(f"{len(tables)} tables, {count} rows: deltalake and DuckDB read what the model says")
