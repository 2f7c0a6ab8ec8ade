//! What `open` answers for rules and transforms alike: columns wanted, reasons, state.

use crate::bindings::types::Statefulness;
use crate::failure::{Diagnostic, Failure, Reason};
use crate::inputs::{Inputs, Wants};
use arrow_schema::SchemaRef;
use std::sync::Arc;

/// How the host may spread the input over instances.
#[derive(Clone, Debug)]
enum State {
    Stateless,
    Keyed(Vec<String>),
    WholeInput,
}

/// The part of an answer that the builders share; [`opening_methods`] gives them its methods.
#[derive(Clone, Debug)]
pub(crate) struct Opening {
    pub(crate) wants: Wants,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) max_rows: Option<u32>,
    state: State,
}

/// An opening, held against the inputs.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) statefulness: Statefulness,
    pub(crate) reasons: Vec<Reason>,
    pub(crate) projections: Vec<Vec<u32>>,
    pub(crate) max_rows: Option<u32>,
    /// What each input's batches look like.
    pub(crate) schemas: Vec<SchemaRef>,
}

impl Opening {
    pub(crate) fn new() -> Self {
        Self {
            wants: Wants::default(),
            reasons: Vec::new(),
            max_rows: None,
            state: State::Stateless,
        }
    }

    pub(crate) fn keyed(&mut self, key: Vec<String>) {
        self.state = State::Keyed(key);
    }

    pub(crate) fn whole_input(&mut self) {
        self.state = State::WholeInput;
    }

    /// Adds to `problems` what the inputs lack.
    pub(crate) fn resolve(
        &self,
        inputs: &Inputs,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Resolved, Failure> {
        let Self { wants, reasons, max_rows, state } = self;
        for (at, reason) in reasons.iter().enumerate() {
            if reasons[..at].iter().any(|earlier| earlier.code == reason.code) {
                return Err(Failure::internal(
                    "reason",
                    format!("reason `{}` is declared twice", reason.code),
                ));
            }
        }
        let positions = wants.resolve(inputs, problems);
        let schemas = positions.iter().zip(inputs.all()).map(|(positions, input)| {
            // Positions come from this very schema.
            Arc::new(
                input.schema.project(positions).unwrap_or_else(|_| input.schema.as_ref().clone()),
            )
        });
        let statefulness = match state {
            State::Stateless => Statefulness::Stateless,
            State::WholeInput => Statefulness::WholeInput,
            State::Keyed(key) => {
                let found = key.iter().map(|name| inputs.all()[0].position(name));
                let (found, missing): (Vec<_>, Vec<_>) = found.partition(Result::is_ok);
                problems.extend(missing.into_iter().filter_map(Result::err));
                Statefulness::Keyed(
                    found.into_iter().flatten().map(|position| position as u32).collect(),
                )
            }
        };
        Ok(Resolved {
            statefulness,
            reasons: reasons.clone(),
            schemas: schemas.collect(),
            projections: positions
                .into_iter()
                .map(|positions| positions.into_iter().map(|position| position as u32).collect())
                .collect(),
            max_rows: *max_rows,
        })
    }
}

/// The builder methods of [`Opening`], for a type that has one in its field `opening`.
macro_rules! opening_methods {
    () => {
        /// Wants a column of the first input, of this type, or of one of these in an array, or of any
        /// ([`Accept::Any`](crate::Accept)). Batches have the wanted columns alone, in the order wanted.
        #[must_use]
        pub fn want(self, name: impl Into<String>, accept: impl Into<$crate::Accept>) -> Self {
            self.want_from(0, name, accept)
        }

        /// Wants all columns of the first input.
        #[must_use]
        pub fn want_all(self) -> Self {
            self.want_all_from(0)
        }

        /// Wants a column of another input, by the input's position. Inputs from which nothing is wanted are refused.
        #[must_use]
        pub fn want_from(
            mut self,
            input: usize,
            name: impl Into<String>,
            accept: impl Into<$crate::Accept>,
        ) -> Self {
            self.opening.wants.column(input, name, accept);
            self
        }

        /// Wants all columns of another input, by the input's position.
        #[must_use]
        pub fn want_all_from(mut self, input: usize) -> Self {
            self.opening.wants.all(input);
            self
        }

        /// Declares why rows may be hit.
        #[must_use]
        pub fn reason(mut self, reason: $crate::Reason) -> Self {
            self.opening.reasons.push(reason);
            self
        }

        /// All rows with equal values in these columns must come to one instance.
        #[must_use]
        pub fn keyed<N: Into<String>>(mut self, key: impl IntoIterator<Item = N>) -> Self {
            self.opening.keyed(key.into_iter().map(Into::into).collect());
            self
        }

        /// The whole input must come to one instance, in order.
        #[must_use]
        pub fn whole_input(mut self) -> Self {
            self.opening.whole_input();
            self
        }

        /// The largest batch wanted; the host may send smaller ones.
        #[must_use]
        pub fn max_rows(mut self, rows: u32) -> Self {
            self.opening.max_rows = Some(rows);
            self
        }
    };
}
pub(crate) use opening_methods;
