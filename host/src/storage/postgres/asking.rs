//! What the server is asked to leave out: conditions that it decides as we do, of rows that it sends. Values are parameters of the
//! statement, of their column's type: no text of the flow is SQL there, an index can be used, and no cast decides.

use std::error::Error;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::datatypes::DataType;
use arrow::datatypes::Date32Type;
use arrow::datatypes::Decimal128Type;
use arrow::datatypes::Int16Type;
use arrow::datatypes::Int32Type;
use arrow::datatypes::Int64Type;
use arrow::datatypes::TimeUnit;
use arrow::datatypes::TimestampMicrosecondType;
use bytes::BytesMut;
use tokio_postgres::types::IsNull;
use tokio_postgres::types::ToSql;
use tokio_postgres::types::Type;
use tokio_postgres::types::to_sql_checked;

use super::cells::DAYS_TO_2000;
use super::cells::MICROS_TO_2000;
use super::describe::Described;
use super::numeric;
use super::select;
use crate::expression::Comparison;
use crate::expression::Condition;

/// The days and the microseconds that Postgres has, counted from 2000: from 4713 BC to the years 5874897 and 294276.
const DAYS: std::ops::Range<i32> = -2_451_545..2_145_031_949;
const MICROS: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// Conditions that all have to be true of a row. None is true of every row.
#[derive(Debug, Clone, Default)]
pub struct Where {
    parts: Vec<String>,
    values: Vec<Value>,
}

/// A parameter.
#[derive(Debug, Clone)]
struct Value {
    data_type: Type,
    of: Values,
}

#[derive(Debug, Clone)]
enum Values {
    One(Raw),
    Many(Vec<Raw>),
}

/// A value as it is sent.
#[derive(Debug, Clone)]
struct Raw(Vec<u8>);

impl Where {
    /// Adds a condition, where the server is certain to decide it as we do; says whether it did. `place` has where a column of the
    /// condition is among those of the rows, if it is read as the type that it is by itself.
    pub fn ask(
        &mut self,
        described: &Described,
        condition: &Condition,
        place: &impl Fn(usize) -> Option<usize>,
    ) -> bool {
        let mut asking = Asking { described, place, values: self.values.clone() };
        let Some(part) = asking.sql(condition).filter(|_| described.foldable) else { return false };
        self.values = asking.values;
        self.parts.push(part);
        true
    }

    /// The condition of the statement, where there is one.
    pub(super) fn sql(&self) -> Option<String> {
        (!self.parts.is_empty()).then(|| self.parts.join(" AND "))
    }

    /// What its parameters are.
    pub(super) fn types(&self) -> Vec<Type> {
        self.values.iter().map(|value| value.data_type.clone()).collect()
    }

    /// Its parameters.
    pub(super) fn values(&self) -> Vec<&(dyn ToSql + Sync)> {
        let values = self.values.iter().map(|value| match &value.of {
            Values::One(one) => one as &(dyn ToSql + Sync),
            Values::Many(many) => many,
        });
        values.collect()
    }
}

/// A condition on its way into SQL.
struct Asking<'a, P> {
    described: &'a Described,
    place: &'a P,
    values: Vec<Value>,
}

impl<P: Fn(usize) -> Option<usize>> Asking<'_, P> {
    /// `None` where the server might decide it otherwise.
    fn sql(&mut self, condition: &Condition) -> Option<String> {
        match condition {
            Condition::All(all) => self.joined(all, " AND "),
            Condition::Any(any) => self.joined(any, " OR "),
            Condition::Compare(column, comparison, value) => {
                let (name, data_type) = self.column(*column)?;
                if data_type == Type::TEXT && *comparison != Comparison::Equal {
                    // How text orders is the collation's to say.
                    return None;
                }
                let one = Values::One(self.encoded(value, 0)?);
                let operator = match comparison {
                    Comparison::Equal => "=",
                    Comparison::Less => "<",
                    Comparison::AtMost => "<=",
                    Comparison::Greater => ">",
                    Comparison::AtLeast => ">=",
                };
                let parameter = self.parameter(data_type, one);
                Some(format!("{name} OPERATOR(pg_catalog.{operator}) {parameter}"))
            }
            Condition::OneOf(column, values) => {
                let (name, data_type) = self.column(*column)?;
                let many = (0..values.len()).map(|at| self.encoded(values, at));
                let many = Values::Many(many.collect::<Option<_>>()?);
                let parameter = self.parameter(list_of(&data_type)?, many);
                Some(format!("{name} OPERATOR(pg_catalog.=) ANY ({parameter})"))
            }
            Condition::IsNull(column) => Some(format!("{} IS NULL", self.column(*column)?.0)),
            Condition::IsNotNull(column) => {
                Some(format!("{} IS NOT NULL", self.column(*column)?.0))
            }
        }
    }

    fn joined(&mut self, conditions: &[Condition], by: &str) -> Option<String> {
        let parts = conditions.iter().map(|condition| self.sql(condition));
        Some(format!("({})", parts.collect::<Option<Vec<_>>>()?.join(by)))
    }

    /// What it is in SQL, and the type of values beside it.
    fn column(&self, at: usize) -> Option<(String, Type)> {
        let column = &self.described.columns[(self.place)(at)?];
        let (name, data_type) = (select::quoted(&column.name), column.compared.clone()?);
        // What joins texts of several collations has none. A table's column has one, which may be that of its index.
        let has_collation = self.described.is_stored || data_type != Type::TEXT;
        let sql = if has_collation { name } else { format!("{name} COLLATE pg_catalog.\"C\"") };
        Some((sql, data_type))
    }

    fn parameter(&mut self, data_type: Type, of: Values) -> String {
        self.values.push(Value { data_type, of });
        format!("${}", self.values.len())
    }

    /// A value as it is sent; `None` where the server has no such value.
    fn encoded(&self, values: &ArrayRef, at: usize) -> Option<Raw> {
        let raw = match values.data_type() {
            DataType::Boolean => vec![u8::from(values.as_boolean().value(at))],
            DataType::Int16 => values.as_primitive::<Int16Type>().value(at).to_be_bytes().into(),
            DataType::Int32 => values.as_primitive::<Int32Type>().value(at).to_be_bytes().into(),
            DataType::Int64 => values.as_primitive::<Int64Type>().value(at).to_be_bytes().into(),
            DataType::Date32 => {
                let day =
                    values.as_primitive::<Date32Type>().value(at).checked_sub(DAYS_TO_2000)?;
                DAYS.contains(&day).then(|| day.to_be_bytes().into())?
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let moment = values.as_primitive::<TimestampMicrosecondType>().value(at);
                let moment = moment.checked_sub(MICROS_TO_2000)?;
                MICROS.contains(&moment).then(|| moment.to_be_bytes().into())?
            }
            DataType::Decimal128(_, scale) => {
                let unscaled = values.as_primitive::<Decimal128Type>().value(at);
                numeric::encoded(unscaled, u8::try_from(*scale).ok()?)?
            }
            DataType::Utf8 if self.described.is_utf8 => {
                let text = values.as_string::<i32>().value(at);
                // No text of Postgres has a NUL.
                (!text.contains('\0')).then(|| text.as_bytes().to_owned())?
            }
            _ => return None,
        };
        Some(Raw(raw))
    }
}

/// The type of arrays of these.
fn list_of(data_type: &Type) -> Option<Type> {
    Some(match *data_type {
        Type::BOOL => Type::BOOL_ARRAY,
        Type::INT2 => Type::INT2_ARRAY,
        Type::INT4 => Type::INT4_ARRAY,
        Type::INT8 => Type::INT8_ARRAY,
        Type::DATE => Type::DATE_ARRAY,
        Type::TIMESTAMP => Type::TIMESTAMP_ARRAY,
        Type::TIMESTAMPTZ => Type::TIMESTAMPTZ_ARRAY,
        Type::NUMERIC => Type::NUMERIC_ARRAY,
        Type::TEXT => Type::TEXT_ARRAY,
        _ => return None,
    })
}

impl ToSql for Raw {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&self.0);
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
