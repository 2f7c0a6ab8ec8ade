//! What is where a destination in an object store should be.

use std::collections::HashSet;

use super::STAGING;
use super::Survey;
use super::TargetState;
use crate::storage::StorageError;
use crate::storage::encode::Endings;
use crate::storage::listing::SourceFile;
use crate::storage::listing::is_data_name;
use crate::storage::manifest;
use crate::storage::naming;
use crate::storage::store::StoreAddress;

/// How many names an error lists.
const NAMES_MAX: usize = 5;

/// What a destination cannot be written beside: an object of its own name.
pub(super) fn not_a_folder(place: &StoreAddress) -> Result<Option<TargetState>, StorageError> {
    Ok(place.look()?.map(|_| TargetState::Unusable {
        what: "an object is there, where the destination needs a folder".to_owned(),
        hint: "name a folder; the files in it get names of their own".to_owned(),
    }))
}

/// All objects below a place, by what they are. Manifests of ours are passed over.
pub(super) fn survey(
    place: &StoreAddress,
    endings: Endings,
    found: &mut Survey,
) -> Result<(), StorageError> {
    let listed = place.list()?;
    let folders: HashSet<&str> = listed.iter().flat_map(|facts| folders(&facts.below)).collect();
    for facts in &listed {
        let (below, size) = (facts.below.as_str(), facts.size);
        let top = below.split('/').next().unwrap_or_default();
        let is_bookkeeping =
            below.contains('/') && (top == manifest::FOLDER || top.starts_with(STAGING));
        let name = below.rsplit('/').next().unwrap_or_default();
        let visible = below.split('/').all(is_data_name);
        // Some tools mark folders by objects without bytes.
        let is_mark = size == 0 && visible && (folders.contains(below) || !name.contains('.'));
        if is_bookkeeping || is_mark {
            continue;
        }
        let address = place.join(below);
        if !visible {
            found.others.push(address.shown().to_owned());
        } else if endings.stripped_from(name).is_some() {
            let (modified, e_tag) = (facts.modified, facts.e_tag.clone());
            found.data.push(SourceFile::in_store(address, size, modified, e_tag));
        } else {
            found.other_data.push(address.shown().to_owned());
        }
    }
    Ok(())
}

/// The folders that a key is in.
fn folders(below: &str) -> impl Iterator<Item = &str> {
    below.match_indices('/').map(|(at, _)| &below[..at])
}

/// A place without a Delta log that is to become a table: it may hold what a run of ours left, and nothing else.
pub(super) fn beside_table(place: &StoreAddress) -> Result<TargetState, StorageError> {
    if let Some(unusable) = not_a_folder(place)? {
        return Ok(unusable);
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
