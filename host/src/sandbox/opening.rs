//! `describe` and `open`: the answers, checked once against the input, so that nothing below checks them again.

use std::collections::HashSet;
use std::sync::Arc;

use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use crate::component::ColumnSource;
use crate::component::Descriptor;
use crate::component::Limits;
use crate::component::OpenedRule;
use crate::component::OpenedTransform;
use crate::component::Reason;
use crate::component::RowEffect;
use crate::component::Statefulness;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::escape;
use crate::problem::is_safe;
use crate::sandbox::bindings::rule::exports::wasmhost::plugin::rule as wire_rule;
use crate::sandbox::bindings::transform::exports::wasmhost::plugin::transform as wire_transform;
use crate::sandbox::bindings::types;
use crate::sandbox::error::Breach;
use crate::sandbox::exchange::decode_schema;
use crate::table::RunId;

/// The longest texts of a component that the host keeps, in bytes.
const CODE_BYTES_MAX: usize = 64;
const MESSAGE_BYTES_MAX: usize = 512;
const DESCRIPTION_BYTES_MAX: usize = 64 * 1024;
const NAME_BYTES_MAX: usize = 1024;

/// Columns that a schema or a layout may have; of a schema, nested ones count too.
pub(super) const COLUMNS_MAX: usize = 2_000;

/// All that a guest may know of its surroundings.
#[derive(Debug, Clone)]
pub struct Context {
    /// The run.
    pub run_id: RunId,
    /// The flow.
    pub flow: String,
    /// The destination; none on the main chain.
    pub destination: Option<String>,
    /// The run's logical time, nanoseconds since the Unix epoch, UTC.
    pub logical_time_ns: u64,
    /// For components that want randomness; the same for a repeated run.
    pub seed: u64,
}

impl Context {
    /// As the contract spells it. A run works on one split, in its first attempt.
    pub(super) fn wire(&self) -> types::Context {
        types::Context {
            run_id: self.run_id.to_string(),
            flow: self.flow.clone(),
            destination: self.destination.clone(),
            split: "0".to_owned(),
            attempt: 0,
            logical_time_ns: self.logical_time_ns,
            seed: self.seed,
        }
    }
}

/// The answer to `describe`.
pub(super) fn descriptor(raw: types::Descriptor) -> Result<Descriptor, Breach> {
    let types::Descriptor { name, version, summary, config_schema, deterministic } = raw;
    let longest = [&name, &version, &summary, &config_schema].map(String::len).into_iter().max();
    if longest > Some(DESCRIPTION_BYTES_MAX) {
        return Err(Breach::Protocol(format!(
            "a description of more than {DESCRIPTION_BYTES_MAX} bytes"
        )));
    }
    let config_schema = serde_json::from_str(&config_schema).map_err(|error| {
        Breach::Protocol(format!("a `config-schema` that is not JSON: {error}"))
    })?;
    Ok(Descriptor {
        name: escape(&name),
        version: escape(&version),
        summary: escape(&summary),
        config_schema,
        deterministic,
    })
}

/// A transform's answer to `open`.
pub(super) fn transform(
    raw: wire_transform::Opened,
    inputs: &[SchemaRef],
    limits: &Limits,
) -> Result<OpenedTransform, Breach> {
    let input = &inputs[0];
    let wire_transform::Opened {
        row_effect,
        statefulness,
        reasons,
        computed_schema,
        layout,
        projections,
        max_rows,
    } = raw;
    let computed = decode_schema(&computed_schema)?;
    let (layout, output) = lay_out(layout, input, &computed)?;
    let (projection, others) = all_projections(projections, inputs)?;
    let row_effect = match row_effect {
        wire_transform::RowEffect::OneToOne => RowEffect::OneToOne,
        wire_transform::RowEffect::Filter => RowEffect::Filter,
        wire_transform::RowEffect::Many => RowEffect::Many,
    };
    Ok(OpenedTransform {
        row_effect,
        statefulness: spread(statefulness, input)?,
        reasons: declared(reasons, limits)?,
        computed,
        layout,
        output,
        projection,
        others,
        max_rows: rows_max(max_rows)?,
    })
}

/// A rule's answer to `open`.
pub(super) fn rule(
    raw: wire_rule::Opened,
    inputs: &[SchemaRef],
    limits: &Limits,
) -> Result<OpenedRule, Breach> {
    let wire_rule::Opened { statefulness, reasons, projections, max_rows } = raw;
    let reasons = declared(reasons, limits)?;
    if reasons.is_empty() {
        return Err(Breach::protocol(
            "a rule that declares no reason, so that it cannot judge anything",
        ));
    }
    let (projection, others) = all_projections(projections, inputs)?;
    Ok(OpenedRule {
        statefulness: spread(statefulness, &inputs[0])?,
        reasons,
        projection,
        others,
        max_rows: rows_max(max_rows)?,
    })
}

/// A failure that a guest reports, in our words.
pub(super) fn failure(raw: types::Failure) -> Breach {
    let refusals = |code, diagnostics: Vec<types::Diagnostic>| {
        let diagnostics = diagnostics.into_iter().take(100);
        Breach::Refused(diagnostics.map(|diagnostic| problem(code, &diagnostic)).collect())
    };
    match raw {
        types::Failure::BadConfig(diagnostics) => refusals(Code::WrongValue, diagnostics),
        types::Failure::BadSchema(diagnostics) => refusals(Code::Schema, diagnostics),
        types::Failure::BadBatch(diagnostic) | types::Failure::Internal(diagnostic) => {
            let what = sentence(&diagnostic);
            match diagnostic.row {
                Some(row) => Breach::FailedAt { what, row: row as usize },
                None => Breach::Failed(what),
            }
        }
    }
}

fn problem(code: Code, diagnostic: &types::Diagnostic) -> Problem {
    let field = diagnostic.path.as_deref().map(escape).unwrap_or_default();
    Problem::new(code, Place::field("", format!("config{field}")), sentence(diagnostic))
}

fn sentence(diagnostic: &types::Diagnostic) -> String {
    let types::Diagnostic { code, message, path: _, column, row: _ } = diagnostic;
    let column = column
        .as_deref()
        .map(|column| format!(", column `{}`", escape(column)))
        .unwrap_or_default();
    format!("{} [{}{column}]", escape(message), escape(code))
}

fn lay_out(
    layout: Vec<(String, wire_transform::ColumnSource)>,
    input: &SchemaRef,
    computed: &SchemaRef,
) -> Result<(Vec<ColumnSource>, SchemaRef), Breach> {
    if layout.len() > COLUMNS_MAX {
        return Err(Breach::Protocol(format!(
            "a layout of {} columns; {COLUMNS_MAX} are allowed",
            layout.len()
        )));
    }
    let mut names = HashSet::new();
    let mut fields = Vec::with_capacity(layout.len());
    let mut sources = Vec::with_capacity(layout.len());
    for (name, source) in layout {
        check_name(&name)?;
        if !names.insert(name.clone()) {
            return Err(Breach::Protocol(format!("a layout that names `{}` twice", escape(&name))));
        }
        let (schema, position, source) = match source {
            wire_transform::ColumnSource::Input(at) => {
                (input, at as usize, ColumnSource::Input(at as usize))
            }
            wire_transform::ColumnSource::Computed(at) => {
                (computed, at as usize, ColumnSource::Computed(at as usize))
            }
        };
        let Some(field) = schema.fields().get(position) else {
            let what = format!(
                "a layout that takes `{}` from column {position} of {}",
                escape(&name),
                schema.fields().len()
            );
            return Err(Breach::Protocol(what));
        };
        fields.push(Field::clone(field).with_name(name));
        sources.push(source);
    }
    if fields.is_empty() {
        return Err(Breach::protocol("a layout without a column"));
    }
    Ok((sources, Arc::new(Schema::new(fields))))
}

/// A column's name that can be shown and kept.
pub(super) fn check_name(name: &str) -> Result<(), Breach> {
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.chars().all(is_safe) {
        let what = format!(
            "a column named `{}`; names have 1 to {NAME_BYTES_MAX} bytes and no control characters",
            escape(name)
        );
        return Err(Breach::Protocol(what));
    }
    Ok(())
}

fn spread(raw: types::Statefulness, input: &SchemaRef) -> Result<Statefulness, Breach> {
    match raw {
        types::Statefulness::Stateless => Ok(Statefulness::Stateless),
        types::Statefulness::WholeInput => Ok(Statefulness::WholeInput),
        types::Statefulness::Keyed(columns) => {
            positions(columns, input, "keys").map(Statefulness::Keyed)
        }
    }
}

fn declared(raw: Vec<types::Reason>, limits: &Limits) -> Result<Vec<Reason>, Breach> {
    if raw.len() as u64 > limits.reasons {
        let asked = Some(raw.len().to_string());
        return Err(Breach::Limit { limit: "reasons", allowed: limits.reasons.to_string(), asked });
    }
    let mut codes = HashSet::new();
    raw.into_iter()
        .map(|types::Reason { code, columns, message }| {
            if code.is_empty() || code.len() > CODE_BYTES_MAX || message.len() > MESSAGE_BYTES_MAX {
                let what = format!("a reason whose code is empty or over {CODE_BYTES_MAX} bytes, or whose text is over {MESSAGE_BYTES_MAX}");
                return Err(Breach::Protocol(what));
            }
            if !codes.insert(code.clone()) {
                return Err(Breach::Protocol(format!("two reasons with the code `{}`", escape(&code))));
            }
            let columns = columns.iter().map(|column| escape(column)).collect();
            Ok(Reason { code: escape(&code), columns, message: escape(&message) })
        })
        .collect()
}

/// The columns that a component is given: of the first input, and of each other one.
fn all_projections(
    raw: Vec<Vec<u32>>,
    inputs: &[SchemaRef],
) -> Result<(Vec<usize>, Vec<Vec<usize>>), Breach> {
    let (found, due) = (raw.len(), inputs.len());
    let each = raw.into_iter().zip(inputs);
    let mut all: Vec<_> = each
        .map(|(columns, input)| positions(columns, input, "projection"))
        .collect::<Result<_, _>>()?;
    if found != due || all.is_empty() {
        let due = if due == 1 { "one input".to_owned() } else { format!("{due} inputs") };
        return Err(Breach::Protocol(format!("{found} projections for {due}")));
    }
    let others = all.split_off(1);
    Ok((all.pop().unwrap_or_default(), others))
}

fn positions(columns: Vec<u32>, input: &SchemaRef, what: &str) -> Result<Vec<usize>, Breach> {
    let mut seen = HashSet::new();
    columns
        .into_iter()
        .map(|column| {
            let column = column as usize;
            if column >= input.fields().len() || !seen.insert(column) {
                let columns = input.fields().len();
                return Err(Breach::Protocol(format!(
                    "{what} with column {column} of {columns}, out of range or twice"
                )));
            }
            Ok(column)
        })
        .collect()
}

fn rows_max(raw: Option<u32>) -> Result<Option<usize>, Breach> {
    match raw {
        Some(0) => Err(Breach::protocol("a largest batch of no rows")),
        rows => Ok(rows.map(|rows| rows as usize)),
    }
}

/// Columns whose type has not been unpacked where data is read; a bug of ours if there is one.
pub(super) fn check_input(input: &Schema) -> Result<(), Breach> {
    let strange = |field: &&Arc<Field>| !crate::component::crosses(field.data_type());
    match input.fields().iter().find(strange) {
        Some(field) => Err(Breach::Load(format!(
            "column `{}` of type {} cannot enter a guest",
            field.name(),
            field.data_type()
        ))),
        None => Ok(()),
    }
}
