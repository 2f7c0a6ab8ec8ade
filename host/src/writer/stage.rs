//! Staging: rows are cast to the target's types, split by partition, and written to files that no reader looks at.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::UInt32Array;
use arrow::compute::take_record_batch;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use tempfile::TempDir;

use super::Target;
use super::WriteError;
use super::staged::Staged;
use super::staged::StagedFile;
use crate::flow::WriteFormat;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::encode;
use crate::storage::encode::Encoder;
use crate::storage::encode::Endings;
use crate::storage::encode::Sealed;
use crate::storage::naming::FileNames;
use crate::storage::partition;
use crate::storage::partition::Values;
use crate::storage::sync;

/// Files open at a time; the one that waited longest makes room.
const OPEN_FILES_MAX: usize = 100;

/// Bytes that all open files may hold in memory; the largest is written out first.
const HELD_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Rows of one run on their way to files.
pub(super) struct Staging {
    staged: Staged,
    /// Where files grow that go to a store when they are complete.
    scratch: Option<TempDir>,
    target: PathBuf,
    /// From the root on; nothing where there are none.
    date_folder: PathBuf,
    format: WriteFormat,
    next_name: u64,
    /// Places in `landing`, of partitions and of files.
    partition_places: Vec<usize>,
    file_places: Vec<usize>,
    file_schema: SchemaRef,
    open: HashMap<Values, OpenFile>,
    turn: u64,
    open_files_max: usize,
    held_bytes_max: usize,
}

/// As many as their codecs have memory for.
fn open_files_max(format: &WriteFormat) -> usize {
    HELD_BYTES_MAX
        .checked_div(encode::memory_bytes_open(format))
        .map_or(OPEN_FILES_MAX, |files| files.clamp(1, OPEN_FILES_MAX))
}

struct OpenFile {
    encoder: Encoder,
    /// From the staging root.
    path: String,
    turn: u64,
}

impl Staging {
    pub(super) fn new(root: Address, target: &Target, landing: SchemaRef) -> Self {
        let partition_places: Vec<_> = target
            .partition_columns
            .iter()
            .filter_map(|column| landing.index_of(column.as_str()).ok())
            .collect();
        let file_places: Vec<_> =
            (0..landing.fields().len()).filter(|place| !partition_places.contains(place)).collect();
        let fields = file_places.iter().map(|place| Arc::clone(&landing.fields()[*place]));
        let file_schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let run = &target.run;
        let names = FileNames::new(
            run.destination.as_str(),
            run.started_at,
            &run.run_id,
            Endings::of(&target.format),
        );
        Self {
            staged: Staged {
                root,
                names,
                landing,
                files: Vec::new(),
                unfinished: Vec::new(),
                rows: 0,
            },
            scratch: None,
            target: target.path().to_owned(),
            date_folder: target.date_folder(),
            format: target.format.clone(),
            next_name: 0,
            partition_places,
            file_places,
            file_schema,
            open: HashMap::new(),
            turn: 0,
            open_files_max: open_files_max(&target.format),
            held_bytes_max: HELD_BYTES_MAX,
        }
    }

    /// Several work at a time, and share the memory.
    pub(super) fn shared_by(self, workers: usize) -> Self {
        Self { held_bytes_max: HELD_BYTES_MAX / workers.max(1), ..self }
    }

    /// Takes rows as they land.
    pub(super) fn stage(&mut self, rows: &RecordBatch) -> Result<(), WriteError> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        self.staged.rows += rows.num_rows() as u64;
        for (values, rows) in self.split(rows)? {
            let rows = rows
                .project(&self.file_places)
                .map_err(StorageError::library(self.staged.root.shown(), "stage rows"))?;
            self.write(values, &rows)?;
        }
        Ok(())
    }

    /// The rows of each partition, in the order of their first rows.
    fn split(&self, batch: &RecordBatch) -> Result<Vec<(Values, RecordBatch)>, WriteError> {
        if self.partition_places.is_empty() {
            return Ok(vec![(Vec::new(), batch.clone())]);
        }
        let spelt =
            self.partition_places.iter().map(|place| partition::spell(batch.column(*place)));
        let spelt: Vec<StringArray> = spelt
            .collect::<Result<_, _>>()
            .map_err(StorageError::library(self.staged.root.shown(), "spell partition values"))?;
        for (column, place) in spelt.iter().zip(&self.partition_places) {
            if let Some(what) = column.iter().find_map(partition::refused) {
                let column = self.staged.landing.field(*place).name().clone();
                return Err(WriteError::Value {
                    path: self.target.clone(),
                    column,
                    what: what.to_owned(),
                });
            }
        }
        let mut groups: Vec<Vec<u32>> = Vec::new();
        let mut known: HashMap<Vec<Option<&str>>, usize> = HashMap::new();
        for row in 0..batch.num_rows() {
            let values = spelt
                .iter()
                .map(|column| column.is_valid(row).then(|| column.value(row)))
                .collect();
            let group = *known.entry(values).or_insert_with(|| {
                groups.push(Vec::new());
                groups.len() - 1
            });
            // A batch has far fewer rows than four billion.
            groups[group].push(u32::try_from(row).unwrap_or(u32::MAX));
        }
        let mut keys: Vec<_> = known.into_iter().map(|(values, group)| (group, values)).collect();
        keys.sort_unstable_by_key(|(group, _)| *group);
        let parts = keys.into_iter().zip(groups).map(|((_, values), rows)| {
            let values = values.into_iter().map(|value| value.map(str::to_owned)).collect();
            if rows.len() == batch.num_rows() {
                return Ok((values, batch.clone()));
            }
            let part = take_record_batch(batch, &UInt32Array::from(rows));
            Ok((
                values,
                part.map_err(StorageError::library(self.staged.root.shown(), "split rows"))?,
            ))
        });
        parts.collect()
    }

    fn write(&mut self, values: Values, rows: &RecordBatch) -> Result<(), WriteError> {
        self.turn += 1;
        if !self.open.contains_key(&values) {
            if self.open.len() >= self.open_files_max {
                let oldest = self
                    .open
                    .iter()
                    .min_by_key(|(_, file)| file.turn)
                    .map(|(values, _)| values.clone());
                oldest.map_or(Ok(()), |oldest| self.seal(&oldest))?;
            }
            let (path, encoder) = self.begin(&values)?;
            self.open.insert(values.clone(), OpenFile { encoder, path, turn: self.turn });
        }
        let Some(file) = self.open.get_mut(&values) else { return Ok(()) };
        file.turn = self.turn;
        if file.encoder.write(rows)? {
            self.seal(&values)?;
        }
        let held: usize = self.open.values().map(|file| file.encoder.memory_bytes()).sum();
        if held > self.held_bytes_max
            && let Some(largest) =
                self.open.values_mut().max_by_key(|file| file.encoder.memory_bytes())
        {
            largest.encoder.flush()?;
        }
        Ok(())
    }

    fn begin(&mut self, values: &Values) -> Result<(String, Encoder), WriteError> {
        let columns = self
            .partition_places
            .iter()
            .map(|place| self.staged.landing.field(*place).name().as_str());
        let folder = partition::folder(columns, values).map_err(|column| WriteError::Value {
            path: self.target.clone(),
            column,
            what: "a partition value is longer than a folder's name can be".to_owned(),
        })?;
        // Joining nothing would leave a `/` at the end.
        let folder: PathBuf = self.date_folder.join(folder).components().collect();
        let folder = folder.to_string_lossy().into_owned();
        loop {
            let name = self.staged.names.name(self.next_name);
            self.next_name += 1;
            let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
            let file = match &self.staged.root {
                Address::Disk(root) => {
                    let folder = root.join(&folder);
                    fs::create_dir_all(&folder).map_err(StorageError::io(&folder, "create it"))?;
                    folder.join(&name)
                }
                // An earlier try of the same run left it, or even committed it: never touched.
                store if store.join(&path).size()?.is_some() => continue,
                Address::Store(_) => self.scratch()?.join(&name),
            };
            match Encoder::create(file, &self.file_schema, &self.format) {
                // Likewise.
                Err(StorageError::Io { source, .. })
                    if source.kind() == std::io::ErrorKind::AlreadyExists => {}
                other => return Ok((path, other?)),
            }
        }
    }

    /// The folder in which files grow on their way to a store.
    fn scratch(&mut self) -> Result<PathBuf, StorageError> {
        if let Some(scratch) = &self.scratch {
            return Ok(scratch.path().to_owned());
        }
        let made = tempfile::Builder::new().prefix("wasmhost-staging-").tempdir();
        let made = made.map_err(StorageError::io(&std::env::temp_dir(), "make a folder in it"))?;
        Ok(self.scratch.insert(made).path().to_owned())
    }

    fn seal(&mut self, values: &Values) -> Result<(), WriteError> {
        let Some(file) = self.open.remove(values) else { return Ok(()) };
        self.staged.unfinished.push(file.path.clone());
        let Sealed { path: local, rows, bytes, written_at, footer } = file.encoder.seal()?;
        if let Address::Store(place) = self.staged.root.join(&file.path) {
            place.put_file(&local)?;
            sync::remove_file(&local)?;
        }
        self.staged.unfinished.pop();
        let (path, values) = (file.path, values.clone());
        self.staged.files.push(StagedFile { path, written_at, values, rows, bytes, footer });
        Ok(())
    }

    /// Ends the files that are open; rows that follow go to new ones.
    pub(super) fn cut(&mut self) -> Result<(), WriteError> {
        let mut waiting: Vec<_> =
            self.open.iter().map(|(values, file)| (file.turn, values.clone())).collect();
        waiting.sort();
        waiting.into_iter().try_for_each(|(_, values)| self.seal(&values))
    }

    /// Ends all files. What was staged is handed back in any case, for there may be something to remove.
    pub(super) fn finish(mut self) -> (Staged, Result<(), WriteError>) {
        let sealed = self.cut();
        let staged = self.stop();
        let Address::Disk(root) = &staged.root else { return (staged, sealed) };
        let files: Vec<_> = staged.files.iter().map(|file| root.join(&file.path)).collect();
        let lasting = sealed
            .and_then(|()| Ok(sync::sync_branches(files.iter().map(PathBuf::as_path), root)?));
        (staged, lasting)
    }

    /// Leaves all files as they are.
    pub(super) fn stop(mut self) -> Staged {
        self.staged.unfinished.extend(self.open.into_values().map(|file| file.path));
        self.staged
    }
}
