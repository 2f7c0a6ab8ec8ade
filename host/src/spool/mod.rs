//! What has to wait for the end of the input: rows, and which of them share a key. Both spill to files without a name, so that
//! memory is bounded by a setting and not by the data.

mod bytes;
mod groups;
mod rows;
mod sorter;

pub use bytes::ManyBytes;
pub use bytes::RowBytes;
pub use bytes::seed;
pub use bytes::terms;
pub use groups::Groups;
pub use groups::Member;
pub use rows::Spool;
pub use rows::bytes_of;
pub use sorter::Sorter;

use std::fs;
use std::fs::File;
use std::path::Path;

use crate::storage::StorageError;

/// A file without a name in the folder, which is made if it is not there.
fn unnamed(folder: &Path) -> Result<File, StorageError> {
    let failed = || StorageError::io(folder, "spill into it");
    fs::create_dir_all(folder).map_err(failed())?;
    tempfile::tempfile_in(folder).map_err(failed())
}
