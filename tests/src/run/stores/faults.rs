//! Lost requests and lost answers: right rows, right report, and the same run again brings the rest exactly once.

use super::FIRST;
use super::SECOND;
use super::connection;
use super::count;
use super::fetched;
use super::flow;
use super::proxy::Fault;
use super::proxy::Loss;
use super::proxy::Proxy;
use super::server;
use super::server::bucket;
use super::sorted;
use super::stage;

/// Two loads; the second one loses something and ends with this code, then is run again by its id.
fn check(proxy: &Proxy, load: &str, loss: &Loss, due: i32, rows: &[&str]) {
    let name = format!("{load}, {loss:?}");
    let bucket = bucket();
    let stage =
        stage(&[("f.yaml", &flow(&connection(&bucket, proxy.port), &format!("path: t, {load}")))]);
    stage.put("in.csv", FIRST);
    proxy.lose(None);
    let (code, _, said) = stage.run("f.yaml", &["--run-id", "first"]);
    assert_eq!(code, 0, "{name}: {said}");
    fetched(&bucket, &stage, "before");
    let before = sorted(stage.rows("before"));
    stage.put("in.csv", SECOND);
    proxy.lose(Some(loss.clone()));
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "second"]);
    let lost = proxy.lose(None);
    assert!(lost > 0, "{name}: nothing was lost");
    fetched(&bucket, &stage, "after");
    let after = sorted(stage.rows("after"));
    let outcome = evidence["destinations"][0]["outcome"].as_str().unwrap_or("none").to_owned();
    // What is said is what is there.
    match code {
        0 => {
            assert_eq!(
                (after.as_slice(), outcome.as_str()),
                (&rows.map_owned()[..], "committed"),
                "{name}: {said}"
            );
            assert_eq!(count(&evidence, "/destinations/0/rows_written"), 3, "{name}");
        }
        3 => assert_eq!(
            (&after, outcome.as_str()),
            (&before, "untouched"),
            "{name}: {said} {evidence}"
        ),
        4 => assert!(after == before || after == rows.map_owned(), "{name}: {said}"),
        _ => panic!("{name}: {code} {said}"),
    }
    assert_eq!(code, due, "{name}: {said} {evidence}");
    // Once more with the same id: it lands exactly once.
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "second"]);
    assert_eq!(code, 0, "{name}: {said}");
    let again = evidence["destinations"][0]["outcome"].as_str().unwrap().to_owned();
    assert_eq!(
        again,
        if after == rows.map_owned() { "already_committed" } else { "committed" },
        "{name}: {evidence}"
    );
    fetched(&bucket, &stage, "after");
    assert_eq!(sorted(stage.rows("after")), rows.map_owned(), "{name}");
    let entries = server::keys(&bucket);
    let entries =
        entries.iter().filter(|key| key.contains("_delta_log/") && key.ends_with(".json"));
    assert_eq!(entries.count(), 2, "{name}: one version a run");
}

trait Owned {
    fn map_owned(&self) -> Vec<String>;
}

impl Owned for [&str] {
    fn map_owned(&self) -> Vec<String> {
        self.iter().map(|row| (*row).to_owned()).collect()
    }
}

const APPENDED: &[&str] = &[
    "k|v|p|t",
    "1|a|x y|2026-01-01T00:00:00Z",
    "2|B|-|2026-01-02T00:00:00Z",
    "2|b|-|2026-01-01T00:00:00Z",
    "3|c|%20é/=|2026-01-01T00:00:00Z",
    "3|c|%20é/=|2026-01-02T00:00:00Z",
    "4|d|x y|2026-01-02T00:00:00Z",
];
const REPLACED: &[&str] = &[
    "k|v|p|t",
    "2|B|-|2026-01-02T00:00:00Z",
    "3|c|%20é/=|2026-01-02T00:00:00Z",
    "4|d|x y|2026-01-02T00:00:00Z",
];
const MERGED: &[&str] = &[
    "k|v|p|t",
    "1|a|x y|2026-01-01T00:00:00Z",
    "2|B|-|2026-01-02T00:00:00Z",
    "3|c|%20é/=|2026-01-02T00:00:00Z",
    "4|d|x y|2026-01-02T00:00:00Z",
];

#[test]
fn a_lost_answer_is_neither_a_lost_nor_a_doubled_row() {
    let proxy = Proxy::start();
    let loads = [
        ("load_type: append", APPENDED),
        ("load_type: overwrite", REPLACED),
        ("load_type: merge_upsert, merge_keys: k", MERGED),
    ];
    let once = |method, path, fault| Loss { method, path, nth: 1, lasts: false, then: None, fault };
    for (load, rows) in loads {
        for fault in [Fault::Refused, Fault::AnsweredWrong, Fault::Dropped, Fault::Swallowed] {
            check(&proxy, load, &once("PUT", "_delta_log/", fault), 0, rows);
            check(&proxy, load, &once("PUT", ".parquet", fault), 0, rows);
        }
        for fault in [Fault::Refused, Fault::Dropped, Fault::Cut] {
            check(&proxy, load, &once("GET", "_delta_log", fault), 0, rows);
        }
        // The store acted, and nobody can be asked any more.
        let lost = Loss { then: Some("_delta_log"), ..once("PUT", "_delta_log/", Fault::Dropped) };
        check(&proxy, load, &lost, 4, rows);
        let lost = Loss { then: Some("0001.json"), ..once("PUT", "_delta_log/", Fault::Dropped) };
        check(&proxy, load, &lost, 4, rows);
    }
    // For good: after the store acted, and before it could.
    let (load, rows) = loads[0];
    let lasting = |path, fault| Loss { lasts: true, ..once("PUT", path, fault) };
    check(&proxy, load, &lasting("_delta_log/", Fault::AnsweredWrong), 0, rows);
    check(&proxy, load, &lasting("_delta_log/", Fault::Refused), 3, rows);
    // It may come yet: what was uploaded stays.
    check(&proxy, load, &lasting("_delta_log/", Fault::Swallowed), 4, rows);
    check(&proxy, load, &lasting(".parquet", Fault::Dropped), 3, rows);
    // Stored rows are read, too.
    let (load, rows) = loads[2];
    check(&proxy, load, &once("GET", ".parquet", Fault::Cut), 0, rows);
}
