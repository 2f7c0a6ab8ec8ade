//! Steps of a chain: what a flow asks to be done to rows, in order.

use arrow::datatypes::DataType;
use serde::Serialize;
use serde::Serializer;
use serde::ser::SerializeSeq;
use serde_json::Value;

use crate::name::ColumnName;
use crate::name::ComponentName;
use crate::problem::Place;
use crate::table::OrderBy;

/// A step of a chain.
#[derive(Debug, Clone)]
pub struct Step {
    /// What it does.
    pub work: Work,
    /// Where the flow says so.
    pub at: Place,
}

/// What a step does. Texts of SQL are as the flow has them: not empty, at most 16 KiB, not parsed yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Work {
    /// Runs a component of the flow.
    Component {
        /// The component, by its name in `components`.
        component: ComponentName,
        /// Its configuration, handed over as JSON.
        config: Value,
    },
    /// Keeps columns, in this order.
    Select {
        /// At least one, no name twice.
        columns: Vec<ColumnName>,
    },
    /// Leaves columns out.
    Drop {
        /// At least one, no name twice.
        columns: Vec<ColumnName>,
    },
    /// Gives columns other names, all at once: names may be swapped.
    Rename {
        /// From and to, in the file's order; no target twice.
        columns: Vec<(ColumnName, ColumnName)>,
    },
    /// Adds a column, or replaces the one of that name.
    WithColumn {
        /// The column.
        column: ColumnName,
        /// SQL over the rows.
        expression: String,
    },
    /// Keeps the rows for which the expression is true; the others are counted as filtered.
    Filter {
        /// SQL over the rows.
        expression: String,
    },
    /// Converts columns.
    Cast {
        /// Column and type, in the file's order.
        #[serde(serialize_with = "types")]
        columns: Vec<(ColumnName, DataType)>,
        /// What a value that does not fit leads to.
        on_error: OnCastError,
    },
    /// Gathers columns into one column of structs.
    Struct {
        /// The new column.
        column: ColumnName,
        /// A field's name and the column that it is taken from, in the struct's order.
        fields: Vec<(ColumnName, ColumnName)>,
    },
    /// Keeps the first row of each key, by an order. Ties are broken by the whole row.
    Deduplicate {
        /// What makes rows one row; all columns where it is empty (`distinct`).
        keys: Vec<ColumnName>,
        /// Which row is the first; by the whole row alone where it is empty.
        order_by: Vec<OrderBy>,
    },
    /// One row a group.
    GroupBy {
        /// The groups' columns; all rows are one group where it is empty.
        by: Vec<ColumnName>,
        /// SQL aggregates with their names, such as `count(*) AS flights`; at least one.
        agg: Vec<String>,
    },
    /// Puts the rows of another source beside these.
    Join {
        /// A name among the flow's other sources.
        with: String,
        /// The columns that must be equal, here and there; at least one pair.
        on: Vec<(ColumnName, ColumnName)>,
        /// Which rows remain.
        how: JoinKind,
    },
    /// A query over `input` and the other sources' names.
    Sql {
        /// The query.
        query: String,
    },
    /// The `query` of the source that is transformed: a query over `source`, the rows that it has. It comes first in its chain.
    #[serde(rename = "sql")]
    Query {
        /// The query.
        #[serde(serialize_with = "over_source")]
        query: String,
    },
    /// Adds the rows of another source.
    Union {
        /// A name among the flow's other sources.
        with: String,
    },
    /// Replaces NULL.
    FillNa {
        /// Column and value: text, a number, true or false, as the file has it.
        columns: Vec<(ColumnName, Value)>,
    },
    /// Orders the rows.
    Sort {
        /// The order, foremost first; at least one column.
        by: Vec<OrderBy>,
    },
    /// Adds `__created_at`, `__updated_at`, `__run_id`.
    SystemColumns {},
    /// Nothing: the main chain is computed once in any case, however many destinations follow.
    /// It is here because flows of other tools end their chain with it.
    Checkpoint {},
    /// Gathers the different values of a column while all rows pass.
    Collect {
        /// The column.
        column: ColumnName,
        /// What later SQL calls the values.
        name: String,
        /// More different ones are an error.
        max_values: u64,
    },
}

/// A value that does not fit its column's new type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnCastError {
    /// Fails the run.
    #[default]
    Fail,
    /// Becomes NULL and is counted.
    Null,
    /// Sends its row to the quarantine.
    Quarantine,
}

/// Which rows a join leaves. Left is the chain, right the other source.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinKind {
    /// Pairs.
    #[default]
    Inner,
    /// Pairs, and left rows without a partner.
    Left,
    /// Pairs, and right rows without a partner.
    Right,
    /// Pairs, and rows of either side without a partner.
    Full,
    /// Left rows with a partner, without its columns.
    Semi,
    /// Left rows without a partner.
    Anti,
}

impl Work {
    /// The type's name in flow files.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Component { .. } => "component",
            Self::Select { .. } => "select",
            Self::Drop { .. } => "drop",
            Self::Rename { .. } => "rename",
            Self::WithColumn { .. } => "with_column",
            Self::Filter { .. } => "filter",
            Self::Cast { .. } => "cast",
            Self::Struct { .. } => "struct",
            Self::Deduplicate { .. } => "deduplicate",
            Self::GroupBy { .. } => "group_by",
            Self::Join { .. } => "join",
            Self::Sql { .. } => "sql",
            Self::Query { .. } => "query",
            Self::Union { .. } => "union",
            Self::FillNa { .. } => "fill_na",
            Self::Sort { .. } => "sort",
            Self::SystemColumns {} => "system_columns",
            Self::Checkpoint {} => "checkpoint",
            Self::Collect { .. } => "collect",
        }
    }

    /// Whether it may read this other source: a query does that where its text has the name as a word.
    #[must_use]
    pub fn names_source(&self, source: &str) -> bool {
        match self {
            Self::Join { with, .. } | Self::Union { with } => with == source,
            Self::Sql { query } => spellings(query, source).any(|spelt| spelt == source),
            _ => false,
        }
    }

    /// The name of a source as a query spells it, whatever the case.
    pub(super) fn spelling_of(&self, source: &str) -> Option<&str> {
        match self {
            Self::Sql { query } => spellings(query, source).next(),
            _ => None,
        }
    }

    /// The component and its configuration, where a component of the flow does it.
    #[must_use]
    pub fn component(&self) -> Option<(&ComponentName, &Value)> {
        match self {
            Self::Component { component, config } => Some((component, config)),
            _ => None,
        }
    }
}

/// Where a query has a name as a word, whatever the case. (Names of sources are ASCII, so places in both texts are the same.)
fn spellings<'a>(query: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let found: Vec<&str> = query
        .to_ascii_lowercase()
        .match_indices(&name.to_ascii_lowercase())
        .map(|(at, found)| (at, at + found.len()))
        .filter(|(from, to)| {
            !query[..*from].ends_with(is_word) && !query[*to..].starts_with(is_word)
        })
        .map(|(from, to)| &query[from..to])
        .collect();
    found.into_iter()
}

/// As a `sql` step, whose rows are called `input`.
fn over_source<S: Serializer>(query: &str, serializer: S) -> Result<S::Ok, S::Error> {
    const SOURCE: &str = "source AS (SELECT * FROM input)";
    let begin = query.len() - uncommented(query).len();
    let (before, query) = query.split_at(begin);
    // A query may have tables of its own, which come after this one.
    let whole = match keyword(query, "WITH") {
        None => format!("{before}WITH {SOURCE} {query}"),
        Some(tables) => match keyword(tables, "RECURSIVE") {
            Some(tables) => format!("{before}WITH RECURSIVE {SOURCE}, {tables}"),
            None => format!("{before}WITH {SOURCE}, {tables}"),
        },
    };
    serializer.serialize_str(&whole)
}

/// What follows blanks and comments.
fn uncommented(sql: &str) -> &str {
    let sql = sql.trim_start();
    let rest = if sql.starts_with("--") {
        sql.split_once('\n').map(|(_, rest)| rest)
    } else if sql.starts_with("/*") {
        sql.split_once("*/").map(|(_, rest)| rest)
    } else {
        None
    };
    rest.map_or(sql, uncommented)
}

/// What follows a word, where the text begins with it.
fn keyword<'a>(sql: &'a str, word: &str) -> Option<&'a str> {
    let begin = sql.get(..word.len())?;
    let rest = &sql[word.len()..];
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (begin.eq_ignore_ascii_case(word) && ends).then(|| uncommented(rest))
}

/// Columns and types as flows spell neither: the types as messages show them.
fn types<S: Serializer>(
    columns: &[(ColumnName, DataType)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(columns.len()))?;
    for (column, data_type) in columns {
        list.serialize_element(&(column, data_type.to_string()))?;
    }
    list.end()
}
