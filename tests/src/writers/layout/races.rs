//! Others who commit while files are rewritten.

use std::fs;
use std::path::Path;

use serde_json::Value;
use serde_json::json;
use wasmhost::table::Optimization;
use wasmhost::table::Scope;
use wasmhost::table::TableChange;
use wasmhost::writer::Target;

use super::changed;
use super::done;
use super::optimized;
use super::put_entry;
use super::rewritten;
use super::tidy;
use crate::writers::OVERWRITE;
use crate::writers::by_group;
use crate::writers::formats;
use crate::writers::lines;
use crate::writers::prepared;
use crate::writers::rows;
use crate::writers::run;
use crate::writers::table::live;
use crate::writers::tree;
use crate::writers::written;

const BY_PARTITIONS: TableChange =
    TableChange::Replace { scope: Scope::Partitions, allow_empty: false };

/// While the files of two runs are rewritten, somebody else commits; then what is said, and the rows.
async fn race(
    split: bool,
    between: impl AsyncFnOnce(&Path, &Target),
    said: impl FnOnce(&Optimization) -> bool,
    after: &[&str],
) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let to = |run_id| {
        let target = tidy(&path, run_id, &[]);
        if split { by_group(target) } else { target }
    };
    let _ = written(to("a"), &[rows(&[(1, Some("x")), (2, Some("y"))])]).await.unwrap();
    let rewritten = rewritten(&to("b"), &[rows(&[(3, Some("x")), (4, Some("y"))])]).await.unwrap();
    between(&path, &to("c")).await;
    let outcome = rewritten.commit().await;
    assert!(said(&outcome), "{outcome:?}");
    assert_eq!(lines(&path, &formats()[0]), after);
    let versions = 0..fs::read_dir(path.join("_delta_log")).unwrap().count();
    let known: Vec<_> = versions.flat_map(|version| live(&path, version)).collect();
    for file in tree(&path).keys().filter(|file| file.extension().is_some_and(|it| it == "parquet"))
    {
        assert!(known.iter().any(|(it, _)| it == file), "left over: {file:?}");
    }
}

fn given_up(outcome: &Optimization) -> bool {
    matches!(outcome, Optimization::Skipped(why) if why.contains("somebody else has changed"))
}

#[test]
fn whoever_comes_in_between_goes_first() {
    let five = || [rows(&[(5, Some("y"))])];
    run(async {
        race(
            false,
            async |_, to| {
                let to = Target { change: OVERWRITE, ..to.clone() };
                let _ = written(to, &five()).await.unwrap();
            },
            given_up,
            &["5|y"],
        )
        .await;
        // One of two partitions is enough: it is one commit.
        race(
            true,
            async |_, to| {
                let to = Target { change: BY_PARTITIONS, ..to.clone() };
                let _ = written(to, &five()).await.unwrap();
            },
            given_up,
            &["1|x", "3|x", "5|y"],
        )
        .await;
        // Somebody who rewrites the same files changes no row either; both together would double them.
        race(
            false,
            async |path, to| {
                let all = ["1|x", "2|y", "3|x", "4|y", "5|y"];
                assert_eq!(optimized(to, &five()).await, done(3, 1, 3));
                assert_eq!(lines(path, &formats()[0]), all);
            },
            given_up,
            &["1|x", "2|y", "3|x", "4|y", "5|y"],
        )
        .await;
        race(
            false,
            async |path, to| {
                let metadata = |metadata: &mut Value| {
                    let mut schema: Value =
                        serde_json::from_str(metadata["schemaString"].as_str().unwrap()).unwrap();
                    let fields = schema["fields"].as_array_mut().unwrap();
                    fields.push(
                        json!({ "name": "n", "type": "long", "nullable": true, "metadata": {} }),
                    );
                    metadata["schemaString"] = json!(schema.to_string());
                };
                put_entry(path, 2, &[changed(path, "metaData", metadata)]);
                let _ = written(to.clone(), &five()).await.unwrap();
            },
            given_up,
            &["1|x", "2|y", "3|x", "4|y", "5|y"],
        )
        .await;
        // Additions mind nobody.
        race(
            true,
            async |_, to| {
                let _ = written(to.clone(), &five()).await.unwrap();
            },
            |outcome| *outcome == done(4, 2, 3),
            &["1|x", "2|y", "3|x", "4|y", "5|y"],
        )
        .await;
    });
}

#[test]
fn changes_that_wait_while_files_are_rewritten_land_on_the_new_ones() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t");
    let to = |run_id| by_group(tidy(&path, run_id, &[]));
    run(async {
        let _ = written(to("a"), &[rows(&[(1, Some("x")), (2, Some("y"))])]).await.unwrap();
        let replaces = Target { change: BY_PARTITIONS, ..to("c") };
        let waits = prepared(replaces, &[rows(&[(9, Some("x"))])]).await.unwrap();
        let both = [rows(&[(3, Some("x")), (4, Some("y"))])];
        assert_eq!(optimized(&to("b"), &both).await, done(4, 2, 2));
        let _ = waits.commit().await.unwrap();
    });
    assert_eq!(lines(&path, &formats()[0]), ["2|y", "4|y", "9|x"]);
}
