"""Makes the tables of this folder that no engine at hand writes, and for all of them what another reader reads.

The logs are written by hand after the protocol (https://github.com/delta-io/delta/blob/master/PROTOCOL.md, sections in brackets below),
the data files by pyarrow. `spark/` is not made here: see README.md. `expected/` holds the rows of each table as Python's `deltalake` reads
them; it refuses type widening, so there pyarrow reads the files and casts, which is all that the protocol asks of a reader.

    python make.py        # pyarrow, deltalake
"""

import datetime as dt
import json
import shutil
import struct
import uuid
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

HERE = Path(__file__).parent
EXPECTED = HERE / "expected"
Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


# --- logs -------------------------------------------------------------------------------------------------------------------------------

def new_table(name):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "_delta_log").mkdir(parents=True)
    return folder


def commit(folder, version, *actions):
    info = {"commitInfo": {"timestamp": 1700000000000 + version, "operation": "WRITE", "operationParameters": {}}}
    lines = [json.dumps(action, separators=(",", ":")) for action in (info, *actions)]
    (folder / "_delta_log" / f"{version:020}.json").write_text("\n".join(lines) + "\n")


def protocol(*features):
    """[Protocol Evolution] Reader version 3 and writer version 7 name their features."""
    features = list(features)
    return {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": features, "writerFeatures": features}}


def metadata(fields, partition_columns=(), **configuration):
    schema = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
    return {"metaData": {
        "id": str(uuid.UUID(int=7)), "format": {"provider": "parquet", "options": {}}, "schemaString": schema,
        "partitionColumns": list(partition_columns), "configuration": configuration, "createdTime": 1700000000000,
    }}


def field(name, kind, **metadata):
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def mapped(name, kind, number, physical):
    """[Column Mapping] The physical name and the id of a column are in its metadata."""
    return field(name, kind, **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})


def add(folder, path, vector=None, partition=None):
    file = folder / path
    action = {
        "path": path, "partitionValues": partition or {}, "size": file.stat().st_size, "modificationTime": 1700000000000,
        "dataChange": True,
        # [Deletion Vectors] A file that has one tells the number of its rows.
        "stats": json.dumps({"numRecords": pq.read_metadata(file).num_rows}),
    }
    return {"add": action | ({"deletionVector": vector} if vector else {})}


# --- deletion vectors -------------------------------------------------------------------------------------------------------------------

def bitmap32(values, runs):
    """A 32-bit RoaringBitmap (https://github.com/RoaringBitmap/RoaringFormatSpec). `runs`: the containers kept as runs, by key."""
    containers = {}
    for value in sorted(values):
        containers.setdefault(value >> 16, []).append(value & 0xFFFF)
    bodies = []
    for key, low in containers.items():
        if key in runs:
            spans = []
            for value in low:
                if spans and spans[-1][0] + spans[-1][1] + 1 == value:
                    spans[-1][1] += 1
                else:
                    spans.append([value, 0])
            bodies.append(struct.pack("<H", len(spans)) + b"".join(struct.pack("<HH", *span) for span in spans))
        elif len(low) <= 4096:
            bodies.append(struct.pack(f"<{len(low)}H", *low))
        else:
            bits = bytearray(8192)
            for value in low:
                bits[value >> 3] |= 1 << (value & 7)
            bodies.append(bytes(bits))
    count = len(containers)
    if runs:
        flags = sum(1 << place for place, key in enumerate(containers) if key in runs)
        head = struct.pack("<I", 12347 | (count - 1) << 16) + flags.to_bytes((count + 7) // 8, "little")
    else:
        head = struct.pack("<II", 12346, count)
    head += b"".join(struct.pack("<HH", key, len(low) - 1) for key, low in containers.items())
    if not runs or count >= 4:
        place = len(head) + 4 * count
        for body in bodies:
            head += struct.pack("<I", place)
            place += len(body)
    return head + b"".join(bodies)


def vector_bytes(values, runs=()):
    """[Deletion Vector Format] The magic number, the number of 32-bit bitmaps, and each with its key; little-endian."""
    return struct.pack("<IQI", 1681511377, 1, 0) + bitmap32(values, set(runs))


def z85(data):
    assert len(data) % 4 == 0
    text = ""
    for start in range(0, len(data), 4):
        value = int.from_bytes(data[start:start + 4], "big")
        text += "".join(Z85[value // 85 ** place % 85] for place in (4, 3, 2, 1, 0))
    return text


def vector_file(folder, prefix, number, vectors):
    """[Deletion Vector File Storage Format] The version, then for each vector its size, its bytes and their checksum; big-endian."""
    data, descriptors, name = b"\x01", [], uuid.UUID(int=number)
    for values, runs in vectors:
        body = vector_bytes(values, runs)
        descriptors.append({
            "storageType": "u", "pathOrInlineDv": prefix + z85(name.bytes), "offset": len(data), "sizeInBytes": len(body),
            "cardinality": len(values),
        })
        data += struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))
    (folder / prefix).mkdir(exist_ok=True)
    (folder / prefix / f"deletion_vector_{name}.bin").write_bytes(data)
    return descriptors


def ids(folder, path, start, count):
    table = pa.table({"id": pa.array(range(start, start + count), pa.int64())})
    pq.write_table(table, folder / path, row_group_size=60_000, use_dictionary=False, column_encoding={"id": "DELTA_BINARY_PACKED"})


def hidden():
    """Vectors of all three kinds of containers, two in one file, one in the log, and one that hides all rows of its file."""
    folder = new_table("hidden")
    for path, start, count in [("a.parquet", 0, 140_000), ("b.parquet", 1_000_000, 100), ("c.parquet", 2_000_000, 10), ("d.parquet", 3_000_000, 10)]:
        ids(folder, path, start, count)
    rows = [*range(1_000, 61_000), *range(65_536, 131_072, 2), 131_072, 139_999]
    in_a, in_c = vector_file(folder, "ab", 0x1234567890ABCDEF, [(rows, [0]), (list(range(10)), [])])
    few = vector_bytes([3, 4, 7, 11, 18, 29])
    in_log = {"storageType": "i", "pathOrInlineDv": z85(few), "sizeInBytes": len(few), "cardinality": 6}
    commit(
        folder, 0, protocol("deletionVectors"), metadata([field("id", "long")]),
        add(folder, "a.parquet", in_a), add(folder, "b.parquet", in_log), add(folder, "c.parquet", in_c), add(folder, "d.parquet"),
    )


# --- column mapping ---------------------------------------------------------------------------------------------------------------------

def numbered(name, kind, number):
    return pa.field(name, kind, metadata={"PARQUET:field_id": str(number)})


def renamed(mode):
    """Columns that were renamed, dropped and added, also within others, and a partition column with another name in the log."""
    folder = new_table(f"renamed-{mode}")

    def schema(region, label, given, dropped, added):
        who = [mapped(given, "string", 4, "p-first"), mapped("age", "integer", 5, "p-age")]
        who += [mapped("extra", "double", 11, "p-extra")] if added else []
        tag = [mapped("k" if dropped else "key", "string", 7, "p-k")] + ([mapped("n", "integer", 12, "p-n")] if added else [])
        kinds = {
            "tags": {"type": "array", "elementType": {"type": "struct", "fields": tag}, "containsNull": True},
            "facts": {"type": "map", "keyType": "string", "valueType": {"type": "struct", "fields": [mapped("v" if dropped else "value", "integer", 9, "p-v")]}, "valueContainsNull": True},
        }
        fields = [
            mapped("id", "long", 1, "p-id"), mapped(label, "string", 2, "p-name"),
            mapped("who", {"type": "struct", "fields": who}, 3, "p-who"), mapped("tags", kinds["tags"], 6, "p-tags"),
            mapped("facts", kinds["facts"], 8, "p-facts"), mapped(region, "string", 10, "p-region"),
        ]
        # The new column has the name of the one that was dropped, and is another one.
        fields += [mapped("gone", "long", 13, "p-new")] if added else [mapped("gone", "long", 14, "p-gone")]
        return metadata(fields, [region], **{"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "14"})

    # By id, files may call their columns anything.
    odd = (lambda name: "q" + name[1:]) if mode == "id" else (lambda name: name)
    first = pa.schema([
        numbered("p-gone", pa.int64(), 14), numbered("p-id", pa.int64(), 1), numbered("p-name", pa.string(), 2),
        numbered("p-who", pa.struct([numbered("p-age", pa.int32(), 5), numbered("p-first", pa.string(), 4)]), 3),
        numbered("p-tags", pa.list_(pa.field("element", pa.struct([numbered("p-k", pa.string(), 7)]))), 6),
        numbered("p-facts", pa.map_(pa.string(), pa.struct([numbered("p-v", pa.int32(), 9)])), 8),
    ])
    second = pa.schema([
        numbered(odd("p-new"), pa.int64(), 13),
        numbered(odd("p-facts"), pa.map_(pa.string(), pa.struct([numbered(odd("p-v"), pa.int32(), 9)])), 8),
        numbered(odd("p-tags"), pa.list_(pa.field("element", pa.struct([numbered(odd("p-n"), pa.int32(), 12), numbered(odd("p-k"), pa.string(), 7)]))), 6),
        numbered(odd("p-who"), pa.struct([numbered(odd("p-extra"), pa.float64(), 11), numbered(odd("p-first"), pa.string(), 4), numbered(odd("p-age"), pa.int32(), 5)]), 3),
        numbered(odd("p-name"), pa.string(), 2), numbered(odd("p-id"), pa.int64(), 1),
    ])
    rows = [
        {"p-gone": 99, "p-id": 1, "p-name": "a", "p-who": {"p-age": 36, "p-first": "Ada"}, "p-tags": [{"p-k": "x"}, None], "p-facts": [("m", {"p-v": 1})]},
        {"p-gone": 98, "p-id": 2, "p-name": None, "p-who": None, "p-tags": None, "p-facts": None},
        {"p-gone": 97, "p-id": 3, "p-name": "c", "p-who": {"p-age": None, "p-first": None}, "p-tags": [], "p-facts": []},
    ]
    pq.write_table(pa.Table.from_pylist(rows, first), folder / "first.parquet")
    rows = [{
        odd("p-new"): 5, odd("p-id"): 4, odd("p-name"): "d", odd("p-who"): {odd("p-extra"): 0.5, odd("p-first"): "Zoë", odd("p-age"): 7},
        odd("p-tags"): [{odd("p-n"): 2, odd("p-k"): "y"}], odd("p-facts"): [("n", {odd("p-v"): None}), ("o", None)],
    }]
    pq.write_table(pa.Table.from_pylist(rows, second), folder / "second.parquet")
    commit(folder, 0, protocol("columnMapping"), schema("p", "name", "first", False, False), add(folder, "first.parquet", partition={"p-region": "north west"}))
    commit(folder, 1, schema("region", "label", "given", True, True), add(folder, "second.parquet", partition={"p-region": None}))


# --- what others read -------------------------------------------------------------------------------------------------------------------

def plain(kind):
    """Without dictionaries and views, as `deltalake` gives them."""
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(part.name, plain(part.type)) for part in kind])
    if pa.types.is_map(kind):
        return pa.map_(plain(kind.key_type), plain(kind.item_type))
    if pa.types.is_list(kind):
        return pa.list_(plain(kind.value_type))
    return {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}.get(kind, kind)


def expect(name, read):
    table = read.cast(pa.schema([pa.field(part.name, plain(part.type)) for part in read.schema]))
    encoding = {"column_encoding": {"id": "DELTA_BINARY_PACKED"}, "use_dictionary": False} if table.num_rows > 1_000 else {}
    pq.write_table(table, EXPECTED / f"{name}.parquet", store_schema=False, **encoding)


def by_deltalake(folder, version=None):
    read = pa.table(QueryBuilder().register("t", DeltaTable(folder, version=version)).execute("SELECT * FROM t").read_all())
    return read.sort_by("id") if read.num_rows > 1_000 else read


def by_pyarrow(folder, widest):
    """The data files without a log: all of them are live, and the newest has the widest types."""
    files = [pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]
    schema = next(file.schema for file in files if file.schema.field(widest[0]).type == widest[1])
    return pa.concat_tables([file.cast(schema) for file in files])


def main():
    shutil.rmtree(EXPECTED, ignore_errors=True)
    EXPECTED.mkdir()
    hidden()
    renamed("name")
    renamed("id")
    for folder in sorted(log.parent for log in HERE.glob("**/_delta_log")):
        match folder.name:
            case "type-widening":
                expect(folder.name, by_pyarrow(folder, ("byte_long", pa.int64())))
            case "type-widening-nested":
                expect(folder.name, by_pyarrow(folder, ("struct", pa.struct([pa.field("a", pa.int64())]))))
            case "basic-with-vacuum-protocol-check-feature":
                expect(folder.name, pa.concat_tables([pq.read_table(file) for file in sorted(folder.glob("*.parquet"))]))
            case "renamed-id":
                # `deltalake` 1.6 looks for names in this mode too, and gets NULL; the rows are those of the other mode.
                expect(folder.name, by_deltalake(HERE / "renamed-name"))
            case "dv-with-columnmapping":
                expect(folder.name, by_deltalake(folder))
                expect(f"{folder.name}-at-3", by_deltalake(folder, 3))
            case name:
                expect(name, by_deltalake(folder))


main()
