//! What is where a destination in an object store should be.

use super::TargetState;
use crate::storage::StorageError;
use crate::storage::manifest;
use crate::storage::naming;
use crate::storage::store::StoreAddress;

/// How many names an error lists.
const NAMES_MAX: usize = 5;

/// A place without a Delta log that is to become a table: it may hold what a run of ours left, and nothing else.
pub(super) fn beside_table(place: &StoreAddress) -> Result<TargetState, StorageError> {
    if place.look()?.is_some() {
        return Ok(TargetState::Unusable {
            what: "an object is there, where the destination needs a folder".to_owned(),
            hint: "name a folder; the files in it get names of their own".to_owned(),
        });
    }
    let listed = place.list()?;
    let is_flat =
        listed.iter().any(|facts| facts.below.split('/').next() == Some(manifest::FOLDER));
    let others = listed.iter().map(|facts| facts.below.as_str()).filter(|below| {
        let name = below.rsplit('/').next().unwrap_or_default();
        !naming::is_ours(name) && !below.starts_with("_delta_log/")
    });
    let names: Vec<_> = others.take(NAMES_MAX).map(|name| format!("`{name}`")).collect();
    let what = match (is_flat, names.as_slice()) {
        (true, _) => {
            "the folder is no Delta table, but holds flat files that wasmhost wrote".to_owned()
        }
        (false, []) => return Ok(TargetState::Absent),
        (false, names) => {
            format!("the folder is no Delta table, but holds other files: {}", names.join(", "))
        }
    };
    Ok(TargetState::Unusable {
        what,
        hint: "name an empty or new folder, or the table's own".to_owned(),
    })
}
