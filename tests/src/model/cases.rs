//! The model against tables that were worked out by hand, so that it can be trusted where it is asked.

mod histories;
mod open;
mod rows;
mod story;
