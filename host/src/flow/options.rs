//! Options of reading and of writing, with the formats that use them.

use super::fields::Block;
use super::fields::Kind;
use super::fields::field;
use super::fields::later;
use super::words;

const MERGES: &str = "belongs to the merge strategies, which this version does not have";

/// Options of reading, of all formats.
pub(super) static READ_OPTIONS: Block = Block {
    name: "reading",
    doc: "Options of reading. One that the format does not use is an error.",
    lifts_configure: false,
    fields: &[
        field("header", Kind::Bool, "Whether the first line names the columns; true by default.")
            .formats(&["csv"]),
        field("delimiter", Kind::Char, "What parts the fields; a comma by default.")
            .aliases(&["separator"])
            .formats(&["csv"]),
        field("quote", Kind::Char, "What encloses fields; a double quote by default.")
            .formats(&["csv"]),
        field("escape", Kind::Char, "An escape within quotes; doubled quotes by default.")
            .formats(&["csv"]),
        field("null_values", Kind::Texts, "Fields that mean NULL.").formats(&["csv"]),
        field(
            "infer_schema_rows",
            Kind::Count,
            "How many rows inference looks at; all by default.",
        )
        .formats(&["csv", "jsonl"]),
        field("schema", Kind::Types, "The columns' types, as `schema_hints`.").formats(&["csv"]),
        field("merge_schema", Kind::Bool, "Whether files may lack columns of other files.")
            .formats(&["csv", "parquet", "jsonl"])
            .aliases(&["mergeSchema"]),
        field(
            "allow_missing",
            Kind::Bool,
            "Whether no file at all is an empty input instead of an error.",
        )
        .formats(&["csv", "parquet", "jsonl"]),
    ],
};

/// Options of writing, of all formats.
pub(super) static WRITE_OPTIONS: Block = Block {
    name: "writing",
    doc: "Options of writing. One that the format does not use is an error.",
    lifts_configure: false,
    fields: &[
        field("compression", Kind::Word(words::COMPRESSIONS), "How pages are compressed.")
            .formats(&["delta", "parquet"]),
        field(
            "target_file_size",
            Kind::Bytes,
            "Bytes after which a new file is begun; 128 MiB by default.",
        )
        .formats(&["delta", "parquet"]),
        field("header", Kind::Bool, "Whether the first line names the columns; true by default.")
            .formats(&["csv"]),
        field("delimiter", Kind::Char, "What parts the fields; a comma by default.")
            .aliases(&["separator"])
            .formats(&["csv"]),
        field("null_value", Kind::AnyText, "What a NULL is written as; nothing by default.")
            .formats(&["csv"]),
        field("merge_schema", Kind::Bool, "Whether columns that the target lacks are added to it.")
            .aliases(&["mergeSchema"])
            .formats(&["delta"]),
        field(
            "overwrite_schema",
            Kind::Bool,
            "Whether the target gets the rows' columns and types; `overwrite` only.",
        )
        .aliases(&["overwriteSchema"])
        .formats(&["delta"]),
        // People keep these beside the options of writing.
        later("merge_keys", MERGES),
        later("merge_condition", MERGES),
        later("source_alias", MERGES),
        later("target_alias", MERGES),
    ],
};
