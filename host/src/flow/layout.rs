//! What a destination says of its table beside the rows: its schema, its files, its properties.

use std::collections::BTreeMap;

use super::Layout;
use super::PartitionColumn;
use super::SchemaChange;
use super::open::Fields;
use super::report::Located;
use super::report::Report;
use crate::problem::Code;

/// `merge_schema` and `overwrite_schema`.
pub(super) fn schema_change(
    report: &Report,
    fields: &Fields<'_>,
    options: &Fields<'_>,
    load_type: Option<&str>,
) -> SchemaChange {
    if let Some(load_type) = load_type {
        options.check_used_by_load(load_type);
    }
    let is_on = |name| options.flag(name).is_some_and(|flag| flag.value);
    match (is_on("merge_schema"), is_on("overwrite_schema")) {
        (false, false) => SchemaChange::Refuse,
        (true, false) => SchemaChange::Merge,
        (merge, true) => {
            let spot = options.key_of("overwrite_schema");
            if merge {
                let what =
                    "`merge_schema` keeps the target's columns and `overwrite_schema` does not";
                report.add_hint(Code::Contradiction, &spot, what, "keep one of them");
            }
            if fields.get("partition_column").is_some() {
                let what = "`overwrite_schema` replaces the schema of all rows; `partition_column` replaces one partition";
                report.add_hint(Code::Contradiction, &spot, what, "leave one of them out");
            }
            SchemaChange::Overwrite
        }
    }
}

/// `optimize_after_write` and `zorder_columns`.
pub(super) fn layout(
    report: &Report,
    fields: &Fields<'_>,
    format: &str,
    partitions: Option<&Located<Vec<PartitionColumn>>>,
) -> Layout {
    for name in ["optimize_after_write", "zorder_columns"] {
        delta_only(report, fields, format, name);
    }
    let optimize = fields.flag("optimize_after_write").is_some_and(|flag| flag.value);
    let Some(zorder) = fields.names("zorder_columns") else {
        return Layout { optimize, zorder: Vec::new() };
    };
    let key = fields.key_of("zorder_columns");
    if !optimize {
        let what = "`zorder_columns` needs `optimize_after_write: true`";
        report.add_hint(Code::Contradiction, &key, what, "add it, or leave the columns out");
    }
    for column in &zorder.value {
        let is_partition = |partition: &PartitionColumn| partition.column == *column;
        if partitions.is_some_and(|partitions| partitions.value.iter().any(is_partition)) {
            let what = format!(
                "`zorder_columns` names the partition column `{column}`: it is the same in all rows of a file"
            );
            report.add_hint(Code::Contradiction, &key, what, "take it out");
        }
    }
    Layout { optimize, zorder: zorder.value }
}

/// `table_properties`.
pub(super) fn table_properties(
    report: &Report,
    fields: &Fields<'_>,
    format: &str,
    load_type: Option<&str>,
) -> BTreeMap<String, String> {
    delta_only(report, fields, format, "table_properties");
    let Some(properties) = fields.properties("table_properties") else { return BTreeMap::new() };
    let only_adds = |load: &str| matches!(load, "append" | "error_if_exists" | "ignore");
    if let Some(load_type) = load_type.filter(|load| !only_adds(load))
        && properties.value.get("delta.appendOnly").is_some_and(|value| value == "true")
    {
        let what =
            format!("`delta.appendOnly` keeps all rows for good, and `{load_type}` does not");
        report.add_hint(Code::Contradiction, &properties.spot, what, "leave it out");
    }
    properties.value
}

fn delta_only(report: &Report, fields: &Fields<'_>, format: &str, name: &'static str) {
    if format != "delta" && fields.get(name).is_some() {
        let what = format!("`{name}` belongs to Delta tables; `{format}` files have no such thing");
        report.add_hint(Code::Contradiction, &fields.key_of(name), what, "leave it out");
    }
}
