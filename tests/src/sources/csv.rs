//! CSV: what is none, and what stays text.

use std::fs;

use arrow::datatypes::DataType;
use wasmhost::flow::CsvRead;
use wasmhost::flow::ReadFormat;

use super::check;
use super::column;
use super::csv;
use super::shown;
use super::source;

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

pub(super) fn check_csv(files: &[(&str, &str)], right: &str) {
    check(files, ReadFormat::Csv(csv()), |_| {}, right);
}
