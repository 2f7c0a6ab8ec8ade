//! The few SQL texts that the setups use, said once more in Rust: the model must not share an SQL engine with the host.

use super::value::Row;
use super::value::Value;
use super::value::get;

/// `delete_when` and `replace_where`: over one row.
pub(super) const GONE: &str = "gone";
pub(super) const PARTITION_A: &str = "p = 'a'";
pub(super) const SEQ_FROM_20: &str = "seq >= 20";

/// `merge_condition`: over the stored and the incoming row.
pub(super) const NOT_OLDER: &str = "S.seq >= T.seq";
pub(super) const OTHER_TEXT: &str = "old.v <> \"new\".v";

/// Whether the row is selected; `None` is NULL.
pub(super) fn of_row(sql: &str, row: &Row) -> Option<bool> {
    match (sql, row) {
        (GONE, row) => match get(row, "gone") {
            Value::Bool(gone) => Some(*gone),
            _ => None,
        },
        (PARTITION_A, row) => compare(get(row, "p"), &Value::text("a"), |order| order.is_eq()),
        (SEQ_FROM_20, row) => compare(get(row, "seq"), &Value::Int(20), |order| order.is_ge()),
        _ => panic!("say what `{sql}` means"),
    }
}

/// Whether the pair of rows matches; `None` is NULL.
pub(super) fn of_pair(sql: &str, stored: &Row, incoming: &Row) -> Option<bool> {
    match sql {
        NOT_OLDER => compare(get(incoming, "seq"), get(stored, "seq"), |order| order.is_ge()),
        OTHER_TEXT => compare(get(stored, "v"), get(incoming, "v"), |order| order.is_ne()),
        _ => panic!("say what `{sql}` means"),
    }
}

fn compare(
    left: &Value,
    right: &Value,
    holds: impl Fn(std::cmp::Ordering) -> bool,
) -> Option<bool> {
    (!left.is_null() && !right.is_null()).then(|| holds(left.cmp(right)))
}
