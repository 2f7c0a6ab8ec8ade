//! Object stores for real: an S3 server on loopback, what each load leaves there, several writers, lost answers, secrets.

mod faults;
mod flat;
mod once;
mod open;
mod profiles;
mod proxy;
mod server;
mod sources;
mod within;

use std::fs;
use std::thread;

use serde_json::Value;

use self::server::bucket;
use super::Stage;
use super::books::count;

const KEY_ID: &str = "AKIDEXAMPLE0000";
/// Not as others are: what a store signs with may have any character.
const SECRET: &str = "geheim/+\"=Zx9";

/// What may stand in an address; the client writes it in its own way there.
const IN_URL: &str = "geheim=Wq8-user";

/// A stage that knows the credentials of the server, as secrets.
fn stage(files: &[(&str, &str)]) -> Stage {
    let mut stage = Stage::new(files);
    stage.env.push(("WASMHOST_SECRET_S3_ID".to_owned(), KEY_ID.to_owned()));
    stage.env.push(("WASMHOST_SECRET_S3_KEY".to_owned(), SECRET.to_owned()));
    stage.env.push(("WASMHOST_SECRET_S3_USER".to_owned(), IN_URL.to_owned()));
    stage
}

/// A connection to a bucket, by whatever listens on the port.
fn connection(bucket: &str, port: u16) -> String {
    format!(
        "{{ format: delta, base_path: 's3://{bucket}/lake', storage: {{ endpoint: 'http://127.0.0.1:{port}', allow_http: true, \
         region: us-east-1, access_key_id: '{{{{ secret:s3/id }}}}', secret_access_key: \"{{{{ secret('s3/key') }}}}\", \
         timeout: 10 seconds, retries: 3 }} }}"
    )
}

/// A flow from `in.csv` to one destination below that connection.
fn flow(connection: &str, destination: &str) -> String {
    format!(
        "name: f\nconnections:\n  lake: {connection}\n\
         source: {{ format: csv, path: in.csv, source_complete: true, schema_hints: {{ k: int64, v: string, p: string, t: timestamp }} }}\n\
         destination: {{ name: t, connection: lake, {destination} }}\n"
    )
}

/// What a bucket has below `lake/t`, in a folder.
fn fetched(bucket: &str, stage: &Stage, to: &str) {
    let folder = stage.path(to);
    if folder.exists() {
        fs::remove_dir_all(&folder).unwrap();
    }
    for key in server::keys(bucket) {
        let Some(inner) = key.strip_prefix("lake/t/") else { continue };
        let path = folder.join(inner);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, server::get(bucket, &key)).unwrap();
    }
}

fn sorted(mut rows: Vec<String>) -> Vec<String> {
    if let Some(rows) = rows.get_mut(1..) {
        rows.sort();
    }
    rows
}

/// The counts of a run's one destination; times and names aside.
fn counts(evidence: &Value) -> Vec<(String, Value)> {
    let to = evidence["destinations"][0].as_object().unwrap();
    let fields = to.iter().filter(|(name, _)| {
        name.starts_with("rows_")
            || name.starts_with("versions_")
            || *name == "outcome"
            || *name == "version"
    });
    fields.map(|(name, value)| (name.clone(), value.clone())).collect()
}

const FIRST: &str = "k,v,p,t\n1,a,x y,2026-01-01T00:00:00Z\n2,b,,2026-01-01T00:00:00Z\n3,c,%20é/=,2026-01-01T00:00:00Z\n";
const SECOND: &str = "k,v,p,t\n2,B,,2026-01-02T00:00:00Z\n3,c,%20é/=,2026-01-02T00:00:00Z\n4,d,x y,2026-01-02T00:00:00Z\n";

/// Every load strategy, with what it needs.
const LOADS: &[&str] = &[
    "load_type: append",
    "load_type: append, partition_columns: [p]",
    "load_type: overwrite",
    "load_type: overwrite, partition_columns: [p], partition_column: p, partition_value: 'x y', transforms: [{ type: filter, expression: \"p = 'x y'\" }]",
    "load_type: overwrite_partitions, partition_columns: [p]",
    "load_type: overwrite_partitions, replace_where: 'k >= 2', transforms: [{ type: filter, expression: 'k >= 2' }]",
    "load_type: error_if_exists",
    "load_type: ignore",
    "load_type: merge_upsert, merge_keys: k",
    "load_type: merge_upsert, merge_keys: k, partition_columns: [p], merge_strategy: delta_by_partition, merge_partition_column: p",
    "load_type: merge_upsert, merge_keys: k, sequence_by: t, delete_when: \"v = 'B'\"",
    "load_type: merge_overwrite, merge_keys: k",
    "load_type: hash_diff_upsert, merge_keys: k, compare_columns: [v]",
    "load_type: scd2, merge_keys: k, effective_column: t, compare_columns: [v]",
    "load_type: snapshot_soft_delete, merge_keys: k, compare_columns: [v]",
    "load_type: append, optimize_after_write: true, zorder_columns: [k]",
];

#[test]
fn every_strategy_leaves_in_a_store_what_it_leaves_on_a_disk() {
    for load in LOADS {
        let bucket = bucket();
        let store = connection(&bucket, server::port());
        let stage = stage(&[
            (
                "disk.yaml",
                &flow(
                    "{ format: delta, base_path: lake }",
                    &format!("schema: a, table: t, {load}"),
                ),
            ),
            ("store.yaml", &flow(&store, &format!("path: t, {load}"))),
        ]);
        for (step, input) in [FIRST, SECOND, SECOND].iter().enumerate() {
            stage.put("in.csv", input);
            let mut said = Vec::new();
            for flow in ["disk.yaml", "store.yaml"] {
                let id = format!("{}-{step}", &flow[..4]);
                let (code, evidence, errors) = stage.run(flow, &["--run-id", &id]);
                let outcome = if code == 0 { counts(&evidence) } else { Vec::new() };
                assert!(code == 0 || code == 2, "{load}: {errors}");
                said.push((code, evidence["status"].clone(), outcome));
            }
            assert_eq!(said[0], said[1], "{load}, input {step}");
            fetched(&bucket, &stage, "fetched");
            let (disk, store) = (stage.rows("lake/a/t"), stage.rows("fetched"));
            // Times of the run are its own.
            let same =
                |rows: Vec<String>| sorted(rows.iter().map(|row| without_now(row)).collect());
            assert_eq!(same(store), same(disk), "{load}, input {step}");
        }
        let odd: Vec<_> = server::keys(&bucket)
            .into_iter()
            .filter(|key| !key.ends_with(".parquet") && !key.starts_with("lake/t/_delta_log/"))
            .collect();
        assert_eq!(odd, [""; 0], "{load}");
        // A retry of the first run id finds that it is done.
        let (code, evidence, said) = stage.run("store.yaml", &["--run-id", "stor-0"]);
        assert_eq!(code, 0, "{load}: {said}");
        assert_eq!(
            evidence["destinations"][0]["outcome"], "already_committed",
            "{load}: {evidence}"
        );
    }
}

/// A row without the moment at which a run wrote it.
fn without_now(row: &str) -> String {
    let values = row.split('|').map(|value| {
        match value.starts_with("20") && !value.starts_with("2026-01-0") {
            true => "now",
            false => value,
        }
    });
    values.collect::<Vec<_>>().join("|")
}

#[test]
fn four_writers_at_a_time_lose_no_row_and_double_none() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    let (writers, runs) = (4_u32, 3_u32);
    let work = |writer: u32| {
        let store = &store;
        move || {
            let stage = stage(&[(
                "f.yaml",
                &flow(store, "path: t, load_type: merge_upsert, merge_keys: k"),
            )]);
            for run in 0..runs {
                // A row of its own, and one that all of them change.
                let row = |key: u32, value: &str| format!("{key},{value},p,2026-01-01T00:00:00Z\n");
                let own = 100 * (writer + 1) + run;
                stage.put(
                    "in.csv",
                    &format!("k,v,p,t\n{}{}", row(own, "own"), row(1, &format!("{writer}-{run}"))),
                );
                // Whoever loses too many races is told so, and comes again.
                let id = format!("{writer}-{run}");
                let mut tries = 0;
                loop {
                    let (code, evidence, said) = stage.run("f.yaml", &["--run-id", &id]);
                    if code == 0 {
                        assert_eq!(count(&evidence, "/destinations/0/rows_written"), 2, "{said}");
                        break;
                    }
                    tries += 1;
                    assert!(code == 3 && tries < 20, "{code} {said} {evidence}");
                }
            }
        }
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..writers).map(|writer| scope.spawn(work(writer))).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
    let stage = stage(&[]);
    fetched(&bucket, &stage, "fetched");
    let rows = stage.rows("fetched");
    let keys: Vec<&str> = rows[1..].iter().map(|row| row.split('|').next().unwrap()).collect();
    let mut due: Vec<String> = (0..writers)
        .flat_map(|w| (0..runs).map(move |r| (100 * (w + 1) + r).to_string()))
        .collect();
    due.push("1".to_owned());
    let mut keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
    keys.sort();
    due.sort();
    assert_eq!(keys, due);
}

#[test]
fn a_store_that_cannot_be_reached_or_says_no_is_an_error_that_names_it_and_no_secret() {
    let bucket = bucket();
    // The secret stands in the address as well, and nobody listens there.
    let unreachable = connection(&bucket, 9)
        .replace("http://127.0.0.1:9", "http://user:{{ secret:s3/user }}@127.0.0.1:9");
    let plain = connection(&bucket, 9)
        .replace("http://127.0.0.1:9", "http://127.0.0.1:9/geheim-in-plain-words")
        .replace("\"{{ secret('s3/key') }}\"", "geheim-in-plain-words");
    let no_bucket = connection("no-such-bucket", server::port());
    let no_url =
        connection(&bucket, 9).replace("'http://127.0.0.1:9'", "'http://{{ secret:s3/key }}:x:y'");
    for (name, store, says) in [
        ("unreachable", &unreachable, "s3://"),
        ("plain", &plain, "s3://"),
        ("no bucket", &no_bucket, "s3://no-such-bucket"),
        ("no address", &no_url, "is no address"),
    ] {
        let stage = stage(&[("f.yaml", &flow(store, "path: t")), ("in.csv", FIRST)]);
        let mut told = String::new();
        for args in [
            &["check", "f.yaml"][..],
            &["explain", "f.yaml"],
            &["explain", "f.yaml", "--json"],
            &["run", "f.yaml", "--run-id", "a"],
            &["run", "f.yaml", "--json", "--run-id", "b"],
            &["run", "f.yaml", "--preview", "2"],
            &["runs", "f.yaml"],
            &["runs", "f.yaml", "a", "--json"],
        ] {
            let ran = stage.command(args);
            if args[0] == "run" && !args.contains(&"--preview") {
                assert!([2, 3].contains(&ran.code), "{name}: {} {}", ran.code, ran.stderr);
                assert!(
                    format!("{}{}", ran.stderr, ran.stdout).contains(says),
                    "{name}: {}",
                    ran.stderr
                );
            }
            told += &format!("{}{}", ran.stdout, ran.stderr);
        }
        for path in stage.all_files() {
            if !path.ends_with("f.yaml") {
                told += &fs::read_to_string(path).unwrap_or_default();
            }
        }
        for leak in [SECRET, "geheim", "Zx9", "Wq8"] {
            let at =
                told.find(leak).map(|at| &told[at.saturating_sub(200)..(at + 100).min(told.len())]);
            assert!(at.is_none(), "{name}: `{leak}` in {at:?}");
        }
    }
}

#[test]
fn explain_and_records_show_secrets_by_their_names_only() {
    let bucket = bucket();
    let store = connection(&bucket, server::port());
    let stage = stage(&[("f.yaml", &flow(&store, "path: t")), ("in.csv", FIRST)]);
    let mut told = String::new();
    for args in [
        &["check", "f.yaml", "--json"][..],
        &["explain", "f.yaml", "--json"],
        &["run", "f.yaml", "--json", "--run-id", "a"],
        &["runs", "f.yaml", "a", "--json"],
    ] {
        let ran = stage.command(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        told += &format!("{}{}", ran.stdout, ran.stderr);
    }
    for path in stage.all_files() {
        told += &fs::read_to_string(path).unwrap_or_default();
    }
    for key in server::keys(&bucket).iter().filter(|key| key.ends_with(".json")) {
        told += &String::from_utf8(server::get(&bucket, key)).unwrap();
    }
    for leak in [SECRET, KEY_ID, "geheim"] {
        assert!(!told.contains(leak), "`{leak}`");
    }
    assert!(told.contains(&format!("s3://{bucket}/lake/t")));
    // A folder of files wins over variables; what is wrong there is told before anything is read.
    stage.put("secrets/s3/key", "other\n");
    assert_eq!(stage.command(&["explain", "f.yaml", "--secrets", "secrets"]).code, 0);
    stage.put("secrets/s3/key", "\n");
    let ran = stage.command(&["explain", "f.yaml", "--secrets", "secrets"]);
    assert!(ran.code == 2 && ran.stderr.contains("the secret `s3/key` is empty"), "{}", ran.stderr);
}
