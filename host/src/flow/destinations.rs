//! The fields of a destination.

use super::blocks::CONNECTION_FIELD;
use super::blocks::PATH_FIELD;
use super::blocks::SCHEMA_FIELD;
use super::blocks::TABLE_FIELD;
use super::fields::Block;
use super::fields::Kind;
use super::fields::field;
use super::fields::later;
use super::options::WRITE_OPTIONS;
use super::words;

const MERGES: &str = "belongs to the merge strategies, which this version does not have";
const PARTS: &str = "overwrites a part of a table, which this version does not do";
const LAYOUT: &str = "belongs to table maintenance, which this version does not have";
const CATALOGS: &str = "belongs to catalogs, which this version does not have";

/// Where rows go.
pub(super) static DESTINATION: Block = Block {
    name: "a destination",
    doc: "Where rows go.",
    lifts_configure: true,
    fields: &[
        field(
            "name",
            Kind::Text,
            "Unique; `d0`, `d1`, … by default. Part of the evidence and of the idempotency key: give one.",
        ),
        CONNECTION_FIELD,
        field(
            "connection_type",
            Kind::Word(words::WRITE_FORMATS),
            "Accepted, and checked against `format`.",
        ),
        field("format", Kind::Word(words::WRITE_FORMATS), "How the data is kept."),
        field(
            "file_format",
            Kind::Word(words::WRITE_FORMATS),
            "The format of the files where `format` is `file`; Parquet by default.",
        ),
        PATH_FIELD,
        SCHEMA_FIELD,
        TABLE_FIELD,
        field(
            "load_type",
            Kind::Word(words::LOAD_TYPES),
            "The load strategy; `append` by default.",
        )
        .aliases(&["mode"]),
        field("columns", Kind::Names, "The columns written, in this order; all by default."),
        field(
            "partition_columns",
            Kind::Partitions,
            "Columns whose values split the table into folders, outermost first.",
        )
        .aliases(&["partition_by", "partitionBy"]),
        field(
            "allow_empty",
            Kind::Bool,
            "Whether an empty result may empty the target; `overwrite` only.",
        ),
        field("write_options", Kind::Block(&WRITE_OPTIONS), "Options of writing."),
        field("options", Kind::Block(&WRITE_OPTIONS), "The same as `write_options`."),
        later(
            "transforms",
            "(of one destination) needs built-in steps, which this version does not have",
        )
        .aliases(&["transformations", "transform"]),
        later("rules", "(of one destination) is not in this version")
            .aliases(&["validations", "quality_rules"]),
        later("merge_keys", MERGES),
        later("merge_condition", MERGES),
        later("merge_options", MERGES),
        later("merge_strategy", MERGES),
        later("merge_partition_column", MERGES),
        later("replace_partitions_source_complete", MERGES),
        later("on_duplicate_key", MERGES),
        later("order_by", MERGES),
        later("on_null_key", MERGES),
        later("sequence_by", MERGES).aliases(&["scd2_sequence_by"]),
        later("late", MERGES).aliases(&["scd2_late_arriving_policy"]),
        later("scd2_columns", MERGES),
        later("close_missing", MERGES),
        later("on_null_sequence", MERGES),
        later("delete_when", MERGES).aliases(&["scd2_apply_as_deletes"]),
        later("effective_column", MERGES)
            .aliases(&["scd2_effective_column", "scd2_effective_from_column"]),
        later("compare_columns", MERGES).aliases(&["scd2_change_columns", "hash_keys"]),
        later("hash_strategy", MERGES),
        later("hash_exclude_columns", MERGES),
        later("source_complete", MERGES),
        later("max_removed_fraction", MERGES),
        later("replace_where", PARTS),
        later("replace_by_watermark", PARTS),
        later("partition_column", PARTS),
        later("partition_value", PARTS),
        later("date_folder_partitions", "(folders by date) is not in this version"),
        later("optimize_after_write", LAYOUT),
        later("zorder_columns", LAYOUT),
        later("cluster_columns", LAYOUT),
        later("table_properties", LAYOUT).aliases(&["delta_properties"]),
        later("catalog", CATALOGS),
        later("database", CATALOGS),
        later("generate_manifest", CATALOGS),
        later("register_symlink_table", CATALOGS),
        later("symlink_database_prefix", CATALOGS),
        later("athena_output_location", CATALOGS),
    ],
};

/// A partition column written as a map.
pub(super) static PARTITION: Block = Block {
    name: "a partition column",
    doc: "A partition column.",
    lifts_configure: false,
    fields: &[
        field("column", Kind::Text, "The column's name.").required(),
        later("expression", "(a partition column computed by the host) is not in this version"),
    ],
};
