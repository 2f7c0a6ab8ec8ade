"""Reads with deltalake, DuckDB, PyArrow, fastavro (which needs `cramjam` and `backports.zstd`) and Python itself what `tables_for_other_readers` wrote.
Usage: read_back.py FOLDER"""
import bz2
import csv
import datetime as dt
import decimal
import gzip
import io
import json
import lzma
import sys
from pathlib import Path

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import zstandard
from deltalake import DeltaTable

root = Path(sys.argv[1])
D = decimal.Decimal
UTC = dt.timezone.utc
PLAIN = {
    "id": [-(2**63), 2**63 - 1, None],
    "text": ['a"b,c\r\nü\t\\ ', "", None],
    "flag": [True, False, None],
    "real": [0.1 + 0.2, -1.7976931348623157e308, None],
    "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31), None],
    "at": [dt.datetime(1, 1, 1, tzinfo=UTC), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None],
    "local": [dt.datetime(1, 1, 1), dt.datetime(1970, 1, 1, 0, 0, 0, 1), None],
    "price": [D(10**38 - 1).scaleb(-2, decimal.Context(prec=50)), D("-1.50"), None],
}
RICH = PLAIN | {
    "bytes": [b"\x00\xff", b"", None],
    "tiny": [255, 0, None],
    "huge": [2**64 - 1, 0, None],
    "small": [D(9), D(-9), None],
    "list": [[1, None], [], None],
    "object": [{"s": "x"}, {"s": None}, {"s": None}],
}
ODD = ["North West", "a/b", "a=b", "a%20b", "a b", "ü", "100%", "x+y", "..", "\t", "o'brien", "C:\\d", " lead", "trail "]
SPLIT = sorted([(n, g) for n, g in enumerate(ODD)] + [(99, None), (100, "a/b")], key=str)


def same(what, got, right):
    assert got == right, f"{what}:\n got   {got}\n right {right}"
    print("ok", what)


def rows(table):
    return sorted(zip(table["id"].to_pylist(), table["g"].to_pylist()), key=str)


table = DeltaTable(root / "delta")
same("deltalake reads every type", table.to_pyarrow_table().to_pydict(), RICH)
same("protocol", (table.protocol().min_reader_version, table.protocol().min_writer_version), (3, 7))
commit = table.history()[0]
same("commit info", [commit[k] for k in ("wasmhost.run_id", "wasmhost.flow", "wasmhost.destination")], ["r", "flow", "out"])
add = table.get_add_actions(flatten=True)
print("   stats:", {name: add.column(name)[0].as_py() for name in add.schema.names if name.startswith(("min", "max"))})
for column, value in [("id", 2**63 - 1), ("day", dt.date(1, 1, 1)), ("at", PLAIN["at"][1]), ("tiny", 255), ("flag", True),
                      ("price", PLAIN["price"][0]), ("huge", D(2**64 - 1)), ("small", D(-9)), ("real", 0.1 + 0.2)]:
    found = table.to_pyarrow_dataset().to_table(filter=ds.field(column) == value)
    same(f"deltalake finds a bound: {column}", found.num_rows, 1)
table = DeltaTable(root / "delta-split")
same("deltalake reads partitions", rows(table.to_pyarrow_table()), SPLIT)
same("deltalake finds a partition", rows(table.to_pyarrow_table(partitions=[("g", "=", "a/b")])), [(1, "a/b"), (100, "a/b")])
same("versions", [c["version"] for c in table.history()], [2, 1, 0])
same("the removed row is there before", rows(DeltaTable(root / "delta-split", version=0).to_pyarrow_table()), [(7, "gone")])

same("pyarrow reads every type", ds.dataset(root / "parquet").to_table().to_pydict(), RICH)
duck = duckdb.sql(f"select id, g from read_parquet('{root}/parquet-split/*/*.parquet', hive_partitioning=true, hive_types={{'g': varchar}})")
same("duckdb reads hive folders", sorted(duck.fetchall(), key=str), SPLIT)
duck = duckdb.sql(f"select * from read_csv('{root}/csv/*.csv', nullstr='', allow_quoted_nulls=false, strict_mode=true)")
got = dict(zip(duck.columns, map(list, zip(*duck.fetchall()))))
same("duckdb reads csv", [got["id"], got["text"], got["flag"], got["real"]], [PLAIN[k] for k in ("id", "text", "flag", "real")])
lines = [json.loads(line, parse_float=str) for file in (root / "jsonl").glob("*.jsonl") for line in file.read_text().splitlines()]
same("json reads jsonl", [[row[k] for row in lines] for k in ("id", "text", "flag")], [PLAIN[k] for k in ("id", "text", "flag")])
same("json keeps nulls and digits", [row["price"] for row in lines], ["999999999999999999999999999999999999.99", "-1.50", None])

(document,) = (root / "json").glob("*.json")
objects = json.loads(document.read_text(), parse_float=str)
same("json reads a document", [[row[k] for row in objects] for k in ("id", "text", "flag")], [PLAIN[k] for k in ("id", "text", "flag")])
(file,) = (root / "arrow").glob("*.arrow")
same("pyarrow reads arrow", pa.ipc.open_file(file).read_all().to_pydict(), RICH)
(file,) = (root / "avro").glob("*.avro")
with file.open("rb") as opened:
    got = list(fastavro.reader(opened))
wanted = {name: values for name, values in RICH.items() if name not in ("tiny", "huge")}
utc = lambda value: value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
same("fastavro reads avro", {k: [utc(row[k]) for row in got] for k in wanted}, {k: [utc(v) for v in values] for k, values in wanted.items()})

# Parts that were replaced, and folders by date, as hive readers see them.
for kind, read in [("parquet", "read_parquet"), ("csv", "read_csv"), ("jsonl", "read_json"), ("json", "read_json")]:
    hive = lambda name, column: f"{read}('{root}/{kind}-{name}/*=*/*.{kind}', hive_partitioning=true, hive_types={{'{column}': varchar}})"
    found = duckdb.sql(f"select id, g from {hive('parts', 'g')}").fetchall()
    same(f"duckdb reads replaced partitions of {kind}", sorted(found), [(2, "a%20b"), (8, None), (9, "a b")])
    found = duckdb.sql(f"select id, dt from {hive('dated', 'dt')}").fetchall()
    same(f"duckdb reads date folders of {kind}", sorted(found), [(0, "2026-11-30"), (25, "2026-12-01")])
hive = ds.partitioning(pa.schema([("g", pa.string())]), flavor="hive")
found = rows(ds.dataset(root / "arrow-parts", format="arrow", partitioning=hive).to_table())
same("pyarrow reads replaced partitions of arrow", found, [(2, "a%20b"), (8, None), (9, "a b")])
found = sorted((row["id"], file.parent.name) for file in (root / "avro-parts").glob("*/*.avro") for row in fastavro.reader(file.open("rb")))
same("fastavro reads replaced partitions", found, [(2, "g=a%2520b"), (8, "g=__HIVE_DEFAULT_PARTITION__"), (9, "g=a%20b")])

# Every codec of every format.
unpack = {".gz": gzip.decompress, ".bz2": bz2.decompress, ".xz": lzma.decompress,
          ".zst": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data)}
codecs = set()
for folder in sorted((root / "packed").iterdir()):
    (file,) = [file for file in folder.iterdir() if file.is_file()]
    kind = folder.name.split("-")[1]
    data = file.read_bytes()
    codec = file.suffix if file.suffix in unpack else "none"
    if kind == "parquet":
        codec = pq.ParquetFile(file).metadata.row_group(0).column(0).compression
        got, right = pq.read_table(file).to_pydict(), RICH
    elif kind == "arrow":
        codec = len(data)
        got, right = pa.ipc.open_file(file).read_all().to_pydict(), RICH
    elif kind == "avro":
        with file.open("rb") as opened:
            reader = fastavro.reader(opened)
            codec, found = reader.codec, list(reader)
        got = {k: [utc(row[k]) for row in found] for k in wanted}
        right = {k: [utc(v) for v in values] for k, values in wanted.items()}
    else:
        text = data.decode() if codec == "none" else unpack[codec](data).decode()
        if kind == "csv":
            found = [[row["id"], row["flag"]] for row in csv.DictReader(io.StringIO(text, newline=""))]
            found = [[int(id) if id else None, flag == "true" if flag else None] for id, flag in found]
        else:
            found = json.loads(text) if kind == "json" else [json.loads(line) for line in text.splitlines()]
            found = [[row["id"], row["flag"]] for row in found]
        got, right = [list(column) for column in zip(*found)], [PLAIN["id"], PLAIN["flag"]]
    codecs.add((kind, codec))
    same(f"{kind} in {codec} is read", got, right)
of = lambda kind: sorted(codec for found, codec in codecs if found == kind)
same("codecs of avro", of("avro"), ["bzip2", "deflate", "null", "snappy", "xz", "zstandard"])
same("codecs of parquet", of("parquet"), ["GZIP", "LZ4", "SNAPPY", "UNCOMPRESSED", "ZSTD"])
for kind in ("csv", "json", "jsonl"):
    same(f"codecs of {kind}", of(kind), [".bz2", ".gz", ".xz", ".zst", "none"])
same("codecs of arrow make other sizes", len(of("arrow")) > 1, True)

(file,) = (root / "quoted").glob("*.csv")
reader = csv.reader(io.StringIO(file.read_text(), newline=""), delimiter="|", quotechar="'", escapechar="\\", doublequote=False)
odd = [["1", "it's"], ["2", "a|b\\"], ["3", "NULL"], ["4", "NULL"], ["5", '"\n'], ["6", ""]]
same("csv reads other quotes", list(reader), [["id", "g"]] + odd)
duck = duckdb.read_csv(str(file), delimiter="|", quotechar="'", escapechar="\\", na_values="NULL", header=True)
got = sorted(duckdb.sql("select id, g from duck").fetchall())
same("duckdb reads other quotes", [row for row in got if row[0] != 4], [(1, "it's"), (2, "a|b\\"), (3, None), (5, '"\n'), (6, "")])
