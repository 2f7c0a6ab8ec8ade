//! Steps that look at more than one row, as one query: planned once, fed batch by batch, drained as it goes.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::DataType;
use datafusion::common::TableReference;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};
use futures::executor::block_on;
use futures::stream::StreamExt;
use wasmhost_guest::{Accept, Diagnostic, Failure, Inputs, Layout, Output};

use crate::config::Step;
use crate::engine::Engine;
use crate::feed::Feed;
use crate::plain;
use crate::session;
use crate::shape;

/// Rows that the engine expects of the input that is transformed, and of each other one: of two sides of a join, the
/// other one is held in memory.
const INPUT_ROWS: usize = 1 << 30;
const OTHER_ROWS: usize = 1 << 20;

/// A planned query, running.
pub(crate) struct Query {
    feeds: Vec<Arc<Feed>>,
    stream: SendableRecordBatchStream,
    /// Plain types of the columns that leave.
    leaving: Vec<DataType>,
    /// Whether the stream has ended, which it says once.
    is_over: bool,
    /// Inputs that have not ended.
    open: usize,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query").field("leaving", &self.leaving).finish_non_exhaustive()
    }
}

impl Query {
    /// Plans the steps over these inputs.
    ///
    /// # Errors
    /// Everything that does not fit, up to the first step with a problem.
    pub(crate) fn plan(
        steps: &[Step],
        inputs: &Inputs,
        engine: &Engine,
    ) -> Result<(Self, Layout), Failure> {
        let feeds: Vec<Arc<Feed>> = inputs
            .all()
            .iter()
            .enumerate()
            .map(|(at, input)| {
                let rows = if at == 0 { INPUT_ROWS } else { OTHER_ROWS };
                Feed::new(Arc::clone(&input.schema), rows)
            })
            .collect();
        let scan = |at: usize| scan(&inputs.all()[at].name, &feeds[at]);
        let mut plan = scan(0).and_then(shape::named).map_err(internal)?;
        for (index, step) in steps.iter().enumerate() {
            let tables = Tables { inputs, scan: &scan };
            plan = shape::apply(plan, step, index, engine, &tables).map_err(Failure::BadConfig)?;
        }
        let at_end = |error: DataFusionError| {
            let last = steps.len().saturating_sub(1);
            Failure::BadConfig(vec![
                Diagnostic::new("sql", session::message(&error)).at_path(format!("/steps/{last}")),
            ])
        };
        let state = engine.state();
        let optimized = state.optimize(&plan).map_err(at_end)?;
        let wanted = wanted(&optimized, inputs).map_err(internal)?;
        for (feed, columns) in feeds.iter().zip(&wanted) {
            feed.want(columns.iter().copied().collect());
        }
        let physical = block_on(state.query_planner().create_physical_plan(&optimized, &state))
            .map_err(at_end)?;
        let stream = physical.execute(0, state.task_ctx()).map_err(at_end)?;
        // The types that the engine has agreed on: a plan as written does not widen.
        let schema = physical.schema();
        let mut layout = Layout::many();
        for (at, (input, columns)) in inputs.all().iter().zip(&wanted).enumerate() {
            for column in columns {
                layout = layout.want_from(at, input.schema.field(*column).name(), Accept::Any);
            }
        }
        for field in schema.fields() {
            layout = layout.compute(plain::field(field.name(), field.data_type()));
        }
        let layout = match spread(steps).filter(|_| !is_volatile(&plan)) {
            Some(keys) => layout.keyed(keys),
            None => layout.whole_input(),
        };
        let leaving = schema.fields().iter().map(|field| plain::plain(field.data_type())).collect();
        let open = feeds.len();
        Ok((Self { feeds, stream, leaving, is_over: false, open }, layout))
    }

    /// Takes in a batch of an input.
    ///
    /// # Errors
    /// Where the batch is not as agreed.
    pub(crate) fn push(&self, input: usize, batch: &RecordBatch) -> Result<(), Failure> {
        self.feeds[input].push(batch).map_err(internal)
    }

    /// An input is over.
    pub(crate) fn end(&mut self, input: usize) {
        self.feeds[input].end();
        self.open = self.open.saturating_sub(1);
    }

    /// The next batch, if there is one now.
    ///
    /// # Errors
    /// A value for which an expression fails.
    pub(crate) fn next(&mut self) -> Result<Option<Vec<ArrayRef>>, Failure> {
        let mut context = TaskContext::from_waker(Waker::noop());
        if self.is_over {
            return Ok(None);
        }
        loop {
            return match self.stream.poll_next_unpin(&mut context) {
                Poll::Ready(Some(Ok(batch))) if batch.num_rows() == 0 => continue,
                Poll::Ready(Some(Ok(batch))) => {
                    let columns = batch.columns().iter().zip(&self.leaving);
                    let unpacked: Result<_, _> =
                        columns.map(|(values, to)| plain::unpacked(values, to)).collect();
                    Ok(Some(unpacked?))
                }
                Poll::Ready(Some(Err(error))) => {
                    Err(Failure::bad_batch("sql", session::message(&error)))
                }
                Poll::Ready(None) => {
                    self.is_over = true;
                    Ok(None)
                }
                Poll::Pending if self.open > 0 => Ok(None),
                // It waits for nothing that could still come: rows would be missing without a word.
                Poll::Pending => {
                    Err(Failure::internal("engine", "the query waits after its inputs ended"))
                }
            };
        }
    }

    /// What is ready now.
    ///
    /// # Errors
    /// As [`Self::next`].
    pub(crate) fn ready(&mut self) -> Result<Output, Failure> {
        let mut output = Output::nothing();
        while let Some(columns) = self.next()? {
            output = output.and_columns(columns);
        }
        Ok(output)
    }
}

/// The tables that a step may name.
pub(crate) struct Tables<'a> {
    pub(crate) inputs: &'a Inputs,
    scan: &'a dyn Fn(usize) -> Result<LogicalPlan>,
}

impl Tables<'_> {
    /// A scan of another input, by its name.
    pub(crate) fn other(&self, name: &str) -> Result<LogicalPlan> {
        let others = || self.inputs.all().iter().enumerate().skip(1);
        match others().find(|(_, input)| input.name == name) {
            Some((at, _)) => (self.scan)(at),
            None => {
                let known: Vec<_> =
                    others().map(|(_, input)| format!("`{}`", input.name)).collect();
                plan_err!("there is no other source `{name}`; there is {}", known.join(", "))
            }
        }
    }

    /// The names of the other inputs.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.inputs.all().iter().skip(1).map(|input| input.name.as_str())
    }
}

fn scan(name: &str, feed: &Arc<Feed>) -> Result<LogicalPlan> {
    let source = provider_as_source(Arc::clone(feed) as _);
    LogicalPlanBuilder::scan(TableReference::bare(name), source, None)?.build()
}

/// The columns of each input that the plan reads.
fn wanted(plan: &LogicalPlan, inputs: &Inputs) -> Result<Vec<BTreeSet<usize>>> {
    let mut wanted = vec![BTreeSet::new(); inputs.all().len()];
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && source_as_provider(&scan.source).is_ok()
            && let Some(at) =
                inputs.all().iter().position(|input| input.name == scan.table_name.table())
        {
            match &scan.projection {
                Some(columns) => wanted[at].extend(columns.iter().copied()),
                None => wanted[at].extend(0..inputs.all()[at].schema.fields().len()),
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    // Where only rows are counted, a column carries them all the same.
    for columns in wanted.iter_mut().filter(|columns| columns.is_empty()) {
        columns.insert(0);
    }
    Ok(wanted)
}

/// The columns by which the host may split the input, where each part can be worked on by itself: those of a `group_by`
/// of the input as it comes. The host makes it the last step of its query.
fn spread(steps: &[Step]) -> Option<Vec<String>> {
    match steps {
        [Step::GroupBy { by, .. }] if !by.is_empty() => Some(by.clone()),
        _ => None,
    }
}

/// Whether any part of it may give something else for the same rows.
fn is_volatile(plan: &LogicalPlan) -> bool {
    plan.exists(|node| Ok(node.expressions().iter().any(session::is_volatile))).unwrap_or(true)
}

fn internal(error: DataFusionError) -> Failure {
    Failure::internal("engine", session::message(&error))
}
