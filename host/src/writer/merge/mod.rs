//! Row by key: staged rows are held until the table can be looked at; one pass over the stored keys decides, a second one rewrites
//! the files that change. Order and place of all other rows stay.
//!
//! What decides are digests of typed values (see `digest`), so that a pass needs no more memory than some bytes a staged row.

mod digest;
mod held;
mod index;
mod rewrite;
mod stored;
mod update;

use std::collections::HashSet;
use std::path::PathBuf;

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow::util::display::ArrayFormatter;
use arrow::util::display::FormatOptions;
use xxhash_rust::xxh3::xxh3_64;

use self::digest::RowBytes;
use self::held::Held;
use self::index::Index;
use super::Target;
use super::WriteError;
use super::staged::Staged;
use crate::storage::StorageError;
use crate::storage::delta::StoredFile;
use crate::storage::target::Landing;
use crate::table::Counts;
use crate::table::Merge;
use crate::table::Repeats;
use crate::table::Rows;

/// Keys shown in a message.
const SHOWN_MAX: usize = 5;

/// The share of the memory that holds rows before they are spilled.
const HELD_SHARE: u64 = 4;

/// Staged rows of a merge, and what is known of each.
pub(super) struct Intake {
    path: PathBuf,
    merge: Merge,
    landing: Landing,
    seed: u64,
    held: Held,
    key: RowBytes,
    content: RowBytes,
    order: RowBytes,
    /// A row each: the digest of its key.
    keys: Vec<u128>,
    /// A row each: the digest of what counts as a change.
    contents: Vec<u128>,
    /// A row each: its sequence, or its place in the order of repeats.
    orders: Vec<Box<[u8]>>,
    nulls: Nulls,
}

/// Rows with NULL in a column that takes none.
#[derive(Default)]
struct Nulls {
    rows: u64,
    columns: Vec<String>,
    examples: Vec<String>,
}

/// What a merge makes of the table.
pub(super) struct Effect {
    /// New files, not in the log.
    pub(super) staged: Staged,
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
        let failed = || StorageError::library(&target.path, "read keys");
        let names = |columns: &[crate::name::ColumnName]| -> Vec<String> {
            columns.iter().map(|column| column.as_str().to_owned()).collect()
        };
        let key = RowBytes::ascending(&landing.rows, &names(&merge.keys)).map_err(failed())?;
        let content =
            RowBytes::ascending(&landing.rows, &names(&merge.compare)).map_err(failed())?;
        let order = match &merge.rows {
            Rows::Update(update) => match &update.repeats {
                Repeats::Refuse => RowBytes::ascending(&landing.rows, &[]),
                Repeats::Sequence { by, .. } => RowBytes::ascending(&landing.rows, &names(by)),
                Repeats::First(order) => {
                    let columns = order.iter().map(|by| {
                        let options = arrow::compute::SortOptions {
                            descending: by.descending,
                            nulls_first: by.nulls_first,
                        };
                        (by.column.as_str().to_owned(), options)
                    });
                    RowBytes::new(&landing.rows, columns)
                }
            },
            Rows::Group {} | Rows::Version(_) => RowBytes::ascending(&landing.rows, &[]),
        };
        let memory = usize::try_from(target.memory_bytes / HELD_SHARE).unwrap_or(usize::MAX);
        Ok(Self {
            path: target.path.clone(),
            merge: merge.clone(),
            landing: landing.clone(),
            seed: xxh3_64(target.run.run_id.as_str().as_bytes()),
            held: Held::new(SchemaRef::clone(&landing.rows), std::env::temp_dir(), memory),
            key,
            content,
            order: order.map_err(failed())?,
            keys: Vec::new(),
            contents: Vec::new(),
            orders: Vec::new(),
            nulls: Nulls::default(),
        })
    }

    /// Rows that were taken.
    pub(super) fn rows(&self) -> u64 {
        u64::from(self.held.rows())
    }

    /// Takes rows as they land.
    pub(super) fn push(&mut self, rows: RecordBatch) -> Result<(), WriteError> {
        if !self.merge.nulls_match {
            self.note_nulls(&rows)?;
        }
        let failed = || StorageError::library(&self.path, "read keys");
        self.keys.extend(self.key.digests(&rows, self.seed).map_err(failed())?);
        self.contents.extend(self.content.digests(&rows, self.seed).map_err(failed())?);
        if !self.order.is_empty() {
            let orders = self.order.rows(&rows).map_err(failed())?;
            self.orders.extend(orders.iter().map(|row| Box::<[u8]>::from(row.data())));
        }
        self.held.push(rows)?;
        Ok(())
    }

    fn note_nulls(&mut self, rows: &RecordBatch) -> Result<(), WriteError> {
        let columns: Vec<_> = self
            .merge
            .keys
            .iter()
            .filter_map(|key| Some((key.as_str(), rows.column_by_name(key.as_str())?)))
            .filter(|(_, column)| column.null_count() > 0)
            .collect();
        for (name, _) in &columns {
            if !self.nulls.columns.iter().any(|known| known == name) {
                self.nulls.columns.push((*name).to_owned());
            }
        }
        if columns.is_empty() {
            return Ok(());
        }
        for row in 0..rows.num_rows() {
            if columns.iter().any(|(_, column)| column.is_null(row)) {
                self.nulls.rows += 1;
                if self.nulls.examples.len() < SHOWN_MAX {
                    self.nulls.examples.push(self.show(rows, row)?);
                }
            }
        }
        Ok(())
    }

    /// A row's key, for a message.
    fn show(&self, rows: &RecordBatch, row: usize) -> Result<String, WriteError> {
        let options = FormatOptions::new().with_null("NULL");
        let values = self.merge.keys.iter().filter_map(|key| {
            let column = rows.column_by_name(key.as_str())?;
            let value = ArrayFormatter::try_new(column.as_ref(), &options);
            Some(value.map(|it| format!("{key} = {}", it.value(row))))
        });
        let values: Result<Vec<_>, _> = values.collect();
        Ok(values.map_err(StorageError::library(&self.path, "show a key"))?.join(", "))
    }

    fn show_staged(&self, numbers: &[u32]) -> Result<String, WriteError> {
        let mut numbers: Vec<_> = numbers.iter().copied().take(SHOWN_MAX).collect();
        numbers.sort_unstable();
        let rows = self.held.pick(&numbers)?;
        let shown: Result<Vec<_>, _> =
            (0..rows.num_rows()).map(|row| self.show(&rows, row)).collect();
        Ok(shown?.join("; "))
    }

    fn guard(&self, what: String, hint: impl Into<String>) -> WriteError {
        WriteError::Guard { path: self.path.clone(), what, hint: hint.into() }
    }

    /// The guards that need no table: NULL and repeated keys. Gives the rows that stand for their keys, and how many do not.
    fn standing(&self, index: &Index) -> Result<(Vec<u32>, u64), WriteError> {
        if self.nulls.rows > 0 {
            let what = format!(
                "{} row(s) have NULL in the key column(s) {}: {}",
                self.nulls.rows,
                self.nulls
                    .columns
                    .iter()
                    .map(|name| format!("`{name}`"))
                    .collect::<Vec<_>>()
                    .join(", "),
                self.nulls.examples.join("; ")
            );
            let hint = "leave such rows out, or say `on_null_key: match`: NULL equals NULL then";
            return Err(self.guard(what, hint));
        }
        let firsts = index.firsts();
        if index.keys() == self.keys.len() {
            return Ok((firsts, 0));
        }
        let Rows::Update(update) = &self.merge.rows else { return Ok((firsts, 0)) };
        let repeated: Vec<u32> =
            firsts.iter().copied().filter(|first| index.rows(*first).nth(1).is_some()).collect();
        if update.repeats == Repeats::Refuse {
            let what = format!(
                "{} key(s) come more than once: {}",
                repeated.len(),
                self.show_staged(&repeated)?
            );
            let hint = "deduplicate before, or say `on_duplicate_key: keep_latest` with `order_by`";
            return Err(self.guard(what, hint));
        }
        let mut standing = Vec::with_capacity(firsts.len());
        for first in firsts {
            standing.push(self.stands(index, first, &update.repeats)?);
        }
        standing.sort_unstable();
        let dropped = self.keys.len() as u64 - standing.len() as u64;
        Ok((standing, dropped))
    }

    /// The row of a key that counts.
    fn stands(&self, index: &Index, first: u32, repeats: &Repeats) -> Result<u32, WriteError> {
        let rows: Vec<u32> = index.rows(first).collect();
        let order = |row: &u32| &self.orders[*row as usize];
        let best = match repeats {
            Repeats::Sequence { .. } => rows.iter().max_by_key(|row| order(row)),
            Repeats::First(_) | Repeats::Refuse => rows.iter().min_by_key(|row| order(row)),
        };
        let best = *best.unwrap_or(&first);
        let tied: Vec<u32> = rows.into_iter().filter(|row| order(row) == order(&best)).collect();
        if tied.len() == 1 {
            return Ok(best);
        }
        let whole = self.whole(&tied)?;
        let distinct: HashSet<_> = whole.iter().collect();
        match repeats {
            Repeats::Sequence { .. } if distinct.len() > 1 => {
                let what = format!(
                    "different rows of one key have the same sequence: {}",
                    self.show_staged(&tied[..1])?
                );
                Err(self.guard(what, "add a column to `sequence_by` that decides"))
            }
            _ => {
                let least = whole.iter().enumerate().min_by_key(|(_, bytes)| *bytes);
                Ok(least.map_or(best, |(place, _)| tied[place]))
            }
        }
    }

    /// All values of rows whose numbers ascend, as bytes.
    fn whole(&self, numbers: &[u32]) -> Result<Vec<Vec<u8>>, WriteError> {
        let failed = || StorageError::library(&self.path, "compare rows");
        let names: Vec<_> =
            self.landing.rows.fields().iter().map(|field| field.name().clone()).collect();
        let all = RowBytes::ascending(&self.landing.rows, &names).map_err(failed())?;
        let rows = all.rows(&self.held.pick(numbers)?).map_err(failed())?;
        Ok(rows.iter().map(|row| row.data().to_vec()).collect())
    }

    /// Everything: guards, decision, new files. Only at most one row a key is done by now.
    pub(super) fn compute(
        &self,
        target: &Target,
        files: &[StoredFile],
    ) -> Result<Effect, WriteError> {
        let stored = self::stored::Stored::open(files, &target.partition_columns)?;
        let decision = self.update(&stored)?;
        self.rewrite(target, &stored, files, decision)
    }
}
