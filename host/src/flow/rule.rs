//! Rules: what rows have to be, and what becomes of those that are not.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::name::ColumnName;
use crate::name::ComponentName;
use crate::problem::Place;
use crate::table::OrderBy;
use crate::table::Severity;

/// A rule of a chain.
#[derive(Debug, Clone)]
pub struct Rule {
    /// A name for reports, unique in its chain. Where the flow gives none: the component's name, or the type and its
    /// columns, such as `not_null(flight_id, scheduled_at)`.
    pub name: String,
    /// How rows are judged.
    pub judge: Judge,
    /// `where`: SQL over the rows; the rule sees only rows for which it is true. Never on [`Judge::RequiredColumns`].
    pub filter: Option<String>,
    /// What NULL leads to. [`OnNull::Pass`] where a rule does not look at NULL, or treats it in its own way.
    pub on_null: OnNull,
    /// What a hit leads to. Only judges that can point at rows have a severity that removes rows.
    pub severity: Severity,
    /// Where the flow says so.
    pub at: Place,
}

/// NULL in what a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNull {
    /// The row is hit.
    Fail,
    /// The row is good.
    Pass,
    /// The row is not evaluated, and counted apart.
    Skip,
}

/// How rows are judged. Texts of SQL are as the flow has them: not empty, at most 16 KiB, not parsed yet.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Judge {
    /// By a component of the flow.
    Component {
        /// The component, by its name in `components`.
        component: ComponentName,
        /// Its configuration, handed over as JSON.
        config: Value,
    },
    /// The columns are there. Judged on the schema, even with no rows.
    RequiredColumns {
        /// At least one.
        columns: Vec<ColumnName>,
    },
    /// No column is NULL.
    NotNull {
        /// At least one.
        columns: Vec<ColumnName>,
    },
    /// No two rows are the same in all of these columns.
    UniqueKey {
        /// At least one.
        columns: Vec<ColumnName>,
        /// Which row of a duplicated key is good.
        keep: Keep,
    },
    /// The value is one of these.
    AcceptedValues {
        /// The column.
        column: ColumnName,
        /// Text, numbers, true or false; at least one, none twice.
        values: Vec<Value>,
    },
    /// The value lies between these. At least one bound is there.
    Range {
        /// The column.
        column: ColumnName,
        /// A number, or text (a date, a number from a variable).
        min: Option<Value>,
        /// The same.
        max: Option<Value>,
        /// Whether the bounds themselves are hits.
        exclusive: bool,
    },
    /// The text matches.
    Pattern {
        /// The column.
        column: ColumnName,
        /// A regular expression, not compiled yet.
        pattern: String,
    },
    /// The text has so many characters. At least one bound is there.
    Length {
        /// The column.
        column: ColumnName,
        /// The least, inclusive.
        min: Option<u64>,
        /// The most, inclusive.
        max: Option<u64>,
    },
    /// All expressions are true.
    Expression {
        /// At least one.
        expressions: Vec<NamedExpression>,
    },
    /// There are at least so many rows.
    MinRows {
        /// From 1.
        count: u64,
    },
    /// There are at most so many rows.
    MaxRows {
        /// May be 0.
        count: u64,
    },
    /// The number of rows is near the last successful run's.
    RowCountChange {
        /// The largest change, as a share of the last run's rows; above 1 where more than a doubling is fine.
        max_fraction: f64,
    },
    /// The latest value is recent.
    Freshness {
        /// A date or timestamp column.
        column: ColumnName,
        /// How old it may be; more than nothing.
        max_age: Duration,
    },
    /// Every value exists in another source.
    Reference {
        /// At least one.
        columns: Vec<ColumnName>,
        /// A name among the flow's other sources.
        source: String,
        /// As many as `columns`.
        source_columns: Vec<ColumnName>,
    },
}

/// Which row of a duplicated key is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// None: all of them are hit.
    None,
    /// The first by this order, which is not empty.
    First(Vec<OrderBy>),
    /// The last by this order, which is not empty.
    Last(Vec<OrderBy>),
}

/// SQL that is true for good rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NamedExpression {
    /// A name for reports; unique in its rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The SQL.
    pub expression: String,
    /// What a report says of a row that is hit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl Judge {
    /// The component and its configuration, where a component of the flow judges.
    #[must_use]
    pub fn component(&self) -> Option<(&ComponentName, &Value)> {
        match self {
            Self::Component { component, config } => Some((component, config)),
            _ => None,
        }
    }

    /// The type's name in flow files.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Component { .. } => "component",
            Self::RequiredColumns { .. } => "required_columns",
            Self::NotNull { .. } => "not_null",
            Self::UniqueKey { .. } => "unique_key",
            Self::AcceptedValues { .. } => "accepted_values",
            Self::Range { .. } => "range",
            Self::Pattern { .. } => "pattern",
            Self::Length { .. } => "length",
            Self::Expression { .. } => "expression",
            Self::MinRows { .. } => "min_rows",
            Self::MaxRows { .. } => "max_rows",
            Self::RowCountChange { .. } => "row_count_change",
            Self::Freshness { .. } => "freshness",
            Self::Reference { .. } => "reference",
        }
    }

    /// Whether it says of each row by itself that it is bad, so that bad rows can be taken out.
    #[must_use]
    pub fn points_at_rows(&self) -> bool {
        match self {
            // Whether a component does is for its descriptor to say.
            Self::Component { .. }
            | Self::NotNull { .. }
            | Self::UniqueKey { .. }
            | Self::AcceptedValues { .. }
            | Self::Range { .. }
            | Self::Pattern { .. }
            | Self::Length { .. }
            | Self::Expression { .. }
            | Self::Reference { .. } => true,
            Self::RequiredColumns { .. }
            | Self::MinRows { .. }
            | Self::MaxRows { .. }
            | Self::RowCountChange { .. }
            | Self::Freshness { .. } => false,
        }
    }

    /// What NULL leads to where the flow does not say.
    #[must_use]
    pub fn on_null(&self) -> OnNull {
        match self {
            Self::NotNull { .. } | Self::UniqueKey { .. } | Self::Expression { .. } => OnNull::Fail,
            Self::AcceptedValues { .. }
            | Self::Range { .. }
            | Self::Pattern { .. }
            | Self::Length { .. }
            | Self::Reference { .. }
            | Self::Component { .. }
            | Self::RequiredColumns { .. }
            | Self::MinRows { .. }
            | Self::MaxRows { .. }
            | Self::RowCountChange { .. }
            | Self::Freshness { .. } => OnNull::Pass,
        }
    }
}
