//! Whole flows, from the flow file to rows read back: what is at the destinations, in the evidence, on the streams, and the
//! exit code. Compiling a guest takes a second or two of a debug build, so a case asks as much as it can of one run.

mod admission;
mod books;
mod cases;
mod collected;
mod command;
mod database;
mod destinations;
mod example;
pub(crate) mod filters;
mod foreign;
mod golden;
mod hostile;
mod layout;
mod merges;
mod misdeeds;
mod page;
mod parts;
mod queries;
mod readback;
mod reading;
mod spilling;
mod stores;
mod tables;
mod verdicts;
mod views;

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Builder;
use tokio::runtime::Runtime;
use wasmhost::evidence::Folder;
use wasmhost::flow;
use wasmhost::flow::Flow;
use wasmhost::flow::ReadContext;
use wasmhost::name::FlowName;
use wasmhost::run;
use wasmhost::run::Ended;
use wasmhost::run::World;
use wasmhost::table::RunId;

use crate::guests;

/// A folder with a flow and its input, gone at the end of the test.
struct Stage {
    folder: TempDir,
    /// Environment variables of commands.
    env: Vec<(String, String)>,
}

/// A command's end.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Stage {
    /// Files by name. In `.yaml` and `.json` files `GUESTS` stands for the folder of the test guests.
    fn new(files: &[(&str, &str)]) -> Self {
        let stage = Self { folder: tempfile::tempdir().unwrap(), env: Vec::new() };
        files.iter().for_each(|(name, text)| stage.put(name, text));
        stage
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if name.ends_with(".yaml") || name.ends_with(".json") {
            fs::write(path, text.replace("GUESTS", &guests::folder().display().to_string()))
                .unwrap();
        } else {
            fs::write(path, text).unwrap();
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `wasmhost` with these arguments, in the folder.
    fn command(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wasmhost-under-test"));
        // Machine code is kept from test to test; a test that compiled everything anew would take ten times as long.
        command.env("XDG_CACHE_HOME", concat!(env!("CARGO_TARGET_TMPDIR"), "/cache"));
        command.envs(self.env.iter().cloned());
        let output = command.args(args).current_dir(self.folder.path()).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ran {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// `wasmhost run --json` with more arguments: exit code, evidence, what else was said. The books must close.
    fn run(&self, flow: &str, args: &[&str]) -> (i32, Value, String) {
        let ran = self.command(&[&["run", flow, "--json"], args].concat());
        let evidence: Value = serde_json::from_str(&ran.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", ran.stdout, ran.stderr));
        books::close(&evidence);
        // Earlier attempts of the same run id have records of their own.
        let flow = FlowName::new(evidence["flow"].as_str().unwrap()).unwrap();
        let run_id = RunId::new(evidence["run_id"].as_str().unwrap()).unwrap();
        let kept = Folder::of(&self.path(".wasmhost")).get(&flow, &run_id).unwrap();
        let kept = serde_json::to_value(kept).unwrap();
        assert_eq!(kept, evidence, "what is printed is what is kept");
        (ran.code, evidence, ran.stderr)
    }

    /// The run in this process, by a clock that stands still.
    fn run_here(&self, flow: &str, run_id: &str) -> Ended {
        let run_id = RunId::new(run_id).unwrap();
        let flow = self.read(flow, &run_id);
        let ended = runtime().block_on(run::run(&flow, clock(), run_id, &|_| ()));
        books::close(&serde_json::to_value(&ended.record).unwrap());
        ended
    }

    fn read(&self, flow: &str, run_id: &RunId) -> Arc<Flow> {
        let context = ReadContext {
            vars: [].into(),
            shared_vars: [].into(),
            env: [].into(),
            secrets: Default::default(),
            run_id: run_id.clone(),
            logical_date: clock().now(),
            views: "views".into(),
        };
        Arc::new(flow::read(&self.path(flow), &context).unwrap_or_else(|problems| {
            panic!("{}", problems.iter().map(|problem| format!("{problem}\n")).collect::<String>())
        }))
    }

    /// Every file below, those of runs and hidden ones among them.
    fn all_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(self.folder.path(), &mut |path| found.push(path.to_owned()));
        found
    }

    /// Every file below, by its path from the folder, without evidence of runs.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        walk(self.folder.path(), &mut |path| {
            found.push(path.strip_prefix(self.folder.path()).unwrap().display().to_string())
        });
        found.retain(|path| !path.starts_with(".wasmhost/runs"));
        found.sort();
        found
    }

    /// A destination's rows, in the order of its files.
    fn rows(&self, folder: &str) -> Vec<String> {
        readback::rows(&self.path(folder))
    }
}

/// A clock for tests.
fn clock() -> World {
    World::At("2026-08-01T12:00:00Z".parse().unwrap())
}

/// Threads like the command's.
fn runtime() -> Runtime {
    Builder::new_multi_thread().thread_stack_size(8 << 20).build().unwrap()
}

/// Every file and every empty folder below.
fn walk(folder: &Path, found: &mut impl FnMut(&Path)) {
    let entries: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    if entries.is_empty() {
        found(folder);
    }
    for path in entries {
        if path.is_dir() && !path.is_symlink() { walk(&path, found) } else { found(&path) }
    }
}

/// A CSV text of these columns and rows.
fn csv<const N: usize>(header: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows = rows.into_iter().map(|row| row.join(",") + "\n");
    header.join(",") + "\n" + &rows.collect::<String>()
}

/// `n` from 1, and `v` five times that; `v` of rows 3 and 17 is absent.
fn twenty() -> String {
    csv(
        ["n", "v"],
        (1..=20).map(|n| {
            let v = if [3, 17].contains(&n) { String::new() } else { (5 * n).to_string() };
            [n.to_string(), v]
        }),
    )
}
