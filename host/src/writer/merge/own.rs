//! The columns that a merge writes itself: what their values can be, and which of them an edit or a new row gets.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BooleanArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::new_null_array;
use arrow::compute::cast;
use arrow::compute::concat;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;

use super::Intake;
use super::decision::Edit;
use super::decision::State;
use crate::table::IS_DELETED;
use crate::table::Rows;
use crate::writer::Target;

/// All of them, for one state of the table.
pub(super) struct Own {
    pub(super) columns: Vec<OwnColumn>,
}

pub(super) struct OwnColumn {
    pub(super) name: String,
    kind: Kind,
    /// What a row can get.
    pub(super) values: ArrayRef,
    /// The column of the staged rows that new rows get instead.
    pub(super) from: Option<String>,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Values: false, true.
    IsDeleted,
    /// Values: NULL, the run's time.
    DeletedAt,
    /// A new row's effective value; never changes.
    ValidFrom,
    /// Values: NULL, then all ends.
    ValidTo,
    /// Values: false, true.
    IsCurrent,
}

impl Own {
    pub(super) fn new(
        intake: &Intake,
        target: &Target,
        ends: &[Box<[u8]>],
    ) -> Result<Self, ArrowError> {
        let columns = intake.merge.own_columns().into_iter().map(|name| {
            let data_type = intake.landing.table.field_with_name(name)?.data_type();
            let (kind, from) = match &intake.merge.rows {
                Rows::Version(by) if name == by.valid_from.as_str() => {
                    (Kind::ValidFrom, Some(by.effective.as_str().to_owned()))
                }
                Rows::Version(by) if name == by.valid_to.as_str() => (Kind::ValidTo, None),
                Rows::Version(_) => (Kind::IsCurrent, None),
                Rows::Update(_) | Rows::Group {} if name == IS_DELETED => (Kind::IsDeleted, None),
                Rows::Update(_) | Rows::Group {} => (Kind::DeletedAt, None),
            };
            let values: ArrayRef = match kind {
                Kind::IsDeleted | Kind::IsCurrent => {
                    Arc::new(BooleanArray::from(vec![false, true]))
                }
                Kind::DeletedAt => {
                    let now = target.run.started_at.timestamp_micros();
                    let now = TimestampMicrosecondArray::from(vec![None, Some(now)]);
                    cast(&now.with_timezone("UTC"), data_type)?
                }
                Kind::ValidFrom => new_null_array(data_type, 1),
                Kind::ValidTo => null_and(intake, data_type, ends)?,
            };
            Ok(OwnColumn { name: name.to_owned(), kind, values, from })
        });
        Ok(Self { columns: columns.collect::<Result<_, ArrowError>>()? })
    }
}

/// NULL, then the moments.
fn null_and(
    intake: &Intake,
    data_type: &DataType,
    ends: &[Box<[u8]>],
) -> Result<ArrayRef, ArrowError> {
    let null = new_null_array(data_type, 1);
    if ends.is_empty() {
        return Ok(null);
    }
    let ends = intake.moment.values(ends.iter().map(AsRef::as_ref))?;
    concat(&[null.as_ref(), cast(&ends, data_type)?.as_ref()])
}

impl OwnColumn {
    /// The value that an edited row gets, by its place among the values; `None` where it keeps its own.
    pub(super) fn edited(&self, edit: Edit) -> Option<usize> {
        match (self.kind, edit) {
            (Kind::IsDeleted, Edit::Take(_)) | (Kind::DeletedAt, Edit::Take(_) | Edit::Bury(_)) => {
                Some(0)
            }
            (Kind::IsDeleted, Edit::Bury(_) | Edit::Mark) | (Kind::DeletedAt, Edit::Mark) => {
                Some(1)
            }
            (Kind::ValidTo, Edit::End { end, .. }) => Some(end as usize + 1),
            (Kind::IsCurrent, Edit::End { .. }) => Some(0),
            (Kind::ValidFrom, _)
            | (Kind::ValidTo | Kind::IsCurrent, _)
            | (Kind::IsDeleted | Kind::DeletedAt, Edit::Remove | Edit::End { .. }) => None,
        }
    }

    /// The value that a new row gets, by its place among the values.
    pub(super) fn inserted(&self, state: State) -> u64 {
        match (self.kind, state) {
            (Kind::ValidTo, State::Ended(end)) => u64::from(end) + 1,
            (Kind::IsDeleted, State::Buried) | (Kind::IsCurrent, State::Live) => 1,
            (Kind::IsDeleted | Kind::DeletedAt | Kind::ValidFrom | Kind::ValidTo, _)
            | (Kind::IsCurrent, State::Buried | State::Ended(_)) => 0,
        }
    }
}
