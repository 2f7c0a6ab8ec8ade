//! All rows of a key at once: the stored ones give way to the staged ones, unless they are the same.

use arrow::array::RecordBatch;

use super::Intake;
use super::decision::Decision;
use super::decision::Edit;
use super::decision::Insert;
use super::decision::State;
use super::index::Index;
use crate::storage::StorageError;
use crate::table::Counts;
use crate::writer::WriteError;
use crate::writer::stored::At;
use crate::writer::stored::Stored;

/// A stored row whose key comes.
#[derive(Debug, Clone, Copy)]
struct Met {
    /// The first staged row of the key.
    first: u32,
    content: u128,
    at: At,
}

impl Intake {
    /// Decides against the stored rows.
    pub(super) fn group(&self, stored: &Stored<'_>) -> Result<Decision, WriteError> {
        self.guard_nulls()?;
        let index = Index::new(&self.keys);
        let founds = stored.scan(&self.looked_at(), |found: &mut Vec<Met>, at, batch| {
            self.meet(&index, found, at, batch)
        })?;
        let mut met: Vec<Met> = founds.into_iter().flatten().collect();
        met.sort_unstable_by_key(|met| (met.first, met.at));

        let mut decision = Decision::default();
        let mut unchanged = 0;
        let mut stored = met.chunk_by(|a, b| a.first == b.first).peekable();
        for first in index.firsts() {
            let old = stored.next_if(|rows| rows[0].first == first).unwrap_or_default();
            let new = || index.rows(first);
            if self.same(old, new()) {
                unchanged += old.len() as u64;
                continue;
            }
            decision.edits.extend(old.iter().map(|met| (met.at, Edit::Remove)));
            decision.inserts.extend(new().map(|staged| Insert { staged, state: State::Live }));
        }
        decision.edits.sort_unstable_by_key(|(at, _)| *at);
        decision.inserts.sort_unstable_by_key(|insert| insert.staged);
        decision.counts = Counts {
            rows_written: self.rows(),
            rows_inserted: decision.inserts.len() as u64,
            rows_deleted: Some(decision.edits.len() as u64),
            rows_unchanged: unchanged,
            ..Counts::default()
        };
        Ok(decision)
    }

    fn meet(
        &self,
        index: &Index,
        found: &mut Vec<Met>,
        at: At,
        batch: &RecordBatch,
    ) -> Result<(), StorageError> {
        let failed = || StorageError::library(&self.path, "compare stored rows");
        let keys = self.key.digests(batch, self.seed).map_err(failed())?;
        let contents = self.content.digests(batch, self.seed).map_err(failed())?;
        for (row, (key, content)) in keys.into_iter().zip(contents).enumerate() {
            if let Some(first) = index.find(key, &self.keys) {
                found.push(Met { first, content, at: at.plus(row) });
            }
        }
        Ok(())
    }

    /// Whether stored and staged rows are the same, each as often.
    fn same(&self, stored: &[Met], staged: impl Iterator<Item = u32>) -> bool {
        let mut new: Vec<u128> = staged.map(|row| self.contents[row as usize]).collect();
        if new.len() != stored.len() {
            return false;
        }
        let mut old: Vec<u128> = stored.iter().map(|met| met.content).collect();
        old.sort_unstable();
        new.sort_unstable();
        old == new
    }
}
