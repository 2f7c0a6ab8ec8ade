//! The rows of a table's data files as the table has them: with its names for columns, and without the rows that are hidden.

use std::path::Path;

use arrow::datatypes::SchemaRef;

use super::StoredFile;
use super::columns::Columns;
use super::vector::Vector;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::listing::SourceFile;
use crate::storage::parquet::Choice;
use crate::storage::parquet::choose;
use crate::storage::parquet::footer_rows;
use crate::storage::parquet::load;
use crate::storage::parquet::reader;
use crate::storage::tabular;
use crate::storage::tabular::Batches;
use crate::storage::tabular::Keep;

/// What it takes to read the files of a version, beside their paths. Plain data; nothing is open.
#[derive(Debug, Clone)]
pub struct Scan {
    columns: Columns,
    /// For each file the vector that hides some of its rows.
    vectors: Vec<Option<Vector>>,
}

impl Scan {
    pub(super) fn new(columns: Columns, files: &[StoredFile]) -> Self {
        Self { columns, vectors: files.iter().map(|file| file.vector.clone()).collect() }
    }

    /// Leaves files out, a flag for each.
    pub fn retain(&mut self, kept: &[bool]) {
        let mut kept = kept.iter();
        self.vectors.retain(|_| kept.next().copied().unwrap_or_default());
    }

    /// What the log calls a column in its statistics; `None` where nobody knows.
    #[must_use]
    pub fn in_log(&self, column: &str) -> Option<String> {
        self.columns.in_log(Path::new(""), column).ok()
    }

    /// The files that hold vectors; one may be there several times.
    pub fn vector_files(&self) -> impl Iterator<Item = &Address> {
        self.vectors.iter().flatten().filter_map(Vector::file)
    }

    /// Opens the file at `place` among those that were not left out for the columns of `schema`; those that it lacks are NULL,
    /// and the others are not read. Row groups of which `keep` says no are not read either; it asks by the table's names, and
    /// only for columns of `schema`.
    ///
    /// # Errors
    /// Where the file cannot be opened or is no Parquet, where a column cannot be told, and where its deletion vector is not whole.
    pub fn open(
        &self,
        place: usize,
        file: &SourceFile,
        schema: &SchemaRef,
        batch_rows: usize,
        keep: Option<Keep<'_>>,
    ) -> Result<Batches, StorageError> {
        tabular::guarded(&file.path, || self.opened(place, file, schema, batch_rows, keep))
    }

    fn opened(
        &self,
        place: usize,
        file: &SourceFile,
        schema: &SchemaRef,
        batch_rows: usize,
        keep: Option<Keep<'_>>,
    ) -> Result<Batches, StorageError> {
        let open = file.open()?;
        let footer = load(&open, file)?;
        let hidden = match self.vectors.get(place).and_then(Option::as_ref) {
            Some(vector) => Some(vector.read(&file.path, footer_rows(&footer))?),
            None => None,
        };
        let places = self.columns.find(&file.path, schema, footer.schema())?;
        // Bounds and counts of NULL are of all rows of a group, so they hold for those that are not hidden.
        let Choice { groups, skips, rows } =
            choose(&footer, Some(&places.names()), keep.unwrap_or(&|_| true));
        let reader = reader((open, footer), places.roots.clone(), groups, batch_rows)
            .map_err(StorageError::library(&file.path, "read it"))?;
        let read = reader.map(move |batch| Ok(places.named(&batch?)?));
        let batches =
            Batches::new(file, schema, batch_rows, Box::new(read)).due(rows).skipping(skips);
        Ok(match hidden {
            Some(hidden) => batches.without(hidden),
            None => batches,
        })
    }
}
