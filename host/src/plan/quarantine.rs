//! The quarantine's columns: where a row comes from, why it is here, and the row itself, whichever stage sent it.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use crate::flow::ByDate;
use crate::flow::Destination;
use crate::flow::Flow;
use crate::flow::Layout;
use crate::flow::Load;
use crate::flow::Location;
use crate::flow::ParquetWrite;
use crate::flow::SchemaChange;
use crate::flow::WriteFormat;
use crate::name::DestinationName;
use crate::problem::Place;
use crate::table::RunId;

/// The columns in front of the row's own.
pub const RUN_ID: &str = "__run_id";
/// The stage that sent the row: `transforms[0]` or `rules`.
pub const STAGE: &str = "__stage";
/// The names of the rules, or of the component that rejected it.
pub const RULE: &str = "__rule";
/// Codes and messages.
pub const REASON: &str = "__reason";
/// The source file.
pub const FILE: &str = "__file";
/// The row in that file, from 1, a header not counted.
pub const ROW: &str = "__row";

/// How many columns stand in front of the row's own.
pub const FRONT: usize = 6;

/// The flow's quarantine; without one, Parquet in the state folder, in a folder a run: what earlier runs set apart never stands in
/// the way of this one, whatever its columns were.
#[must_use]
pub fn destination(flow: &Flow, run_id: &RunId) -> Destination {
    flow.quarantine.clone().unwrap_or_else(|| Destination {
        name: DestinationName::quarantine(),
        path: Location::Disk(
            flow.state.join("quarantine").join(flow.name.as_str()).join(run_id.as_str()),
        ),
        format: WriteFormat::Parquet(ParquetWrite::default()),
        transforms: Vec::new(),
        rules: Vec::new(),
        load: Load::Append {},
        schema_change: SchemaChange::default(),
        layout: Layout::default(),
        table_properties: BTreeMap::new(),
        columns: None,
        partition_columns: Vec::new(),
        by_date: ByDate::No,
        at: Place::field(flow.file.display().to_string(), "quarantine"),
    })
}

/// One schema for rows of all `stages`: columns by name, all nullable. A column whose type differs between stages is kept as text.
#[must_use]
pub fn schema(stages: &[SchemaRef]) -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    let mut fields = vec![
        text(RUN_ID),
        text(STAGE),
        text(RULE),
        text(REASON),
        text(FILE),
        Field::new(ROW, DataType::Int64, true),
    ];
    for field in stages.iter().flat_map(|stage| stage.fields()) {
        let name = column_name(field.name());
        match fields.iter_mut().skip(FRONT).find(|known| *known.name() == name) {
            Some(known) if known.data_type() == field.data_type() => {}
            Some(known) => *known = text(&name),
            None => fields.push(Field::new(name, field.data_type().clone(), true)),
        }
    }
    Arc::new(Schema::new(fields))
}

/// A row's column as the quarantine calls it: a data column that looks like one of ours gets a prefix.
#[must_use]
pub fn column_name(name: &str) -> String {
    if [RUN_ID, STAGE, RULE, REASON, FILE, ROW].contains(&name) {
        format!("row{name}")
    } else {
        name.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_share_columns_by_name_and_differing_types_become_text() {
        let stage = |fields: &[(&str, DataType)]| -> SchemaRef {
            Arc::new(Schema::new(
                fields
                    .iter()
                    .map(|(name, kind)| Field::new(*name, kind.clone(), false))
                    .collect::<Vec<_>>(),
            ))
        };
        let merged = schema(&[
            stage(&[("a", DataType::Int64), ("b", DataType::Int64), ("__row", DataType::Utf8)]),
            stage(&[("b", DataType::Float64), ("c", DataType::Boolean)]),
        ]);
        let own: Vec<_> = merged.fields()[FRONT..]
            .iter()
            .map(|field| (field.name().as_str(), field.data_type().clone()))
            .collect();
        let expected = [
            ("a", DataType::Int64),
            ("b", DataType::Utf8),
            ("row__row", DataType::Utf8),
            ("c", DataType::Boolean),
        ];
        assert_eq!(own, expected);
        assert!(merged.fields().iter().all(|field| field.is_nullable()));
    }
}
