//! What happens once: a run that has landed before, and a target that somebody makes.

use super::Goes;
use super::Waiting;
use super::judge::Seen;
use crate::storage::address::Address;
use crate::storage::manifest;
use crate::storage::target::TargetState;
use crate::table::Counts;
use crate::table::IfExists;
use crate::table::TableChange;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::must_be_new;
use crate::writer::there_already;

/// Refuses a target that must be new and is there, before any row is staged.
pub(super) fn check_new(target: &Target, state: &TargetState) -> Result<(), WriteError> {
    let is_there = matches!(state, TargetState::Folder(folder) if folder.is_table);
    match must_be_new(target) && is_there && !landed_before(target, &target.address)? {
        true => Err(there_already(target)),
        false => Ok(()),
    }
}

/// Whether this run has landed in the folder before.
pub(super) fn landed_before(target: &Target, folder: &Address) -> Result<bool, WriteError> {
    let run = &target.run;
    let Some(found) = manifest::find(folder, &run.run_id)? else { return Ok(false) };
    if (&found.flow, &found.destination) == (&run.flow, &run.destination) {
        return Ok(true);
    }
    let what = format!(
        "run `{}` has written here before, as destination `{}` of flow `{}`",
        run.run_id, found.destination, found.flow
    );
    Err(WriteError::Guard {
        path: target.path().to_owned(),
        what,
        hint: "one folder per destination; another run id for another flow".to_owned(),
    })
}

impl Waiting {
    /// What a run does that makes the target: nothing goes, or it is there already.
    pub(super) fn made(&self, seen: &Seen, if_exists: IfExists) -> Result<Goes, WriteError> {
        let (manifests, counted) = (&seen.manifests.current, self.counted(seen));
        let is_there = seen.found.as_ref().is_some_and(|found| found.is_table(manifests, &counted));
        match (is_there, if_exists) {
            (false, _) => Ok(Goes::Nothing),
            (true, IfExists::Skip) => Ok(Goes::Skipped),
            (true, IfExists::Refuse) => Err(there_already(&self.place.target)),
        }
    }

    /// The counts of a run that made the target before, and finds it now: as a table's, its rows are there.
    pub(super) fn made_before(&self) -> Result<Option<Counts>, WriteError> {
        let target = &self.place.target;
        if !matches!(target.change, TableChange::Create { .. }) || !self.landed_before()? {
            return Ok(None);
        }
        Ok(Some(unchanged(self.staged.rows)))
    }
}

/// The counts where no row of a run is written.
pub(super) fn unchanged(rows: u64) -> Counts {
    Counts { rows_written: rows, rows_unchanged: rows, rows_deleted: Some(0), ..Counts::default() }
}
