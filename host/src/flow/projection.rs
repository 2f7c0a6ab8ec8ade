//! What holds between `columns`, `partition_columns` and the columns that a destination's settings name.

use super::Load;
use super::PartitionColumn;
use super::open::Fields;
use super::report::Located;
use super::report::Report;
use super::report::Spot;
use crate::name::ColumnName;
use crate::problem::Code;

/// The columns of a destination.
#[derive(Debug)]
pub(super) struct Projection<'f> {
    /// `None` where all columns are written, or where they cannot be read.
    pub(super) columns: Option<&'f Located<Vec<ColumnName>>>,
    pub(super) partitions: Option<&'f Located<Vec<PartitionColumn>>>,
    pub(super) load: Option<&'f Load>,
}

impl Projection<'_> {
    /// Tells of partition columns and of settings that do not fit `columns`.
    pub(super) fn check(
        &self,
        report: &Report,
        fields: &Fields<'_>,
        merging: &Fields<'_>,
        load_type: Option<&str>,
    ) {
        let Some(columns) = self.columns else { return };
        if let Some(partitions) = self.partitions {
            check_partitions(report, &columns.value, partitions);
        }
        for (name, spot, named) in named(fields, merging, load_type) {
            for column in named.iter().filter(|column| !self.has(&columns.value, name, column)) {
                let what = format!("`{name}` names `{column}`, which is not among `columns`");
                report.add_hint(Code::Contradiction, &spot, what, "add it to `columns`");
            }
        }
    }

    /// Whether the rows as they are written have the column; the files also have what the strategy adds.
    fn has(&self, columns: &[ColumnName], name: &str, column: &ColumnName) -> bool {
        let computed = |partition: &PartitionColumn| {
            partition.expression.is_some() && partition.column == *column
        };
        let added = || match self.load {
            Some(Load::Scd2(scd2)) => {
                let added = &scd2.columns;
                [&added.valid_from, &added.valid_to, &added.is_current].contains(&column)
            }
            _ => false,
        };
        columns.contains(column)
            || self.partitions.is_some_and(|partitions| partitions.value.iter().any(computed))
            || name == "zorder_columns" && added()
    }
}

/// The columns that settings name, of the settings that count.
fn named(
    fields: &Fields<'_>,
    merging: &Fields<'_>,
    load_type: Option<&str>,
) -> Vec<(&'static str, Spot, Vec<ColumnName>)> {
    let Some(load_type) = load_type else { return Vec::new() };
    let is_used = |fields: &Fields<'_>, name| {
        fields.get(name).is_some_and(|found| found.field.is_used_by_load(load_type))
    };
    let lists = [
        (merging, "merge_keys"),
        (fields, "compare_columns"),
        (fields, "hash_exclude_columns"),
        (fields, "sequence_by"),
        (fields, "zorder_columns"),
    ];
    let lists = lists
        .into_iter()
        .filter(|(fields, name)| is_used(fields, name))
        .filter_map(|(fields, name)| Some((name, fields.names(name)?)));
    let effective = Some("effective_column")
        .filter(|name| is_used(fields, name))
        .and_then(|name| Some((name, fields.column(name)?.map(|column| vec![column]))));
    let order = Some("order_by").filter(|name| is_used(fields, name)).and_then(|name| {
        let columns = |order: Vec<_>| {
            order.into_iter().map(|by: crate::table::OrderBy| by.column).collect::<Vec<_>>()
        };
        Some((name, fields.order(name)?.map(columns)))
    });
    let all = lists.chain(effective).chain(order);
    all.map(|(name, Located { value, spot })| (name, spot, value)).collect()
}

fn check_partitions(
    report: &Report,
    columns: &[ColumnName],
    partitions: &Located<Vec<PartitionColumn>>,
) {
    for PartitionColumn { column, expression } in &partitions.value {
        match (expression, columns.contains(column)) {
            (None, false) => {
                let what = format!("the partition column `{column}` is not among `columns`");
                report.add_hint(Code::Contradiction, &partitions.spot, what, "add it to `columns`");
            }
            (Some(_), true) => {
                let what = format!(
                    "the partition column `{column}` is computed by its `expression`, and among `columns`"
                );
                let hint = "take it out of `columns`, or leave the `expression` out";
                report.add_hint(Code::Contradiction, &partitions.spot, what, hint);
            }
            (None, true) | (Some(_), false) => {}
        }
    }
    let is_partition =
        |column: &ColumnName| partitions.value.iter().any(|partition| partition.column == *column);
    if columns.iter().all(is_partition) {
        let what = "all columns are partition columns; no column would be left for the files";
        report.add(Code::Contradiction, &partitions.spot, what);
    }
}
