//! Flat targets that are made once: what counts as one that is there, runs that make one at a time, and the same run again.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use wasmhost::flow::DateFolders;
use wasmhost::flow::WriteFormat;
use wasmhost::name::FlowName;
use wasmhost::table::Commit;
use wasmhost::table::Counts;
use wasmhost::table::IfExists;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;
use wasmhost::writer;
use wasmhost::writer::Target;
use wasmhost::writer::WriteError;

use super::APPEND;
use super::OVERWRITE;
use super::by_group;
use super::counts;
use super::formats;
use super::now;
use super::parts::data;
use super::parts::flat;
use super::parts::seen;
use super::prepared;
use super::rows;
use super::run;
use super::target;
use super::tree;
use super::written;

const NEW: TableChange = TableChange::Create { if_exists: IfExists::Refuse };
const NEW_OR_NOTHING: TableChange = TableChange::Create { if_exists: IfExists::Skip };
const NO_ROWS: TableChange = TableChange::Replace { scope: Scope::All, allow_empty: true };

fn one(id: i64) -> [arrow::array::RecordBatch; 1] {
    [rows(&[(id, None)])]
}

fn skipped(rows: u64) -> Counts {
    Counts { rows_inserted: 0, rows_unchanged: rows, ..counts(rows, 0) }
}

fn is_refused(error: &WriteError) -> bool {
    matches!(error, WriteError::Refused(_))
        && error.to_string().contains("there is a table already")
}

/// Whether a target counts as one that is there, asked of both strategies; if not, it is made.
fn check(format: &WriteFormat, name: &str, is_there: bool, lay: impl Fn(&Path)) {
    for change in [NEW, NEW_OR_NOTHING] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        lay(&path);
        let name = format!("{}: {name}: {change:?}", format.name());
        let (before, rows_before) = (tree(folder.path()), seen(&path, format));
        let to = || target(&path, format, "new", change.clone());
        let wrote = run(written(to(), &one(7)));
        match (is_there, &change) {
            (false, _) => {
                assert_eq!(wrote.unwrap(), (counts(1, 0), Commit::Applied(counts(1, 0), None)));
                assert_eq!(seen(&path, format), ["7|-"], "{name}");
                // What was there and is no data stays.
                let after = tree(folder.path());
                let ours = |file: &Path| file.to_string_lossy().contains("_dead-");
                let lost = before
                    .iter()
                    .find(|(file, bytes)| !ours(file) && after.get(*file) != Some(*bytes));
                assert_eq!(lost, None, "{name}");
                continue;
            }
            (true, &NEW) => {
                // Before any row is read.
                let error = run(writer::open(to())).err().unwrap();
                assert!(is_refused(&error) && is_refused(&wrote.unwrap_err()), "{name}: {error}");
            }
            (true, _) => assert_eq!(wrote.unwrap(), (skipped(1), Commit::Skipped), "{name}"),
        }
        assert_eq!(tree(folder.path()), before, "{name}");
        assert_eq!(seen(&path, format), rows_before, "{name}");
    }
}

/// A data file of the format.
fn file(format: &WriteFormat) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let _ = run(written(target(&path, format, "a", APPEND), &one(1))).unwrap();
    data(&path).into_values().next().unwrap()
}

#[test]
fn what_is_there_counts_as_readers_would_read_it() {
    for format in flat() {
        let bytes = file(&format);
        let ending = format.name();
        let put = |path: &Path, name: &str| {
            let file = path.join(format!("{name}.{ending}"));
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, &bytes).unwrap();
        };
        let load = |path: &Path, run_id: &str, change: TableChange, rows: &[_]| {
            let _ = run(written(target(path, &format, run_id, change), rows)).unwrap();
        };
        let check = |name, is_there, lay: &dyn Fn(&Path)| check(&format, name, is_there, lay);
        check("nothing", false, &|_| {});
        check("an empty folder", false, &|path| fs::create_dir(path).unwrap());
        check("folders that are empty", false, &|path| {
            fs::create_dir_all(path.join("a/b")).unwrap();
        });
        check("hidden files", false, &|path| {
            put(path, ".x");
            put(path, "_x");
            put(path, "_old/x");
        });
        check("what a run left that died", false, &|path| {
            put(path, "t_20261130T010203004Z_dead-0");
            put(path, ".wasmhost-dead/t_20261130T010203004Z_dead-0");
        });
        check("somebody else's file", true, &|path| put(path, "theirs"));
        check("one in a folder", true, &|path| put(path, "2025/x"));
        check("a run's rows", true, &|path| load(path, "a", APPEND, &one(1)));
        check("a run without rows", true, &|path| load(path, "a", APPEND, &[]));
        check("rows that an overwrite took away", true, &|path| {
            load(path, "a", APPEND, &one(1));
            load(path, "b", NO_ROWS, &[]);
        });
        check("files of another format of a run", true, &|path| {
            let other = formats().into_iter().skip(1).find(|it| it.name() != format.name());
            let _ = run(written(target(path, &other.unwrap(), "a", APPEND), &[])).unwrap();
        });
    }
}

#[test]
fn files_of_another_format_are_in_the_way_of_both() {
    for format in flat() {
        for change in [NEW, NEW_OR_NOTHING] {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("notes.txt"), "x").unwrap();
            let before = tree(folder.path());
            let to = target(folder.path(), &format, "a", change);
            let error = run(written(to, &one(1))).unwrap_err();
            assert!(
                error.is_users()
                    && error.to_string().contains("files of another format: `notes.txt`"),
                "{}: {error}",
                format.name()
            );
            assert_eq!(tree(folder.path()), before);
        }
    }
}

#[test]
fn partitions_and_date_folders_are_of_one_target() {
    let dated = |path: &Path, format: &WriteFormat, run_id: &str, days, change| {
        let mut target = target(path, format, run_id, change);
        target.date_folders = Some(DateFolders::new("{year}/{month}/{day}").unwrap());
        target.run.started_at = now() + chrono::Duration::days(days);
        target
    };
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let (parted, by_date) = (folder.path().join("parted"), folder.path().join("by_date"));
        let split = |run_id, change| by_group(target(&parted, &format, run_id, change));
        let x = [rows(&[(1, Some("x"))])];
        let _ = run(written(split("a", NEW), &x)).unwrap();
        let _ = run(written(dated(&by_date, &format, "a", 0, NEW), &x)).unwrap();
        let before = tree(folder.path());
        // Other partitions, and the folder of another day, are no other target.
        let y = [rows(&[(2, Some("y"))])];
        let other_day = |change| dated(&by_date, &format, "b", 1, change);
        for refused in [split("b", NEW), other_day(NEW)] {
            let error = run(written(refused, &y)).unwrap_err();
            assert!(is_refused(&error), "{}: {error}", format.name());
        }
        for idle in [split("b", NEW_OR_NOTHING), other_day(NEW_OR_NOTHING)] {
            assert_eq!(run(written(idle, &y)).unwrap(), (skipped(1), Commit::Skipped));
        }
        assert_eq!(tree(folder.path()), before, "{}", format.name());
        assert_eq!(seen(&parted, &format), ["1|x"], "{}", format.name());
        assert!(data(&by_date).keys().all(|file| file.starts_with(by_date.join("2026/11/30"))));
    }
}

#[test]
fn the_run_that_made_a_target_finds_itself_done() {
    for format in flat() {
        for change in [NEW, NEW_OR_NOTHING] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            let to = || target(&path, &format, "a", change.clone());
            let _ = run(written(to(), &one(1))).unwrap();
            let again = (skipped(1), Commit::AlreadyApplied(None));
            let before = tree(folder.path());
            assert_eq!(run(written(to(), &one(1))).unwrap(), again, "{}", format.name());
            assert_eq!(tree(folder.path()), before, "{}", format.name());
            // Also where others have written since, or its rows are gone.
            let _ = run(written(target(&path, &format, "b", APPEND), &one(2))).unwrap();
            assert_eq!(run(written(to(), &one(1))).unwrap(), again, "{}", format.name());
            let _ = run(written(target(&path, &format, "c", OVERWRITE), &one(3))).unwrap();
            assert_eq!(run(written(to(), &one(1))).unwrap(), again, "{}", format.name());
            assert_eq!(seen(&path, &format), ["3|-"], "{}", format.name());
            // Its id in another flow is another run's.
            let mut other = to();
            other.run.flow = FlowName::new("other").unwrap();
            let error = run(written(other, &one(1))).unwrap_err();
            assert!(matches!(error, WriteError::Guard { .. }), "{}: {error}", format.name());
        }
    }
}

#[test]
fn a_run_that_died_before_its_manifest_has_made_nothing() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let to = |run_id| target(&path, &format, run_id, NEW);
        let _ = run(written(to("a"), &one(1))).unwrap();
        fs::remove_file(path.join("_wasmhost/a.json")).unwrap();
        let (_, commit) = run(written(to("b"), &one(2))).unwrap();
        assert_eq!(commit, Commit::Applied(counts(1, 0), None), "{}", format.name());
        assert_eq!(seen(&path, &format), ["2|-"], "{}", format.name());
        // What was staged by a run that lost comes to nothing, too.
        let error = run(written(to("a"), &one(1))).unwrap_err();
        assert!(is_refused(&error), "{}: {error}", format.name());
        assert_eq!(seen(&path, &format), ["2|-"], "{}", format.name());
    }
}

#[test]
fn a_target_that_came_while_rows_were_staged_is_there() {
    for format in flat() {
        for first in [NEW, NEW_OR_NOTHING, APPEND, OVERWRITE] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("t");
            let to = |run_id, change| target(&path, &format, run_id, change);
            let (new, or_nothing) = run(async {
                let new = prepared(to("n", NEW), &one(1)).await.unwrap();
                let or_nothing = prepared(to("o", NEW_OR_NOTHING), &one(2)).await.unwrap();
                assert_eq!((new.counts(), or_nothing.counts()), (counts(1, 0), counts(1, 0)));
                let _ = written(to("first", first.clone()), &one(3)).await.unwrap();
                (new.commit().await, or_nothing.commit().await)
            });
            let name = format.name();
            let new = new.unwrap_err();
            assert!(is_refused(&new), "{name}: {first:?}: {new}");
            assert_eq!(or_nothing.unwrap(), Commit::Skipped, "{name}: {first:?}");
            assert_eq!(seen(&path, &format), ["3|-"], "{name}: {first:?}");
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left of them");
            assert_eq!(data(&path).len(), 1, "{name}: {first:?}");
        }
    }
}

#[test]
fn an_overwrite_takes_no_rows_that_count_only_since_it_was_judged() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let to = |run_id, change| target(&path, &format, run_id, change);
        let _ = run(written(to("old", APPEND), &[rows(&[(1, None), (2, None)])])).unwrap();
        let _ = run(written(to("new", APPEND), &one(3))).unwrap();
        // Its file is there already, and the manifest comes.
        let manifest = path.join("_wasmhost/new.json");
        let said = fs::read(&manifest).unwrap();
        fs::remove_file(&manifest).unwrap();
        let ended = run(async {
            let over = prepared(to("over", OVERWRITE), &one(9)).await.unwrap();
            assert_eq!(over.counts(), counts(1, 2), "{}", format.name());
            fs::write(&manifest, &said).unwrap();
            over.commit().await
        });
        let error = ended.unwrap_err();
        assert!(matches!(error, WriteError::Conflict { .. }), "{}: {error}", format.name());
        assert_eq!(seen(&path, &format), ["1|-", "2|-", "3|-"], "{}", format.name());
    }
}

#[test]
fn links_that_readers_follow_make_a_target() {
    for format in flat() {
        let folder = tempfile::tempdir().unwrap();
        let name = format!("in.{}", format.name());
        let data = folder.path().join(&name);
        fs::write(&data, file(&format)).unwrap();
        let hidden = format!("_{name}");
        for (place, link, to, is_there) in [
            ("a", name.as_str(), data.as_path(), true),
            ("b", "more", folder.path(), true),
            ("c", &hidden, &data, false),
            ("d", &name, Path::new("nowhere"), false),
            ("e", "notes.txt", &data, false),
        ] {
            let path = folder.path().join(place);
            fs::create_dir(&path).unwrap();
            symlink(to, path.join(link)).unwrap();
            let wrote = run(written(target(&path, &format, "new", NEW), &one(7)));
            match is_there {
                true => assert!(is_refused(&wrote.unwrap_err()), "{}: {place}", format.name()),
                false => assert_eq!(wrote.unwrap().0, counts(1, 0), "{}: {place}", format.name()),
            }
            assert!(path.join(link).symlink_metadata().is_ok(), "{place}");
        }
    }
}

/// Runs that commit at one moment: how each ended, and the rows then.
fn race(
    format: &WriteFormat,
    targets: Vec<Target>,
) -> (Vec<Result<Commit, WriteError>>, Vec<String>) {
    let path = targets[0].path().to_owned();
    let ready: Vec<_> = targets
        .into_iter()
        .enumerate()
        .map(|(n, target)| run(prepared(target, &one(n as i64))).unwrap())
        .collect();
    let start = Barrier::new(ready.len());
    let ended = thread::scope(|scope| {
        let commit = |prepared: Box<dyn writer::Prepared>| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                run(prepared.commit())
            })
        };
        let all: Vec<_> = ready.into_iter().map(commit).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    (ended, seen(&path, format))
}

#[test]
fn of_many_that_make_a_target_at_once_one_does() {
    let format = &formats()[2];
    for round in 0..10 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        // An empty folder may be there, and none.
        if round % 2 == 0 {
            fs::create_dir(&path).unwrap();
        }
        let change = |n| if n % 2 == 0 { NEW } else { NEW_OR_NOTHING };
        let targets = (0..8).map(|n| target(&path, format, &format!("r{n}"), change(n)));
        let (ended, rows) = race(format, targets.collect());
        let made: Vec<_> =
            (0..8).filter(|n| matches!(ended[*n], Ok(Commit::Applied(..)))).collect();
        assert_eq!(made.len(), 1, "{ended:?}");
        assert_eq!(rows, [format!("{}|-", made[0])]);
        for (n, ended) in ended.iter().enumerate().filter(|(n, _)| *n != made[0]) {
            match ended {
                Ok(commit) => assert_eq!((change(n), commit), (NEW_OR_NOTHING, &Commit::Skipped)),
                Err(error) => assert!(change(n) == NEW && is_refused(error), "{error}"),
            }
        }
    }
}

#[test]
fn an_overwrite_at_the_moment_when_a_target_is_made_takes_nothing_away() {
    let format = &formats()[2];
    for round in 0..80 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t");
        let other = if round % 2 == 0 { NEW } else { APPEND };
        let targets = vec![
            target(&path, format, "other", other.clone()),
            target(&path, format, "over", OVERWRITE),
        ];
        let (ended, rows) = race(format, targets);
        let [first, over] = &ended[..] else { panic!() };
        match (first, over) {
            (Ok(Commit::Applied(..)), Err(WriteError::Conflict { .. })) => {
                assert_eq!(rows, ["0|-"])
            }
            (Ok(Commit::Applied(..)), Ok(Commit::Applied(..))) if other == APPEND => {
                assert_eq!(rows, ["0|-", "1|-"]);
            }
            (Err(error), Ok(Commit::Applied(..))) if other == NEW => {
                assert!(is_refused(error), "{error}");
                assert_eq!(rows, ["1|-"]);
            }
            ended => panic!("{other:?}: {ended:?}: {rows:?}"),
        }
    }
}
