//! Values of every type, through our writers and back: by our own readers, and by others' (`tests/readers/read_back.py`).

use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BinaryArray;
use arrow::array::BooleanArray;
use arrow::array::Date32Array;
use arrow::array::Decimal128Array;
use arrow::array::Float64Array;
use arrow::array::Int64Array;
use arrow::array::ListArray;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::StructArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::UInt8Array;
use arrow::array::UInt64Array;
use arrow::compute::concat_batches;
use arrow::datatypes::Field;
use arrow::datatypes::Int64Type;
use wasmhost::flow::CsvRead;
use wasmhost::flow::CsvWrite;
use wasmhost::flow::DateFolders;
use wasmhost::flow::JsonRead;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;
use wasmhost::flow::WriteFormat;
use wasmhost::name::ColumnName;
use wasmhost::source::Files;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;

use super::APPEND;
use super::OVERWRITE;
use super::by_group;
use super::formats;
use super::run;
use super::target;
use super::written;

const FIRST_MICROS: i64 = -62_135_596_800_000_000;
const LAST_MICROS: i64 = 253_402_300_799_999_999;

/// Plain values, the awkward ones first, NULL last.
fn plain() -> RecordBatch {
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from(vec![Some(i64::MIN), Some(i64::MAX), None]))),
        ("text", Arc::new(StringArray::from(vec![Some("a\"b,c\r\nü\t\\ "), Some(""), None]))),
        ("flag", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None]))),
        (
            "real",
            Arc::new(Float64Array::from(vec![
                Some(0.1 + 0.2),
                Some(-1.797_693_134_862_315_7e308),
                None,
            ])),
        ),
        ("day", Arc::new(Date32Array::from(vec![Some(-719_162), Some(2_932_896), None]))),
        (
            "at",
            Arc::new(
                TimestampMicrosecondArray::from(vec![Some(FIRST_MICROS), Some(LAST_MICROS), None])
                    .with_timezone("UTC"),
            ),
        ),
        (
            "local",
            Arc::new(TimestampMicrosecondArray::from(vec![Some(FIRST_MICROS), Some(1), None])),
        ),
        ("price", Arc::new(decimal(vec![Some(10_i128.pow(38) - 1), Some(-150), None], 38, 2))),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn decimal(values: Vec<Option<i128>>, precision: u8, scale: i8) -> Decimal128Array {
    Decimal128Array::from(values).with_precision_and_scale(precision, scale).unwrap()
}

/// The same and what no text holds.
pub(super) fn rich() -> RecordBatch {
    let plain = plain();
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        Some(vec![]),
        None,
    ]);
    let inner: ArrayRef = Arc::new(StringArray::from(vec![Some("x"), None, None]));
    let object = StructArray::from(vec![(
        Arc::new(Field::new("s", inner.data_type().clone(), true)),
        inner,
    )]);
    let more: Vec<(&str, ArrayRef)> = vec![
        ("bytes", Arc::new(BinaryArray::from(vec![Some(&b"\x00\xff"[..]), Some(b""), None]))),
        ("tiny", Arc::new(UInt8Array::from(vec![Some(255), Some(0), None]))),
        ("huge", Arc::new(UInt64Array::from(vec![Some(u64::MAX), Some(0), None]))),
        ("small", Arc::new(decimal(vec![Some(9), Some(-9), None], 1, 0))),
        ("list", Arc::new(lists)),
        ("object", Arc::new(object)),
    ];
    let schema = plain.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let columns: Vec<_> = names.zip(plain.columns().iter().cloned()).chain(more).collect();
    RecordBatch::try_from_iter(columns).unwrap()
}

/// All that a format holds.
pub(super) fn held(format: &WriteFormat) -> RecordBatch {
    match format {
        WriteFormat::Csv(_) | WriteFormat::Jsonl(_) | WriteFormat::Json(_) => plain(),
        WriteFormat::Avro(_) => {
            let rich = rich();
            let names = rich.schema();
            // Whole numbers without a sign are refused.
            let places = (0..rich.num_columns())
                .filter(|at| !["tiny", "huge"].contains(&names.field(*at).name().as_str()));
            rich.project(&places.collect::<Vec<_>>()).unwrap()
        }
        WriteFormat::Delta(_)
        | WriteFormat::Parquet(_)
        | WriteFormat::View(_)
        | WriteFormat::Arrow(_) => rich(),
    }
}

pub(super) fn write(path: &Path, format: &WriteFormat, batch: &RecordBatch) {
    let mut target = target(path, format, "r", APPEND);
    target.schema = batch.schema();
    let _ = run(written(target, std::slice::from_ref(batch))).unwrap();
}

pub(super) fn source(path: &Path, format: ReadFormat, like: &RecordBatch) -> Source {
    let hint =
        |field: &Arc<Field>| (ColumnName::new(field.name()).unwrap(), field.data_type().clone());
    Source {
        schema_hints: like.schema().fields().iter().map(hint).collect(),
        ..crate::sources::source(path, format)
    }
}

pub(super) fn read(path: &Path, format: ReadFormat, like: &RecordBatch) -> RecordBatch {
    let mut files = Files::open(Files::discover(&source(path, format, like)).unwrap(), 2);
    let mut batches = Vec::new();
    while let Some(batch) = files.next_batch().unwrap() {
        batches.push(batch.rows);
    }
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// What reads files of the format as they were written.
pub(super) fn reader(format: &WriteFormat) -> ReadFormat {
    match format {
        WriteFormat::Delta(_) | WriteFormat::Parquet(_) | WriteFormat::View(_) => {
            ReadFormat::Parquet {}
        }
        WriteFormat::Csv(options) => ReadFormat::Csv(CsvRead {
            encoding: encoding_rs::UTF_8,
            header: options.header,
            names: None,
            delimiter: options.delimiter,
            quote: options.quote,
            escape: options.escape,
            null_values: Vec::new(),
            infer_schema_rows: None,
        }),
        WriteFormat::Jsonl(_) => ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }),
        WriteFormat::Json(_) => ReadFormat::Json(JsonRead { infer_schema_rows: None }),
        WriteFormat::Arrow(_) => ReadFormat::Arrow {},
        WriteFormat::Avro(_) => ReadFormat::Avro {},
    }
}

#[test]
fn plain_values_come_back_whole() {
    for format in &formats()[1..] {
        let reader = reader(format);
        for batch in [plain(), held(format)] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            write(&path, format, &batch);
            let back = read(&path, reader.clone(), &batch);
            for (column, name) in batch.columns().iter().zip(batch.schema().fields()) {
                let name = name.name();
                let got = back.column_by_name(name).unwrap();
                assert_eq!(got, column, "{}: {name}", format.name());
            }
        }
    }
}

#[test]
fn folders_may_have_any_name() {
    for format in formats() {
        // Flat files never leave the file system's own calls, so that one name with everything in it will do.
        let names: &[&str] = match format {
            WriteFormat::Delta(_) => &[
                "a b", "ü", "#", "?", "&=", "[x]{y}", "'", "\"", "*", "<|>", "^`", ":", ";,", "+",
                "~", "100%", "a%20b", "a\\b", "tab\t", "日本",
            ],
            _ => &["a b ü # ? &=[x]{y}'\"*<|>^`:;,+~100%a%20b\\tab\t日本"],
        };
        for name in names {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name).join("t");
            let wrote = run(async {
                let _ = written(target(&path, &format, "a", APPEND), &[super::rows(&[(1, None)])])
                    .await?;
                written(target(&path, &format, "b", OVERWRITE), &[super::rows(&[(2, None)])]).await
            });
            // Delta's libraries decode some paths once too often.
            let refused =
                matches!(format, WriteFormat::Delta(_)) && name.contains(['%', '\\', '\t']);
            match wrote {
                Ok(_) => {
                    assert_eq!(super::lines(&path, &format), ["2|-"], "{}: {name}", format.name())
                }
                Err(error) => {
                    assert!(refused && error.is_users(), "{}: {name}: {error}", format.name());
                    assert_eq!(
                        std::fs::read_dir(folder.path()).unwrap().count(),
                        0,
                        "{name}: nothing is made"
                    );
                }
            }
        }
    }
}

#[test]
fn sources_pass_over_what_does_not_count() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let like = super::rows(&[]);
    let parquet = &formats()[1];
    for (run_id, id) in [("a", 1), ("b", 2)] {
        let _ = run(written(target(&path, parquet, run_id, APPEND), &[super::rows(&[(id, None)])]))
            .unwrap();
    }
    // As after a kill between the moves and the manifest.
    std::fs::remove_file(path.join("_wasmhost/b.json")).unwrap();
    assert_eq!(
        read(&path, ReadFormat::Parquet {}, &like).columns(),
        super::rows(&[(1, None)]).columns()
    );
    let table = folder.path().join("table");
    let _ = run(written(target(&table, &formats()[0], "a", APPEND), &[super::rows(&[(1, None)])]))
        .unwrap();
    let error =
        Files::discover(&source(&table, ReadFormat::Parquet {}, &like)).unwrap_err().to_string();
    assert!(error.contains("a Delta table is there"), "{error}");
}

#[test]
#[ignore = "writes for readers that are not ours: set WASMHOST_EXCHANGE to an empty folder, then run tests/readers/read_back.py"]
fn tables_for_other_readers() {
    let root = PathBuf::from(std::env::var_os("WASMHOST_EXCHANGE").unwrap());
    for format in formats() {
        let name = format.name();
        write(&root.join(name), &format, &held(&format));
        let odd = [
            "North West",
            "a/b",
            "a=b",
            "a%20b",
            "a b",
            "ü",
            "100%",
            "x+y",
            "..",
            "\t",
            "o'brien",
            "C:\\d",
            " lead",
            "trail ",
        ];
        let mut values: Vec<_> =
            odd.iter().enumerate().map(|(id, value)| (id as i64, Some(*value))).collect();
        values.push((99, None));
        let split = |run_id, change| {
            by_group(target(&root.join(format!("{name}-split")), &format, run_id, change))
        };
        let _ = run(written(split("a", APPEND), &[super::rows(&[(7, Some("gone"))])])).unwrap();
        let _ = run(written(split("b", OVERWRITE), &[super::rows(&values)])).unwrap();
        let _ = run(written(split("c", APPEND), &[super::rows(&[(100, Some("a/b"))])])).unwrap();
    }
    for (n, (format, _)) in super::compressed::all().into_iter().enumerate() {
        write(&root.join(format!("packed/{n}-{}", format.name())), &format, &held(&format));
    }
    for format in &formats()[1..] {
        let path = root.join(format!("{}-parts", format.name()));
        let part = |run_id, change| {
            let mut target = by_group(target(&path, format, run_id, change));
            target.schema = super::rows(&[]).schema();
            target
        };
        let all = [(1, Some("a b")), (2, Some("a%20b")), (3, None), (4, Some("a b"))];
        let _ = run(written(part("a", APPEND), &[super::rows(&all)])).unwrap();
        let scope = Scope::Partitions;
        let change = TableChange::Replace { scope, allow_empty: false };
        let rows = super::rows(&[(9, Some("a b")), (8, None)]);
        let _ = run(written(part("b", change), &[rows])).unwrap();
        for (run_id, hours, change) in [("a", 0, APPEND), ("b", 24, APPEND), ("c", 25, OVERWRITE)] {
            let path = root.join(format!("{}-dated", format.name()));
            let mut target = target(&path, format, run_id, change);
            target.date_folders = Some(DateFolders::new("dt={year}-{month}-{day}").unwrap());
            target.run.started_at += chrono::Duration::hours(hours);
            let _ = run(written(target, &[super::rows(&[(hours, None)])])).unwrap();
        }
    }
    let quoted = CsvWrite {
        delimiter: b'|',
        quote: b'\'',
        escape: Some(b'\\'),
        null_value: "NULL".to_owned(),
        ..CsvWrite::default()
    };
    let odd = super::rows(&[
        (1, Some("it's")),
        (2, Some("a|b\\")),
        (3, None),
        (4, Some("NULL")),
        (5, Some("\"\n")),
        (6, Some("")),
    ]);
    write(&root.join("quoted"), &WriteFormat::Csv(quoted), &odd);
}
