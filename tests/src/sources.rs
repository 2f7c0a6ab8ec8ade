//! Files read as sources: what is refused, and with which words; then what comes out, value by value and place by place.

use std::collections::BTreeMap;
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
use arrow::util::display::array_value_to_string;
use parquet::arrow::ArrowWriter;
use wasmhost::flow::CsvRead;
use wasmhost::flow::JsonRead;
use wasmhost::flow::Location;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;
use wasmhost::name::ColumnName;
use wasmhost::problem::Place;
use wasmhost::source::Files;
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

fn check_csv(files: &[(&str, &str)], right: &str) {
    check(files, ReadFormat::Csv(csv()), |_| {}, right);
}

fn check_jsonl(files: &[(&str, &str)], right: &str) {
    check(files, ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }), |_| {}, right);
}

#[test]
fn csv_that_is_none_is_refused_with_its_place() {
    for (files, right) in [
        (
            &[("a.csv", "")][..],
            "DIR/a.csv: it is empty: not even a header [data]\n  hint: a file without rows has a header; leave out files that have nothing",
        ),
        (
            &[("a.csv", "a,b,a\n")],
            "DIR/a.csv:1: the header names `a` twice [data]\n  hint: every column needs a name of its own; `header: false` numbers them",
        ),
        (
            &[("a.csv", "a,\n")],
            "DIR/a.csv:1: column 2 has no name [data]\n  hint: every column needs a name of its own; `header: false` numbers them",
        ),
        (
            &[("a.csv", "a,b\n1,2\n\n3\n")],
            "DIR/a.csv:4: the record has 1 field, the header 2 [data]\n  hint: a delimiter within a field needs quotes around the field",
        ),
        (
            &[("a.csv", "a\n1\n\"x\n\n")],
            "DIR/a.csv:3: a quoted field that starts in this record never ends [data]",
        ),
        (
            &[("a.csv", "a,b\n1,2\n"), ("b.csv", "b,c\n1,2\n")],
            "DIR/b.csv:1: its columns differ from those of `DIR/a.csv`: it lacks `a`, has `c` besides [data]\n  hint: `merge_schema: true` takes the columns of all files; what a file lacks is NULL",
        ),
    ] {
        check_csv(files, right);
    }
}

#[test]
fn csv_latin1_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.csv"), b"a\nx\nM\xfcnchen\n").unwrap();
    let right = "DIR/a.csv:3: the text is not UTF-8 [data]\n  hint: say what it is, as in `options: { encoding: windows-1252 }`";
    assert_eq!(shown(&source(folder.path(), ReadFormat::Csv(csv())), 9, folder.path()), right);
}

#[test]
fn csv_columns_are_matched_by_name_and_typed_over_all_files() {
    check_csv(
        &[
            ("a.csv", "first,last,n\nAda,Lovelace,1\n"),
            ("b.csv", "n,last,first\n2.5,Byron,\"George\nGordon\"\n"),
        ],
        "first Utf8, last Utf8, n Float64\nDIR/a.csv#1: Ada|Lovelace|1.0\nDIR/b.csv#1: George\nGordon|Byron|2.5",
    );
    check_csv(
        &[(
            "a.csv",
            "zip,n,when,empty,q\n00501,1,2024-02-29T10:00:00+02:00,,\"\"\n10001,,2024-03-01T00:00:00Z,,x\n99999,3,2024-03-01T00:00:00Z,,\n",
        )],
        "zip Utf8, n Int64, when Timestamp(µs, \"UTC\"), empty Utf8, q Utf8\n\
         DIR/a.csv#1: 00501|1|2024-02-29T08:00:00Z|-|  10001|-|2024-03-01T00:00:00Z|-|x\n\
         DIR/a.csv#3: 99999|3|2024-03-01T00:00:00Z|-|-",
    );
    check_csv(&[("a.csv", "a,b\n")], "a Utf8, b Utf8");
    check_csv(
        &[("a.csv", "n,q\n\"1\",\"x\"\n\"\",\"\"\n")],
        "n Int64, q Utf8\nDIR/a.csv#1: 1|x  -|",
    );
    check_csv(&[("a.csv", " a ,b\n1,2\n")], " a  Int64, b Int64\nDIR/a.csv#1: 1|2");
}

#[test]
fn csv_options_are_followed() {
    let with = |change: fn(&mut CsvRead)| {
        let mut options = csv();
        change(&mut options);
        ReadFormat::Csv(options)
    };
    let nulls = with(|options| options.null_values = vec!["NA".to_owned(), "-1".to_owned()]);
    check(
        &[("a.csv", "a,b\nNA,NA\n1,x\n-1,-1\n")],
        nulls,
        |_| {},
        "a Int64, b Utf8\nDIR/a.csv#1: -|-  1|x\nDIR/a.csv#3: -|-",
    );
    let bare = with(|options| (options.header, options.delimiter) = (false, b';'));
    check(
        &[("a.csv", "1;x\n2;y\n")],
        bare,
        |_| {},
        "column_1 Int64, column_2 Utf8\nDIR/a.csv#1: 1|x  2|y",
    );
    let late = "a Int64\nDIR/a.csv#1: 1  2\nDIR/a.csv: column `a`: row 4: `4.5` is not int64, as in the rows that were looked at [data]\n  hint: without `infer_schema_rows` all rows are looked at; `schema_hints` declares types";
    let sampled = with(|options| options.infer_schema_rows = Some(2));
    let late = late.replace("DIR/a.csv: column `a`", "DIR/a.csv: a");
    check(&[("a.csv", "a\n1\n2\n3\n4.5\n")], sampled, |_| {}, &late);
    check(
        &[("a.csv", "a,b\n1,2\n"), ("b.csv", "b,c\n3,x\n")],
        with(|_| {}),
        |source| source.merge_schema = true,
        "a Int64, b Int64, c Utf8\nDIR/a.csv#1: 1|2|-\nDIR/b.csv#1: -|3|x",
    );
    check(
        &[("a.csv", "price,id\n1.50,7\n")],
        with(|_| {}),
        |source| {
            source.columns = Some(vec![column("id"), column("price")]);
            source.schema_hints =
                [(column("id"), DataType::Utf8), (column("price"), DataType::Decimal128(9, 2))]
                    .into();
        },
        "id Utf8, price Decimal128(9, 2)\nDIR/a.csv#1: 7|1.50",
    );
}

#[test]
fn csv_text_is_taken_for_nothing_that_it_is_not() {
    // What other tools take for NULL or NaN is text, and a column with one of these words is one of text.
    check_csv(
        &[("a.csv", "a,b,c,d\nNULL,N/A,\\N,NaN\n1,2,3,4\n")],
        "a Utf8, b Utf8, c Utf8, d Utf8\nDIR/a.csv#1: NULL|N/A|\\N|NaN  1|2|3|4",
    );
    let texts = ReadFormat::Csv(CsvRead { infer_schema_rows: Some(0), ..csv() });
    check(
        &[("a.csv", "id,n,day\n1,2.5,2024-02-29\n,,\n")],
        texts,
        |source| source.schema_hints = [(column("id"), DataType::Int64)].into(),
        "id Int64, n Utf8, day Utf8\nDIR/a.csv#1: 1|2.5|2024-02-29  -|-|-",
    );
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

#[test]
fn declared_types_of_json_take_values_of_their_kind_alone() {
    for (value, to, right) in [
        ("1.5", DataType::Int64, "error"),
        ("\"x\"", DataType::Int64, "error"),
        ("true", DataType::Int64, "error"),
        ("9223372036854775808", DataType::Int64, "error"),
        ("300", DataType::Int8, "error"),
        ("1e400", DataType::Float64, "error"),
        ("\"2024-02-30\"", DataType::Date32, "error"),
        ("1.005", DataType::Decimal128(5, 2), "error"),
        ("[1]", DataType::Int64, "error"),
        ("12345678901234567890123.25", DataType::Decimal128(38, 2), "12345678901234567890123.25"),
        ("18446744073709551615", DataType::UInt64, "18446744073709551615"),
        ("00501", DataType::Utf8, "error"),
        ("\"00501\"", DataType::Utf8, "00501"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        fs::write(&path, format!("{{\"a\":{value}}}\n")).unwrap();
        let mut source = source(&path, ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }));
        source.schema_hints = [(column("a"), to.clone())].into();
        let shown = shown(&source, 1, folder.path());
        match right {
            "error" => assert!(
                shown.contains("[data]") && shown.contains("a.jsonl:1"),
                "{value} as {to}: {shown}"
            ),
            right => assert!(shown.ends_with(&format!("#1: {right}")), "{value} as {to}: {shown}"),
        }
    }
}

#[test]
fn json_files_have_the_keys_of_all_of_them_whatever_is_said_of_merging() {
    for merge_schema in [false, true] {
        check(
            &[("a.jsonl", "{\"a\":1}\n"), ("b.jsonl", "{\"b\":\"x\"}\n")],
            ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }),
            |source| source.merge_schema = merge_schema,
            "a Int64, b Utf8\nDIR/a.jsonl#1: 1|-\nDIR/b.jsonl#1: -|x",
        );
    }
}

#[test]
fn csv_without_a_header_has_the_columns_of_its_schema_by_position() {
    let named = |names: &[&str]| {
        let names = Some(names.iter().map(|name| column(name)).collect());
        ReadFormat::Csv(CsvRead { header: false, names, ..csv() })
    };
    let fields = "a delimiter within a field needs quotes around the field";
    for (files, right) in [
        (
            &[("a.csv", "1,x\n2,y\n3\n")][..],
            format!("DIR/a.csv:3: the record has 1 field, `schema` 2 [data]\n  hint: {fields}"),
        ),
        (
            &[("a.csv", "1,x,\"more\nof it\"\n2,y\n")],
            format!("DIR/a.csv:1: the record has 3 fields, `schema` 2 [data]\n  hint: {fields}"),
        ),
        (
            &[("a.csv", "1,x\n"), ("b.csv", "\n2,y,z\n")],
            format!("DIR/b.csv:2: the record has 3 fields, `schema` 2 [data]\n  hint: {fields}"),
        ),
        (
            &[("a.csv", "")],
            "DIR/a.csv: it is empty [data]\n  hint: a file without rows has a header; leave out files that have nothing".to_owned(),
        ),
        // The first record is no header, even if it looks like one.
        (
            &[("a.csv", "zip,name\n00501,x\n"), ("b.csv", "7,y\n")],
            "zip Utf8, name Utf8\nDIR/a.csv#1: zip|name  00501|x\nDIR/b.csv#1: 7|y".to_owned(),
        ),
    ] {
        check(files, named(&["zip", "name"]), |_| {}, &right);
    }
    check(
        &[("a.csv", "1,x,2.50\n")],
        named(&["id", "name", "price"]),
        |source| {
            source.columns = Some(vec![column("price"), column("id")]);
            source.schema_hints =
                [(column("price"), DataType::Decimal128(9, 2)), (column("id"), DataType::Utf8)]
                    .into();
        },
        "price Decimal128(9, 2), id Utf8\nDIR/a.csv#1: 2.50|1",
    );
    // Where no file is there, the columns still are.
    check(&[], named(&["b", "a"]), |source| source.allow_missing = true, "b Utf8, a Utf8");
}

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
fn a_file_that_changes_between_discovery_and_reading_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.csv");
    fs::write(&path, "n\n1\n").unwrap();
    let found = Files::discover(&source(&path, ReadFormat::Csv(csv()))).unwrap();
    fs::write(&path, "n\n1\n2\n").unwrap();
    let error = Files::open(found, 10).next_batch().unwrap_err().to_string();
    assert!(error.contains("changed since it was listed (4 bytes then, 6 now)"), "{error}");
}

#[test]
fn json_lines_keep_late_keys_digits_and_shapes() {
    check_jsonl(
        &[
            ("a.jsonl", "{\"a\": 1}\n\n{\"a\": 2.5, \"o\": {\"x\": [1]}}\n"),
            ("b.jsonl", "{\"late\": \"z\"}\n{\"o\": {\"y\": null}}"),
        ],
        "a Float64, o Struct(\"x\": List(Int64), \"y\": Utf8), late Utf8\n\
         DIR/a.jsonl#1: 1.0|-|-  2.5|{x: [1], y: }|-\n\
         DIR/b.jsonl#1: -|-|z  -|{x: , y: }|-",
    );
    check_jsonl(
        &[(
            "a.jsonl",
            "{\"n\": 12345678901234567890123, \"m\": 1}\n{\"n\": 1, \"m\": \"x\"}\n{\"n\": null, \"m\": true}\n",
        )],
        "n Utf8, m Utf8\nDIR/a.jsonl#1: 12345678901234567890123|1  1|x\nDIR/a.jsonl#3: -|true",
    );
    let hinted = |source: &mut Source| {
        source.columns = Some(vec![column("p"), column("d")]);
        source.schema_hints =
            [(column("p"), DataType::Decimal128(30, 2)), (column("d"), DataType::Date32)].into();
    };
    check(
        &[("a.jsonl", "{\"d\": \"2024-02-29\", \"p\": 1234567890123456789012.5, \"x\": 1}\n")],
        ReadFormat::Jsonl(JsonRead { infer_schema_rows: None }),
        hinted,
        "p Decimal128(30, 2), d Date32\nDIR/a.jsonl#1: 1234567890123456789012.50|2024-02-29",
    );
}

#[test]
fn json_lines_that_are_none_are_refused_with_their_line() {
    let shape = "JSON lines have one whole object a line, and no list around them; a list is `format: json`";
    check_jsonl(
        &[("a.jsonl", "{\"a\": 1}\n[{\"a\": 1}]\n")],
        &format!(
            "DIR/a.jsonl:2: invalid type: sequence, expected a JSON object (at character 0) [data]\n  hint: {shape}"
        ),
    );
    check_jsonl(
        &[("a.jsonl", "{\"a\": 1}\n{\"a\": \n")],
        &format!(
            "DIR/a.jsonl:2: EOF while parsing a value (at character 0) [data]\n  hint: {shape}"
        ),
    );
    check_jsonl(
        &[
            ("a.jsonl", "{\"a\": {\"b\": 1}}\n"),
            ("b.jsonl", "{\"a\": {\"b\": 1}}\n{\"a\": {\"b\": {}}}\n"),
        ],
        "DIR/b.jsonl:2: a.b: it is an object here and a number before [data]\n  hint: one key has one shape in all objects; mend the data, or transform it before",
    );
    let sampled = ReadFormat::Jsonl(JsonRead { infer_schema_rows: Some(1) });
    let hint = "  hint: without `infer_schema_rows` all objects are looked at; `schema_hints` declares types";
    check(
        &[("a.jsonl", "{\"a\": 1}\n{\"a\": 1}\n{\"a\": 1}\n{\"b\": 1}\n")],
        sampled.clone(),
        |_| {},
        &format!(
            "a Int64\nDIR/a.jsonl#1: 1  1\nDIR/a.jsonl:4: b: row 4: the objects that were looked at have no such key [data]\n{hint}"
        ),
    );
    check(
        &[("a.jsonl", "{\"a\": 1}\n{\"a\": [2]}\n")],
        sampled,
        |_| {},
        &format!(
            "a Int64\nDIR/a.jsonl:2: a: row 2: `[2]` is not int64, as in the objects that were looked at [data]\n{hint}"
        ),
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

#[test]
fn no_column_at_all_still_counts_rows() {
    let folder = tempfile::tempdir().unwrap();
    let text: ArrayRef = Arc::new(StringArray::from(vec!["x", "y", "z"]));
    write_parquet(&folder.path().join("a.parquet"), vec![("w", text)]);
    let mut source = source(folder.path(), ReadFormat::Parquet {});
    source.columns = Some(vec![]);
    assert_eq!(shown(&source, 2, folder.path()), "\nDIR/a.parquet#1:   \nDIR/a.parquet#3: ");
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
