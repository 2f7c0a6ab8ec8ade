//! The guards that need no table: NULL where none may be, several rows of one key.

use std::collections::HashSet;

use super::Intake;
use super::digest::RowBytes;
use super::index::Index;
use crate::storage::StorageError;
use crate::table::Repeats;
use crate::table::Rows;
use crate::writer::WriteError;

impl Intake {
    pub(super) fn guard_nulls(&self) -> Result<(), WriteError> {
        if let Some(what) = self.key_nulls.told("key") {
            let hint = "leave such rows out, or say `on_null_key: match`: NULL equals NULL then";
            return Err(self.guard(what, hint));
        }
        for (nulls, role) in [(&self.moment_nulls, "effective"), (&self.sequence_nulls, "sequence")]
        {
            if let Some(what) = nulls.told(role) {
                return Err(self.guard(what, "leave such rows out: nothing says where they belong"));
            }
        }
        Ok(())
    }

    /// The rows that stand for their keys, and how many do not.
    pub(super) fn standing(&self, index: &Index) -> Result<(Vec<u32>, u64), WriteError> {
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
        let order = |row: &u32| self.orders.row(*row);
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
}
