//! The load strategy of a destination, with just its own settings; what contradicts itself is told.

use super::Load;
use super::PartitionColumn;
use super::PartitionValue;
use super::Source;
use super::fields::Word;
use super::node::Shape;
use super::open::Fields;
use super::report::Located;
use super::report::Report;
use super::words;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::known_names;

/// The load strategy's word, if the format takes it; `append` where none is said.
pub(super) fn load_type(
    report: &Report,
    fields: &Fields<'_>,
    format: Option<&str>,
) -> Option<&'static str> {
    let Some(found) = fields.get("load_type") else { return Some("append") };
    let word = fields.word("load_type")?;
    let Some(format) = format.filter(|format| *format != "delta") else {
        return Some(word.value.name);
    };
    let taken = if format == "view" { words::VIEW_LOADS } else { words::FLAT_LOADS };
    if taken.contains(&word.value.name) {
        return Some(word.value.name);
    }
    let said = said(&found.node.shape, word.value);
    let what = match words::KEYED.contains(&word.value.name) {
        true => format!("`{said}` merges row by row, which `{format}` files cannot"),
        false => format!("`{said}` is none of what a `{format}` takes"),
    };
    let taken: Vec<_> = taken.iter().map(|load| format!("`{load}`")).collect();
    let hint = format!("`{format}` takes {}", taken.join(", "));
    report.add_hint(Code::WrongValue, &word.spot, what, hint);
    None
}

fn said(shape: &Shape, word: &Word) -> String {
    match shape {
        Shape::Text(text) => text.trim().to_lowercase(),
        _ => word.name.to_owned(),
    }
}

/// What a destination says of its load.
#[derive(Debug)]
pub(super) struct Loading<'f, 'a> {
    pub(super) report: &'a Report,
    pub(super) fields: &'f Fields<'a>,
    /// `merge_keys` and `merge_condition`, wherever they stand.
    pub(super) merging: &'f Fields<'a>,
    pub(super) load_type: &'static str,
    pub(super) format: &'static str,
    /// `None` where they cannot be read.
    pub(super) partition_columns: Option<&'f [PartitionColumn]>,
    /// `None` where the source cannot be read.
    pub(super) completeness: Option<Completeness>,
}

/// Whether the source holds the full current state, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completeness {
    Said,
    Unsaid,
    /// It says how it does not.
    Filtered,
}

impl Completeness {
    pub(super) fn of(source: &Source) -> Self {
        match (source.source_complete, &source.filter) {
            // That a complete source has no filter was told.
            (true, _) => Self::Said,
            (false, Some(_)) => Self::Filtered,
            (false, None) => Self::Unsaid,
        }
    }
}

impl Loading<'_, '_> {
    /// The load, where all that it needs can be read.
    pub(super) fn read(&self) -> Option<Load> {
        self.fields.check_used_by_load(self.load_type);
        self.merging.check_used_by_load(self.load_type);
        match self.load_type {
            "append" => Some(Load::Append {}),
            "error_if_exists" => Some(Load::ErrorIfExists {}),
            "ignore" => Some(Load::Ignore {}),
            "overwrite" => self.overwrite(),
            "overwrite_partitions" => self.overwrite_partitions(),
            "merge_upsert" => self.merge_upsert().map(Load::MergeUpsert),
            "merge_overwrite" => self.merge_overwrite().map(Load::MergeOverwrite),
            "hash_diff_upsert" => self.hash_diff_upsert().map(Load::HashDiffUpsert),
            "scd2" => self.scd2().map(Load::Scd2),
            "snapshot_soft_delete" => self.snapshot_soft_delete().map(Load::SnapshotSoftDelete),
            _ => None,
        }
    }

    fn overwrite(&self) -> Option<Load> {
        let allow_empty = self.flag("allow_empty");
        let (column, value) = ("partition_column", "partition_value");
        match (self.is_set(column), self.is_set(value)) {
            (false, false) => return Some(Load::Overwrite { allow_empty, partition: None }),
            (true, true) => {}
            (true, false) => {
                let what = "`partition_column` without `partition_value` does not say which partition is replaced";
                self.against(column, what, "add `partition_value`, or leave it out");
                return None;
            }
            (false, true) => {
                let what = "`partition_value` without `partition_column` does not say which partition is replaced";
                self.against(value, what, "add `partition_column`, or leave it out");
                return None;
            }
        }
        let column = self.fields.column(column)?;
        self.check_is_partition("partition_column", &column);
        let value = self.fields.scalar(value)?.value;
        Some(Load::Overwrite {
            allow_empty,
            partition: Some(PartitionValue { column: column.value, value }),
        })
    }

    fn overwrite_partitions(&self) -> Option<Load> {
        let by_partition = self.fields.is_attempted("partition_columns");
        if self.format != "delta" && self.is_set("replace_where") {
            let what = format!(
                "`replace_where` selects rows, and `{}` files are replaced as a whole",
                self.format
            );
            let hint = "replace the partitions of `partition_columns`, or write a Delta table";
            let key = self.fields.key_of("replace_where");
            self.report.add_hint(Code::NotOffered, &key, what, hint);
            return None;
        }
        // With both, the predicate says what goes, and the table is split by the columns.
        if !self.is_set("replace_where") {
            if !by_partition {
                let what = "`overwrite_partitions` needs `partition_columns` or `replace_where`: it would replace the whole table";
                let hint = "name the partitions, or use `overwrite`";
                self.report.add_hint(Code::MissingKey, &self.fields.spot, what, hint);
                return None;
            }
            let why = "without `replace_where`, no rows replace no partition";
            self.guard_is_idle("allow_empty", why);
        }
        let replace_where = self.fields.text("replace_where").map(|text| text.value);
        Some(Load::OverwritePartitions { replace_where, allow_empty: self.flag("allow_empty") })
    }

    pub(super) fn is_set(&self, name: &'static str) -> bool {
        self.fields.get(name).is_some()
    }

    pub(super) fn flag(&self, name: &'static str) -> bool {
        self.fields.flag(name).is_some_and(|flag| flag.value)
    }

    /// Tells of a setting that another one forbids.
    pub(super) fn against(&self, name: &'static str, what: impl Into<String>, hint: &str) {
        self.report.add_hint(Code::Contradiction, &self.fields.key_of(name), what, hint);
    }

    /// Tells of a setting that the strategy has to have, unless it is there or misspelt.
    pub(super) fn need(&self, fields: &Fields<'_>, name: &'static str, hint: &str) {
        if !fields.is_attempted(name) {
            let what = format!("`{}` needs `{name}`", self.load_type);
            self.report.add_hint(Code::MissingKey, &self.fields.spot, what, hint);
        }
    }

    /// Tells of a guard where there is nothing that it could guard.
    pub(super) fn guard_is_idle(&self, name: &'static str, why: &str) {
        if self.is_set(name) {
            self.against(name, format!("`{name}` guards nothing here: {why}"), "leave it out");
        }
    }

    pub(super) fn check_is_partition(&self, name: &str, column: &Located<ColumnName>) {
        let Some(known) = self.partition_columns else { return };
        if known.iter().all(|known| known.column != column.value) {
            let what = format!("`{name}` names `{}`, which is no partition column", column.value);
            let hint = match known {
                [] => "name it under `partition_columns` too".to_owned(),
                known => known_names(
                    column.value.as_str(),
                    known.iter().map(|known| known.column.as_str()),
                ),
            };
            self.report.add_hint(Code::UnknownName, &column.spot, what, hint);
        }
    }

    /// Tells that the source does not say that it is complete: what it lacks was only not read, perhaps.
    pub(super) fn need_complete_source(&self, name: &'static str, why: &str, hint: &str) {
        match self.completeness {
            None | Some(Completeness::Said) => {}
            Some(Completeness::Unsaid) => {
                let what = format!("{why}, and the source does not say that it holds all rows");
                self.against(name, what, hint);
            }
            Some(Completeness::Filtered) => self.against_filter(name, why),
        }
    }

    /// Tells of a setting that takes rows for gone that the source's filter has left out.
    pub(super) fn against_filter(&self, name: &'static str, why: &str) {
        let what = format!("{why}, and the source's `filter` leaves rows out");
        self.against(name, what, "take the `filter` out of the source, or use another strategy");
    }
}
