//! The words that fields take: formats, load types, step and rule types, severities, compressions.

use super::fields::Word;
use super::fields::word;

const NO_FORMAT_YET: &str = "is a format that this version does not have";
const READ_ONLY: &str = "can only be read";
const DATABASES: &[&str] = &["postgres", "postgresql", "jdbc"];
const WRITE_ONLY: &str = "can only be written";

/// Formats of a source.
pub(super) static READ_FORMATS: &[Word] = &[
    word("csv", "Comma-separated values, also with other delimiters."),
    word("parquet", "Apache Parquet."),
    word("jsonl", "One JSON object a line."),
    word("json", "A JSON array of objects, or one object."),
    word("arrow", "Arrow IPC, files or streams."),
    word("avro", "Avro object container files."),
    word("orc", "Apache ORC; read only."),
    word("binary", "Any files, a row a file; read only."),
    word("file", "Path-based; `file_format` says which, Parquet by default.").aliases(&["s3"]),
    word("delta", "A Delta table."),
    word("iceberg", "").later(NO_FORMAT_YET),
    word("sql", "A table or a query of a Postgres server.").aliases(DATABASES),
    word("view", "Rows that flows of one `wasmhost run` share; `path` is its name."),
    word("kafka", "").never(WRITE_ONLY),
];

/// Formats of a destination.
pub(super) static WRITE_FORMATS: &[Word] = &[
    word("delta", "A Delta table."),
    word("parquet", "Apache Parquet."),
    word("csv", "Comma-separated values."),
    word("jsonl", "One JSON object a line."),
    word("json", "A JSON array of objects."),
    word("arrow", "Arrow IPC files."),
    word("avro", "Avro object container files."),
    word("file", "Path-based; `file_format` says which, Parquet by default.").aliases(&["s3"]),
    word("iceberg", "").later(NO_FORMAT_YET),
    word("kafka", "").later(NO_FORMAT_YET),
    word("view", "Rows that flows of one `wasmhost run` share; `path` is its name."),
    word("orc", "").never(READ_ONLY),
    word("binary", "").never(READ_ONLY),
    word("sql", "").aliases(DATABASES).never(READ_ONLY),
];

/// Formats of a connection, which sources and destinations may share.
pub(super) static CONNECTION_FORMATS: &[Word] = &[
    word("csv", "Comma-separated values, also with other delimiters."),
    word("parquet", "Apache Parquet."),
    word("jsonl", "One JSON object a line."),
    word("json", "A JSON array of objects, or one object."),
    word("arrow", "Arrow IPC, files or streams."),
    word("avro", "Avro object container files."),
    word("orc", "Apache ORC; read only."),
    word("binary", "Any files, a row a file; read only."),
    word("delta", "Delta tables."),
    word("file", "Path-based; `file_format` says which, Parquet by default.").aliases(&["s3"]),
    word("iceberg", "").later(NO_FORMAT_YET),
    word("sql", "A Postgres server; read only.").aliases(DATABASES),
    word("kafka", "").later(NO_FORMAT_YET),
    word("view", "Rows that flows of one `wasmhost run` share; `path` is its name."),
];

/// Load strategies.
pub(super) static LOAD_TYPES: &[Word] = &[
    word("append", "Rows are added."),
    word("overwrite", "The rows become the target's only rows, or the only ones of one partition.")
        .aliases(&["full_load"]),
    word(
        "overwrite_partitions",
        "The rows become the only ones of their partitions, or of what `replace_where` selects.",
    ),
    word("error_if_exists", "The target is created; it must not be there.")
        .aliases(&["error", "errorifexists"]),
    word("ignore", "The target is created; where it is there already, nothing happens."),
    word("merge_upsert", "New keys are inserted, known ones updated.")
        .aliases(&["merge", "upsert"]),
    word("merge_overwrite", "The rows of each key that comes replace the key's rows."),
    word("hash_diff_upsert", "Known keys are updated where their content differs."),
    word("scd2", "Each change of a key closes its current version and opens a new one.")
        .aliases(&["historical"]),
    word(
        "snapshot_soft_delete",
        "The rows are all there is: keys that are missing are marked as deleted.",
    )
    .aliases(&["snapshot_reconcile_soft_delete"]),
];

/// Load strategies that go by keys; only tables with a transaction log can carry them out.
pub(super) const KEYED: &[&str] =
    &["merge_upsert", "merge_overwrite", "hash_diff_upsert", "scd2", "snapshot_soft_delete"];

/// Load strategies that this version carries out on files without a log.
pub(super) const FLAT_LOADS: &[&str] =
    &["append", "overwrite", "overwrite_partitions", "error_if_exists", "ignore"];

/// The same of views, which are in memory.
pub(super) const VIEW_LOADS: &[&str] = &["append", "overwrite"];

/// How `merge_upsert` finds the rows of its keys.
pub(super) static MERGE_STRATEGIES: &[Word] = &[
    word("delta", "Row by key, wherever the key's row is; the default."),
    word(
        "delta_by_partition",
        "The same result; files that cannot hold a key are not read anyway.",
    ),
    word("replace_partitions", "The rows become the only ones of their partitions."),
];

/// Several rows of one key.
pub(super) static ON_DUPLICATE_KEY: &[Word] = &[
    word("error", "Nothing is written; the default."),
    word("keep_latest", "The first by `order_by` stays, the others are counted."),
    word("quarantine", "")
        .later("sets rows aside at a destination, which this version does not do"),
];

/// NULL in a key.
pub(super) static ON_NULL_KEY: &[Word] = &[
    word("error", "Nothing is written; the default."),
    word("match", "NULL equals NULL."),
    word("quarantine", "")
        .later("sets rows aside at a destination, which this version does not do"),
];

/// NULL in a sequence.
pub(super) static ON_NULL_SEQUENCE: &[Word] = &[
    word("error", "Nothing is written; the default."),
    word("quarantine", "")
        .later("sets rows aside at a destination, which this version does not do"),
];

/// A change older than the stored one.
pub(super) static LATE: &[Word] = &[
    word("ignore", "It is counted; the default but for `scd2`."),
    word("error", "Nothing is written.").aliases(&["reject"]),
    word("history", "It is placed where it belongs; `scd2` only, and its default.")
        .aliases(&["apply"]),
    word("append", "It is inserted as it comes; `scd2` only."),
];

/// How the columns that count as a change are chosen.
pub(super) static HASH_STRATEGIES: &[Word] =
    &[word("all_columns_except", "All but `hash_exclude_columns`.")];

/// Types of steps that other tools have.
pub(super) static OTHER_STEPS: &[Word] = &[
    word("repartition", "")
        .later("spreads rows over workers, which this version does by itself; leave it out"),
    word("stop_if_empty", "")
        .later("ends a run early where there are no rows, which this version does not do"),
    word("debug", "").later("prints rows, which this version does not do"),
];

/// A value that does not fit its column's new type.
pub(super) static ON_CAST_ERROR: &[Word] = &[
    word("fail", "The run fails; the default."),
    word("null", "It becomes NULL and is counted."),
    word("quarantine", "Its row goes to the quarantine."),
];

/// Which rows a join leaves.
pub(super) static JOINS: &[Word] = &[
    word("inner", "Pairs; the default."),
    word("left", "Pairs, and rows of the chain without a partner.").aliases(&["left_outer"]),
    word("right", "Pairs, and rows of the other source without a partner.")
        .aliases(&["right_outer"]),
    word("full", "Pairs, and rows of either side without a partner.")
        .aliases(&["outer", "full_outer"]),
    word("semi", "Rows of the chain with a partner.").aliases(&["left_semi"]),
    word("anti", "Rows of the chain without a partner.").aliases(&["left_anti"]),
];

/// Directions of an order.
pub(super) static DIRECTIONS: &[Word] = &[
    word("asc", "Low values first.").aliases(&["ascending"]),
    word("desc", "High values first.").aliases(&["descending"]),
];

/// Where NULL stands in an order.
pub(super) static NULLS: &[Word] =
    &[word("first", "Before all values."), word("last", "After all values; the default.")];

/// Which row of a duplicated key is good.
pub(super) static KEEPS: &[Word] =
    &[word("first", "The first by `order_by`."), word("last", "The last by `order_by`.")];

/// What NULL leads to.
pub(super) static ON_NULL: &[Word] = &[
    word("fail", "The row is hit."),
    word("pass", "The row is good."),
    word("skip", "The row is not evaluated, and counted apart."),
];

/// What hitting a rule leads to.
pub(super) static SEVERITIES: &[Word] = &[
    word("fail", "Nothing is written.").aliases(&["abort"]),
    word("warn", "Counted and reported; the rows go on."),
    word("drop", "The rows are left out and counted."),
    word("quarantine", "The rows go to the quarantine instead."),
];

/// What a failing batch of a step leads to.
pub(super) static ON_FAILURE: &[Word] = &[
    word("fail", "The run fails."),
    word("quarantine_batch", "")
        .later("sets a failing batch aside, which this version does not do"),
];

/// How a component is run.
pub(super) static PROFILES: &[Word] = &[
    word("standard", "The default."),
    word("strict", "").later("is a profile that this version does not have"),
    word("interpreter", "").later("is a profile that this version does not have"),
];

/// How files are compressed; each format has some of them.
pub(super) static COMPRESSIONS: &[Word] = &[
    word("snappy", "Fast; Parquet, Delta (the default of both) and Avro."),
    word("zstd", "Zstandard; all formats."),
    word("gzip", "Gzip; Parquet, Delta, CSV and JSON."),
    word("lz4", "LZ4; Parquet, Delta and Arrow.").aliases(&["lz4_raw"]),
    word("bzip2", "Bzip2; CSV, JSON and Avro.").aliases(&["bz2"]),
    word("xz", "Xz; CSV, JSON and Avro."),
    word("deflate", "Deflate; Avro."),
    word("none", "Not at all.").aliases(&["uncompressed"]),
];

/// Formats that are files below a path, which `connection_type: file` agrees with.
pub(super) const PATH_BASED: &[&str] =
    &["csv", "parquet", "jsonl", "json", "arrow", "avro", "orc", "binary", "delta", "file"];
