//! Values written as text: which type a column of them has, and what they are as that type.

mod guess;
pub mod input;
pub mod output;
mod parse;

use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::TimeUnit;

pub use self::guess::Guess;
pub use self::guess::Number;
pub use self::guess::is_of;
pub use self::guess::number;
pub use self::parse::Misfit;
pub use self::parse::parse;
pub use self::parse::shown;

/// A point in time, in microseconds.
#[must_use]
pub fn utc() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some(Arc::from("UTC")))
}
