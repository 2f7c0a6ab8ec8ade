//! The steps of a chain and their fields.

use super::family::Family;
use super::family::member;
use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::Unsaid;
use super::fields::block;
use super::fields::field;
use super::words;

/// The steps.
pub(super) static STEPS: Family = Family {
    noun: "a step",
    members: &[
        member("component", &COMPONENT),
        member("select", &SELECT),
        member("drop", &DROP),
        member("rename", &RENAME),
        member("with_column", &WITH_COLUMN),
        member("filter", &FILTER),
        member("cast", &CAST),
        member("struct", &STRUCT),
        member("deduplicate", &DEDUPLICATE),
        member("group_by", &GROUP_BY),
        member("join", &JOIN),
        member("sql", &SQL),
        member("union", &UNION),
        member("fill_na", &FILL_NA),
        member("sort", &SORT),
        member("system_columns", &SYSTEM_COLUMNS),
        member("distinct", &DISTINCT),
        member("drop_duplicates", &DROP_DUPLICATES),
        member("checkpoint", &CHECKPOINT),
        member("collect", &COLLECT),
    ],
    others: words::OTHER_STEPS,
};

/// `type`, as steps and rules have it.
pub(super) const TYPE: Field = field("type", Kind::Type, "The kind of block.").required();
/// `component`, likewise.
pub(super) const COMPONENT_FIELD: Field =
    field("component", Kind::Text, "The component, by its name under `components`.").required();
/// `config`, likewise.
pub(super) const CONFIG_FIELD: Field =
    field("config", Kind::Any, "What the component is told; its own schema says what it takes.");

const WITH: Field = field("with", Kind::Text, "The name of another source.").required();

static COMPONENT: Block = block(
    "a component step",
    "Runs a component. Rows that it rejects go to the quarantine.",
    &[
        TYPE,
        COMPONENT_FIELD,
        CONFIG_FIELD,
        field("on_failure", Kind::Word(words::ON_FAILURE), "What a failing batch leads to."),
    ],
);

static SELECT: Block = block(
    "a select step",
    "Keeps columns.",
    &[TYPE, field("columns", Kind::Names, "The columns that stay, in this order.").required()],
);

static DROP: Block = block(
    "a drop step",
    "Leaves columns out.",
    &[TYPE, field("columns", Kind::Names, "The columns that go.").required()],
);

static RENAME: Block = block(
    "a rename step",
    "Gives columns other names, all at once.",
    &[TYPE, field("columns", Kind::Pairs, "Column to its new name.").required()],
);

static WITH_COLUMN: Block = block(
    "a with_column step",
    "Adds a column, or replaces the one of that name.",
    &[
        TYPE,
        field("column", Kind::Text, "The column's name.").required(),
        field("expression", Kind::Sql, "SQL over the rows.").required(),
    ],
);

static FILTER: Block = block(
    "a filter step",
    "Keeps the rows for which an expression is true.",
    &[TYPE, field("expression", Kind::Sql, "SQL over the rows.").required()],
);

static CAST: Block = block(
    "a cast step",
    "Converts columns.",
    &[
        TYPE,
        field("columns", Kind::Types, "Column to its new type.").required(),
        field(
            "on_error",
            Kind::Word(words::ON_CAST_ERROR),
            "What a value that does not fit leads to.",
        ),
    ],
);

static STRUCT: Block = block(
    "a struct step",
    "Gathers columns into one column of structs.",
    &[
        TYPE,
        field("column", Kind::Text, "The new column.").required(),
        field("fields", Kind::Pairs, "Name of a field to its column, in this order.").required(),
    ],
);

static DEDUPLICATE: Block = block(
    "a deduplicate step",
    "Keeps the first row of each key. Ties on the order are broken by the whole row.",
    &[
        TYPE,
        field("keys", Kind::Names, "What makes rows one row.")
            .aliases(&["deduplicate_columns"])
            .required(),
        field(
            "order_by",
            Kind::Order(Unsaid::Descending),
            "Which row of a key is the first; `DESC NULLS LAST` by default.",
        ),
        field(
            "latest_data_columns",
            Kind::Names,
            "Instead of `order_by`: columns, each descending with NULL last.",
        ),
    ],
);

static GROUP_BY: Block = block(
    "a group_by step",
    "One row a group.",
    &[
        TYPE,
        field("by", Kind::Names, "The groups' columns; all rows are one group by default."),
        field("agg", Kind::SqlTexts, "Aggregates with their names, such as `count(*) AS flights`.")
            .required(),
    ],
);

static JOIN: Block = block(
    "a join step",
    "Puts the rows of another source beside the chain's.",
    &[
        TYPE,
        WITH,
        field(
            "on",
            Kind::PairsOrNames,
            "The columns that must be equal: names, or a map from the chain's column to the other's.",
        )
        .required(),
        field("how", Kind::Word(words::JOINS), "Which rows remain; `inner` by default."),
    ],
);

static SQL: Block = block(
    "a sql step",
    "A query.",
    &[
        TYPE,
        field(
            "query",
            Kind::Sql,
            "SQL over `input`, the chain's rows, and the other sources' names.",
        )
        .required(),
    ],
);

static UNION: Block = block("a union step", "Adds the rows of another source.", &[TYPE, WITH]);

static FILL_NA: Block = block(
    "a fill_na step",
    "Replaces NULL.",
    &[TYPE, field("columns", Kind::ValueMap, "Column to the value in NULL's place.").required()],
);

static SORT: Block = block(
    "a sort step",
    "Orders the rows.",
    &[
        TYPE,
        field(
            "by",
            Kind::Order(Unsaid::Ascending),
            "The order, foremost column first; `ASC NULLS LAST` by default.",
        )
        .required(),
    ],
);

static SYSTEM_COLUMNS: Block =
    block("a system_columns step", "Adds `__created_at`, `__updated_at` and `__run_id`.", &[TYPE]);

static DISTINCT: Block =
    block("a distinct step", "Keeps one of rows that are the same in all columns.", &[TYPE]);

static DROP_DUPLICATES: Block = block(
    "a drop_duplicates step",
    "Keeps one of rows that are the same: `deduplicate` without an order.",
    &[
        TYPE,
        field("columns", Kind::Names, "What makes rows one row; all columns by default.")
            .aliases(&["keys"]),
    ],
);

static CHECKPOINT: Block = block(
    "a checkpoint step",
    "Nothing: the main chain is computed once in any case. Flows of other tools have it.",
    &[TYPE],
);

static COLLECT: Block = block(
    "a collect step",
    "Lets the rows pass, and gathers the different values of a column: the SQL of later steps has `{{ name }}` where the list of them stands.",
    &[
        TYPE,
        field("column", Kind::Text, "The column. NULL is no value of it.").required(),
        field("as", Kind::Text, "The name.").required(),
        field("max_values", Kind::Count, "More different values are an error; 10000 by default."),
    ],
);

/// An item of an order, written as a map.
pub(super) static ORDER: Block = block(
    "an item of an order",
    "A column of an order.",
    &[
        field("column", Kind::Text, "The column's name.").required(),
        field("direction", Kind::Word(words::DIRECTIONS), "Which values come first."),
        field("nulls", Kind::Word(words::NULLS), "Where NULL stands."),
    ],
);
