//! Rows that wait, in order: in memory first, then in a file without a name, which dies with the process.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufReader;
use std::io::BufWriter;
use std::io::Seek as _;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::Array as _;
use arrow::array::AsArray as _;
use arrow::array::RecordBatch;
use arrow::array::UInt64Array;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;
use arrow::datatypes::UInt64Type;
use arrow::error::ArrowError;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::spool::unnamed;
use crate::storage::StorageError;

/// The column of a spilled batch that holds its rows' places, behind the rows' own.
const PLACES: &str = "";

/// Batches, first in, first out, each with a note of the caller's that stays in memory.
pub struct Spool<T> {
    /// Where spilled rows go.
    folder: PathBuf,
    memory_max: usize,
    memory: usize,
    held: VecDeque<(Batch, T)>,
    spilled: Option<Writing<T>>,
}

struct Writing<T> {
    writer: StreamWriter<BufWriter<File>>,
    schema: SchemaRef,
    notes: VecDeque<Note<T>>,
    is_whole: bool,
}

/// What of a spilled batch is not in the file.
#[derive(Clone)]
struct Note<T> {
    file: Arc<str>,
    /// Where the rows are when their places do not have to be listed.
    rows: Positions,
    note: T,
}

impl<T> std::fmt::Debug for Spool<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spool").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl<T> Spool<T> {
    /// Nothing yet.
    #[must_use]
    pub fn new(folder: PathBuf, memory_max: usize) -> Self {
        Self { folder, memory_max, memory: 0, held: VecDeque::new(), spilled: None }
    }

    /// Whether everything is still in memory.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.spilled.is_none()
    }

    /// Takes a batch, all of one schema.
    ///
    /// # Errors
    /// Where the spill file cannot be written.
    pub fn push(&mut self, batch: Batch, note: T) -> Result<(), StorageError> {
        let bytes = bytes_of(&batch.rows);
        if self.spilled.is_none() && self.memory.saturating_add(bytes) <= self.memory_max {
            self.memory += bytes;
            self.held.push_back((batch, note));
            return Ok(());
        }
        let Batch { rows, origin } = batch;
        let writing = match &mut self.spilled {
            Some(writing) => writing,
            none => none.insert(Writing::begin(&self.folder, rows.schema_ref())?),
        };
        let places = match &origin.rows {
            Positions::Each(each) => UInt64Array::from(each.to_vec()),
            Positions::From(_) | Positions::Unknown => UInt64Array::new_null(rows.num_rows()),
        };
        let failed = || StorageError::library(&self.folder, "spill rows");
        let mut columns = rows.columns().to_vec();
        columns.push(Arc::new(places));
        let rows = RecordBatch::try_new(Arc::clone(&writing.schema), columns).map_err(failed())?;
        writing.writer.write(&rows).map_err(failed())?;
        writing.notes.push_back(Note { file: origin.file, rows: origin.rows.without_list(), note });
        Ok(())
    }

    /// The batches, in the order in which they came; they stay.
    ///
    /// # Errors
    /// Where the spill file cannot be read back.
    pub fn replay(
        &mut self,
    ) -> Result<impl Iterator<Item = Result<(Batch, T), StorageError>>, StorageError>
    where
        T: Clone,
    {
        let Self { folder, held, spilled, .. } = self;
        let back = match spilled {
            Some(writing) => Some((writing.reader(folder)?, writing.notes.clone())),
            None => None,
        };
        Ok(held.iter().cloned().map(Ok).chain(restored(folder, back)))
    }

    /// The batches, in the order in which they came.
    ///
    /// # Errors
    /// Where the spill file cannot be read back.
    pub fn drain(
        self,
    ) -> Result<impl Iterator<Item = Result<(Batch, T), StorageError>>, StorageError> {
        let Self { folder, held, spilled, .. } = self;
        let back = match spilled {
            Some(mut writing) => Some((writing.reader(&folder)?, writing.notes)),
            None => None,
        };
        Ok(held.into_iter().map(Ok).chain(restored(&folder, back)))
    }
}

/// Batches from the spill file, with what stayed in memory.
fn restored<T>(
    folder: &Path,
    back: Option<(Reader, VecDeque<Note<T>>)>,
) -> impl Iterator<Item = Result<(Batch, T), StorageError>> + use<T> {
    let folder = folder.to_owned();
    back.into_iter().flat_map(move |(mut reader, notes)| {
        let folder = folder.clone();
        notes.into_iter().map(move |note| {
            let early = || ArrowError::IpcError("the file ends early".to_owned());
            let restored = reader.next().ok_or_else(early).flatten();
            let restored = restored.and_then(|rows| note.restored(&rows));
            restored.map_err(StorageError::library(&folder, "read spilled rows"))
        })
    })
}

type Reader = StreamReader<BufReader<File>>;

impl<T> Writing<T> {
    fn begin(folder: &Path, rows: &SchemaRef) -> Result<Self, StorageError> {
        let file = unnamed(folder)?;
        let places = Arc::new(Field::new(PLACES, DataType::UInt64, true));
        let fields: Vec<_> = rows.fields().iter().cloned().chain([places]).collect();
        let schema = Arc::new(Schema::new(fields));
        let writer = StreamWriter::try_new_buffered(file, &schema)
            .map_err(StorageError::library(folder, "spill rows"))?;
        Ok(Self { writer, schema, notes: VecDeque::new(), is_whole: false })
    }

    /// Reads the file from its beginning, once everything is in it.
    fn reader(&mut self, folder: &Path) -> Result<Reader, StorageError> {
        let failed = || StorageError::library(folder, "read spilled rows");
        if !self.is_whole {
            self.writer.finish().map_err(failed())?;
            self.writer.flush().map_err(failed())?;
            self.is_whole = true;
        }
        let file = self.writer.get_ref().get_ref();
        let io = || StorageError::io(folder, "read spilled rows");
        // The two share one position: a reader is done before the next one begins.
        let mut file = file.try_clone().map_err(io())?;
        file.rewind().map_err(io())?;
        StreamReader::try_new_buffered(file, None).map_err(failed())
    }
}

impl<T> Note<T> {
    fn restored(self, spilled: &RecordBatch) -> Result<(Batch, T), ArrowError> {
        let Self { file, rows, note } = self;
        let columns: Vec<usize> = (0..spilled.num_columns() - 1).collect();
        let own = spilled.project(&columns)?;
        let places = spilled.column(columns.len()).as_primitive::<UInt64Type>();
        let rows = match rows {
            Positions::Each(_) => Positions::Each(places.values().iter().copied().collect()),
            Positions::From(_) | Positions::Unknown => rows,
        };
        // An empty batch has no place that could be lost.
        debug_assert!(places.is_empty() || own.num_rows() == places.len());
        Ok((Batch { rows: own, origin: Origin { file, rows } }, note))
    }
}

/// What a batch takes in memory, its slices alone counted.
#[must_use]
pub fn bytes_of(batch: &RecordBatch) -> usize {
    let bytes = |column: &Arc<dyn arrow::array::Array>| {
        column.to_data().get_slice_memory_size().unwrap_or_else(|_| column.get_array_memory_size())
    };
    batch.columns().iter().map(bytes).sum()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow::array::record_batch;

    use super::*;

    #[test]
    fn rows_come_back_in_order_with_their_places_whether_they_spilled_or_not() {
        let batch = |first: i64, rows: Positions| Batch {
            rows: record_batch!(("n", Int64, [first, first + 1, first + 2])).unwrap(),
            origin: Origin { file: format!("file-{first}").into(), rows },
        };
        let batches = [
            batch(0, Positions::From(1)),
            batch(3, Positions::Each([7, 5, 9].into())),
            batch(6, Positions::Unknown),
            batch(9, Positions::Each([1, 2, 3].into())),
        ];
        for memory_max in [0, 24, 50, 1 << 20] {
            let mut spool = Spool::new(std::env::temp_dir(), memory_max);
            for (note, batch) in batches.iter().enumerate() {
                spool.push(batch.clone(), note).unwrap();
            }
            assert_eq!(spool.is_in_memory(), memory_max == 1 << 20);
            let back: Vec<_> = spool.drain().unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(back.len(), batches.len());
            for (at, (batch, note)) in back.into_iter().enumerate() {
                assert_eq!((batch.rows.column(0), note), (batches[at].rows.column(0), at));
                assert_eq!(batch.origin, batches[at].origin);
            }
        }
    }
}
