//! Flat files in a store: what each load leaves there, lost requests one by one, several writers, and what is not ours.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::thread;

use serde_json::Value;

use super::FIRST;
use super::SECOND;
use super::connection;
use super::count;
use super::counts;
use super::fetched;
use super::proxy::Fault;
use super::proxy::Loss;
use super::proxy::Proxy;
use super::server;
use super::server::bucket;
use super::sorted;
use super::stage;
use crate::run::Stage;

pub(super) const CSV: &str = "format: csv";

/// A flow from `in.csv` to flat files below that connection, or on a disk.
pub(super) fn flow(connection: &str, destination: &str) -> String {
    super::flow(&connection.replace("format: delta, ", ""), destination)
}

/// A flow from flat files to `out`.
fn back(connection: &str, source: &str) -> String {
    format!(
        "name: back\nconnections:\n  lake: {}\nsource: {{ connection: lake, {source} }}\n\
         destination: {{ name: out, format: jsonl, path: out, load_type: overwrite, allow_empty: true }}\n",
        connection.replace("format: delta, ", "")
    )
}

/// The rows of `t`, as our own reader has them, or what it says.
pub(super) fn read(stage: &Stage, connection: &str, source: &str) -> Vec<String> {
    stage.put("back.yaml", &back(connection, source));
    let ran = stage.command(&["run", "back.yaml"]);
    match ran.code {
        0 => sorted(stage.rows("out")),
        code => vec![format!("{code}: {}", ran.stderr)],
    }
}

/// The visible files of a folder: where they are, and their bytes. Those of Avro have a mark of their own each.
pub(super) fn contents(stage: &Stage, folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut found: Vec<_> = stage
        .files()
        .into_iter()
        .filter_map(|path| {
            let inside = Path::new(path.strip_prefix(folder)?.strip_prefix('/')?).to_owned();
            let parent = inside.parent().unwrap().display().to_string();
            let is_hidden = inside
                .components()
                .any(|part| part.as_os_str().to_string_lossy().starts_with(['.', '_']));
            let bytes = fs::read(stage.path(&path)).ok()?;
            let bytes = if path.ends_with(".avro") { vec![0; bytes.len()] } else { bytes };
            (!is_hidden).then_some((parent, bytes))
        })
        .collect();
    found.sort();
    found
}

/// The manifests of `t`, by their keys; no other key but those of the files that they name and do not remove.
pub(super) fn manifests(bucket: &str) -> BTreeMap<String, Value> {
    let keys = server::keys(bucket);
    let (manifests, files): (Vec<_>, Vec<_>) =
        keys.into_iter().partition(|key| key.starts_with("lake/t/_wasmhost/"));
    let read = |key: String| {
        let text = server::get(bucket, &key);
        (key, serde_json::from_slice(&text).unwrap())
    };
    let manifests: BTreeMap<String, Value> = manifests.into_iter().map(read).collect();
    let paths = |field: &str| -> BTreeSet<String> {
        let all =
            manifests.values().flat_map(|it| it[field].as_array().cloned().unwrap_or_default());
        all.map(|file| format!("lake/t/{}", file["path"].as_str().unwrap())).collect()
    };
    let live: BTreeSet<String> = &paths("files") - &paths("removed");
    assert_eq!(files.into_iter().collect::<BTreeSet<_>>(), live, "files without a manifest");
    for (key, manifest) in &manifests {
        let name = key.strip_prefix("lake/t/_wasmhost/").unwrap();
        let id = manifest["run_id"].as_str().unwrap();
        let number = name.strip_prefix("replaced/").and_then(|rest| rest.strip_suffix(".json"));
        let is_number = number.is_some_and(|n| n.len() == 20 && n.parse::<u64>().is_ok());
        assert!(is_number || name == format!("{id}.json"), "{key}");
    }
    manifests
}

const FORMATS: &[&str] = &[
    "format: csv, write_options: { compression: gzip }",
    "format: parquet",
    "format: jsonl",
    "format: avro",
];

const LOADS: &[&str] = &[
    "load_type: append",
    "load_type: append, partition_columns: [p]",
    "load_type: append, date_folder_partitions: 'year={year}/{month}'",
    "load_type: overwrite",
    "load_type: overwrite, partition_columns: [p]",
    "load_type: overwrite, date_folder_partitions: '{year}/{month}'",
    "load_type: overwrite, partition_columns: [p], partition_column: p, partition_value: 'x y', transforms: [{ type: filter, expression: \"p = 'x y'\" }]",
    "load_type: overwrite_partitions, partition_columns: [p]",
];

#[test]
fn every_load_of_flat_files_leaves_in_a_store_what_it_leaves_on_a_disk() {
    thread::scope(|scope| {
        let all: Vec<_> =
            FORMATS.iter().map(|format| scope.spawn(|| check_loads(format))).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

fn check_loads(format: &str) {
    for load in LOADS {
        let name = format!("{format}, {load}");
        let bucket = bucket();
        let store = connection(&bucket, server::port());
        const DISK: &str = "{ base_path: lake }";
        let stage = stage(&[
            ("disk.yaml", &flow(DISK, &format!("path: t, {format}, {load}"))),
            ("store.yaml", &flow(&store, &format!("path: t, {format}, {load}"))),
        ]);
        for (step, input) in [FIRST, SECOND, SECOND].iter().enumerate() {
            stage.put("in.csv", input);
            let said = ["disk.yaml", "store.yaml"].map(|flow| {
                let (code, evidence, said) =
                    stage.run(flow, &["--run-id", &format!("{}-{step}", &flow[..4])]);
                assert_eq!(code, 0, "{name}: {said}");
                counts(&evidence)
            });
            assert_eq!(said[0], said[1], "{name}, input {step}");
            fetched(&bucket, &stage, "fetched");
            assert_eq!(
                contents(&stage, "fetched"),
                contents(&stage, "lake/t"),
                "{name}, input {step}"
            );
        }
        let there = manifests(&bucket);
        assert_eq!(there.len(), 3, "{name}");
        let source = format!("{}, path: t", format.split(", write").next().unwrap());
        assert_eq!(read(&stage, &store, &source), read(&stage, DISK, &source), "{name}");
        // Late retries find that they are done, also where their rows were replaced.
        for id in ["stor-0", "stor-2"] {
            let (code, evidence, said) = stage.run("store.yaml", &["--run-id", id]);
            let outcome = &evidence["destinations"][0]["outcome"];
            assert_eq!((code, outcome.as_str()), (0, Some("already_committed")), "{name}: {said}");
        }
        assert_eq!(manifests(&bucket), there, "{name}");
    }
}

const APPENDED: &[&str] = &["1|a", "2|b", "2|B", "3|c", "3|c", "4|d"];
const REPLACED: &[&str] = &["2|B", "3|c", "4|d"];

/// Keys and values of what our reader finds; NULL partitions and others alike.
pub(super) fn keys_and_values(stage: &Stage, connection: &str) -> Vec<String> {
    let rows = read(stage, connection, "format: csv, path: t, columns: [k, v]");
    let shown = rows.iter().filter(|row| *row != "jsonl").map(|row| {
        let row: Value = serde_json::from_str(row).unwrap_or_else(|_| panic!("{rows:?}"));
        format!("{}|{}", row["k"], row["v"].as_str().unwrap())
    });
    let mut shown: Vec<_> = shown.collect();
    shown.sort();
    shown
}

/// Two loads; the second one loses something, then is run again by its id until it is done. Whether anything was lost.
fn check_loss(proxy: &Proxy, retries: u32, load: &str, loss: &Loss, rows: &[&str]) -> Option<i32> {
    let name = format!("{load}, {loss:?}");
    let bucket = bucket();
    let direct = connection(&bucket, server::port());
    let lossy =
        connection(&bucket, proxy.port).replace("retries: 3", &format!("retries: {retries}"));
    let stage = stage(&[("f.yaml", &flow(&lossy, &format!("path: t, {CSV}, {load}")))]);
    let mut rows: Vec<String> = rows.iter().map(|row| (*row).to_owned()).collect();
    rows.sort();
    stage.put("in.csv", FIRST);
    proxy.lose(None);
    let (code, _, said) = stage.run("f.yaml", &["--run-id", "first"]);
    assert_eq!(code, 0, "{name}: {said}");
    let before = ["1|a", "2|b", "3|c"].map(str::to_owned).to_vec();
    stage.put("in.csv", SECOND);
    proxy.lose(Some(loss.clone()));
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "second"]);
    let lost = proxy.lose(None);
    let after = keys_and_values(&stage, &direct);
    let outcome = evidence["destinations"][0]["outcome"].as_str().unwrap_or("none").to_owned();
    // What is said is what is there.
    match code {
        0 => {
            assert_eq!((&after, outcome.as_str()), (&rows, "committed"), "{name}: {said}");
            assert_eq!(count(&evidence, "/destinations/0/rows_written"), 3, "{name}");
            manifests(&bucket);
        }
        3 => assert!(
            after == before && ["untouched", "none"].contains(&outcome.as_str()),
            "{name}: {said} {evidence} {after:?}"
        ),
        4 => assert!(
            (after == before || after == rows) && outcome == "unknown",
            "{name}: {said} {evidence} {after:?}"
        ),
        _ => panic!("{name}: {code} {said}"),
    }
    // Once more with the same id: it lands exactly once, and nothing is left of what went wrong.
    let (again, evidence, said) = stage.run("f.yaml", &["--run-id", "second"]);
    assert_eq!(again, 0, "{name}: {said}");
    let outcome = evidence["destinations"][0]["outcome"].as_str().unwrap();
    let right = if after == rows { "already_committed" } else { "committed" };
    assert_eq!(outcome, right, "{name}: {evidence}");
    assert_eq!(keys_and_values(&stage, &direct), rows, "{name}");
    assert_eq!(manifests(&bucket).len(), 2, "{name}: one manifest a run");
    (lost > 0).then_some(code)
}

const PARTED: &str = "load_type: overwrite_partitions, partition_columns: [p]";

#[test]
fn a_lost_answer_about_flat_files_is_neither_a_lost_nor_a_doubled_row() {
    let proxy = Proxy::start();
    let loads =
        [("load_type: append", APPENDED), ("load_type: overwrite", REPLACED), (PARTED, REPLACED)];
    let once = |method, path, fault| Loss { method, path, nth: 1, lasts: false, then: None, fault };
    let check = |load: (&str, &[&str]), loss: Loss| {
        let code = check_loss(&proxy, 3, load.0, &loss, load.1);
        code.unwrap_or_else(|| panic!("nothing was lost: {load:?} {loss:?}"))
    };
    for load in loads {
        for fault in [Fault::Refused, Fault::AnsweredWrong, Fault::Dropped] {
            assert_eq!(check(load, once("PUT", "_wasmhost", fault)), 0, "{load:?} {fault:?}");
            assert_eq!(check(load, once("PUT", ".csv", fault)), 0, "{load:?} {fault:?}");
            if load != loads[0] {
                assert_eq!(check(load, once("POST", "delete", fault)), 0, "{load:?} {fault:?}");
            }
        }
    }
    // For good: before the store acts, and after it did.
    let lasting = |method, path, fault| Loss { lasts: true, ..once(method, path, fault) };
    for (loss, code) in [
        (lasting("PUT", "_wasmhost", Fault::Refused), 3),
        (lasting("PUT", "_wasmhost", Fault::AnsweredWrong), 0),
        // It may come yet: what was uploaded stays.
        (lasting("PUT", "_wasmhost", Fault::Swallowed), 4),
        (lasting("PUT", ".csv", Fault::Dropped), 3),
        (lasting("POST", "delete", Fault::Refused), 4),
    ] {
        assert_eq!(check(loads[1], loss.clone()), code, "{loss:?}");
    }
}

#[test]
fn whichever_request_is_lost_flat_files_are_as_before_or_after() {
    let ends = |(fault, lasts)| {
        let (proxy, mut ends) = (Proxy::start(), BTreeSet::new());
        for nth in 1.. {
            assert!(nth < 100, "a load takes fewer requests");
            let loss = Loss { method: "", path: "", nth, lasts, then: None, fault };
            let Some(code) = check_loss(&proxy, 0, PARTED, &loss, REPLACED) else { break };
            ends.insert(code);
        }
        ends
    };
    let ends: Vec<_> = thread::scope(|scope| {
        let all = [(Fault::Dropped, false), (Fault::AnsweredWrong, true)];
        let all = all.map(|loss| scope.spawn(move || ends(loss)));
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(ends[0].contains(&0) && ends[0].contains(&3), "{ends:?}");
    // Who hears nothing more to the end never says that all is done.
    assert_eq!(ends[1], BTreeSet::from([3, 4]));
}

#[test]
fn runs_that_append_and_replace_at_a_time_lose_no_row_and_double_none() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    // All in partition `a`, which two of them replace.
    let work = |writer: usize| {
        let load = ["load_type: append, partition_columns: [p]", PARTED][writer / 2];
        let store = &store;
        move || {
            let stage = stage(&[("f.yaml", &flow(store, &format!("path: t, {CSV}, {load}")))]);
            let (mut written, mut deleted) = (0, 0);
            for run in 0..4 {
                stage.put("in.csv", &format!("k,v,p,t\n{writer}{run},v,a,2026-01-01T00:00:00Z\n"));
                // Whoever loses a race is told so, and comes again.
                let mut tries = 0;
                loop {
                    let (code, evidence, said) =
                        stage.run("f.yaml", &["--run-id", &format!("{writer}-{run}")]);
                    if code == 0 {
                        assert_eq!(evidence["destinations"][0]["outcome"], "committed", "{said}");
                        written += count(&evidence, "/destinations/0/rows_inserted");
                        deleted += count(&evidence, "/destinations/0/rows_deleted");
                        break;
                    }
                    tries += 1;
                    // An append never loses one.
                    assert!(code == 3 && writer >= 2 && tries < 60, "{writer}: {code} {said}");
                }
            }
            (written, deleted)
        }
    };
    let books: Vec<_> = thread::scope(|scope| {
        let all: Vec<_> = (0..4).map(|writer| scope.spawn(work(writer))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let stage = stage(&[]);
    let rows = keys_and_values(&stage, &store);
    let (written, deleted) =
        books.iter().fold((0, 0), |(written, deleted), one| (written + one.0, deleted + one.1));
    assert_eq!(written, 16);
    assert_eq!(rows.len() as u64, written - deleted, "{books:?} {rows:?}");
    // What a run wrote is there, or some manifest says that it was replaced; nothing is replaced twice.
    let there = manifests(&bucket);
    assert_eq!(there.len(), 16);
    let mut removed: Vec<String> = there
        .values()
        .flat_map(|it| it["removed"].as_array().cloned().unwrap_or_default())
        .map(|file| file["path"].to_string())
        .collect();
    let all = removed.len();
    removed.sort();
    removed.dedup();
    assert_eq!((removed.len(), removed.len() as u64), (all, deleted));
}

#[test]
fn what_no_manifest_names_and_what_others_put_there_is_told_apart() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    let stage = stage(&[
        ("append.yaml", &flow(&store, &format!("path: t, {CSV}, load_type: append"))),
        ("overwrite.yaml", &flow(&store, &format!("path: t, {CSV}, load_type: overwrite"))),
        ("delta.yaml", &super::flow(&store, "path: t")),
        ("in.csv", FIRST),
    ]);
    const HEAD: &str = "k,v,p,t\n";
    const T: &str = "2026-01-01T00:00:00Z";
    let put = |name: &str, key: u32| {
        server::put(
            &bucket,
            &format!("lake/t/{name}"),
            format!("{HEAD}{key},x,p,{T}\n").as_bytes(),
        );
    };
    // A file of a run of ours that died is no data; one of somebody else is. Folders may be marked.
    put("t_20260101T000000000Z_dead-0.csv", 8);
    put("t_20260101T000000000Z_late-0.csv", 8);
    put("theirs.csv", 7);
    server::put(&bucket, "lake/t/", b"");
    assert_eq!(keys_and_values(&stage, &store), ["7|x"]);
    let (code, evidence, said) = stage.run("append.yaml", &["--run-id", "late"]);
    assert_eq!((code, count(&evidence, "/destinations/0/rows_written")), (0, 3), "{said}");
    // By patterns, too.
    let by = |pattern: &str| {
        read(&stage, &store, &format!("format: csv, path: '{pattern}', columns: [k]"))
    };
    let k = |keys: &[u32]| {
        let rows = keys.iter().map(|key| format!("{{\"k\":{key}}}"));
        std::iter::once("jsonl".to_owned()).chain(rows).collect::<Vec<_>>()
    };
    assert_eq!(by("t"), k(&[1, 2, 3, 7]));
    assert_eq!(by("t/t_*.csv"), k(&[1, 2, 3]));
    let names = || -> Vec<String> { server::keys(&bucket) };
    let has = |part: &str| names().iter().any(|key| key.contains(part));
    assert!(has("_dead-0") && !has("20260101T000000000Z_late-0"), "{:?}", names());
    // What is in the way of an overwrite, as on a disk.
    for name in ["_hidden.csv", "notes.txt"] {
        put(name, 9);
        let (code, _, said) = stage.run("overwrite.yaml", &[]);
        assert!(code == 2 && said.contains(&format!("`{name}`")), "{said}");
        server::delete(&bucket, &format!("lake/t/{name}"));
    }
    let (code, evidence, said) = stage.run("overwrite.yaml", &["--run-id", "over"]);
    assert_eq!(code, 0, "{said}");
    // Rows of somebody else's CSV are not known without reading it.
    assert_eq!(evidence["destinations"][0]["rows_deleted"], Value::Null, "{evidence}");
    assert!(has("_dead-0") && !has("theirs.csv"), "{:?}", names());
    assert_eq!(by("t"), k(&[1, 2, 3]));
    // Somebody puts the same name there again: it is another file.
    put("theirs.csv", 6);
    assert_eq!(by("t"), k(&[1, 2, 3, 6]));
    // No Delta table is made among them, nor is an object a folder, nor a table a folder of files.
    let (code, _, said) = stage.run("delta.yaml", &[]);
    assert!(code == 2 && said.contains("flat files that wasmhost wrote"), "{said}");
    server::put(&bucket, "lake/file", b"x");
    stage.put("file.yaml", &flow(&store, &format!("path: file, {CSV}")));
    let (code, _, said) = stage.run("file.yaml", &[]);
    assert!(code == 2 && said.contains("an object is there"), "{said}");
    stage.put("table.yaml", &super::flow(&store, "path: d"));
    assert_eq!(stage.run("table.yaml", &[]).0, 0);
    stage.put("among.yaml", &flow(&store, &format!("path: d, {CSV}")));
    let (code, _, said) = stage.run("among.yaml", &[]);
    assert!(code == 2 && said.contains("a Delta table is there"), "{said}");
}

#[test]
fn a_folder_that_is_copied_from_a_store_is_the_same_on_a_disk() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    const DISK: &str = "{ base_path: lake }";
    let load = |load: &str| format!("path: t, {CSV}, {load}");
    let stage = stage(&[
        ("append.yaml", &flow(&store, &load("load_type: append"))),
        ("over.yaml", &flow(&store, &load("load_type: overwrite"))),
        ("append-disk.yaml", &flow(DISK, &load("load_type: append"))),
        ("over-disk.yaml", &flow(DISK, &load("load_type: overwrite"))),
    ]);
    for (flow, input, id) in
        [("append.yaml", FIRST, "a"), ("over.yaml", SECOND, "b"), ("append.yaml", FIRST, "c")]
    {
        stage.put("in.csv", input);
        assert_eq!(stage.run(flow, &["--run-id", id]).0, 0);
    }
    fetched(&bucket, &stage, "lake/t");
    assert_eq!(keys_and_values(&stage, DISK), keys_and_values(&stage, &store));
    let is_done = |flow: &str, id: &str| {
        let (code, evidence, said) = stage.run(flow, &["--run-id", id]);
        let outcome = &evidence["destinations"][0]["outcome"];
        assert_eq!((code, outcome.as_str()), (0, Some("already_committed")), "{id}: {said}");
    };
    is_done("over-disk.yaml", "b");
    let (code, evidence, said) = stage.run("over-disk.yaml", &["--run-id", "d"]);
    assert_eq!((code, count(&evidence, "/destinations/0/rows_deleted")), (0, 6), "{said}");
    is_done("append-disk.yaml", "a");
    is_done("over-disk.yaml", "b");
}
