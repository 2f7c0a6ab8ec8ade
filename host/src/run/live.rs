//! A chain that is open: components at work, and what the host does itself.

use std::sync::Arc;

use crate::component::usage::Usage;
use crate::evidence::ComponentRecord;
use crate::run::bound::Bound;
use crate::run::collect::Collect;
use crate::run::collect::Collected;
use crate::run::dedup::Dedup;
use crate::run::joined::Joining;
use crate::run::judges::SharedJudges;
use crate::run::sort::Sort;
use crate::sandbox::TransformPool;

/// Steps and rules, open.
pub(super) struct LiveChain {
    pub(super) stages: Vec<LiveStage>,
    pub(super) judges: SharedJudges,
    /// What later steps may name, those of the chains behind it among them.
    pub(super) collected: Collected,
}

/// A piece of a chain.
pub(super) enum LiveStage {
    Component(Working<TransformPool>),
    Join(Working<TransformPool>, Arc<Joining>),
    Deduplicate(Arc<Dedup>),
    Sort(Arc<Sort>),
    Collect(Arc<Collect>),
    /// Steps that name collected values.
    Bound(Arc<Bound>),
}

/// A component at work, and what the record says of it.
pub(super) struct Working<P> {
    /// Where it works, such as `transforms[0]` or a rule's name.
    pub(super) label: String,
    pub(super) component: String,
    pub(super) digest: String,
    pub(super) described_as: String,
    pub(super) pool: Arc<P>,
}

impl LiveChain {
    /// What its components have used so far: stages first, then what judges.
    pub(super) fn components(&self) -> Vec<ComponentRecord> {
        let stages = self.stages.iter().filter_map(|stage| match stage {
            LiveStage::Component(working) | LiveStage::Join(working, _) => {
                Some(working.record(working.pool.usage()))
            }
            LiveStage::Bound(bound) => Some(bound.record()),
            LiveStage::Deduplicate(_) | LiveStage::Sort(_) | LiveStage::Collect(_) => None,
        });
        stages.chain(self.judges.components()).collect()
    }
}

impl<P> Working<P> {
    pub(super) fn record(&self, usage: Usage) -> ComponentRecord {
        ComponentRecord {
            stage: self.label.clone(),
            component: self.component.clone(),
            digest: self.digest.clone(),
            described_as: self.described_as.clone(),
            usage,
        }
    }
}
