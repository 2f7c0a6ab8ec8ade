//! Components that are not let in, or that do not fit: all of them named at once, at their lines.

use std::fs;

use serde_json::Value;
use serde_json::json;

use super::Stage;
use super::twenty;
use crate::guests;

/// A component whose socket nobody will give it.
const SOCKETS: &str = r#"(component
  (import "wasi:sockets/tcp@0.2.0" (instance (export "connect" (func (param "port" u32)))))
)"#;

/// A component that imports a host function of its own making.
const STRANGER: &str =
    r#"(component (import "read-file" (func (param "path" string) (result string))))"#;

/// (line, code, what) of each problem.
fn problems(record: &Value) -> Vec<(u64, &str, &str)> {
    let problems = record["error"]["problems"].as_array().unwrap();
    problems
        .iter()
        .map(|problem| {
            (
                problem["at"]["line"].as_u64().unwrap(),
                problem["code"].as_str().unwrap(),
                problem["what"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn every_component_that_is_not_admitted_is_named_at_its_line_and_nothing_is_read() {
    let flow = "name: f
components:
  other: { path: GUESTS/guest_evil_describe.wasm, digest: 'sha256:0000000000000000000000000000000000000000000000000000000000000000' }
  text: { path: text.wasm }
  module: { path: module.wasm }
  sockets: { path: sockets.wasm }
  stranger: { path: stranger.wasm }
  huge: { path: huge.wasm }
  cut: { path: cut.wasm }
source: { format: csv, path: in.csv }
transforms:
  - { type: component, component: other }
  - { type: component, component: text }
  - { type: component, component: module }
  - { type: component, component: sockets }
  - { type: component, component: stranger }
  - { type: component, component: huge }
  - { type: component, component: cut }
destinations: [{ name: out, format: csv, path: out }]
limits: { component_bytes: 1 MiB }
";
    let stage = Stage::new(&[("f.yaml", flow), ("in.csv", &twenty()), ("text.wasm", "not wasm")]);
    let put = |name: &str, bytes: &[u8]| fs::write(stage.path(name), bytes).unwrap();
    for (name, text) in [("module", "(module)"), ("sockets", SOCKETS), ("stranger", STRANGER)] {
        put(&format!("{name}.wasm"), &wat::parse_str(text).unwrap());
    }
    put("huge.wasm", &vec![0; (1 << 20) + 1]);
    put("cut.wasm", &fs::read(guests::path("guest-verdict")).unwrap()[..100_000]);

    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (2, Some("failed")), "{said}");
    let expected = [
        (3, "not-admitted", "but the flow says sha256:0000"),
        (4, "not-admitted", "component `text`: not a WebAssembly file"),
        (5, "not-admitted", "component `module`: "),
        (
            6,
            "not-admitted",
            "component `sockets`: imports `wasi:sockets/tcp@0.2.0`, which the sandbox does not offer; no guest reaches",
        ),
        (
            7,
            "not-admitted",
            "component `stranger`: imports `read-file`, which the sandbox does not offer",
        ),
        (
            8,
            "not-admitted",
            "huge.wasm has 1048577 bytes; the limit `component_bytes` allows 1048576",
        ),
        (9, "not-admitted", "component `cut`: "),
    ];
    let found = problems(&evidence);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for ((line, code, what), (due, kind, part)) in found.iter().zip(expected) {
        assert_eq!((*line, *code), (due, kind), "{found:#?}");
        assert!(what.contains(part), "{what}");
    }
    assert!(said.ends_with("7 problem(s)\n"), "{said}");

    let ran = stage.command(&["check", "f.yaml", "--json"]);
    let checked: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &checked["error"]["problems"]), (2, &evidence["error"]["problems"]));
}

#[test]
fn a_component_of_the_other_world_and_misspelt_configurations_are_found_without_data() {
    let flow = "name: f
components: { air: { path: GUESTS/possible_air_time.wasm } }
source: { format: csv, path: absent.csv }
transforms:
  - { type: component, component: air }
rules:
  - { type: component, name: one, component: air, config: { max_mp: 5 } }
  - { type: component, name: two, component: air,
      config: { min_mph: 5, maximum: 6 } }
  - { type: component, name: three, component: air, config: { max_mph: 500 } }
destinations: [{ name: out, format: csv, path: out }]
";
    let stage = Stage::new(&[("f.yaml", flow)]);
    let ran = stage.command(&["check", "f.yaml", "--json"]);
    let checked: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    let found = problems(&checked);
    let whats: Vec<_> = found.iter().map(|(line, _, what)| (*line, *what)).collect();
    assert_eq!(
        whats,
        [
            (5, "component `air` is a rule, where a transform is due"),
            (7, "`possible-air-time` has no configuration `max_mp`"),
            (8, "`possible-air-time` has no configuration `maximum`"),
        ]
    );
    assert_eq!(checked["error"]["problems"][1]["hint"], "did you mean `max_mph`?");
}

#[test]
fn what_components_refuse_when_they_are_opened_is_told_with_place_and_path() {
    let flow = "name: f
components: { verdict: { path: GUESTS/guest_verdict.wasm } }
source: { format: csv, path: in.csv }
rules:
  - { type: component, name: one, component: verdict, config: { mode: max, column: w, max: 5 } }
  - { type: component, name: two, component: verdict, config: { mode: maximum } }
  - { type: component, name: three, component: verdict, config: { mode: max, column: v, max: 5 } }
  - { type: component, name: four, component: verdict, config: { mode: max, column: v, max: high } }
destinations: [{ name: out, format: csv, path: out, columns: [w] }]
";
    let stage = Stage::new(&[("f.yaml", flow), ("in.csv", &twenty())]);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (2, Some("failed")), "{said}");
    let found = problems(&evidence);
    assert_eq!(found.iter().map(|(line, ..)| *line).collect::<Vec<_>>(), [5, 6, 8], "{said}");
    for ((_, _, what), part) in found.iter().zip(["`w`", "maximum", "high"]) {
        assert!(what.starts_with("component `verdict` refuses: "), "{what}");
        assert!(what.contains(part), "{what}");
    }
    assert_eq!(evidence["error"]["problems"][0]["code"], json!("schema"));
    assert!(said.contains("f.yaml:5:5: rules[0]"), "{said}");
    assert_eq!(stage.files(), ["f.yaml", "in.csv"]);
}
