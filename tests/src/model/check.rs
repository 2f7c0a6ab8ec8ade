//! Sequences against the model and the real table side by side; one that fails is cut down before it is shown.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;
use std::time::Instant;

use wasmhost::flow::Load;
use wasmhost::table::Commit;
use wasmhost::table::Counts;
use wasmhost::writer::WriteError;

use super::draw;
use super::invariants;
use super::oracle;
use super::oracle::Refusal;
use super::oracle::Table;
use super::real;
use super::real::Ended;
use super::setup::Setup;
use super::setup::Step;
use super::setup::started_at;
use super::value;
use super::value::line;
use super::value::shown;

/// How long a failing sequence is cut down.
const CUTTING: Duration = Duration::from_secs(20);

/// Runs random sequences of each variant, so many of all of them together. `WASMHOST_MODEL_SEED` runs just that seed's, `WASMHOST_MODEL_SEQUENCES` so many of
/// each, `WASMHOST_MODEL_VARIANT` only of variants with that in their name. `WASMHOST_MODEL_KEEP` names a folder that gets each
/// table with the model's rows, for readers that are not ours: `tests/readers/model.py`.
pub(super) fn check(setups: &[Setup], sequences: u64) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let only = std::env::var("WASMHOST_MODEL_VARIANT").unwrap_or_default();
    let share = sequences.div_ceil(setups.len() as u64);
    for setup in setups.iter().filter(|setup| setup.name.contains(&only)) {
        let seeds = match number("WASMHOST_MODEL_SEED") {
            Some(seed) => seed..seed + 1,
            None => 0..number("WASMHOST_MODEL_SEQUENCES").unwrap_or(share),
        };
        for seed in seeds {
            let steps = draw::sequence(setup, seed);
            if let Err(failure) = kept(setup, seed, &steps) {
                let (steps, failure) = cut_down(setup, steps, failure);
                panic!(
                    "{}, WASMHOST_MODEL_SEED={seed}: {failure}\n  the shortest sequence that fails so:\n{}",
                    setup.name,
                    told(&steps)
                );
            }
        }
    }
}

/// Runs a sequence against both.
///
/// # Errors
/// Where they differ, in words.
fn play(setup: &Setup, steps: &[Step]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    play_in(folder.path(), setup, steps)
}

/// The same in a folder that may stay.
fn kept(setup: &Setup, seed: u64, steps: &[Step]) -> Result<(), String> {
    let Some(folder) = std::env::var_os("WASMHOST_MODEL_KEEP") else { return play(setup, steps) };
    let folder = Path::new(&folder).join(format!("{} {seed}", setup.name));
    std::fs::create_dir_all(&folder).unwrap();
    play_in(&folder, setup, steps)
}

fn play_in(folder: &Path, setup: &Setup, steps: &[Step]) -> Result<(), String> {
    let path = folder.join("t");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut table = Table::default();
    let mut full = false;
    let mut live = BTreeSet::new();
    for step in steps {
        let is_lacking = step.batch.columns.len() < setup.columns().len();
        let load = setup.load(step.other);
        let expected = oracle::load(&table, load, &step.batch, started_at(step.number));
        if matches!(expected, Err(Refusal::Unspecified(_))) || is_lacking && !full {
            // No sequence that is drawn, but one that is cut down may come to this.
            return Ok(());
        }
        let files = real::files(&path);
        let real = runtime.block_on(real::load(setup, step, &path));
        let run = format!("run {}", step.number);
        let is_skip = matches!(load, Load::Ignore {}) && table.exists;
        let is_same = match &expected {
            Ok((after, counts)) => {
                let real = real.map_err(|(ended, error)| {
                    format!("{run}: refused while {ended:?}, not {}: {error}", tell(counts))
                })?;
                landed(&real, counts, is_skip)
                    .map_err(|difference| format!("{run}: {difference}"))?;
                let is_same = shown(&after.rows) == shown(&table.rows) && table.exists;
                if counts.is_no_change() && table.exists && !is_same {
                    return Err(format!("{run}: rows change, and the counts say that none do"));
                }
                table = after.clone();
                full |= !step.batch.rows.is_empty();
                is_same && counts.rows_inserted == 0
            }
            Err(refusal) => {
                refused(real, *refusal).map_err(|difference| format!("{run}: {difference}"))?;
                let now = real::files(&path);
                if now != files {
                    return Err(format!("{run}: files {files:?}, and after the refusal {now:?}"));
                }
                true
            }
        };
        let after =
            same_rows(&path, &table).map_err(|difference| format!("{run}: {difference}"))?;
        if is_same && after.live != live {
            return Err(format!("{run}: nothing changes, but files are written anew"));
        }
        live = after.live;
        if setup.other.is_none() {
            invariants::check(&setup.load, &after.rows)
                .map_err(|broken| format!("{run}: {broken}"))?;
        }
        if step.retry && expected.is_ok() {
            let again = runtime.block_on(real::load(setup, step, &path));
            let is_fine = match (load, &again) {
                (Load::Ignore {}, Ok((_, Commit::Skipped))) => true,
                (_, again) => matches!(again, Ok((_, Commit::AlreadyApplied(_)))),
            };
            if !is_fine {
                return Err(format!("{run} once more: {:?}", again.map_err(|(_, error)| error)));
            }
            same_rows(&path, &table)
                .map_err(|difference| format!("{run} once more: {difference}"))?;
        }
    }
    let rows: Vec<_> = table.rows.iter().map(value::json).collect();
    std::fs::write(folder.join("rows.json"), serde_json::to_vec(&rows).unwrap()).unwrap();
    Ok(())
}

fn same_rows(path: &Path, table: &Table) -> Result<real::Found, String> {
    let found = real::read(path);
    let (real, model) = (shown(&found.rows), shown(&table.rows));
    if real == model {
        return Ok(found);
    }
    let mut extra = found.rows.clone();
    let mut lost = table.rows.clone();
    lost.retain(|row| match extra.iter().position(|other| other == row) {
        Some(at) => {
            extra.remove(at);
            false
        }
        None => true,
    });
    Err(format!("the table lacks\n{}  and has\n{}", shown(&lost), shown(&extra)))
}

fn landed(
    (counts, commit): &(Counts, Commit),
    expected: &Counts,
    is_skip: bool,
) -> Result<(), String> {
    if counts != expected {
        return Err(format!("counts {}, not {}", tell(counts), tell(expected)));
    }
    match commit {
        Commit::Applied(counts, _) if counts == expected && !is_skip => Ok(()),
        Commit::Skipped if is_skip => Ok(()),
        other => Err(format!("commit {other:?}, not {}", tell(expected))),
    }
}

fn refused(
    real: Result<(Counts, Commit), (Ended, WriteError)>,
    expected: Refusal,
) -> Result<(), String> {
    match real {
        Ok((counts, _)) => Err(format!("landed with {}, not {expected:?}", tell(&counts))),
        Err((ended, error)) => {
            let is_guard = matches!(error, WriteError::Guard { .. });
            if error.is_users() && (is_guard || !matches!(expected, Refusal::Guard(_))) {
                return Ok(());
            }
            Err(format!("refused while {ended:?} by {error:?}, not {expected:?}"))
        }
    }
}

/// The counts that are not 0.
pub(super) fn tell(counts: &Counts) -> String {
    let Counts {
        rows_written,
        rows_inserted,
        rows_updated,
        rows_deleted,
        rows_unchanged,
        rows_ignored_late,
        rows_unmatched_by_condition,
        duplicates_dropped,
        rows_deleting,
        deletions_stored,
        versions_opened,
        versions_closed,
        versions_split,
    } = *counts;
    let all = [
        ("written", rows_written),
        ("inserted", rows_inserted),
        ("updated", rows_updated),
        ("deleted", rows_deleted.unwrap_or(u64::MAX)),
        ("unchanged", rows_unchanged),
        ("late", rows_ignored_late),
        ("unmatched", rows_unmatched_by_condition),
        ("dropped", duplicates_dropped),
        ("deleting", rows_deleting),
        ("deletions stored", deletions_stored),
        ("opened", versions_opened),
        ("closed", versions_closed),
        ("split", versions_split),
    ];
    let told: Vec<_> = all
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    told.join(", ")
}

/// Leaves out runs, then rows, as long as what is left fails, too.
fn cut_down(setup: &Setup, mut steps: Vec<Step>, mut failure: String) -> (Vec<Step>, String) {
    let until = Instant::now() + CUTTING;
    let mut fails = |shorter: Vec<Step>, steps: &mut Vec<Step>| {
        let failed = Instant::now() < until
            && match play(setup, &shorter) {
                Ok(()) => false,
                Err(now) => {
                    failure = now;
                    true
                }
            };
        if failed {
            *steps = shorter;
        }
        failed
    };
    let mut at = steps.len();
    while at > 0 {
        at -= 1;
        let mut shorter = steps.clone();
        shorter.remove(at);
        fails(shorter, &mut steps);
    }
    for at in 0..steps.len() {
        let mut plain = steps.clone();
        plain[at].retry = false;
        plain[at].cuts.clear();
        fails(plain, &mut steps);
        let mut size = steps[at].batch.rows.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < steps[at].batch.rows.len() {
                let mut shorter = steps.clone();
                let rows = &mut shorter[at].batch.rows;
                let to = (from + size).min(rows.len());
                rows.drain(from..to);
                let rows = rows.len();
                shorter[at].cuts.iter_mut().for_each(|cut| *cut = rows.min(*cut));
                if !fails(shorter, &mut steps) {
                    from += size;
                }
            }
            size /= 2;
        }
    }
    (steps, failure)
}

fn told(steps: &[Step]) -> String {
    let mut told = String::new();
    for Step { number, other, batch, cuts, retry } in steps {
        let load = if *other { " (the other load)" } else { "" };
        let again = if *retry { ", tried again" } else { "" };
        let _ = writeln!(
            told,
            "  run {number}{load} at t{}, cut at {cuts:?}{again}, of {}",
            started_at(*number),
            batch.columns.join(" ")
        );
        let value::Batch { columns: _, rows } = batch;
        for row in rows {
            let _ = writeln!(told, "    {}", line(row));
        }
    }
    told
}
