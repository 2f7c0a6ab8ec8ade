//! Files in a store: they are in their places already, and the manifest is put, which makes them count; then what they replace is
//! deleted.
//!
//! A store has no lock that goes with the process that holds it. Manifests that replace files, or make the target, are numbered
//! instead, and nobody has a number twice: whoever finds theirs taken looks again at what goes.

use std::collections::HashSet;
use std::path::PathBuf;

use super::FlatPrepared;
use super::Waiting;
use super::WriteError;
use super::judge::Goes;
use super::judge::Seen;
use super::unknown;
use crate::storage::StorageError;
use crate::storage::listing::SourceFile;
use crate::storage::manifest;
use crate::storage::manifest::Manifest;
use crate::storage::manifest::Put;
use crate::storage::manifest::Slot;
use crate::storage::store::StoreAddress;
use crate::storage::store::is_unanswered;
use crate::table::Commit;
use crate::table::TableChange;

/// How often a run that replaces files looks again, because others have replaced some.
const TRIES_MAX: usize = 10;

impl FlatPrepared {
    /// Makes the files count that are in the store, instead of those that go.
    pub(super) async fn land_in(&self, place: &StoreAddress) -> Result<Commit, WriteError> {
        let Self { waiting, goes, counts: _ } = self;
        let target = &waiting.place.target;
        for _ in 0..TRIES_MAX {
            if waiting.landed_before()? {
                // The run may have died right behind its manifest.
                let seen = waiting.look().map_err(|error| unknown(target, error))?;
                remove(place, waiting.replaced(&seen)).map_err(|error| unknown(target, error))?;
                return Ok(Commit::AlreadyApplied(None));
            }
            // Somebody may have replaced all there was by rows with other columns.
            waiting.fits().await?;
            let seen = waiting.look()?;
            match waiting.goes(&seen)? {
                Goes::Skipped => return Ok(Commit::Skipped),
                now if now == *goes => {}
                _ => return Err(waiting.conflict("its files have changed since they were judged")),
            }
            // A number counts for what goes only as long as all that went before is gone.
            remove(place, waiting.replaced(&seen))?;
            let slot = match &target.change {
                TableChange::Append {} => Slot::Run,
                TableChange::Create { .. }
                | TableChange::Replace { .. }
                | TableChange::Merge(_) => Slot::Replacing(seen.manifests.next),
            };
            match waiting.manifest(goes).put(place, slot) {
                Ok(Put::Landed) => return self.landed(place, &seen),
                Ok(Put::Taken) => {}
                // The manifest decides.
                Err(error) => match manifest::find(&waiting.place.folder, &target.run.run_id) {
                    Ok(Some(found)) if waiting.is_own(&found) => return self.landed(place, &seen),
                    // That of an earlier try has come after all: the next look finds it.
                    Ok(Some(_)) => {}
                    // It may come yet, and would name files that are deleted by then.
                    Ok(None) if is_unanswered(&error) => return Err(unknown(target, error)),
                    Ok(None) => return Err(error.into()),
                    Err(_) => return Err(unknown(target, error)),
                },
            }
        }
        Err(waiting.conflict("other runs have been replacing files all the time"))
    }

    /// What is left to do when the manifest is there.
    fn landed(&self, place: &StoreAddress, seen: &Seen) -> Result<Commit, WriteError> {
        let gone = match &self.goes {
            Goes::Nothing | Goes::Skipped | Goes::Folder { .. } => Ok(()),
            Goes::Files(files) | Goes::All { files, .. } => remove(place, files),
        };
        // Only now: until this manifest is there, that of an earlier try may come yet, and would name them.
        let gone = gone.and_then(|()| remove(place, self.waiting.of_earlier_tries(seen)));
        // Who does not look at manifests would see the old rows beside the new ones: a retry removes them.
        gone.map_err(|error| unknown(&self.waiting.place.target, error))?;
        Ok(Commit::Applied(self.counts, None))
    }
}

impl Waiting {
    /// Files that earlier tries of this run have left.
    fn of_earlier_tries<'a>(&self, seen: &'a Seen) -> Vec<&'a SourceFile> {
        let folder = self.place.folder.shown();
        let own: HashSet<PathBuf> =
            self.staged.files.iter().map(|file| folder.join(&file.path)).collect();
        self.of_this_run(seen).into_iter().filter(|file| !own.contains(&file.path)).collect()
    }

    /// Whether the manifest is of this try.
    fn is_own(&self, manifest: &Manifest) -> bool {
        let (named, staged) = (&manifest.files, &self.staged.files);
        named.iter().map(|file| &file.path).eq(staged.iter().map(|file| &file.path))
    }
}

/// Deletes objects.
fn remove<'a>(
    place: &StoreAddress,
    files: impl IntoIterator<Item = &'a SourceFile>,
) -> Result<(), StorageError> {
    place.remove_each(files.into_iter().filter_map(SourceFile::object).map(|(object, _)| object))
}
