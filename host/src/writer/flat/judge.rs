//! What a commit does to a folder, decided from what lies in it and what is staged. Reads, and changes nothing.

use crate::problem;
use crate::problem::Code;
use crate::problem::Problem;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::encode::Endings;
use crate::storage::listing::SourceFile;
use crate::storage::manifest;
use crate::storage::manifest::Manifest;
use crate::storage::manifest::ManifestFile;
use crate::storage::manifest::Manifests;
use crate::storage::manifest::RemovedFile;
use crate::storage::partition;
use crate::storage::target;
use crate::storage::target::Survey;
use crate::table::RunId;
use crate::table::Scope;
use crate::table::TableChange;
use crate::writer::Target;
use crate::writer::WriteError;

use super::Place;
use super::Waiting;
use super::part::Part;
use super::part::Partitions;
use super::part::Which;

/// What goes when the staged files come, as it was found: a change of it is a conflict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Goes {
    Nothing,
    /// Nothing goes and nothing comes: the target was to be made, and is there.
    Skipped,
    /// The folder with all that is in it; nothing where it is not there. A file that was there may count only since: the runs tell.
    Folder {
        found: Option<Survey>,
        runs: Vec<RunId>,
    },
    /// These files.
    Files(Vec<SourceFile>),
    /// All files that count in a store, and the runs that they are of: it has no folder to put in the place of another.
    All {
        files: Vec<SourceFile>,
        runs: Vec<RunId>,
    },
}

/// What lies in the folder, all of it at one moment.
pub(super) struct Seen {
    pub(super) manifests: Manifests,
    /// `None` where no folder is there.
    pub(super) found: Option<Survey>,
}

impl Seen {
    /// The runs whose rows count.
    fn runs(&self) -> Vec<RunId> {
        self.manifests.current.iter().map(|manifest| manifest.run_id.clone()).collect()
    }
}

/// How many names an error lists.
const NAMES_MAX: usize = 5;

impl Waiting {
    /// What goes.
    pub(super) fn goes(&self, seen: &Seen) -> Result<Goes, WriteError> {
        let Place { target, folder, .. } = &self.place;
        let path = folder.shown();
        let Some(part) = self.part()? else {
            return Ok(match (&target.change, folder) {
                (TableChange::Replace { .. }, Address::Disk(_)) => {
                    Goes::Folder { found: seen.found.clone(), runs: seen.runs() }
                }
                (TableChange::Replace { .. }, Address::Store(_)) => {
                    Goes::All { files: self.counted(seen), runs: seen.runs() }
                }
                (TableChange::Create { if_exists }, _) => self.made(seen, *if_exists)?,
                // `fit` lets no merge pass.
                (TableChange::Append {} | TableChange::Merge(_), _) => Goes::Nothing,
            });
        };
        self.guard(&part)?;
        let Some(found) = &seen.found else { return Ok(Goes::Files(Vec::new())) };
        let foreign = [found.others.as_slice(), &found.other_data].concat();
        let foreign = part.others(path, &foreign);
        if !foreign.is_empty() {
            let names = foreign
                .iter()
                .take(NAMES_MAX)
                .map(|file| format!("`{}`", file.strip_prefix(path).unwrap_or(file).display()));
            let what = format!(
                "the part that is replaced holds files that are not the destination's: {}",
                names.collect::<Vec<_>>().join(", ")
            );
            let at = problem::Place::field(target.path().display().to_string(), "path");
            let problem = Problem::new(Code::WrongValue, at, what).hint("move them away");
            return Err(WriteError::Refused(vec![problem]));
        }
        Ok(Goes::Files(part.files(path, &self.counted(seen))?))
    }

    /// The files that count.
    pub(super) fn counted(&self, seen: &Seen) -> Vec<SourceFile> {
        let files = seen.found.as_ref().map(|found| found.data.clone()).unwrap_or_default();
        manifest::counted(self.place.folder.shown(), &seen.manifests.current, files)
    }

    /// How many rows these files have, where that is known.
    pub(super) fn rows(
        &self,
        seen: &Seen,
        files: &[SourceFile],
    ) -> Result<Option<u64>, StorageError> {
        let Place { target, folder, .. } = &self.place;
        target::rows(folder.shown(), &target.format, files, &seen.manifests.current)
    }

    /// The files that runs have replaced and not deleted.
    pub(super) fn replaced<'a>(&self, seen: &'a Seen) -> Vec<&'a SourceFile> {
        let files = seen.found.as_ref().map_or(&[][..], |found| &found.data);
        manifest::replaced(self.place.folder.shown(), &seen.manifests.current, files)
    }

    /// The part that is replaced; `None` where that is nothing or all.
    fn part(&self) -> Result<Option<Part>, WriteError> {
        let target = &self.place.target;
        let TableChange::Replace { scope, .. } = &target.change else { return Ok(None) };
        let (path, columns) = (target.path(), &target.partition_columns);
        let which = match scope {
            Scope::All if target.date_folders.is_some() => {
                return Ok(Some(Part::Below(target.date_folder())));
            }
            // `fit` lets no predicate pass.
            Scope::All | Scope::Predicate(_) => return Ok(None),
            Scope::Partitions => {
                Which::Of(self.staged.files.iter().map(|file| file.values.clone()).collect())
            }
            Scope::Partition { column, value } => {
                let Some(place) = columns.iter().position(|known| known == column) else {
                    return Ok(None);
                };
                Which::With(place, value.clone())
            }
        };
        let types = partition::types(&self.staged.landing, columns)
            .map_err(StorageError::library(path, "find its partition columns"))?;
        let which = match which {
            Which::With(place, value) => {
                let mut spelt = vec![None; types.len()];
                spelt[place] = Some(value);
                let spelt = partition::respelt(&spelt, &types).map_err(|error| {
                    StorageError::data(path, DataPlace::default(), error.to_string())
                })?;
                Which::With(place, spelt[place].clone().unwrap_or_default())
            }
            of => of,
        };
        Ok(Some(Part::Partitions(Partitions { columns: columns.clone(), types, which })))
    }

    /// The guard of staged rows: one of another partition would not be replaced next time.
    fn guard(&self, part: &Part) -> Result<(), WriteError> {
        let Part::Partitions(Partitions { columns, which: Which::With(place, value), .. }) = part
        else {
            return Ok(());
        };
        let outside = |values: &partition::Values| values[*place].as_ref() != Some(value);
        let outside = self.staged.files.iter().filter(|file| outside(&file.values));
        let rows: u64 = outside.map(|file| file.rows).sum();
        if rows == 0 {
            return Ok(());
        }
        let column = &columns[*place];
        Err(WriteError::Guard {
            path: self.place.target.path().to_owned(),
            what: format!(
                "{rows} row(s) are not among those that are replaced, where `{column}` is `{value}`"
            ),
            hint: "leave such rows out, or replace their partitions by `overwrite_partitions`"
                .to_owned(),
        })
    }

    /// What lies in the folder.
    pub(super) fn look(&self) -> Result<Seen, StorageError> {
        let Place { target, folder, .. } = &self.place;
        let survey = || match folder {
            Address::Disk(path) if !path.exists() => Ok(None),
            there => target::survey(there, Endings::of(&target.format)).map(Some),
        };
        let (manifests, found) = manifest::beside(folder, survey)?;
        Ok(Seen { manifests, found })
    }

    /// What the manifest says when these files go.
    pub(super) fn manifest(&self, goes: &Goes) -> Manifest {
        let Target { run, format, partition_columns, date_folders, .. } = &self.place.target;
        let files = self.staged.files.iter().map(|file| ManifestFile {
            path: file.path.clone(),
            rows: file.rows,
            bytes: file.bytes,
        });
        let files: Vec<_> = files.collect();
        let (removed, replaced_runs) = match goes {
            Goes::Nothing | Goes::Skipped | Goes::Folder { .. } => (&[][..], &[][..]),
            Goes::Files(files) => (files.as_slice(), &[][..]),
            Goes::All { files, runs } => (files.as_slice(), runs.as_slice()),
        };
        let folder = self.place.folder.shown();
        Manifest {
            run_id: run.run_id.clone(),
            flow: run.flow.clone(),
            destination: run.destination.clone(),
            started_at: run.started_at,
            format: format.name().to_owned(),
            replaced: matches!(goes, Goes::Folder { .. } | Goes::All { .. }),
            rows: files.iter().map(|file| file.rows).sum(),
            bytes: files.iter().map(|file| file.bytes).sum(),
            columns: manifest::columns(&self.staged.landing),
            partition_columns: partition_columns
                .iter()
                .map(|column| column.as_str().to_owned())
                .collect(),
            date_folders: date_folders.as_ref().map(|folders| folders.as_str().to_owned()),
            files,
            removed: removed.iter().map(|file| RemovedFile::of(folder, file)).collect(),
            replaced_runs: replaced_runs.to_vec(),
        }
    }
}
