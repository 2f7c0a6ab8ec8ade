//! Whether rows fit a target, and in which types they are written. Pure: facts in, problems out.

mod existing;

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use super::TargetFacts;
use super::TargetState;
use super::types;
use crate::flow::WriteFormat;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;
use crate::storage::partition;
use crate::table::TableChange;

/// The columns as they are written, in the target's order and types; a column that is not nullable takes no NULL.
///
/// # Errors
/// Every reason why rows of `schema` cannot be loaded into the target so, each at its field below `at`.
pub fn fit(
    facts: &TargetFacts,
    format: &WriteFormat,
    schema: &Schema,
    partition_columns: &[ColumnName],
    change: &TableChange,
    at: &Place,
) -> Result<SchemaRef, Vec<Problem>> {
    let mut check = Check { format, schema, at, problems: Vec::new() };
    check.names();
    check.partitions(partition_columns);
    let written = match &facts.state {
        TargetState::Absent => check.fresh(),
        TargetState::Table(table) => check.table(table, partition_columns, change),
        TargetState::Folder(folder) => check.folder(folder, partition_columns, change),
        TargetState::Unusable { what, hint } => {
            let what = format!("`{}`: {what}", facts.path.display());
            check.add(Code::WrongValue, "path", what, hint.clone());
            Vec::new()
        }
    };
    if check.problems.is_empty() { Ok(Arc::new(Schema::new(written))) } else { Err(check.problems) }
}

struct Check<'a> {
    format: &'a WriteFormat,
    schema: &'a Schema,
    at: &'a Place,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn add(&mut self, code: Code, field: &str, what: String, hint: impl Into<String>) {
        let gap = if self.at.field.is_empty() { "" } else { "." };
        let at = Place { field: format!("{}{gap}{field}", self.at.field), ..self.at.clone() };
        self.problems.push(Problem::new(code, at, what).hint(hint));
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

    /// The columns as a new target has them.
    fn fresh(&mut self) -> Vec<Field> {
        let (schema, format) = (self.schema, self.format);
        let mut written = Vec::new();
        for field in schema.fields() {
            match types::written(format, field.data_type()) {
                Ok(data_type) => written.push(Field::new(field.name(), data_type, true)),
                Err(why) => {
                    let what = format!(
                        "column `{}` is {}, which {} cannot hold",
                        field.name(),
                        field.data_type(),
                        format.name()
                    );
                    self.add(Code::Schema, "columns", what, why);
                }
            }
        }
        written
    }
}
