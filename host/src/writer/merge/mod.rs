//! Row by key: staged rows are held until the table can be looked at; one pass over the stored keys decides, a second one rewrites
//! the files that change. Order and place of all other rows stay.
//!
//! What decides are digests of typed values (see `digest`), so that a pass needs no more memory than some bytes a staged row.

mod conditions;
mod decision;
mod edited;
mod group;
mod held;
mod history;
mod index;
mod nulls;
mod own;
mod picks;
mod prune;
mod repeats;
mod rewrite;
mod update;
mod versions;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::error::ArrowError;
use arrow::util::display::ArrayFormatter;
use arrow::util::display::FormatOptions;

use self::conditions::Conditions;
use self::held::Held;
use self::nulls::Nulls;
use self::prune::Ranges;
use super::Target;
use super::WriteError;
use super::staged::Staged;
use super::stored::Stored;
use crate::name::ColumnName;
use crate::spool::ManyBytes;
use crate::spool::RowBytes;
use crate::spool::seed;
use crate::spool::terms;
use crate::storage::StorageError;
use crate::storage::delta::StoredFile;
use crate::storage::partition;
use crate::storage::target::Landing;
use crate::table::Counts;
use crate::table::Merge;
use crate::table::Missing;
use crate::table::Repeats;
use crate::table::Rows;
use crate::table::SYSTEM_COLUMNS;
use crate::table::Update;

/// Keys shown in a message.
const SHOWN_MAX: usize = 5;

/// The share of the memory that holds rows before they are spilled.
const HELD_SHARE: u64 = 4;

/// What is known of the staged rows may always take that much memory, however little a flow allows.
const KNOWN_BYTES_MIN: u64 = 64 << 20;

/// Bytes that are known of a staged row beside its order: two digests, its places in the index, what it does.
const KNOWN_ROW_BYTES: u64 = 2 * 16 + 32;

/// Staged rows of a merge, and what is known of each.
pub(super) struct Intake {
    path: PathBuf,
    merge: Merge,
    landing: Landing,
    seed: u64,
    known_bytes_max: u64,
    held: Held,
    conditions: Conditions,
    key: RowBytes,
    content: RowBytes,
    /// The sequence, or the order of repeats.
    order: RowBytes,
    /// The effective column of versions.
    moment: RowBytes,
    /// A row each: the digest of its key.
    keys: Vec<u128>,
    /// A row each: the digest of what counts as a change.
    contents: Vec<u128>,
    /// A row each: its sequence, or its place in the order of repeats.
    orders: ManyBytes,
    /// A row each: from when on it holds.
    moments: ManyBytes,
    /// The keys that come.
    ranges: Ranges,
    /// A row each: whether it deletes its key.
    deletions: Vec<bool>,
    /// Values of the partition column whose rows are replaced.
    partitions: HashSet<Option<String>>,
    /// NULL in keys, where it equals nothing.
    key_nulls: Nulls,
    sequence_nulls: Nulls,
    moment_nulls: Nulls,
}

/// What a merge makes of the table.
pub(super) struct Effect {
    /// New files, not in the log.
    pub(super) staged: Vec<Staged>,
    /// Stored files that they replace.
    pub(super) replaced: Vec<StoredFile>,
    pub(super) counts: Counts,
}

impl Intake {
    pub(super) fn new(
        target: &Target,
        merge: &Merge,
        landing: &Landing,
    ) -> Result<Self, WriteError> {
        let failed = || StorageError::library(target.path(), "read keys");
        let ascending =
            |columns: &[ColumnName]| RowBytes::ascending(&landing.rows, &names(columns));
        let content = match &merge.rows {
            // Columns that the rows lack are NULL in a row that replaces another one.
            Rows::Group {} => {
                let all = landing.table.fields().iter().map(|field| field.name().clone());
                let all: Vec<_> =
                    all.filter(|name| !SYSTEM_COLUMNS.contains(&name.as_str())).collect();
                RowBytes::ascending(&landing.table, &all)
            }
            Rows::Update(_) | Rows::Version(_) => ascending(&merge.compare),
        };
        let order = match &merge.rows {
            Rows::Update(Update { repeats: Repeats::First(order), .. }) => {
                RowBytes::new(&landing.rows, terms(order))
            }
            rows => ascending(rows.sequence()),
        };
        let memory = usize::try_from(target.memory_bytes / HELD_SHARE).unwrap_or(usize::MAX);
        Ok(Self {
            path: target.path().to_owned(),
            merge: merge.clone(),
            landing: landing.clone(),
            seed: seed(),
            known_bytes_max: target.memory_bytes.max(KNOWN_BYTES_MIN),
            held: Held::new(SchemaRef::clone(&landing.rows), target.path().to_owned(), memory),
            conditions: Conditions::new(target.path(), merge, landing)?,
            key: ascending(&merge.keys).map_err(failed())?,
            content: content.map_err(failed())?,
            order: order.map_err(failed())?,
            moment: ascending(effective(&merge.rows)).map_err(failed())?,
            keys: Vec::new(),
            contents: Vec::new(),
            orders: ManyBytes::default(),
            moments: ManyBytes::default(),
            ranges: Ranges::new(&landing.rows, &merge.keys).map_err(failed())?,
            deletions: Vec::new(),
            partitions: HashSet::new(),
            key_nulls: Nulls::default(),
            sequence_nulls: Nulls::default(),
            moment_nulls: Nulls::default(),
        })
    }

    /// Rows that were taken.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.held.rows())
    }

    /// Takes rows as they land.
    pub(super) fn push(&mut self, rows: RecordBatch) -> Result<(), WriteError> {
        self.note_nulls(&rows).map_err(StorageError::library(&self.path, "show a key"))?;
        self.note(&rows).map_err(StorageError::library(&self.path, "read keys"))?;
        if let Some(deletes) = self.conditions.note(&rows)? {
            self.deletions.extend(deletes.values());
        }
        self.held.push(rows)?;
        self.guard_memory()
    }

    /// What decides is kept in memory, so it has to fit.
    fn guard_memory(&self) -> Result<(), WriteError> {
        let rows = self.rows() * KNOWN_ROW_BYTES;
        let known = self.orders.bytes() + self.moments.bytes() + self.conditions.bytes();
        let bytes = rows + known;
        if bytes <= self.known_bytes_max {
            return Ok(());
        }
        let what = format!(
            "what decides about {} rows and more does not fit into {} bytes of memory",
            self.rows(),
            self.known_bytes_max
        );
        Err(self.guard(what, "raise `limits: { load_memory_bytes }`, or load the rows in parts"))
    }

    fn note_nulls(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        let Merge { keys, rows: by, .. } = &self.merge;
        let show = |row| show(keys, rows, row);
        if !self.merge.nulls_match {
            self.key_nulls.note(keys, rows, show)?;
        }
        self.sequence_nulls.note(by.sequence(), rows, show)?;
        self.moment_nulls.note(effective(by), rows, show)
    }

    fn note(&mut self, rows: &RecordBatch) -> Result<(), ArrowError> {
        self.ranges.note(rows)?;
        self.keys.extend(self.key.digests(rows, self.seed)?);
        self.contents.extend(self.content.digests(rows, self.seed)?);
        for (bytes, noted) in [(&self.order, &mut self.orders), (&self.moment, &mut self.moments)] {
            if !bytes.is_empty() {
                noted.extend(&bytes.rows(rows)?);
            }
        }
        if let Missing::RemoveInPartitions { column } = &self.merge.missing
            && let Some(values) = rows.column_by_name(column.as_str())
        {
            let spelt = partition::spell(values)?;
            let distinct: HashSet<Option<&str>> = spelt.iter().collect();
            self.partitions.extend(distinct.into_iter().map(|value| value.map(str::to_owned)));
        }
        Ok(())
    }

    /// Whether a staged row deletes its key.
    fn deletes(&self, staged: u32) -> bool {
        self.deletions.get(staged as usize).copied().unwrap_or_default()
    }

    fn show_staged(&self, numbers: &[u32]) -> Result<String, WriteError> {
        let mut numbers: Vec<_> = numbers.to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(SHOWN_MAX);
        let rows = self.held.pick(&numbers)?;
        let shown = (0..rows.num_rows()).map(|row| show(&self.merge.keys, &rows, row));
        let shown: Result<Vec<_>, _> = shown.collect();
        Ok(shown.map_err(StorageError::library(&self.path, "show a key"))?.join("; "))
    }

    fn guard(&self, what: String, hint: impl Into<String>) -> WriteError {
        WriteError::Guard { path: self.path.clone(), what, hint: hint.into() }
    }

    /// More removals than are hardly meant.
    fn guard_removed(&self, removed: u64, current: u64) -> Result<(), WriteError> {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a share; a table has far fewer rows than 2^53"
        )]
        let share = removed as f64 / (current.max(1)) as f64;
        if share > self.merge.max_removed_fraction {
            let what = format!(
                "{removed} of {current} current rows would go, more than `max_removed_fraction` {} allows",
                self.merge.max_removed_fraction
            );
            return Err(self.guard(what, "raise `max_removed_fraction`, if that is meant"));
        }
        Ok(())
    }

    /// The stored columns that decide.
    fn looked_at(&self) -> SchemaRef {
        let own = self.merge.own_columns();
        let wanted = |name: &str| {
            let by = |columns: &[ColumnName]| columns.iter().any(|it| it.as_str() == name);
            let by_condition = self.conditions.stored_columns().iter().any(|it| it == name);
            by(&self.merge.keys)
                || self.content.columns().iter().any(|it| it == name)
                || by(self.merge.rows.sequence())
                || own.contains(&name)
                || by_condition
        };
        let fields = self.landing.table.fields().iter().filter(|field| wanted(field.name()));
        Arc::new(Schema::new(fields.cloned().collect::<Vec<_>>()))
    }

    /// Whether rows matter whose key does not come, if only to be counted.
    fn looks_at_all(&self) -> bool {
        let by_flag = match &self.merge.rows {
            Rows::Update(_) => self.merge.keeps_deleted(),
            Rows::Group {} => false,
            Rows::Version(_) => self.merge.delete_when.is_some(),
        };
        by_flag || self.merge.missing != Missing::Keep
    }

    /// Everything: guards, decision, new files.
    pub(super) fn compute(
        &mut self,
        target: &Target,
        files: &[StoredFile],
    ) -> Result<Effect, WriteError> {
        self.conditions.seal()?;
        let mut stored = Stored::open(files, &target.partition_columns)?;
        if !self.looks_at_all() {
            stored.keep(|file, piece| self.ranges.may_meet(file, piece))?;
        }
        let decision = match &self.merge.rows {
            Rows::Update(_) => self.update(&stored)?,
            Rows::Group {} => self.group(&stored)?,
            Rows::Version(versions) => self.version(target, versions, &stored)?,
        };
        self.rewrite(target, &stored, files, decision)
    }
}

fn names(columns: &[ColumnName]) -> Vec<String> {
    columns.iter().map(|column| column.as_str().to_owned()).collect()
}

/// The column that says from when on a version holds, where there are versions.
fn effective(rows: &Rows) -> &[ColumnName] {
    match rows {
        Rows::Version(versions) => std::slice::from_ref(&versions.effective),
        Rows::Update(_) | Rows::Group {} => &[],
    }
}

/// A row's key, for a message.
fn show(keys: &[ColumnName], rows: &RecordBatch, row: usize) -> Result<String, ArrowError> {
    let options = FormatOptions::new().with_null("NULL");
    let values = keys.iter().filter_map(|key| {
        let column = rows.column_by_name(key.as_str())?;
        let value = ArrayFormatter::try_new(column.as_ref(), &options);
        Some(value.map(|it| format!("{key} = {}", it.value(row))))
    });
    Ok(values.collect::<Result<Vec<_>, _>>()?.join(", "))
}
