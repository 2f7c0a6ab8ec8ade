//! Formats of files: damaged ones first, then what other libraries wrote (`tests/data/formats`, by its `make.py`).

mod damage;
mod folders;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;
use std::path::PathBuf;

use crate::sources::column;
use crate::sources::csv;
use crate::sources::shown;
use crate::sources::source;
use wasmhost::flow::JsonRead;
use wasmhost::flow::ReadFormat;
use wasmhost::source::Files;

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
