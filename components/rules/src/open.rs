//! From the configuration and the inputs' columns to what is judged, with all mistakes in one report.

use crate::column::{Column, Fault, Kernel, Mistake};
use crate::config::{Check, Config, Entry};
use crate::freshness::Freshness;
use crate::keys::Format;
use crate::range::{Bounds, Ends};
use crate::reference::{KeyColumns, Source};
use crate::{Judged, Rules, Test, accepted, length, pattern, range, truth};
use arrow_schema::DataType;
use wasmhost_guest::{Accept, Checks, Context, Diagnostic, Failure, Inputs, Reason};

/// # Errors
/// `bad-config` with all mistakes where the configuration has any, `bad-schema` where only inputs or columns are missing or
/// have types that do not go together.
pub(crate) fn open(
    config: Config,
    inputs: &Inputs,
    context: &Context,
) -> Result<(Rules, Checks), Failure> {
    if config.checks.is_empty() {
        return Err(Failure::bad_config("/checks", "checks", "give at least one check"));
    }
    let mut opening = Opening {
        inputs,
        seed: context.seed,
        wanted: vec![Vec::new(); inputs.all().len()],
        checks: Checks::new(),
        sources: Vec::new(),
    };
    let (mut judged, mut mistakes) = (Vec::<Judged>::new(), Vec::new());
    let mut codes: Vec<&str> = Vec::new();
    for (at, entry) in config.checks.iter().enumerate() {
        let Entry { code, message, on_null, .. } = entry;
        let mut found = Vec::new();
        if let Some(earlier) = codes.iter().position(|known| known == code) {
            let message = format!("the code `{code}` is already that of check {earlier}");
            found.push(Mistake::new("code", "/code", message));
        }
        codes.push(code);
        match opening.test(entry) {
            Ok(test) => {
                judged.push(Judged { code: code.clone(), on_null: (*on_null).into(), test })
            }
            Err(more) => found.extend(more),
        }
        mistakes.extend(found.into_iter().map(|mistake| placed(at, entry, mistake)));
        opening.declare(Reason::new(code, columns(entry), message));
    }
    if !mistakes.is_empty() {
        return Err(failure(mistakes));
    }
    let Opening { checks, sources, .. } = opening;
    let is_whole = judged.iter().any(|judged| matches!(judged.test, Test::Freshness(..)));
    let checks = if is_whole { checks.whole_input() } else { checks };
    Ok((Rules { judged, sources, now_ns: context.logical_time_ns, is_concluded: false }, checks))
}

/// What has been wanted and declared so far.
struct Opening<'a> {
    inputs: &'a Inputs,
    seed: u64,
    /// For each input the wanted columns, by their position in its schema: the columns of its batches.
    wanted: Vec<Vec<usize>>,
    checks: Checks,
    sources: Vec<Source>,
}

impl<'a> Opening<'a> {
    fn declare(&mut self, reason: Reason) {
        self.checks = std::mem::take(&mut self.checks).reason(reason);
    }

    fn test(&mut self, entry: &Entry) -> Result<Test, Vec<Mistake>> {
        match &entry.check {
            Check::NotNull {} => self.column(entry).map(|(at, _)| Test::NotNull(at)),
            Check::AcceptedValues { values } => {
                self.kernel(entry, |column| accepted::kernel(column, values))
            }
            Check::Range { min, max, exclusive } => {
                let ends = if *exclusive { Ends::Outside } else { Ends::Inside };
                let bounds = Bounds { min: min.as_ref(), max: max.as_ref(), ends };
                self.kernel(entry, |column| range::kernel(column, bounds))
            }
            Check::Pattern { pattern } => {
                self.kernel(entry, |column| pattern::kernel(column, pattern))
            }
            Check::Length { min, max } => {
                self.kernel(entry, |column| length::kernel(column, *min, *max))
            }
            Check::True {} => self.kernel(entry, truth::kernel),
            Check::Freshness { max_age_ms } => {
                let (at, column) = self.column(entry)?;
                Ok(Test::Freshness(at, Freshness::new(column, *max_age_ms)?))
            }
            Check::Reference { columns, source, source_columns } => {
                self.reference(entry, columns, source, source_columns)
            }
        }
    }

    fn kernel(
        &mut self,
        entry: &Entry,
        kernel: impl FnOnce(Column<'_>) -> Result<Kernel, Vec<Mistake>>,
    ) -> Result<Test, Vec<Mistake>> {
        let (at, column) = self.column(entry)?;
        Ok(Test::Column(at, kernel(column)?))
    }

    /// The one column that an entry is about, and its position in the batches.
    fn column<'e>(&mut self, entry: &'e Entry) -> Result<(usize, Column<'e>), Vec<Mistake>>
    where
        'a: 'e,
    {
        let Some(name) = &entry.column else {
            return Err(vec![Mistake::new("column", "", "name the `column` that is judged")]);
        };
        match self.want(0, name) {
            Ok((at, data_type)) => Ok((at, Column { name, data_type })),
            Err(missing) => Err(vec![Mistake::of_schema("/column", missing)]),
        }
    }

    fn reference(
        &mut self,
        entry: &Entry,
        columns: &[String],
        source: &str,
        source_columns: &[String],
    ) -> Result<Test, Vec<Mistake>> {
        let mut mistakes = Vec::new();
        if entry.column.is_some() {
            let message = "`reference` names its `columns` itself; leave `column` out";
            mistakes.push(Mistake::new("column", "/column", message));
        }
        if columns.is_empty() || columns.len() != source_columns.len() {
            let (here, there) = (columns.len(), source_columns.len());
            let message = format!(
                "name as many `columns` as `source_columns`, at least one: {here} and {there} are given"
            );
            mistakes.push(Mistake::new("columns", "/check/columns", message));
        }
        let others = || self.inputs.all().iter().enumerate().skip(1);
        let Some((input, _)) = others().find(|(_, input)| input.name == source) else {
            let names: Vec<&str> = others().map(|(_, input)| input.name.as_str()).collect();
            let there_are = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            let message = format!("no other input is called `{source}`; there are: {there_are}");
            mistakes.push(Mistake::new("source", "/check/source", message));
            return Err(mistakes);
        };
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for (at, (name, source_name)) in columns.iter().zip(source_columns).enumerate() {
            match self.pair(at, name, input, source_name) {
                Ok((column, source_column, format)) => {
                    here.push((column, format));
                    there.push((source_column, format));
                }
                Err(more) => mistakes.extend(more),
            }
        }
        if !mistakes.is_empty() {
            return Err(mistakes);
        }
        Ok(Test::Reference(KeyColumns(here), self.source(input, KeyColumns(there))))
    }

    /// A column's position here and there, and in which format they are compared.
    fn pair(
        &mut self,
        at: usize,
        name: &str,
        input: usize,
        source_name: &str,
    ) -> Result<(usize, usize, Format), Vec<Mistake>> {
        let place = format!("/check/columns/{at}");
        let source_place = format!("/check/source_columns/{at}");
        let here = self.want(0, name).map_err(|missing| Mistake::of_schema(&place, missing));
        let there = self
            .want(input, source_name)
            .map_err(|missing| Mistake::of_schema(&source_place, missing));
        let ((column, data_type), (source_column, source_type)) = match (here, there) {
            (Ok(here), Ok(there)) => (here, there),
            (here, there) => return Err(here.err().into_iter().chain(there.err()).collect()),
        };
        if Format::of(data_type).is_none() {
            let takes = "text, binary, numbers, booleans, dates and timestamps";
            return Err(vec![Column { name, data_type }.refuse_at(place, "reference", takes)]);
        }
        let Some(format) = Format::common(data_type, source_type) else {
            let message = format!(
                "column `{name}` of type {data_type} cannot be looked up in column `{source_name}` of type {source_type} of \
                 input `{}`: only widths of whole numbers may differ",
                self.inputs.all()[input].name
            );
            return Err(vec![Mistake::of_schema(
                place,
                Diagnostic::new("wrong-type", message).at_column(name),
            )]);
        };
        Ok((column, source_column, format))
    }

    /// The source with these keys, by position; checks that ask for the same ones share it.
    fn source(&mut self, input: usize, columns: KeyColumns) -> usize {
        let is_same = |source: &Source| source.input == input && source.columns == columns;
        self.sources.iter().position(is_same).unwrap_or_else(|| {
            self.sources.push(Source::new(input, columns, self.seed));
            self.sources.len() - 1
        })
    }

    /// Wants a column: its position in the batches of its input, and its type.
    fn want(&mut self, input: usize, name: &str) -> Result<(usize, &'a DataType), Diagnostic> {
        let position = self.inputs.all()[input].position(name)?;
        let wanted = &mut self.wanted[input];
        let at = wanted.iter().position(|known| *known == position).unwrap_or_else(|| {
            wanted.push(position);
            self.checks = std::mem::take(&mut self.checks).want_from(input, name, Accept::Any);
            wanted.len() - 1
        });
        Ok((at, self.inputs.all()[input].schema.field(position).data_type()))
    }
}

/// The columns that an entry is about.
fn columns(entry: &Entry) -> &[String] {
    match &entry.check {
        Check::Reference { columns, .. } => columns,
        _ => entry.column.as_slice(),
    }
}

fn placed(at: usize, entry: &Entry, mut mistake: Mistake) -> Mistake {
    let Mistake { at: below, diagnostic, .. } = &mut mistake;
    diagnostic.path = Some(format!("/checks/{at}{below}"));
    diagnostic.column = diagnostic.column.take().or_else(|| entry.column.clone());
    mistake
}

fn failure(mistakes: Vec<Mistake>) -> Failure {
    let is_config = mistakes.iter().any(|mistake| mistake.fault == Fault::Config);
    let diagnostics = mistakes.into_iter().map(|mistake| mistake.diagnostic).collect();
    if is_config { Failure::BadConfig(diagnostics) } else { Failure::BadSchema(diagnostics) }
}
