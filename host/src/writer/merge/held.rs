//! Staged rows that wait for the target to be looked at: in memory first, then in a file without a name, which dies with the process.

use std::fs::File;
use std::io::Cursor;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::RecordBatch;
use arrow::array::UInt32Array;
use arrow::compute::concat_batches;
use arrow::compute::take_record_batch;
use arrow::datatypes::SchemaRef;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use crate::storage::DataPlace;
use crate::storage::StorageError;

/// Rows by number, in the order in which they came.
#[derive(Debug)]
pub(super) struct Held {
    schema: SchemaRef,
    /// Where spilled rows go.
    folder: PathBuf,
    batches: Vec<Batch>,
    rows: u32,
    memory_max: usize,
    memory: usize,
    /// Bytes of all rows, held or spilled.
    bytes: usize,
    /// The spill file, once there is one, and its end.
    spill: Option<(Arc<File>, u64)>,
}

#[derive(Debug)]
struct Batch {
    first: u32,
    rows: u32,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Memory(RecordBatch),
    /// A stream of one batch in the spill file.
    Spilled {
        file: Arc<File>,
        offset: u64,
        bytes: usize,
    },
}

impl Held {
    pub(super) fn new(schema: SchemaRef, folder: PathBuf, memory_max: usize) -> Self {
        Self {
            schema,
            folder,
            batches: Vec::new(),
            rows: 0,
            memory_max,
            memory: 0,
            bytes: 0,
            spill: None,
        }
    }

    pub(super) fn rows(&self) -> u32 {
        self.rows
    }

    /// Bytes that a row takes on average, at least one.
    pub(super) fn row_bytes(&self) -> usize {
        (self.bytes / (self.rows as usize).max(1)).max(1)
    }

    pub(super) fn push(&mut self, batch: RecordBatch) -> Result<(), StorageError> {
        let rows = u32::try_from(batch.num_rows()).ok();
        let total = rows.and_then(|rows| self.rows.checked_add(rows));
        let (Some(rows), Some(total)) = (rows, total) else {
            let what = "more than four billion rows in one load";
            return Err(StorageError::data(&self.folder, DataPlace::default(), what)
                .hint("load them in parts"));
        };
        let bytes = slice_bytes(&batch);
        self.bytes += bytes;
        let place = if self.memory + bytes <= self.memory_max {
            self.memory += bytes;
            Place::Memory(batch)
        } else {
            self.spill(&batch)?
        };
        self.batches.push(Batch { first: self.rows, rows, place });
        self.rows = total;
        Ok(())
    }

    fn spill(&mut self, batch: &RecordBatch) -> Result<Place, StorageError> {
        let failed = || StorageError::library(&self.folder, "spill rows");
        let mut writer = StreamWriter::try_new(Vec::new(), &self.schema).map_err(failed())?;
        writer.write(batch).map_err(failed())?;
        let bytes = writer.into_inner().map_err(failed())?;
        let io = StorageError::io(&self.folder, "spill rows into it");
        let (file, end) = match &mut self.spill {
            Some(spill) => spill,
            none => {
                let file = tempfile::tempfile_in(&self.folder).map_err(io)?;
                none.insert((Arc::new(file), 0))
            }
        };
        let io = StorageError::io(&self.folder, "spill rows into it");
        file.write_all_at(&bytes, *end).map_err(io)?;
        let place = Place::Spilled { file: Arc::clone(file), offset: *end, bytes: bytes.len() };
        *end += bytes.len() as u64;
        Ok(place)
    }

    fn load(&self, batch: &Batch) -> Result<RecordBatch, StorageError> {
        let (file, offset, bytes) = match &batch.place {
            Place::Memory(rows) => return Ok(rows.clone()),
            Place::Spilled { file, offset, bytes } => (file, *offset, *bytes),
        };
        let mut buffer = vec![0; bytes];
        let io = StorageError::io(&self.folder, "read spilled rows");
        file.read_exact_at(&mut buffer, offset).map_err(io)?;
        let failed = || StorageError::library(&self.folder, "read spilled rows");
        let mut reader = StreamReader::try_new(Cursor::new(buffer), None).map_err(failed())?;
        let lost =
            || StorageError::data(&self.folder, DataPlace::default(), "spilled rows are lost");
        reader.next().transpose().map_err(failed())?.ok_or_else(lost)
    }

    /// The rows of these numbers, which ascend, as one batch in their order.
    pub(super) fn pick(&self, numbers: &[u32]) -> Result<RecordBatch, StorageError> {
        let failed = || StorageError::library(&self.folder, "pick rows");
        let mut picked = Vec::new();
        let mut rest = numbers;
        for batch in &self.batches {
            let inside = rest.partition_point(|number| *number < batch.first + batch.rows);
            let (here, after) = rest.split_at(inside);
            rest = after;
            if here.is_empty() {
                continue;
            }
            let places: UInt32Array = here.iter().map(|number| number - batch.first).collect();
            picked.push(take_record_batch(&self.load(batch)?, &places).map_err(failed())?);
        }
        concat_batches(&self.schema, &picked).map_err(failed())
    }
}

/// What the rows take by themselves; a slice shares its buffers with others.
fn slice_bytes(batch: &RecordBatch) -> usize {
    let column = |column: &ArrayRef| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(column).sum()
}
