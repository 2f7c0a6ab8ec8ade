"""Writes the files of this folder, by other libraries than the host's own: pyarrow, fastavro and Python's own compressors."""

import bz2
import datetime as dt
import gzip
import lzma
from decimal import Decimal
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.ipc
import pyarrow.orc
import zstandard

HERE = Path(__file__).parent
UTC = dt.timezone.utc

ROWS = [
    {
        "id": 1, "small": -7, "ratio": 0.1, "name": "Zoë", "flag": True, "day": dt.date(1969, 12, 31),
        "at": dt.datetime(2024, 2, 29, 23, 59, 59, 123456, UTC), "amount": Decimal("-12.30"), "raw": b"\x00\xff",
        "tags": ["a", "", "c"], "who": {"first": "Ada", "age": 36},
    },
    {
        "id": 9007199254740993, "small": None, "ratio": None, "name": "", "flag": None, "day": None, "at": None,
        "amount": None, "raw": None, "tags": None, "who": None,
    },
    {
        "id": -3, "small": 0, "ratio": -1e300, "name": None, "flag": False, "day": dt.date(9999, 12, 31),
        "at": dt.datetime(1600, 1, 1, tzinfo=UTC), "amount": Decimal("99999.99"), "raw": b"", "tags": [], "who": {"first": None, "age": 0},
    },
]

SCHEMA = pa.schema([
    pa.field("id", pa.int64(), False), ("small", pa.int32()), ("ratio", pa.float64()), ("name", pa.string()), ("flag", pa.bool_()),
    ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), ("amount", pa.decimal128(12, 2)), ("raw", pa.binary()),
    ("tags", pa.list_(pa.string())), ("who", pa.struct([("first", pa.string()), ("age", pa.int32())])),
])

AVRO = {
    "type": "record", "name": "row", "fields": [
        {"name": "id", "type": "long"},
        {"name": "small", "type": ["null", "int"]},
        {"name": "ratio", "type": ["null", "double"]},
        {"name": "name", "type": ["null", "string"]},
        {"name": "flag", "type": ["null", "boolean"]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "amount", "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 2}]},
        {"name": "raw", "type": ["null", "bytes"]},
        {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]},
        {"name": "who", "type": ["null", {"type": "record", "name": "who", "fields": [
            {"name": "first", "type": ["null", "string"]}, {"name": "age", "type": "int"}]}]},
    ],
}


def main():
    table = pa.Table.from_pylist(ROWS, SCHEMA)
    pa.orc.write_table(table, HERE / "table.orc", compression="zlib")
    with (HERE / "table.avro").open("wb") as out:
        fastavro.writer(out, AVRO, ROWS, codec="deflate", sync_marker=b"0123456789abcdef")
    with pa.ipc.new_file(HERE / "table.arrow", SCHEMA, options=pa.ipc.IpcWriteOptions(compression="lz4")) as out:
        out.write_table(table, max_chunksize=2)
    with pa.ipc.new_stream(HERE / "table.arrows", SCHEMA, options=pa.ipc.IpcWriteOptions(compression="zstd")) as out:
        out.write_table(table, max_chunksize=2)
    text = "id,name\n1,Zoë\n2,\"a\nb\"\n".encode()
    (HERE / "text.csv.gz").write_bytes(gzip.compress(text[:9], mtime=0) + gzip.compress(text[9:], mtime=0))
    (HERE / "text.csv.zst").write_bytes(zstandard.compress(text))
    (HERE / "text.csv.bz2").write_bytes(bz2.compress(text))
    (HERE / "text.csv.xz").write_bytes(lzma.compress(text))


main()
