//! Where problems gather while a flow is read.

use std::cell::RefCell;

use super::node::Mark;
use super::node::join;
use super::node::place;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;

/// A field of the file: its position and its path as the user spelt it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) at: Mark,
    pub(super) path: String,
}

/// A value and the field that it came from.
#[derive(Debug, Clone)]
pub(super) struct Located<T> {
    pub(super) value: T,
    pub(super) spot: Spot,
}

/// All problems of one file so far.
#[derive(Debug)]
pub(super) struct Report {
    file: String,
    problems: RefCell<Vec<Problem>>,
}

impl Spot {
    pub(super) fn key(&self, key: &str, at: Mark) -> Self {
        Self { at, path: join(&self.path, key) }
    }

    /// The key itself, as the user spelt it.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('.').next().unwrap_or_default()
    }

    pub(super) fn item(&self, index: usize, at: Mark) -> Self {
        Self { at, path: format!("{}[{index}]", self.path) }
    }
}

impl<T> Located<T> {
    pub(super) fn map<U>(self, change: impl FnOnce(T) -> U) -> Located<U> {
        Located { value: change(self.value), spot: self.spot }
    }
}

impl Report {
    pub(super) fn new(file: String) -> Self {
        Self { file, problems: RefCell::default() }
    }

    pub(super) fn place(&self, spot: &Spot) -> Place {
        place(&self.file, spot.at, &spot.path)
    }

    pub(super) fn add(&self, code: Code, spot: &Spot, what: impl Into<String>) {
        self.take(Problem::new(code, self.place(spot), what));
    }

    pub(super) fn add_hint(
        &self,
        code: Code,
        spot: &Spot,
        what: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.take(Problem::new(code, self.place(spot), what).hint(hint));
    }

    pub(super) fn take(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    /// The problems in file order, each once; those without a position come last.
    pub(super) fn finish(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| {
            (problem.at.line.unwrap_or(u64::MAX), problem.at.column.unwrap_or(u64::MAX))
        });
        // A connection's option is judged at each block that uses the connection; equal problems have one position.
        let mut kept: Vec<Problem> = Vec::new();
        for problem in problems {
            let here = |other: &&Problem| {
                (other.at.line, other.at.column) == (problem.at.line, problem.at.column)
            };
            if !kept.iter().rev().take_while(here).any(|other| *other == problem) {
                kept.push(problem);
            }
        }
        kept
    }
}
