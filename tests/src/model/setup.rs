//! What a test runs: a strategy with its options, the table's shape, and what its batches may look like.

use wasmhost::flow::Changes;
use wasmhost::flow::Keys;
use wasmhost::flow::Load;
use wasmhost::flow::OnDuplicateKey;
use wasmhost::flow::OnNullKey;
use wasmhost::flow::PartitionColumn;
use wasmhost::name::ColumnName;
use wasmhost::table::MatchCondition;
use wasmhost::table::OrderBy;

use super::value::Batch;

/// The columns of full batches, but for the system columns.
pub(super) const COLUMNS: [&str; 10] = ["k", "k2", "p", "v", "f", "d", "day", "seq", "at", "gone"];

/// The columns that say when and by which run a row came.
pub(super) const SYSTEM_COLUMNS: [&str; 3] = ["__created_at", "__updated_at", "__run_id"];

/// When run 0 would have started had it come a minute earlier; microseconds.
pub(super) const EPOCH: i64 = 1_767_225_600_000_000;

pub(super) const MINUTE: i64 = 60_000_000;

/// One variant of a strategy.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    /// Unique among the variants.
    pub(super) name: String,
    pub(super) load: Load,
    /// How the first batch and now and then another one are loaded instead.
    pub(super) other: Option<Load>,
    /// By `p`, or not at all.
    pub(super) partitioned: bool,
    /// Parquet files without a log, instead of a Delta table.
    pub(super) flat: bool,
    pub(super) key: Key,
    pub(super) repeats: Repeats,
    /// Columns that some batches do not have.
    pub(super) lacking: &'static [&'static str],
    /// Whether batches bring the system columns.
    pub(super) system: bool,
    pub(super) rows_max: usize,
    pub(super) stages: Stages,
    /// What the change may use.
    pub(super) memory_bytes: u64,
}

/// What makes a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// `k`, a number.
    Int,
    /// `k`, text.
    Text,
    /// `k` and `k2`, texts that are the same when glued; `k2` may be NULL.
    Pair,
}

/// Rows of one key in one batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeats {
    /// Are the exception.
    Rare,
    /// Come as they like.
    Free,
    /// Come as they like, but different rows have different values of `seq`.
    BySeq,
    /// Come as they like, most of them with different values of `at`.
    ByTime,
}

/// How a batch is handed over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stages {
    /// In a few pieces.
    Few,
    /// Row by row.
    Rows,
}

/// One run of a sequence.
#[derive(Debug, Clone)]
pub(super) struct Step {
    /// From 0; a run's id and time follow from it.
    pub(super) number: usize,
    /// Whether it is loaded by [`Setup::other`].
    pub(super) other: bool,
    pub(super) batch: Batch,
    /// Where the rows are cut for staging, ascending.
    pub(super) cuts: Vec<usize>,
    /// Whether the same run is tried once more after it has landed.
    pub(super) retry: bool,
}

impl Setup {
    pub(super) fn new(name: &str, load: Load) -> Self {
        Self {
            name: name.to_owned(),
            load,
            other: None,
            partitioned: false,
            flat: false,
            key: Key::Int,
            repeats: Repeats::Rare,
            lacking: &[],
            system: false,
            rows_max: 30,
            stages: Stages::Few,
            memory_bytes: 64 << 20,
        }
    }

    /// The table's own partition columns.
    pub(super) fn partition_columns(&self) -> Vec<PartitionColumn> {
        if self.partitioned {
            vec![PartitionColumn { column: column("p"), expression: None }]
        } else {
            Vec::new()
        }
    }

    pub(super) fn columns(&self) -> Vec<String> {
        let system: &[&str] = if self.system { &SYSTEM_COLUMNS } else { &[] };
        COLUMNS.iter().chain(system).map(|column| (*column).to_owned()).collect()
    }

    pub(super) fn load(&self, other: bool) -> &Load {
        match &self.other {
            Some(load) if other => load,
            _ => &self.load,
        }
    }
}

/// When a run started, microseconds.
pub(super) fn started_at(number: usize) -> i64 {
    EPOCH + (number as i64 + 1) * MINUTE + 4_005
}

pub(super) fn column(name: &str) -> ColumnName {
    ColumnName::new(name).unwrap()
}

pub(super) fn columns(names: &[&str]) -> Vec<ColumnName> {
    names.iter().map(|name| column(name)).collect()
}

/// Keys without guards; NULL and repeats are errors.
pub(super) fn keys(names: &[&str]) -> Keys {
    Keys {
        columns: columns(names),
        on_null: OnNullKey::Error,
        on_duplicate: OnDuplicateKey::Error,
        allow_empty: true,
        max_removed_fraction: 1.0,
    }
}

/// The keys `k` and `k2`, where NULL equals NULL.
pub(super) fn pair() -> Keys {
    Keys { on_null: OnNullKey::Match, ..keys(&["k", "k2"]) }
}

/// The first in the order of `at` and then `seq` counts.
pub(super) fn latest(keys: Keys) -> Keys {
    let order =
        |name, descending, nulls_first| OrderBy { column: column(name), descending, nulls_first };
    let order_by = vec![order("at", true, false), order("seq", false, true)];
    Keys { on_duplicate: OnDuplicateKey::KeepLatest { order_by }, ..keys }
}

/// The guards as tight as a flow's defaults, or tighter.
pub(super) fn guarded(keys: Keys) -> Keys {
    Keys { allow_empty: false, max_removed_fraction: 0.3, ..keys }
}

pub(super) fn sequence(names: &[&str]) -> Changes {
    Changes { sequence_by: columns(names), ..Changes::default() }
}

pub(super) fn deleting(changes: Changes) -> Changes {
    Changes { delete_when: Some(super::truth::GONE.to_owned()), ..changes }
}

pub(super) fn condition(
    sql: &str,
    target_alias: &str,
    source_alias: &str,
) -> Option<MatchCondition> {
    Some(MatchCondition {
        sql: sql.to_owned(),
        target_alias: target_alias.to_owned(),
        source_alias: source_alias.to_owned(),
    })
}
