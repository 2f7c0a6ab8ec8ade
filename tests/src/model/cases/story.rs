//! Tables as text: a line of column names, then a line each row, `-` for NULL.

use wasmhost::flow::Changes;
use wasmhost::flow::Keys;
use wasmhost::flow::Load;
use wasmhost::flow::Scd2;
use wasmhost::flow::VersionColumns;
use wasmhost::table::LateHistory;

use crate::model::check::tell;
use crate::model::oracle;
use crate::model::oracle::Table;
use crate::model::setup::column;
use crate::model::setup::keys;
use crate::model::value::Batch;
use crate::model::value::Row;
use crate::model::value::Value;
use crate::model::value::set;
use crate::model::value::shown;
use crate::model::variants;

/// Loads after each other into one table.
pub(super) struct Story {
    load: Load,
    table: Table,
}

impl Story {
    pub(super) fn new(load: Load) -> Self {
        Self { load, table: Table::default() }
    }

    /// A run at that time; its counts, or why it was refused.
    pub(super) fn run_at<'t>(&mut self, started_at: i64, text: impl AsRef<[&'t str]>) -> String {
        match oracle::load(&self.table, &self.load, &batch(text.as_ref()), started_at) {
            Ok((table, counts)) => {
                self.table = table;
                tell(&counts)
            }
            Err(refusal) => format!("{refusal:?}"),
        }
    }

    pub(super) fn run<'t>(&mut self, text: impl AsRef<[&'t str]>) -> String {
        self.run_at(1000, text)
    }

    /// The same table, loaded in another way from now on.
    pub(super) fn now(self, load: Load) -> Self {
        Self { load, ..self }
    }

    pub(super) fn text(&self) -> String {
        shown(&self.table.rows)
    }

    pub(super) fn holds<'t>(&self, text: impl AsRef<[&'t str]>) {
        let expected = batch(text.as_ref());
        assert_eq!(
            format!("\n{}", shown(&self.table.rows)),
            format!("\n{}", shown(&expected.rows))
        );
    }
}

/// `merge_upsert` by `k`.
pub(super) fn upsert(changes: Changes) -> Story {
    Story::new(Load::MergeUpsert(variants::upsert(keys(&["k"]), changes)))
}

/// `scd2` with columns of its own names.
pub(super) fn scd2(keys: Keys, late: LateHistory) -> Scd2 {
    let columns = VersionColumns {
        valid_from: column("from"),
        valid_to: column("to"),
        is_current: column("now"),
    };
    Scd2 { columns, ..variants::scd2(keys, late) }
}

fn batch(text: &[&str]) -> Batch {
    let columns: Vec<_> = text[0].split_whitespace().map(ToOwned::to_owned).collect();
    let row = |line: &&str| {
        let mut row = Row::new();
        let values: Vec<_> = line.split_whitespace().collect();
        assert_eq!(values.len(), columns.len(), "{line}");
        for (column, text) in columns.iter().zip(values) {
            set(&mut row, column, value(column, text));
        }
        row
    };
    let rows = text[1..].iter().map(row).collect();
    Batch { columns, rows }
}

fn value(column: &str, text: &str) -> Value {
    if text == "-" {
        return Value::Null;
    }
    match column {
        "k" | "seq" | "n" | "i" | "j" => Value::Int(text.parse().unwrap()),
        "x" => Value::Float(text.parse().unwrap()),
        "at" | "from" | "to" | "__deleted_at" => Value::Time(text.parse().unwrap()),
        "gone" | "now" | "__is_deleted" => Value::Bool(text == "yes"),
        _ => Value::text(text),
    }
}
