//! Files that were cut, damaged or are something else: an error that names them, never fewer rows.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::sources::csv;
use arrow::array::RecordBatch;
use arrow_avro::compression::CompressionCodec;
use arrow_avro::writer::WriterBuilder;
use arrow_avro::writer::format::AvroOcfFormat;
use wasmhost::flow::ArrowCompression;
use wasmhost::flow::ArrowWrite;
use wasmhost::flow::AvroCompression;
use wasmhost::flow::AvroWrite;
use wasmhost::flow::CsvWrite;
use wasmhost::flow::JsonWrite;
use wasmhost::flow::ParquetWrite;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::TextCompression;
use wasmhost::flow::WriteFormat;
use wasmhost::storage::encode::Encoder;

use super::JSON;
use super::fixture;
use super::read;

#[test]
fn a_file_that_was_cut_anywhere_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, bytes, rows) in whole(folder.path()) {
        assert_eq!(read(folder.path(), name, &format, &bytes), Ok(rows), "{name}");
        for tenth in 0..10 {
            let cut = &bytes[..bytes.len() * tenth / 10];
            let read = read(folder.path(), name, &format, cut);
            assert!(read.is_err(), "{name}, {tenth} tenths of it: {read:?}");
        }
    }
}

#[test]
fn a_file_with_a_flipped_bit_never_has_fewer_rows_than_it_says_and_never_panics() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format, bytes, rows) in whole(folder.path()) {
        // What others packed so is flipped already.
        if name.starts_with("b.csv") {
            continue;
        }
        let mut wrong = 0;
        // All bytes of what is small, some of what is not.
        let places = bytes.len().min(1_500);
        for place in 0..places {
            let mut flipped = bytes.clone();
            let at = bytes.len() * place / places;
            flipped[at] ^= 1 << (place % 8);
            match read(folder.path(), name, &format, &flipped) {
                // Values have no checksum in some formats; how many rows there are is said in all but text.
                Ok(found) if matches!(format, ReadFormat::Json(_)) => {
                    assert!(found > 0, "{name} {at}")
                }
                Ok(found) => assert_eq!(found, rows, "{name} {at}"),
                Err(_) => wrong += 1,
            }
        }
        assert!(wrong > 0, "{name}: no flip was noticed");
    }
}

#[test]
fn claims_that_do_not_hold_are_errors_and_not_fewer_rows_or_endless_work() {
    let folder = tempfile::tempdir().unwrap();
    let stored = |name: &str| fs::read(fixture(name)).unwrap();
    let check = |name: &str, format: &ReadFormat, bytes: &[u8], right: &str| {
        let error = read(folder.path(), name, format, bytes).unwrap_err();
        assert!(error.contains(right), "{name}: {error}");
    };
    // A block of three records that claims two, four, or a great many.
    let avro = stored("table.avro");
    let head = avro.windows(16).position(|window| window == b"0123456789abcdef").unwrap() + 16;
    assert_eq!(avro[head], 6, "three, as a varint");
    for (count, right) in [
        (&[4][..], "a block holds more than the records that it claims"),
        (&[8], "a value ends behind its block"),
        (&[0xfe, 0xff, 0xff, 0xff, 0xff, 0x7f], "a block claims more records than columns hold"),
    ] {
        let claimed = [&avro[..head], count, &avro[head + 1..]].concat();
        let error = read(folder.path(), "a.avro", &ReadFormat::Avro {}, &claimed).unwrap_err();
        assert!(error.contains(right) || error.contains("failed to fill"), "{error}");
    }
    let twice = [stored("table.arrows"), stored("table.arrows")].concat();
    check("a.arrows", &ReadFormat::Arrow {}, &twice, "there is more behind the end of the stream");
}

#[test]
fn text_that_was_cut_within_a_record_is_an_error_and_an_empty_file_has_no_header() {
    let folder = tempfile::tempdir().unwrap();
    let read = |format: ReadFormat, text: &str| read(folder.path(), "f", &format, text.as_bytes());
    let csv = || ReadFormat::Csv(csv());
    assert!(read(csv(), "").unwrap_err().contains("it is empty: not even a header"));
    assert_eq!(read(csv(), "id,name\n"), Ok(0));
    assert!(read(csv(), "id,name\n1,a\n2").unwrap_err().contains("f:3"), "ragged");
    assert!(read(csv(), "id,name\n1,\"a\n2").unwrap_err().contains("f:2"), "an open quote");
    let lines = || ReadFormat::Jsonl(JSON);
    assert_eq!(read(lines(), ""), Ok(0));
    assert!(read(lines(), "{\"a\":1}\n{\"a\":").unwrap_err().contains("f:2"));
    for (text, right) in [
        ("", "f:1: it is empty: not even an empty array"),
        ("{\"a\":1}\n{\"a\":2}", "f:2: there is more behind the document"),
        ("[{\"a\":1},\n{\"a\":x}]", "f:2: expected value"),
        ("[{\"a\":1},\n{\"a\":[1]}]", "f:2: a: it is a list here and a number before"),
    ] {
        let error = read(ReadFormat::Json(JSON), text).unwrap_err();
        assert!(error.contains(right), "{text}: {error}");
    }
}

#[test]
fn a_file_of_another_format_is_refused_with_what_it_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"id,name\n1,a\n2,b\n3,c\n4,d\n";
    for (format, right) in [
        (ReadFormat::Parquet {}, "it is no Parquet file"),
        (ReadFormat::Arrow {}, "it is no Arrow file, and no Arrow stream that was ended"),
        (ReadFormat::Avro {}, "it is no whole Avro file: it begins otherwise"),
        (ReadFormat::Orc {}, "it is no ORC file"),
        (ReadFormat::Json(JSON), ":1: an object is due here"),
    ] {
        let error = read(folder.path(), "f.csv", &format, text).unwrap_err();
        assert!(error.contains(right), "{error}");
    }
}

/// Rows of several types, as a file of this format.
fn written(folder: &Path, format: &WriteFormat) -> Vec<u8> {
    let rows: Vec<_> = (0..60_i64).collect();
    let batch = RecordBatch::try_from_iter([
        ("id", Arc::new(arrow::array::Int64Array::from(rows.clone())) as _),
        (
            "name",
            Arc::new(
                rows.iter()
                    .map(|n| (n % 7 > 0).then(|| format!("name {n}")))
                    .collect::<arrow::array::StringArray>(),
            ) as _,
        ),
        (
            "ratio",
            Arc::new(arrow::array::Float64Array::from_iter_values(
                rows.iter().map(|n| *n as f64 / 7.0),
            )) as _,
        ),
    ]);
    let batch = batch.unwrap();
    let path = folder.join("written");
    let mut encoder = Encoder::create(path.clone(), &batch.schema(), format).unwrap();
    for start in (0..60).step_by(20) {
        encoder.write(&batch.slice(start, 20)).unwrap();
    }
    encoder.seal().unwrap();
    let bytes = fs::read(&path).unwrap();
    fs::remove_file(path).unwrap();
    bytes
}

/// The same in a codec.
fn packed(folder: &Path, format: &str, codec: &str) -> Vec<u8> {
    let text = match codec {
        "gzip" => TextCompression::Gzip(6),
        "zstd" => TextCompression::Zstd(3),
        "bzip2" => TextCompression::Bzip2(9),
        "xz" => TextCompression::Xz(6),
        _ => TextCompression::None,
    };
    let format = match (format, codec) {
        ("arrow", "lz4") => WriteFormat::Arrow(ArrowWrite { compression: ArrowCompression::Lz4 }),
        ("arrow", _) => WriteFormat::Arrow(ArrowWrite { compression: ArrowCompression::Zstd(3) }),
        ("avro", "snappy") => WriteFormat::Avro(AvroWrite { compression: AvroCompression::Snappy }),
        ("avro", _) => WriteFormat::Avro(AvroWrite { compression: AvroCompression::Deflate }),
        _ => WriteFormat::Csv(CsvWrite { compression: text, ..CsvWrite::default() }),
    };
    written(folder, &format)
}

/// A whole file of each format that says by itself where it ends, and its rows.
fn whole(folder: &Path) -> Vec<(&'static str, ReadFormat, Vec<u8>, usize)> {
    let stored = |name: &str| fs::read(fixture(name)).unwrap();
    vec![
        (
            "a.parquet",
            ReadFormat::Parquet {},
            written(folder, &WriteFormat::Parquet(ParquetWrite::default())),
            60,
        ),
        (
            "a.arrow",
            ReadFormat::Arrow {},
            written(folder, &WriteFormat::Arrow(ArrowWrite::default())),
            60,
        ),
        ("b.arrow", ReadFormat::Arrow {}, stored("table.arrow"), 3),
        ("c.arrow", ReadFormat::Arrow {}, stored("table.arrows"), 3),
        (
            "a.avro",
            ReadFormat::Avro {},
            written(folder, &WriteFormat::Avro(AvroWrite::default())),
            60,
        ),
        ("b.avro", ReadFormat::Avro {}, stored("table.avro"), 3),
        ("a.orc", ReadFormat::Orc {}, stored("table.orc"), 3),
        ("d.arrow", ReadFormat::Arrow {}, packed(folder, "arrow", "lz4"), 60),
        ("e.arrow", ReadFormat::Arrow {}, packed(folder, "arrow", "zstd"), 60),
        ("c.avro", ReadFormat::Avro {}, packed(folder, "avro", "deflate"), 60),
        ("d.avro", ReadFormat::Avro {}, packed(folder, "avro", "snappy"), 60),
        ("b.csv.gz", ReadFormat::Csv(csv()), packed(folder, "csv", "gzip"), 60),
        ("b.csv.zst", ReadFormat::Csv(csv()), packed(folder, "csv", "zstd"), 60),
        ("b.csv.bz2", ReadFormat::Csv(csv()), packed(folder, "csv", "bzip2"), 60),
        ("b.csv.xz", ReadFormat::Csv(csv()), packed(folder, "csv", "xz"), 60),
        (
            "a.json",
            ReadFormat::Json(JSON),
            written(folder, &WriteFormat::Json(JsonWrite::default())),
            60,
        ),
        ("a.csv.gz", ReadFormat::Csv(csv()), stored("text.csv.gz"), 2),
        ("a.csv.zst", ReadFormat::Csv(csv()), stored("text.csv.zst"), 2),
        ("a.csv.bz2", ReadFormat::Csv(csv()), stored("text.csv.bz2"), 2),
        ("a.csv.xz", ReadFormat::Csv(csv()), stored("text.csv.xz"), 2),
    ]
}

#[test]
fn avro_blocks_may_be_packed_in_any_way_that_the_format_knows() {
    let folder = tempfile::tempdir().unwrap();
    let rows = RecordBatch::try_from_iter([(
        "id",
        Arc::new(arrow::array::Int64Array::from_iter_values(0..500)) as _,
    )]);
    let rows = rows.unwrap();
    for codec in [
        CompressionCodec::Deflate,
        CompressionCodec::Snappy,
        CompressionCodec::ZStandard,
        CompressionCodec::Bzip2,
        CompressionCodec::Xz,
    ] {
        let builder = WriterBuilder::new(rows.schema().as_ref().clone());
        let builder = builder.with_compression(Some(codec));
        let mut writer = builder.build::<_, AvroOcfFormat>(Vec::new()).unwrap();
        writer.write(&rows).unwrap();
        writer.write(&rows.slice(0, 7)).unwrap();
        writer.finish().unwrap();
        let bytes = writer.into_inner();
        let done = read(folder.path(), "a.avro", &ReadFormat::Avro {}, &bytes);
        assert_eq!(done, Ok(507), "{codec:?}");
    }
}
