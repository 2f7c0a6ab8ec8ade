//! What a transform's output looks like, said by name; positions are counted here and nowhere else.

use crate::bindings::transform_exports::{ColumnSource, Opened, RowEffect};
use crate::encode::{encode_schema, is_plain};
use crate::failure::{Diagnostic, Failure};
use crate::inputs::{Input, Inputs};
use crate::opening::{Opening, opening_methods};
use arrow_schema::{FieldRef, Schema, SchemaRef};
use std::sync::Arc;

/// A transform's answer to `open`: which columns it wants, which the host carries past it, which it computes.
///
/// The output's columns stand in the order in which they were kept and computed. Carried columns never enter the guest,
/// so carrying is free; wanting and computing is not. A column computed under a carried one's name takes its place.
#[derive(Clone, Debug)]
pub struct Layout {
    opening: Opening,
    row_effect: RowEffect,
    columns: Vec<Column>,
}

#[derive(Clone, Debug)]
enum Column {
    Keep { from: String, to: String },
    KeepAllExcept(Vec<String>),
    Compute(FieldRef),
}

/// A layout, held against the inputs.
#[derive(Debug)]
pub(crate) struct ResolvedLayout {
    pub(crate) opened: Opened,
    pub(crate) computed: SchemaRef,
    /// What each input's batches look like.
    pub(crate) schemas: Vec<SchemaRef>,
}

impl Layout {
    /// Each row of the input is one row of the output.
    #[must_use]
    pub fn one_to_one() -> Self {
        Self::new(RowEffect::OneToOne)
    }

    /// As [`Self::one_to_one`], but rows may be left out.
    #[must_use]
    pub fn filter() -> Self {
        Self::new(RowEffect::Filter)
    }

    /// Any number of rows. Columns can be carried only where the output says from which row each row comes.
    #[must_use]
    pub fn many() -> Self {
        Self::new(RowEffect::Many)
    }

    fn new(row_effect: RowEffect) -> Self {
        Self { opening: Opening::new(), row_effect, columns: Vec::new() }
    }

    opening_methods!();

    /// Carries a column.
    #[must_use]
    pub fn keep(self, name: impl Into<String>) -> Self {
        let name = name.into();
        self.keep_as(name.clone(), name)
    }

    /// Carries a column under another name.
    #[must_use]
    pub fn keep_as(mut self, name: impl Into<String>, output_name: impl Into<String>) -> Self {
        self.columns.push(Column::Keep { from: name.into(), to: output_name.into() });
        self
    }

    /// Carries all columns.
    #[must_use]
    pub fn keep_all(self) -> Self {
        self.keep_all_except([""; 0])
    }

    /// Carries all columns but these.
    #[must_use]
    pub fn keep_all_except<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.columns.push(Column::KeepAllExcept(names.into_iter().map(Into::into).collect()));
        self
    }

    /// Computes a column. Batches of results have the computed columns, in this order.
    #[must_use]
    pub fn compute(mut self, field: impl Into<FieldRef>) -> Self {
        self.columns.push(Column::Compute(field.into()));
        self
    }

    /// The answer in the contract's words.
    ///
    /// # Errors
    /// `bad-schema` with everything that the inputs lack; `internal` for a layout that no input could serve.
    pub(crate) fn resolve(&self, inputs: &Inputs) -> Result<ResolvedLayout, Failure> {
        let mut problems = Vec::new();
        let opening = self.opening.resolve(inputs, &mut problems)?;
        let mut columns: Vec<(String, ColumnSource)> = Vec::new();
        let mut computed: Vec<FieldRef> = Vec::new();
        for column in &self.columns {
            if let Column::Compute(field) = column {
                if !is_plain(field.data_type()) {
                    let message = format!(
                        "column `{}`: guests cannot compute type {}",
                        field.name(),
                        field.data_type()
                    );
                    return Err(Failure::Internal(
                        Diagnostic::new("computed-type", message).at_column(field.name()),
                    ));
                }
                let source = ColumnSource::Computed(computed.len() as u32);
                computed.push(field.clone());
                match columns.iter_mut().find(|(name, _)| name == field.name()) {
                    Some((_, carried @ ColumnSource::Input(_))) => *carried = source,
                    Some((name, ColumnSource::Computed(_))) => problems.push(twice(name)),
                    None => columns.push((field.name().clone(), source)),
                }
                continue;
            }
            for (position, name) in carried(column, &inputs.all()[0], &mut problems) {
                match columns.iter().any(|(taken, _)| *taken == name) {
                    true => problems.push(twice(&name)),
                    false => columns.push((name, ColumnSource::Input(position as u32))),
                }
            }
        }
        if !problems.is_empty() {
            return Err(Failure::BadSchema(problems));
        }
        let computed = Arc::new(Schema::new(computed));
        Ok(ResolvedLayout {
            opened: Opened {
                row_effect: self.row_effect,
                statefulness: opening.statefulness,
                reasons: opening.reasons,
                computed_schema: encode_schema(&computed),
                layout: columns,
                projections: opening.projections,
                max_rows: opening.max_rows,
            },
            computed,
            schemas: opening.schemas,
        })
    }
}

/// The carried columns that one call asked for: position in the input and name in the output.
fn carried(column: &Column, input: &Input, problems: &mut Vec<Diagnostic>) -> Vec<(usize, String)> {
    match column {
        Column::Compute(_) => Vec::new(),
        Column::Keep { from, to } => match input.position(from) {
            Ok(position) => vec![(position, to.clone())],
            Err(problem) => {
                problems.push(problem);
                Vec::new()
            }
        },
        Column::KeepAllExcept(names) => {
            problems.extend(names.iter().filter_map(|name| input.position(name).err()));
            let columns =
                input.schema.fields().iter().map(|field| field.name().clone()).enumerate();
            columns.filter(|(_, name)| !names.contains(name)).collect()
        }
    }
}

fn twice(name: &str) -> Diagnostic {
    Diagnostic::new("duplicate-column", format!("the output would have two columns `{name}`"))
        .at_column(name)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a failed test panics")]
mod tests {
    use super::*;
    use crate::Accept;
    use crate::bindings::types::{NamedInput, Statefulness};
    use arrow_schema::{DataType, Field};

    fn inputs() -> Inputs {
        let fields = [("a", DataType::Int64), ("b", DataType::Utf8), ("c", DataType::Float64)];
        let schema =
            Schema::new(fields.map(|(name, data_type)| Field::new(name, data_type, true)).to_vec());
        Inputs::decode(vec![NamedInput { name: "input".into(), schema: encode_schema(&schema) }])
            .unwrap()
    }

    fn computed(name: &str) -> Field {
        Field::new(name, DataType::Int64, true)
    }

    #[test]
    fn columns_are_counted_for_the_author() {
        let layout = Layout::filter()
            .want("c", [DataType::Float32, DataType::Float64])
            .want("a", Accept::Any)
            .want("c", DataType::Float64)
            .keyed(["b"])
            .compute(computed("first"))
            .keep_all_except(["c"])
            .keep_as("c", "old_c")
            .compute(computed("a"));
        let resolved = layout.resolve(&inputs()).unwrap();
        let names = |source: &[(String, ColumnSource)]| format!("{source:?}");
        let expected = [
            ("first".to_owned(), ColumnSource::Computed(0)),
            ("a".to_owned(), ColumnSource::Computed(1)),
            ("b".to_owned(), ColumnSource::Input(1)),
            ("old_c".to_owned(), ColumnSource::Input(2)),
        ];
        assert_eq!(names(&resolved.opened.layout), names(&expected));
        assert_eq!(resolved.opened.projections, [[2, 0]]);
        assert_eq!(resolved.opened.statefulness, Statefulness::Keyed(vec![1]));
        assert_eq!(resolved.schemas[0].field(1).name(), "a");
        assert_eq!(resolved.computed.fields().len(), 2);
    }

    #[test]
    fn all_problems_of_a_schema_are_reported_at_once() {
        let layout = Layout::one_to_one()
            .want("a", DataType::Utf8)
            .want("x", Accept::Any)
            .want_from(1, "code", DataType::Utf8)
            .keyed(["k"])
            .keep_all()
            .keep("y")
            .keep("b")
            .compute(computed("n"))
            .compute(computed("n"));
        let Err(Failure::BadSchema(problems)) = layout.resolve(&inputs()) else {
            panic!("should be refused")
        };
        let found: Vec<_> = problems
            .iter()
            .map(|problem| (problem.code.as_str(), problem.column.as_deref().unwrap_or("-")))
            .collect();
        let expected = [
            ("missing-input", "-"),
            ("wrong-type", "a"),
            ("missing-column", "x"),
            ("missing-column", "k"),
            ("missing-column", "y"),
            ("duplicate-column", "b"),
            ("duplicate-column", "n"),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            problems[1].message,
            "column `a` of input `input` is of type Int64, expected Utf8"
        );
    }

    #[test]
    fn dictionaries_cannot_be_computed() {
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let list = DataType::List(Arc::new(Field::new("item", dictionary, true)));
        let failure = Layout::one_to_one()
            .compute(Field::new("d", list, true))
            .resolve(&inputs())
            .unwrap_err();
        assert_eq!(failure.diagnostics()[0].code, "computed-type");
        assert_eq!(failure.diagnostics()[0].column.as_deref(), Some("d"));
    }

    #[test]
    fn an_input_that_nobody_wants_is_refused() {
        let schema = encode_schema(&Schema::empty());
        let inputs = ["input", "airports"]
            .map(|name| NamedInput { name: name.into(), schema: schema.clone() });
        let inputs = Inputs::decode(inputs.into()).unwrap();
        assert_eq!(
            Layout::one_to_one().resolve(&inputs).unwrap_err().diagnostics()[0].code,
            "unused-input"
        );
        assert!(Layout::one_to_one().want_all_from(1).resolve(&inputs).is_ok());
    }
}
