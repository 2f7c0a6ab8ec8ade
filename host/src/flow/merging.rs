//! The strategies that go by keys alone, and what all strategies with keys share.

use super::Changes;
use super::Keys;
use super::MergeOverwrite;
use super::MergeStrategy;
use super::OnDuplicateKey;
use super::OnNullKey;
use super::Upsert;
use super::loading::Completeness;
use super::loading::Loading;
use super::report::Located;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::table::LateRow;
use crate::table::MatchCondition;

/// The largest share of the current rows that one run may remove or retire, unless the flow says otherwise.
const REMOVED_FRACTION_MAX: f64 = 0.5;

impl Loading<'_, '_> {
    pub(super) fn merge_upsert(&self) -> Option<Upsert> {
        let keys = self.keys();
        let word = self.merge_strategy_word();
        let strategy = word.and_then(|word| self.merge_strategy(word));
        let condition = self.condition();
        let changes = self.changes();
        if word == Some("replace_partitions") {
            let why = "`merge_strategy: replace_partitions` replaces whole partitions";
            for (fields, name) in [
                (self.merging, "merge_condition"),
                (self.fields, "sequence_by"),
                (self.fields, "delete_when"),
            ] {
                if fields.get(name).is_some() {
                    let what = format!("{why}; `{name}` goes row by row");
                    let hint = "leave it out, or use another `merge_strategy`";
                    self.report.add_hint(Code::Contradiction, &fields.key_of(name), what, hint);
                }
            }
            let why = "`replace_partitions` removes what its partitions held before";
            if self.completeness == Some(Completeness::Filtered) {
                self.against_filter("merge_strategy", why);
            } else if !self.flag("replace_partitions_source_complete") {
                let hint = "write `replace_partitions_source_complete: true`, if the rows are all there is of their partitions";
                self.need_complete_source("merge_strategy", why, hint);
            }
        } else if word.is_some() {
            let idle = "without `merge_strategy: replace_partitions`";
            if self.is_set("replace_partitions_source_complete") {
                let what = format!("`replace_partitions_source_complete` says nothing {idle}");
                self.against("replace_partitions_source_complete", what, "leave it out");
            }
            self.guard_is_idle("allow_empty", &format!("{idle}, no rows change nothing"));
            self.check_removals_possible(&format!("{idle} and `delete_when`, no row is removed"));
        }
        Some(Upsert { keys: keys?, strategy: strategy?, condition, changes: changes? })
    }

    pub(super) fn merge_overwrite(&self) -> Option<MergeOverwrite> {
        Some(MergeOverwrite { keys: self.keys()? })
    }

    pub(super) fn keys(&self) -> Option<Keys> {
        let hint = "name the columns that make a row's key; the first run needs them too";
        self.need(self.merging, "merge_keys", hint);
        let columns = self.merging.names("merge_keys");
        let on_null = match self.fields.word("on_null_key").map(|word| word.value.name) {
            Some("match") => OnNullKey::Match,
            _ => OnNullKey::Error,
        };
        let on_duplicate = self.on_duplicate();
        Some(Keys {
            columns: columns?.value,
            on_null,
            on_duplicate: on_duplicate?,
            allow_empty: self.flag("allow_empty"),
            max_removed_fraction: self
                .fields
                .fraction("max_removed_fraction")
                .map_or(REMOVED_FRACTION_MAX, |fraction| fraction.value),
        })
    }

    fn on_duplicate(&self) -> Option<OnDuplicateKey> {
        let is_used = |name| {
            let found = self.fields.get(name);
            found.is_some_and(|found| found.field.is_used_by_load(self.load_type))
        };
        if is_used("on_duplicate_key") && is_used("sequence_by") {
            let what = "`sequence_by` decides between rows of one key; `on_duplicate_key` cannot";
            self.against("on_duplicate_key", what, "leave one of them out");
            return None;
        }
        let word = self.fields.word("on_duplicate_key").filter(|_| is_used("on_duplicate_key"));
        if word.is_some_and(|word| word.value.name == "keep_latest") {
            if !self.fields.is_attempted("order_by") {
                let what = "`on_duplicate_key: keep_latest` does not say which row is the latest";
                self.against("on_duplicate_key", what, "add `order_by`");
            }
            let order_by = self.fields.order("order_by")?.value;
            return Some(OnDuplicateKey::KeepLatest { order_by });
        }
        if is_used("order_by") {
            let what = "`order_by` belongs to `on_duplicate_key: keep_latest`";
            self.against("order_by", what, "leave it out, or add `on_duplicate_key: keep_latest`");
        }
        Some(OnDuplicateKey::Error)
    }

    /// The word of `merge_strategy`; `None` where it is none.
    fn merge_strategy_word(&self) -> Option<&'static str> {
        match self.fields.word("merge_strategy") {
            None if self.fields.is_attempted("merge_strategy") => None,
            word => Some(word.map_or("delta", |word| word.value.name)),
        }
    }

    fn merge_strategy(&self, word: &str) -> Option<MergeStrategy> {
        let name = "merge_partition_column";
        if word == "delta" {
            if self.is_set(name) {
                let what = format!(
                    "`{name}` belongs to `merge_strategy: delta_by_partition` and `replace_partitions`"
                );
                self.against(name, what, "leave it out, or add one of them");
            }
            return Some(MergeStrategy::Delta);
        }
        if !self.fields.is_attempted(name) {
            let what = format!("`merge_strategy: {word}` needs `{name}`");
            let spot = self.fields.key_of("merge_strategy");
            let hint = "name one of the `partition_columns`";
            self.report.add_hint(Code::MissingKey, &spot, what, hint);
        }
        let column = self.fields.column(name)?;
        self.check_is_partition(name, &column);
        let column = column.value;
        Some(match word {
            "delta_by_partition" => MergeStrategy::DeltaByPartition { column },
            _ => MergeStrategy::ReplacePartitions { column },
        })
    }

    fn condition(&self) -> Option<MatchCondition> {
        let aliases = ["target_alias", "source_alias"];
        if self.merging.get("merge_condition").is_none() {
            for name in aliases.into_iter().filter(|name| self.merging.get(name).is_some()) {
                let what = format!("`{name}` names a row of `merge_condition`, and there is none");
                let spot = self.merging.key_of(name);
                self.report.add_hint(Code::Contradiction, &spot, what, "leave it out");
            }
            return None;
        }
        let alias = |name, default: &str| match self.merging.text(name) {
            None => default.to_owned(),
            Some(Located { value, spot }) => {
                let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                    && !value.starts_with(|c: char| c.is_ascii_digit());
                if !plain {
                    let what =
                        format!("`{value}` is no alias: letters, digits and `_`, no digit first");
                    self.report.add(Code::WrongValue, &spot, what);
                }
                value
            }
        };
        let [target_alias, source_alias] = [alias(aliases[0], "T"), alias(aliases[1], "S")];
        if target_alias.eq_ignore_ascii_case(&source_alias) {
            let what = format!("both rows of `merge_condition` are called `{source_alias}`");
            let set = aliases.into_iter().find(|name| self.merging.get(name).is_some());
            let spot = self.merging.key_of(set.unwrap_or("merge_condition"));
            let hint = "give them two names; `T` and `S` by default";
            self.report.add_hint(Code::Contradiction, &spot, what, hint);
        }
        let sql = self.merging.text("merge_condition")?.value;
        Some(MatchCondition { sql, target_alias, source_alias })
    }

    pub(super) fn changes(&self) -> Option<Changes> {
        let sequence_by = self.sequence_by();
        let word = self.fields.word("late");
        if !self.is_set("sequence_by") && self.is_set("late") {
            let what = "`late` needs `sequence_by`: without it, no change is older than another";
            self.against("late", what, "leave it out, or add `sequence_by`");
        }
        let late = match word.map(|word| word.value.name) {
            None | Some("ignore") => LateRow::Ignore,
            Some("error") => LateRow::Error,
            Some(other) => {
                let what = format!("`late: {other}` keeps older versions, which only `scd2` does");
                self.against("late", what, "use `ignore` or `error`");
                return None;
            }
        };
        let delete_when = self.fields.text("delete_when").map(|sql| sql.value);
        Some(Changes { sequence_by, late, delete_when })
    }

    /// Empty where rows count as they come.
    pub(super) fn sequence_by(&self) -> Vec<ColumnName> {
        if self.is_set("on_null_sequence") && !self.is_set("sequence_by") {
            let what = "`on_null_sequence` needs `sequence_by`";
            self.against("on_null_sequence", what, "leave it out, or add `sequence_by`");
        }
        let Some(sequence) = self.fields.names("sequence_by") else { return Vec::new() };
        let why = "is a key: it is the same in all changes of one key";
        self.check_no_keys("sequence_by", &sequence, why);
        sequence.value
    }

    /// Tells of keys among columns that must not be keys.
    pub(super) fn check_no_keys(
        &self,
        name: &'static str,
        columns: &Located<Vec<ColumnName>>,
        why: &str,
    ) {
        let Some(keys) = self.merging.names("merge_keys") else { return };
        for column in columns.value.iter().filter(|column| keys.value.contains(column)) {
            let what = format!("`{name}` names `{column}`, which {why}");
            self.report.add_hint(
                Code::Contradiction,
                &self.fields.key_of(name),
                what,
                "take it out",
            );
        }
    }

    /// Tells of a guard against removals where nothing deletes.
    pub(super) fn check_removals_possible(&self, why: &str) {
        if !self.is_set("delete_when") {
            self.guard_is_idle("max_removed_fraction", why);
        }
    }
}
