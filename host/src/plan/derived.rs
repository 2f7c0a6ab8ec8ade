//! Partition columns that an expression computes from the rows of a destination.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Field;
use arrow::datatypes::Schema;
use arrow::datatypes::SchemaRef;

use crate::expression::Expression;
use crate::expression::Mistake;
use crate::expression::Scope;
use crate::flow::PartitionColumn;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;

/// The columns of the rows, and the computed ones after them.
///
/// # Errors
/// Every expression that cannot be computed from the rows, and every computed column that the rows have already, each at its field
/// below `at`.
pub fn schema(
    rows: &SchemaRef,
    columns: &[PartitionColumn],
    at: &Place,
) -> Result<SchemaRef, Vec<Problem>> {
    let mut fields = rows.fields().to_vec();
    let mut problems = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let Some(sql) = &column.expression else { continue };
        let name = column.column.as_str();
        let field = format!("{}.partition_columns[{index}]", at.field);
        let mut add = |code, what, hint: String| {
            let at = Place { field: field.clone(), ..at.clone() };
            problems.push(Problem::new(code, at, what).hint(hint));
        };
        if rows.column_with_name(name).is_some() {
            let what = format!("the rows have a column `{name}`, which the expression computes");
            add(Code::Contradiction, what, "leave the expression out, or rename it".to_owned());
            continue;
        }
        match Expression::compile(sql, &Scope::table(Arc::clone(rows))) {
            Ok(compiled) => {
                fields.push(Arc::new(Field::new(name, compiled.data_type().clone(), true)));
            }
            Err(Mistake { what, hint }) => add(Code::WrongValue, format!("`{name}`: {what}"), hint),
        }
    }
    if problems.is_empty() { Ok(Arc::new(Schema::new(fields))) } else { Err(problems) }
}

/// Computes the columns of [`schema`].
#[derive(Debug)]
pub struct Derived {
    schema: SchemaRef,
    columns: Vec<(ColumnName, Expression)>,
}

/// A value that cannot be computed.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub struct Uncomputed {
    /// The column.
    pub column: ColumnName,
    /// What happened, in words.
    pub what: String,
}

impl Derived {
    /// For rows that become `schema`: its last columns are those that have an expression.
    ///
    /// # Errors
    /// As [`schema`], which has been asked before.
    pub fn new(schema: &SchemaRef, columns: &[PartitionColumn]) -> Result<Self, Uncomputed> {
        let computed = columns.iter().filter(|column| column.expression.is_some()).count();
        let own = schema.fields().iter().take(schema.fields().len().saturating_sub(computed));
        let rows = Arc::new(Schema::new(own.cloned().collect::<Vec<_>>()));
        let compile = |column: &PartitionColumn| {
            let sql = column.expression.as_ref()?;
            let compiled = Expression::compile(sql, &Scope::table(Arc::clone(&rows)));
            let uncomputed = |mistake: Mistake| Uncomputed {
                column: column.column.clone(),
                what: mistake.to_string(),
            };
            Some(compiled.map(|it| (column.column.clone(), it)).map_err(uncomputed))
        };
        let columns = columns.iter().filter_map(compile).collect::<Result<_, _>>()?;
        Ok(Self { schema: Arc::clone(schema), columns })
    }

    /// The rows with the computed columns.
    ///
    /// # Errors
    /// The first value that cannot be computed.
    pub fn add(&self, rows: RecordBatch) -> Result<RecordBatch, Uncomputed> {
        if self.columns.is_empty() {
            return Ok(rows);
        }
        let mut all = rows.columns().to_vec();
        for (column, expression) in &self.columns {
            let failed = |what: String| Uncomputed { column: column.clone(), what };
            let read = rows.project(expression.columns());
            let read = read.map_err(|error| failed(error.to_string()))?;
            all.push(expression.evaluate(&read).map_err(|failure| failed(failure.what))?);
        }
        let (column, _) = &self.columns[0];
        RecordBatch::try_new(Arc::clone(&self.schema), all)
            .map_err(|error| Uncomputed { column: column.clone(), what: error.to_string() })
    }
}
