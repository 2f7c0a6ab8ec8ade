//! A table as a source: it tells its files and columns itself.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::Folders;
use super::discover::Found;
use super::discover::beside;
use super::discover::declared;
use super::discover::shown;
use super::listed::stays_below;
use crate::flow::AsOf;
use crate::flow::Location;
use crate::flow::Source;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::bounds::Told;
use crate::storage::delta;
use crate::storage::delta::Detail;
use crate::storage::delta::FileStats;
use crate::storage::delta::StoredFile;
use crate::storage::listing::SourceFile;

/// What a table's log tells of a file.
pub(super) struct TableStats {
    stats: FileStats,
    own: Arc<TableColumns>,
}

/// A table's columns, and what its log calls each of them.
struct TableColumns {
    columns: SchemaRef,
    in_log: Vec<Option<String>>,
}

impl TableStats {
    pub(super) fn told(&self, field: &FieldRef) -> Told {
        let TableColumns { columns, in_log } = self.own.as_ref();
        let place = columns.index_of(field.name()).ok();
        match place.and_then(|place| Some((in_log[place].as_ref()?, columns.field(place)))) {
            Some((name, own)) => self.stats.told(name, own.data_type()),
            None => Told::default(),
        }
    }
}

/// What is there of the table.
pub(super) fn table(
    source: &Source,
    address: &Address,
    as_of: AsOf,
) -> Result<Found, StorageError> {
    let path = address.shown();
    if let (Some(Location::Disk(base)), Address::Disk(path)) = (&source.base, address) {
        // The log is read as a whole, so it is looked at before.
        stays_below(base, delta::log_files(path)?.iter().map(PathBuf::as_path))?;
    }
    let detail = if source.filter.is_some() { Detail::Stats } else { Detail::Files };
    let Some(stored) = delta::read(address, as_of, detail)? else {
        if source.allow_missing {
            return Ok(beside(source, Vec::new(), declared(source), Folders::default()));
        }
        return Err(StorageError::Missing {
            path: path.to_owned(),
            what: "there is no Delta table".to_owned(),
            hint: "`allow_missing: true` takes it as an empty input".to_owned(),
        });
    };
    let hinted = |field: &FieldRef| {
        let hint = source.schema_hints.iter().find(|(name, _)| name.as_str() == field.name());
        let data_type = hint.map_or(field.data_type(), |(_, hint)| hint).clone();
        Field::new(field.name(), data_type, true)
    };
    let fields: Vec<_> = stored.columns.fields().iter().map(hinted).collect();
    let (kept, own): (Vec<_>, Vec<_>) = fields.iter().cloned().partition(|field| {
        stored.partition_columns.iter().any(|column| column.as_str() == field.name())
    });
    let files: Vec<SourceFile> =
        stored.files.iter().map(StoredFile::listed).collect::<Result<_, _>>()?;
    if let Some(Location::Disk(base)) = &source.base {
        let vectors = stored.scan.vector_files().map(Address::shown);
        stays_below(base, files.iter().map(|file| file.path.as_path()).chain(vectors))?;
    }
    let values = stored.files.iter().map(|file| file.values.clone()).collect();
    // The log has their values in its own order of partition columns.
    let order = stored.partition_columns.iter().map(|column| {
        let field = kept.iter().find(|field| field.name() == column.as_str());
        field.cloned().ok_or_else(|| {
            let what = format!("the table is split by `{column}`, which is none of its columns");
            StorageError::data(path, DataPlace::default(), what)
        })
    });
    let partitions: Vec<Field> = order.collect::<Result<_, _>>()?;
    let split = partitions.len();
    let mut folders = Folders::of_table(partitions, values, &files)?;
    folders.add_lineage(source, &files, &Schema::new(own));
    let lineage = folders.columns.iter().skip(split).cloned();
    let all = Arc::new(Schema::new(fields.into_iter().chain(lineage).collect::<Vec<_>>()));
    let in_log = |field: &FieldRef| stored.scan.in_log(field.name());
    let own = Arc::new(TableColumns {
        in_log: stored.columns.fields().iter().map(in_log).collect(),
        columns: stored.columns,
    });
    let own = |stats| TableStats { stats, own: Arc::clone(&own) };
    Ok(Found {
        columns: shown(source, &all),
        all,
        is_declared: false,
        files,
        folders,
        rows: stored.files.iter().map(|file| file.rows).sum(),
        version: Some(stored.version),
        scan: Some(stored.scan),
        stats: stored.stats.into_iter().map(own).collect(),
        skipped: 0,
    })
}
