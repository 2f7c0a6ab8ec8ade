//! Flat targets in a store that are made once: as on a disk, by one of many, and by whoever loses an answer.

use std::sync::Barrier;
use std::thread;

use wasmhost::run::Event;
use wasmhost::run::Whose;
use wasmhost::run::run;
use wasmhost::table::RunId;

use super::FIRST;
use super::SECOND;
use super::connection;
use super::count;
use super::counts;
use super::fetched;
use super::flat::CSV;
use super::flat::contents;
use super::flat::flow;
use super::flat::keys_and_values;
use super::flat::manifests;
use super::proxy::Fault;
use super::proxy::Loss;
use super::proxy::Proxy;
use super::server;
use super::server::bucket;
use super::stage;
use crate::run::clock;
use crate::run::runtime;

const NEW: &str = "load_type: error_if_exists";
const OR_NOTHING: &str = "load_type: ignore";
/// The manifest of whoever makes a target.
const FIRST_MANIFEST: &str = "lake/t/_wasmhost/replaced/00000000000000000000.json";

#[test]
fn a_target_is_made_once_as_on_a_disk() {
    const DISK: &str = "{ base_path: lake }";
    for load in [
        NEW,
        OR_NOTHING,
        "load_type: error_if_exists, partition_columns: [p]",
        "load_type: ignore, date_folder_partitions: '{year}/{month}'",
    ] {
        let bucket = bucket();
        let store = connection(&bucket, server::port());
        let to = format!("path: t, {CSV}, {load}");
        let stage = stage(&[("disk.yaml", &flow(DISK, &to)), ("store.yaml", &flow(&store, &to))]);
        // No table is made of what is none.
        server::put(&bucket, "lake/t/_hidden.csv", b"x");
        server::put(&bucket, "lake/t/t_20260101T000000000Z_dead-0.csv", b"x");
        server::put(&bucket, "lake/t/", b"");
        for (step, input) in [FIRST, SECOND].iter().enumerate() {
            stage.put("in.csv", input);
            let said = ["disk.yaml", "store.yaml"].map(|flow| {
                let id = format!("{}-{step}", &flow[..4]);
                let (code, evidence, said) = stage.run(flow, &["--run-id", &id]);
                let is_new = load.starts_with(NEW);
                assert_eq!(code, if is_new && step == 1 { 2 } else { 0 }, "{load}: {said}");
                let message = evidence["error"]["message"].as_str().unwrap_or_default();
                let says = message.contains("there is a table already");
                assert_eq!(says, code == 2, "{load}: {message}");
                (evidence["status"].clone(), counts(&evidence))
            });
            assert_eq!(said[0], said[1], "{load}, input {step}");
            if step == 0 {
                for junk in ["_hidden.csv", "t_20260101T000000000Z_dead-0.csv", ""] {
                    server::delete(&bucket, &format!("lake/t/{junk}"));
                }
            }
            fetched(&bucket, &stage, "fetched");
            assert_eq!(contents(&stage, "fetched"), contents(&stage, "lake/t"), "{load}");
        }
        assert_eq!(manifests(&bucket).into_keys().collect::<Vec<_>>(), [FIRST_MANIFEST], "{load}");
        let (code, evidence, said) = stage.run("store.yaml", &["--run-id", "stor-0"]);
        let outcome = evidence["destinations"][0]["outcome"].as_str();
        assert_eq!((code, outcome), (0, Some("already_committed")), "{load}: {said}");
    }
}

#[test]
fn an_append_and_somebody_elses_file_make_a_target() {
    for theirs in [true, false] {
        let bucket = bucket();
        let store = connection(&bucket, server::port());
        let to = |load: &str| flow(&store, &format!("path: t, {CSV}, {load}"));
        let stage = stage(&[
            ("new.yaml", &to(NEW)),
            ("once.yaml", &to(OR_NOTHING)),
            ("append.yaml", &to("load_type: append")),
            ("in.csv", FIRST),
        ]);
        match theirs {
            true => server::put(&bucket, "lake/t/2025/theirs.csv", FIRST.as_bytes()),
            false => assert_eq!(stage.run("append.yaml", &[]).0, 0),
        }
        let before = server::keys(&bucket);
        let (code, evidence, said) = stage.run("new.yaml", &[]);
        assert!(code == 2 && said.contains("there is a table already"), "{said}");
        assert_eq!(count(&evidence, "/rows_read"), 0);
        let (code, evidence, said) = stage.run("once.yaml", &[]);
        assert_eq!(
            (code, &evidence["destinations"][0]["outcome"]),
            (0, &"skipped".into()),
            "{said}"
        );
        assert_eq!(server::keys(&bucket), before);
    }
}

#[test]
fn of_many_that_make_a_target_in_a_store_at_once_one_does() {
    for round in 0..3 {
        let bucket = bucket();
        let store = connection(&bucket, server::port());
        // The last one overwrites: it comes after, or it makes the target.
        let loads = [NEW, OR_NOTHING, NEW, OR_NOTHING, "load_type: overwrite"];
        let loads = if round == 0 { &loads[..4] } else { &loads[..] };
        // In this process, so that all have judged that nothing is there before the first one commits.
        let store = store
            .replace("'{{ secret:s3/id }}'", "id")
            .replace("\"{{ secret('s3/key') }}\"", "key");
        let start = Barrier::new(loads.len());
        let work = |(writer, load): (usize, &&str)| {
            let stage = stage(&[("f.yaml", &flow(&store, &format!("path: t, {CSV}, {load}")))]);
            stage.put("in.csv", &format!("k,v,p,t\n{writer},v,a,2026-01-01T00:00:00Z\n"));
            let run_id = RunId::new(format!("run-{writer}")).unwrap();
            let flow = stage.read("f.yaml", &run_id);
            let wait = |event: Event<'_>| {
                if let Event::Prepared = event {
                    start.wait();
                }
            };
            let ended = runtime().block_on(run(&flow, clock(), run_id, &wait));
            let outcome = format!("{:?}", ended.record.destinations[0].outcome);
            let code = match &ended.error {
                None => 0,
                Some(error) if error.whose() == Whose::User => 2,
                Some(_) => 3,
            };
            let said = ended.error.map(|error| error.to_string()).unwrap_or_default();
            (code, outcome.to_lowercase(), said)
        };
        let ended: Vec<_> = thread::scope(|scope| {
            let work = &work;
            let all: Vec<_> =
                loads.iter().enumerate().map(|one| scope.spawn(move || work(one))).collect();
            all.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let mut made = Vec::new();
        for (writer, (code, outcome, said)) in ended.iter().enumerate() {
            match (loads[writer], *code, outcome.as_str()) {
                (NEW, 2, "untouched") => {
                    assert!(said.contains("there is a table already"), "{said}")
                }
                (OR_NOTHING, 0, "skipped") => {}
                (NEW | OR_NOTHING, 0, "committed") => made.push(writer),
                ("load_type: overwrite", 0, "committed") => {}
                ("load_type: overwrite", 3, _) => assert!(said.contains("conflict"), "{said}"),
                _ => panic!("{ended:?}"),
            }
        }
        let over = ended.get(4).is_some_and(|(code, ..)| *code == 0);
        assert!(made.len() == 1 || over && made.is_empty(), "{ended:?}");
        let rows = keys_and_values(&stage(&[]), &store);
        let left = if over { 4 } else { made[0] };
        assert_eq!(rows, [format!("{left}|v")], "{ended:?}");
        // Whatever lost has left nothing.
        let there = manifests(&bucket);
        assert_eq!(there.len(), made.len() + usize::from(over));
        assert!(there.contains_key(FIRST_MANIFEST), "{:?}", there.keys());
    }
}

/// A run that makes a target loses something and ends so, then is run again by its id until it is done.
fn check_loss(proxy: &Proxy, loss: Loss, due: i32) {
    let name = format!("{loss:?}");
    let bucket = bucket();
    let direct = connection(&bucket, server::port());
    let lossy = connection(&bucket, proxy.port);
    let stage = stage(&[
        ("f.yaml", &flow(&lossy, &format!("path: t, {CSV}, {NEW}"))),
        ("other.yaml", &flow(&direct, &format!("path: t, {CSV}, {NEW}"))),
        ("in.csv", FIRST),
    ]);
    proxy.lose(Some(loss));
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "first"]);
    assert!(proxy.lose(None) > 0, "{name}: nothing was lost");
    assert_eq!(code, due, "{name}: {said}");
    let is_there = server::keys(&bucket).contains(&FIRST_MANIFEST.to_owned());
    let outcome = evidence["destinations"][0]["outcome"].as_str().unwrap();
    match code {
        0 => assert!(is_there && outcome == "committed", "{name}: {outcome}"),
        3 => assert!(!is_there && server::keys(&bucket).is_empty(), "{name}: {said}"),
        _ => assert_eq!(outcome, "unknown", "{name}: {said}"),
    }
    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "first"]);
    let outcome = evidence["destinations"][0]["outcome"].as_str().unwrap();
    let right = if is_there { "already_committed" } else { "committed" };
    assert_eq!((code, outcome), (0, right), "{name}: {said}");
    assert_eq!(stage.run("other.yaml", &[]).0, 2, "{name}");
    assert_eq!(keys_and_values(&stage, &direct), ["1|a", "2|b", "3|c"], "{name}");
    assert_eq!(manifests(&bucket).len(), 1, "{name}");
}

#[test]
fn a_lost_answer_about_a_new_target_makes_it_once() {
    let proxy = Proxy::start();
    let once = |path, fault| Loss { method: "PUT", path, nth: 1, lasts: false, then: None, fault };
    for fault in [Fault::Refused, Fault::AnsweredWrong, Fault::Dropped] {
        check_loss(&proxy, once("_wasmhost", fault), 0);
        check_loss(&proxy, once(".csv", fault), 0);
    }
    for (path, fault, due) in [
        ("_wasmhost", Fault::Refused, 3),
        ("_wasmhost", Fault::AnsweredWrong, 0),
        ("_wasmhost", Fault::Swallowed, 4),
        (".csv", Fault::Dropped, 3),
    ] {
        check_loss(&proxy, Loss { lasts: true, ..once(path, fault) }, due);
    }
    // The store acted, and nobody can be asked any more.
    let loss = Loss { then: Some("_wasmhost"), ..once("_wasmhost", Fault::Dropped) };
    check_loss(&proxy, loss, 4);
}

#[test]
fn a_manifest_that_comes_while_its_run_is_tried_again_keeps_its_rows() {
    let proxy = Proxy::start();
    for load in [NEW, OR_NOTHING, "load_type: append", "load_type: overwrite"] {
        let bucket = bucket();
        let lossy = connection(&bucket, proxy.port);
        let stage = stage(&[
            ("f.yaml", &flow(&lossy, &format!("path: t, {CSV}, {load}"))),
            ("in.csv", FIRST),
        ]);
        let late = Loss {
            method: "PUT",
            path: "_wasmhost",
            nth: 1,
            lasts: true,
            then: None,
            fault: Fault::Late,
        };
        proxy.lose(Some(late));
        let (code, _, said) = stage.run("f.yaml", &["--run-id", "first"]);
        assert!(proxy.lose(None) > 0, "{load}");
        assert_eq!(code, 4, "{load}: {said}");
        // Its manifest is not there when the second try looks, and is when that puts its own.
        let (code, evidence, said) = stage.run("f.yaml", &["--run-id", "first"]);
        let outcome = evidence["destinations"][0]["outcome"].as_str().unwrap();
        assert_eq!((code, outcome), (0, "already_committed"), "{load}: {said}");
        let direct = connection(&bucket, server::port());
        assert_eq!(keys_and_values(&stage, &direct), ["1|a", "2|b", "3|c"], "{load}");
        let keys = server::keys(&bucket);
        assert_eq!(keys.len(), 2, "{load}: {keys:?}");
    }
}
