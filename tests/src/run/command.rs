//! The command line: what is on which stream, what each command says, and what it leaves alone.

use std::fs;
use std::path::Path;

use serde_json::Value;
use wasmhost::plan::explain;
use wasmhost::run;
use wasmhost::table::RunId;

use super::Stage;
use super::clock;
use super::runtime;
use super::twenty;
use crate::guests;

const FLOW: &str = "name: f
vars: { load: append }
source: { format: csv, path: in.csv }
destinations: [{ name: out, format: csv, path: out, load_type: '{{ load }}' }]
";

/// Two components, three formats, and every kind of line that a plan has.
const WHOLE: &str = "name: whole
vars: { most: '80' }
components: { echo: { path: GUESTS/guest_echo.wasm }, verdict: { path: GUESTS/guest_verdict.wasm } }
source: { format: csv, path: in.csv }
transforms: [{ type: component, component: echo, config: { mode: project, columns: [v] } }]
rules:
  - { type: component, name: low, component: verdict, config: { mode: max, column: v, max: 80 }, severity: quarantine }
  - { type: component, name: unique, component: verdict, config: { mode: whole_input, key: n }, severity: warn }
destinations:
  - { name: lake, format: delta, path: lake, load_type: overwrite }
  - { name: log, format: parquet, path: log, columns: [v, n], partition_columns: [n] }
limits: { batch_rows: 7 }
";

#[test]
fn a_run_says_results_on_one_stream_and_progress_on_the_other() {
    let stage = Stage::new(&[("f.yaml", FLOW), ("in.csv", &twenty())]);
    let ran = stage.command(&["run", "f.yaml", "--run-id", "one"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, "reading 1 file(s) of in.csv\n"));
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(lines[0].starts_with("run one of flow f: succeeded in "), "{}", ran.stdout);
    assert_eq!(
        lines[1..],
        [
            "  read 20 rows from in.csv (1 file(s))",
            "  out (csv append) out: 20 rows written, 20 inserted",
            "  evidence: .wasmhost/runs/f/one.json",
        ]
    );
    let ran = stage.command(&["run", "f.yaml", "--quiet"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (0, "", ""));
    let ran = stage.command(&["run", "f.yaml", "--json"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let ran = stage.command(&["run", "f.yaml", "--var", "load=overwrite", "-q"]);
    assert_eq!((ran.code, stage.rows("out").len()), (0, 21), "{}", ran.stderr);
}

#[test]
fn mistakes_are_told_on_the_error_stream_and_as_json_on_the_other() {
    let broken = FLOW
        .replace("path: out", "pth: out")
        .replace("format: csv, path: in", "format: cvs, path: in");
    let stage = Stage::new(&[("f.yaml", FLOW), ("bad.yaml", &broken)]);
    for command in ["run", "check", "explain", "runs"] {
        let ran = stage.command(&[command, "bad.yaml"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{command}");
        assert!(
            ran.stderr.contains("bad.yaml:4:") && ran.stderr.ends_with("problem(s)\n"),
            "{}",
            ran.stderr
        );
        let ran = stage.command(&[command, "bad.yaml", "--json"]);
        let told: Value = serde_json::from_str(&ran.stdout).unwrap();
        assert!(told["error"]["problems"].as_array().unwrap().len() >= 2, "{command}: {told}");
        let ran = stage.command(&[command, "nowhere.yaml"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{command}");
    }
    // The source is not there: `check` does not look, the others do.
    assert_eq!(stage.command(&["check", "f.yaml"]).code, 0);
    for command in ["run", "explain"] {
        let ran = stage.command(&[command, "f.yaml"]);
        assert_eq!(ran.code, 2, "{command}: {}", ran.stderr);
        assert!(
            ran.stderr.contains("f.yaml:3:1: source") && ran.stderr.contains("in.csv"),
            "{}",
            ran.stderr
        );
    }
    // A run that failed has its evidence all the same; nothing else is there.
    assert_eq!(stage.files(), ["bad.yaml", "f.yaml"]);
    let ran = stage.command(&["runs", "f.yaml", "latest", "--json"]);
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &record["status"]), (0, &Value::from("failed")));
    for args in [
        &["run"][..],
        &["run", "f.yaml", "--var", "load"],
        &["run", "f.yaml", "--run-id", "a/b"],
        &["fly"],
    ] {
        let ran = stage.command(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (2, ""), "{args:?}");
    }
    let ran = stage.command(&["run", "f.yaml", "--var", "laod=append"]);
    assert!(ran.code == 2 && ran.stderr.contains("did you mean `load`?"), "{}", ran.stderr);
}

#[test]
fn runs_lists_and_shows_what_earlier_runs_did() {
    let stage = Stage::new(&[
        ("f.yaml", FLOW),
        ("g.yaml", &FLOW.replace("name: f", "name: g").replace("path: out", "path: g")),
        ("in.csv", &twenty()),
    ]);
    let ran = stage.command(&["runs", "f.yaml"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (0, "flow f has no runs yet\n"));
    assert_eq!(stage.command(&["runs", "f.yaml", "latest"]).code, 2);
    for (flow, id) in [("f.yaml", "one"), ("f.yaml", "two"), ("g.yaml", "one")] {
        assert_eq!(stage.command(&["run", flow, "-q", "--run-id", id]).code, 0);
    }
    let ran = stage.command(&["runs", "f.yaml"]);
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", ran.stdout);
    for (line, id) in lines.iter().zip(["one  ", "two  "]) {
        assert!(
            line.starts_with(id) && line.ends_with("succeeded      20 rows read, 20 written"),
            "{line}"
        );
    }
    let shown = |args: &[&str]| -> Value {
        let ran = stage.command(args);
        assert_eq!(ran.code, 0, "{args:?}: {}", ran.stderr);
        serde_json::from_str(&ran.stdout).unwrap()
    };
    assert_eq!(shown(&["runs", "f.yaml", "--json"]).as_array().unwrap().len(), 2);
    assert_eq!(shown(&["runs", "f.yaml", "latest", "--json"])["run_id"], "two");
    // Flows beside each other share a state folder, not their runs.
    for (file, name) in [("f.yaml", "f"), ("g.yaml", "g")] {
        let record = shown(&["runs", file, "one", "--json"]);
        assert_eq!((&record["run_id"], &record["flow"]), (&"one".into(), &name.into()));
    }
    let ran = stage.command(&["runs", "f.yaml", "one"]);
    assert!(ran.stdout.starts_with("run one of flow f: succeeded in "), "{}", ran.stdout);
    let ran = stage.command(&["runs", "g.yaml", "two"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("no run `two`"), "{}", ran.stderr);

    // A record that cannot be read is told, and hides no other.
    stage.put(".wasmhost/runs/f/three.json", "{");
    let ran = stage.command(&["runs", "f.yaml"]);
    assert_eq!((ran.code, ran.stdout.lines().count()), (0, 2));
    assert!(ran.stderr.contains("three.json"), "{}", ran.stderr);
    let ran = stage.command(&["runs", "f.yaml", "latest"]);
    assert!(ran.code == 0 && ran.stderr.contains("three.json"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn values_come_from_the_command_line_then_a_file_then_the_flow_and_from_the_environment_where_that_is_allowed()
 {
    // Cargo sets it for tests.
    let flow = "name: f
vars: { load: append }
source: { format: csv, path: \"{{ env.CARGO_PKG_NAME | replace('wasmhost-tests', 'in') }}.{{ ending }}\" }
destinations: [{ name: out, format: csv, path: out, load_type: '{{ load }}' }]
";
    let stage = Stage::new(&[
        ("f.yaml", flow),
        ("in.csv", &twenty()),
        ("shared.json", r#"{"ending": "csv", "load": "overwrite", "of_another_flow": 1}"#),
        ("bad.yaml", "{ a: [1], run_id: x }"),
    ]);
    let check = |arguments: &[&str], code: i32, says: &[&str]| {
        let ran = stage.command(&[&["check", "f.yaml"], arguments].concat());
        assert_eq!(ran.code, code, "{}", ran.stderr);
        says.iter()
            .for_each(|words| assert!(ran.stderr.contains(words), "{words}: {}", ran.stderr));
    };
    check(
        &[],
        2,
        &[
            "the flow reads the environment variable `CARGO_PKG_NAME`, which it may not",
            "`--env CARGO_PKG_NAME`",
        ],
    );
    let allowed = ["--env", "CARGO_PKG_NAME"];
    check(&allowed, 2, &["the variable `ending` is not defined"]);
    check(&[&allowed[..], &["--vars-file", "gone.yaml"]].concat(), 2, &["there is no such file"]);
    check(
        &[&allowed[..], &["--vars-file", "bad.yaml"]].concat(),
        2,
        &[
            "bad.yaml:1:3: a: a variable is text, a number, true or false",
            "run_id: `run_id` is a built-in name",
        ],
    );
    let shared = [&allowed[..], &["--vars-file", "shared.json"]].concat();
    check(&shared, 0, &[]);
    let load = |more: &[&str]| {
        let (code, evidence, said) = stage.run("f.yaml", &[&shared[..], more].concat());
        assert_eq!(code, 0, "{said}");
        let vars: Vec<_> = evidence["vars"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(vars, ["ending", "load"], "what is another flow's is not recorded");
        evidence["destinations"][0]["load_type"].clone()
    };
    assert_eq!(load(&[]), "overwrite");
    assert_eq!(load(&["--var", "load=append"]), "append");
}

#[test]
fn a_flow_in_json_runs_like_the_same_flow_in_yaml() {
    let json = r#"{
  "name": "f", "vars": { "load": "append" },
  "source": { "format": "csv", "path": "in.csv" },
  "destinations": [{ "name": "out", "format": "csv", "path": "out", "load_type": "{{ load }}" }]
}"#;
    let run = |file: &str, text: &str| {
        let stage = Stage::new(&[(file, text), ("in.csv", &twenty())]);
        let (code, mut evidence, _) = stage.run(file, &["--run-id", "one"]);
        for name in ["flow_file", "flow_digest", "started_at", "finished_at"] {
            evidence[name] = Value::Null;
        }
        (code, evidence, stage.rows("out"))
    };
    assert_eq!(run("f.yaml", FLOW), run("f.json", json));
    let schema = Stage::new(&[]).command(&["schema"]);
    let schema: Value = serde_json::from_str(&schema.stdout).unwrap();
    assert!(schema["properties"]["destinations"].is_object());
}

#[test]
fn plan_and_evidence_of_a_whole_flow_are_the_golden_ones() {
    let stage = Stage::new(&[("f.yaml", WHOLE), ("in.csv", &twenty())]);
    let id = RunId::new("one").unwrap();
    let flow = stage.read("f.yaml", &id);
    let plan = runtime().block_on(run::plan(&flow, clock(), &id)).unwrap();
    assert_eq!(stage.files(), ["f.yaml", "in.csv"], "a plan writes nothing");
    let ended = stage.run_here("f.yaml", "one");
    let mut wrong = Vec::new();
    let mut golden = |name: &str, text: String| {
        let expected = Path::new("runs").join(name);
        let actual = stage.plain(&text);
        if std::env::var_os("BLESS").is_some() {
            fs::create_dir_all("runs").unwrap();
            fs::write(expected, actual).unwrap();
        } else if fs::read_to_string(&expected).unwrap_or_default() != actual {
            wrong.push(format!("{} is not what came out:\n{actual}", expected.display()));
        }
    };
    golden("explain.txt", explain(&plan));
    golden("plan.json", serde_json::to_string_pretty(&plan).unwrap() + "\n");
    golden("evidence.json", serde_json::to_string_pretty(&ended.record).unwrap() + "\n");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

impl Stage {
    /// A text without what differs from machine to machine and from build to build of the guests.
    fn plain(&self, text: &str) -> String {
        let folders = [
            (self.path("").display().to_string(), ""),
            (guests::folder().display().to_string(), "GUESTS"),
        ];
        let mut plain = text.to_owned();
        for (folder, name) in folders {
            plain = plain.replace(&folder, name);
        }
        let plain: Vec<_> = plain.lines().map(line).collect();
        plain.join("\n") + "\n"
    }
}

/// A line without digests and measures.
fn line(line: &str) -> String {
    for name in ["busy_ms", "memory_bytes_peak", "instances"] {
        if let Some((before, _)) = line.split_once(&format!("\"{name}\": ")) {
            let comma = if line.ends_with(',') { "," } else { "" };
            return format!("{before}\"{name}\": \"…\"{comma}");
        }
    }
    let digits = line.split(|c: char| !c.is_ascii_hexdigit()).find(|word| word.len() == 64);
    digits.map_or_else(|| line.to_owned(), |digits| line.replace(digits, "…"))
}
