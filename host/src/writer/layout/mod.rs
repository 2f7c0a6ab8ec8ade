//! The layout of a Delta table after a commit: in the partitions that it wrote to, small files are put together, or all rows are
//! ordered along a Z-curve. One more commit, which changes no row.
//!
//! Nothing here fails a run: its rows are visible by now, and whoever comes in the way goes first.

mod work;
mod zorder;

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::path::Path;

use self::work::Work;
use super::Target;
use super::WriteError;
use super::staged::Staged;
use crate::flow::WriteFormat;
use crate::storage::StorageError;
use crate::storage::address::Address;
use crate::storage::delta;
use crate::storage::delta::CommitError;
use crate::storage::delta::DataFile;
use crate::storage::delta::Rewrite;
use crate::storage::delta::Snapshot;
use crate::storage::delta::StoredFile;
use crate::storage::partition;
use crate::storage::partition::Values;
use crate::storage::target::TableFacts;
use crate::table::Optimization;

/// How often a commit that others overtook is tried.
const TRIES_MAX: usize = 5;

/// Why all files stay as they are.
enum Reason {
    /// In words.
    Known(String),
    /// A commit may have named the new files: they must not be deleted.
    Unknown(String),
}

impl<E: Into<WriteError>> From<E> for Reason {
    fn from(error: E) -> Self {
        Self::Known(error.into().to_string())
    }
}

/// Files that hold rows of a table anew. Nobody sees them before the commit.
#[derive(Debug)]
pub struct Rewritten {
    target: Target,
    table: Snapshot,
    facts: TableFacts,
    old: Vec<StoredFile>,
    staged: Staged,
    file_bytes: u64,
}

/// Writes the rows of the partitions that the commit of this version wrote to anew, in the layout that the target asks for.
///
/// # Errors
/// In words, why all files stay as they are; there are no others then.
pub async fn rewrite(target: &Target, version: u64) -> Result<Rewritten, String> {
    match rewritten(target, version).await {
        Ok(rewritten) => Ok(rewritten),
        Err(Reason::Known(why) | Reason::Unknown(why)) => Err(why),
    }
}

async fn rewritten(target: &Target, version: u64) -> Result<Rewritten, Reason> {
    let WriteFormat::Delta(options) = &target.format else {
        return Err(Reason::Known("only Delta tables have a layout".to_owned()));
    };
    let file_bytes = options.target_file_size;
    let (table, facts) = look(&target.address).await?;
    let partitions = partitions(target.path(), &table, &facts, version).await?;
    let groups: Vec<Vec<StoredFile>> = match target.layout.zorder.is_empty() {
        true => partitions.into_iter().flat_map(|files| bins(files, file_bytes)).collect(),
        false => partitions,
    };
    if groups.is_empty() {
        return Err(Reason::Known("there are no small files to put together".to_owned()));
    }
    let schema = delta::canonical(target.path(), &facts.schema)?;
    let (staged, written) = Work { target, schema, file_bytes }.write(&groups);
    let old = groups.concat();
    let rewritten = Rewritten { target: target.clone(), table, facts, old, staged, file_bytes };
    match written {
        Ok(()) => Ok(rewritten),
        Err(error) => {
            rewritten.abandon();
            Err(error.into())
        }
    }
}

impl Rewritten {
    /// Puts the new files in the place of the old ones, if those are still there.
    pub async fn commit(mut self) -> Optimization {
        match self.land().await {
            Ok(version) => Optimization::Done {
                files_removed: self.old.len() as u64,
                files_added: self.staged.files.len() as u64,
                version,
            },
            Err(Reason::Known(why)) => {
                self.abandon();
                Optimization::Skipped(why)
            }
            Err(Reason::Unknown(why)) => Optimization::Skipped(why),
        }
    }

    /// Others may go first, as long as they leave the old files and the columns as they were.
    async fn land(&mut self) -> Result<u64, Reason> {
        let Target { address, partition_columns, layout, run, .. } = &self.target;
        let add: Vec<DataFile> = self.staged.data_files(partition_columns);
        let info = run.info();
        for _ in 0..TRIES_MAX {
            let change = Rewrite {
                remove: &self.old,
                add: &add,
                file_bytes: self.file_bytes,
                zorder: &layout.zorder,
                info: &info,
            };
            match delta::rewrite(&self.table, &change).await {
                Ok(version) => return Ok(version),
                Err(CommitError::Conflict { .. }) => {
                    let (table, facts) = look(address).await?;
                    let columns =
                        |it: &TableFacts| (it.schema.clone(), it.partition_columns.clone());
                    if columns(&facts) != columns(&self.facts) {
                        return Err(given_up("the table's columns"));
                    }
                    self.old = still_there(&table, &self.old).await?;
                    self.table = table;
                }
                Err(unknown @ CommitError::Unknown { .. }) => {
                    return Err(Reason::Unknown(unknown.to_string()));
                }
                Err(CommitError::Failed(error)) => return Err(error.into()),
            }
        }
        Err(given_up("the table again and again"))
    }

    /// Removes the new files. Leftovers beside the table are no reason to say anything else than what led here.
    fn abandon(&self) {
        let _ = self.staged.remove_files();
    }
}

/// The table as it is now, if its files can be rewritten.
async fn look(address: &Address) -> Result<(Snapshot, TableFacts), Reason> {
    let Some(table) = delta::open(address).await? else {
        return Err(Reason::Known("the table is gone".to_owned()));
    };
    let facts = table.facts()?;
    if let Some(refusal) = facts.refusals.first() {
        return Err(Reason::Known(format!("the table demands {refusal}")));
    }
    if facts.change_feed {
        let why = "the table keeps a feed of its changes (`delta.enableChangeDataFeed`)";
        return Err(Reason::Known(why.to_owned()));
    }
    Ok((table, facts))
}

/// The files of each partition that the commit wrote to, the oldest first.
async fn partitions(
    path: &Path,
    table: &Snapshot,
    facts: &TableFacts,
    version: u64,
) -> Result<Vec<Vec<StoredFile>>, Reason> {
    let types = partition::types(&facts.schema, &facts.partition_columns)
        .map_err(StorageError::library(path, "find its partition columns"))?;
    // Another engine may spell the same value in another way.
    let respelt = |values: &Values| {
        let spelt = partition::respelt(values, &types);
        spelt.map_err(StorageError::library(path, "read its partition values"))
    };
    let written: Result<HashSet<Values>, StorageError> =
        table.partitions_of(version)?.iter().map(respelt).collect();
    let written = written?;
    if written.is_empty() {
        return Err(Reason::Known("the run added no files".to_owned()));
    }
    let mut found: BTreeMap<Values, Vec<StoredFile>> = BTreeMap::new();
    for file in table.files().await? {
        let values = respelt(&file.values)?;
        if written.contains(&values) {
            if file.hides_rows() {
                let why = "deletion vectors hide rows of its files".to_owned();
                return Err(Reason::Known(why));
            }
            found.entry(values).or_default().push(file);
        }
    }
    Ok(found.into_values().collect())
}

/// Small files, in their order, that make one file each: at least two of them.
fn bins(files: Vec<StoredFile>, file_bytes: u64) -> Vec<Vec<StoredFile>> {
    let mut bins: Vec<(u64, Vec<StoredFile>)> = Vec::new();
    for file in files.into_iter().filter(|file| file.bytes < file_bytes) {
        match bins.last_mut() {
            Some((bytes, bin)) if *bytes + file.bytes <= file_bytes => {
                *bytes += file.bytes;
                bin.push(file);
            }
            _ => bins.push((file.bytes, vec![file])),
        }
    }
    bins.into_iter().map(|(_, bin)| bin).filter(|bin| bin.len() > 1).collect()
}

/// The old files as the table has them now.
async fn still_there(table: &Snapshot, old: &[StoredFile]) -> Result<Vec<StoredFile>, Reason> {
    let now = table.files().await?.into_iter().filter(|file| !file.hides_rows());
    let mut now: HashMap<_, _> = now.map(|file| (file.path.clone(), file)).collect();
    let found = old.iter().map(|file| now.remove(&file.path));
    found.collect::<Option<_>>().ok_or_else(|| given_up("files"))
}

fn given_up(what: &str) -> Reason {
    Reason::Known(format!("somebody else has changed {what} while the files were rewritten"))
}
