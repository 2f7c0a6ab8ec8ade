//! Values in files that were rewritten, and the bounds that files have then.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::Float64Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StructArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::new_null_array;
use arrow::compute::SortOptions;
use arrow::compute::sort;
use arrow::datatypes::Field;
use arrow::datatypes::TimestampMicrosecondType;
use parquet::data_type::Int64Type;
use parquet::data_type::Int96;
use parquet::data_type::Int96Type;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use serde_json::Value;
use serde_json::json;
use wasmhost::flow::SchemaChange;
use wasmhost::writer::Target;

use super::done;
use super::files;
use super::optimized;
use super::put_entry;
use super::sized;
use super::tidy;
use crate::writers::exchange::rich;
use crate::writers::run;
use crate::writers::table::live;
use crate::writers::written;

/// Values of every type, NaN of several kinds among them.
fn odd_values() -> RecordBatch {
    let rich = rich();
    let nans = [f64::from_bits(0x7FF8_0000_0000_0001), -0.0, f64::from_bits(0xFFF0_0000_0000_0002)];
    let nans: ArrayRef = Arc::new(Float64Array::from(nans.to_vec()));
    let schema = rich.schema();
    let names = schema.fields().iter().map(|field| field.name().as_str());
    let columns = names.zip(rich.columns().iter().cloned()).chain([("nan", nans)]);
    RecordBatch::try_from_iter(columns).unwrap()
}

#[test]
fn values_of_every_type_stay_as_they_are() {
    let all = odd_values();
    let narrow = all.project(&[0, 6]).unwrap();
    let flat: Vec<_> = all.schema().fields().iter().map(|field| field.name().clone()).collect();
    let flat: Vec<_> =
        flat.into_iter().filter(|name| !["list", "object"].contains(&name.as_str())).collect();
    let orders = flat.iter().map(|name| vec![name.as_str()]).chain([vec![]]);
    for zorder in orders {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let to = |run_id, batch: &RecordBatch| {
            let target = sized(tidy(&path, run_id, &zorder), 1 << 20, batch.schema());
            Target { schema_change: SchemaChange::Merge, ..target }
        };
        run(async {
            let _ = written(to("a", &narrow), std::slice::from_ref(&narrow)).await.unwrap();
            let _ = written(to("b", &all), std::slice::from_ref(&all)).await.unwrap();
            let before = files(&path);
            let outcome = optimized(&to("c", &all), std::slice::from_ref(&all)).await;
            assert_eq!(outcome, done(3, 1, 3));
            let after = &files(&path)[0];
            // As the files of one schema have them, absent columns NULL.
            let wide = before.iter().find(|batch| batch.num_columns() > 2).unwrap();
            for (place, field) in wide.schema().fields().iter().enumerate() {
                let column = after.column(place);
                let absent = new_null_array(field.data_type(), narrow.num_rows());
                let first = narrow.column_by_name(field.name()).unwrap_or(&absent);
                let rows = [first.as_ref(), wide.column(place), wide.column(place)];
                let expected = arrow::compute::concat(&rows).unwrap();
                assert_eq!(column.data_type(), field.data_type());
                let name = field.name().as_str();
                match zorder.first() {
                    None => assert_eq!(column.to_data(), expected.to_data(), "{name}"),
                    Some(by) if *by == name => {
                        let nulls_first = SortOptions { descending: false, nulls_first: true };
                        let sorted = sort(&expected, Some(nulls_first)).unwrap();
                        assert_eq!(column.to_data(), sorted.to_data(), "by {name}");
                    }
                    Some(_) => assert_eq!(column.null_count(), expected.null_count(), "{name}"),
                }
            }
        });
    }
}

/// How much of the square the files' bounds cover, summed, in units of the square.
fn covered(path: &Path) -> (usize, f64) {
    let bounds = live(path, usize::MAX).into_iter().map(|(_, add)| {
        let stats: Value = serde_json::from_str(add["stats"].as_str().unwrap()).unwrap();
        let side = |column: &str| {
            let at = |bound: &str| stats[bound][column].as_f64().unwrap();
            at("maxValues") - at("minValues")
        };
        side("x") * side("y") / 1e12
    });
    let all: Vec<_> = bounds.collect();
    (all.len(), all.iter().sum())
}

#[test]
fn along_a_curve_the_bounds_of_files_are_narrow() {
    let points = |n: i64| {
        let column = |factor: i64| -> ArrayRef {
            let values = (n * 2_000..(n + 1) * 2_000).map(|row| row * factor % 1_000_003);
            Arc::new(Int64Array::from_iter_values(values))
        };
        RecordBatch::try_from_iter([("x", column(179_424_673)), ("y", column(715_827_883))])
            .unwrap()
    };
    let laid_out = |zorder: &[&str], memory_bytes: u64| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        run(async {
            for n in 0..10 {
                let to = tidy(&path, &format!("r{n}"), zorder);
                let to = Target { memory_bytes, ..sized(to, 1 << 14, points(0).schema()) };
                let _ = optimized(&to, &[points(n)]).await;
            }
        });
        let rows: usize = files(&path).iter().map(RecordBatch::num_rows).sum();
        assert_eq!(rows, 20_000);
        covered(&path)
    };
    let (files_plain, plain) = laid_out(&[], 64 << 20);
    assert!(files_plain > 8 && plain > 0.9 * files_plain as f64, "{files_plain}: {plain}");
    let (files_near, near) = laid_out(&["x", "y"], 64 << 20);
    assert!((files_plain / 2..files_plain * 3).contains(&files_near), "{files_near}");
    assert!(near < plain / 3.0, "{near} of {plain}");
    // With memory for some rows at a time, the bounds are wider, and still far from all.
    let (files_tight, tight) = laid_out(&["x", "y"], 400_000);
    assert!(files_tight < files_near * 2 && tight < plain / 1.5, "{files_tight}: {tight}");
}

/// One row of `id`, `at` and `o.t`, with a timestamp of 96 bits: 9999-12-31 and a microsecond.
fn old_file(path: &Path) {
    let message = "message m { optional int64 id; optional int96 at; optional group o { optional int96 t; } }";
    let schema = Arc::new(parse_message_type(message).unwrap());
    let file = fs::File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<Int64Type>().write_batch(&[7], Some(&[1]), None).unwrap();
    column.close().unwrap();
    for level in [1, 2] {
        let mut column = group.next_column().unwrap().unwrap();
        let value = Int96::from(vec![1_000, 0, 2_440_588 + 2_932_896]);
        column.typed::<Int96Type>().write_batch(&[value], Some(&[level]), None).unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
}

#[test]
fn timestamps_of_96_bits_keep_their_years() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let at: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![1]).with_timezone("UTC"));
    let t = Arc::new(Field::new("t", at.data_type().clone(), true));
    let o: ArrayRef = Arc::new(StructArray::from(vec![(t, Arc::clone(&at))]));
    let id: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let batch = RecordBatch::try_from_iter([("id", id), ("at", at), ("o", o)]).unwrap();
    let to = |run_id: &str| sized(tidy(&path, run_id, &[]), 1 << 20, batch.schema());
    run(async {
        let _ = written(to("a"), std::slice::from_ref(&batch)).await.unwrap();
        old_file(&path.join("old.parquet"));
        let add = json!({ "path": "old.parquet", "partitionValues": {}, "size": 500,
            "modificationTime": 1, "dataChange": true, "stats": "{\"numRecords\":1}" });
        put_entry(&path, 1, &[json!({ "add": add })]);
        assert_eq!(optimized(&to("b"), std::slice::from_ref(&batch)).await, done(3, 1, 3));
    });
    let rows = &files(&path)[0];
    let right = [1, 2_932_896 * 86_400_000_000 + 1, 1];
    let nested = rows.column(2).as_struct().column(0);
    for column in [rows.column(1), nested] {
        assert_eq!(column.as_primitive::<TimestampMicrosecondType>().values(), &right);
    }
}
