//! Delta tables: data files lie in the table's folder from the start, and no reader looks at them before the log names them.

mod orphans;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::FutureExt;
use futures::future::BoxFuture;

use self::orphans::Against;
use self::orphans::Judged;
use self::orphans::Orphans;
use self::orphans::Removed;
use self::orphans::Run;
use self::orphans::canonical;
use self::orphans::has_landed;
use self::orphans::mark;
use super::Prepared;
use super::Target;
use super::WriteError;
use super::Writer;
use super::fitting::Fitting;
use super::merge::Intake;
use super::must_be_new;
use super::selected::Selected;
use super::stage::Staging;
use super::there_already;
use crate::storage::address::Address;
use crate::storage::delta;
use crate::storage::delta::CommitError;
use crate::storage::delta::Landed;
use crate::storage::delta::LogChange;
use crate::storage::delta::Removal;
use crate::storage::sync;
use crate::storage::target::Landing;
use crate::table::Commit;
use crate::table::Counts;
use crate::table::TableChange;

/// How often a change that lost a race reads the table anew.
const TRIES_MAX: usize = 5;

struct DeltaWriter {
    run: Run,
    fitting: Fitting,
    incoming: Incoming,
}

/// Rows on their way.
enum Incoming {
    /// To files that the commit names, past the predicate that says what they replace, if one does.
    Files(Box<Staging>, Option<Box<Selected>>),
    /// To where they wait until the table was looked at.
    Held(Box<Intake>),
}

struct DeltaPrepared {
    orphans: Orphans,
    judged: Judged,
}

pub(super) async fn open(target: Target, landing: Landing) -> Result<Box<dyn Writer>, WriteError> {
    if must_be_new(&target)
        && let Some(table) = delta::open(&target.address).await?
        && !has_landed(&target, &table).await?
    {
        return Err(there_already(&target));
    }
    let made = match &target.address {
        Address::Disk(path) => sync::make_folder(path)?,
        // A store's folders are there with what is in them.
        Address::Store(_) => None,
    };
    let landing = canonical(&target, landing)?;
    let fitting = Fitting::new(&target, SchemaRef::clone(&landing.rows));
    let incoming = match &target.change {
        TableChange::Merge(merge) => {
            Incoming::Held(Box::new(Intake::new(&target, merge, &landing)?))
        }
        change => {
            let predicate = match change {
                TableChange::Replace { scope, .. } => scope.predicate(),
                _ => None,
            };
            let selected =
                predicate.map(|sql| Selected::new(&target, &sql, &landing)).transpose()?;
            let selected = selected.map(Box::new);
            let rows = SchemaRef::clone(&landing.rows);
            Incoming::Files(Box::new(Staging::new(target.address.clone(), &target, rows)), selected)
        }
    };
    Ok(Box::new(DeltaWriter { run: Run { target, landing, made }, fitting, incoming }))
}

impl Writer for DeltaWriter {
    fn stage<'a>(&'a mut self, rows: &'a RecordBatch) -> BoxFuture<'a, Result<(), WriteError>> {
        async move {
            let rows = self.fitting.fit(rows)?;
            match &mut self.incoming {
                Incoming::Files(staging, selected) => {
                    selected.as_mut().map_or(Ok(()), |selected| selected.note(&rows))?;
                    staging.stage(&rows)
                }
                Incoming::Held(intake) => intake.push(rows),
            }
        }
        .boxed()
    }

    fn prepare(self: Box<Self>) -> BoxFuture<'static, Result<Box<dyn Prepared>, WriteError>> {
        let Self { run, incoming, fitting: _ } = *self;
        let (staged, incoming, sealed) = match incoming {
            Incoming::Files(staging, selected) => {
                let (staged, sealed) = staging.finish();
                let guarded = selected.as_ref().map_or(Ok(()), |selected| selected.guard());
                (Some(staged), selected.map(Against::Selected), sealed.and(guarded))
            }
            Incoming::Held(intake) => (None, Some(Against::Keys(intake)), Ok(())),
        };
        let mut orphans =
            Orphans { run, staged, rewritten: Vec::new(), files: Vec::new(), against: incoming };
        async move {
            let judged = match sealed {
                Ok(()) => orphans.judged().await,
                Err(error) => Err(error),
            };
            match judged {
                Ok(judged) => Ok(Box::new(DeltaPrepared { orphans, judged }) as Box<dyn Prepared>),
                Err(error) => {
                    // What went wrong first is what the user has to know.
                    let _ = orphans.remove();
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        let Self { run, incoming, fitting: _ } = *self;
        let staged = match incoming {
            Incoming::Files(staging, _) => Some(staging.stop()),
            Incoming::Held(_) => None,
        };
        let orphans =
            Orphans { run, staged, rewritten: Vec::new(), files: Vec::new(), against: None };
        async move { orphans.remove() }.boxed()
    }
}

impl Prepared for DeltaPrepared {
    fn counts(&self) -> Counts {
        self.judged.counts
    }

    fn commit(self: Box<Self>) -> BoxFuture<'static, Result<Commit, WriteError>> {
        let Self { mut orphans, judged } = *self;
        async move {
            match land(&mut orphans, judged).await {
                Ok(commit @ Commit::Applied(..)) => Ok(commit),
                Ok(other) => {
                    // The table is as it should be; leftovers beside it are no reason to say otherwise.
                    let _ = orphans.remove();
                    Ok(other)
                }
                Err(unknown @ WriteError::Unknown { .. }) => Err(unknown),
                Err(error) => {
                    let _ = orphans.remove();
                    Err(error)
                }
            }
        }
        .boxed()
    }

    fn abandon(self: Box<Self>) -> BoxFuture<'static, Result<(), WriteError>> {
        async move { self.orphans.remove() }.boxed()
    }
}

/// Commits. Whoever lost a race judges its change against the table as it is now; only an overwrite of the whole table holds for
/// the state that was judged and for no other.
async fn land(orphans: &mut Orphans, mut judged: Judged) -> Result<Commit, WriteError> {
    let (address, mark) = (orphans.run.target.address.clone(), mark(&orphans.run.target.run));
    let path = address.shown().to_owned();
    let mut tries = 1;
    loop {
        let remove = match &judged.removed {
            Removed::Skipped => return Ok(Commit::Skipped),
            Removed::Nothing => Removal::Nothing,
            Removed::All => Removal::All,
            Removed::Files(files) => Removal::Files(files),
        };
        let change = LogChange {
            add: &orphans.files,
            remove,
            schema: orphans.run.landing.evolves.then(|| orphans.run.landing.table.clone()),
            properties: &orphans.run.target.table_properties,
        };
        match delta::commit(&address, &judged.base, &change, &mark).await {
            Ok(Landed::Now(version)) => {
                return Ok(Commit::Applied(judged.counts, Some(version)));
            }
            Ok(Landed::Before(version)) => return Ok(Commit::AlreadyApplied(version)),
            Err(CommitError::Conflict { .. })
                if !matches!(judged.removed, Removed::All) && tries < TRIES_MAX =>
            {
                judged = orphans.judged().await?;
            }
            Err(CommitError::Conflict { source }) => {
                return Err(WriteError::Conflict { path, what: source.to_string() });
            }
            Err(CommitError::Unknown { source }) => {
                return Err(WriteError::Unknown { path, source });
            }
            Err(CommitError::Failed(error)) => return Err(WriteError::Storage(error)),
        }
        tries += 1;
    }
}
