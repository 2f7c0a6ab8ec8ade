//! Filters over tables whose files have other names, and rows that are hidden: row groups and files are ruled out as of any other
//! table, and the rows that stay are those of a filter by hand, at their places.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Int64Type;
use arrow::datatypes::Schema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;
use parquet::file::properties::WriterProperties;
use serde_json::Value;
use serde_json::json;
use wasmhost::flow::AsOf;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;
use wasmhost::source::Files;

use super::FIRST;
use super::begun;
use super::field;
use crate::run::Stage;
use crate::sources;

const ROWS_OF_A_GROUP: i64 = 5;
const ROWS_OF_A_FILE: i64 = 30;

/// A vector in the log, and the rows that it hides; the first is 0.
const VECTOR: &str = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";
const HIDDEN: &[i64] = &[3, 4, 7, 11, 18, 29];

/// A row of the table: `b` falls as `a` rises, and is NULL in the last row group of each file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Row {
    file: &'static str,
    /// From 0.
    place: i64,
    a: i64,
    b: Option<i64>,
}

/// The files, which are the table's partitions, too.
const FILES: &[&str] = &["x", "y"];

fn rows() -> Vec<Row> {
    let places = (0..).zip(FILES).flat_map(|(at, file)| {
        (0..ROWS_OF_A_FILE).map(move |place| (*file, place, at * ROWS_OF_A_FILE + place))
    });
    let b = |place, a| (place < ROWS_OF_A_FILE - ROWS_OF_A_GROUP).then_some(1_000 - a);
    places.map(|(file, place, a)| Row { file, place, a, b: b(place, a) }).collect()
}

/// How files and the log call the columns `a` and `b`, and how the log calls `day`.
#[derive(Debug, Clone, Copy)]
struct Names {
    mode: &'static str,
    file: [&'static str; 2],
    log: [&'static str; 3],
}

const NAMES: &[Names] = &[
    Names { mode: "none", file: ["a", "b"], log: ["a", "b", "day"] },
    // Engines for which names are the same in any case.
    Names { mode: "none", file: ["A", "B"], log: ["a", "b", "day"] },
    // Each has the name of another.
    Names { mode: "name", file: ["b", "day"], log: ["b", "day", "a"] },
    Names { mode: "id", file: ["b", "a"], log: ["b", "day", "a"] },
];

/// A table of two files of six row groups; the first has hidden rows where `is_hiding`.
fn table(names: Names, is_hiding: bool) -> Stage {
    let stage = Stage::new(&[]);
    let mapped = |name: &str, kind: &str, id: i64, log: &str| {
        let metadata = match names.mode {
            "none" => json!({}),
            _ => {
                json!({ "delta.columnMapping.id": id, "delta.columnMapping.physicalName": log })
            }
        };
        field(name, json!(kind), metadata)
    };
    let [a, b, day] = names.log;
    let fields = json!([
        mapped("a", "long", 1, a),
        mapped("b", "long", 2, b),
        mapped("day", "string", 3, day),
    ]);
    let features = match names.mode {
        "none" => &["deletionVectors"][..],
        _ => &["deletionVectors", "columnMapping"],
    };
    let properties = json!({ "delta.columnMapping.mode": names.mode });
    let mut log = begun(features, properties, fields, json!(["day"]));
    stage.put(FIRST, "");
    for file in FILES {
        let path = format!("{file}.parquet");
        let rows: Vec<Row> = rows().into_iter().filter(|row| row.file == *file).collect();
        write(&stage.path(&format!("t/{path}")), names.file, &rows);
        let bounds =
            |a: i64, b: i64| Value::from_iter([(names.log[0], json!(a)), (names.log[1], json!(b))]);
        let stats = json!({
            "numRecords": ROWS_OF_A_FILE,
            "minValues": bounds(rows[0].a, rows[24].b.unwrap()),
            "maxValues": bounds(rows[29].a, rows[0].b.unwrap()),
            "nullCount": bounds(0, ROWS_OF_A_GROUP),
        });
        let mut add = json!({
            "path": path, "size": 1, "modificationTime": 1, "dataChange": true, "stats": stats.to_string(),
        });
        add["partitionValues"][day] = json!(file);
        if is_hiding && *file == FILES[0] {
            add["deletionVector"] = json!({
                "storageType": "i", "pathOrInlineDv": VECTOR, "sizeInBytes": 44, "cardinality": HIDDEN.len(),
            });
        }
        log += &format!("{}\n", json!({ "add": add }));
    }
    stage.put(FIRST, &log);
    stage
}

/// Parquet with field ids.
fn write(path: &Path, names: [&str; 2], rows: &[Row]) {
    let numbered = |name: &str, id: &str| {
        let metadata = [(PARQUET_FIELD_ID_META_KEY.to_owned(), id.to_owned())];
        Field::new(name, DataType::Int64, true).with_metadata(metadata.into())
    };
    let schema = Arc::new(Schema::new(vec![numbered(names[0], "1"), numbered(names[1], "2")]));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(rows.iter().map(|row| Some(row.a)).collect::<Int64Array>()),
        Arc::new(rows.iter().map(|row| row.b).collect::<Int64Array>()),
    ];
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROWS_OF_A_GROUP as usize))
        .build();
    let file = File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties)).unwrap();
    writer.write(&RecordBatch::try_new(schema, columns).unwrap()).unwrap();
    writer.close().unwrap();
}

/// What is read through a filter: the rows, and how many rows were read, filtered and skipped, and files skipped.
fn read(source: &Source) -> (Vec<Row>, [u64; 4]) {
    let found = Files::discover(source).unwrap();
    let files_skipped = found.files_skipped;
    let mut files = Files::open(found, 3);
    let passed = files.passed();
    let mut rows = Vec::new();
    while let Some(batch) = files.next_batch().unwrap() {
        let column = |name: &str| batch.rows.column_by_name(name).unwrap();
        let (a, b) =
            (column("a").as_primitive::<Int64Type>(), column("b").as_primitive::<Int64Type>());
        let file =
            FILES.iter().find(|file| batch.origin.file.ends_with(&format!("{file}.parquet")));
        for at in 0..batch.rows.num_rows() {
            let place = batch.origin.row(at).unwrap() as i64 - 1;
            let file = *file.unwrap();
            assert_eq!(column("day").as_string::<i32>().value(at), file);
            let b = b.iter().nth(at).unwrap();
            rows.push(Row { file, place, a: a.value(at), b });
        }
    }
    // A table's files come in the order of its log.
    rows.sort_by_key(|row: &Row| row.file);
    let filtered = passed.filtered();
    let read = rows.len() as u64 + filtered;
    (rows, [read, filtered, passed.skipped(), files_skipped])
}

/// The rows are those that are seen and wanted; read are the row groups that have a wanted row, also a hidden one, and no file
/// that has none is opened.
fn check(names: Names, is_hiding: bool, filter: &str, is_wanted: impl Fn(&Row) -> bool) {
    let stage = table(names, is_hiding);
    let mut source = sources::source(&stage.path("t"), ReadFormat::Delta(AsOf::Newest {}));
    source.filter = Some(filter.to_owned());
    let is_seen = |row: &&Row| !(is_hiding && row.file == FILES[0] && HIDDEN.contains(&row.place));
    let (mut right, mut read_rows, mut skipped, mut files_skipped) = (Vec::new(), 0, 0, 0);
    for file in FILES {
        let own: Vec<Row> = rows().into_iter().filter(|row| row.file == *file).collect();
        if !own.iter().any(&is_wanted) {
            files_skipped += 1;
            continue;
        }
        for group in own.chunks(ROWS_OF_A_GROUP as usize) {
            let seen: Vec<&Row> = group.iter().filter(is_seen).collect();
            match group.iter().any(&is_wanted) {
                true => read_rows += seen.len() as u64,
                false => skipped += seen.len() as u64,
            }
            right.extend(seen.into_iter().filter(|row| is_wanted(row)).copied());
        }
    }
    let counts = [read_rows, read_rows - right.len() as u64, skipped, files_skipped];
    assert_eq!(read(&source), (right, counts), "{names:?}, {is_hiding}, {filter}");
}

fn check_all(names: Names, is_hiding: bool) {
    let check = |filter: &str, is_wanted: &dyn Fn(&Row) -> bool| {
        check(names, is_hiding, filter, is_wanted);
    };
    check("a >= 0", &|_| true);
    check("a > 100", &|_| false);
    check("a BETWEEN 7 AND 12", &|row| (7..=12).contains(&row.a));
    // Hidden, in the last row group; the ones before it are skipped.
    check("a = 29", &|row| row.a == 29);
    check("a IN (17, 18, 48)", &|row| [17, 18, 48].contains(&row.a));
    check("b < 960 AND day = 'y'", &|row| row.b.is_some_and(|b| b < 960) && row.file == "y");
    check("b >= 985 OR a > 52", &|row| row.b.is_some_and(|b| b >= 985) || row.a > 52);
    check("b IS NULL", &|row| row.b.is_none());
    check("b IS NULL AND day < 'y'", &|row| row.b.is_none() && row.file == "x");
    check("b > 0 AND a > 20", &|row| row.b.is_some() && row.a > 20);
}

#[test]
fn columns_of_other_names_rule_out_row_groups_and_files() {
    for names in NAMES {
        check_all(*names, false);
    }
}

#[test]
fn row_groups_with_hidden_rows_are_ruled_out_and_the_others_keep_their_places() {
    for names in NAMES {
        check_all(*names, true);
    }
}
