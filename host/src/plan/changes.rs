//! A table change in words: what becomes of the rows, then the keys, orders, conditions and guards.

use crate::flow::ByDate;
use crate::name::ColumnName;
use crate::problem::escape;
use crate::table::IfExists;
use crate::table::LateHistory;
use crate::table::LateRow;
use crate::table::MatchCondition;
use crate::table::Merge;
use crate::table::Missing;
use crate::table::OrderBy;
use crate::table::Repeats;
use crate::table::Rows;
use crate::table::Scope;
use crate::table::TableChange;
use crate::table::Versions;

/// What becomes of the rows, in a line.
pub(super) fn headline(change: &TableChange, by_date: &ByDate) -> &'static str {
    match change {
        TableChange::Append {} => "rows are added",
        TableChange::Create { if_exists: IfExists::Refuse } => {
            "a new table; refused where there is one"
        }
        TableChange::Create { if_exists: IfExists::Skip } => {
            "a new table; nothing happens where there is one"
        }
        TableChange::Replace { scope, allow_empty } => match (scope, allow_empty) {
            (Scope::All, false) if by_date.folders().is_some() => {
                "rows replace all rows of the run's date folder; refused where there are none"
            }
            (Scope::All, true) if by_date.folders().is_some() => {
                "rows replace all rows of the run's date folder, also where there are none"
            }
            (Scope::All, false) => "rows replace all rows; refused where there are none",
            (Scope::All, true) => "rows replace all rows, also where there are none",
            (Scope::Partitions, _) => "rows replace all rows of their partitions",
            (Scope::Partition { .. } | Scope::Predicate(_), false) => {
                "rows replace those that the predicate selects; refused where there are none"
            }
            (Scope::Partition { .. } | Scope::Predicate(_), true) => {
                "rows replace those that the predicate selects, also where there are none"
            }
        },
        TableChange::Merge(merge) => match &merge.rows {
            Rows::Update(_) => "new keys are inserted, rows that differ are updated",
            Rows::Group {} => "the rows of each key replace its rows, unless they are the same",
            Rows::Version(_) => "a row that differs closes its key's version and opens a new one",
        },
    }
}

/// The rest, a line each.
pub(super) fn details(change: &TableChange) -> Vec<String> {
    match change {
        TableChange::Append {} | TableChange::Create { .. } => Vec::new(),
        TableChange::Replace { scope, .. } => {
            let predicate = scope.predicate();
            predicate.iter().map(|sql| format!("predicate: {}", escape(sql))).collect()
        }
        TableChange::Merge(merge) => details_of_merge(merge),
    }
}

fn details_of_merge(merge: &Merge) -> Vec<String> {
    let Merge {
        keys,
        nulls_match,
        compare,
        rows,
        missing,
        delete_when,
        allow_empty,
        max_removed_fraction,
    } = merge;
    let nulls = if *nulls_match { "NULL equals NULL" } else { "NULL is refused" };
    let mut lines = vec![
        format!("keys: {} ({nulls})", names(keys)),
        format!(
            "compared: {}",
            if compare.is_empty() { "nothing".to_owned() } else { names(compare) }
        ),
    ];
    match rows {
        Rows::Update(update) => {
            lines.push(repeats(&update.repeats));
            lines.extend(update.condition.as_ref().map(condition));
        }
        Rows::Group {} => {}
        Rows::Version(versions) => lines.extend(details_of_versions(versions)),
    }
    if let Some(sql) = delete_when {
        let what = match (rows, merge.keeps_deleted()) {
            (Rows::Version(_), _) => "closes its key",
            (_, true) => "deletes its key, and is kept as a mark",
            (_, false) => "deletes its key",
        };
        lines.push(format!("a row {what} where: {}", escape(sql)));
    }
    let missing = match missing {
        Missing::Keep => None,
        Missing::Mark => Some("keys that do not come are marked as deleted".to_owned()),
        Missing::Close => Some("keys that do not come are closed".to_owned()),
        Missing::RemoveInPartitions { column } => Some(format!(
            "keys that do not come are removed, where a row that comes has the same {}",
            escape(column.as_str())
        )),
    };
    if let Some(missing) = &missing {
        let empty =
            if *allow_empty { "no rows at all are taken" } else { "no rows at all are refused" };
        lines.push(format!("{missing}; {empty}"));
    }
    if missing.is_some() || delete_when.is_some() {
        let percent = max_removed_fraction * 100.0;
        lines.push(format!("refused where more than {percent}% of the current rows would go"));
    }
    lines
}

fn repeats(repeats: &Repeats) -> String {
    match repeats {
        Repeats::Refuse => "several rows of one key: refused".to_owned(),
        Repeats::First(order) => {
            let order: Vec<_> = order.iter().map(order_by).collect();
            format!("several rows of one key: the first by {}", order.join(", "))
        }
        Repeats::Sequence { by, late } => {
            let late = match late {
                LateRow::Ignore => "late ones are left out and counted",
                LateRow::Error => "late ones are refused",
            };
            format!("changes of one key: in order of {}; {late}", names(by))
        }
    }
}

fn order_by(OrderBy { column, descending, nulls_first }: &OrderBy) -> String {
    let direction = if *descending { "DESC" } else { "ASC" };
    let nulls = if *nulls_first { "FIRST" } else { "LAST" };
    format!("{} {direction} NULLS {nulls}", escape(column.as_str()))
}

fn condition(MatchCondition { sql, target_alias, source_alias }: &MatchCondition) -> String {
    format!(
        "updated only where: {} (`{target_alias}` is the stored row, `{source_alias}` the new one)",
        escape(sql)
    )
}

fn details_of_versions(versions: &Versions) -> [String; 2] {
    let Versions { effective, valid_from, valid_to, is_current, sequence_by, late } = versions;
    let sequence = match sequence_by.as_slice() {
        [] => String::new(),
        by => format!(", then {}", names(by)),
    };
    let late = match late {
        LateHistory::History => "placed where they belong",
        LateHistory::Ignore => "left out and counted",
        LateHistory::Error => "refused",
        LateHistory::Append => "inserted as they come",
    };
    let added = [valid_from, valid_to, is_current].map(|column| escape(column.as_str()));
    [
        format!(
            "versions: in order of {}{sequence}; late ones are {late}",
            escape(effective.as_str())
        ),
        format!("added columns: {}", added.join(", ")),
    ]
}

fn names(columns: &[ColumnName]) -> String {
    columns.iter().map(|column| escape(column.as_str())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::table::Update;

    fn columns(names: &[&str]) -> Vec<ColumnName> {
        names.iter().map(|name| ColumnName::new(*name).unwrap()).collect()
    }

    fn merge(rows: Rows) -> Merge {
        Merge {
            keys: columns(&["id", "dt"]),
            nulls_match: false,
            compare: columns(&["a"]),
            rows,
            missing: Missing::Keep,
            delete_when: None,
            allow_empty: false,
            max_removed_fraction: 0.5,
        }
    }

    fn text(merge: Merge) -> String {
        details(&TableChange::Merge(Box::new(merge))).join("\n")
    }

    #[test]
    fn an_upsert_says_its_order_its_condition_and_its_guard() {
        let condition = MatchCondition {
            sql: "T.a < S.a".to_owned(),
            target_alias: "T".to_owned(),
            source_alias: "S".to_owned(),
        };
        let repeats = Repeats::Sequence { by: columns(&["at"]), late: LateRow::Error };
        let rows = Rows::Update(Update { repeats, condition: Some(condition) });
        let said = text(Merge { delete_when: Some("op = 'D'".to_owned()), ..merge(rows) });
        let expected = "keys: id, dt (NULL is refused)\n\
            compared: a\n\
            changes of one key: in order of at; late ones are refused\n\
            updated only where: T.a < S.a (`T` is the stored row, `S` the new one)\n\
            a row deletes its key, and is kept as a mark where: op = 'D'\n\
            refused where more than 50% of the current rows would go";
        assert_eq!(said, expected);
    }

    #[test]
    fn versions_say_their_order_and_what_closes_them() {
        let [effective, valid_from, valid_to, is_current] =
            ["at", "von", "bis", "jetzt"].map(|name| ColumnName::new(name).unwrap());
        let rows = Rows::Version(Versions {
            effective,
            valid_from,
            valid_to,
            is_current,
            sequence_by: columns(&["line"]),
            late: LateHistory::History,
        });
        let said = text(Merge { missing: Missing::Close, nulls_match: true, ..merge(rows) });
        let expected = "keys: id, dt (NULL equals NULL)\n\
            compared: a\n\
            versions: in order of at, then line; late ones are placed where they belong\n\
            added columns: von, bis, jetzt\n\
            keys that do not come are closed; no rows at all are refused\n\
            refused where more than 50% of the current rows would go";
        assert_eq!(said, expected);
    }

    #[test]
    fn one_row_a_key_is_said_with_its_order() {
        let by = OrderBy {
            column: ColumnName::new("at").unwrap(),
            descending: true,
            nulls_first: false,
        };
        let update = Update { repeats: Repeats::First(vec![by]), condition: None };
        let said = text(Merge {
            missing: Missing::Mark,
            allow_empty: true,
            ..merge(Rows::Update(update))
        });
        assert!(
            said.contains("several rows of one key: the first by at DESC NULLS LAST\n"),
            "{said}"
        );
        assert!(said.contains("marked as deleted; no rows at all are taken\n"), "{said}");
    }
}
