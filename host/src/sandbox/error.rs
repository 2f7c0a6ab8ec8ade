//! What can go wrong with a guest: one error, naming component, call, batch and what was broken.

use std::fmt;

use crate::problem::Problem;

/// A guest did not do what the contract says. The instance is gone; the host is as before.
#[derive(Debug, thiserror::Error)]
#[error("component `{component}`, {call}{}: {breach}", Place(.batch))]
pub struct SandboxError {
    /// The component, as the flow calls it.
    pub component: String,
    /// The call, as the contract spells it.
    pub call: &'static str,
    /// The batch, from 0 in source order, where the call had one.
    pub batch: Option<u64>,
    /// What was broken.
    pub breach: Breach,
}

/// What was broken.
#[derive(Debug, thiserror::Error)]
pub enum Breach {
    /// A limit, by its name in flow files.
    #[error("the limit `{limit}` allows {allowed}{}", Asked(.asked))]
    Limit {
        /// The limit's name.
        limit: &'static str,
        /// What is allowed.
        allowed: String,
        /// What the guest asked for, where that is known.
        asked: Option<String>,
    },
    /// The guest trapped; a panic's text and place where it had one, else the trap and the guest's innermost frames.
    #[error("trapped: {0}")]
    Trap(String),
    /// An answer that the contract does not allow.
    #[error("broke the contract: {0}")]
    Protocol(String),
    /// The guest says that this batch cannot be processed, or that it found itself broken.
    #[error("failed: {0}")]
    Failed(String),
    /// The guest refuses its configuration or its input.
    #[error("refuses: {}", Lines(.0))]
    Refused(Vec<Problem>),
    /// It does not fit the contract's types, so it cannot be instantiated, or the machine cannot compile it.
    #[error("cannot be loaded: {0}")]
    Load(String),
}

impl Breach {
    /// A breach of the contract.
    pub(super) fn protocol(what: impl Into<String>) -> Self {
        Self::Protocol(what.into())
    }

    /// Whether smaller batches may help.
    pub(super) fn is_memory(&self) -> bool {
        matches!(self, Self::Limit { limit: "memory_bytes", .. })
    }

    /// The error, with its place.
    pub(super) fn at(
        self,
        component: &str,
        call: &'static str,
        batch: Option<u64>,
    ) -> SandboxError {
        SandboxError { component: component.to_owned(), call, batch, breach: self }
    }
}

struct Place<'a>(&'a Option<u64>);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |batch| write!(f, ", batch {batch}"))
    }
}

struct Asked<'a>(&'a Option<String>);

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |asked| write!(f, ", asked were {asked}"))
    }
}

struct Lines<'a>(&'a [Problem]);

impl fmt::Display for Lines<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("; "))
    }
}
