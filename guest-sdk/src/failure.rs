//! What a guest may say went wrong: the contract's own words, with constructors.

pub use crate::bindings::types::{Diagnostic, Failure, Reason};

impl Diagnostic {
    /// A diagnostic without a place; `code` is for programs, `message` for people.
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), path: None, column: None, row: None }
    }

    /// Names the place in the configuration, as a JSON pointer such as `/timezone`.
    #[must_use]
    pub fn at_path(self, pointer: impl Into<String>) -> Self {
        Self { path: Some(pointer.into()), ..self }
    }

    /// Names the column.
    #[must_use]
    pub fn at_column(self, column: impl Into<String>) -> Self {
        Self { column: Some(column.into()), ..self }
    }

    /// Names the row of the batch, from 0.
    #[must_use]
    pub fn at_row(self, row: usize) -> Self {
        Self { row: u32::try_from(row).ok(), ..self }
    }
}

impl Failure {
    /// One problem of the configuration, at a JSON pointer such as `/timezone`.
    pub fn bad_config(
        pointer: impl Into<String>,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::BadConfig(vec![Diagnostic::new(code, message).at_path(pointer)])
    }

    /// One problem of the input's schema.
    pub fn bad_schema(
        column: impl Into<String>,
        code: impl Into<String>,
        message: impl Into<String>,
    ) -> Self {
        Self::BadSchema(vec![Diagnostic::new(code, message).at_column(column)])
    }

    /// This batch cannot be processed; the next one may be.
    pub fn bad_batch(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::BadBatch(Diagnostic::new(code, message))
    }

    /// A broken invariant of the component's own.
    pub fn internal(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self::Internal(Diagnostic::new(code, message))
    }

    /// What was found, whatever the kind of failure.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        match self {
            Self::BadConfig(diagnostics) | Self::BadSchema(diagnostics) => diagnostics,
            Self::BadBatch(diagnostic) | Self::Internal(diagnostic) => {
                std::slice::from_ref(diagnostic)
            }
        }
    }
}

impl From<arrow_schema::ArrowError> for Failure {
    /// An Arrow call that fails inside a component is the component's mistake.
    fn from(error: arrow_schema::ArrowError) -> Self {
        Self::internal("arrow", error.to_string())
    }
}

impl Reason {
    /// A reason for a hit. `message` may name columns in braces; the host puts the row's values there.
    pub fn new<C: Into<String>>(
        code: impl Into<String>,
        columns: impl IntoIterator<Item = C>,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code: code.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            message: message.into(),
        }
    }
}
