//! A part of a condition as plain data, for whoever keeps the rows: what compares columns with values and nothing else.

use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::Operator;

use super::pruning::Test;

/// A part that has to be true of each row that the whole condition takes, and that is understood to the last word.
#[derive(Debug, Clone)]
pub struct Asking {
    /// SQL, which can stand beside other parts with AND between them.
    pub sql: String,
    /// What it says.
    pub condition: Condition,
}

/// What is asked of a row. Columns are positions in the scope; values are of their column's type, and not NULL.
#[derive(Debug, Clone)]
pub enum Condition {
    /// Each of them holds.
    All(Vec<Self>),
    /// One of them holds.
    Any(Vec<Self>),
    /// The column is that much.
    Compare(usize, Comparison, ArrayRef),
    /// The column is one of these, at least one.
    OneOf(usize, ArrayRef),
    /// The column is NULL.
    IsNull(usize),
    /// The column is not NULL.
    IsNotNull(usize),
}

/// How a column compares with a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Condition {
    /// `None` where a part of it is anything else.
    pub(super) fn of(test: &Test, type_of: &impl Fn(usize) -> DataType) -> Option<Self> {
        let each = |tests: &[Test]| -> Option<Vec<Self>> {
            tests.iter().map(|test| Self::of(test, type_of)).collect()
        };
        match test {
            Test::All(all) => each(all).map(Self::All),
            Test::Any(any) => each(any).map(Self::Any),
            Test::Compare(column, op, value) => {
                let comparison = match op {
                    Operator::Eq => Comparison::Equal,
                    Operator::Lt => Comparison::Less,
                    Operator::LtEq => Comparison::AtMost,
                    Operator::Gt => Comparison::Greater,
                    Operator::GtEq => Comparison::AtLeast,
                    _ => return None,
                };
                let value = values(std::slice::from_ref(value), &type_of(*column))?;
                Some(Self::Compare(*column, comparison, value))
            }
            Test::OneOf(column, given) => {
                // NULL is equal to nothing: the list without it takes the same rows.
                let given: Vec<_> =
                    given.iter().filter(|value| !value.is_null()).cloned().collect();
                Some(Self::OneOf(*column, values(&given, &type_of(*column))?))
            }
            Test::IsNull(column) => Some(Self::IsNull(*column)),
            Test::IsNotNull(column) => Some(Self::IsNotNull(*column)),
            Test::Never | Test::Unknown => None,
        }
    }
}

/// The values as an array; `None` where there is none, or one that is of another type.
fn values(given: &[ScalarValue], data_type: &DataType) -> Option<ArrayRef> {
    let fit = |value: &ScalarValue| !value.is_null() && value.data_type() == *data_type;
    if given.is_empty() || !given.iter().all(fit) {
        return None;
    }
    ScalarValue::iter_to_array(given.iter().cloned()).ok()
}
