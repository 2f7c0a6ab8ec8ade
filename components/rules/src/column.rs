//! A column that a check is held against, and what may be wrong with the two of them.

use crate::config::Scalar;
use arrow_array::{Array, BooleanArray};
use arrow_schema::DataType;
use std::fmt;
use wasmhost_guest::Diagnostic;

/// Judges all rows of a column: `true` is a hit; NULLs stay NULL.
pub(crate) struct Kernel(Box<Hits>);

type Hits = dyn Fn(&dyn Array) -> BooleanArray;

impl Kernel {
    pub(crate) fn new(hits: impl Fn(&dyn Array) -> BooleanArray + 'static) -> Self {
        Self(Box::new(hits))
    }

    pub(crate) fn hits(&self, column: &dyn Array) -> BooleanArray {
        self.0(column)
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kernel")
    }
}

/// A column's name and type.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<'a> {
    pub(crate) name: &'a str,
    pub(crate) data_type: &'a DataType,
}

/// What has to change for a mistake to go away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Config,
    Schema,
}

/// What is wrong with one entry of the configuration.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) fault: Fault,
    /// JSON pointer, from the entry on.
    pub(crate) at: String,
    pub(crate) diagnostic: Diagnostic,
}

impl Mistake {
    pub(crate) fn new(code: &str, at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { fault: Fault::Config, at: at.into(), diagnostic: Diagnostic::new(code, message) }
    }

    pub(crate) fn of_schema(at: impl Into<String>, diagnostic: Diagnostic) -> Self {
        Self { fault: Fault::Schema, at: at.into(), diagnostic }
    }
}

impl Column<'_> {
    /// The check does not take this type.
    pub(crate) fn refuse(self, check: &str, takes: &str) -> Mistake {
        self.refuse_at("/column", check, takes)
    }

    /// As [`Self::refuse`], for a column that is named elsewhere.
    pub(crate) fn refuse_at(self, at: impl Into<String>, check: &str, takes: &str) -> Mistake {
        let Self { name, data_type } = self;
        let message =
            format!("`{check}` cannot judge column `{name}` of type {data_type}; it takes {takes}");
        Mistake::new("wrong-type", at, message)
    }

    /// No value of this type can be as configured.
    pub(crate) fn misfit(self, at: impl Into<String>, value: &Scalar, expected: &str) -> Mistake {
        let Self { name, data_type } = self;
        let message = format!(
            "{value} is no value of column `{name}` of type {data_type}: expected {expected}"
        );
        Mistake::new("value", at, message)
    }
}
