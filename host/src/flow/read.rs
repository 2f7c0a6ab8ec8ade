//! From a file to a flow, or to all of its problems.

use std::cell::Cell;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;
use std::path::PathBuf;

use chrono::DateTime;
use chrono::Utc;
use sha2::Digest;
use sha2::Sha256;

use super::Flow;
use super::blocks::FLOW;
use super::check;
use super::collected;
use super::components;
use super::connection;
use super::destination;
use super::loading::Completeness;
use super::node;
use super::node::FILE_BYTES_MAX;
use super::node::Node;
use super::node::Shape;
use super::open::Fields;
use super::places::Folder;
use super::report::Report;
use super::report::Spot;
use super::reserved;
use super::rules;
use super::scope::Scope;
use super::sensitive::Secrets;
use super::sources;
use super::sources::Sources;
use super::steps;
use super::template::Rendered;
use super::template::Templates;
use super::vars;
use crate::name::ComponentName;
use crate::name::FlowName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::table::RunId;

/// What a flow's texts may depend on beside the flow itself.
#[derive(Debug, Clone)]
pub struct ReadContext {
    /// Variables given on the command line; they win over the flow's `vars`.
    pub vars: BTreeMap<String, String>,
    /// Variables of a file that flows share; `vars` win over them. Those that the flow does not have are passed over.
    pub shared_vars: BTreeMap<String, String>,
    /// The environment variables that the flow may read, with the values of those that are set.
    pub env: BTreeMap<String, Option<String>>,
    /// `{{ secret:scope/key }}`.
    pub secrets: Secrets,
    /// `{{ run_id }}`.
    pub run_id: RunId,
    /// `{{ logical_date }}`: its UTC day, such as `2026-08-01`.
    pub logical_date: DateTime<Utc>,
    /// The folder of the views of this process; it need not be there.
    pub views: PathBuf,
}

/// Reads a flow file. Nothing else is opened; component files are only looked for.
///
/// # Errors
/// Every problem of the flow, in file order; those of the command line come last.
pub fn read(path: &Path, context: &ReadContext) -> Result<Flow, Vec<Problem>> {
    let bytes = bytes(path).map_err(|problem| vec![*problem])?;
    read_bytes(path, &bytes, context)
}

/// Reads what a flow file holds.
pub(super) fn read_bytes(
    path: &Path,
    bytes: &[u8],
    context: &ReadContext,
) -> Result<Flow, Vec<Problem>> {
    let report = Report::new(path.display().to_string());
    let mut repeated = Vec::new();
    let mut tree = match text(path, bytes).and_then(|text| node::parse(path, text, &mut repeated)) {
        Ok(tree) => tree,
        Err(problem) => return Err(vec![*problem]),
    };
    repeated.into_iter().for_each(|problem| report.take(problem));
    reserved::judge(&report, &tree, "");
    let mut templates = Templates::new(
        context.run_id.as_str(),
        &context.logical_date.format("%Y-%m-%d").to_string(),
        context.env.clone(),
        context.secrets.clone(),
    );
    let vars = vars::declare(&report, &tree, context, &mut templates);
    let collected = collected::declared(&tree);
    collected::judge_names(&report, &collected, |name| vars::is_known(&tree, context, name));
    templates.collect(&collected);
    render(&report, &mut tree, &mut templates);
    vars::check_given(&report, &tree, context, &templates);
    // What a shared file has for other flows is none of this one's, and may be secret.
    let vars: BTreeMap<_, _> = vars
        .into_iter()
        .filter(|(name, _)| vars::is_known(&tree, context, name) || templates.uses(name))
        .collect();
    let flow = build(&report, path, &tree, &context.views).map(|flow| Flow {
        vars,
        digest: format!("{:x}", Sha256::digest(bytes)),
        ..flow
    });
    match (flow, report.finish()) {
        (Some(flow), problems) if problems.is_empty() => Ok(flow),
        (_, problems) => {
            debug_assert!(!problems.is_empty(), "a flow was given up without a reason");
            Err(problems)
        }
    }
}

/// Reads variables off a file, JSON or YAML: a map of names to text, numbers, true or false.
///
/// # Errors
/// Every problem of the file.
pub fn read_vars(path: &Path) -> Result<BTreeMap<String, String>, Vec<Problem>> {
    let one = |problem: Box<Problem>| vec![*problem];
    let bytes = bytes(path).map_err(one)?;
    let mut problems = Vec::new();
    let tree =
        text(path, &bytes).and_then(|text| node::parse(path, text, &mut problems)).map_err(one)?;
    let report = Report::new(path.display().to_string());
    problems.into_iter().for_each(|problem| report.take(problem));
    let values = vars::of_file(&report, &tree);
    let problems = report.finish();
    if problems.is_empty() { Ok(values) } else { Err(problems) }
}

fn bytes(path: &Path) -> Result<Vec<u8>, Box<Problem>> {
    let at = || Place::field(path.display().to_string(), "");
    let failed = |error: io::Error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound => "there is no such file".to_owned(),
            _ => format!("the file cannot be read: {error}"),
        };
        Box::new(Problem::new(Code::NotFound, at(), what))
    };
    if path.is_dir() {
        return Err(Box::new(Problem::new(
            Code::NotFound,
            at(),
            "this is a folder, not a flow file",
        )));
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    if bytes.len() > FILE_BYTES_MAX {
        let what = format!("the file has more than {FILE_BYTES_MAX} bytes; that is no flow");
        return Err(Box::new(Problem::new(Code::WrongValue, at(), what)));
    }
    Ok(bytes)
}

fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, Box<Problem>> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line =
            bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        let at = Place { line: Some(line), ..Place::field(path.display().to_string(), "") };
        Box::new(Problem::new(Code::Syntax, at, "the file is not UTF-8 text"))
    })?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

/// Renders all texts but those of `vars`, which were rendered before.
fn render(report: &Report, tree: &mut Node, templates: &mut Templates) {
    let Shape::Map(entries) = &mut tree.shape else { return };
    for entry in entries.iter_mut().filter(|entry| entry.key != "vars") {
        let path = Spot::default().key(&entry.key, entry.at).path;
        entry.value.each_text(&path, &mut |text, at, path| match templates.render(text) {
            Ok(rendered) => rendered.map(|rendered| match rendered {
                Rendered::Text(text) => Shape::Text(text),
                Rendered::Secret(secret) => Shape::Secret(secret),
                Rendered::Collected(text) => Shape::Collected(text),
            }),
            Err(refusal) => {
                refusal.tell(report, &Spot { at, path: path.to_owned() });
                Some(Shape::Refused)
            }
        });
    }
}

/// The flow, where each of its parts can be read. Vars and digest are the caller's to add.
fn build(report: &Report, path: &Path, tree: &Node, views: &Path) -> Option<Flow> {
    let folder = Folder::of(path, views);
    let fields = Fields::open(report, &FLOW, tree, &Spot { at: tree.at, path: String::new() })?;
    if let Some(vars) = fields.get("vars").filter(|vars| !matches!(vars.node.shape, Shape::Map(_)))
    {
        report.add(
            Code::WrongType,
            &vars.spot,
            format!("`vars` is a map; this is {}", vars.node.kind()),
        );
    }
    let name = fields.text("name").and_then(|name| {
        FlowName::new(name.value)
            .map_err(|what| report.add(Code::WrongValue, &name.spot, what))
            .ok()
    });
    let connections = connection::connections(report, &fields, &folder);
    let components = components::components(report, &fields, &folder);
    let Sources { main: source, others, names } =
        sources::sources(report, &fields, &connections, &folder);
    let scope = Scope {
        report,
        components: &components,
        sources: names,
        has_unread: Cell::new(false),
        collected: RefCell::default(),
    };
    let query = source.as_ref().and_then(|source| source.query.clone());
    let transforms: Vec<_> = query.into_iter().chain(steps::steps(&scope, &fields)).collect();
    let rules = rules::rules(&scope, &fields);
    let max_quarantine_fraction = fields.fraction("max_quarantine_fraction");
    let quarantine = destination::quarantine(&scope, &fields, &connections, &folder);
    let completeness = source.as_ref().map(Completeness::of);
    let destinations =
        destination::destinations(&scope, &fields, &connections, &folder, completeness);
    let limits = check::limits(report, fields.get("limits"));
    let state = match fields.text("state") {
        Some(state) => folder.resolve(report, state).map(|state| state.value),
        None => Some(folder.join(".wasmhost")),
    };
    check::destination_names(report, &destinations);
    check::rule_names(report, &rules);
    destinations.iter().for_each(|written| check::rule_names(report, &written.destination.rules));
    if !scope.has_unread.get() {
        let written = destinations.iter().map(|written| &written.destination);
        check::sources_named(report, &others, &transforms, &rules, written);
    }
    let all: Vec<_> = destinations.iter().chain(&quarantine).collect();
    check::destinations_apart(report, &all);
    if let Some(state) = &state {
        check::state_apart(report, state, &fields.key_of("state"), &all);
    }
    source.iter().chain(&others).for_each(|source| check::source_apart(report, source, &all));
    Some(Flow {
        name: name?,
        file: path.to_path_buf(),
        digest: String::new(),
        vars: BTreeMap::new(),
        components: components
            .into_iter()
            .map(|(name, source)| Some((ComponentName::new(name).ok()?, source?)))
            .collect::<Option<_>>()?,
        source: source?,
        other_sources: others,
        transforms,
        rules,
        max_quarantine_fraction: max_quarantine_fraction.map(|fraction| fraction.value),
        quarantine: quarantine.map(|written| written.destination),
        destinations: destinations.into_iter().map(|written| written.destination).collect(),
        limits,
        state: state?,
    })
}
