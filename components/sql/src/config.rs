//! The configuration: a run of steps, as the host lowers them from a flow.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

/// What the host hands over.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The steps, in order; one query is made of them.
    pub steps: Vec<Step>,
}

/// One step. Pairs are lists of two, because their order counts.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// These columns, in this order.
    Select {
        /// Their names.
        columns: Vec<String>,
    },
    /// All columns but these.
    Drop {
        /// Their names.
        columns: Vec<String>,
    },
    /// Other names for columns.
    Rename {
        /// Old name, new name.
        columns: Vec<(String, String)>,
    },
    /// A column, computed; in the place of one of that name, or behind the others.
    WithColumn {
        /// Its name.
        column: String,
        /// SQL.
        expression: String,
        /// SQL: it is computed where this is true, and NULL elsewhere.
        when: Option<String>,
    },
    /// The rows for which it is true.
    Filter {
        /// SQL.
        expression: String,
    },
    /// Other types for columns.
    Cast {
        /// Name, type as Arrow spells it.
        columns: Vec<(String, String)>,
        /// What becomes of a value that does not fit.
        #[serde(default)]
        on_error: OnError,
    },
    /// Columns put into one.
    Struct {
        /// Its name.
        column: String,
        /// Name of the field, column.
        fields: Vec<(String, String)>,
    },
    /// A value in the place of NULL.
    FillNa {
        /// Name, value.
        columns: Vec<(String, Value)>,
    },
    /// When the run began, and which it is: `__created_at`, `__updated_at`, `__run_id`.
    SystemColumns {},
    /// A row a group.
    GroupBy {
        /// The columns that make a group; one group in all where there are none.
        by: Vec<String>,
        /// Aggregates, each with a name: `count(*) AS rows`.
        agg: Vec<String>,
    },
    /// Rows beside those of another input.
    Join {
        /// The other input.
        with: String,
        /// Column here, column there.
        on: Vec<(String, String)>,
        /// Which rows stay.
        how: How,
    },
    /// The rows, and those of another input with the same columns, found by name.
    Union {
        /// The other input.
        with: String,
    },
    /// A query over `input` and the other inputs.
    Sql {
        /// One SELECT.
        query: String,
    },
}

/// What becomes of a value that does not fit its new type.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The batch fails.
    #[default]
    Fail,
    /// It becomes NULL.
    Null,
    /// The row is rejected.
    Quarantine,
}

/// Kinds of join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Rows with a match.
    Inner,
    /// All rows.
    Left,
    /// All rows of the other input.
    Right,
    /// All rows of both.
    Full,
    /// Rows with a match, by themselves.
    Semi,
    /// Rows without a match, by themselves.
    Anti,
}

impl Step {
    /// The SQL of a step that computes or judges each row by itself.
    #[must_use]
    pub fn sql(&self) -> Option<Arc<str>> {
        match self {
            Self::WithColumn { expression, .. } | Self::Filter { expression } => {
                Some(Arc::from(expression.as_str()))
            }
            _ => None,
        }
    }

    /// Whether each row is judged and computed by itself.
    #[must_use]
    pub fn is_row_wise(&self) -> bool {
        match self {
            Self::Select { .. }
            | Self::Drop { .. }
            | Self::Rename { .. }
            | Self::WithColumn { .. }
            | Self::Filter { .. }
            | Self::Cast { .. }
            | Self::Struct { .. }
            | Self::FillNa { .. }
            | Self::SystemColumns {} => true,
            Self::GroupBy { .. } | Self::Join { .. } | Self::Union { .. } | Self::Sql { .. } => {
                false
            }
        }
    }
}
