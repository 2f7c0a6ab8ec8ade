//! Files in every codec that their format has, at both ends of its levels: what is read back, and whose files they are.

use std::fs;
use std::path::Path;

use arrow::array::Int64Array;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use wasmhost::flow::ArrowCompression;
use wasmhost::flow::ArrowWrite;
use wasmhost::flow::AvroCompression;
use wasmhost::flow::AvroWrite;
use wasmhost::flow::Compression;
use wasmhost::flow::CsvWrite;
use wasmhost::flow::JsonWrite;
use wasmhost::flow::ParquetWrite;
use wasmhost::flow::TextCompression;
use wasmhost::flow::WriteFormat;
use wasmhost::table::Commit;

use super::APPEND;
use super::OVERWRITE;
use super::by_group;
use super::exchange::held;
use super::exchange::read;
use super::exchange::reader;
use super::exchange::write;
use super::rows;
use super::run;
use super::target;
use super::tree;
use super::written;

const TEXT: &[TextCompression] = &[
    TextCompression::None,
    TextCompression::Gzip(0),
    TextCompression::Gzip(9),
    TextCompression::Zstd(1),
    TextCompression::Zstd(19),
    TextCompression::Bzip2(1),
    TextCompression::Bzip2(9),
    TextCompression::Xz(0),
    TextCompression::Xz(6),
];

fn csv(compression: TextCompression) -> WriteFormat {
    WriteFormat::Csv(CsvWrite { compression, ..CsvWrite::default() })
}

/// Every format in every codec, with the ending of its files.
pub(super) fn all() -> Vec<(WriteFormat, String)> {
    let mut all = Vec::new();
    for compression in TEXT {
        let json = || JsonWrite { compression: *compression };
        let more = compression.ending().map(|ending| format!(".{ending}")).unwrap_or_default();
        for (format, ending) in [
            (csv(*compression), ".csv"),
            (WriteFormat::Jsonl(json()), ".jsonl"),
            (WriteFormat::Json(json()), ".json"),
        ] {
            all.push((format, format!("{ending}{more}")));
        }
    }
    for compression in [
        ArrowCompression::None,
        ArrowCompression::Lz4,
        ArrowCompression::Zstd(1),
        ArrowCompression::Zstd(19),
    ] {
        all.push((WriteFormat::Arrow(ArrowWrite { compression }), ".arrow".to_owned()));
    }
    for compression in [
        AvroCompression::None,
        AvroCompression::Deflate,
        AvroCompression::Snappy,
        AvroCompression::Zstd,
        AvroCompression::Bzip2,
        AvroCompression::Xz,
    ] {
        all.push((WriteFormat::Avro(AvroWrite { compression }), ".avro".to_owned()));
    }
    for compression in [
        Compression::None,
        Compression::Snappy,
        Compression::Lz4,
        Compression::Zstd(1),
        Compression::Zstd(22),
        Compression::Gzip(0),
        Compression::Gzip(9),
    ] {
        let options = ParquetWrite { compression, ..ParquetWrite::default() };
        all.push((WriteFormat::Parquet(options), ".parquet".to_owned()));
    }
    all
}

/// The names and bytes of the visible files.
fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let visible = |(file, bytes): (std::path::PathBuf, Vec<u8>)| {
        let inside = file.strip_prefix(path).unwrap().to_str().unwrap().to_owned();
        (file.is_file() && !inside.starts_with(['.', '_'])).then_some((inside, bytes))
    };
    tree(path).into_iter().filter_map(visible).collect()
}

/// Ids, sorted, as our sources read them whatever the files' codecs.
fn ids(path: &Path, format: &WriteFormat) -> Vec<i64> {
    let batch = read(path, reader(format), &rows(&[]));
    let ids = cast(batch.column_by_name("id").unwrap(), &DataType::Int64).unwrap();
    let mut ids = ids.as_any().downcast_ref::<Int64Array>().unwrap().values().to_vec();
    ids.sort_unstable();
    ids
}

#[test]
fn files_come_back_whole_in_every_codec_and_are_named_by_it() {
    for (format, ending) in all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let batch = held(&format);
        write(&path, &format, &batch);
        let back = read(&path, reader(&format), &batch);
        for (column, field) in batch.columns().iter().zip(batch.schema().fields()) {
            let got = back.column_by_name(field.name()).unwrap();
            assert_eq!(got, column, "{format:?}: {}", field.name());
        }
        let files = files(&path);
        let [(name, bytes)] = files.as_slice() else { panic!("{format:?}: {}", files.len()) };
        assert!(name.ends_with(&ending), "{format:?}: {name}");
        let magic: &[u8] = match name.rsplit_once('.').unwrap().1 {
            "gz" => &[0x1f, 0x8b],
            "zst" => &[0x28, 0xb5, 0x2f, 0xfd],
            "bz2" => b"BZh",
            "xz" => &[0xfd, b'7', b'z', b'X', b'Z', 0],
            "arrow" => b"ARROW1",
            "avro" => b"Obj\x01",
            "parquet" => b"PAR1",
            _ => b"",
        };
        assert!(bytes.starts_with(magic), "{format:?}");
    }
}

#[test]
fn codecs_make_files_smaller_and_higher_levels_no_larger() {
    let rows = rows(&(0..20_000).map(|id| (id, Some("the same again"))).collect::<Vec<_>>());
    let size = |format: &WriteFormat| {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        write(&path, format, &rows);
        files(&path).iter().map(|(_, bytes)| bytes.len()).sum::<usize>()
    };
    let avro = |compression| WriteFormat::Avro(AvroWrite { compression });
    let arrow = |compression| WriteFormat::Arrow(ArrowWrite { compression });
    let gzip = |level| csv(TextCompression::Gzip(level));
    for (large, small) in [
        (csv(TextCompression::None), gzip(1)),
        (gzip(0), gzip(1)),
        (gzip(1), gzip(9)),
        (csv(TextCompression::Zstd(1)), csv(TextCompression::Zstd(19))),
        (csv(TextCompression::None), csv(TextCompression::Bzip2(9))),
        (csv(TextCompression::None), csv(TextCompression::Xz(6))),
        (arrow(ArrowCompression::None), arrow(ArrowCompression::Lz4)),
        (arrow(ArrowCompression::Zstd(1)), arrow(ArrowCompression::Zstd(19))),
        (avro(AvroCompression::None), avro(AvroCompression::Snappy)),
        (avro(AvroCompression::None), avro(AvroCompression::Deflate)),
        (avro(AvroCompression::None), avro(AvroCompression::Zstd)),
        (avro(AvroCompression::None), avro(AvroCompression::Bzip2)),
        (avro(AvroCompression::None), avro(AvroCompression::Xz)),
    ] {
        let sizes = (size(&large), size(&small));
        assert!(sizes.1 < sizes.0, "{large:?} {} bytes, {small:?} {}", sizes.0, sizes.1);
    }
}

#[test]
fn a_target_that_changes_its_codec_stays_one_target() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let t = |compression, run_id: &str, change| target(&path, &csv(compression), run_id, change);
    let last = csv(TextCompression::Xz(6));
    for (n, compression) in TEXT.iter().enumerate() {
        let n = n as i64;
        let _ =
            run(written(t(*compression, &format!("r{n}"), APPEND), &[rows(&[(n, None)])])).unwrap();
        assert_eq!(ids(&path, &last), (0..=n).collect::<Vec<_>>());
    }
    let (counts, _) =
        run(written(t(TextCompression::Zstd(3), "over", OVERWRITE), &[rows(&[(99, None)])]))
            .unwrap();
    assert_eq!(
        counts.rows_deleted,
        Some(TEXT.len() as u64),
        "files of all codecs are the target's"
    );
    assert_eq!((ids(&path, &last), files(&path).len()), (vec![99], 1));
    // Somebody else's compressed file is data as well, and what is compressed in another way is none.
    fs::write(path.join("theirs.csv.gz"), files_of_theirs(&[7])).unwrap();
    assert_eq!(ids(&path, &last), [7, 99]);
    fs::write(path.join("theirs.csv.lz4"), "x").unwrap();
    let refused = run(written(t(TextCompression::None, "z", APPEND), &[])).unwrap_err().to_string();
    assert!(refused.contains("files of another format: `theirs.csv.lz4`"), "{refused}");
}

/// A file of these ids as our writer makes it elsewhere.
fn files_of_theirs(ids: &[i64]) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let batch = rows(&ids.iter().map(|id| (*id, None)).collect::<Vec<_>>());
    write(&folder.path().join("t"), &csv(TextCompression::Gzip(6)), &batch);
    files(&folder.path().join("t")).remove(0).1
}

#[test]
fn leftovers_in_another_codec_are_the_runs_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let t = |compression| target(&path, &csv(compression), "a", APPEND);
    let _ = run(written(t(TextCompression::Bzip2(9)), &[rows(&[(1, None)])])).unwrap();
    // As after a kill before the manifest; then the flow was edited and the run is tried again.
    fs::remove_file(path.join("_wasmhost/a.json")).unwrap();
    let (_, commit) = run(written(t(TextCompression::Gzip(6)), &[rows(&[(2, None)])])).unwrap();
    assert!(matches!(commit, Commit::Applied(..)));
    let names: Vec<_> = files(&path).into_iter().map(|(name, _)| name).collect();
    assert!(names.len() == 1 && names[0].ends_with(".csv.gz"), "{names:?}");
}

#[test]
fn more_partitions_than_codecs_have_memory_for_are_all_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    // Two files at a time.
    let format = csv(TextCompression::Xz(6));
    let batch = rows(&[(1, Some("a")), (2, Some("b")), (3, Some("c")), (4, Some("d"))]);
    let batches = [batch.clone(), batch];
    let _ = run(written(by_group(target(&path, &format, "a", APPEND)), &batches)).unwrap();
    assert_eq!(ids(&path, &format), [1, 1, 2, 2, 3, 3, 4, 4]);
    assert_eq!(files(&path).len(), 8, "each batch's rows of a partition, when others come between");
}

#[test]
fn csv_with_other_quotes_and_escapes_comes_back_whole() {
    let odd = ["'", "\"", "\\", "\\'", "''", "|", "\\|\n'", "", "a'b\\c", "\\\\", "NA", "1"];
    let values: Vec<_> = odd.iter().map(|text| (1, Some(*text))).chain([(2, None)]).collect();
    let batch = rows(&values);
    for (quote, escape) in [
        (b'"', None),
        (b'\'', None),
        (b'\'', Some(b'\\')),
        (b'"', Some(b'\\')),
        (b'\'', Some(b'\'')),
        (b'1', None),
    ] {
        let options = CsvWrite { delimiter: b'|', quote, escape, ..CsvWrite::default() };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let format = WriteFormat::Csv(options);
        write(&path, &format, &batch);
        let back = read(&path, reader(&format), &batch);
        assert_eq!(back.column(1), batch.column(1), "{format:?}");
    }
}
