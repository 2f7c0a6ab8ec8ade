//! Load strategies: what the flow asks for becomes one table change. Pure, and the only place that knows all strategies.

use arrow::datatypes::DataType;
use arrow::datatypes::Schema;

use crate::flow::Changes;
use crate::flow::Compare;
use crate::flow::Keys;
use crate::flow::Load;
use crate::flow::MergeStrategy;
use crate::flow::OnDuplicateKey;
use crate::flow::OnNullKey;
use crate::flow::PartitionColumn;
use crate::flow::PartitionValue;
use crate::flow::Scd2;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
use crate::table::IfExists;
use crate::table::MatchCondition;
use crate::table::Merge;
use crate::table::Missing;
use crate::table::OrderBy;
use crate::table::Repeats;
use crate::table::Rows;
use crate::table::SYSTEM_COLUMNS;
use crate::table::Scope;
use crate::table::TableChange;
use crate::table::Update;
use crate::table::Versions;

/// The change of a load of rows with these columns, derived partition columns among them.
///
/// # Errors
/// Every column that the strategy names and the rows lack, and every column that the strategy writes itself and the rows have,
/// each at its field below `at`.
pub fn change(
    load: &Load,
    schema: &Schema,
    partition_columns: &[PartitionColumn],
    at: &Place,
) -> Result<TableChange, Vec<Problem>> {
    let mut rows = Columns { schema, partition_columns, at, problems: Vec::new() };
    let change = match load {
        Load::Append {} => TableChange::Append {},
        Load::ErrorIfExists {} => TableChange::Create { if_exists: IfExists::Refuse },
        Load::Ignore {} => TableChange::Create { if_exists: IfExists::Skip },
        Load::Overwrite { allow_empty, partition } => {
            let scope = match partition {
                None => Scope::All,
                Some(partition) => rows.partition(partition),
            };
            TableChange::Replace { scope, allow_empty: *allow_empty }
        }
        Load::OverwritePartitions { replace_where, allow_empty } => {
            let scope = replace_where.clone().map_or(Scope::Partitions, Scope::Predicate);
            TableChange::Replace { scope, allow_empty: *allow_empty }
        }
        Load::MergeUpsert(upsert) => {
            match &upsert.strategy {
                MergeStrategy::Delta => {}
                MergeStrategy::DeltaByPartition { column }
                | MergeStrategy::ReplacePartitions { column } => {
                    rows.need_partition(column, "merge_partition_column");
                }
            }
            let merge = Merge {
                compare: rows.compare_in_sequence(&upsert.keys, &Compare::All, &upsert.changes),
                rows: rows.update(&upsert.keys, &upsert.changes, upsert.condition.clone()),
                delete_when: upsert.changes.delete_when.clone(),
                ..rows.merge(&upsert.keys)
            };
            match &upsert.strategy {
                MergeStrategy::Delta | MergeStrategy::DeltaByPartition { .. } => merge.into(),
                MergeStrategy::ReplacePartitions { column } => {
                    let missing = Missing::RemoveInPartitions { column: column.clone() };
                    Merge { missing, ..merge }.into()
                }
            }
        }
        Load::MergeOverwrite(overwrite) => Merge {
            compare: rows.compare(&overwrite.keys, &Compare::All, &[]),
            rows: Rows::Group {},
            ..rows.merge(&overwrite.keys)
        }
        .into(),
        Load::HashDiffUpsert(diff) => Merge {
            compare: rows.compare_in_sequence(&diff.keys, &diff.compare, &diff.changes),
            rows: rows.update(&diff.keys, &diff.changes, None),
            delete_when: diff.changes.delete_when.clone(),
            ..rows.merge(&diff.keys)
        }
        .into(),
        Load::Scd2(scd2) => rows.scd2(scd2).into(),
        Load::SnapshotSoftDelete(snapshot) => Merge {
            compare: rows.compare(&snapshot.keys, &snapshot.compare, &[]),
            rows: rows.update(&snapshot.keys, &Changes::default(), None),
            missing: Missing::Mark,
            ..rows.merge(&snapshot.keys)
        }
        .into(),
    };
    if let TableChange::Merge(merge) = &change {
        for name in merge.own_columns() {
            if schema.column_with_name(name).is_some() {
                let what = format!(
                    "the rows have a column `{name}`, which `{}` writes itself",
                    load.name()
                );
                rows.add(
                    Code::Contradiction,
                    "columns",
                    what,
                    "leave it out or rename it".to_owned(),
                );
            }
        }
    }
    if rows.problems.is_empty() { Ok(change) } else { Err(rows.problems) }
}

impl From<Merge> for TableChange {
    fn from(merge: Merge) -> Self {
        Self::Merge(Box::new(merge))
    }
}

/// The columns of the rows, and what is wrong with the names that the strategy uses.
struct Columns<'a> {
    schema: &'a Schema,
    partition_columns: &'a [PartitionColumn],
    at: &'a Place,
    problems: Vec<Problem>,
}

impl Columns<'_> {
    fn add(&mut self, code: Code, field: &str, what: String, hint: String) {
        let at = Place { field: format!("{}.{field}", self.at.field), ..self.at.clone() };
        self.problems.push(Problem::new(code, at, what).hint(hint));
    }

    /// The column has to be there.
    fn need(&mut self, column: &ColumnName, field: &str) {
        if self.schema.column_with_name(column.as_str()).is_none() {
            let names = self.schema.fields().iter().map(|field| field.name().as_str());
            let what = format!("`{field}` names `{column}`, which the rows do not have");
            self.add(Code::UnknownName, field, what, known_names(column.as_str(), names));
        }
    }

    /// Versions of keys that do not come end at the run's time, so all of them have to begin at a time.
    fn need_time(&mut self, effective: &ColumnName) {
        let Some((_, field)) = self.schema.column_with_name(effective.as_str()) else { return };
        if matches!(
            field.data_type(),
            DataType::Date32 | DataType::Date64 | DataType::Timestamp(..)
        ) {
            return;
        }
        let what = format!(
            "`close_missing` ends versions at the run's time, and `{effective}` is {}, no date or timestamp",
            field.data_type()
        );
        let hint = "read it as a timestamp (`schema_hints`), or close keys by `delete_when`";
        self.add(Code::Schema, "close_missing", what, hint.to_owned());
    }

    fn merge(&mut self, keys: &Keys) -> Merge {
        for column in &keys.columns {
            self.need(column, "merge_keys");
        }
        Merge {
            keys: keys.columns.clone(),
            nulls_match: keys.on_null == OnNullKey::Match,
            compare: Vec::new(),
            rows: Rows::Group {},
            missing: Missing::Keep,
            delete_when: None,
            allow_empty: keys.allow_empty,
            max_removed_fraction: keys.max_removed_fraction,
        }
    }

    fn update(
        &mut self,
        keys: &Keys,
        changes: &Changes,
        condition: Option<MatchCondition>,
    ) -> Rows {
        let repeats = match (&changes.sequence_by[..], &keys.on_duplicate) {
            ([], OnDuplicateKey::Error) => Repeats::Refuse,
            ([], OnDuplicateKey::KeepLatest { order_by }) => {
                for OrderBy { column, .. } in order_by {
                    self.need(column, "order_by");
                }
                Repeats::First(order_by.clone())
            }
            (by, _) => {
                by.iter().for_each(|column| self.need(column, "sequence_by"));
                Repeats::Sequence { by: by.to_vec(), late: changes.late }
            }
        };
        Rows::Update(Update { repeats, condition })
    }

    fn scd2(&mut self, scd2: &Scd2) -> Merge {
        self.need(&scd2.effective, "effective_column");
        for column in &scd2.sequence_by {
            self.need(column, "sequence_by");
        }
        if scd2.close_missing {
            self.need_time(&scd2.effective);
        }
        let order: Vec<_> = std::iter::once(&scd2.effective).chain(&scd2.sequence_by).collect();
        Merge {
            compare: self.compare(&scd2.keys, &scd2.compare, &order),
            rows: Rows::Version(Versions {
                effective: scd2.effective.clone(),
                valid_from: scd2.columns.valid_from.clone(),
                valid_to: scd2.columns.valid_to.clone(),
                is_current: scd2.columns.is_current.clone(),
                sequence_by: scd2.sequence_by.clone(),
                late: scd2.late,
            }),
            missing: if scd2.close_missing { Missing::Close } else { Missing::Keep },
            delete_when: scd2.delete_when.clone(),
            ..self.merge(&scd2.keys)
        }
    }

    /// The columns that make a difference, and the sequence: a row that only is newer has to be remembered as newer, or one
    /// that comes late would win against it.
    fn compare_in_sequence(
        &mut self,
        keys: &Keys,
        compare: &Compare,
        changes: &Changes,
    ) -> Vec<ColumnName> {
        let mut columns = self.compare(keys, compare, &[]);
        for column in &changes.sequence_by {
            if !columns.contains(column) && !keys.columns.contains(column) {
                columns.push(column.clone());
            }
        }
        columns
    }

    /// The columns that make a difference; `order` tells versions apart and is none of them, unless the flow names it.
    fn compare(
        &mut self,
        keys: &Keys,
        compare: &Compare,
        order: &[&ColumnName],
    ) -> Vec<ColumnName> {
        let except: &[ColumnName] = match compare {
            Compare::Columns(columns) => {
                columns.iter().for_each(|column| self.need(column, "compare_columns"));
                return columns.clone();
            }
            Compare::AllExcept(columns) => {
                columns.iter().for_each(|column| self.need(column, "hash_exclude_columns"));
                columns
            }
            Compare::All => &[],
        };
        let derived = |name: &str| {
            let mut columns = self.partition_columns.iter();
            columns.any(|column| column.expression.is_some() && column.column.as_str() == name)
        };
        let names = self.schema.fields().iter().map(|field| field.name().as_str());
        let counts = names.filter(|name| {
            let named = |columns: &[ColumnName]| columns.iter().any(|it| it.as_str() == *name);
            !named(&keys.columns)
                && !named(except)
                && !order.iter().any(|it| it.as_str() == *name)
                && !SYSTEM_COLUMNS.contains(name)
                && !derived(name)
        });
        counts.filter_map(|name| ColumnName::new(name).ok()).collect()
    }

    /// The column has to be one that splits the table.
    fn need_partition(&mut self, column: &ColumnName, field: &str) {
        if !self.partition_columns.iter().any(|known| known.column == *column) {
            let names = self.partition_columns.iter().map(|known| known.column.as_str());
            let what = format!("`{column}` is no partition column of the destination");
            let hint = known_names(column.as_str(), names);
            self.add(Code::UnknownName, field, what, hint);
        }
    }

    /// The rows of one partition.
    fn partition(&mut self, partition: &PartitionValue) -> Scope {
        let PartitionValue { column, value } = partition.clone();
        self.need_partition(&column, "partition_column");
        Scope::Partition { column, value }
    }
}
