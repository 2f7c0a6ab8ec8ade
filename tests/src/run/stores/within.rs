//! Parts of flat targets in a store as sources: what counts in the whole counts in them, and who may not look above is not kept from
//! reading.

use serde_json::Value;

use super::connection;
use super::flat::CSV;
use super::flat::flow;
use super::flat::manifests;
use super::flat::read;
use super::proxy::Fault;
use super::proxy::Loss;
use super::proxy::Proxy;
use super::server;
use super::server::bucket;
use super::stage;

const PARTED: &str = "load_type: overwrite_partitions, partition_columns: [p]";
const T: &str = "2026-01-01T00:00:00Z";

fn source(path: &str) -> String {
    format!("format: csv, path: '{path}', columns: [k]")
}

fn keys(keys: &[u32]) -> Vec<String> {
    let rows = keys.iter().map(|key| format!("{{\"k\":{key}}}"));
    std::iter::once("jsonl".to_owned()).chain(rows).collect()
}

#[test]
fn a_part_of_a_target_in_a_store_has_what_the_whole_has_there() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    let stage = stage(&[("f.yaml", &flow(&store, &format!("path: t, {CSV}, {PARTED}")))]);
    for (id, rows) in [("first", [(1, "one"), (2, "two")]), ("second", [(3, "one"), (4, "three")])]
    {
        let rows = rows.map(|(k, p)| format!("{k},v,{p},{T}\n"));
        stage.put("in.csv", &format!("k,v,p,t\n{}", rows.concat()));
        assert_eq!(stage.run("f.yaml", &["--run-id", id]).0, 0);
    }
    let files = |field: &str| -> Vec<String> {
        let all = manifests(&bucket).into_values().flat_map(|it| match &it[field] {
            Value::Array(files) => files.clone(),
            _ => Vec::new(),
        });
        all.map(|file| file["path"].as_str().unwrap().to_owned()).collect()
    };
    let (removed, written) = (files("removed"), files("files"));
    let [removed] = &removed[..] else { panic!("{removed:?}") };
    let live = written.iter().find(|file| file.contains("p=one/") && *file != removed).unwrap();
    // Replaced and not deleted yet; of a run that has not come to its manifest; of somebody else.
    let dead = "p=one/t_20260101T000000000Z_dead-0.csv";
    let put = |name: &str, k: u32| {
        server::put(&bucket, &format!("lake/t/{name}"), format!("k,v,t\n{k},x,{T}\n").as_bytes());
    };
    put(removed, 1);
    put(dead, 8);
    put("p=one/theirs.csv", 7);
    for (path, right) in [
        ("t", &[2, 3, 4, 7][..]),
        ("t/p=one", &[3, 7]),
        ("t/p=one/", &[3, 7]),
        ("t/p=one/*.csv", &[3, 7]),
        ("t/p=one/t_*.csv", &[3]),
        ("t/p=t*/*.csv", &[2, 4]),
        ("t/**/t_*.csv", &[2, 3, 4]),
        (&format!("t/{live}"), &[3]),
        ("t/p=one/theirs.csv", &[7]),
    ] {
        assert_eq!(read(&stage, &store, &source(path)), keys(right), "{path}");
    }
    for file in [removed.as_str(), dead] {
        let told = read(&stage, &store, &source(&format!("t/{file}"))).concat();
        let says = format!("it is not, or no longer, part of `s3://{bucket}/lake/t`");
        assert!(told.starts_with("2: ") && told.contains(&says), "{told}");
    }
    let told = read(&stage, &store, &source("t/p=one/*_dead-0.csv")).concat();
    assert!(told.starts_with("2: ") && told.contains("no data file counts: 1"), "{told}");
    // The whole below a connection that begins in it: what is above is not looked at.
    let inner = store.replace("/lake'", "/lake/t/p=one'");
    assert_eq!(read(&stage, &inner, &source(removed.strip_prefix("p=one/").unwrap())), keys(&[1]));
}

#[test]
fn who_may_not_look_above_a_source_reads_it() {
    let bucket = bucket();
    let proxy = Proxy::start();
    let lossy = connection(&bucket, proxy.port).replace("retries: 3", "retries: 0");
    let stage = stage(&[]);
    server::put(&bucket, "lake/in/a.csv", b"k\n5\n");
    let loss = |path, fault| Loss { method: "", path, nth: 1, lasts: true, then: None, fault };
    for path in ["in", "in/*.csv", "in/a.csv"] {
        proxy.lose(Some(loss("lake/_wasmhost", Fault::Forbidden)));
        assert_eq!(read(&stage, &lossy, &source(path)), keys(&[5]), "{path}");
        assert!(proxy.lose(None) > 0, "{path}: nobody asked");
        // A store that cannot be asked may have manifests there.
        proxy.lose(Some(loss("lake/_wasmhost", Fault::Refused)));
        let told = read(&stage, &lossy, &source(path)).concat();
        assert!(told.starts_with("3: ") && told.contains("/lake/_wasmhost"), "{path}: {told}");
        assert!(proxy.lose(None) > 0, "{path}");
        // Nothing above the connection's folder is asked for.
        proxy.lose(Some(loss("prefix=_wasmhost/", Fault::Refused)));
        assert_eq!(read(&stage, &lossy, &source(path)), keys(&[5]), "{path}");
        assert_eq!(proxy.lose(None), 0, "{path}");
    }
}

#[test]
fn an_object_that_is_named_is_read_where_nothing_may_be_listed() {
    let bucket = bucket();
    let proxy = Proxy::start();
    let lossy = connection(&bucket, proxy.port).replace("retries: 3", "retries: 0");
    let stage = stage(&[]);
    server::put(&bucket, "lake/in/a.csv", b"k\n5\n");
    let loss = |path, fault| Loss { method: "", path, nth: 1, lasts: true, then: None, fault };
    // A bucket that its connection begins at, and a folder of one.
    for (store, path) in
        [(lossy.clone(), "in/a.csv"), (lossy.replace("/lake'", "'"), "lake/in/a.csv")]
    {
        proxy.lose(Some(loss("list-type=2", Fault::Forbidden)));
        assert_eq!(read(&stage, &store, &source(path)), keys(&[5]), "{path}");
        assert!(proxy.lose(None) > 0, "{path}: nobody asked for manifests");
        // What is below the object is not asked for, and what cannot be asked is no refusal.
        proxy.lose(Some(loss("a.csv/", Fault::Refused)));
        assert_eq!(read(&stage, &store, &source(path)), keys(&[5]), "{path}");
        assert_eq!(proxy.lose(None), 0, "{path}");
        proxy.lose(Some(loss("list-type=2", Fault::Refused)));
        let told = read(&stage, &store, &source(path)).concat();
        assert!(told.starts_with("3: ") && told.contains("/_wasmhost"), "{path}: {told}");
    }
    // A folder has to be listed.
    proxy.lose(Some(loss("list-type=2", Fault::Forbidden)));
    for path in ["in", "in/*.csv"] {
        let told = read(&stage, &lossy, &source(path)).concat();
        assert!(told.starts_with("3: ") && told.contains("cannot list it"), "{path}: {told}");
    }
}
