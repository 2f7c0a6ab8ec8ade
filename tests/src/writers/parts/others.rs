//! Other runs and other people's files beside a part that is replaced.

use std::fs;
use std::path::Path;

use super::super::APPEND;
use super::super::counts;
use super::super::formats;
use super::super::prepared;
use super::super::rows;
use super::super::run;
use super::super::tree;
use super::super::written;
use wasmhost::table::Commit;
use wasmhost::writer::WriteError;

use super::PARTITIONS;
use super::flat;
use super::load;
use super::seen;
use super::there;
use super::to;

#[test]
fn partitions_are_replaced_only_as_they_were_judged() {
    for format in flat() {
        for (change, id, group, is_conflict) in [
            (APPEND, 20, "a", true),
            (PARTITIONS, 20, "a", true),
            (APPEND, 20, "b", false),
            (PARTITIONS, 20, "b", false),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            there(&path, &format);
            let ended = run(async {
                let judged = to(&path, &format, "r", PARTITIONS);
                let judged = prepared(judged, &[rows(&[(9, Some("a"))])]).await.unwrap();
                let other = to(&path, &format, "other", change.clone());
                let _ = written(other, &[rows(&[(id, Some(group))])]).await.unwrap();
                judged.commit().await
            });
            let name = format.name();
            match is_conflict {
                true => {
                    let error = ended.unwrap_err();
                    assert!(matches!(error, WriteError::Conflict { .. }), "{name}: {error}");
                    let left = seen(&path, &format);
                    assert!(
                        left.contains(&"20|a".to_owned()) && !left.contains(&"9|a".to_owned()),
                        "{left:?}"
                    );
                    assert!(!path.join(".wasmhost-r").exists(), "nothing is left of it");
                    // Run again, it judges what is there now.
                    let there = left.iter().filter(|line| line.ends_with("|a")).count() as u64;
                    let (counted, _) =
                        load(to(&path, &format, "r", PARTITIONS), &[(9, Some("a"))]).unwrap();
                    assert_eq!(counted, counts(1, there), "{name}");
                    assert_eq!(seen(&path, &format), ["3|b", "4|-", "9|a"], "{name}");
                }
                false => {
                    assert_eq!(ended.unwrap(), Commit::Applied(counts(1, 2), None), "{name}");
                    let left = seen(&path, &format);
                    assert!(
                        left.contains(&"20|b".to_owned()) && left.contains(&"9|a".to_owned()),
                        "{left:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn of_many_that_replace_a_partition_at_once_one_has_it() {
    let format = &formats()[2];
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        there(&path, format);
        let ready: Vec<_> = (0..8)
            .map(|n| {
                let to = to(&path, format, &format!("r{n}"), PARTITIONS);
                run(prepared(to, &[rows(&[(100 + n, Some("a"))])])).unwrap()
            })
            .collect();
        let landed: Vec<bool> = std::thread::scope(|scope| {
            let commits: Vec<_> =
                ready.into_iter().map(|one| scope.spawn(|| run(one.commit()).is_ok())).collect();
            commits.into_iter().map(|commit| commit.join().unwrap()).collect()
        });
        assert_eq!(landed.iter().filter(|landed| **landed).count(), 1, "{landed:?}");
        let winner = 100 + landed.iter().position(|landed| *landed).unwrap();
        assert_eq!(
            seen(&path, format),
            [format!("{winner}|a"), "3|b".to_owned(), "4|-".to_owned()]
        );
    }
}

/// What a folder holds besides, and what a batch of partition `a` says to it: the error's words, or nothing.
fn check_foreign(before: impl FnOnce(&Path), right: &str) {
    let format = &formats()[2];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    there(&path, format);
    before(&path);
    let files = tree(folder.path());
    let ended = load(to(&path, format, "r", PARTITIONS), &[(9, Some("a"))]);
    match ended {
        Ok(_) => {
            assert_eq!(right, "");
            // What was there in other partitions is as it was, byte for byte.
            for (file, bytes) in files
                .iter()
                .filter(|(file, _)| file.is_file() && !file.starts_with(path.join("g=a")))
            {
                assert_eq!(&fs::read(file).unwrap(), bytes, "{}", file.display());
            }
        }
        Err(error) => {
            assert!(error.is_users(), "{error}");
            let error = error.to_string().replace(path.to_str().unwrap(), "T");
            assert!(!right.is_empty() && error.contains(right), "{error}");
            assert_eq!(tree(folder.path()), files, "nothing was touched");
        }
    }
}

#[test]
fn other_peoples_files_are_replaced_left_alone_or_in_the_way() {
    let put = |name: &'static str| {
        move |path: &Path| {
            fs::create_dir_all(path.join(name).parent().unwrap()).unwrap();
            fs::write(path.join(name), "id\n7\n").unwrap();
        }
    };
    check_foreign(put("g=a/theirs.csv"), "");
    check_foreign(put("g=b/theirs.csv"), "");
    check_foreign(put("g=b/.hidden"), "");
    check_foreign(put("_SUCCESS"), "");
    check_foreign(
        put("g=a/.theirs.csv.crc"),
        "T: path: the part that is replaced holds files that are not the destination's: `g=a/.theirs.csv.crc` [wrong-value]\n  hint: move them away",
    );
    check_foreign(put("g=a/deeper/_x"), "not the destination's: `g=a/deeper/_x`");
    check_foreign(
        put("g=b/notes.txt"),
        "the folder holds files of another format: `g=b/notes.txt`",
    );
    check_foreign(put("theirs.csv"), "T/theirs.csv: its folders do not name the partition columns");
    check_foreign(put("x=1/theirs.csv"), "its folders do not name the partition columns");
    check_foreign(
        |path| {
            fs::rename(path.join("g=a"), path.parent().unwrap().join("elsewhere")).unwrap();
            std::os::unix::fs::symlink("../elsewhere", path.join("g=a")).unwrap();
        },
        "the part that is replaced holds files that are not the destination's: `g=a`",
    );
    // Another spelling of the same value is the same partition.
    let format = &formats()[2];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    for name in ["g=North West", "g=a%20b"] {
        fs::create_dir_all(path.join(name)).unwrap();
        fs::write(path.join(name).join("theirs.csv"), "id\n7\n").unwrap();
    }
    for (n, value) in ["North West", "a%20b", "a b"].into_iter().enumerate() {
        let _ = load(to(&path, format, &format!("r{n}"), PARTITIONS), &[(n as i64, Some(value))])
            .unwrap();
    }
    assert_eq!(seen(&path, format), ["0|North West", "1|a%20b", "2|a b"]);
}
