//! The quarantine: rows set apart, as they were judged, with where they come from and why. Written before the good rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::new_null_array;
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use arrow::util::display::ArrayFormatter;
use arrow::util::display::FormatOptions;

use crate::batch::Batch;
use crate::component::Reason;
use crate::flow::Layout;
use crate::flow::SchemaChange;
use crate::name::DestinationName;
use crate::plan::QuarantinePlan;
use crate::plan::quarantine::FRONT;
use crate::plan::quarantine::column_name;
use crate::run::error::RunError;
use crate::storage::address::Address;
use crate::table::Commit;
use crate::table::RunId;
use crate::table::TableChange;
use crate::writer;
use crate::writer::RunMark;
use crate::writer::Target;
use crate::writer::WriteError;
use crate::writer::Writer;

/// Rows set apart in one run.
pub(super) struct Quarantine {
    plan: QuarantinePlan,
    writer: Box<dyn Writer>,
    name: DestinationName,
    run_id: RunId,
    rows: u64,
}

/// Bytes of a value that a reason shows, and of all reasons of a row: a component decides how often a message names a column.
const VALUE_SHOWN_MAX: usize = 64;
const REASONS_SHOWN_MAX: usize = 1024;

/// Rows whose reasons are put into words at once.
const SLICE_ROWS: usize = 1024;

/// Why a row is here: who says so, and what.
#[derive(Debug, Clone, Default)]
pub(super) struct Why {
    rule: Vec<String>,
    reason: String,
    more: usize,
}

impl Why {
    /// Adds a reason, its message rendered with the row's values.
    pub(super) fn add(&mut self, rule: &str, reason: &Reason, batch: &RecordBatch, row: usize) {
        if self.rule.last().is_none_or(|last| last != rule) {
            self.rule.push(rule.to_owned());
        }
        if self.reason.len() >= REASONS_SHOWN_MAX {
            self.more += 1;
            return;
        }
        let gap = if self.reason.is_empty() { "" } else { "; " };
        self.reason.push_str(&format!(
            "{gap}{}: {}",
            reason.code,
            render(&reason.message, batch, row)
        ));
    }

    fn reasons(&self) -> String {
        match self.more {
            0 => self.reason.clone(),
            more => format!("{}; and {more} more", self.reason),
        }
    }
}

impl Quarantine {
    pub(super) async fn open(plan: &QuarantinePlan, run: RunMark) -> Result<Self, RunError> {
        let (name, run_id) = (run.destination.clone(), run.run_id.clone());
        let failed = |source| RunError::Write { destination: name.clone(), source };
        let target = Target {
            address: Address::open(&plan.path).map_err(|error| failed(error.into()))?,
            format: plan.format.clone(),
            change: TableChange::Append {},
            schema: Arc::clone(&plan.schema),
            schema_change: SchemaChange::default(),
            partition_columns: Vec::new(),
            date_folders: plan.date_folders.clone(),
            table_properties: BTreeMap::new(),
            layout: Layout::default(),
            memory_bytes: 0,
            run,
        };
        let writer = writer::open(target).await.map_err(failed)?;
        Ok(Self { plan: plan.clone(), writer, name, run_id, rows: 0 })
    }

    /// Sets rows apart; `why` says it of a row of the batch. Some rows at a time: reasons are much larger than what they are about.
    pub(super) async fn push(
        &mut self,
        stage: &str,
        batch: &Batch,
        why: &(dyn Fn(usize) -> Why + Sync),
    ) -> Result<(), RunError> {
        let rows = batch.rows.num_rows();
        for start in (0..rows).step_by(SLICE_ROWS) {
            let length = SLICE_ROWS.min(rows - start);
            let whys: Vec<_> = (start..start + length).map(why).collect();
            let shaped = self.shape(stage, &batch.slice(start, length), &whys);
            let shaped = shaped.map_err(RunError::arrow("the quarantine"))?;
            self.rows += length as u64;
            self.writer.stage(&shaped).await.map_err(|source| failed(&self.name, source))?;
        }
        Ok(())
    }

    /// Makes this run's rows visible; a run without any leaves no trace. Returns how many there are.
    pub(super) async fn commit(self) -> Result<u64, RunError> {
        let Self { writer, name, rows, .. } = self;
        if rows == 0 {
            writer.abandon().await.map_err(|source| failed(&name, source))?;
            return Ok(0);
        }
        let prepared = writer.prepare().await.map_err(|source| failed(&name, source))?;
        match prepared.commit().await.map_err(|source| failed(&name, source))? {
            Commit::Applied(..) | Commit::Skipped | Commit::AlreadyApplied(_) => Ok(rows),
        }
    }

    /// Removes what was staged; the failure that led here is the one to report.
    pub(super) async fn abandon(self) {
        let _ = self.writer.abandon().await;
    }

    fn shape(&self, stage: &str, batch: &Batch, whys: &[Why]) -> Result<RecordBatch, ArrowError> {
        let rows = batch.rows.num_rows();
        let same = |text: &str| -> ArrayRef { Arc::new(StringArray::from(vec![text; rows])) };
        let place = |row| batch.origin.row(row).and_then(|row| i64::try_from(row).ok());
        let file = |row| place(row).map(|_| batch.origin.file.to_string());
        let mut columns: Vec<ArrayRef> = vec![
            same(self.run_id.as_str()),
            same(stage),
            Arc::new(whys.iter().map(|why| Some(why.rule.join("; "))).collect::<StringArray>()),
            Arc::new(whys.iter().map(|why| Some(why.reasons())).collect::<StringArray>()),
            Arc::new((0..rows).map(file).collect::<StringArray>()),
            Arc::new((0..rows).map(place).collect::<Int64Array>()),
        ];
        let schema = batch.rows.schema();
        for field in &self.plan.schema.fields()[FRONT..] {
            let own =
                schema.fields().iter().position(|own| column_name(own.name()) == *field.name());
            columns.push(match own.map(|at| batch.rows.column(at)) {
                None => new_null_array(field.data_type(), rows),
                Some(column) if column.data_type() == field.data_type() => Arc::clone(column),
                Some(column) => text(column)?,
            });
        }
        RecordBatch::try_new(Arc::clone(&self.plan.schema), columns)
    }
}

fn failed(name: &DestinationName, source: WriteError) -> RunError {
    RunError::Write { destination: name.clone(), source }
}

/// Any column as text; NULL stays NULL.
fn text(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    debug_assert!(column.data_type() != &DataType::Utf8, "text is text already");
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let shown =
        (0..column.len()).map(|row| column.is_valid(row).then(|| formatter.value(row).to_string()));
    Ok(Arc::new(shown.collect::<StringArray>()))
}

/// A reason's message with the row's values where it names columns in braces.
fn render(message: &str, batch: &RecordBatch, row: usize) -> String {
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while text.len() < REASONS_SHOWN_MAX
        && let Some((before, after)) = rest.split_once('{')
    {
        text.push_str(before);
        let value = after
            .split_once('}')
            .and_then(|(name, tail)| value(batch, name, row).map(|value| (value, tail)));
        match value {
            Some((value, tail)) => {
                text.push_str(&value);
                rest = tail;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

fn value(batch: &RecordBatch, name: &str, row: usize) -> Option<String> {
    let column = batch.column_by_name(name)?;
    let options = FormatOptions::default().with_null("NULL");
    let formatter = ArrayFormatter::try_new(column, &options).ok()?;
    let mut shown = formatter.value(row).try_to_string().ok()?;
    if let Some((cut, _)) = shown.char_indices().find(|(at, _)| *at >= VALUE_SHOWN_MAX) {
        shown.truncate(cut);
        shown.push('…');
    }
    Some(shown)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow::array::record_batch;

    use super::*;

    #[test]
    fn a_message_shows_the_values_of_the_columns_it_names() {
        let batch =
            record_batch!(("air_time", Int64, [Some(20), None]), ("dest", Utf8, ["IAH", "MIA"]))
                .unwrap();
        let message = "{air_time} min to {dest} {nowhere} {";
        assert_eq!(render(message, &batch, 0), "20 min to IAH {nowhere} {");
        assert_eq!(render(message, &batch, 1), "NULL min to MIA {nowhere} {");
    }

    #[test]
    fn floods_of_reasons_and_long_values_stay_short() {
        let long = "x".repeat(1 << 20);
        let batch = record_batch!(("t", Utf8, [long.as_str()])).unwrap();
        let message = "{t}".repeat(170);
        let mut why = Why::default();
        for at in 0..256 {
            let reason =
                Reason { code: format!("r{at}"), columns: vec![], message: message.clone() };
            why.add("flood", &reason, &batch, 0);
        }
        let text = why.reasons();
        assert!(text.len() < 2 * REASONS_SHOWN_MAX + 2 * message.len(), "{} bytes", text.len());
        assert!(text.starts_with("r0: xxx") && text.ends_with("; and 255 more"), "{text}");
    }
}
