//! `reference`: rows whose values are in another input.

use crate::key_set::KeySet;
use crate::keys::{Format, Part};
use arrow_array::{Array, BooleanArray, RecordBatch};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use wasmhost_guest::Failure;

/// Columns of a batch, by position, and how their values become a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyColumns(pub(crate) Vec<(usize, Format)>);

/// The keys of another input, for all checks that ask for the same ones.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) input: usize,
    pub(crate) columns: KeyColumns,
    keys: KeySet,
}

impl Source {
    pub(crate) fn new(input: usize, columns: KeyColumns, seed: u64) -> Self {
        Self { input, columns, keys: KeySet::new(seed) }
    }

    /// Takes a batch of the source in. A tuple with a NULL equals none, and is left out.
    ///
    /// # Errors
    /// More keys than fit.
    pub(crate) fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let Self { columns, keys, .. } = self;
        let (parts, nulls) = columns.of(batch);
        let mut key = Vec::new();
        for row in (0..batch.num_rows()).filter(|row| is_valid(&nulls, *row)) {
            write(&parts, row, &mut key);
            keys.add(&key)?;
        }
        Ok(())
    }

    /// Judges rows of the first input by these columns of it; NULL where any of them is.
    pub(crate) fn hits(&self, columns: &KeyColumns, batch: &RecordBatch) -> BooleanArray {
        let (parts, nulls) = columns.of(batch);
        let mut key = Vec::new();
        let hits = BooleanBuffer::collect_bool(batch.num_rows(), |row| {
            is_valid(&nulls, row) && {
                write(&parts, row, &mut key);
                !self.keys.has(&key)
            }
        });
        BooleanArray::new(hits, nulls)
    }
}

impl KeyColumns {
    fn of<'a>(&self, batch: &'a RecordBatch) -> (Vec<Part<'a>>, Option<NullBuffer>) {
        let Self(columns) = self;
        let parts = columns.iter().map(|(at, format)| Part::new(batch.column(*at), *format));
        let nulls = columns.iter().fold(None, |nulls: Option<NullBuffer>, (at, _)| {
            NullBuffer::union(nulls.as_ref(), batch.column(*at).nulls())
        });
        (parts.collect(), nulls)
    }
}

fn is_valid(nulls: &Option<NullBuffer>, row: usize) -> bool {
    nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
}

fn write(parts: &[Part<'_>], row: usize, key: &mut Vec<u8>) {
    key.clear();
    parts.iter().for_each(|part| part.write(row, key));
}
