//! After all commits: the files of destinations that ask for it are put together. Nothing here fails a run.

use crate::evidence::Outcome;
use crate::evidence::Record;
use crate::name::DestinationName;
use crate::plan::Plan;
use crate::run::fanout;
use crate::table::Optimization;
use crate::writer;
use crate::writer::RunMark;

/// Each destination that this run committed to.
pub(super) async fn optimize(
    plan: &Plan,
    mark: impl Fn(&DestinationName) -> RunMark,
    record: &mut Record,
) {
    for to in plan.destinations.iter().filter(|to| to.layout.optimize) {
        let entry = record.destinations.iter_mut().find(|entry| entry.name == to.name);
        if let Some(entry) = entry
            && entry.outcome == Outcome::Committed
            && let Some(version) = entry.version
        {
            let rewritten = match fanout::target(plan, to, mark(&to.name)) {
                Ok(target) => writer::rewrite(&target, version).await,
                Err(error) => Err(error.to_string()),
            };
            entry.optimization = Some(match rewritten {
                Ok(rewritten) => rewritten.commit().await,
                Err(why) => Optimization::Skipped(why),
            });
        }
    }
}
