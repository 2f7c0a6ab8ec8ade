//! Load strategies as a flow says them: each with just its own settings, defaults filled in.

use serde::Serialize;

use crate::name::ColumnName;
use crate::table::LateHistory;
use crate::table::LateRow;
use crate::table::MatchCondition;
use crate::table::OrderBy;

/// The load strategy, with just its own settings.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "load_type", rename_all = "snake_case")]
pub enum Load {
    /// Rows are added.
    Append {},
    /// The rows become the target's only rows, or the only ones of one partition.
    Overwrite {
        /// Whether an empty result may empty the target.
        allow_empty: bool,
        /// `partition_column` and `partition_value`: the only partition that is replaced.
        #[serde(skip_serializing_if = "Option::is_none")]
        partition: Option<PartitionValue>,
    },
    /// The rows become the only ones of their partitions, or of what `replace_where` selects.
    OverwritePartitions {
        /// An SQL predicate on the target's columns.
        #[serde(skip_serializing_if = "Option::is_none")]
        replace_where: Option<String>,
        /// Whether an empty result may empty what `replace_where` selects; without it, no rows replace nothing.
        allow_empty: bool,
    },
    /// The target is created; it must not be there.
    ErrorIfExists {},
    /// The target is created; where it is there already, nothing happens.
    Ignore {},
    /// New keys are inserted, known ones updated.
    MergeUpsert(Upsert),
    /// The rows of each key that comes replace the key's rows.
    MergeOverwrite(MergeOverwrite),
    /// Known keys are updated where their content differs.
    HashDiffUpsert(HashDiff),
    /// Each change of a key closes its current version and opens a new one.
    Scd2(Scd2),
    /// The rows are all there is: keys that are missing are marked as deleted.
    SnapshotSoftDelete(Snapshot),
}

/// One partition, as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartitionValue {
    /// The partition column.
    pub column: ColumnName,
    /// Its value; read as the column's type.
    pub value: String,
}

/// What all strategies with keys share.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Keys {
    /// `merge_keys`; at least one.
    pub columns: Vec<ColumnName>,
    /// `on_null_key`.
    pub on_null: OnNullKey,
    /// `on_duplicate_key`; of no account where several rows a key are the point.
    pub on_duplicate: OnDuplicateKey,
    /// `allow_empty`: whether no rows at all are taken where that removes or retires rows.
    pub allow_empty: bool,
    /// `max_removed_fraction`: the largest share of the current rows that may be deleted, closed or marked in one run.
    pub max_removed_fraction: f64,
}

/// NULL in a key.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnNullKey {
    /// Nothing is written.
    #[default]
    Error,
    /// NULL equals NULL.
    Match,
}

/// Several rows of one key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDuplicateKey {
    /// Nothing is written.
    #[default]
    Error,
    /// The first in this order stays, the others are counted; rows equal in it are told apart by all their values.
    KeepLatest {
        /// `order_by`.
        order_by: Vec<OrderBy>,
    },
}

/// `merge_strategy`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeStrategy {
    /// Row by key, wherever the key's row is.
    #[default]
    Delta,
    /// The same result: a key is found wherever its row is, and files that cannot hold one are not read anyway.
    DeltaByPartition {
        /// `merge_partition_column`.
        column: ColumnName,
    },
    /// The rows become the only ones of their partitions.
    ReplacePartitions {
        /// `merge_partition_column`.
        column: ColumnName,
    },
}

/// `merge_upsert`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Upsert {
    /// The keys.
    pub keys: Keys,
    /// `merge_strategy`.
    pub strategy: MergeStrategy,
    /// `merge_condition`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub condition: Option<MatchCondition>,
    /// Order and deletions.
    pub changes: Changes,
}

/// How changes of one key are ordered, and which of them delete it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    /// `sequence_by`; empty where rows count as they come.
    pub sequence_by: Vec<ColumnName>,
    /// `late`.
    pub late: LateRow,
    /// `delete_when`: SQL over the incoming row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_when: Option<String>,
}

/// `merge_overwrite` by key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MergeOverwrite {
    /// The keys.
    pub keys: Keys,
}

/// `hash_diff_upsert`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HashDiff {
    /// The keys.
    pub keys: Keys,
    /// What counts as a change.
    pub compare: Compare,
    /// Order and deletions.
    pub changes: Changes,
}

/// What counts as a change of a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Compare {
    /// All columns but keys, the strategy's own, system columns and derived partition columns.
    #[default]
    All,
    /// `compare_columns`.
    Columns(Vec<ColumnName>),
    /// `hash_strategy: all_columns_except` with `hash_exclude_columns`: as `All`, without these.
    AllExcept(Vec<ColumnName>),
}

/// `scd2`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scd2 {
    /// The keys.
    pub keys: Keys,
    /// `effective_column`: from when on a row holds.
    pub effective: ColumnName,
    /// What counts as a change.
    pub compare: Compare,
    /// `scd2_columns`.
    pub columns: VersionColumns,
    /// `sequence_by`: decides between rows of one key and one effective value.
    pub sequence_by: Vec<ColumnName>,
    /// `late`.
    pub late: LateHistory,
    /// `delete_when`: SQL over the incoming row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delete_when: Option<String>,
    /// `close_missing`: keys that do not come are closed.
    pub close_missing: bool,
}

/// The columns that `scd2` adds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionColumns {
    /// `__valid_from`.
    pub valid_from: ColumnName,
    /// `__valid_to`.
    pub valid_to: ColumnName,
    /// `__is_current`.
    pub is_current: ColumnName,
}

/// `snapshot_soft_delete`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Snapshot {
    /// The keys.
    pub keys: Keys,
    /// What counts as a change.
    pub compare: Compare,
}

impl Load {
    /// The strategy's name in flow files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Append {} => "append",
            Self::Overwrite { .. } => "overwrite",
            Self::OverwritePartitions { .. } => "overwrite_partitions",
            Self::ErrorIfExists {} => "error_if_exists",
            Self::Ignore {} => "ignore",
            Self::MergeUpsert(_) => "merge_upsert",
            Self::MergeOverwrite(_) => "merge_overwrite",
            Self::HashDiffUpsert(_) => "hash_diff_upsert",
            Self::Scd2(_) => "scd2",
            Self::SnapshotSoftDelete(_) => "snapshot_soft_delete",
        }
    }

    /// The keys, of the strategies that have some.
    #[must_use]
    pub fn keys(&self) -> Option<&Keys> {
        match self {
            Self::Append {}
            | Self::Overwrite { .. }
            | Self::OverwritePartitions { .. }
            | Self::ErrorIfExists {}
            | Self::Ignore {} => None,
            Self::MergeUpsert(upsert) => Some(&upsert.keys),
            Self::MergeOverwrite(overwrite) => Some(&overwrite.keys),
            Self::HashDiffUpsert(diff) => Some(&diff.keys),
            Self::Scd2(scd2) => Some(&scd2.keys),
            Self::SnapshotSoftDelete(snapshot) => Some(&snapshot.keys),
        }
    }
}
