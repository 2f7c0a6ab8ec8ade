//! Flows whose whole result stands beside them: `tests/flows/runs/NAME.yaml` is run over `data/`, and what came of it is compared
//! with `NAME.out`. `BLESS=1` accepts what came.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use serde_json::Value;
use wasmhost::flow;
use wasmhost::flow::ReadContext;
use wasmhost::run;
use wasmhost::table::RunId;

use super::Stage;
use super::books;
use super::clock;
use super::readback;
use super::runtime;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("flows/runs")
}

#[test]
fn every_flow_does_what_stands_beside_it() {
    let mut wrong = Vec::new();
    let mut flows: Vec<_> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "yaml"))
        .collect();
    flows.sort();
    assert!(flows.len() > 10, "the flows are gone");
    for path in flows {
        let came = came(&path);
        let golden = path.with_extension("out");
        if std::env::var_os("BLESS").is_some() {
            fs::write(&golden, came).unwrap();
        } else if fs::read_to_string(&golden).unwrap_or_default() != came {
            wrong.push(format!("--- {}\n{came}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Everything that a run of the flow leaves behind, as text.
fn came(path: &Path) -> String {
    let stage = Stage::new(&[]);
    for entry in fs::read_dir(folder().join("data")).unwrap() {
        let file = entry.unwrap();
        let name = format!("data/{}", file.file_name().to_str().unwrap());
        stage.put(&name, &fs::read_to_string(file.path()).unwrap());
    }
    stage.put("flow.yaml", &fs::read_to_string(path).unwrap());
    let run_id = RunId::new("r1").unwrap();
    let context = ReadContext {
        vars: [].into(),
        shared_vars: [].into(),
        env: [].into(),
        secrets: Default::default(),
        run_id: run_id.clone(),
        logical_date: clock().now(),
        views: "views".into(),
    };
    let plainly = |text: String| text.replace(&format!("{}/", stage.folder.path().display()), "");
    let flow = match flow::read(&stage.path("flow.yaml"), &context) {
        Ok(flow) => std::sync::Arc::new(flow),
        Err(problems) => {
            return problems.iter().map(|problem| plainly(format!("{problem}\n"))).collect();
        }
    };
    let ended = runtime().block_on(run::run(&flow, clock(), run_id, &|_| ()));
    let record = serde_json::to_value(&ended.record).unwrap();
    books::close(&record);
    let mut text = format!("{}\n", record["status"].as_str().unwrap());
    if let Some(error) = ended.error {
        let _ = writeln!(text, "{}", plainly(error.to_string()));
    }
    if let Some(filter) = record.pointer("/source/filter") {
        let count = |name: &str| filter[name].as_u64().unwrap();
        let [filtered, rows, files] = ["rows_filtered", "rows_skipped", "files_skipped"].map(count);
        let _ = writeln!(
            text,
            "source: filtered {filtered}; skipped {files} files, {rows} rows of others"
        );
    }
    counts(&mut text, &record, &["read", "filtered", "rejected", "dropped", "quarantined", "main"]);
    rules(&mut text, &record, &plainly);
    for to in record["destinations"].as_array().unwrap() {
        let name = to["name"].as_str().unwrap();
        let _ = write!(text, "destination {name}: {}; ", to["outcome"].as_str().unwrap());
        counts(
            &mut text,
            to,
            &["filtered", "rejected", "dropped", "quarantined", "final", "written"],
        );
        rules(&mut text, to, &plainly);
        rows(&mut text, Path::new(to["path"].as_str().unwrap()));
    }
    if let Some(quarantine) = record.get("quarantine") {
        let _ = writeln!(text, "quarantine: {} rows", quarantine["rows"]);
        let mut shown = String::new();
        rows(&mut shown, Path::new(quarantine["path"].as_str().unwrap()));
        text.push_str(&plainly(shown));
    }
    text
}

fn counts(text: &mut String, of: &Value, names: &[&str]) {
    let shown = names
        .iter()
        .map(|name| (name, of[format!("rows_{name}")].as_u64().unwrap()))
        .filter(|(name, rows)| *rows > 0 || ["read", "main", "final"].contains(*name));
    let shown: Vec<_> = shown.map(|(name, rows)| format!("{name} {rows}")).collect();
    let _ = writeln!(text, "{}", shown.join(", "));
}

fn rules(text: &mut String, of: &Value, plainly: &dyn Fn(String) -> String) {
    for rule in of["rules"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "rule {} [{}]",
            rule["name"].as_str().unwrap(),
            rule["severity"].as_str().unwrap()
        );
        for reason in rule["reasons"].as_array().unwrap() {
            let count = |name: &str| reason[name].as_u64().unwrap();
            let _ = write!(
                text,
                "  {}: evaluated {}, passed {}, failed {}, null {}, skipped {}",
                reason["code"].as_str().unwrap(),
                count("evaluated"),
                count("passed"),
                count("failed"),
                count("null"),
                count("skipped")
            );
            for finding in reason["table_findings"].as_array().into_iter().flatten() {
                let _ = write!(text, "; measured {}, allowed {}", finding[0], finding[1]);
            }
            let examples = reason["examples"].as_array().into_iter().flatten();
            let examples: Vec<_> = examples
                .map(|one| plainly(format!("{}:{}", one[0].as_str().unwrap(), one[1])))
                .collect();
            if !examples.is_empty() {
                let _ = write!(text, "; such as {}", examples.join(", "));
            }
            text.push('\n');
        }
    }
}

fn rows(text: &mut String, folder: &Path) {
    for row in readback::rows(folder) {
        let _ = writeln!(text, "  {row}");
    }
}
