//! Values, rows and batches of the model. A row has no entry where it is NULL, so that a column that a file lacks is NULL.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;

/// One value; how they are ordered among each other is of no account but within one kind, where NULL is lowest.
#[derive(Clone)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    /// NaN equals NaN.
    Float(f64),
    /// Hundredths.
    Decimal(i128),
    /// Days since 1970.
    Date(i32),
    /// Microseconds since 1970, UTC.
    Time(i64),
    Text(String),
}

/// Columns and their values, without NULL.
pub(super) type Row = BTreeMap<String, Value>;

/// Rows of the same columns, in the order in which they come.
#[derive(Debug, Clone)]
pub(super) struct Batch {
    /// The columns that it brings; a row's value is NULL where it has none.
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

impl Value {
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    pub(super) fn is_true(&self) -> bool {
        matches!(self, Self::Bool(true))
    }
}

/// The row's value.
pub(super) fn get<'a>(row: &'a Row, column: &str) -> &'a Value {
    row.get(column).unwrap_or(&Value::Null)
}

/// Sets the row's value.
pub(super) fn set(row: &mut Row, column: &str, value: Value) {
    if value.is_null() {
        row.remove(column);
    } else {
        row.insert(column.to_owned(), value);
    }
}

/// The row's values of the columns, one by one.
pub(super) fn values(row: &Row, columns: &[String]) -> Vec<Value> {
    columns.iter().map(|column| get(row, column).clone()).collect()
}

/// Rows one a line, in an order of their own: equal texts are equal multisets of rows.
pub(super) fn shown(rows: &[Row]) -> String {
    let mut rows: Vec<_> = rows.iter().collect();
    rows.sort();
    rows.iter().map(|row| format!("    {}\n", line(row))).collect()
}

/// One row, as `column=value` each.
pub(super) fn line(row: &Row) -> String {
    let values: Vec<_> = row.iter().map(|(column, value)| format!("{column}={value:?}")).collect();
    values.join(" ")
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("-"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Decimal(value) => write!(f, "{value}/100"),
            Self::Date(value) => write!(f, "d{value}"),
            Self::Time(value) => write!(f, "t{value}"),
            Self::Text(value) => write!(f, "{value:?}"),
        }
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Null, Self::Null) => Ordering::Equal,
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            (Self::Int(a), Self::Int(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => {
                // `partial_cmp` takes 0.0 and -0.0 as equal; what it does not order is NaN.
                a.partial_cmp(b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }
            (Self::Decimal(a), Self::Decimal(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.kind().cmp(&other.kind()),
        }
    }
}

impl Value {
    fn kind(&self) -> u8 {
        match self {
            Self::Null => 0,
            Self::Bool(_) => 1,
            Self::Int(_) => 2,
            Self::Float(_) => 3,
            Self::Decimal(_) => 4,
            Self::Date(_) => 5,
            Self::Time(_) => 6,
            Self::Text(_) => 7,
        }
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Value {}

/// The row as other readers are asked for it: numbers and flags as they are, the rest as text that says its kind.
pub(super) fn json(row: &Row) -> serde_json::Value {
    let values = row.iter().map(|(column, value)| {
        let value = match value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Int(value) => (*value).into(),
            Value::Float(value) if value.is_nan() => "float nan".into(),
            Value::Float(value) => format!("float {:016x}", value.to_bits()).into(),
            Value::Decimal(value) => format!("hundredths {value}").into(),
            Value::Date(value) => format!("days {value}").into(),
            Value::Time(value) => format!("micros {value}").into(),
            Value::Text(value) => format!("text {value}").into(),
        };
        (column.clone(), value)
    });
    values.collect::<serde_json::Map<_, _>>().into()
}
