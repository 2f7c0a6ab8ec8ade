//! What can be wrong with an expression, and what can go wrong with a batch.

use std::fmt;

use arrow::error::ArrowError;
use datafusion_common::DataFusionError;

/// Why an expression cannot be used at all: the part in question, and the way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// What is wrong, with the offending part.
    pub what: String,
    /// What to do instead; empty where there is nothing to say.
    pub hint: String,
}

impl Mistake {
    pub(super) fn new(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { what: what.into(), hint: hint.into() }
    }

    /// What the planner objects to.
    pub(super) fn from_engine(error: &DataFusionError) -> Self {
        if let DataFusionError::External(own) = error.find_root()
            && let Some(own) = own.downcast_ref::<Self>()
        {
            return own.clone();
        }
        Self::new(words(error), "")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, "; {}", self.hint) }
    }
}

impl std::error::Error for Mistake {}

/// Why a value could not be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What happened, in words.
    pub what: String,
}

impl Failure {
    pub(super) fn from_engine(error: &DataFusionError) -> Self {
        Self { what: words(error) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Failure {}

/// A division by zero, or a number that does not fit.
pub(super) fn is_arithmetic(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => {
            matches!(**error, ArrowError::DivideByZero | ArrowError::ArithmeticOverflow(_))
        }
        _ => false,
    }
}

/// The engine's error without its layers, its advice to report bugs and its traces.
fn words(error: &DataFusionError) -> String {
    match error.find_root() {
        DataFusionError::ArrowError(error, _) => arrow_words(error),
        DataFusionError::Execution(what)
        | DataFusionError::Plan(what)
        | DataFusionError::NotImplemented(what)
        | DataFusionError::Internal(what)
        | DataFusionError::ResourcesExhausted(what) => plain(what),
        DataFusionError::Diagnostic(_, error) | DataFusionError::Context(_, error) => words(error),
        other => plain(&other.strip_backtrace()),
    }
}

fn arrow_words(error: &ArrowError) -> String {
    match error {
        ArrowError::DivideByZero => "division by zero".to_owned(),
        ArrowError::ArithmeticOverflow(what) => {
            format!("a number is too large for its type: {}", plain(what))
        }
        ArrowError::CastError(what) | ArrowError::ParseError(what) => {
            format!("a value cannot be read: {}", plain(what))
        }
        ArrowError::ComputeError(what) | ArrowError::InvalidArgumentError(what) => plain(what),
        ArrowError::ExternalError(error) => match error.downcast_ref::<DataFusionError>() {
            Some(error) => words(error),
            None => plain(&error.to_string()),
        },
        other => plain(&other.to_string()),
    }
}

fn plain(what: &str) -> String {
    let what = what.split(DataFusionError::BACK_TRACE_SEP).next().unwrap_or_default();
    let what = what.lines().next().unwrap_or_default();
    if let Some((function, _)) = what.split_once("' failed to match any signature")
        && let Some((_, name)) = function.split_once("Function '")
    {
        return format!("function `{name}` does not take values of these types, or not as many");
    }
    what.trim_end_matches('.').trim().to_owned()
}
