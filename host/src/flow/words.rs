//! The words that fields take: formats, load types, step and rule types, severities, compressions.

use super::fields::Word;
use super::fields::word;

const NO_FORMAT_YET: &str = "is a format that this version does not have";
const NO_STORE_YET: &str = "is an object store; this version reads and writes local files";
const BUILT_IN_STEP: &str = "is a built-in step; this version runs component steps only";
const BUILT_IN_RULE: &str = "is a built-in rule; this version runs component rules only";
const MERGES_YET: &str = "merges row by row, which this version does not do";
const READ_ONLY: &str = "can only be read";
const WRITE_ONLY: &str = "can only be written";

/// Formats of a source.
pub(super) static READ_FORMATS: &[Word] = &[
    word("csv", "Comma-separated values, also with other delimiters."),
    word("parquet", "Apache Parquet."),
    word("jsonl", "One JSON object a line."),
    word("file", "Path-based; `file_format` says which, Parquet by default."),
    word("json", "").later(NO_FORMAT_YET),
    word("avro", "").later(NO_FORMAT_YET),
    word("orc", "").later(NO_FORMAT_YET),
    word("arrow", "").later(NO_FORMAT_YET),
    word("delta", "").later("can only be written by this version"),
    word("iceberg", "").later(NO_FORMAT_YET),
    word("binary", "").later(NO_FORMAT_YET),
    word("sql", "").later(NO_FORMAT_YET),
    word("view", "").later(NO_FORMAT_YET),
    word("s3", "").later(NO_STORE_YET),
    word("kafka", "").never(WRITE_ONLY),
];

/// Formats of a destination.
pub(super) static WRITE_FORMATS: &[Word] = &[
    word("delta", "A Delta table."),
    word("parquet", "Apache Parquet."),
    word("csv", "Comma-separated values."),
    word("jsonl", "One JSON object a line."),
    word("file", "Path-based; `file_format` says which, Parquet by default."),
    word("json", "").later(NO_FORMAT_YET),
    word("avro", "").later(NO_FORMAT_YET),
    word("arrow", "").later(NO_FORMAT_YET),
    word("iceberg", "").later(NO_FORMAT_YET),
    word("kafka", "").later(NO_FORMAT_YET),
    word("view", "").later(NO_FORMAT_YET),
    word("s3", "").later(NO_STORE_YET),
    word("orc", "").never(READ_ONLY),
    word("binary", "").never(READ_ONLY),
    word("sql", "").never(READ_ONLY),
];

/// Formats of a connection, which sources and destinations may share.
pub(super) static CONNECTION_FORMATS: &[Word] = &[
    word("csv", "Comma-separated values, also with other delimiters."),
    word("parquet", "Apache Parquet."),
    word("jsonl", "One JSON object a line."),
    word("delta", "Delta tables; written only."),
    word("file", "Path-based; `file_format` says which, Parquet by default."),
    word("json", "").later(NO_FORMAT_YET),
    word("avro", "").later(NO_FORMAT_YET),
    word("orc", "").later(NO_FORMAT_YET),
    word("arrow", "").later(NO_FORMAT_YET),
    word("iceberg", "").later(NO_FORMAT_YET),
    word("binary", "").later(NO_FORMAT_YET),
    word("sql", "").later(NO_FORMAT_YET),
    word("kafka", "").later(NO_FORMAT_YET),
    word("view", "").later(NO_FORMAT_YET),
    word("s3", "").later(NO_STORE_YET),
];

/// Load strategies.
pub(super) static LOAD_TYPES: &[Word] = &[
    word("append", "Rows are added."),
    word("overwrite", "The rows become the target's only rows.").aliases(&["full_load"]),
    word(
        "overwrite_partitions",
        "The rows become the only ones of their partitions. Delta tables.",
    ),
    word("error_if_exists", "A new table; it must not be there. Delta tables.")
        .aliases(&["error", "errorifexists"]),
    word("ignore", "A new table; nothing happens where there is one. Delta tables."),
    word("merge_upsert", "").aliases(&["merge", "upsert"]).later(MERGES_YET),
    word("merge_overwrite", "").later(MERGES_YET),
    word("hash_diff_upsert", "").later(MERGES_YET),
    word("scd2", "").aliases(&["historical"]).later(MERGES_YET),
    word("snapshot_soft_delete", "").aliases(&["snapshot_reconcile_soft_delete"]).later(MERGES_YET),
];

/// Load strategies that only tables with a transaction log can carry out.
pub(super) fn needs_merge(load_type: &str) -> bool {
    LOAD_TYPES
        .iter()
        .any(|word| word.name == load_type && word.offer == super::fields::Offer::Later(MERGES_YET))
}

/// Types of a transform.
pub(super) static STEP_TYPES: &[Word] = &[
    word("component", "Runs a component."),
    word("select", "").later(BUILT_IN_STEP),
    word("drop", "").later(BUILT_IN_STEP),
    word("rename", "").later(BUILT_IN_STEP),
    word("with_column", "").later(BUILT_IN_STEP),
    word("filter", "").later(BUILT_IN_STEP),
    word("cast", "").later(BUILT_IN_STEP),
    word("struct", "").later(BUILT_IN_STEP),
    word("deduplicate", "").later(BUILT_IN_STEP),
    word("group_by", "").later(BUILT_IN_STEP),
    word("join", "").later(BUILT_IN_STEP),
    word("sql", "").later(BUILT_IN_STEP),
    word("union", "").later(BUILT_IN_STEP),
    word("fill_na", "").later(BUILT_IN_STEP),
    word("sort", "").later(BUILT_IN_STEP),
    word("system_columns", "").later(BUILT_IN_STEP),
];

/// Types of a rule.
pub(super) static RULE_TYPES: &[Word] = &[
    word("component", "A component judges."),
    word("required_columns", "").later(BUILT_IN_RULE),
    word("not_null", "").later(BUILT_IN_RULE),
    word("unique_key", "").aliases(&["unique"]).later(BUILT_IN_RULE),
    word("accepted_values", "").later(BUILT_IN_RULE),
    word("range", "").later(BUILT_IN_RULE),
    word("pattern", "").aliases(&["regex"]).later(BUILT_IN_RULE),
    word("length", "").later(BUILT_IN_RULE),
    word("expression", "").later(BUILT_IN_RULE),
    word("min_rows", "").later(BUILT_IN_RULE),
    word("max_rows", "").later(BUILT_IN_RULE),
    word("row_count_change", "").later(BUILT_IN_RULE),
    word("freshness", "").later(BUILT_IN_RULE),
    word("reference", "").later(BUILT_IN_RULE),
];

/// What hitting a rule leads to.
pub(super) static SEVERITIES: &[Word] = &[
    word("fail", "Nothing is written."),
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

/// How Parquet pages are compressed.
pub(super) static COMPRESSIONS: &[Word] = &[
    word("snappy", "Fast; the default."),
    word("zstd", "Zstandard, level 1."),
    word("gzip", "Gzip."),
    word("lz4", "LZ4, raw frames.").aliases(&["lz4_raw"]),
    word("none", "Not at all.").aliases(&["uncompressed"]),
];

/// Formats that are files below a path, which `connection_type: file` agrees with.
pub(super) const PATH_BASED: &[&str] = &["csv", "parquet", "jsonl", "delta", "file"];
