//! Folders of files: columns by name across files, columns that folders name, where rows come from.

use std::fs;

use crate::sources::column;
use crate::sources::csv;
use crate::sources::shown;
use crate::sources::source;
use wasmhost::flow::ReadFormat;
use wasmhost::source::Files;

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
