//! Round trips through both directions, and through arrow's own reader.
#![expect(clippy::unwrap_used, reason = "a failed test panics")]

use super::*;
use crate::encode::{encode_batch, encode_schema, is_plain};
use arrow_array::builder::*;
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_buffer::{NullBuffer, i256};
use arrow_ipc::reader::StreamReader;
use arrow_schema::{DataType, Field, TimeUnit};
use std::io::Cursor;
use std::sync::Arc;

const ROWS: usize = 100;

/// A NULL in every seventh row.
fn some<T>(row: usize, value: T) -> Option<T> {
    (row % 7 != 3).then_some(value)
}

fn texts() -> impl Iterator<Item = Option<String>> {
    (0..ROWS).map(|row| some(row, "ä".repeat(row % 20)))
}

fn nested() -> Vec<(&'static str, ArrayRef)> {
    let lists = (0..ROWS).map(|row| some(row, (0..row % 5).map(move |at| some(at, row as i32))));
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(lists.clone());
    let large = LargeListArray::from_iter_primitive::<Int32Type, _, _>(lists);
    let mut list_of_texts = ListBuilder::new(StringBuilder::new());
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    for row in 0..ROWS {
        for at in 0..row % 4 {
            list_of_texts.values().append_option(some(at, format!("{row}-{at}")));
            map.keys().append_value(format!("k{at}"));
            map.values().append_option(some(at + row, row as i64));
        }
        list_of_texts.append(row % 6 != 1);
        map.append(row % 5 != 2).unwrap();
    }
    let pairs: Int64Array = (0..2 * ROWS).map(|at| some(at, at as i64)).collect();
    let item = Arc::new(Field::new("item", DataType::Int64, true));
    let valid = NullBuffer::from_iter((0..ROWS).map(|row| row % 9 != 4));
    let pairs = FixedSizeListArray::new(item, 2, Arc::new(pairs), Some(valid.clone()));
    let inner: ArrayRef = Arc::new(list.clone());
    let flags: ArrayRef =
        Arc::new((0..ROWS).map(|row| some(row, row % 2 == 0)).collect::<BooleanArray>());
    let fields = vec![
        Field::new("l", inner.data_type().clone(), true),
        Field::new("b", DataType::Boolean, true),
    ];
    let structs = StructArray::new(fields.into(), vec![inner, flags], Some(valid));
    vec![
        ("list", Arc::new(list)),
        ("large_list", Arc::new(large)),
        ("list_of_texts", Arc::new(list_of_texts.finish())),
        ("map", Arc::new(map.finish())),
        ("pairs", Arc::new(pairs)),
        ("struct", Arc::new(structs)),
    ]
}

fn flat() -> Vec<(&'static str, ArrayRef)> {
    let rows = || (0..ROWS).map(|row| some(row, row));
    let mut blobs = FixedSizeBinaryBuilder::new(3);
    let mut view = StringViewBuilder::new();
    for row in 0..ROWS {
        match some(row, row as u8) {
            Some(byte) => blobs.append_value([byte; 3]).unwrap(),
            None => blobs.append_null(),
        }
        view.append_option(some(row, "long enough to live outside of the view ".repeat(row % 3)));
    }
    let micros: TimestampMicrosecondArray = rows().map(|row| row.map(|row| row as i64)).collect();
    let decimals: Decimal128Array = rows().map(|row| row.map(|row| row as i128 - 50)).collect();
    let wide: Decimal256Array =
        rows().map(|row| row.map(|row| i256::from_i128(row as i128))).collect();
    let texts_binary: BinaryArray = texts().map(|text| text.map(String::into_bytes)).collect();
    vec![
        ("null", Arc::new(NullArray::new(ROWS))),
        ("bool", Arc::new(rows().map(|row| row.map(|row| row % 3 == 0)).collect::<BooleanArray>())),
        ("i8", Arc::new(rows().map(|row| row.map(|row| row as i8)).collect::<Int8Array>())),
        ("i64", Arc::new(rows().map(|row| row.map(|row| row as i64)).collect::<Int64Array>())),
        ("full", Arc::new((0..ROWS as u32).collect::<UInt32Array>())),
        (
            "f64",
            Arc::new(rows().map(|row| row.map(|row| row as f64 / 3.0)).collect::<Float64Array>()),
        ),
        ("date", Arc::new(rows().map(|row| row.map(|row| row as i32)).collect::<Date32Array>())),
        ("micros", Arc::new(micros.with_timezone("UTC"))),
        ("decimal", Arc::new(decimals.with_precision_and_scale(20, 3).unwrap())),
        ("wide", Arc::new(wide)),
        ("blob", Arc::new(blobs.finish())),
        ("utf8", Arc::new(texts().collect::<StringArray>())),
        ("large_utf8", Arc::new(texts().collect::<LargeStringArray>())),
        ("binary", Arc::new(texts_binary)),
        ("utf8_view", Arc::new(view.finish())),
        ("seconds", Arc::new((0..ROWS as i32).map(Some).collect::<Time32SecondArray>())),
    ]
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    )
    .unwrap()
}

/// What arrow's own reader makes of our bytes.
fn read_by_arrow(batch: &RecordBatch) -> RecordBatch {
    let stream = [encode_schema(batch.schema_ref()), encode_batch(batch).unwrap()].concat();
    let mut reader = StreamReader::try_new(Cursor::new(stream), None).unwrap();
    let read = reader.next().unwrap().unwrap();
    assert!(reader.next().is_none(), "one batch");
    read
}

fn check(batch: &RecordBatch) {
    let bytes = encode_batch(batch).unwrap();
    assert_eq!(bytes.len(), bytes.capacity(), "made in one piece");
    assert_eq!(bytes.len() % 64, 0);
    let schema = Arc::new(decode_schema(&encode_schema(batch.schema_ref())).unwrap());
    assert_eq!(&schema, batch.schema_ref());
    assert_eq!(&decode_batch(bytes, &schema).unwrap(), batch);
    assert_eq!(&read_by_arrow(batch), batch);
}

#[test]
fn every_type_survives_sliced_or_not() {
    for (name, array) in flat().into_iter().chain(nested()) {
        for (offset, length) in [(0, ROWS), (0, 17), (8, 64), (13, 50), (ROWS - 1, 1), (5, 0)] {
            // The name is that of the column, and so part of what a failure shows.
            check(&batch(vec![(name, array.slice(offset, length))]));
        }
    }
}

#[test]
fn a_slice_sends_its_own_rows_only() {
    let texts: StringArray = (0..10_000).map(|row| Some(format!("row number {row}"))).collect();
    let bytes = encode_batch(&batch(vec![("text", Arc::new(texts.slice(9_000, 10)))])).unwrap();
    assert!(bytes.len() < 1_000, "{} bytes", bytes.len());
}

#[test]
fn batches_without_columns_or_rows_survive() {
    let options = RecordBatchOptions::new().with_row_count(Some(12));
    check(&RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options).unwrap());
    check(&RecordBatch::new_empty(batch(flat().into_iter().chain(nested()).collect()).schema()));
    check(&batch(flat().into_iter().chain(nested()).collect()));
}

#[test]
fn dictionaries_come_before_their_batch() {
    let one: DictionaryArray<Int32Type> = ["a", "b", "a", "c"].into_iter().map(Some).collect();
    let two: DictionaryArray<Int32Type> = [Some("x"), None, Some("y"), None].into_iter().collect();
    let batch = batch(vec![
        ("one", Arc::new(one)),
        ("n", Arc::new(Int32Array::from(vec![1; 4]))),
        ("two", Arc::new(two)),
    ]);
    assert!(!is_plain(batch.column(0).data_type()));
    let schema = Arc::new(decode_schema(&encode_schema(batch.schema_ref())).unwrap());
    assert_eq!(decode_batch(encode_batch(&batch).unwrap(), &schema).unwrap(), batch);
    assert_eq!(read_by_arrow(&batch), batch);
}

#[test]
fn columns_are_the_host_s_bytes_not_copies() {
    let batch = batch(vec![("i64", flat()[3].1.clone())]);
    let bytes = encode_batch(&batch).unwrap();
    let range = bytes.as_ptr_range();
    let decoded = decode_batch(bytes, &batch.schema()).unwrap();
    let column = decoded.column(0).to_data();
    assert!(range.contains(&column.buffers()[0].as_ptr()));
}

#[test]
fn bytes_at_any_address_are_read() {
    let batch = batch(flat());
    let bytes = encode_batch(&batch).unwrap();
    for skew in 0..17 {
        let mut room = vec![0_u8; bytes.len() + 17];
        room[skew..skew + bytes.len()].copy_from_slice(&bytes);
        let buffer = Buffer::from_vec(room).slice_with_length(skew, bytes.len());
        // A vector cannot start in the middle of an allocation; what `decode_batch` does with it can be asked.
        let (head, after) = head(&match buffer.as_ptr().align_offset(ALIGNMENT) {
            0 => buffer.clone(),
            _ => Buffer::from_slice_ref(buffer.as_slice()),
        })
        .unwrap();
        let message = root_as_message(head.as_slice()).unwrap();
        let body = buffer.slice(after);
        assert_eq!(read_batch(&message, &body, &batch.schema(), &HashMap::new()).unwrap(), batch);
    }
}

#[test]
fn broken_bytes_are_refused() {
    let batch = batch(vec![("t", flat()[11].1.clone())]);
    let bytes = encode_batch(&batch).unwrap();
    let refused =
        |bytes: &[u8]| decode_batch(bytes.to_vec(), &batch.schema()).unwrap_err().to_string();
    assert!(refused(&[]).contains("the end"));
    assert!(refused(&[0; 64]).contains("no continuation marker"));
    assert!(refused(&bytes[..40]).contains("metadata longer"));
    assert!(refused(&bytes[..bytes.len() - 64]).contains("body longer"));
    assert!(refused(&encode_schema(&batch.schema())).contains("Schema"));
    let micros = DataType::Timestamp(TimeUnit::Microsecond, None);
    let other = Arc::new(Schema::new(vec![
        Field::new("t", micros.clone(), true),
        Field::new("u", micros, true),
    ]));
    assert!(decode_batch(bytes, &other).is_err());
}
