//! Files read as sources: what is refused, and with which words; then what comes out, value by value and place by place.

mod csv;
mod files;
mod json;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use arrow::array::ArrayRef;
use arrow::util::display::array_value_to_string;
use wasmhost::flow::CsvRead;
use wasmhost::flow::Location;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;
use wasmhost::name::ColumnName;
use wasmhost::problem::Place;
use wasmhost::source::Rows;

pub(crate) fn csv() -> CsvRead {
    CsvRead {
        header: true,
        names: None,
        delimiter: b',',
        quote: b'"',
        escape: None,
        encoding: encoding_rs::UTF_8,
        null_values: vec![],
        infer_schema_rows: None,
    }
}

pub(crate) fn column(name: &str) -> ColumnName {
    ColumnName::new(name).unwrap()
}

pub(crate) fn source(path: &Path, format: ReadFormat) -> Source {
    Source {
        name: "main".to_owned(),
        path: Location::Disk(path.to_owned()),
        base: None,
        format,
        columns: None,
        schema_hints: BTreeMap::new(),
        merge_schema: false,
        allow_missing: false,
        recursive: true,
        path_glob_filter: None,
        filter: None,
        source_complete: false,
        query: None,
        at: Place::field("flow.yaml", "source"),
    }
}

/// The columns, then each batch's place and rows, NULL as `-`; or the error, with `DIR` for the folder.
pub(crate) fn shown(source: &Source, batch_rows: usize, folder: &Path) -> String {
    let tell = |error: String| error.replace(folder.to_str().unwrap(), "DIR");
    let found = match Rows::discover(source) {
        Ok(found) => found,
        Err(error) => return tell(error.to_string()),
    };
    let fields = found
        .schema()
        .fields()
        .iter()
        .map(|field| format!("{} {}", field.name(), field.data_type()));
    let mut out = vec![fields.collect::<Vec<_>>().join(", ")];
    let mut rows = Rows::open(found, batch_rows);
    loop {
        let batch = match rows.next_batch() {
            Ok(Some(batch)) => batch,
            Ok(None) => return tell(out.join("\n")),
            Err(error) => return tell(format!("{}\n{error}", out.join("\n"))),
        };
        let value = |column: &ArrayRef, row| {
            if column.is_null(row) {
                "-".to_owned()
            } else {
                array_value_to_string(column, row).unwrap()
            }
        };
        let row = |row| {
            batch
                .rows
                .columns()
                .iter()
                .map(|column| value(column, row))
                .collect::<Vec<_>>()
                .join("|")
        };
        let rows: Vec<String> = (0..batch.rows.num_rows()).map(row).collect();
        out.push(format!(
            "{}#{}: {}",
            batch.origin.file,
            batch.origin.row(0).unwrap(),
            rows.join("  ")
        ));
    }
}

pub(crate) fn check(
    files: &[(&str, &str)],
    format: ReadFormat,
    change: impl FnOnce(&mut Source),
    right: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut source = source(folder.path(), format);
    change(&mut source);
    assert_eq!(shown(&source, 2, folder.path()), right, "{files:?}");
}
