//! The inputs that `open` is told of, and the columns wanted from them, by name.

use crate::bindings::types::NamedInput;
use crate::decode::decode_schema;
use crate::failure::{Diagnostic, Failure};
use arrow_schema::{DataType, Schema, SchemaRef};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One input of a component.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name; `input` for the one that is transformed or judged.
    pub name: String,
    /// Its columns, before the component says which of them it wants.
    pub schema: SchemaRef,
}

impl Input {
    /// The position of a column.
    ///
    /// # Errors
    /// A diagnostic for [`Failure::BadSchema`] that names the columns there are.
    pub fn position(&self, name: &str) -> Result<usize, Diagnostic> {
        let names = || self.schema.fields().iter().map(|field| field.name().as_str());
        names().position(|column| column == name).ok_or_else(|| {
            let names: Vec<&str> = names().collect();
            let message = format!(
                "input `{}` has no column `{name}`; it has {}",
                self.name,
                names.join(", ")
            );
            Diagnostic::new("missing-column", message).at_column(name)
        })
    }
}

/// All inputs, of which the first is the one that is transformed or judged; those after it are for reference.
#[derive(Clone, Debug)]
pub struct Inputs(Vec<Input>);

impl Inputs {
    pub(crate) fn decode(inputs: Vec<NamedInput>) -> Result<Self, Failure> {
        let decode = |NamedInput { name, schema }| match decode_schema(&schema) {
            Ok(schema) => Ok(Input { name, schema: Arc::new(schema) }),
            Err(error) => Err(Failure::internal("schema", format!("input `{name}`: {error}"))),
        };
        let inputs: Vec<Input> = inputs.into_iter().map(decode).collect::<Result<_, _>>()?;
        match inputs.is_empty() {
            true => Err(Failure::internal("inputs", "opened without an input")),
            false => Ok(Self(inputs)),
        }
    }

    /// The schema of the first input.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.0[0].schema
    }

    /// All inputs, the first one included.
    #[must_use]
    pub fn all(&self) -> &[Input] {
        &self.0
    }
}

/// The types that a component can work with.
#[derive(Clone, Debug, PartialEq)]
pub enum Accept {
    /// Whatever the column is.
    Any,
    /// One of these, exactly.
    OneOf(Vec<DataType>),
}

impl From<DataType> for Accept {
    fn from(data_type: DataType) -> Self {
        Self::OneOf(vec![data_type])
    }
}

impl<const N: usize> From<[DataType; N]> for Accept {
    fn from(data_types: [DataType; N]) -> Self {
        Self::OneOf(data_types.into())
    }
}

impl Accept {
    /// What is wrong with this type, if anything.
    fn objection(&self, found: &DataType) -> Option<String> {
        match self {
            Self::Any => None,
            Self::OneOf(accepted) if accepted.contains(found) => None,
            Self::OneOf(accepted) => {
                let accepted: Vec<String> = accepted.iter().map(ToString::to_string).collect();
                Some(format!("type {found}, expected {}", accepted.join(" or ")))
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Want {
    Column(String, Accept),
    All,
}

/// The columns wanted, by input.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wants(BTreeMap<usize, Vec<Want>>);

impl Wants {
    pub(crate) fn column(
        &mut self,
        input: usize,
        name: impl Into<String>,
        accept: impl Into<Accept>,
    ) {
        self.0.entry(input).or_default().push(Want::Column(name.into(), accept.into()));
    }

    pub(crate) fn all(&mut self, input: usize) {
        self.0.entry(input).or_default().push(Want::All);
    }

    /// For each input the positions of its wanted columns, in the order in which they were wanted, each once. Adds
    /// what is missing or of another type to `problems`.
    pub(crate) fn resolve(
        &self,
        inputs: &Inputs,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<Vec<usize>> {
        for input in self.0.keys().filter(|input| **input >= inputs.0.len()) {
            problems.push(Diagnostic::new(
                "missing-input",
                format!("input {input} is needed, and not given"),
            ));
        }
        let projection = |(at, input): (usize, &Input)| {
            let Some(wants) = self.0.get(&at) else {
                if at > 0 {
                    problems.push(Diagnostic::new(
                        "unused-input",
                        format!("input `{}` is not used", input.name),
                    ));
                }
                return Vec::new();
            };
            project(input, wants, problems)
        };
        inputs.0.iter().enumerate().map(projection).collect()
    }
}

fn project(input: &Input, wants: &[Want], problems: &mut Vec<Diagnostic>) -> Vec<usize> {
    let mut positions: Vec<usize> = Vec::new();
    let mut add = |position| {
        if !positions.contains(&position) {
            positions.push(position);
        }
    };
    for want in wants {
        match want {
            Want::All => (0..input.schema.fields().len()).for_each(&mut add),
            Want::Column(name, accept) => match input.position(name) {
                Err(problem) => problems.push(problem),
                Ok(position) => match accept.objection(input.schema.field(position).data_type()) {
                    None => add(position),
                    Some(objection) => {
                        let message =
                            format!("column `{name}` of input `{}` is of {objection}", input.name);
                        problems.push(Diagnostic::new("wrong-type", message).at_column(name));
                    }
                },
            },
        }
    }
    positions
}
