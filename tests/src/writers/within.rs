//! Parts of flat targets as sources: a file, a folder, a pattern below one has the rows that the whole has there. States of runs that
//! replaced files and did not delete them, or died, are made by hand.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::path::PathBuf;

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;
use wasmhost::flow::DateFolders;
use wasmhost::flow::Location;
use wasmhost::flow::WriteFormat;
use wasmhost::source::Files;
use wasmhost::table::TableChange;

use super::APPEND;
use super::OVERWRITE;
use super::exchange::reader;
use super::exchange::source;
use super::now;
use super::parts::data;
use super::parts::flat;
use super::parts::put_back;
use super::parts::times;
use super::rows;
use super::run;
use super::target;
use super::written;

/// The ids that a source has, below a connection's folder or anywhere; or why it has none.
fn ids(path: &Path, format: &WriteFormat, base: Option<&Path>) -> Result<Vec<i64>, String> {
    let mut source = source(path, reader(format), &rows(&[]));
    source.base = base.map(|base| Location::Disk(base.to_owned()));
    let found = Files::discover(&source).map_err(|error| error.to_string())?;
    let mut files = Files::open(found, 100);
    let mut ids = Vec::new();
    while let Some(batch) = files.next_batch().unwrap() {
        let column = batch.rows.column_by_name("id").unwrap().as_primitive::<Int64Type>().clone();
        ids.extend(column.values());
    }
    ids.sort_unstable();
    Ok(ids)
}

/// A target `lake/t` with folders by month. November has row 9, which has replaced 1, whose file is still there, and 8 of a run that
/// died; December has 2; `theirs` is somebody else's file with row 7.
struct Laid {
    folder: tempfile::TempDir,
    /// Those with rows 1, 2, 9 and 8.
    files: [PathBuf; 4],
    theirs: PathBuf,
}

fn lay(format: &WriteFormat) -> Laid {
    let folder = tempfile::tempdir().unwrap();
    // Without links: the system's folder for temporary files may be one.
    let path = fs::canonicalize(folder.path()).unwrap().join("lake/t");
    let mut known = Vec::new();
    let mut load = |path: &Path, run_id: &str, id: i64, days: i64, change: TableChange| {
        let mut to = target(path, format, run_id, change);
        to.date_folders = Some(DateFolders::new("{year}/{month}").unwrap());
        to.run.started_at = now() + chrono::Duration::days(days);
        let _ = run(written(to, &[rows(&[(id, Some("g"))])])).unwrap();
        let new = data(path).into_keys().find(|file| !known.contains(file)).unwrap();
        known.push(new.clone());
        new
    };
    let first = load(&path, "a", 1, 0, APPEND);
    let (old, times) = (data(&path), times(&data(&path)));
    let second = load(&path, "b", 2, 1, APPEND);
    let dead = load(&path, "dead", 8, 0, APPEND);
    fs::remove_file(path.join("_wasmhost/dead.json")).unwrap();
    let over = load(&path, "c", 9, 0, OVERWRITE);
    put_back(&old, &times);
    let theirs = path.join("2026/11").join(format!("theirs.{}", format.name()));
    let other = folder.path().join("other");
    fs::copy(load(&other, "x", 7, 0, APPEND), &theirs).unwrap();
    fs::remove_dir_all(other).unwrap();
    Laid { folder, files: [first, second, over, dead], theirs }
}

#[test]
fn a_part_of_a_target_has_what_the_whole_has_there() {
    for format in flat() {
        let laid = lay(&format);
        let root = fs::canonicalize(laid.folder.path()).unwrap();
        let end = format.name();
        symlink(root.join("lake/t/2026/11"), root.join("november")).unwrap();
        symlink(root.join("lake"), root.join("elsewhere")).unwrap();
        for (path, right) in [
            ("lake/t", &[2, 7, 9][..]),
            ("lake/t/2026", &[2, 7, 9]),
            ("lake/t/2026/11", &[7, 9]),
            ("lake/t/2026/12", &[2]),
            ("lake/t/2026/12/../11", &[7, 9]),
            ("lake/t/../t/2026/11", &[7, 9]),
            ("november", &[7, 9]),
            ("elsewhere/t/2026/11", &[7, 9]),
            (&format!("lake/t/2026/11/*.{end}"), &[7, 9]),
            (&format!("lake/t/2026/11/out_*.{end}"), &[9]),
            (&format!("lake/t/2026/*/out_*.{end}"), &[2, 9]),
            (&format!("lake/t/**/*.{end}"), &[2, 7, 9]),
            (&format!("elsewhere/t/2026/1[12]/*.{end}"), &[2, 7, 9]),
            (&format!("november/*.{end}"), &[7, 9]),
        ] {
            let found = ids(&root.join(path), &format, None);
            assert_eq!(found.as_deref(), Ok(right), "{end}: {path}");
            let found = ids(&root.join(path), &format, Some(&root));
            assert_eq!(found.as_deref(), Ok(right), "{end}: {path}, below a base");
        }
        // Where all that matches does not count.
        let none = root.join(format!("lake/t/2026/11/*_dead-0*.{end}"));
        let told = ids(&none, &format, None).unwrap_err();
        assert!(told.contains("no data file counts: 1 that match"), "{told}");
    }
}

#[test]
fn a_file_that_is_named_and_does_not_count_is_an_error() {
    for format in flat() {
        let laid = lay(&format);
        let root = fs::canonicalize(laid.folder.path()).unwrap();
        let [replaced, second, over, dead] = &laid.files;
        let link = root.join("link");
        for (file, id) in [
            (replaced, None),
            (dead, None),
            (second, Some(2)),
            (over, Some(9)),
            (&laid.theirs, Some(7)),
        ] {
            symlink(file, &link).unwrap();
            for path in [file, &link] {
                let found = ids(path, &format, Some(&root));
                match id {
                    Some(id) => assert_eq!(found, Ok(vec![id]), "{path:?}"),
                    None => {
                        let told = found.unwrap_err();
                        let says = "it is not, or no longer, part of `";
                        assert!(told.contains(says) && told.contains("/lake/t`"), "{told}");
                        assert!(told.contains(&path.display().to_string()), "{told}");
                    }
                }
            }
            fs::remove_file(&link).unwrap();
        }
    }
}

#[test]
fn the_nearest_manifests_count_up_to_the_connections_folder() {
    for format in flat() {
        let laid = lay(&format);
        let root = fs::canonicalize(laid.folder.path()).unwrap();
        let november = root.join("lake/t/2026/11");
        let [replaced, ..] = &laid.files;
        // Nothing above the connection's folder is looked at.
        assert_eq!(ids(replaced, &format, Some(&november)), Ok(vec![1]));
        assert!(ids(replaced, &format, Some(&root.join("lake/t"))).is_err());
        // A target in a target has its own.
        let inner = november.join("inner");
        for (run_id, id) in [("i", 5), ("gone", 6)] {
            let _ = run(written(target(&inner, &format, run_id, APPEND), &[rows(&[(id, None)])]))
                .unwrap();
        }
        fs::remove_file(inner.join("_wasmhost/gone.json")).unwrap();
        assert_eq!(ids(&inner, &format, None), Ok(vec![5]));
        assert_eq!(ids(&inner.join("*"), &format, None), Ok(vec![5]));
        // Copies without manifests: those that are named count, a folder of them does not.
        let away = root.join("away");
        fs::create_dir(&away).unwrap();
        let copy = away.join(replaced.file_name().unwrap());
        fs::copy(replaced, &copy).unwrap();
        assert_eq!(ids(&copy, &format, None), Ok(vec![1]));
        assert_eq!(ids(&away.join("*"), &format, None), Ok(vec![1]));
        let told = ids(&away, &format, None).unwrap_err();
        assert!(told.contains("no data file counts"), "{told}");
        // A file by the name of the manifests' folder is none.
        fs::write(away.join("_wasmhost"), "x").unwrap();
        assert_eq!(ids(&copy, &format, None), Ok(vec![1]));
    }
}

#[test]
fn what_lies_above_plain_files_cannot_keep_them_from_being_read() {
    for format in flat() {
        let laid = lay(&format);
        let root = fs::canonicalize(laid.folder.path()).unwrap();
        let plain = root.join("above/below");
        fs::create_dir_all(&plain).unwrap();
        let copy = plain.join(format!("in.{}", format.name()));
        fs::copy(&laid.files[0], &copy).unwrap();
        fs::create_dir(root.join("above/_wasmhost")).unwrap();
        fs::write(root.join("above/_wasmhost/z.json"), "{ broken").unwrap();
        for path in [&plain, &copy, &plain.join("*")] {
            assert_eq!(ids(path, &format, None), Ok(vec![1]), "{}", path.display());
        }
        // Whoever reads a target's own files has to know what counts.
        fs::write(root.join("lake/t/_wasmhost/z.json"), "{ broken").unwrap();
        let told = ids(&root.join("lake/t/2026/11"), &format, None).unwrap_err();
        assert!(told.contains("z.json") && told.contains("no manifest of ours"), "{told}");
    }
}
