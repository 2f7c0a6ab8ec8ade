//! The example flow, from nothing to written tables, and how to look at them.
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::Result;

use crate::guests;
use crate::repo::{Repo, run as run_command};
use crate::setup;

const EXAMPLE: &str = "examples/flights";

/// The folders that a run of the example writes, below the example's own.
const WRITTEN: [&str; 2] = ["out", ".wasmhost"];

/// Length and time of change.
type Files = BTreeMap<PathBuf, (u64, SystemTime)>;

/// Sets up, builds, runs the example flow, and lists what that run wrote.
pub(crate) fn run(repo: &Repo) -> Result<()> {
    setup::run(repo)?;
    guests::build(repo)?;
    run_command(repo.cargo().args(["build", "--locked", "--workspace"]))?;

    let before = written(&repo.root)?;
    let wasmhost = repo.target.join("debug/wasmhost");
    let outcome =
        run_command(repo.command(&wasmhost).args(["run", &format!("{EXAMPLE}/flow.yaml")]));

    // Shown for a failed run too: its evidence is written before the error is raised.
    println!("\nwritten by this run:");
    for (path, (bytes, changed)) in written(&repo.root)? {
        if before.get(&path) != Some(&(bytes, changed)) {
            println!("{bytes:>10} bytes  {}", path.display());
        }
    }
    outcome?;
    println!(
        "
look at it:
  {} runs {EXAMPLE}/flow.yaml
  head {EXAMPLE}/out/departures/*.csv
  pip install deltalake pyarrow && python3 -c \"
from deltalake import DeltaTable
table = DeltaTable('{EXAMPLE}/out/lake/aviation/flights')
print('version', table.version(), 'rows', table.to_pyarrow_table().num_rows)\"",
        wasmhost.strip_prefix(&repo.root).unwrap_or(&wasmhost).display()
    );
    Ok(())
}

/// All files below the folders that the example writes, from the root.
fn written(root: &Path) -> Result<Files> {
    let mut files = Files::new();
    let mut folders: Vec<PathBuf> = WRITTEN
        .iter()
        .map(|name| root.join(EXAMPLE).join(name))
        .filter(|folder| folder.is_dir())
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                files.insert(
                    path.strip_prefix(root)?.to_path_buf(),
                    (metadata.len(), metadata.modified()?),
                );
            }
        }
    }
    Ok(files)
}
