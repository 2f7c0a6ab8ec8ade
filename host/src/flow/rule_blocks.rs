//! The rules of a chain and their fields.

use super::family::Family;
use super::family::member;
use super::fields::Block;
use super::fields::Field;
use super::fields::Kind;
use super::fields::Unsaid;
use super::fields::block;
use super::fields::field;
use super::step_blocks::COMPONENT_FIELD;
use super::step_blocks::CONFIG_FIELD;
use super::step_blocks::TYPE;
use super::words;

/// The rules.
pub(super) static RULES: Family = Family {
    noun: "a rule",
    members: &[
        member("component", &COMPONENT),
        member("required_columns", &REQUIRED_COLUMNS).short("columns"),
        member("not_null", &NOT_NULL).short("columns"),
        member("unique_key", &UNIQUE_KEY).aliases(&["unique"]).short("columns"),
        member("accepted_values", &ACCEPTED_VALUES).aliases(&["one_of"]),
        member("range", &RANGE).aliases(&["between"]),
        member("pattern", &PATTERN).aliases(&["regex", "matches"]),
        member("length", &LENGTH),
        member("expression", &EXPRESSION).aliases(&["expressions"]).short("expression"),
        member("min_rows", &MIN_ROWS).short("count"),
        member("max_rows", &MAX_ROWS).short("count"),
        member("row_count_change", &ROW_COUNT_CHANGE).short("max_fraction"),
        member("freshness", &FRESHNESS),
        member("reference", &REFERENCE),
    ],
    others: &[],
};

const NULLS_OF_COMPONENTS: &str =
    "does not apply to a component rule, which treats NULL in its own way";
const ABOUT_NULL: &str = "does not apply to a rule that is about NULL itself";
const ALL_AT_ONCE: &str = "does not apply to a rule that judges all rows at once";

const SEVERITY: Field =
    field("severity", Kind::Word(words::SEVERITIES), "What a hit leads to; `fail` by default.");
const NAME: Field =
    field("name", Kind::Text, "A name for reports; the type and its columns by default.");
const WHERE: Field =
    field("where", Kind::Sql, "SQL over the rows: the rule sees those for which it is true.");
const COLUMN: Field = field("column", Kind::Text, "The column.").required();
const COLUMNS: Field = field("columns", Kind::Names, "The columns.").required();

/// What NULL leads to, with what is so by default.
const fn on_null(doc: &'static str) -> Field {
    field("on_null", Kind::Word(words::ON_NULL), doc)
}

const NULL_FAILS: Field = on_null("What NULL leads to; `fail` by default.");
const NULL_PASSES: Field = on_null("What NULL leads to; `pass` by default.");
const NULL_AT_ONCE: Field = field("on_null", Kind::Any, "").never(ALL_AT_ONCE);

static COMPONENT: Block = block(
    "a component rule",
    "A component judges.",
    &[
        TYPE,
        COMPONENT_FIELD,
        CONFIG_FIELD,
        SEVERITY,
        field("name", Kind::Text, "A name for reports; the component's by default."),
        WHERE,
        field("on_null", Kind::Any, "").never(NULLS_OF_COMPONENTS),
    ],
);

static REQUIRED_COLUMNS: Block = block(
    "a required_columns rule",
    "The columns are there; judged on the schema, even with no rows.",
    &[
        TYPE,
        COLUMNS,
        SEVERITY,
        NAME,
        field("where", Kind::Any, "").never("does not apply to a rule that judges the schema"),
        NULL_AT_ONCE,
    ],
);

static NOT_NULL: Block = block(
    "a not_null rule",
    "No column is NULL.",
    &[TYPE, COLUMNS, SEVERITY, NAME, WHERE, field("on_null", Kind::Any, "").never(ABOUT_NULL)],
);

static UNIQUE_KEY: Block = block(
    "a unique_key rule",
    "No two rows are the same in all of the columns.",
    &[
        TYPE,
        COLUMNS,
        field(
            "keep",
            Kind::Word(words::KEEPS),
            "Which row of a duplicated key is good; none by default.",
        ),
        field(
            "order_by",
            Kind::Order(Unsaid::Ascending),
            "With `keep`: the order; `ASC NULLS LAST` by default.",
        ),
        SEVERITY,
        NAME,
        WHERE,
        NULL_FAILS,
    ],
);

/// Also what `accepted_values: {column: […]}` is short for.
pub(super) static ACCEPTED_VALUES: Block = block(
    "an accepted_values rule",
    "The value is one of a list.",
    &[
        TYPE,
        COLUMN,
        field("values", Kind::Values, "The values that are good.").required(),
        SEVERITY,
        NAME,
        WHERE,
        NULL_PASSES,
    ],
);

static RANGE: Block = block(
    "a range rule",
    "The value lies between bounds; NaN does not.",
    &[
        TYPE,
        COLUMN,
        field("min", Kind::Value, "The least value: a number or text."),
        field("max", Kind::Value, "The greatest value: a number or text."),
        field("exclusive", Kind::Bool, "Whether the bounds themselves are hits."),
        SEVERITY,
        NAME,
        WHERE,
        NULL_PASSES,
    ],
);

static PATTERN: Block = block(
    "a pattern rule",
    "The text matches a regular expression.",
    &[
        TYPE,
        COLUMN,
        field("pattern", Kind::Sql, "The regular expression.").aliases(&["regex"]).required(),
        SEVERITY,
        NAME,
        WHERE,
        NULL_PASSES,
    ],
);

static LENGTH: Block = block(
    "a length rule",
    "The text has so many characters.",
    &[
        TYPE,
        COLUMN,
        field("min", Kind::Whole, "The least number of characters."),
        field("max", Kind::Whole, "The greatest number of characters."),
        SEVERITY,
        NAME,
        WHERE,
        NULL_PASSES,
    ],
);

static EXPRESSION: Block = block(
    "an expression rule",
    "Expressions are true.",
    &[
        TYPE,
        field("expression", Kind::Expressions, "SQL that is true for good rows; or several.")
            .aliases(&["expressions"])
            .required(),
        SEVERITY,
        NAME,
        WHERE,
        NULL_FAILS,
    ],
);

static MIN_ROWS: Block = block(
    "a min_rows rule",
    "There are enough rows.",
    &[
        TYPE,
        field("count", Kind::Count, "The least number of rows.").required(),
        SEVERITY,
        NAME,
        WHERE,
        NULL_AT_ONCE,
    ],
);

static MAX_ROWS: Block = block(
    "a max_rows rule",
    "There are not too many rows.",
    &[
        TYPE,
        field("count", Kind::Whole, "The greatest number of rows.").required(),
        SEVERITY,
        NAME,
        WHERE,
        NULL_AT_ONCE,
    ],
);

static ROW_COUNT_CHANGE: Block = block(
    "a row_count_change rule",
    "The number of rows is near the last successful run's.",
    &[
        TYPE,
        field(
            "max_fraction",
            Kind::Share,
            "The largest change, as a share of the last run's rows.",
        )
        .required(),
        SEVERITY,
        NAME,
        field("where", Kind::Any, "").never(
            "does not apply to a rule that compares with the last run, which counted all rows",
        ),
        NULL_AT_ONCE,
    ],
);

static FRESHNESS: Block = block(
    "a freshness rule",
    "The latest value is recent.",
    &[
        TYPE,
        COLUMN,
        field("max_age", Kind::Age, "How old it may be: `36 hours`, `2 days`, `P1DT12H`.")
            .required(),
        SEVERITY,
        NAME,
        WHERE,
        NULL_AT_ONCE,
    ],
);

static REFERENCE: Block = block(
    "a reference rule",
    "Every value exists in another source.",
    &[
        TYPE,
        COLUMNS,
        field("source", Kind::Text, "The name of another source.").required(),
        field("source_columns", Kind::Names, "Its columns; the same names by default."),
        SEVERITY,
        NAME,
        WHERE,
        NULL_PASSES,
    ],
);

/// An expression of an expression rule, written as a map.
pub(super) static EXPRESSION_ITEM: Block = block(
    "an expression",
    "An expression of an expression rule.",
    &[
        field("name", Kind::Text, "A name for reports."),
        field("expression", Kind::Sql, "SQL that is true for good rows.").required(),
        field(
            "severity",
            Kind::Word(words::SEVERITIES),
            "What a hit leads to; the rule's by default.",
        ),
        field("message", Kind::Text, "What a report says of a row that is hit."),
    ],
);
