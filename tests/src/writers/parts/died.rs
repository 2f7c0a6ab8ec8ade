//! What a run that died, or was kept from a file, leaves: the old rows or the new ones.

use std::fs;
use std::fs::File;
use std::time::Duration;

use super::super::APPEND;
use super::super::OVERWRITE;
use super::super::counts;
use super::super::formats;
use super::super::prepared;
use super::super::rows;
use super::super::run;
use super::super::tree;
use wasmhost::flow::WriteFormat;
use wasmhost::table::Commit;
use wasmhost::writer::WriteError;

use super::PARTITIONS;
use super::data;
use super::flat;
use super::load;
use super::put_back;
use super::rows_known;
use super::seen;
use super::there;
use super::times;
use super::to;

#[test]
fn a_run_that_died_before_its_manifest_has_replaced_nothing() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        there(&path, &format);
        let (old, times) = (data(&path), times(&data(&path)));
        let _ = load(to(&path, &format, "r", PARTITIONS), &[(9, Some("a"))]).unwrap();
        // The new files are in place, the manifest is not, the old files are.
        fs::remove_file(path.join("_wasmhost/r.json")).unwrap();
        put_back(&old, &times);
        assert_eq!(data(&path).len(), old.len() + 1, "{}", format.name());
        assert_eq!(seen(&path, &format), ["1|a", "2|a", "3|b", "4|-"], "{}", format.name());
        assert_eq!(rows_known(&path, &format), Some(4), "{}", format.name());
        // The retry lands once, over what the first try left.
        let (counted, commit) =
            load(to(&path, &format, "r", PARTITIONS), &[(8, Some("a"))]).unwrap();
        assert_eq!((counted, matches!(commit, Commit::Applied(..))), (counts(1, 2), true));
        assert_eq!(seen(&path, &format), ["3|b", "4|-", "8|a"], "{}", format.name());
        assert_eq!(data(&path).len(), 3, "nothing is left: {:?}", data(&path).keys());
    }
}

#[test]
fn a_run_that_died_behind_its_manifest_has_replaced_all_that_it_should() {
    for format in flat() {
        for next in ["retry", "append", "partitions", "overwrite"] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            there(&path, &format);
            // Somebody else's file among those that go: it has no name of ours.
            let ours = data(&path)
                .keys()
                .find(|file| file.parent().unwrap().ends_with("g=a"))
                .unwrap()
                .clone();
            let ending = ours.to_str().unwrap().rsplit_once('.').unwrap().1.to_owned();
            let theirs = ours.with_file_name(format!("theirs.{ending}"));
            fs::copy(&ours, &theirs).unwrap();
            let (old, times) = (data(&path), times(&data(&path)));
            let (counted, _) =
                load(to(&path, &format, "r", PARTITIONS), &[(9, Some("a"))]).unwrap();
            // Only footers tell the rows of other people's files.
            let deleted = matches!(format, WriteFormat::Parquet(_)).then_some(3);
            assert_eq!(counted.rows_deleted, deleted, "{}", format.name());
            assert_eq!(data(&path).len(), 3, "{}", format.name());
            put_back(&old, &times);
            assert_eq!(data(&path).len(), 6, "{}", format.name());
            assert_eq!(seen(&path, &format), ["3|b", "4|-", "9|a"], "{}", format.name());
            assert_eq!(rows_known(&path, &format), Some(3), "{}", format.name());
            // Whoever comes next does not count them either, and deletes them.
            let (after, files) = match next {
                "retry" => {
                    let again =
                        load(to(&path, &format, "r", PARTITIONS), &[(9, Some("a"))]).unwrap();
                    assert_eq!(again.1, Commit::AlreadyApplied(None));
                    (vec!["3|b", "4|-", "9|a"], 3)
                }
                "append" => {
                    let _ = load(to(&path, &format, "n", APPEND), &[(5, Some("a"))]).unwrap();
                    (vec!["3|b", "4|-", "5|a", "9|a"], 4)
                }
                "partitions" => {
                    let (counted, _) =
                        load(to(&path, &format, "n", PARTITIONS), &[(5, Some("a"))]).unwrap();
                    assert_eq!(counted, counts(1, 1), "{}", format.name());
                    (vec!["3|b", "4|-", "5|a"], 3)
                }
                _ => {
                    let (counted, _) =
                        load(to(&path, &format, "n", OVERWRITE), &[(5, Some("a"))]).unwrap();
                    assert_eq!(counted, counts(1, 3), "{}", format.name());
                    (vec!["5|a"], 1)
                }
            };
            assert_eq!(seen(&path, &format), after, "{}: {next}", format.name());
            assert_eq!(data(&path).len(), files, "{}: {next}", format.name());
        }
    }
}

#[test]
fn a_file_that_somebody_puts_where_one_was_replaced_counts() {
    let format = &formats()[1];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    there(&path, format);
    let ours =
        data(&path).keys().find(|file| file.parent().unwrap().ends_with("g=b")).unwrap().clone();
    let theirs = path.join("g=a/theirs.parquet");
    fs::copy(&ours, &theirs).unwrap();
    let _ = load(to(&path, format, "r", PARTITIONS), &[(9, Some("a"))]).unwrap();
    assert!(!theirs.exists());
    fs::copy(&ours, &theirs).unwrap();
    File::options()
        .write(true)
        .open(&theirs)
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1))
        .unwrap();
    assert_eq!(seen(&path, format), ["3|a", "3|b", "4|-", "9|a"]);
    let _ = load(to(&path, format, "n", APPEND), &[]).unwrap();
    assert!(theirs.exists(), "it is nobody's to delete");
}

#[test]
fn a_manifest_that_cannot_be_written_leaves_everything_as_it_was() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        there(&path, &format);
        // Where the manifest is written before it gets its name.
        fs::create_dir(path.join("_wasmhost/.r.json.tmp")).unwrap();
        let before = tree(folder.path());
        let error = load(to(&path, &format, "r", PARTITIONS), &[(9, Some("a")), (8, Some("new"))])
            .unwrap_err();
        assert!(matches!(error, WriteError::Storage(_)), "{}: {error}", format.name());
        assert_eq!(tree(folder.path()), before, "{}", format.name());
    }
}

#[test]
fn a_file_that_cannot_be_moved_takes_those_before_it_back() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        there(&path, &format);
        let before = tree(folder.path());
        let batch = [rows(&[(9, Some("a")), (8, Some("new"))])];
        let prepared = run(prepared(to(&path, &format, "r", PARTITIONS), &batch)).unwrap();
        // A folder stands where the second file should go.
        let staged = tree(&path.join(".wasmhost-r/g=new"));
        let name = staged.keys().next().unwrap().file_name().unwrap().to_owned();
        fs::create_dir_all(path.join("g=new").join(name)).unwrap();
        let error = run(prepared.commit()).unwrap_err();
        assert!(matches!(error, WriteError::Storage(_)), "{}: {error}", format.name());
        fs::remove_dir_all(path.join("g=new")).unwrap();
        assert_eq!(tree(folder.path()), before, "{}", format.name());
    }
}
