//! The statements that are sent.

use crate::flow::SqlRows;

/// All columns, as they are described first.
pub(super) fn all(rows: &SqlRows) -> String {
    match rows {
        SqlRows::Table { .. } => format!("SELECT * FROM {}", table(rows)),
        SqlRows::Query(query) => query.clone(),
    }
}

/// These columns; none counts rows only.
pub(super) fn only<'a>(rows: &SqlRows, columns: impl IntoIterator<Item = &'a str>) -> String {
    let columns: Vec<_> = columns.into_iter().map(quoted).collect();
    format!("SELECT {} FROM {}", columns.join(", "), table(rows))
}

/// The same of the rows for which the condition is true. One that names columns of rows that are computed is applied to what the
/// server would have sent, and not before: a query may divide by what it has left out.
pub(super) fn only_where<'a>(
    rows: &SqlRows,
    columns: impl IntoIterator<Item = &'a str>,
    is_stored: bool,
    condition: &str,
) -> String {
    let columns: Vec<_> = columns.into_iter().map(quoted).collect();
    let columns = columns.join(", ");
    let from = table(rows);
    if is_stored {
        return format!("SELECT {columns} FROM {from} WHERE {condition}");
    }
    // Postgres moves no condition past an OFFSET.
    format!(
        "SELECT {columns} FROM (SELECT {columns} FROM {from} OFFSET 0) AS source WHERE {condition}"
    )
}

/// All columns of the rows as those of a table: what `only` asks, which not every query allows.
pub(super) fn folded(rows: &SqlRows) -> String {
    format!("SELECT * FROM {}", table(rows))
}

/// What stands after FROM.
pub(super) fn table(rows: &SqlRows) -> String {
    match rows {
        SqlRows::Table { schema: Some(schema), table } => {
            format!("{}.{}", quoted(schema), quoted(table))
        }
        SqlRows::Table { schema: None, table } => quoted(table),
        SqlRows::Query(query) => {
            let query = query.trim_end_matches(|c: char| c.is_whitespace() || c == ';');
            // Its last line may end with a comment.
            format!("(\n{query}\n) AS source")
        }
    }
}

/// A name as it is, whatever it is made of.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_and_queries_enclosed() {
        let table = |schema: Option<&str>| SqlRows::Table {
            schema: schema.map(str::to_owned),
            table: "o\"; DROP TABLE x".to_owned(),
        };
        assert_eq!(
            only(&table(None), ["a", "B c"]),
            "SELECT \"a\", \"B c\" FROM \"o\"\"; DROP TABLE x\""
        );
        assert_eq!(all(&table(Some("s"))), "SELECT * FROM \"s\".\"o\"\"; DROP TABLE x\"");
        let query = SqlRows::Query("SELECT 1 AS a -- one\n; ".to_owned());
        assert_eq!(only(&query, []), "SELECT  FROM (\nSELECT 1 AS a -- one\n) AS source");
    }
}
