//! Inputs that arrive batch by batch: tables whose scans wait for what is pushed.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{Result, Statistics, exec_datafusion_err, stats::Precision};
use datafusion::execution::{RecordBatchStream, SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use futures::Stream;

/// An input: its columns, and a queue for each scan of it.
#[derive(Debug)]
pub(crate) struct Feed {
    schema: SchemaRef,
    /// Columns that are asked for, ascending; all until it is known which are read.
    wanted: Mutex<Vec<usize>>,
    scans: Mutex<Vec<Arc<Scan>>>,
    /// How many rows to expect, for the order of joins.
    rows: usize,
}

/// One scan of an input.
#[derive(Debug)]
struct Scan {
    schema: SchemaRef,
    /// Where its columns are among those that come.
    columns: Vec<usize>,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    batches: VecDeque<RecordBatch>,
    is_over: bool,
    /// Whether a stream reads it, or has.
    is_taken: bool,
    /// Whether nobody reads it any more, such as after a LIMIT.
    is_left: bool,
}

impl Feed {
    pub(crate) fn new(schema: SchemaRef, rows: usize) -> Arc<Self> {
        let wanted = (0..schema.fields().len()).collect();
        Arc::new(Self { schema, wanted: Mutex::new(wanted), scans: Mutex::default(), rows })
    }

    /// Says which columns will come, before the query is planned.
    pub(crate) fn want(&self, mut columns: Vec<usize>) {
        columns.sort_unstable();
        columns.dedup();
        *lock(&self.wanted) = columns;
    }

    /// A batch of the wanted columns.
    pub(crate) fn push(&self, batch: &RecordBatch) -> Result<()> {
        for scan in lock(&self.scans).iter() {
            let batch = batch.project(&scan.columns)?;
            let batch = batch.with_schema(Arc::clone(&scan.schema))?;
            let mut queue = lock(&scan.queue);
            if !queue.is_left {
                queue.batches.push_back(batch);
            }
        }
        Ok(())
    }

    /// No more batches.
    pub(crate) fn end(&self) {
        for scan in lock(&self.scans).iter() {
            lock(&scan.queue).is_over = true;
        }
    }
}

#[async_trait]
impl TableProvider for Feed {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.expected(&self.schema))
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all: Vec<usize> = (0..self.schema.fields().len()).collect();
        let columns = projection.unwrap_or(&all);
        let schema = Arc::new(self.schema.project(columns)?);
        let wanted = lock(&self.wanted).clone();
        let place = |column: &usize| wanted.iter().position(|known| known == column).unwrap_or(0);
        let columns = columns.iter().map(place).collect();
        let scan = Arc::new(Scan { schema: Arc::clone(&schema), columns, queue: Mutex::default() });
        lock(&self.scans).push(Arc::clone(&scan));
        let partition: Arc<dyn PartitionStream> = Arc::new(Partition(scan));
        Ok(Arc::new(StreamingTableExec::try_new(schema, vec![partition], None, [], false, limit)?))
    }
}

impl Feed {
    fn expected(&self, schema: &SchemaRef) -> Statistics {
        Statistics { num_rows: Precision::Inexact(self.rows), ..Statistics::new_unknown(schema) }
    }
}

#[derive(Debug)]
struct Partition(Arc<Scan>);

impl PartitionStream for Partition {
    fn schema(&self) -> &SchemaRef {
        &self.0.schema
    }

    fn execute(&self, _context: Arc<TaskContext>) -> SendableRecordBatchStream {
        if std::mem::replace(&mut lock(&self.0.queue).is_taken, true) {
            // Its rows are gone: whoever reads it again would find none.
            let again = exec_datafusion_err!(
                "a recursive query cannot read a source in each of its rounds"
            );
            let failed = futures::stream::iter([Err(again)]);
            return Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.0.schema), failed));
        }
        Box::pin(Waiting(Arc::clone(&self.0)))
    }
}

/// Pending while nothing is there: whoever pushes polls again.
struct Waiting(Arc<Scan>);

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut queue = lock(&self.0.queue);
        queue.is_left = true;
        queue.batches.clear();
    }
}

impl Stream for Waiting {
    type Item = Result<RecordBatch>;

    fn poll_next(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queue = lock(&self.0.queue);
        match queue.batches.pop_front() {
            Some(batch) => Poll::Ready(Some(Ok(batch))),
            None if queue.is_over => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}

impl RecordBatchStream for Waiting {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.0.schema)
    }
}

/// There is one thread; a lock is never poisoned.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
