//! Rows in order. They are ordered beyond memory, and keep their places of origin where all come from one file.

use std::sync::Arc;

use arrow::datatypes::Schema;
use arrow::error::ArrowError;

use crate::batch::Batch;
use crate::name::ColumnName;
use crate::run::chain::Holding;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::spool::RowBytes;
use crate::spool::Sorter;
use crate::spool::terms;
use crate::table::OrderBy;

/// An order of rows of one schema.
#[derive(Debug)]
pub(super) struct Sort(Arc<RowBytes>);

impl Sort {
    /// Reads the order off rows of this schema.
    pub(super) fn new(rows: &Schema, by: &[OrderBy]) -> Result<Self, String> {
        Ok(Self(Arc::new(ordering(rows, by)?)))
    }

    /// No rows yet.
    pub(super) fn begin(&self, room: &Room) -> Sorter {
        Sorter::new(Arc::clone(&self.0), room.folder.clone(), room.memory_max)
    }
}

impl Holding for Sorter {
    fn push(&mut self, batch: Batch) -> Result<(), RunError> {
        Ok(Self::push(self, batch)?)
    }

    fn finish(self, take: &mut dyn FnMut(Batch) -> bool) -> Result<u64, RunError> {
        for batch in Self::finish(self)? {
            if !take(batch?) {
                break;
            }
        }
        Ok(0)
    }
}

/// What orders rows of this schema.
pub(super) fn ordering(rows: &Schema, by: &[OrderBy]) -> Result<RowBytes, String> {
    known(rows, by.iter().map(|by| &by.column))?;
    RowBytes::new(rows, terms(by)).map_err(unordered)
}

/// Why rows cannot be ordered or grouped by columns.
pub(super) fn unordered(error: ArrowError) -> String {
    format!("its columns cannot be ordered: {error}")
}

/// All of these columns are there.
pub(super) fn known<'a>(
    rows: &Schema,
    columns: impl Iterator<Item = &'a ColumnName>,
) -> Result<(), String> {
    let missing: Vec<_> = columns
        .filter(|name| rows.field_with_name(name.as_str()).is_err())
        .map(|name| format!("`{name}`"))
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let all: Vec<_> = rows.fields().iter().map(|field| field.name().as_str()).collect();
    Err(format!("there is no column {}; the rows have {}", missing.join(", "), all.join(", ")))
}
