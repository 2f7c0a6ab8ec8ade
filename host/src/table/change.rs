//! Table changes: what one commit does to a table. A strategy makes them, a writer carries them out, whole or not at all.

use serde::Serialize;

use crate::name::ColumnName;

/// What a commit does to a table.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "change")]
pub enum TableChange {
    /// The staged rows make a new table.
    Create {
        /// What happens where there is one.
        if_exists: IfExists,
    },
    /// Adds the staged rows.
    Append {},
    /// The staged rows become the only ones of the scope.
    Replace {
        /// Which rows go.
        scope: Scope,
        /// Whether no staged row at all may empty the scope.
        allow_empty: bool,
    },
    /// Row by key.
    Merge(Box<Merge>),
}

impl TableChange {
    /// Whether rows go or are retired because no staged row has their key: the staged rows have to be all there are.
    #[must_use]
    pub fn retires_missing(&self) -> bool {
        matches!(self, Self::Merge(merge) if merge.missing != Missing::Keep)
    }

    /// Whether files are written anew because some of their rows change.
    #[must_use]
    pub fn rewrites_rows(&self) -> bool {
        match self {
            Self::Merge(_)
            | Self::Replace { scope: Scope::Partition { .. } | Scope::Predicate(_), .. } => true,
            Self::Create { .. } | Self::Append {} | Self::Replace { .. } => false,
        }
    }
}

/// A table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IfExists {
    /// Is an error.
    Refuse,
    /// Stays as it is.
    Skip,
}

/// Which rows a replacement removes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All of them.
    All,
    /// Those of the partitions that staged rows are in.
    Partitions,
    /// Those that have this value in a partition column. Staged rows must have it too.
    Partition {
        /// The column.
        column: ColumnName,
        /// Its value as text, read as the column's type.
        value: String,
    },
    /// Those that the predicate selects; NULL selects none. Staged rows must be selected too.
    Predicate(String),
}

impl Scope {
    /// What selects the rows, in SQL, where a condition does.
    #[must_use]
    pub fn predicate(&self) -> Option<String> {
        let quoted = |text: &str, quote: &str| text.replace(quote, &quote.repeat(2));
        match self {
            Self::All | Self::Partitions => None,
            Self::Partition { column, value } => {
                let column = quoted(column.as_str(), "\"");
                Some(format!("\"{column}\" = '{}'", quoted(value, "'")))
            }
            Self::Predicate(sql) => Some(sql.clone()),
        }
    }
}

/// Row by key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Merge {
    /// The columns whose values make a key, compared one by one.
    pub keys: Vec<ColumnName>,
    /// Whether NULL equals NULL in a key; otherwise rows with one are refused.
    pub nulls_match: bool,
    /// Columns of the staged rows that make a row different from the stored one.
    pub compare: Vec<ColumnName>,
    /// What a staged row does to its key.
    pub rows: Rows,
    /// What happens to keys of the target that no staged row has.
    pub missing: Missing,
    /// SQL over the staged row: it deletes or closes its key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_when: Option<String>,
    /// Whether no staged rows at all are taken although that may remove or retire some.
    pub allow_empty: bool,
    /// The largest share of the current rows that may be deleted, closed or marked.
    pub max_removed_fraction: f64,
}

impl Merge {
    /// Whether a deletion is kept as a row: an older change must not bring the key back.
    #[must_use]
    pub fn keeps_deleted(&self) -> bool {
        let by_sequence = matches!(self.rows, Rows::Update(_)) && !self.rows.sequence().is_empty();
        by_sequence && self.delete_when.is_some()
    }

    /// The columns that the change itself adds to the staged ones.
    #[must_use]
    pub fn own_columns(&self) -> Vec<&str> {
        match (&self.rows, &self.missing) {
            (Rows::Version(versions), _) => {
                let Versions { valid_from, valid_to, is_current, .. } = versions;
                vec![valid_from.as_str(), valid_to.as_str(), is_current.as_str()]
            }
            (_, Missing::Mark) => vec![IS_DELETED, DELETED_AT],
            (_, Missing::Keep | Missing::Close | Missing::RemoveInPartitions { .. }) => {
                if self.keeps_deleted() { vec![IS_DELETED] } else { Vec::new() }
            }
        }
    }
}

/// What a staged row does to its key.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rows {
    /// At most one row a key: new ones are inserted, different ones updated, equal ones left alone.
    Update(Update),
    /// All rows of a key replace all its stored rows, unless they are the same.
    Group {},
    /// A key has versions.
    Version(Versions),
}

impl Rows {
    /// The columns that put changes of one key in order, against the stored row too; empty where rows count as they come.
    #[must_use]
    pub fn sequence(&self) -> &[ColumnName] {
        match self {
            Self::Update(Update { repeats: Repeats::Sequence { by, .. }, .. }) => by,
            Self::Version(versions) => &versions.sequence_by,
            Self::Update(_) | Self::Group {} => &[],
        }
    }
}

/// Updates of at most one row a key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Update {
    /// What becomes of several staged rows of one key.
    pub repeats: Repeats,
    /// A stored row with the key that fails it is left alone, and so is the staged one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<MatchCondition>,
}

/// An SQL condition on a stored and a staged row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MatchCondition {
    /// The condition.
    pub sql: String,
    /// What it calls the stored row; `T` by default.
    pub target_alias: String,
    /// What it calls the staged row; `S` by default.
    pub source_alias: String,
}

/// Several staged rows of one key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Repeats {
    /// Are refused.
    Refuse,
    /// The first in this order counts; rows equal in it are told apart by all their values.
    First(Vec<OrderBy>),
    /// The one with the highest sequence counts, against the stored row too; NULL is refused. Equal sequences with different
    /// rows are refused. A deletion is kept as a row where `delete_when` is given.
    Sequence {
        /// The columns, the first one foremost.
        by: Vec<ColumnName>,
        /// A row with a lower sequence than the stored one.
        late: LateRow,
    },
}

/// One column of an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OrderBy {
    /// The column.
    pub column: ColumnName,
    /// Whether high values come first.
    pub descending: bool,
    /// Whether NULL comes before all values.
    pub nulls_first: bool,
}

/// A change older than the stored one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LateRow {
    /// Is counted.
    #[default]
    Ignore,
    /// Nothing is written.
    Error,
}

/// A version that begins before the newest one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LateHistory {
    /// Is placed where it belongs.
    #[default]
    History,
    /// Is counted.
    Ignore,
    /// Nothing is written.
    Error,
    /// Is inserted as it comes, open and current; so is one that begins with the newest one and differs.
    Append,
}

/// How versions are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Versions {
    /// The column of the staged rows that says from when on they hold. NULL is refused.
    pub effective: ColumnName,
    /// The table's column for the begin of a version; the effective value.
    pub valid_from: ColumnName,
    /// The table's column for the end of a version; NULL while it is open.
    pub valid_to: ColumnName,
    /// The table's column that is true for the current version.
    pub is_current: ColumnName,
    /// Decides between rows of one key and one effective value: the highest counts.
    pub sequence_by: Vec<ColumnName>,
    /// A version that begins before the newest one.
    pub late: LateHistory,
}

/// Keys of the target that no staged row has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// Stay.
    Keep,
    /// Are marked as deleted by `__is_deleted` and `__deleted_at`; keys that come back are unmarked.
    Mark,
    /// Their current versions are closed at the run's time.
    Close,
    /// Those go whose value of a partition column some staged row has: the staged rows are all there is of these values.
    RemoveInPartitions {
        /// The partition column.
        column: ColumnName,
    },
}

/// The table's column that is true for rows that are deleted and kept.
pub const IS_DELETED: &str = "__is_deleted";

/// The table's column that says when a row was marked as deleted: UTC, in microseconds.
pub const DELETED_AT: &str = "__deleted_at";

/// Columns that say when and by which run a row came; they never make a row different.
pub const SYSTEM_COLUMNS: &[&str] = &["__created_at", "__updated_at", "__run_id"];

/// The system column that an updated row keeps.
pub const CREATED_AT: &str = "__created_at";
