//! Hostile guests: each misdeed is one clear error that names component, call, batch and what was broken, and the host goes on.

use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use arrow::array::AsArray;
use arrow::array::RecordBatch;
use arrow::array::record_batch;
use arrow::datatypes::Int64Type;
use serde_json::Value;
use serde_json::json;
use wasmhost::batch::Batch;
use wasmhost::batch::Origin;
use wasmhost::batch::Positions;
use wasmhost::component::Limits;
use wasmhost::sandbox::Cache;
use wasmhost::sandbox::Engine;
use wasmhost::sandbox::RulePool;
use wasmhost::sandbox::SandboxError;
use wasmhost::sandbox::TransformPool;

use crate::guests;

/// Short enough that tests end soon; generous enough that a busy machine does not meet them by chance.
fn tight() -> Limits {
    Limits {
        memory_bytes: 64 << 20,
        process_ms: 1_000,
        finish_ms: 1_000,
        output_bytes: 1 << 20,
        ..Limits::default()
    }
}

fn rows() -> RecordBatch {
    record_batch!(
        ("a", Int64, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ("b", Utf8, ["v", "w", "x", "y", "z", "v", "w", "x", "y", "z", "v"])
    )
    .unwrap()
}

fn batch() -> Batch {
    Batch { rows: rows(), origin: Origin { file: "test.csv".into(), rows: Positions::From(1) } }
}

/// All calls of a transform's life, until one fails.
fn transform(guest: &str, config: &Value, limits: Limits) -> Result<Vec<Batch>, SandboxError> {
    let code = guests::compiled(guest, limits);
    let pool = TransformPool::open(&code, &guests::context(), config, &rows().schema())?;
    let mut out = Vec::new();
    for number in 0..3 {
        out.extend(pool.process(number, &batch())?.batches);
        assert!(pool.usage().memory_bytes_peak <= code.limits().memory_bytes, "memory is bounded");
    }
    pool.finish(&mut |batch| {
        out.push(batch);
        true
    })?;
    Ok(out)
}

/// All calls of a rule's life, until one fails.
fn rule(guest: &str, config: &Value, limits: Limits) -> Result<(), SandboxError> {
    let code = guests::compiled(guest, limits);
    let pool = RulePool::open(&code, &guests::context(), config, &rows().schema())?;
    for number in 0..3 {
        pool.check(number, &batch())?;
    }
    pool.conclude().map(drop)
}

/// The misdeed ends in an error that says each of `parts`, within a few seconds, and the next guest works.
fn check(case: &Value, ended: Result<(), SandboxError>, started: Instant, parts: &[&str]) {
    let error = ended.err().unwrap_or_else(|| panic!("{case} went unnoticed")).to_string();
    for part in parts {
        assert!(error.contains(part), "{case}: `{part}` is missing in: {error}");
    }
    assert!(error.len() < 4_000, "{case}: an error of {} bytes", error.len());
    assert!(started.elapsed() < Duration::from_secs(30), "{case} took {:?}", started.elapsed());
    let good = transform("guest-echo", &json!({"mode": "echo"}), tight()).unwrap();
    assert_eq!(
        good.iter().map(|batch| batch.rows.num_rows()).sum::<usize>(),
        33,
        "the host goes on after {case}"
    );
}

#[test]
fn misdeeds_of_any_call_are_traps_or_limits() {
    let deeds: &[(&str, &[&str])] = &[
        ("loop", &["the limit `", "_ms` allows "]),
        ("memory", &["the limit `memory_bytes` allows 67108864 bytes, asked were "]),
        ("stack", &["the limit `wasm_stack_bytes`"]),
        (
            "shadow-stack",
            &[
                "trapped: its stack ran over in endless recursion",
                "(in guest_evil_",
                "::deeds::descend",
            ],
        ),
        ("panic", &["trapped: panicked at ", "deeds.rs:", ": as configured", "(in "]),
    ];
    let calls = [
        ("open", "open"),
        ("process", "process, batch 0"),
        ("end-input", "finish"),
        ("finish", "finish"),
    ];
    for (deed, parts) in deeds {
        for (call, place) in calls {
            let case = json!({"in": call, "do": deed});
            let started = Instant::now();
            let ended = transform("guest-evil-transform", &case, tight()).map(drop);
            check(
                &case,
                ended,
                started,
                &[parts as &[_], &["component `guest-evil-transform`", place]].concat(),
            );
        }
        for (call, place) in [("check", "check, batch 0"), ("conclude", "conclude")] {
            let case = json!({"in": call, "do": deed});
            let started = Instant::now();
            let ended = rule("guest-evil-rule", &case, tight());
            check(
                &case,
                ended,
                started,
                &[parts as &[_], &["component `guest-evil-rule`", place]].concat(),
            );
        }
    }
}

#[test]
fn a_loop_in_describe_meets_its_deadline() {
    let limits = Limits { open_ms: 200, ..tight() };
    let error = guests::compiled("guest-evil-describe", limits).describe().unwrap_err().to_string();
    assert!(
        error.contains(
            "component `guest-evil-describe`, describe: the limit `open_ms` allows 200 ms"
        ),
        "{error}"
    );
}

#[test]
fn answers_of_open_that_break_the_contract_are_named() {
    let cases: &[(&str, &str)] = &[
        ("layout-input", "a layout that takes `x` from column 100000 of 2"),
        ("layout-computed", "a layout that takes `x` from column 2 of 2"),
        ("layout-names", "a layout that names `n` twice"),
        ("projection", "projection with column 100000 of 2"),
        ("projections", "2 projections for one input"),
        ("key", "keys with column 100000 of 2"),
        ("reasons", "the limit `reasons` allows 256, asked were 5000"),
        ("reason-text", "a reason whose code is empty or over 64 bytes"),
        ("schema-bytes", "continuation marker"),
        ("schema-depth", "broke the contract"),
        ("schema-columns", "a schema of 10000 columns; 2000 are allowed"),
        ("schema-width", "has values of a size that is not allowed"),
        ("schema-null-items", "has items without a type"),
        ("layout-flood", "a layout of 100003 columns; 2000 are allowed"),
        ("layout-control", "a column named `\\u{1b}[2Jn`"),
    ];
    for (deed, part) in cases {
        let case = json!({"do": deed});
        let started = Instant::now();
        let ended = transform("guest-evil-transform", &case, tight()).map(drop);
        check(&case, ended, started, &["component `guest-evil-transform`, open", part]);
    }
    for deed in ["projection", "projections", "key", "reasons", "reason-text", "reason-codes"] {
        let case = json!({"do": deed});
        let started = Instant::now();
        check(
            &case,
            rule("guest-evil-rule", &case, tight()),
            started,
            &["component `guest-evil-rule`, open"],
        );
    }
}

#[test]
fn batches_that_break_the_contract_are_named_with_their_number() {
    let cases: &[(&str, &str)] = &[
        ("rows", "a batch of 12 rows for an input of 11"),
        ("schema", "a batch of 2 arrays and 6 buffers; its schema has 2 and 5"),
        ("columns", "a batch of 1 arrays and 2 buffers; its schema has 2 and 5"),
        ("no-batch", "0 batches for one"),
        ("two-batches", "2 batches for one"),
        ("truncate", "body bytes and brings"),
        ("empty", "cut off (0 bytes)"),
        ("corrupt", "broke the contract"),
        ("body-length", "body bytes and brings"),
        ("negative-length", "negative number of rows"),
        ("offsets", "a batch that is corrupt"),
        ("utf8", "a batch that is corrupt"),
        ("trailing", "body bytes and brings"),
        ("overlap", "a buffer outside its body, or over another one"),
        ("repeated", "a batch whose message is Schema"),
        ("keep", "a `keep` bitmap from a transform that is not a filter"),
        ("bitmap-short", "a `keep` bitmap of 1 bytes for 11 rows; 2 are due"),
        ("bitmap-long", "a `keep` bitmap of 3 bytes for 11 rows; 2 are due"),
        ("bitmap-padding", "a `keep` bitmap whose padding bits are set"),
        ("reason", "a judgement for reason 7, but it declared 1"),
        ("reason-twice", "two judgements for reason `evil`"),
        ("evaluated", "counts for reason `evil` that cannot be"),
        ("evaluated-rows", "counts for reason `evil` that cannot be"),
        ("nulls", "counts for reason `evil` that cannot be"),
        ("hits-padding", "padding bits are set"),
        ("origin", "an `origin` that names row 4294967295 of 11"),
        ("origin-short", "an `origin` of 10 rows for a batch of 11"),
    ];
    for (deed, part) in cases {
        // Instances are recycled on evidence: with state kept over batches, the second batch is the bad one.
        let case = json!({"do": deed, "after": 1});
        let started = Instant::now();
        let ended = transform("guest-evil-transform", &case, tight()).map(drop);
        check(&case, ended, started, &["component `guest-evil-transform`, process, batch 1", part]);
    }
    let case = json!({"do": "huge-output"});
    let started = Instant::now();
    let limits = Limits { memory_bytes: 512 << 20, output_bytes: 64 << 20, ..tight() };
    let ended = transform("guest-evil-transform", &case, limits).map(drop);
    check(&case, ended, started, &["process, batch 0", "limit"]);
}

#[test]
fn rows_at_the_end_that_break_the_contract_are_named() {
    for (deed, part) in [
        ("endless-finish", "rows from `finish`, which only"),
        ("finish-one-to-one", "rows from `finish`, which only"),
    ] {
        let case = json!({"do": deed});
        let started = Instant::now();
        let ended = transform("guest-evil-transform", &case, tight()).map(drop);
        check(&case, ended, started, &["component `guest-evil-transform`, finish", part]);
    }
}

#[test]
fn judgements_that_break_the_contract_are_named() {
    let cases: &[(&str, &str)] = &[
        ("judgement-missing", "1 judgements of a batch; it declared 2 reasons"),
        ("judgement-twice", "two judgements for reason `evil`"),
        ("reason", "a judgement for reason 7, but it declared 2"),
        ("bitmap-short", "of 1 bytes for 11 rows; 2 are due"),
        ("bitmap-long", "of 3 bytes for 11 rows; 2 are due"),
        ("bitmap-padding", "padding bits are set"),
        ("evaluated", "counts for reason `worse` that cannot be"),
        ("evaluated-rows", "counts for reason `worse` that cannot be"),
        ("nulls", "counts for reason `worse` that cannot be"),
        ("judgements", "check, batch 0"),
        ("late-row", "a finding about row 18446744073709551615 of 33"),
        ("late-reason", "a finding for reason 7 of 2"),
        ("table-reason", "a finding for reason 7 of 2"),
        ("nan-measured", "whose measure is not a number"),
        ("late-findings", "conclude"),
        ("endless-conclude", "conclude: the limit `amplification`"),
        ("late-twice", "a finding about row 0, which was hit before"),
    ];
    for (deed, part) in cases {
        let case = json!({"do": deed});
        let started = Instant::now();
        check(
            &case,
            rule("guest-evil-rule", &case, tight()),
            started,
            &["component `guest-evil-rule`", part],
        );
    }
}

#[test]
fn a_flood_of_log_is_cut_counted_and_escaped() {
    for (deed, dropped) in [("log-lines", true), ("log-line", true), ("log-control", false)] {
        let code =
            guests::compiled("guest-evil-transform", Limits { output_bytes: 64 << 20, ..tight() });
        let config = json!({"in": "process", "do": deed});
        let pool =
            TransformPool::open(&code, &guests::context(), &config, &rows().schema()).unwrap();
        // A million lines may meet the deadline; what was said before then is kept all the same.
        let _ = pool.process(0, &batch());
        let usage = pool.usage();
        assert!(
            usage.log.len() <= 200 && usage.log.iter().all(|line| line.text.len() < 4_200),
            "{deed}"
        );
        assert!(
            usage.log.iter().all(|line| !line.text.contains(|c: char| c.is_control())),
            "{deed}: {:?}",
            usage.log
        );
        assert!(
            usage.log_lines_dropped > 0
                || !dropped
                || usage.log.iter().any(|line| line.text.ends_with('…')),
            "{deed}"
        );
    }
}

#[test]
fn a_failure_with_a_hundred_thousand_diagnostics_stays_short() {
    let config = json!({"in": "open", "do": "diagnostics"});
    let error = transform("guest-evil-transform", &config, tight()).unwrap_err();
    assert!(error.to_string().len() < 200_000, "{} bytes", error.to_string().len());
}

#[test]
fn echoed_rows_are_the_rows_that_went_in() {
    for mode in [json!({"mode": "echo"}), json!({"mode": "carry"}), json!({"mode": "swallow"})] {
        let out = transform("guest-echo", &mode, tight()).unwrap();
        assert_eq!(out.len(), 3);
        for batch in out {
            assert_eq!(batch.rows, rows(), "{mode}");
            assert_eq!(batch.origin.row(10), Some(11));
        }
    }
    let out =
        transform("guest-echo", &json!({"mode": "project", "columns": ["b"]}), tight()).unwrap();
    assert_eq!(out[0].rows.column_by_name("b").unwrap(), rows().column(1));
}

#[test]
fn rows_that_are_filtered_rejected_or_made_keep_their_places() {
    let code = guests::compiled("guest-echo", tight());
    let run = |config: Value| {
        let pool =
            TransformPool::open(&code, &guests::context(), &config, &rows().schema()).unwrap();
        pool.process(0, &batch()).unwrap()
    };
    let even = run(json!({"mode": "keep_even"}));
    assert_eq!((even.batches[0].rows.num_rows(), even.rows_filtered), (6, 5));
    assert_eq!(even.batches[0].origin.row(5), Some(11));

    let rejected = run(json!({"mode": "reject", "every": 5}));
    assert_eq!(rejected.batches[0].rows.num_rows(), 9);
    let [rejection] = &rejected.rejected[..] else { panic!("one rejection") };
    let places: Vec<_> = (0..2).map(|row| rejection.rows.origin.row(row).unwrap()).collect();
    assert_eq!((places, &rejection.reasons[..]), (vec![5, 10], &[vec![0], vec![0]][..]));

    let twice = run(json!({"mode": "twice"}));
    assert_eq!(twice.batches[0].rows.num_rows(), 22);
    assert_eq!(
        (twice.batches[0].origin.row(0), twice.batches[0].origin.row(21)),
        (Some(1), Some(11))
    );

    let counted = transform("guest-echo", &json!({"mode": "count"}), tight()).unwrap();
    assert_eq!(counted.last().unwrap().rows.column(0).as_primitive::<Int64Type>().value(0), 33);
}

#[test]
fn batches_are_split_by_rows_bytes_and_memory() {
    for limits in [Limits { batch_rows: 2, ..tight() }, Limits { batch_bytes: 64, ..tight() }] {
        let out = transform("guest-echo", &json!({"mode": "echo"}), limits).unwrap();
        assert!(out.len() >= 9, "{}", out.len());
        assert_eq!(out.iter().map(|batch| batch.rows.num_rows()).sum::<usize>(), 33);
    }
    // 32 MiB go in and come back: more than 28 MiB of memory hold at once, but not of halves.
    let wide = record_batch!(("a", Int64, (0..2_000_000).map(Some).collect::<Vec<_>>())).unwrap();
    let limits = Limits {
        memory_bytes: 28 << 20,
        output_bytes: 64 << 20,
        batch_rows: 4 << 20,
        batch_bytes: 64 << 20,
        ..tight()
    };
    let code = guests::compiled("guest-echo", limits);
    let pool =
        TransformPool::open(&code, &guests::context(), &json!({"mode": "echo"}), &wide.schema())
            .unwrap();
    let origin = Origin { file: "wide".into(), rows: Positions::From(1) };
    let done = pool.process(0, &Batch { rows: wide.clone(), origin }).unwrap();
    assert!(done.batches.len() > 1, "halved");
    let columns: Vec<_> = done.batches.iter().map(|batch| batch.rows.column(0).as_ref()).collect();
    assert_eq!(&arrow::compute::concat(&columns).unwrap(), wide.column(0));
}

#[test]
fn repeated_rows_and_time_are_counted_over_a_whole_run() {
    let long = "x".repeat(1 << 10);
    let texts = record_batch!(("t", Utf8, vec![long.as_str(); 4 << 10])).unwrap();
    let run = |config: Value, limits: Limits| {
        let code = guests::compiled("guest-echo", limits);
        let pool = TransformPool::open(&code, &guests::context(), &config, &texts.schema())?;
        let origin = Origin { file: "texts".into(), rows: Positions::From(1) };
        let batch = Batch { rows: texts.clone(), origin };
        pool.process(0, &batch)?;
        pool.process(1, &batch)?;
        pool.finish(&mut |_| true)
    };
    // The column is carried, so that only its repeating is paid for: 8 MiB of 4 MiB, and 1 MiB is free.
    let twice = json!({"mode": "twice"});
    let error = run(twice.clone(), Limits { amplification: 1, ..tight() }).unwrap_err().to_string();
    assert!(
        error.contains("the limit `amplification` allows") && error.contains("carried columns"),
        "{error}"
    );
    run(twice, Limits { amplification: 2, ..tight() }).unwrap();

    let slow = json!({"mode": "echo"});
    let limits = Limits { run_ms: 1, output_bytes: 64 << 20, ..tight() };
    let error = run(slow, limits).unwrap_err().to_string();
    assert!(error.contains("the limit `run_ms`"), "{error}");
}

#[test]
fn a_component_of_the_other_world_is_refused() {
    let code = guests::compiled("guest-verdict", tight());
    let error = TransformPool::open(&code, &guests::context(), &json!({}), &rows().schema())
        .unwrap_err()
        .to_string();
    assert!(error.contains("a rule, where a transform is due"), "{error}");
    let config = json!({"mode": "max", "colum": "a"});
    let code = guests::compiled("guest-verdict", tight());
    let error = RulePool::open(&code, &guests::context(), &config, &rows().schema())
        .unwrap_err()
        .to_string();
    assert!(error.contains("refuses") && error.contains("colum"), "{error}");
}

#[test]
fn many_threads_share_a_pool_and_none_sees_anothers_rows() {
    let code = guests::compiled("guest-echo", tight());
    let pool = Arc::new(
        TransformPool::open(&code, &guests::context(), &json!({"mode": "echo"}), &rows().schema())
            .unwrap(),
    );
    std::thread::scope(|scope| {
        for thread in 0..8_u64 {
            let pool = Arc::clone(&pool);
            scope.spawn(move || {
                for number in 0..50 {
                    let length = usize::try_from(1 + (thread + number) % 11).unwrap();
                    let piece = batch().slice(11 - length, length);
                    let done = pool.process(number, &piece).unwrap();
                    assert_eq!(done.batches[0].rows, piece.rows);
                }
            });
        }
    });
    assert!(pool.usage().instances <= 8);
}

#[test]
fn cached_code_that_was_touched_is_never_run() {
    let folder = tempfile::tempdir().unwrap();
    let cache = || Cache::open(&folder.path().join("code"));
    let works = |what: &str| {
        let engine = Engine::new(Limits::default().wasm_stack_bytes, cache()).unwrap();
        let code = engine.compile(guests::admitted("guest-verdict"), Arc::new(tight())).unwrap();
        assert_eq!(code.describe().unwrap().name, "guest-verdict", "{what}");
    };
    let kept = |end: &str| {
        let files =
            std::fs::read_dir(folder.path().join("code")).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|found| found == end)).collect::<Vec<_>>()
    };
    works("fresh");
    let ([code], [tag]) = (&kept("code")[..], &kept("tag")[..]) else { panic!("one file of each") };
    let good = std::fs::read(code).unwrap();
    works("from the cache");

    let mut bad = good.clone();
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    std::fs::write(code, &bad).unwrap();
    works("a flipped bit");
    assert_eq!(std::fs::read(code).unwrap().len(), good.len(), "compiled anew and kept");
    assert_ne!(std::fs::read(code).unwrap(), bad);

    std::fs::write(tag, [0; 32]).unwrap();
    works("another tag");
    std::fs::write(code, &good[..middle]).unwrap();
    works("cut in half");

    let open_to_all = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path().join("code"), open_to_all).unwrap();
    assert!(cache().is_none(), "a folder that others can write is not trusted");
}
