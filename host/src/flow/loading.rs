//! The load strategy of a destination, and what it may do to the target's columns.

use super::Load;
use super::SchemaChange;
use super::node::Shape;
use super::open::Fields;
use super::report::Located;
use super::report::Report;
use super::words;
use crate::problem::Code;

/// Strategies of destinations that are files without a log.
pub(super) const FLAT: [&str; 2] = ["append", "overwrite"];

/// The strategy, with just its own settings.
pub(super) fn load(report: &Report, fields: &Fields<'_>, format: Option<&str>) -> Option<Load> {
    let load_type = match fields.get("load_type") {
        None => "append",
        Some(_) => {
            refuse_on_flat_files(report, fields, format)?;
            fields.word("load_type")?.value.name
        }
    };
    let allow_empty = fields.flag("allow_empty");
    let may_empty = |flag: &Located<bool>| flag.value;
    match load_type {
        "overwrite" => Some(Load::Overwrite {
            allow_empty: allow_empty.as_ref().is_some_and(may_empty),
            partition: None,
        }),
        other => {
            if let Some(allow_empty) = allow_empty {
                let what = match other {
                    "append" => {
                        "`allow_empty` belongs to `overwrite`; appending no rows is always allowed"
                            .to_owned()
                    }
                    other => format!(
                        "`allow_empty` belongs to `overwrite`; `{other}` never empties a target"
                    ),
                };
                report.add_hint(Code::Contradiction, &allow_empty.spot, what, "leave it out");
            }
            match other {
                "append" => Some(Load::Append {}),
                "error_if_exists" => Some(Load::ErrorIfExists {}),
                "ignore" => Some(Load::Ignore {}),
                "overwrite_partitions" => overwrite_partitions(report, fields),
                _ => None,
            }
        }
    }
}

/// Without partition columns it would replace the whole table, which nobody asks for by this name.
fn overwrite_partitions(report: &Report, fields: &Fields<'_>) -> Option<Load> {
    if fields.get("partition_columns").is_none() {
        let what = "`overwrite_partitions` needs `partition_columns`: they say what it replaces";
        let hint = "name them, or use `overwrite` to replace the whole target";
        report.add_hint(Code::MissingKey, &fields.key_of("load_type"), what, hint);
        return None;
    }
    Some(Load::OverwritePartitions { replace_where: None, allow_empty: false })
}

/// Files without a log take two strategies. Merging into them is no matter of versions: better to say so than "not yet".
fn refuse_on_flat_files(report: &Report, fields: &Fields<'_>, format: Option<&str>) -> Option<()> {
    let (Some(found), Some(format)) =
        (fields.get("load_type"), format.filter(|format| *format != "delta"))
    else {
        return Some(());
    };
    let Shape::Text(text) = &found.node.shape else { return Some(()) };
    let said = text.trim().to_lowercase();
    let Some(word) = words::LOAD_TYPES.iter().find(|word| word.is(&said)) else {
        return Some(());
    };
    if FLAT.contains(&word.name) {
        return Some(());
    }
    let takes = format!("`{format}` takes {}", FLAT.map(|name| format!("`{name}`")).join(", "));
    if words::needs_merge(word.name) {
        let what = format!("`{said}` merges row by row, which `{format}` files cannot");
        report.add_hint(Code::WrongValue, &found.spot, what, takes);
    } else {
        let what = format!("`{said}` on `{format}` files is not in this version");
        report.add_hint(Code::NotOffered, &found.spot, what, takes);
    }
    None
}

/// `merge_schema` and `overwrite_schema`.
pub(super) fn schema_change(report: &Report, options: &Fields<'_>) -> Option<SchemaChange> {
    let is_on = |name| options.flag(name).filter(|flag| flag.value);
    match (is_on("merge_schema"), is_on("overwrite_schema")) {
        (None, None) => Some(SchemaChange::Refuse),
        (Some(_), None) => Some(SchemaChange::Merge),
        (None, Some(_)) => Some(SchemaChange::Overwrite),
        (Some(_), Some(overwrite)) => {
            let what = "`merge_schema` adds columns, `overwrite_schema` replaces them all";
            report.add_hint(Code::Contradiction, &overwrite.spot, what, "leave one of them out");
            None
        }
    }
}

/// The columns of rows that stay cannot be replaced, and a table that is made anew has nothing to merge with.
pub(super) fn check_schema_change(
    report: &Report,
    options: &Fields<'_>,
    load: &Load,
    change: SchemaChange,
) -> Option<()> {
    let (name, what) = match (change, load) {
        (SchemaChange::Overwrite, Load::Overwrite { partition: None, .. })
        | (SchemaChange::Refuse, _) => return Some(()),
        (SchemaChange::Overwrite, _) => (
            "overwrite_schema",
            format!(
                "`overwrite_schema` belongs to `overwrite`; rows that `{}` leaves need their columns",
                load.name()
            ),
        ),
        (SchemaChange::Merge, Load::ErrorIfExists {} | Load::Ignore {}) => (
            "merge_schema",
            format!(
                "`{}` writes new tables only, which have the rows' columns anyway",
                load.name()
            ),
        ),
        (SchemaChange::Merge, _) => return Some(()),
    };
    let spot = options.flag(name)?.spot;
    report.add_hint(Code::Contradiction, &spot, what, "leave it out");
    None
}
