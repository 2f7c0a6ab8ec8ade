//! The guards that need no table: NULL where none may be, several rows of one key.

use super::Intake;
use super::index::Index;
use crate::spool::RowBytes;
use crate::storage::StorageError;
use crate::table::Repeats;
use crate::table::Rows;
use crate::writer::WriteError;

/// Keys whose rows are told apart at a time.
const TIES: usize = 1 << 14;

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
        let mut ties = Vec::new();
        for first in firsts {
            let tied = self.foremost(index, first, &update.repeats);
            standing.push(tied.first().copied().unwrap_or(first));
            if tied.len() > 1 {
                ties.push((standing.len() - 1, tied));
            }
        }
        for ties in ties.chunks(TIES) {
            self.untie(ties, &update.repeats, &mut standing)?;
        }
        standing.sort_unstable();
        let dropped = self.keys.len() as u64 - standing.len() as u64;
        Ok((standing, dropped))
    }

    /// The rows of a key that come first by its order.
    fn foremost(&self, index: &Index, first: u32, repeats: &Repeats) -> Vec<u32> {
        let order = |row: &u32| self.orders.row(*row);
        let best = match repeats {
            Repeats::Sequence { .. } => index.rows(first).max_by(|a, b| order(a).cmp(order(b))),
            Repeats::First(_) | Repeats::Refuse => {
                index.rows(first).min_by(|a, b| order(a).cmp(order(b)))
            }
        };
        let best = best.unwrap_or(first);
        index.rows(first).filter(|row| order(row) == order(&best)).collect()
    }

    /// Decides between rows that no order tells apart, by all their values; each comes with its place among the standing ones.
    fn untie(
        &self,
        ties: &[(usize, Vec<u32>)],
        repeats: &Repeats,
        standing: &mut [u32],
    ) -> Result<(), WriteError> {
        let failed = || StorageError::library(&self.path, "compare rows");
        let mut numbers: Vec<u32> = ties.iter().flat_map(|(_, tied)| tied).copied().collect();
        numbers.sort_unstable();
        let fields = self.landing.rows.fields().iter();
        let names: Vec<_> = fields.map(|field| field.name().clone()).collect();
        let all = RowBytes::ascending(&self.landing.rows, &names).map_err(failed())?;
        let rows = all.rows(&self.held.pick(&numbers)?).map_err(failed())?;
        let whole = |number: &u32| {
            let place = numbers.binary_search(number).unwrap_or_default();
            rows.row(place)
        };
        let mut differ = Vec::new();
        for (place, tied) in ties {
            let least = tied.iter().min_by(|a, b| whole(a).cmp(&whole(b)));
            let least = least.copied().unwrap_or(standing[*place]);
            let is_sequence = matches!(repeats, Repeats::Sequence { .. });
            if is_sequence && tied.iter().any(|row| whole(row) != whole(&least)) {
                differ.push(least);
            }
            standing[*place] = least;
        }
        if differ.is_empty() {
            return Ok(());
        }
        let what = format!(
            "different rows of one key have the same sequence: {}",
            self.show_staged(&differ)?
        );
        Err(self.guard(what, "add a column to `sequence_by` that decides"))
    }
}
