//! `pattern`: a regular expression that is found in a text.

use crate::column::{Column, Kernel, Mistake};
use crate::values::{Family, text_hits};
use regex::{Error, RegexBuilder};

/// A pattern may compile to so many bytes. A bomb of nested repetitions stops here, and any pattern that a person would
/// write does not; Unicode's classes take most of it.
const COMPILED_BYTES_MAX: usize = 4 << 20;

/// # Errors
/// A column without text, a pattern that does not compile or would be too large.
pub(crate) fn kernel(column: Column<'_>, pattern: &str) -> Result<Kernel, Vec<Mistake>> {
    let mut mistakes = Vec::new();
    if Family::of(column.data_type) != Some(Family::Text) {
        mistakes.push(column.refuse("pattern", "text"));
    }
    match RegexBuilder::new(pattern).size_limit(COMPILED_BYTES_MAX).build() {
        Ok(regex) if mistakes.is_empty() => {
            return Ok(Kernel::new(move |column| text_hits(column, |text| !regex.is_match(text))));
        }
        Ok(_) => {}
        Err(error) => {
            let message = match error {
                Error::CompiledTooBig(limit) => format!(
                    "the pattern compiles to more than {limit} bytes: it repeats too much, or nests repetitions"
                ),
                error => format!("no pattern: {error}"),
            };
            mistakes.push(Mistake::new("pattern", "/check/pattern", message));
        }
    }
    Err(mistakes)
}
