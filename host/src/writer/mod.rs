//! Writers: rows are staged where nobody sees them, a change is prepared against the target, then one commit shows it.

use arrow::array::RecordBatch;
use futures::future::BoxFuture;

use crate::table::Commit;
use crate::table::Counts;
use crate::table::TableChange;

/// One destination being written by one run. Dropped at any point before the commit, nothing of it is visible.
pub trait Writer: Send {
    /// Takes rows of the destination's final schema to files that no reader sees.
    fn stage<'a>(&'a mut self, rows: &'a RecordBatch) -> BoxFuture<'a, Result<(), WriteError>>;

    /// Closes the staged files, reads the target anew, judges the guards of `change` and counts. Still nothing is visible.
    fn prepare(self: Box<Self>, change: TableChange) -> BoxFuture<'static, Result<Box<dyn Prepared>, WriteError>>;

    /// Removes what was staged.
    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>>;
}

/// A change that can be committed as it is.
pub trait Prepared: Send {
    /// What the commit will do, exact.
    fn counts(&self) -> Counts;

    /// Makes the change visible, whole or not at all. Again with the same run id: nothing is written twice.
    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>>;

    /// Removes what was staged.
    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>>;
}
