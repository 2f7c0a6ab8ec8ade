//! Whether rows fit a target, and in which types they are written. Pure: facts in, problems out.

mod existing;
mod flat;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::TargetFacts;
use super::TargetState;
use super::types;
use crate::expression::Expression;
use crate::expression::Mistake;
use crate::expression::Scope;
use crate::flow::DateFolders;
use crate::flow::SchemaChange;
use crate::flow::WriteFormat;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
use crate::storage::avro;
use crate::storage::partition;
use crate::storage::text::utc;
use crate::table::DELETED_AT;
use crate::table::IS_DELETED;
use crate::table::Merge;
use crate::table::Rows;
use crate::table::TableChange;
use crate::table::Update;

/// What is to be written to a target.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    /// How.
    pub format: &'a WriteFormat,
    /// The columns of the rows.
    pub schema: &'a Schema,
    /// Columns whose values split the table into folders, outermost first.
    pub partition_columns: &'a [ColumnName],
    /// Folders by date that files are written into.
    pub date_folders: Option<&'a DateFolders>,
    /// What becomes of the target's rows.
    pub change: &'a TableChange,
    /// What becomes of columns that the target lacks.
    pub schema_change: SchemaChange,
}

/// Rows and target together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// The rows' columns as they are written, in the target's order and types; one that is not nullable takes no NULL.
    pub rows: SchemaRef,
    /// All columns that the target has afterwards, those of the change itself among them.
    pub table: SchemaRef,
    /// Whether a target that is there gets other columns than it has.
    pub evolves: bool,
}

/// How the rows land.
///
/// # Errors
/// Every reason why such rows cannot be loaded into the target so, each at its field below `at`.
pub fn fit(facts: &TargetFacts, ask: &Ask<'_>, at: &Place) -> Result<Landing, Vec<Problem>> {
    let Ask { format, schema, partition_columns, .. } = *ask;
    let mut check = Check { format, schema, at, ask, problems: Vec::new() };
    check.names();
    check.partitions(partition_columns);
    check.offered();
    check.date_folders();
    if !check.is_table() {
        check.partition_value();
    }
    let landing = match &facts.state {
        TargetState::Absent => check.new_target(),
        TargetState::Table(table) => check.table(table),
        TargetState::Folder(folder) => check.folder(folder),
        TargetState::Unusable { what, hint } => {
            let what = format!("`{}`: {what}", facts.path.display());
            check.add(Code::WrongValue, "path", what, hint.clone());
            check.new_target()
        }
    };
    check.expressions(&landing);
    if check.problems.is_empty() { Ok(landing) } else { Err(check.problems) }
}

/// The columns that a change adds itself.
fn own_fields(merge: &Merge, rows: &[Field]) -> Vec<Field> {
    let fields = merge.own_columns().into_iter().map(|name| {
        let data_type = match &merge.rows {
            Rows::Version(versions) if name != versions.is_current.as_str() => {
                let effective =
                    rows.iter().find(|field| field.name() == versions.effective.as_str());
                effective.map_or(DataType::Boolean, |field| field.data_type().clone())
            }
            _ if name == DELETED_AT => utc(),
            _ => DataType::Boolean,
        };
        Field::new(name, data_type, true)
    });
    fields.collect()
}

struct Check<'a> {
    format: &'a WriteFormat,
    schema: &'a Schema,
    at: &'a Place,
    ask: &'a Ask<'a>,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn add(&mut self, code: Code, field: &str, what: String, hint: impl Into<String>) {
        let gap = if self.at.field.is_empty() { "" } else { "." };
        let at = Place { field: format!("{}{gap}{field}", self.at.field), ..self.at.clone() };
        self.problems.push(Problem::new(code, at, what).hint(hint));
    }

    fn is_table(&self) -> bool {
        matches!(self.format, WriteFormat::Delta(_))
    }

    fn names(&mut self) {
        if self.schema.fields().is_empty() {
            self.add(
                Code::Schema,
                "columns",
                "there are no columns to write".to_owned(),
                "name at least one column",
            );
        }
        let folds = matches!(self.format, WriteFormat::Delta(_));
        let mut seen: HashMap<String, &str> = HashMap::new();
        for name in self.schema.fields().iter().map(|field| field.name().as_str()) {
            let key = if folds { name.to_lowercase() } else { name.to_owned() };
            if let Some(before) = seen.insert(key, name) {
                let what = match before == name {
                    true => format!("there are two columns `{name}`"),
                    false => format!(
                        "columns `{before}` and `{name}` differ by case only, which Delta does not tell apart"
                    ),
                };
                self.add(Code::Schema, "columns", what, "rename one of them, or leave it out");
            }
        }
        if let WriteFormat::Avro(_) = self.format {
            for field in self.schema.fields().iter().filter(|field| !avro::is_name(field.name())) {
                let what = format!("`{}` is no name that Avro has", field.name());
                let hint =
                    "Avro has ASCII letters, digits and `_`, no digit first: rename the column";
                self.add(Code::Schema, "columns", what, hint);
            }
        }
        // A blank line is no record, so a lone NULL needs a spelling.
        if let (WriteFormat::Csv(options), 1) = (self.format, self.schema.fields().len())
            && options.null_value.is_empty()
            && self.schema.field(0).is_nullable()
        {
            let what =
                "a CSV file of one column cannot hold NULL as nothing: the line would be blank"
                    .to_owned();
            self.add(
                Code::Schema,
                "null_value",
                what,
                "say how NULL is written, as in `null_value: NULL`",
            );
        }
    }

    fn partitions(&mut self, columns: &[ColumnName]) {
        for (index, column) in columns.iter().enumerate() {
            let field = format!("partition_columns[{index}]");
            let found = self.schema.fields().iter().find(|field| field.name() == column.as_str());
            let Some(found) = found else {
                let names = self
                    .schema
                    .fields()
                    .iter()
                    .map(|field| field.name().as_str())
                    .collect::<Vec<_>>();
                let hint = known_names(column.as_str(), names);
                self.add(
                    Code::UnknownName,
                    &field,
                    format!("there is no column `{column}` to write"),
                    hint,
                );
                continue;
            };
            if columns[..index].contains(column) {
                self.add(
                    Code::DuplicateKey,
                    &field,
                    format!("column `{column}` is named twice"),
                    "name it once",
                );
            }
            let data_type = types::written(self.format, found.data_type());
            if let Some(why) =
                data_type.ok().and_then(|data_type| partition::unsupported(&data_type))
            {
                let what =
                    format!("column `{column}` is {} and cannot split a table", found.data_type());
                self.add(Code::Schema, &field, what, why);
            }
        }
        if !columns.is_empty() && columns.len() >= self.schema.fields().len() {
            let what = "all columns are partition columns: the files would have none".to_owned();
            self.add(
                Code::Schema,
                "partition_columns",
                what,
                "leave at least one column to the files",
            );
        }
    }

    /// SQL of the change, against the columns that it is about.
    fn expressions(&mut self, landing: &Landing) {
        let Landing { rows, table, .. } = landing;
        let merge = match self.ask.change {
            TableChange::Merge(merge) => merge,
            TableChange::Replace { scope, .. } => {
                let Some(sql) = scope.predicate().filter(|_| self.is_table()) else { return };
                let scope = Scope::table(Arc::clone(rows));
                if let Err(Mistake { what, hint }) = Expression::predicate(&sql, &scope) {
                    let what = format!("nothing can be replaced where {sql}: {what}");
                    self.add(Code::WrongValue, "load_type", what, hint);
                }
                return;
            }
            TableChange::Create { .. } | TableChange::Append {} => return,
        };
        if let Some(sql) = &merge.delete_when {
            self.condition("delete_when", sql, &Scope::table(Arc::clone(rows)));
        }
        if let Rows::Update(Update { condition: Some(by), .. }) = &merge.rows {
            let tables = [(&by.target_alias, table), (&by.source_alias, rows)];
            let tables = tables.map(|(alias, schema)| (alias.as_str(), Arc::clone(schema)));
            self.condition("merge_condition", &by.sql, &Scope::aliased(tables));
        }
    }

    fn condition(&mut self, field: &str, sql: &str, scope: &Scope) {
        if let Err(Mistake { what, hint }) = Expression::predicate(sql, scope) {
            self.add(Code::WrongValue, field, format!("`{field}`: {what}"), hint);
        }
    }

    /// The target as the rows make it.
    fn new_target(&mut self) -> Landing {
        let rows = self.fresh();
        self.landing(rows.clone(), rows, None)
    }

    /// Adds the columns of the change itself to those of the table; `known` are those that it has now, where it is there.
    fn landing(
        &mut self,
        rows: Vec<Field>,
        mut table: Vec<Field>,
        known: Option<&Schema>,
    ) -> Landing {
        let own = match self.ask.change {
            TableChange::Merge(merge) => own_fields(merge, &rows),
            TableChange::Create { .. } | TableChange::Append {} | TableChange::Replace { .. } => {
                Vec::new()
            }
        };
        for own in own {
            let name = own.name();
            let Some(there) = table.iter().find(|field| field.name() == name) else {
                // A table that another strategy filled lacks the columns of this one.
                if known.is_some() && self.ask.schema_change == SchemaChange::Refuse {
                    let what =
                        format!("the target has no column `{name}`, which the strategy writes");
                    let hint =
                        "`merge_schema: true` adds it; the rows that are there have NULL in it";
                    self.add(Code::Schema, "load_type", what, hint);
                }
                table.push(own);
                continue;
            };
            if !types::same(there.data_type(), own.data_type()) {
                let what = format!(
                    "the target's column `{name}` is {}; the strategy needs it as {}",
                    there.data_type(),
                    own.data_type()
                );
                self.add(Code::Schema, "load_type", what, "load into another table");
            }
        }
        self.marks(&table);
        let table = Schema::new(table);
        let evolves = known.is_some_and(|known| *known != table);
        Landing { rows: Arc::new(Schema::new(rows)), table: Arc::new(table), evolves }
    }

    /// Rows that are marked as deleted are no rows to a strategy that knows the marks, and rows like others to the rest.
    fn marks(&mut self, table: &[Field]) {
        let TableChange::Merge(merge) = self.ask.change else { return };
        let known = |name: &str| {
            merge.own_columns().contains(&name) || self.schema.column_with_name(name).is_some()
        };
        if table.iter().any(|field| field.name() == IS_DELETED) && !known(IS_DELETED) {
            let what = format!(
                "the table marks deleted rows (`{IS_DELETED}`), which this strategy would take for live ones"
            );
            let hint = "use `snapshot_soft_delete`, or `sequence_by` with `delete_when`, as before";
            self.add(Code::Contradiction, "load_type", what, hint);
        }
    }

    /// The columns as a new target has them.
    fn fresh(&mut self) -> Vec<Field> {
        self.schema.fields().iter().filter_map(|field| self.fresh_field(field)).collect()
    }

    /// A column as a target gets it that does not have it yet.
    fn fresh_field(&mut self, field: &Field) -> Option<Field> {
        match types::written(self.format, field.data_type()) {
            Ok(data_type) => Some(Field::new(field.name(), data_type, true)),
            Err(why) => {
                let what = format!(
                    "column `{}` is {}, which {} cannot hold",
                    field.name(),
                    field.data_type(),
                    self.format.name()
                );
                self.add(Code::Schema, "columns", what, why);
                None
            }
        }
    }
}
