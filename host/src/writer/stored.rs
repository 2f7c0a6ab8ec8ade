//! The pass over stored rows: every row group of every file that may hold a key, on all cores.

use std::num::NonZero;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::thread;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;

use crate::name::ColumnName;
use crate::storage::StorageError;
use crate::storage::delta::OpenFile;
use crate::storage::delta::Piece;
use crate::storage::delta::StoredFile;

/// A table's files, open.
pub(super) struct Stored<'a> {
    pub(super) files: Vec<OpenFile<'a>>,
    /// Each row group that is looked at, and the place of its file.
    pieces: Vec<(usize, Piece)>,
    /// Rows of the others.
    pub(super) passed_over: u64,
}

/// A stored row: its file's place, and its place in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct At {
    pub(super) file: u32,
    pub(super) row: u32,
}

impl At {
    /// The row that many places on.
    pub(super) fn plus(self, rows: usize) -> Self {
        // `OpenFile` has refused files with more than four billion rows.
        Self { row: self.row + u32::try_from(rows).unwrap_or(u32::MAX), ..self }
    }
}

impl<'a> Stored<'a> {
    pub(super) fn open(
        files: &'a [StoredFile],
        partition_columns: &'a [ColumnName],
    ) -> Result<Self, StorageError> {
        let files = files.iter().map(|file| OpenFile::open(file, partition_columns));
        let files = files.collect::<Result<Vec<_>, _>>()?;
        let pieces = files
            .iter()
            .enumerate()
            .flat_map(|(place, file)| file.pieces().into_iter().map(move |piece| (place, piece)));
        let pieces = pieces.collect();
        Ok(Self { files, pieces, passed_over: 0 })
    }

    /// Passes over row groups that do not count.
    pub(super) fn keep(
        &mut self,
        counts: impl Fn(&OpenFile<'_>, Piece) -> Result<bool, StorageError>,
    ) -> Result<(), StorageError> {
        let mut kept = Vec::new();
        for (file, piece) in std::mem::take(&mut self.pieces) {
            if counts(&self.files[file], piece)? {
                kept.push((file, piece));
            } else {
                self.passed_over += piece.rows;
            }
        }
        self.pieces = kept;
        Ok(())
    }

    /// Hands every batch of some columns to `look`, with the place of its first row; each core collects its own findings.
    pub(super) fn scan<T: Default + Send>(
        &self,
        schema: &SchemaRef,
        look: impl Fn(&mut T, At, &RecordBatch) -> Result<(), StorageError> + Sync,
    ) -> Result<Vec<T>, StorageError> {
        let next = AtomicUsize::new(0);
        let work = || -> Result<T, StorageError> {
            let mut found = T::default();
            while let Some((place, piece)) = self.pieces.get(next.fetch_add(1, Ordering::Relaxed)) {
                for batch in self.files[*place].read(*piece, schema)? {
                    let (row, batch) = batch?;
                    // A table has far fewer files than four billion.
                    let at = At { file: u32::try_from(*place).unwrap_or(u32::MAX), row };
                    look(&mut found, at, &batch)?;
                }
            }
            Ok(found)
        };
        let workers = (0..cores().min(self.pieces.len())).map(|_| &work);
        side_by_side(workers).into_iter().collect()
    }
}

/// The threads that work at a time.
pub(super) fn cores() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// Runs all works at a time, each on a thread of its own; a panic goes on in the caller.
pub(super) fn side_by_side<T: Send>(
    works: impl Iterator<Item = impl FnOnce() -> T + Send>,
) -> Vec<T> {
    thread::scope(|scope| {
        let workers: Vec<_> = works.map(|work| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(|worker| match worker.join() {
            Ok(ended) => ended,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        ended.collect()
    })
}
