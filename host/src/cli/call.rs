//! What can be called: the arguments as types, and the help text.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use clap::Parser;
use clap::Subcommand;

use crate::flow;
use crate::flow::Flow;
use crate::flow::ReadContext;
use crate::flow::SECRET_VARIABLE;
use crate::flow::Secrets;
use crate::problem::Problem;
use crate::run::World;
use crate::table::RunId;

/// Data loads whose custom code cannot hurt anyone.
///
/// Exit codes: 0 done; 1 a rule said no (destinations are untouched, the quarantine is written); 2 the flow or its data is
/// wrong; 3 the world failed (storage, a conflict, a limit); 4 the outcome is unknown.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 110)]
pub(super) struct Call {
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run flows: read, transform, judge, write, record
    Run(RunCall),
    /// Check a flow without touching data: the file, its names and options, its components
    Check(FlowCall),
    /// Show what a run would do now: files, columns, what enters the sandbox, limits, targets
    Explain(FlowCall),
    /// List a flow's runs, or show what one run did
    Runs(RunsCall),
    /// Print the JSON Schema of flow files, for editors
    Schema,
}

#[derive(Debug, Args)]
pub(super) struct FlowCall {
    #[command(flatten)]
    pub(super) flow: FlowFile,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunCall {
    /// The flow files, JSON or YAML, run one after the other until one of them fails; they share views
    #[arg(value_name = "FLOW", required = true)]
    pub(super) paths: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) values: Values,
    /// Print the first rows after each stage, and write nothing
    #[arg(long, value_name = "ROWS", conflicts_with_all = ["json", "quiet", "run_id"])]
    pub(super) preview: Option<usize>,
    /// The run's id; a retry with the id of an earlier run writes nothing twice [default: a fresh one]
    #[arg(long, value_parser = run_id)]
    pub(super) run_id: Option<RunId>,
    /// Print the run's evidence as JSON, and nothing else
    #[arg(long)]
    pub(super) json: bool,
    /// Print nothing but errors
    #[arg(long, short, conflicts_with = "json")]
    pub(super) quiet: bool,
}

#[derive(Debug, Args)]
pub(super) struct RunsCall {
    #[command(flatten)]
    pub(super) flow: FlowFile,
    /// The run to show, or `latest`; all runs are listed without it
    pub(super) run_id: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Args)]
pub(super) struct FlowFile {
    /// The flow file, JSON or YAML
    #[arg(value_name = "FLOW")]
    pub(super) path: PathBuf,
    #[command(flatten)]
    pub(super) values: Values,
}

/// What a flow's texts may name.
#[derive(Debug, Args)]
pub(super) struct Values {
    /// A variable of the flow; wins over the file's and over the flow's own default
    #[arg(long = "var", value_name = "NAME=VALUE", value_parser = variable)]
    vars: Vec<(String, String)>,
    /// A file of variables, JSON or YAML, which flows may share; wins over a flow's own defaults
    #[arg(long, value_name = "FILE")]
    vars_file: Option<PathBuf>,
    /// An environment variable that the flow may read, as `{{ env.NAME }}`
    #[arg(long, value_name = "NAME")]
    env: Vec<String>,
    /// A folder of secrets, `scope/key`, one file each; wins over variables such as `WASMHOST_SECRET_SCOPE_KEY`
    #[arg(long, value_name = "DIR")]
    secrets: Option<PathBuf>,
}

impl FlowFile {
    /// Reads the flow as a run of this id would see it.
    ///
    /// Views are there only while `wasmhost run` runs, and in no other command.
    pub(super) fn read(&self, world: World, run_id: &RunId) -> Result<Arc<Flow>, Vec<Problem>> {
        read(&self.path, &self.values, world, run_id, Path::new("views"))
    }
}

/// Reads a flow as a run of this id would see it, with views in that folder.
pub(super) fn read(
    path: &Path,
    values: &Values,
    world: World,
    run_id: &RunId,
    views: &Path,
) -> Result<Arc<Flow>, Vec<Problem>> {
    let shared_vars = match &values.vars_file {
        Some(file) => flow::read_vars(file)?,
        None => BTreeMap::new(),
    };
    let env = values.env.iter().map(|name| (name.clone(), std::env::var(name).ok()));
    let is_secret = |(name, _): &(String, String)| name.starts_with(SECRET_VARIABLE);
    // Those that are no UTF-8 are nobody's names.
    let text = |(name, value): (OsString, OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    let variables = std::env::vars_os().filter_map(text).filter(is_secret).collect();
    let context = ReadContext {
        vars: values.vars.iter().cloned().collect(),
        shared_vars,
        env: env.collect(),
        secrets: Secrets { variables, folder: values.secrets.clone() },
        run_id: run_id.clone(),
        logical_date: world.now(),
        views: views.to_owned(),
    };
    flow::read(path, &context).map(Arc::new)
}

fn run_id(text: &str) -> Result<RunId, String> {
    RunId::new(text)
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}
