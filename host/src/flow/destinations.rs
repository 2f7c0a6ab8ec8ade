//! The fields of a destination.

use super::blocks::CONNECTION_FIELD;
use super::blocks::PATH_FIELD;
use super::blocks::SCHEMA_FIELD;
use super::blocks::TABLE_FIELD;
use super::fields::Block;
use super::fields::Kind;
use super::fields::Unsaid;
use super::fields::field;
use super::fields::later;
use super::options::MERGE_CONDITION;
use super::options::MERGE_KEYS;
use super::options::MERGE_OPTIONS;
use super::options::WRITE_OPTIONS;
use super::rule_blocks::RULES;
use super::step_blocks::STEPS;
use super::words;

const CATALOGS: &str = "belongs to catalogs, which this version does not have";

const INCREMENTAL: &str = "belongs to incremental loads, which this version does not have";
const OF_READING: &str = "says what is read; write it at the source";
const OF_THE_SOURCE: &str = "says what a source holds; write it at the source";

const UPSERT: &[&str] = &["merge_upsert"];
/// Strategies with at most one row a key.
const SINGLE: &[&str] = &["merge_upsert", "hash_diff_upsert", "snapshot_soft_delete"];
/// Strategies whose rows are changes: ordered, and some of them deletions.
const CHANGES: &[&str] = &["merge_upsert", "hash_diff_upsert", "scd2"];
/// Strategies that ask whether a row differs.
const COMPARES: &[&str] = &["hash_diff_upsert", "scd2", "snapshot_soft_delete"];

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
            "date_folder_partitions",
            Kind::Text,
            "Folders by date that flat files are written into: `{year}/{month}/{day}`, with `{hour}`, or `year={year}/…`; of the run's start, in UTC.",
        ),
        field(
            "merge_options",
            Kind::Block(&MERGE_OPTIONS),
            "Options of merging; `write_options` and `options` may hold them too.",
        ),
        field("write_options", Kind::Block(&WRITE_OPTIONS), "Options of writing."),
        field("options", Kind::Block(&WRITE_OPTIONS), "The same as `write_options`."),
        MERGE_KEYS,
        MERGE_CONDITION,
        field(
            "merge_strategy",
            Kind::Word(words::MERGE_STRATEGIES),
            "How the rows of a key are found.",
        )
        .loads(UPSERT),
        field(
            "merge_partition_column",
            Kind::Text,
            "The partition column of `merge_strategy`.",
        )
        .loads(UPSERT),
        field(
            "replace_partitions_source_complete",
            Kind::Bool,
            "Whether the rows are all there is of their partitions; `replace_partitions` needs it.",
        )
        .loads(UPSERT),
        field(
            "on_duplicate_key",
            Kind::Word(words::ON_DUPLICATE_KEY),
            "What several rows of one key lead to.",
        )
        .loads(SINGLE),
        field(
            "order_by",
            Kind::Order(Unsaid::Descending),
            "Which row of a key `keep_latest` keeps: the first; `DESC NULLS LAST` by default.",
        )
        .loads(SINGLE),
        field("on_null_key", Kind::Word(words::ON_NULL_KEY), "What NULL in a key leads to.")
            .loads(words::KEYED),
        field(
            "sequence_by",
            Kind::Names,
            "Columns that order the changes of one key, whatever their arrival.",
        )
        .aliases(&["scd2_sequence_by"])
        .loads(CHANGES),
        field("late", Kind::Word(words::LATE), "What a change older than the stored one leads to.")
            .aliases(&["scd2_late_arriving_policy"])
            .loads(CHANGES),
        field(
            "on_null_sequence",
            Kind::Word(words::ON_NULL_SEQUENCE),
            "What NULL in a sequence leads to.",
        )
        .loads(CHANGES),
        field(
            "delete_when",
            Kind::Text,
            "SQL over the incoming row: it deletes its key, or closes it.",
        )
        .aliases(&["scd2_apply_as_deletes"])
        .loads(CHANGES),
        field("effective_column", Kind::Text, "The column that says from when on a row holds.")
            .aliases(&["scd2_effective_column", "scd2_effective_from_column"])
            .loads(&["scd2"]),
        field(
            "scd2_columns",
            Kind::Block(&VERSION_COLUMNS),
            "Other names for the columns that are added.",
        )
        .loads(&["scd2"]),
        field("close_missing", Kind::Bool, "Whether keys that do not come are closed.")
            .loads(&["scd2"]),
        field("compare_columns", Kind::Names, "What counts as a change; all but keys by default.")
            .aliases(&["scd2_change_columns", "hash_keys"])
            .loads(COMPARES),
        field(
            "hash_strategy",
            Kind::Word(words::HASH_STRATEGIES),
            "With `hash_exclude_columns`: what counts as a change.",
        )
        .loads(COMPARES),
        field("hash_exclude_columns", Kind::Names, "What never counts as a change.")
            .loads(COMPARES),
        field(
            "max_removed_fraction",
            Kind::Fraction,
            "The largest share of the current rows that one run may remove or retire; 0.5 by default.",
        )
        .loads(&["merge_upsert", "hash_diff_upsert", "scd2", "snapshot_soft_delete"]),
        field(
            "allow_empty",
            Kind::Bool,
            "Whether an empty result may remove or retire rows.",
        )
        .loads(&[
            "overwrite",
            "overwrite_partitions",
            "merge_upsert",
            "scd2",
            "snapshot_soft_delete",
        ]),
        field("replace_where", Kind::Text, "SQL on the target's columns: the rows that go.")
            .loads(&["overwrite_partitions"]),
        field("partition_column", Kind::Text, "With `partition_value`: the partition replaced.")
            .loads(&["overwrite"]),
        field("partition_value", Kind::Scalar, "See `partition_column`.").loads(&["overwrite"]),
        field(
            "optimize_after_write",
            Kind::Bool,
            "Whether small files are put together after the rows are written.",
        ),
        field(
            "zorder_columns",
            Kind::Names,
            "With `optimize_after_write`: rows near in these columns are put near each other.",
        ),
        field(
            "table_properties",
            Kind::Properties,
            "Properties of the table: some `delta.` ones, and any others.",
        )
        .aliases(&["delta_properties"]),
        field(
            "transforms",
            Kind::Chain(&STEPS),
            "Its own steps, from the main chain's result on.",
        )
        .aliases(&["transformations", "transform"]),
        field("rules", Kind::ChainOrMap(&RULES), "Judged on the result of its own steps.")
            .aliases(&["validations", "quality_rules"]),
        field("source_complete", Kind::Any, "").never(OF_THE_SOURCE),
        field("query", Kind::Any, "").aliases(&["sql"]).never(OF_READING),
        field("filter", Kind::Any, "").aliases(&["filter_expression"]).never(OF_READING),
        field("version_as_of", Kind::Any, "").never(OF_READING),
        field("timestamp_as_of", Kind::Any, "").never(OF_READING),
        later("replace_by_watermark", INCREMENTAL),
        later("cluster_columns", "(clustering) is not in this version"),
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
        field("expression", Kind::Text, "SQL over the destination's rows that computes it."),
    ],
};

/// Other names for the columns that `scd2` adds.
pub(super) static VERSION_COLUMNS: Block = Block {
    name: "a block of version columns",
    doc: "The columns that `scd2` adds.",
    lifts_configure: false,
    fields: &[
        field("valid_from", Kind::Text, "The begin of a version; `__valid_from` by default."),
        field("valid_to", Kind::Text, "The end of a version; `__valid_to` by default."),
        field("is_current", Kind::Text, "True for the current version; `__is_current` by default."),
    ],
};
