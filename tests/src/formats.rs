//! Formats of files: damaged ones first, then what other libraries wrote (`tests/data/formats`, by its `make.py`).

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow_avro::compression::CompressionCodec;
use arrow_avro::writer::WriterBuilder;
use arrow_avro::writer::format::AvroOcfFormat;
use wasmhost::flow::ArrowCompression;
use wasmhost::flow::ArrowWrite;
use wasmhost::flow::AvroCompression;
use wasmhost::flow::AvroWrite;
use wasmhost::flow::CsvWrite;
use wasmhost::flow::JsonRead;
use wasmhost::flow::JsonWrite;
use wasmhost::flow::ParquetWrite;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::TextCompression;
use wasmhost::flow::WriteFormat;
use wasmhost::source::Files;
use wasmhost::storage::encode::Encoder;

use crate::sources::column;
use crate::sources::csv;
use crate::sources::shown;
use crate::sources::source;

const JSON: JsonRead = JsonRead { infer_schema_rows: None };

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/formats").join(name)
}

/// What reading the bytes as a file of this name gives: the number of rows, or the error.
fn read(folder: &Path, name: &str, format: &ReadFormat, bytes: &[u8]) -> Result<usize, String> {
    let path = folder.join(name);
    fs::write(&path, bytes).unwrap();
    let read = || {
        let found = Files::discover(&source(&path, format.clone())).map_err(|e| e.to_string())?;
        let mut files = Files::open(found, 4);
        let mut rows = 0;
        while let Some(batch) = files.next_batch().map_err(|e| e.to_string())? {
            rows += batch.rows.num_rows();
        }
        Ok(rows)
    };
    let done: Result<usize, String> = catch_unwind(read).expect("no panic, whatever the bytes");
    if let Err(error) = &done {
        assert!(error.contains(name), "{name}: {error}");
    }
    done
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

fn check(name: &str, format: ReadFormat, columns: Option<&[&str]>, right: &str) {
    let path = fixture(name);
    let mut source = source(&path, format);
    source.columns = columns.map(|names| names.iter().map(|name| column(name)).collect());
    assert_eq!(shown(&source, 8, path.parent().unwrap()), right, "{name}");
}

#[test]
fn files_of_other_writers_have_their_columns_and_values() {
    let rows = "1|-7|0.1|Zoë|true|1969-12-31|2024-02-29T23:59:59.123456Z|-12.30|00ff|[a, , c]|{first: Ada, age: 36}  \
                9007199254740993|-|-||-|-|-|-|-|-|-  \
                -3|0|-1e300|-|false|9999-12-31|1600-01-01T00:00:00Z|99999.99||[]|{first: , age: 0}";
    let columns = "id Int64, small Int32, ratio Float64, name Utf8, flag Boolean, day Date32, at Timestamp(µs, \"UTC\"), \
                   amount Decimal128(12, 2), raw Binary, tags List(Utf8), who Struct(\"first\": Utf8, \"age\": Int32)";
    for (name, format) in [
        ("table.avro", ReadFormat::Avro {}),
        ("table.arrow", ReadFormat::Arrow {}),
        ("table.arrows", ReadFormat::Arrow {}),
        ("table.orc", ReadFormat::Orc {}),
    ] {
        // Avro says that neither a tag nor an age is NULL.
        let (item, whole) = match format {
            ReadFormat::Avro {} => {
                let whole = columns.replace("List(Utf8)", "List(non-null Utf8)");
                ("non-null Utf8", whole.replace("Int32)", "non-null Int32)"))
            }
            _ => ("Utf8", columns.to_owned()),
        };
        // The Arrow files have two batches.
        let third = match format {
            ReadFormat::Arrow {} => format!("\nDIR/{name}#3: "),
            _ => "  ".to_owned(),
        };
        let rows = rows.replace("  -3|", &format!("{third}-3|"));
        check(name, format.clone(), None, &format!("{whole}\nDIR/{name}#1: {rows}"));
        let few = format!(
            "tags List({item}), id Int64\nDIR/{name}#1: [a, , c]|1  -|9007199254740993{third}[]|-3"
        );
        check(name, format, Some(&["tags", "id"]), &few);
    }
}

#[test]
fn compressed_text_is_read_by_what_it_begins_with() {
    for name in ["text.csv.gz", "text.csv.zst", "text.csv.bz2", "text.csv.xz"] {
        let right = format!("id Int64, name Utf8\nDIR/{name}#1: 1|Zoë  2|a\nb");
        check(name, ReadFormat::Csv(csv()), None, &right);
    }
}

#[test]
fn several_gzip_members_are_one_text() {
    let folder = tempfile::tempdir().unwrap();
    let once = fs::read(fixture("text.csv.gz")).unwrap();
    let twice = [once.as_slice(), once.as_slice()].concat();
    // The second one's header is a row of it.
    assert_eq!(read(folder.path(), "a.csv.gz", &ReadFormat::Csv(csv()), &twice), Ok(5));
    let cut = &twice[..twice.len() - 5];
    assert!(read(folder.path(), "a.csv.gz", &ReadFormat::Csv(csv()), cut).is_err());
}

#[test]
fn text_in_other_encodings_is_decoded_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.csv");
    let check = |label: &str, bytes: &[u8], right: &str| {
        fs::write(&path, bytes).unwrap();
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let format = ReadFormat::Csv(wasmhost::flow::CsvRead { encoding, ..csv() });
        assert_eq!(shown(&source(&path, format), 8, folder.path()), right, "{label}");
    };
    let right = "a Utf8\nDIR/f.csv#1: Zoë  €";
    check("windows-1252", b"a\nZo\xeb\n\x80\n", right);
    let utf16: Vec<u8> = "\u{feff}a\nZoë\n€\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    check("utf-16le", &utf16, right);
    check("windows-1252", "\u{feff}a\nZoë\n€\n".as_bytes(), right);
    check("shift_jis", b"a\nZo\xff\n", "DIR/f.csv: cannot read it: the text is not Shift_JIS");
    check(
        "utf-8",
        b"a\nZo\xeb\n",
        "DIR/f.csv:2: the text is not UTF-8 [data]\n  hint: say what it is, as in `options: { encoding: windows-1252 }`",
    );
}

#[test]
fn documents_have_a_row_an_object() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.json");
    for (text, right) in [
        ("[]", ""),
        ("{\"a\": 1}", "a Int64\nDIR/f.json#1: 1"),
        (
            "[ {\"a\": 1, \"b\": {\"c\": \"x\"}},\n  {\"a\": 12345678901234567890, \"b\": null} ]\n",
            "a Utf8, b Struct(\"c\": Utf8)\nDIR/f.json#1: 1|{c: x}  12345678901234567890|-",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let shown = shown(&source(&path, ReadFormat::Json(JSON)), 8, folder.path());
        assert_eq!(shown, right, "{text}");
    }
}

/// Files by their paths, read as CSV.
fn check_folders(
    files: &[(&str, &str)],
    change: impl FnOnce(&mut wasmhost::flow::Source),
    right: &str,
) {
    crate::sources::check(files, ReadFormat::Csv(csv()), change, right);
}

#[test]
fn folders_of_files_have_the_same_names_and_no_column_twice() {
    let nothing = |_: &mut wasmhost::flow::Source| {};
    check_folders(
        &[("y=1/a.csv", "id\n1\n"), ("z=1/a.csv", "id\n2\n")],
        nothing,
        "DIR/z=1/a.csv: its folders name the columns z, those of `DIR/y=1/a.csv` name y [data]\n  \
         hint: all files of a source lie below folders of the same names",
    );
    check_folders(
        &[("a.csv", "id\n1\n"), ("z=1/a.csv", "id\n2\n")],
        nothing,
        "DIR/z=1/a.csv: its folders name the columns z, those of `DIR/a.csv` name none [data]\n  \
         hint: all files of a source lie below folders of the same names",
    );
    check_folders(
        &[("id=1/a.csv", "id\n1\n")],
        nothing,
        "DIR/id=1/a.csv: id: the file has it, and a folder's name as well [data]\n  \
         hint: name the files by a glob below that folder, or a file that lacks the column",
    );
    check_folders(
        &[("y=one/a.csv", "id\n1\n")],
        |source| drop(source.schema_hints.insert(column("y"), arrow::datatypes::DataType::Int32)),
        "DIR/y=one/a.csv: y: the folder's name: `one` is not int32 [data]",
    );
}

#[test]
fn names_of_folders_are_columns_of_text_unless_declared() {
    let files = [
        ("2024/y=007/m=a%20b/a.csv", "id\n1\n2\n3\n"),
        ("2024/y=008/m=__HIVE_DEFAULT_PARTITION__/b.csv", "id\n4\n"),
    ];
    check_folders(
        &files,
        |_| {},
        "id Int64, y Utf8, m Utf8\n\
         DIR/2024/y=007/m=a%20b/a.csv#1: 1|007|a b  2|007|a b\n\
         DIR/2024/y=007/m=a%20b/a.csv#3: 3|007|a b\n\
         DIR/2024/y=008/m=__HIVE_DEFAULT_PARTITION__/b.csv#1: 4|008|-",
    );
    check_folders(
        &files,
        |source| {
            source.path = source.path.join("2024/y=*/*/*.csv");
            source.schema_hints.insert(column("y"), arrow::datatypes::DataType::Int32);
            source.columns = Some(["y", "id"].map(column).to_vec());
        },
        "y Int32, id Int64\n\
         DIR/2024/y=007/m=a%20b/a.csv#1: 7|1  7|2\nDIR/2024/y=007/m=a%20b/a.csv#3: 7|3\n\
         DIR/2024/y=008/m=__HIVE_DEFAULT_PARTITION__/b.csv#1: 8|4",
    );
    // A file that is named by itself is below no folder.
    check_folders(
        &files[..1],
        |source| source.path = source.path.join("2024/y=007/m=a%20b/a.csv"),
        "id Int64\nDIR/2024/y=007/m=a%20b/a.csv#1: 1  2\nDIR/2024/y=007/m=a%20b/a.csv#3: 3",
    );
}

#[test]
fn where_rows_come_from_is_a_column_where_it_is_asked_for() {
    check_folders(
        &[("k=1/a.csv", "id,x\n1,2\n"), ("k=2/b.csv", "id,x\n3,4\n")],
        |source| source.columns = Some(["x", "*", "__file_path"].map(column).to_vec()),
        "x Int64, id Int64, k Utf8, __file_path Utf8\n\
         DIR/k=1/a.csv#1: 2|1|1|DIR/k=1/a.csv\nDIR/k=2/b.csv#1: 4|3|2|DIR/k=2/b.csv",
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, "id\n1\n").unwrap();
    let at =
        std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_micros(1_234_567_890_123_456);
    fs::File::options().write(true).open(&path).unwrap().set_modified(at).unwrap();
    let mut source = source(&path, ReadFormat::Csv(csv()));
    source.columns = Some(["__file_modification_time", "id"].map(column).to_vec());
    assert_eq!(
        shown(&source, 8, folder.path()),
        "__file_modification_time Timestamp(µs, \"UTC\"), id Int64\nDIR/a.csv#1: 2009-02-13T23:31:30.123456Z|1"
    );
}

#[test]
fn any_file_is_a_row_with_its_content_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("sub")).unwrap();
    for (name, bytes) in [("a.bin", &b"\x00\xff"[..]), ("b.txt", b""), ("sub/c.bin", b"xyz")] {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    let check = |columns: &[&str], filter: Option<&str>, recursive: bool, right: &str| {
        let mut source = source(folder.path(), ReadFormat::Binary {});
        source.columns = Some(columns.iter().map(|name| column(name)).collect());
        source.path_glob_filter = filter.map(str::to_owned);
        source.recursive = recursive;
        assert_eq!(shown(&source, 8, folder.path()), right);
    };
    check(
        &["path", "content"],
        None,
        true,
        "path Utf8, content Binary\n\
         DIR/a.bin#1: DIR/a.bin|00ff\nDIR/b.txt#1: DIR/b.txt|\nDIR/sub/c.bin#1: DIR/sub/c.bin|78797a",
    );
    check(&["length"], Some("*.bin"), true, "length Int64\nDIR/a.bin#1: 2\nDIR/sub/c.bin#1: 3");
    check(&["length"], None, false, "length Int64\nDIR/a.bin#1: 2\nDIR/b.txt#1: 0");

    // More than a value holds, and not a byte of it on the disk.
    let big = fs::File::create(folder.path().join("big.bin")).unwrap();
    big.set_len(3 << 30).unwrap();
    check(&["length"], Some("big*"), false, "length Int64\nDIR/big.bin#1: 3221225472");
    check(
        &["content"],
        Some("big*"),
        false,
        "content Binary\nDIR/big.bin: content: 3221225472 bytes are more than a value holds, which is 2 GiB [data]\n  \
         hint: leave `content` out of `columns`, or the file out by `path_glob_filter`",
    );
    let found = Files::discover(&source(folder.path(), ReadFormat::Binary {})).unwrap();
    let names: Vec<_> =
        found.schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    assert_eq!(
        names.join(", "),
        "path Utf8, modificationTime Timestamp(µs, \"UTC\"), length Int64, content Binary"
    );
}

#[test]
fn no_file_at_all_has_the_columns_that_are_named_and_declared() {
    let folder = tempfile::tempdir().unwrap();
    let mut source = source(&folder.path().join("*.csv"), ReadFormat::Csv(csv()));
    source.allow_missing = true;
    source.columns =
        Some(["*", "__file_path", "a", "__file_modification_time"].map(column).to_vec());
    source.schema_hints.insert(column("id"), arrow::datatypes::DataType::Int64);
    assert_eq!(
        shown(&source, 8, folder.path()),
        "id Int64, __file_path Utf8, a Utf8, __file_modification_time Timestamp(µs, \"UTC\")"
    );
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
