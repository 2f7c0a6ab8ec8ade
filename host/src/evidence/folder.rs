//! Where records lie: one file a run, complete or absent, never overwritten by another run.

use std::fs;
use std::fs::File;
use std::io;
use std::io::Write as _;
use std::path::Path;
use std::path::PathBuf;

use crate::evidence::Record;
use crate::evidence::SHAPE;
use crate::name::FlowName;
use crate::table::RunId;

/// A record could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// The file system said no.
    #[error("{}: cannot {doing}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The file is no record, or one of a newer wasmhost.
    #[error("{}: {what}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        what: String,
    },
    /// No run of that id.
    #[error("no run `{run_id}` in {}", path.display())]
    NoSuchRun {
        /// The id.
        run_id: RunId,
        /// Where it was looked for.
        path: PathBuf,
    },
}

/// The records of one state folder.
#[derive(Debug, Clone)]
pub struct Folder {
    runs: PathBuf,
}

impl Folder {
    /// The records below a flow's state folder. Nothing is created before the first record.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self { runs: state.join("runs") }
    }

    /// Writes a record, synced, under its final name only when complete. A retry of a run id gets a record beside the earlier
    /// ones: `<run id>.json`, then `<run id>.2.json`, …; none is ever replaced.
    ///
    /// # Errors
    /// Where the file system says no; there is no half-written record then.
    pub fn put(&self, record: &Record) -> Result<PathBuf, EvidenceError> {
        let folder = self.runs.join(record.flow.as_str());
        let unfinished = folder.join(format!(".{}.{}.tmp", record.run_id, std::process::id()));
        fs::create_dir_all(&folder).map_err(failed(&folder, "create it"))?;
        let text = serde_json::to_vec_pretty(record)
            .map_err(|error| failed(&folder, "write a record to it")(io::Error::other(error)))?;
        let written = File::create(&unfinished).and_then(|mut file| {
            file.write_all(&text)?;
            file.write_all(b"\n")?;
            file.sync_all()
        });
        written.map_err(failed(&unfinished, "write it"))?;
        let mut attempt = 1;
        let path = loop {
            let path = folder.join(attempt_name(&record.run_id, attempt));
            // A link, unlike a rename, never takes the place of a file that is there.
            match fs::hard_link(&unfinished, &path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => attempt += 1,
                Err(error) => return Err(failed(&path, "write it")(error)),
            }
        };
        fs::remove_file(&unfinished).map_err(failed(&unfinished, "remove it"))?;
        File::open(&folder)
            .and_then(|folder| folder.sync_all())
            .map_err(failed(&folder, "sync it"))?;
        Ok(path)
    }

    /// All records of a flow, oldest first. What cannot be read is in the list as its error.
    ///
    /// # Errors
    /// Where the folder cannot be listed.
    pub fn list(
        &self,
        flow: &FlowName,
    ) -> Result<Vec<Result<Record, EvidenceError>>, EvidenceError> {
        let mut files = entries(&self.runs.join(flow.as_str()))?;
        files.retain(|path| path.extension().is_some_and(|end| end == "json"));
        files.sort();
        let mut records: Vec<_> = files.iter().map(|path| read(path)).collect();
        records.sort_by_key(|record| {
            record.as_ref().map(|record| (record.started_at, record.run_id.clone())).ok()
        });
        Ok(records)
    }

    /// One run's record, of its last attempt; flows that share a state folder may have runs of the same id.
    ///
    /// # Errors
    /// Where there is none, or it cannot be read.
    pub fn get(&self, flow: &FlowName, run_id: &RunId) -> Result<Record, EvidenceError> {
        let folder = self.runs.join(flow.as_str());
        let attempts = (1..).map(|attempt| folder.join(attempt_name(run_id, attempt)));
        match attempts.take_while(|path| path.exists()).last() {
            Some(path) => read(&path),
            None => Err(EvidenceError::NoSuchRun { run_id: run_id.clone(), path: folder }),
        }
    }
}

/// A run id has no dot, so that no attempt's name is another run's.
fn attempt_name(run_id: &RunId, attempt: u32) -> String {
    if attempt == 1 { format!("{run_id}.json") } else { format!("{run_id}.{attempt}.json") }
}

/// The entries of a folder without hidden ones; none where there is no folder yet.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, EvidenceError> {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(folder, "list it")(error)),
    };
    let paths = listed.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>();
    let paths = paths.map_err(failed(folder, "list it"))?;
    let shown = |path: &PathBuf| {
        path.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'))
    };
    Ok(paths.into_iter().filter(shown).collect())
}

fn read(path: &Path) -> Result<Record, EvidenceError> {
    let unreadable = |what: String| EvidenceError::Unreadable { path: path.to_owned(), what };
    let text = fs::read(path).map_err(failed(path, "read it"))?;
    let value: serde_json::Value = serde_json::from_slice(&text)
        .map_err(|error| unreadable(format!("not a record: {error}")))?;
    match value.get("shape").and_then(serde_json::Value::as_u64) {
        Some(shape) if shape > u64::from(SHAPE) => {
            Err(unreadable(format!("a record of shape {shape}; this wasmhost reads up to {SHAPE}")))
        }
        _ => serde_json::from_value(value)
            .map_err(|error| unreadable(format!("not a record: {error}"))),
    }
}

fn failed(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> EvidenceError {
    let path = path.to_owned();
    move |source| EvidenceError::Io { path, doing, source }
}
