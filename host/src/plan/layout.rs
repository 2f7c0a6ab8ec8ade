//! Whether a table's files can be laid out as the flow asks.

use arrow::datatypes::Schema;

use super::resolve::inside;
use crate::flow::Layout;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::problem::known_names;

/// What is wrong with the layout of a table of these columns.
pub(super) fn problems(layout: &Layout, table: &Schema, at: &Place) -> Vec<Problem> {
    let names = || table.fields().iter().map(|field| field.name().as_str());
    let problem = |code, what: String, hint: String| {
        Problem::new(code, inside(at, "zorder_columns"), what).hint(hint)
    };
    let columns = layout.zorder.iter().map(|column| column.as_str());
    let problems = columns.filter_map(|column| match table.field_with_name(column) {
        Err(_) => {
            let what = format!("`zorder_columns` names `{column}`, which the table does not have");
            Some(problem(Code::UnknownName, what, known_names(column, names())))
        }
        Ok(field) if field.data_type().is_nested() => {
            let what =
                format!("`zorder_columns` names `{column}`, whose values have parts and no order");
            Some(problem(Code::Schema, what, "name columns of plain values".to_owned()))
        }
        Ok(_) => None,
    });
    problems.collect()
}
