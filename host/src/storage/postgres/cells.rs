//! Values as the server sends them, straight into Arrow's arrays. A value that its column does not hold is an error, never changed.

use std::fmt::Write as _;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BinaryBuilder;
use arrow::array::BooleanBuilder;
use arrow::array::Date32Builder;
use arrow::array::Decimal128Builder;
use arrow::array::Float32Builder;
use arrow::array::Float64Builder;
use arrow::array::Int16Builder;
use arrow::array::Int32Builder;
use arrow::array::Int64Builder;
use arrow::array::ListArray;
use arrow::array::StringBuilder;
use arrow::array::Time64MicrosecondBuilder;
use arrow::array::TimestampMicrosecondBuilder;
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::error::ArrowError;
use arrow_buffer::NullBufferBuilder;
use arrow_buffer::ScalarBuffer;

use super::arrays::Elements;
use super::numeric::Numeric;
use super::types::Cell;
use crate::spelling;

/// Days and microseconds from 1970 to 2000, where Postgres begins to count.
pub(super) const DAYS_TO_2000: i32 = 10_957;
pub(super) const MICROS_TO_2000: i64 = 946_684_800_000_000;
const MICROS_A_DAY: i64 = 86_400_000_000;

/// A column that is being made.
#[derive(Debug)]
pub(super) enum Cells {
    Bool(BooleanBuilder),
    Int16(Int16Builder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float32(Float32Builder),
    Float64(Float64Builder),
    Text(StringBuilder),
    Jsonb(StringBuilder),
    Uuid(StringBuilder),
    Bytes(BinaryBuilder),
    Date(Date32Builder),
    Time(Time64MicrosecondBuilder),
    Timestamp(TimestampMicrosecondBuilder),
    TimestampTz(TimestampMicrosecondBuilder),
    Decimal(Decimal128Builder, u8, i8),
    Digits(StringBuilder),
    List(Box<Lists>),
}

/// A column of lists that is being made.
#[derive(Debug)]
pub(super) struct Lists {
    items: Cells,
    item_type: DataType,
    ends: Vec<i32>,
    count: i32,
    nulls: NullBufferBuilder,
}

impl Cells {
    /// A column without rows; room for `rows` of them.
    pub(super) fn new(cell: &Cell, rows: usize) -> Self {
        match cell {
            Cell::Bool => Self::Bool(BooleanBuilder::with_capacity(rows)),
            Cell::Int16 => Self::Int16(Int16Builder::with_capacity(rows)),
            Cell::Int32 => Self::Int32(Int32Builder::with_capacity(rows)),
            Cell::Int64 => Self::Int64(Int64Builder::with_capacity(rows)),
            Cell::Float32 => Self::Float32(Float32Builder::with_capacity(rows)),
            Cell::Float64 => Self::Float64(Float64Builder::with_capacity(rows)),
            Cell::Text => Self::Text(StringBuilder::with_capacity(rows, 0)),
            Cell::Jsonb => Self::Jsonb(StringBuilder::with_capacity(rows, 0)),
            Cell::Uuid => Self::Uuid(StringBuilder::with_capacity(rows, 36 * rows)),
            Cell::Bytes => Self::Bytes(BinaryBuilder::with_capacity(rows, 0)),
            Cell::Date => Self::Date(Date32Builder::with_capacity(rows)),
            Cell::Time => Self::Time(Time64MicrosecondBuilder::with_capacity(rows)),
            Cell::Timestamp => Self::Timestamp(TimestampMicrosecondBuilder::with_capacity(rows)),
            Cell::TimestampTz => Self::TimestampTz(
                TimestampMicrosecondBuilder::with_capacity(rows).with_timezone("UTC"),
            ),
            Cell::Decimal(precision, scale) => {
                let decimals = Decimal128Builder::with_capacity(rows);
                let decimals = decimals.with_data_type(DataType::Decimal128(*precision, *scale));
                Self::Decimal(decimals, *precision, *scale)
            }
            Cell::Digits => Self::Digits(StringBuilder::with_capacity(rows, 0)),
            Cell::List(item) => Self::List(Box::new(Lists {
                items: Self::new(item, rows),
                item_type: item.data_type(),
                ends: Vec::with_capacity(rows + 1),
                count: 0,
                nulls: NullBufferBuilder::new(rows),
            })),
        }
    }

    /// Adds a value as it was sent, NULL as `None`; says how many bytes it takes beyond those that were sent.
    ///
    /// # Errors
    /// What is wrong with it. The column is of no use then.
    pub(super) fn push(&mut self, raw: Option<&[u8]>) -> Result<usize, String> {
        let Some(raw) = raw else {
            self.push_null();
            return Ok(0);
        };
        match self {
            Self::Bool(cells) => cells.append_value(fixed(raw)? != [0_u8]),
            Self::Int16(cells) => cells.append_value(i16::from_be_bytes(fixed(raw)?)),
            Self::Int32(cells) => cells.append_value(i32::from_be_bytes(fixed(raw)?)),
            Self::Int64(cells) => cells.append_value(i64::from_be_bytes(fixed(raw)?)),
            Self::Float32(cells) => cells.append_value(f32::from_be_bytes(fixed(raw)?)),
            Self::Float64(cells) => cells.append_value(f64::from_be_bytes(fixed(raw)?)),
            Self::Text(cells) => cells.append_value(text(raw)?),
            Self::Jsonb(cells) => match raw.split_first() {
                Some((1, json)) => cells.append_value(text(json)?),
                _ => return Err("it is jsonb of another version".to_owned()),
            },
            Self::Uuid(cells) => uuid(cells, fixed(raw)?),
            Self::Bytes(cells) => cells.append_value(raw),
            Self::Date(cells) => cells.append_value(day(i32::from_be_bytes(fixed(raw)?))?),
            Self::Time(cells) => cells.append_value(time(i64::from_be_bytes(fixed(raw)?))?),
            Self::Timestamp(cells) | Self::TimestampTz(cells) => {
                cells.append_value(moment(i64::from_be_bytes(fixed(raw)?))?);
            }
            Self::Decimal(cells, precision, scale) => {
                let sent = numeric(raw)?;
                let value = sent.unscaled(*precision, *scale).map_err(|why| {
                    let due = spelling::spelt(&DataType::Decimal128(*precision, *scale));
                    format!("`{sent}` is not {due}: {why}")
                })?;
                cells.append_value(value);
            }
            Self::Digits(cells) => {
                let before = cells.values_slice().len();
                // Writing to a builder cannot fail.
                let _ = write!(cells, "{}", numeric(raw)?);
                cells.append_value("");
                // Few bytes may stand for very many digits.
                return Ok(cells.values_slice().len() - before);
            }
            Self::List(lists) => return lists.push(raw),
        }
        Ok(0)
    }

    fn push_null(&mut self) {
        match self {
            Self::Bool(cells) => cells.append_null(),
            Self::Int16(cells) => cells.append_null(),
            Self::Int32(cells) => cells.append_null(),
            Self::Int64(cells) => cells.append_null(),
            Self::Float32(cells) => cells.append_null(),
            Self::Float64(cells) => cells.append_null(),
            Self::Text(cells) | Self::Jsonb(cells) | Self::Uuid(cells) | Self::Digits(cells) => {
                cells.append_null();
            }
            Self::Bytes(cells) => cells.append_null(),
            Self::Date(cells) => cells.append_null(),
            Self::Time(cells) => cells.append_null(),
            Self::Timestamp(cells) | Self::TimestampTz(cells) => cells.append_null(),
            Self::Decimal(cells, ..) => cells.append_null(),
            Self::List(lists) => {
                lists.ends.push(lists.count);
                lists.nulls.append_null();
            }
        }
    }

    /// The column so far; afterwards it has no rows again.
    ///
    /// # Errors
    /// Where Arrow does not take it; a bug of ours.
    pub(super) fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        Ok(match self {
            Self::Bool(cells) => Arc::new(cells.finish()),
            Self::Int16(cells) => Arc::new(cells.finish()),
            Self::Int32(cells) => Arc::new(cells.finish()),
            Self::Int64(cells) => Arc::new(cells.finish()),
            Self::Float32(cells) => Arc::new(cells.finish()),
            Self::Float64(cells) => Arc::new(cells.finish()),
            Self::Text(cells) | Self::Jsonb(cells) | Self::Uuid(cells) | Self::Digits(cells) => {
                Arc::new(cells.finish())
            }
            Self::Bytes(cells) => Arc::new(cells.finish()),
            Self::Date(cells) => Arc::new(cells.finish()),
            Self::Time(cells) => Arc::new(cells.finish()),
            Self::Timestamp(cells) | Self::TimestampTz(cells) => Arc::new(cells.finish()),
            Self::Decimal(cells, ..) => Arc::new(cells.finish()),
            Self::List(lists) => lists.finish()?,
        })
    }
}

impl Lists {
    fn push(&mut self, raw: &[u8]) -> Result<usize, String> {
        let mut elements = Elements::read(raw)?;
        let mut beyond = 0;
        while let Some(element) = elements.next_element() {
            beyond += self.items.push(element?)?;
            self.count =
                self.count.checked_add(1).ok_or("a batch has too many elements of lists")?;
        }
        self.ends.push(self.count);
        self.nulls.append_non_null();
        Ok(beyond)
    }

    fn finish(&mut self) -> Result<ArrayRef, ArrowError> {
        let offsets: Vec<i32> = std::iter::once(0).chain(self.ends.drain(..)).collect();
        self.count = 0;
        let item = Arc::new(Field::new_list_field(self.item_type.clone(), true));
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        let lists = ListArray::try_new(item, offsets, self.items.finish()?, self.nulls.finish())?;
        Ok(Arc::new(lists))
    }
}

fn fixed<const N: usize>(raw: &[u8]) -> Result<[u8; N], String> {
    raw.try_into().map_err(|_| format!("{} bytes were sent where {N} are due", raw.len()))
}

fn text(raw: &[u8]) -> Result<&str, String> {
    // A database without an encoding keeps any bytes.
    std::str::from_utf8(raw).map_err(|_| "its text is not UTF-8".to_owned())
}

fn numeric(raw: &[u8]) -> Result<Numeric<'_>, String> {
    Numeric::read(raw).ok_or_else(|| "what was sent is no numeric".to_owned())
}

fn uuid(cells: &mut StringBuilder, raw: [u8; 16]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut spelt = [b'-'; 36];
    let mut at = 0;
    for (index, byte) in raw.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            at += 1;
        }
        spelt[at] = DIGITS[usize::from(byte >> 4)];
        spelt[at + 1] = DIGITS[usize::from(byte & 15)];
        at += 2;
    }
    cells.append_value(str::from_utf8(&spelt).unwrap_or_else(|_| unreachable!("digits are text")));
}

fn day(sent: i32) -> Result<i32, String> {
    match sent {
        i32::MAX => Err("`infinity` is no date".to_owned()),
        i32::MIN => Err("`-infinity` is no date".to_owned()),
        sent => sent.checked_add(DAYS_TO_2000).ok_or_else(|| "it is a date too far off".to_owned()),
    }
}

fn time(sent: i64) -> Result<i64, String> {
    // A column of times ends before the day does.
    match sent {
        0..MICROS_A_DAY => Ok(sent),
        MICROS_A_DAY => Err("`24:00:00` is no time of a day".to_owned()),
        _ => Err("what was sent is no time of a day".to_owned()),
    }
}

fn moment(sent: i64) -> Result<i64, String> {
    match sent {
        i64::MAX => Err("`infinity` is no timestamp".to_owned()),
        i64::MIN => Err("`-infinity` is no timestamp".to_owned()),
        sent => sent
            .checked_add(MICROS_TO_2000)
            .ok_or_else(|| "it is a timestamp too far off".to_owned()),
    }
}
