//! Rows from old files to new ones, as they are or in a new order.

use std::sync::Arc;

use arrow::compute::interleave_record_batch;
use arrow::datatypes::SchemaRef;

use super::zorder::Filling;
use super::zorder::Unordered;
use crate::flow::WriteFormat;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::delta::OpenFile;
use crate::storage::delta::StoredFile;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::stage::Staging;
use crate::writer::staged::Staged;

/// Rows that are written at a time.
const WRITE_ROWS: usize = 8_192;

/// Old files on their way into new ones.
pub(super) struct Work<'a> {
    pub(super) target: &'a Target,
    pub(super) schema: SchemaRef,
    /// Bytes that a file should have.
    pub(super) file_bytes: u64,
}

impl Work<'_> {
    /// Writes the rows of all groups to files that the log does not know. They are handed back in any case.
    pub(super) fn write(&self, groups: &[Vec<StoredFile>]) -> (Staged, Result<(), WriteError>) {
        let mut target = self.target.clone();
        if let WriteFormat::Delta(options) = &mut target.format {
            // Where a file ends is decided here: an encoder only guesses how small its rows will be.
            options.target_file_size = u64::MAX;
        }
        let mut staging = Staging::new(target.address.clone(), &target, Arc::clone(&self.schema));
        let mut rows = 0;
        let written = groups.iter().try_for_each(|files| {
            let columns = &self.target.partition_columns;
            let open = files.iter().map(|file| OpenFile::open(file, columns));
            let open = open.collect::<Result<Vec<_>, _>>()?;
            rows += open.iter().map(OpenFile::rows).sum::<u64>();
            if self.target.layout.zorder.is_empty() {
                self.in_order(&open, &mut staging)?;
            } else {
                let bytes = files.iter().map(|file| file.bytes).sum();
                self.zordered(&open, bytes, &mut staging)?;
            }
            staging.cut()
        });
        let (staged, sealed) = staging.finish();
        let counted = match staged.rows == rows {
            true => Ok(()),
            false => {
                let what = format!("{} rows came out of files with {rows}", staged.rows);
                Err(StorageError::data(self.target.path(), DataPlace::default(), what).into())
            }
        };
        (staged, written.and(sealed).and(counted))
    }

    /// Row by row as they are.
    fn in_order(&self, files: &[OpenFile<'_>], staging: &mut Staging) -> Result<(), WriteError> {
        for file in files {
            for piece in file.pieces() {
                for batch in file.read(piece, &self.schema)? {
                    staging.stage(&batch?.1)?;
                }
            }
        }
        Ok(())
    }

    /// Along the curve, as many rows at a time as the memory holds.
    fn zordered(
        &self,
        files: &[OpenFile<'_>],
        bytes: u64,
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let columns = self.target.layout.zorder.iter();
        let columns = columns.map(|column| self.schema.index_of(column.as_str()));
        let columns: Vec<usize> = columns
            .collect::<Result<_, _>>()
            .map_err(StorageError::library(self.target.path(), "order its rows"))?;
        let memory = usize::try_from(self.target.memory_bytes).unwrap_or(usize::MAX);
        let rows: u64 = files.iter().map(OpenFile::rows).sum();
        let mut filling = Filling::new(rows, bytes, self.file_bytes);
        let mut held = Unordered::new(columns.clone());
        for file in files {
            for piece in file.pieces() {
                for batch in file.read(piece, &self.schema)? {
                    let (_, batch) = batch?;
                    if held.is_full(memory, batch.num_rows()) {
                        let full = std::mem::replace(&mut held, Unordered::new(columns.clone()));
                        self.spread(&full, &mut filling, staging)?;
                    }
                    held.push(batch);
                }
            }
        }
        self.spread(&held, &mut filling, staging)
    }

    /// Rows in their new order, over files of about the size asked for.
    fn spread(
        &self,
        held: &Unordered,
        filling: &mut Filling,
        staging: &mut Staging,
    ) -> Result<(), WriteError> {
        let failed = || StorageError::library(self.target.path(), "order its rows");
        let order = held.order().map_err(failed())?;
        let batches: Vec<_> = held.batches.iter().collect();
        if filling.begin(order.len()) {
            staging.cut()?;
        }
        let mut rest = &order[..];
        while !rest.is_empty() {
            let (here, after) = rest.split_at(rest.len().min(WRITE_ROWS).min(filling.room()));
            let rows = interleave_record_batch(&batches, here).map_err(failed())?;
            staging.stage(&rows)?;
            if filling.put(here.len()) {
                staging.cut()?;
            }
            rest = after;
        }
        Ok(())
    }
}
