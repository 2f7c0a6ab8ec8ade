//! Which files are read, and what they have in common, whatever their format.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::DictionaryArray;
use arrow::array::Int32Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::StringViewArray;
use arrow::datatypes::DataType;
use arrow::datatypes::Int32Type;
use parquet::arrow::ArrowWriter;
use wasmhost::flow::CsvRead;
use wasmhost::flow::JsonRead;
use wasmhost::flow::Location;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;
use wasmhost::source::Files;

use super::check;
use super::column;
use super::csv;
use super::csv::check_csv;
use super::shown;
use super::source;

#[test]
fn names_that_no_file_has_are_all_reported() {
    check(
        &[("a.csv", "price,id\n1,7\n")],
        ReadFormat::Csv(csv()),
        |source| {
            source.columns = Some(vec![column("id"), column("prise"), column("id")]);
            source.schema_hints = [(column("ident"), DataType::Utf8)].into();
        },
        "flow.yaml: source.schema_hints.ident: the files have no column `ident` [unknown-name]\n  hint: known: `price`, `id`\n\
         flow.yaml: source.columns[1]: the files have no column `prise` [unknown-name]\n  hint: did you mean `price`?\n\
         flow.yaml: source.columns[2]: column `id` is named twice [duplicate-key]",
    );
}

#[test]
fn only_data_files_are_listed_and_their_absence_is_an_error() {
    let files = [
        ("b/2.csv", "n\n2\n"),
        ("a/1.csv", "n\n1\n"),
        ("a/.hidden.csv", "x"),
        ("a/_tmp.csv", "x"),
        ("_log/3.csv", "x"),
        (".git/3.csv", "x"),
        ("a/4.csv.tmp", "x"),
    ];
    check_csv(&files, "n Int64\nDIR/a/1.csv#1: 1\nDIR/b/2.csv#1: 2");
    let filter = |source: &mut Source| source.path_glob_filter = Some("2.*".to_owned());
    check(&files, ReadFormat::Csv(csv()), filter, "n Int64\nDIR/b/2.csv#1: 2");
    let glob = |source: &mut Source| source.path = source.path.join("**/[12].csv");
    check(&files, ReadFormat::Csv(csv()), glob, "n Int64\nDIR/a/1.csv#1: 1\nDIR/b/2.csv#1: 2");
    let none = "no data file matches [not-found]\n  hint: names that start with `.` or `_`, and unfinished files, are no data; `allow_missing: true` takes no file as an empty input";
    let flat = |source: &mut Source| source.recursive = false;
    check(&files, ReadFormat::Csv(csv()), flat, &format!("flow.yaml: source: `DIR`: {none}"));
    let absent = |source: &mut Source| source.path = source.path.join("nope");
    check(
        &files,
        ReadFormat::Csv(csv()),
        absent,
        "flow.yaml: source: `DIR/nope`: there is no such file or folder [not-found]\n  hint: `allow_missing: true` takes it as an empty input",
    );
    let allowed = |source: &mut Source| {
        source.path = source.path.join("nope");
        source.allow_missing = true;
        source.columns = Some(vec![column("id"), column("note")]);
        source.schema_hints = [(column("id"), DataType::Int64)].into();
    };
    check(&files, ReadFormat::Csv(csv()), allowed, "id Int64, note Utf8");
}

#[test]
fn links_lead_out_of_a_folder_only_where_no_base_path_holds_it() {
    let folder = tempfile::tempdir().unwrap();
    let (base, outside) = (folder.path().join("base"), folder.path().join("outside.csv"));
    fs::create_dir_all(base.join("in")).unwrap();
    fs::write(&outside, "v\n1\n").unwrap();
    fs::write(base.join("inside.csv"), "v\n2\n").unwrap();
    std::os::unix::fs::symlink(base.join("inside.csv"), base.join("in/a.csv")).unwrap();
    let read = |base: Option<&Path>| {
        let mut source = source(&folder.path().join("base/in"), ReadFormat::Csv(csv()));
        source.base = base.map(|base| Location::Disk(base.to_owned()));
        shown(&source, 10, folder.path())
    };
    assert_eq!(read(Some(&base)), "v Int64\nDIR/base/in/a.csv#1: 2");
    std::os::unix::fs::symlink(&outside, base.join("in/b.csv")).unwrap();
    assert_eq!(read(None), "v Int64\nDIR/base/in/a.csv#1: 2\nDIR/base/in/b.csv#1: 1");
    let told = read(Some(&base));
    assert!(told.contains("DIR/base/in/b.csv: ") && told.contains("a link leads out"), "{told}");
    assert!(!told.contains('\n') || !told.contains("#1"), "nothing is read: {told}");
}

#[test]
fn a_file_that_changes_between_discovery_and_reading_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, "n\n1\n").unwrap();
    let found = Files::discover(&source(&path, ReadFormat::Csv(csv()))).unwrap();
    fs::write(&path, "n\n1\n2\n").unwrap();
    let error = Files::open(found, 10).next_batch().unwrap_err().to_string();
    assert!(error.contains("changed since it was listed (4 bytes then, 6 now)"), "{error}");
}

/// Whatever a sample did not show is an error with its place: never NULL, never another value, never left out.
#[test]
fn what_a_sample_did_not_foresee_is_an_error() {
    let check_one = |name: &str, text: &str, right: &str| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let format = match name {
            "a.csv" => ReadFormat::Csv(CsvRead { infer_schema_rows: Some(1), ..csv() }),
            _ => ReadFormat::Jsonl(JsonRead { infer_schema_rows: Some(1) }),
        };
        let shown = shown(&source(&path, format), 8, folder.path());
        let told = shown.lines().nth(1).unwrap();
        assert_eq!(told.strip_prefix(&format!("DIR/{name}:")).unwrap(), right, "{text}: {shown}");
    };
    let seen = "as in the objects that were looked at [data]";
    for (text, right) in [
        ("{\"a\":1}\n{\"a\":2.5}\n", format!("2: a: row 2: `2.5` is not int64, {seen}")),
        ("{\"a\":1}\n{\"a\":\"7\"}\n", format!("2: a: row 2: `\"7\"` is not int64, {seen}")),
        (
            "{\"a\":1}\n{\"a\":12345678901234567890}\n",
            format!("2: a: row 2: `12345678901234567890` is not int64, {seen}"),
        ),
        (
            "{\"a\":0.5}\n{\"a\":9007199254740993}\n",
            format!("2: a: row 2: `9007199254740993` is not float64, {seen}"),
        ),
        ("{\"a\":true}\n{\"a\":1}\n", format!("2: a: row 2: `1` is not a boolean, {seen}")),
        (
            "{\"a\":null}\n{\"a\":{\"b\":1}}\n",
            format!("2: a: row 2: `{{\"b\":1}}` is not text, {seen}"),
        ),
        ("{\"a\":[1]}\n{\"a\":[1,[2]]}\n", format!("2: a[]: row 2: `[2]` is not int64, {seen}")),
        ("{\"a\":{\"x\":1}}\n{\"a\":7}\n", format!("2: a: row 2: `7` is not an object, {seen}")),
        (
            "{\"o\":{\"x\":1}}\n{\"o\":{\"x\":1,\"y\":2}}\n",
            "2: o.y: row 2: the objects that were looked at have no such key [data]".to_owned(),
        ),
        (
            "{\"l\":[{\"x\":1}]}\n\n{\"l\":[{\"x\":1},{\"z\":2}]}\n",
            "3: l[].z: row 2: the objects that were looked at have no such key [data]".to_owned(),
        ),
        (
            "{\"a\":1}\n{\"a\":1,\"late\":null}\n",
            "2: late: row 2: the objects that were looked at have no such key [data]".to_owned(),
        ),
    ] {
        check_one("a.jsonl", text, &right);
    }
    let seen = "as in the rows that were looked at [data]";
    for (text, right) in [
        ("a\n1\n2.5\n", format!(" a: row 2: `2.5` is not int64, {seen}")),
        ("a\n1\n00501\n", format!(" a: row 2: `00501` is not int64, {seen}")),
        ("a\n1\n 2\n", format!(" a: row 2: ` 2` is not int64, {seen}")),
        ("a\ntrue\n1\n", format!(" a: row 2: `1` is not a boolean, {seen}")),
        (
            "a\n0.5\n9007199254740993\n",
            format!(" a: row 2: `9007199254740993` is not float64, {seen}"),
        ),
        (
            "a\n2024-02-29\n2024-02-30\n",
            format!(" a: row 2: `2024-02-30` is not a date (YYYY-MM-DD), {seen}"),
        ),
        ("a,b\n1,2\n1,2,3\n", "3: the record has 3 fields, the header 2 [data]".to_owned()),
    ] {
        check_one("a.csv", text, &right);
    }
    // A declared type is no guess: what it takes is for the parser to say.
    check(
        &[("a.csv", "a,b\n1,x\n00501,y\n")],
        ReadFormat::Csv(CsvRead { infer_schema_rows: Some(1), ..csv() }),
        |source| source.schema_hints = [(column("a"), DataType::Int64)].into(),
        "a Int64, b Utf8\nDIR/a.csv#1: 1|x  501|y",
    );
}

/// Batches end by the bytes of their text too: 40 values of a MiB each are several batches, and none is lost.
#[test]
fn long_values_make_batches_of_few_rows() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(1 << 20);
    let values = |line: &dyn Fn(usize) -> String| (0..40).map(line).collect::<String>();
    let csv_text = format!("n,t\n{}", values(&|n| format!("{n},{long}\n")));
    let lines_text = values(&|n| format!("{{\"n\":{n},\"t\":\"{long}\"}}\n"));
    let lines = ReadFormat::Jsonl(JsonRead { infer_schema_rows: None });
    for (name, text, format) in
        [("a.csv", csv_text, ReadFormat::Csv(csv())), ("a.jsonl", lines_text, lines)]
    {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let mut files = Files::open(Files::discover(&source(&path, format)).unwrap(), 8_192);
        let mut batches = Vec::new();
        while let Some(batch) = files.next_batch().unwrap() {
            batches.push((batch.origin.row(0).unwrap(), batch.rows.num_rows()));
        }
        assert_eq!(batches, [(1, 16), (17, 16), (33, 8)], "{name}");
    }
}

#[test]
fn no_column_at_all_still_counts_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    write_parquet(&folder.path().join("a.parquet"), vec![("w", text)]);
    let mut source = source(folder.path(), ReadFormat::Parquet {});
    source.columns = Some(vec![]);
    assert_eq!(shown(&source, 2, folder.path()), "\nDIR/a.parquet#1:   \nDIR/a.parquet#3: ");
}

fn write_parquet(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let mut writer =
        ArrowWriter::try_new(fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[test]
fn parquet_types_agree_or_are_declared() {
    let folder = tempfile::tempdir().unwrap();
    let whole: ArrayRef = Arc::new(Int64Array::from(vec![Some(1), None, Some(3)]));
    let short: ArrayRef = Arc::new(Int32Array::from(vec![7]));
    let words: DictionaryArray<Int32Type> = ["x", "y", "x"].into_iter().collect();
    let view: ArrayRef = Arc::new(StringViewArray::from(vec!["z"]));
    write_parquet(&folder.path().join("a.parquet"), vec![("n", whole), ("w", Arc::new(words))]);
    write_parquet(&folder.path().join("b.parquet"), vec![("w", view), ("n", short)]);
    let mut source = source(folder.path(), ReadFormat::Parquet {});
    let shown = |source: &Source| shown(source, 2, folder.path());
    let right = "DIR/b.parquet: n: it is Int32 here and Int64 in `DIR/a.parquet` [data]\n  hint: declare one type for it in `schema_hints`; values that do not fit are an error";
    assert_eq!(shown(&source), right);
    source.schema_hints = [(column("n"), DataType::Int32)].into();
    let right =
        "n Int32, w Utf8\nDIR/a.parquet#1: 1|x  -|y\nDIR/a.parquet#3: 3|x\nDIR/b.parquet#1: 7|z";
    assert_eq!(shown(&source), right);
    source.columns = Some(vec![column("w")]);
    assert_eq!(
        shown(&source),
        "w Utf8\nDIR/a.parquet#1: x  y\nDIR/a.parquet#3: x\nDIR/b.parquet#1: z"
    );
    source.columns = None;
    let big: ArrayRef = Arc::new(Int64Array::from(vec![1, i64::MAX]));
    write_parquet(&folder.path().join("c.parquet"), vec![("n", big)]);
    let right = "DIR/c.parquet: w: this file lacks it; `DIR/a.parquet` has it [data]\n  hint: `merge_schema: true` takes the columns of all files; what a file lacks is NULL";
    assert_eq!(shown(&source), right);
    source.merge_schema = true;
    let right = "DIR/c.parquet: n: row 2: `9223372036854775807` is not int32 [data]\n  hint: declare a type in `schema_hints` that holds all values";
    assert!(shown(&source).ends_with(right), "{}", shown(&source));
    fs::write(folder.path().join("d.parquet"), "PAR1").unwrap();
    assert!(
        shown(&source).starts_with("DIR/d.parquet: it is no Parquet file: "),
        "{}",
        shown(&source)
    );
}
