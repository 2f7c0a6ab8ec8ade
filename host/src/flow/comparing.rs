//! The strategies with keys that ask whether a row differs: `hash_diff_upsert`, `scd2`, `snapshot_soft_delete`.

use super::Compare;
use super::HashDiff;
use super::Keys;
use super::Scd2;
use super::Snapshot;
use super::VersionColumns;
use super::destinations::VERSION_COLUMNS;
use super::loading::Loading;
use super::open::Fields;
use super::report::Located;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::table::LateHistory;

const COMPLETE: &str =
    "write `source_complete: true` at the source, if every run reads its full current state";

impl Loading<'_, '_> {
    pub(super) fn hash_diff_upsert(&self) -> Option<HashDiff> {
        let (keys, compare, changes) = (self.keys(), self.compare(), self.changes());
        self.check_removals_possible("without `delete_when`, no row is removed");
        Some(HashDiff { keys: keys?, compare: compare?, changes: changes? })
    }

    pub(super) fn scd2(&self) -> Option<Scd2> {
        let (keys, compare) = (self.keys(), self.compare());
        let hint = "name the column that says from when on a row holds";
        self.need(self.fields, "effective_column", hint);
        let effective = self.fields.column("effective_column");
        if let (Some(keys), Some(effective)) = (&keys, &effective)
            && keys.columns.contains(&effective.value)
        {
            let what = format!("`{}` is a key: a key has one version only then", effective.value);
            self.against("effective_column", what, "take it out of `merge_keys`");
        }
        let columns = self.version_columns(keys.as_ref(), effective.as_ref());
        let sequence_by = self.sequence_by();
        let late = match self.fields.word("late").map(|word| word.value.name) {
            Some("ignore") => LateHistory::Ignore,
            Some("error") => LateHistory::Error,
            Some("append") => LateHistory::Append,
            _ => LateHistory::History,
        };
        let close_missing = self.flag("close_missing");
        if close_missing {
            let why = "`close_missing` closes the keys that the source lacks";
            self.need_complete_source("close_missing", why, COMPLETE);
        } else {
            self.guard_is_idle("allow_empty", "without `close_missing`, no rows change nothing");
            self.check_removals_possible(
                "without `close_missing` or `delete_when`, no key is closed",
            );
        }
        Some(Scd2 {
            keys: keys?,
            effective: effective?.value,
            compare: compare?,
            columns: columns?,
            sequence_by,
            late,
            delete_when: self.fields.text("delete_when").map(|sql| sql.value),
            close_missing,
        })
    }

    pub(super) fn snapshot_soft_delete(&self) -> Option<Snapshot> {
        let why = "`snapshot_soft_delete` marks the keys that the source lacks as deleted";
        self.need_complete_source("load_type", why, COMPLETE);
        let (keys, compare) = (self.keys(), self.compare());
        Some(Snapshot { keys: keys?, compare: compare? })
    }

    fn compare(&self) -> Option<Compare> {
        let columns = self.fields.names("compare_columns");
        let except = self.fields.names("hash_exclude_columns");
        let by_exception = self.is_set("hash_strategy");
        if self.is_set("compare_columns") && by_exception {
            let what =
                "`compare_columns` and `hash_strategy` are two ways to say what counts as a change";
            self.against("hash_strategy", what, "keep one of them");
        }
        if self.is_set("hash_exclude_columns") && !by_exception {
            let what = "`hash_exclude_columns` belongs to `hash_strategy: all_columns_except`";
            self.against("hash_exclude_columns", what, "add it, or use `compare_columns`");
        }
        if let Some(columns) = &columns {
            let why = "is a key: rows with other keys are not compared";
            self.check_no_keys("compare_columns", columns, why);
        }
        if let Some(except) = &except {
            let why = "is a key: keys are never compared";
            self.check_no_keys("hash_exclude_columns", except, why);
        }
        match (columns, except) {
            (Some(columns), _) => Some(Compare::Columns(columns.value)),
            (None, Some(except)) => Some(Compare::AllExcept(except.value)),
            (None, None) => Some(Compare::All),
        }
    }

    fn version_columns(
        &self,
        keys: Option<&Keys>,
        effective: Option<&Located<ColumnName>>,
    ) -> Option<VersionColumns> {
        let none = Fields::none(self.report, &VERSION_COLUMNS, &self.fields.spot);
        let names = match self.fields.get("scd2_columns") {
            None => none,
            Some(found) => Fields::open(self.report, &VERSION_COLUMNS, found.node, &found.spot)?,
        };
        let column = |name, default: &str| match names.column(name) {
            Some(column) => Some(column.value),
            None if names.is_attempted(name) => None,
            None => ColumnName::new(default).ok(),
        };
        let fields = ["valid_from", "valid_to", "is_current"];
        let [valid_from, valid_to, is_current] =
            fields.map(|name| column(name, &format!("__{name}")));
        let columns = VersionColumns {
            valid_from: valid_from?,
            valid_to: valid_to?,
            is_current: is_current?,
        };
        let all = [&columns.valid_from, &columns.valid_to, &columns.is_current];
        for (index, (field, column)) in fields.into_iter().zip(all).enumerate() {
            let taken_by = if all[..index].contains(&column) {
                "another of these columns"
            } else if keys.is_some_and(|keys| keys.columns.contains(column)) {
                "a key"
            } else if effective.is_some_and(|effective| effective.value == *column) {
                "the `effective_column`"
            } else {
                continue;
            };
            let what = format!("`{field}` is `{column}`, the name of {taken_by}");
            let hint = "`scd2` adds these columns; give each a name of its own";
            self.report.add_hint(Code::Contradiction, &names.key_of(field), what, hint);
        }
        Some(columns)
    }
}
