//! Options of reading and of writing, with the formats that use them.

use super::blocks::PASSWORD_FIELD;
use super::blocks::URL_FIELD;
use super::blocks::USER_FIELD;
use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::field;
use super::fields::later;
use super::words;

/// Options of reading, of all formats.
pub(super) static READ_OPTIONS: Block = Block {
    name: "reading",
    doc: "Options of reading. One that the format does not use is an error.",
    lifts_configure: false,
    fields: &[
        field(
            "format",
            Kind::Word(words::READ_FORMATS),
            "The format of the files where `format` is `file`, as `file_format`.",
        ),
        field("header", Kind::Bool, "Whether the first line names the columns; true by default.")
            .formats(&["csv"]),
        field("delimiter", Kind::Char, "What parts the fields; a comma by default.")
            .aliases(&["separator"])
            .formats(&["csv"]),
        field("quote", Kind::Char, "What encloses fields; a double quote by default.")
            .formats(&["csv"]),
        field("escape", Kind::Char, "An escape within quotes; doubled quotes by default.")
            .formats(&["csv"]),
        field(
            "encoding",
            Kind::Text,
            "What bytes mean which characters, by a label of the Encoding Standard; `utf-8` by default.",
        )
        .formats(&["csv"]),
        field("null_values", Kind::Texts, "Fields that mean NULL.").formats(&["csv"]),
        field(
            "infer_schema_rows",
            Kind::Count,
            "How many rows inference looks at; all by default.",
        )
        .formats(&["csv", "jsonl", "json"]),
        field(
            "infer_schema",
            Kind::Bool,
            "Whether columns have the types that their values have, by default; else those that no type is declared for are text.",
        )
        .aliases(&["inferSchema"])
        .formats(&["csv"]),
        later(
            "on_surprise",
            "(what a value leads to that `infer_schema_rows` did not foresee) is not in this version: it is an error",
        ),
        field(
            "schema",
            Kind::TypesOrNames,
            "With `header: false`, the columns in the order of the fields: a map from name to type, or a list of names. With a header, types as in `schema_hints`.",
        )
        .formats(&["csv"]),
        field("merge_schema", Kind::Bool, "Whether files may lack columns of other files.")
            .formats(&["csv", "parquet", "jsonl", "json", "arrow", "avro", "orc"])
            .aliases(&["mergeSchema"]),
        field(
            "allow_missing",
            Kind::Bool,
            "Whether no file at all is an empty input instead of an error.",
        )
        .formats(&["csv", "parquet", "jsonl", "json", "arrow", "avro", "orc", "binary", "delta"]),
        // Other tools keep these here.
        URL_FIELD.formats(&["sql"]),
        USER_FIELD.formats(&["sql"]),
        PASSWORD_FIELD.formats(&["sql"]),
        field("dbtable", Kind::Text, "The table, such as `orders` or `shop.orders`.").formats(&["sql"]),
        field("driver", Kind::Text, "Accepted where it is `org.postgresql.Driver`.").formats(&["sql"]),
    ],
};

/// Options of writing, of all formats.
pub(super) static WRITE_OPTIONS: Block = Block {
    name: "writing",
    doc: "Options of writing. One that the format does not use is an error.",
    lifts_configure: false,
    fields: &[
        field(
            "compression",
            Kind::Word(words::COMPRESSIONS),
            "How files are compressed: `snappy` by default in Parquet and Delta, else not at all.",
        )
        .formats(&["delta", "parquet", "csv", "json", "jsonl", "avro", "arrow"]),
        field("compression_level", Kind::Whole, "The codec's level, where it has some.")
            .formats(&["delta", "parquet", "csv", "json", "jsonl", "arrow"]),
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
        field("quote", Kind::Char, "What encloses fields; a double quote by default.")
            .formats(&["csv"]),
        field(
            "escape",
            Kind::Char,
            "What comes before a quote within quotes, and before itself; doubled quotes by default.",
        )
        .formats(&["csv"]),
        field("null_value", Kind::AnyText, "What a NULL is written as; nothing by default.")
            .formats(&["csv"]),
        field(
            "merge_schema",
            Kind::Bool,
            "Whether columns that the target lacks are added to it; types of stored columns stay.",
        )
        .aliases(&["mergeSchema"])
        .formats(&["delta"])
        .loads(MERGE_SCHEMA),
        field(
            "overwrite_schema",
            Kind::Bool,
            "Whether the target gets the rows' columns and types.",
        )
        .aliases(&["overwriteSchema"])
        .formats(&["delta"])
        .loads(&["overwrite"]),
        // People keep these beside the options of writing.
        MERGE_KEYS.formats(&["delta"]),
        MERGE_CONDITION.formats(&["delta"]),
        SOURCE_ALIAS.formats(&["delta"]),
        TARGET_ALIAS.formats(&["delta"]),
    ],
};

/// Options of merging.
pub(super) static MERGE_OPTIONS: Block = Block {
    name: "merging",
    doc: "Options of merging, for the strategies that go by keys.",
    lifts_configure: false,
    fields: &[
        MERGE_KEYS.formats(&["delta"]),
        MERGE_CONDITION.formats(&["delta"]),
        SOURCE_ALIAS.formats(&["delta"]),
        TARGET_ALIAS.formats(&["delta"]),
    ],
};

/// `merge_keys`, as destinations have it too; they are judged by their load strategy.
pub(super) const MERGE_KEYS: Field =
    field("merge_keys", Kind::Names, "The columns whose values make a row's key.")
        .loads(words::KEYED);
/// `merge_condition`, likewise.
pub(super) const MERGE_CONDITION: Field = field(
    "merge_condition",
    Kind::Text,
    "SQL on a pair of rows: `T` is the target's row, `S` the incoming one. Stored rows that fail it are left alone.",
)
.loads(&["merge_upsert"]);
const SOURCE_ALIAS: Field = field(
    "source_alias",
    Kind::Text,
    "What `merge_condition` calls the incoming row; `S` by default.",
)
.loads(&["merge_upsert"]);
const TARGET_ALIAS: Field = field(
    "target_alias",
    Kind::Text,
    "What `merge_condition` calls the target's row; `T` by default.",
)
.loads(&["merge_upsert"]);

/// All strategies but those that never meet a target.
const MERGE_SCHEMA: &[&str] = &[
    "append",
    "overwrite",
    "overwrite_partitions",
    "merge_upsert",
    "merge_overwrite",
    "hash_diff_upsert",
    "scd2",
    "snapshot_soft_delete",
];
