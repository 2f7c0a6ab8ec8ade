//! A guest that misbehaves in a whole flow: one clear error, nothing visible, and the next run works.

use serde_json::Value;
use serde_json::json;
use wasmhost::run::Whose;

use super::Stage;
use super::csv;

/// The misdeed in one step or rule, behind a good batch or more, with what else a flow has.
fn flow(evil: &str, config: &Value, limits: &str) -> String {
    let step = format!("[{{ type: component, component: evil, config: {config} }}]");
    let (transforms, rules) = match evil {
        "guest_evil_rule" => ("[]".to_owned(), step),
        _ => (step, "[]".to_owned()),
    };
    format!(
        "name: f
components: {{ evil: {{ path: GUESTS/{evil}.wasm }} }}
source: {{ format: csv, path: in.csv }}
transforms: {transforms}
rules: {rules}
destinations:
  - {{ name: csv, format: csv, path: out/csv }}
  - {{ name: parquet, format: parquet, path: out/parquet, load_type: overwrite }}
  - {{ name: lake, format: delta, path: out/lake }}
limits: {{ batch_rows: 4, memory_bytes: 64 MiB, process_ms: 1000, finish_ms: 1000{limits} }}
"
    )
}

/// So many batches that, on however many cores, an instance sees a third one.
fn input() -> String {
    csv(["a", "b"], (1..=400).map(|n: u32| [n.to_string(), format!("text {n}")]))
}

#[test]
fn a_misdeed_ends_the_run_with_its_name_and_leaves_nothing_behind() {
    // Exit code 2 where the component is wrong, 3 where it met a limit.
    let cases: &[(&str, Value, i32, &str)] = &[
        (
            "guest_evil_transform",
            json!({"in": "process", "do": "panic", "after": 2}),
            2,
            "component `evil`, process, batch 2: trapped: panicked at ",
        ),
        (
            "guest_evil_transform",
            json!({"in": "process", "do": "loop", "after": 1}),
            3,
            "component `evil`, process, batch 1: the limit `process_ms` allows ",
        ),
        (
            "guest_evil_transform",
            json!({"in": "finish", "do": "memory"}),
            3,
            "component `evil`, finish: the limit `memory_bytes` allows 67108864 bytes",
        ),
        (
            "guest_evil_transform",
            json!({"do": "rows", "after": 1}),
            2,
            "component `evil`, process, batch 1: broke the contract: a batch of ",
        ),
        (
            "guest_evil_rule",
            json!({"do": "bitmap-padding", "after": 1}),
            2,
            "component `evil`, check, batch 1: broke the contract: ",
        ),
        (
            "guest_evil_rule",
            json!({"do": "late-row"}),
            2,
            "component `evil`, conclude: broke the contract: a finding about row 18446744073709551615 of 400",
        ),
    ];
    for (evil, config, code, part) in cases {
        let stage = Stage::new(&[("f.yaml", &flow(evil, config, "")), ("in.csv", &input())]);
        let (ended, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(
            (ended, evidence["status"].as_str()),
            (*code, Some("failed")),
            "{config}: {said}"
        );
        let message = evidence["error"]["message"].as_str().unwrap();
        // Which of the cores' instances has seen how many batches is a matter of chance where batches go side by side.
        let (before, after) = part.split_once(", batch ").unwrap_or((part, ""));
        let after = after.trim_start_matches(|c: char| c.is_ascii_digit());
        assert!(message.starts_with(before) && message.contains(after), "{config}: {message}");
        assert!(said.contains(message), "{config}: {said}");
        let kind = if *code == 2 { "user" } else { "world" };
        assert_eq!(evidence["error"]["kind"], kind, "{config}");
        for to in evidence["destinations"].as_array().unwrap() {
            assert_eq!(to["outcome"], "untouched", "{config}");
        }
        assert_eq!(stage.files(), ["f.yaml", "in.csv"], "{config}");
    }
}

#[test]
fn the_process_goes_on_after_a_misdeed() {
    let bad =
        flow("guest_evil_transform", &json!({"in": "process", "do": "panic", "after": 1}), "");
    let good =
        flow("guest_evil_transform", &json!({"in": "process", "do": "panic", "after": 999}), "");
    let stage = Stage::new(&[("bad.yaml", &bad), ("good.yaml", &good), ("in.csv", &input())]);
    let ended = stage.run_here("bad.yaml", "one");
    let error = ended.error.unwrap();
    assert_eq!(error.whose(), Whose::User, "{error}");
    assert!(error.to_string().contains("trapped: panicked at "), "{error}");
    assert!(ended.evidence.unwrap().ends_with(".wasmhost/runs/f/one.json"));

    let ended = stage.run_here("good.yaml", "two");
    assert!(ended.error.is_none(), "{:?}", ended.error);
    for to in ["out/csv", "out/parquet", "out/lake"] {
        assert_eq!(stage.rows(to).len(), 1 + 400, "{to}");
    }

    // The second run's destinations are there now; what fails next leaves them as they are.
    let before = stage.files();
    assert!(stage.run_here("bad.yaml", "three").error.is_some());
    assert_eq!(stage.files(), before);
}

#[test]
fn a_guest_that_never_describes_itself_meets_its_limit_in_check_too() {
    let limits = ", open_ms: 50";
    let flow = flow("guest_evil_describe", &json!({}), limits);
    let stage = Stage::new(&[("f.yaml", &flow)]);
    let ran = stage.command(&["check", "f.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert_eq!(ran.stderr, "error: component `evil`, describe: the limit `open_ms` allows 50 ms\n");
}
