//! The second pass: files with edits are written anew, row by row in their order; new rows follow. Cores share the work by
//! stretches of row groups, so that rows that were near each other stay so.

use std::sync::Arc;

use super::Effect;
use super::Intake;
use super::decision::Decision;
use super::decision::Edit;
use super::own::Own;
use super::picks::Picks;
use crate::storage::StorageError;
use crate::storage::delta::Piece;
use crate::storage::delta::StoredFile;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::stage::Staging;
use crate::writer::staged::Staged;
use crate::writer::stored::At;
use crate::writer::stored::Stored;
use crate::writer::stored::cores;
use crate::writer::stored::side_by_side;

/// Edits by place.
pub(super) type Edits<'a> = &'a [(At, Edit)];

/// Staged rows that become new ones at a time.
const INSERT_ROWS: usize = 1 << 16;

/// Rows below which a core has nothing to do by itself: a file more would cost more than the time that is won.
const CORE_ROWS: u64 = 1 << 18;

/// The share of the memory that picked rows may take, all cores together.
const PICKED_SHARE: u64 = 8;

/// Bytes that are picked at a time: offsets of text have 32 bits.
const PICKED_BYTES_MAX: usize = 1 << 29;

/// What a core writes: row groups of files with edits, in their order.
#[derive(Default)]
struct Stretch {
    pieces: Vec<(usize, Piece)>,
    rows: u64,
    /// Whether the new rows are among it.
    inserts: bool,
}

impl Intake {
    /// Writes what the decision says to files that the log does not know.
    pub(super) fn rewrite(
        &self,
        target: &Target,
        stored: &Stored<'_>,
        files: &[StoredFile],
        decision: Decision,
    ) -> Result<Effect, WriteError> {
        let own = Own::new(self, target, &decision.ends)
            .map_err(StorageError::library(&self.path, "make the columns of the strategy"))?;
        let mut touched: Vec<usize> =
            decision.edits.iter().map(|(at, _)| at.file as usize).collect();
        touched.dedup();
        let stretches = stretches(stored, &touched);
        let memory = target.memory_bytes / PICKED_SHARE / stretches.len() as u64;
        let memory = usize::try_from(memory).unwrap_or(usize::MAX).min(PICKED_BYTES_MAX);
        let work = |stretch: &Stretch| {
            let mut staging =
                Staging::new(target.address.clone(), target, Arc::clone(&self.landing.table))
                    .shared_by(stretches.len());
            let written = self.write(stretch, &own, stored, &decision, memory, &mut staging);
            let (staged, sealed) = staging.finish();
            (staged, written.and(sealed))
        };
        let work = &work;
        let written = side_by_side(stretches.iter().map(|stretch| move || work(stretch)));
        let (staged, results): (Vec<_>, Vec<_>) = written.into_iter().unzip();
        if let Err(error) = results.into_iter().collect::<Result<(), _>>() {
            // What went wrong first is what the user has to know.
            let _ = Staged::remove_all(&staged);
            return Err(error);
        }
        let replaced = touched.into_iter().map(|file| files[file].clone()).collect();
        Ok(Effect { staged, replaced, counts: decision.counts })
    }

    fn write(
        &self,
        stretch: &Stretch,
        own: &Own,
        stored: &Stored<'_>,
        decision: &Decision,
        memory: usize,
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let mut picks = Picks::new(&self.held, memory)?;
        for (place, piece) in &stretch.pieces {
            let file = u32::try_from(*place).unwrap_or(u32::MAX);
            let before = At { file, row: piece.first_row };
            let mut edits =
                &decision.edits[decision.edits.partition_point(|(at, _)| *at < before)..];
            for batch in stored.files[*place].read(*piece, &self.landing.table)? {
                let (first, batch) = batch?;
                let end = At { file, row: first }.plus(batch.num_rows());
                let inside = edits.partition_point(|(at, _)| *at < end);
                if inside == 0 {
                    staging.stage(&batch)?;
                    continue;
                }
                picks.cover(edits, inside)?;
                let edited = self
                    .edited(own, &batch, first, &edits[..inside], &picks)
                    .map_err(StorageError::library(&self.path, "rewrite rows"))?;
                edits = &edits[inside..];
                staging.stage(&edited)?;
            }
        }
        let inserts = if stretch.inserts { &decision.inserts[..] } else { &[] };
        let rows_max = (memory / self.held.row_bytes()).clamp(1, INSERT_ROWS);
        for inserts in inserts.chunks(rows_max) {
            let numbers: Vec<u32> = inserts.iter().map(|insert| insert.staged).collect();
            let rows = self.held.pick(&numbers)?;
            let rows = self
                .inserted(own, inserts, &rows)
                .map_err(StorageError::library(&self.path, "make new rows"))?;
            staging.stage(&rows)?;
        }
        Ok(())
    }
}

/// The work, for at least one core and at most all of them.
fn stretches(stored: &Stored<'_>, touched: &[usize]) -> Vec<Stretch> {
    let pieces: Vec<_> = touched
        .iter()
        .flat_map(|file| stored.files[*file].pieces().into_iter().map(move |piece| (*file, piece)))
        .collect();
    let rows: u64 = pieces.iter().map(|(_, piece)| piece.rows).sum();
    let cores = cores() as u64;
    let share = rows.div_ceil(cores.min(rows / CORE_ROWS).max(1));
    let mut stretches = vec![Stretch::default()];
    for (file, piece) in pieces {
        if stretches.last().is_some_and(|last| last.rows >= share) {
            stretches.push(Stretch::default());
        }
        if let Some(last) = stretches.last_mut() {
            last.rows += piece.rows;
            last.pieces.push((file, piece));
        }
    }
    if let Some(last) = stretches.last_mut() {
        last.inserts = true;
    }
    stretches
}
