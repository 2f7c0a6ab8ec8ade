//! Random sequences of batches: few keys, so that they meet; NULL, repeats, late rows, moves, batches that come again.

use std::collections::BTreeMap;
use std::collections::BTreeSet;

use wasmhost::flow::Load;

use super::oracle;
use super::oracle::Refusal;
use super::oracle::Table;
use super::setup::EPOCH;
use super::setup::Key;
use super::setup::MINUTE;
use super::setup::Repeats;
use super::setup::SYSTEM_COLUMNS;
use super::setup::Setup;
use super::setup::Stages;
use super::setup::Step;
use super::setup::started_at;
use super::truth;
use super::value::Batch;
use super::value::Row;
use super::value::Value;
use super::value::get;
use super::value::set;
use crate::random::Random;

/// How often a batch is cut down or drawn anew that would not be taken.
const TRIES: usize = 12;

/// The sequence of a seed.
pub(super) fn sequence(setup: &Setup, seed: u64) -> Vec<Step> {
    // Variants of one strategy should not all see the same batches.
    let salt = setup.name.bytes().fold(0_u64, |salt, byte| salt.wrapping_mul(31) ^ u64::from(byte));
    let mut draw = Draw {
        setup,
        random: Random::new(seed ^ (salt << 20)),
        table: Table::default(),
        full: false,
        steps: Vec::new(),
        number: 0,
    };
    let runs = 3 + draw.random.below(4);
    for number in 0..runs {
        draw.number = number;
        draw.step();
    }
    draw.steps
}

struct Draw<'a> {
    setup: &'a Setup,
    random: Random,
    /// As the model has it after the steps so far.
    table: Table,
    /// Whether the table has all columns by now.
    full: bool,
    steps: Vec<Step>,
    number: usize,
}

impl Draw<'_> {
    fn step(&mut self) {
        let first = self.steps.is_empty();
        let other = self.setup.other.is_some() && (first || self.random.chance(15));
        let load = self.setup.load(other).clone();
        // Most runs should land, or nothing would ever be stored.
        let may_fail = matches!(load, Load::ErrorIfExists {}) || self.random.chance(25);
        let mut batch = self.batch(&load);
        for _ in 0..TRIES {
            match oracle::load(&self.table, &load, &batch, started_at(self.number)) {
                Ok((table, _)) => {
                    self.table = table;
                    self.full |= !batch.rows.is_empty();
                    return self.push(other, batch);
                }
                Err(Refusal::Data(_) | Refusal::Guard(_)) if may_fail => {
                    return self.push(other, batch);
                }
                Err(Refusal::Data(_)) if batch.rows.len() > 1 => {
                    self.random.shuffle(&mut batch.rows);
                    batch.rows.truncate(batch.rows.len() / 2);
                }
                Err(_) => batch = self.batch(&load),
            }
        }
    }

    fn push(&mut self, other: bool, batch: Batch) {
        let rows = batch.rows.len();
        let cuts = match self.setup.stages {
            Stages::Rows => (1..rows).collect(),
            Stages::Few => {
                let pieces = self.random.below(3);
                let mut cuts: Vec<_> = (0..pieces).map(|_| self.random.below(rows + 1)).collect();
                cuts.sort_unstable();
                cuts
            }
        };
        let retry = self.random.chance(10);
        self.steps.push(Step { number: self.number, other, batch, cuts, retry });
    }

    fn batch(&mut self, load: &Load) -> Batch {
        let mut batch = if !self.steps.is_empty() && self.random.chance(12) {
            self.random.pick(&self.steps).batch.clone()
        } else {
            self.fresh(load)
        };
        if self.setup.system {
            let now = Value::Time(started_at(self.number));
            let run = Value::Text(format!("run-{}", self.number));
            for row in &mut batch.rows {
                for (column, value) in SYSTEM_COLUMNS.iter().zip([&now, &now, &run]) {
                    set(row, column, value.clone());
                }
            }
        }
        batch
    }

    fn fresh(&mut self, load: &Load) -> Batch {
        let max = self.setup.rows_max;
        let rows = match self.random.below(16) {
            0 => 0,
            1..=5 => 1 + self.random.below(4),
            6..=12 => 1 + self.random.below(max / 2),
            _ => 1 + self.random.below(max),
        };
        let is_other = *load != self.setup.load;
        let repeats = if is_other { Repeats::Rare } else { self.setup.repeats };
        let mut keys: Vec<_> = match repeats {
            Repeats::Rare => {
                // Low keys are met more often, as small batches have them, too.
                let mut keys: Vec<_> = (0..rows + rows / 3 + 3).collect();
                self.random.shuffle(&mut keys);
                keys
            }
            Repeats::Free | Repeats::BySeq => {
                let space = if rows > 6 { max / 2 } else { 6 };
                (0..rows).map(|_| self.random.below(space)).collect()
            }
            Repeats::ByTime => (0..rows).map(|_| self.random.below(max / 5)).collect(),
        };
        keys.truncate(rows);
        if repeats == Repeats::Rare && !is_other && rows > 1 && self.random.chance(8) {
            keys[0] = keys[1];
        }
        let mut rows: Vec<_> = keys.into_iter().map(|key| self.row(key)).collect();
        self.fit(load, &mut rows);
        self.complete(load, &mut rows);
        self.rare(&mut rows, is_other);
        match repeats {
            Repeats::Rare => {}
            Repeats::Free => self.double(&mut rows),
            Repeats::BySeq => {
                let mut order: Vec<_> = (0..rows.len()).collect();
                self.random.shuffle(&mut order);
                for (row, seq) in rows.iter_mut().zip(order) {
                    let seq = (seq > 0).then_some(Value::Int(seq as i64));
                    set(row, "seq", seq.unwrap_or(Value::Null));
                }
                self.double(&mut rows);
            }
            Repeats::ByTime => {
                self.thin(&mut rows);
                self.double(&mut rows);
            }
        }
        self.random.shuffle(&mut rows);
        let mut columns = self.setup.columns();
        if self.full {
            for lacking in self.setup.lacking {
                if self.random.chance(15) {
                    columns.retain(|column| column != lacking);
                    rows.iter_mut().for_each(|row| set(row, lacking, Value::Null));
                }
            }
        }
        Batch { columns, rows }
    }

    /// Where keys that do not come are retired, most of them should come.
    fn complete(&mut self, load: &Load, rows: &mut Vec<Row>) {
        let keys = match load {
            Load::SnapshotSoftDelete(snapshot) => &snapshot.keys,
            Load::Scd2(scd2) if scd2.close_missing => &scd2.keys,
            _ => return,
        };
        if rows.is_empty() || self.random.chance(30) {
            return;
        }
        let key = |row: &Row| -> Vec<Value> {
            keys.columns.iter().map(|column| get(row, column.as_str()).clone()).collect()
        };
        let mut seen: BTreeSet<_> = rows.iter().map(key).collect();
        for stored in self.table.rows.clone() {
            let is_live =
                !get(&stored, "__is_deleted").is_true() && get(&stored, "__valid_to").is_null();
            if is_live && self.random.chance(85) && seen.insert(key(&stored)) {
                let mut row = stored;
                row.retain(|column, _| super::setup::COLUMNS.contains(&column.as_str()));
                rows.push(row);
            }
        }
    }

    /// Some rows come twice, or three times.
    fn double(&mut self, rows: &mut Vec<Row>) {
        if self.random.chance(25) {
            for _ in 0..1 + self.random.below(3) {
                if !rows.is_empty() {
                    let copy = self.random.pick(rows).clone();
                    rows.push(copy);
                }
            }
        }
    }

    /// What is an error with most strategies: seldom, and in one row of many.
    fn rare(&mut self, rows: &mut [Row], is_other: bool) {
        if rows.is_empty() {
            return;
        }
        if is_other {
            // What comes with a sequence later finds one here that is lower than any.
            if self.random.chance(50) {
                set(&mut rows[0], "seq", Value::Null);
            }
            return;
        }
        for (column, percent) in [("k", 3), ("seq", 3), ("at", 3)] {
            let percent = if column == "k" && self.setup.key == Key::Pair { 15 } else { percent };
            if self.random.chance(percent) {
                let at = self.random.below(rows.len());
                set(&mut rows[at], column, Value::Null);
            }
        }
        if let Load::Scd2(scd2) = &self.setup.load
            && scd2.close_missing
            && self.random.chance(2)
        {
            set(&mut rows[0], "at", Value::Time(EPOCH + 60 * MINUTE));
        }
    }

    /// Rows that a scope asks for.
    fn fit(&mut self, load: &Load, rows: &mut [Row]) {
        let scope = match load {
            Load::Overwrite { partition: Some(_), .. } => Some(truth::PARTITION_A),
            Load::OverwritePartitions { replace_where, .. } => replace_where.as_deref(),
            _ => None,
        };
        let Some(scope) = scope else { return };
        for row in rows.iter_mut().filter(|row| truth::of_row(scope, row) != Some(true)) {
            if self.random.chance(3) {
                continue;
            }
            match scope {
                truth::PARTITION_A => set(row, "p", Value::text("a")),
                _ => set(row, "seq", Value::Int(20 + self.random.below(9) as i64)),
            }
        }
    }

    /// Most rows of one key and one time go, but for one.
    fn thin(&mut self, rows: &mut Vec<Row>) {
        let mut seen = BTreeSet::new();
        let random = &mut self.random;
        rows.retain(|row| {
            let same = ["k", "k2", "at"].map(|column| get(row, column).clone());
            seen.insert(same) || random.chance(5)
        });
    }

    fn row(&mut self, key: usize) -> Row {
        let mut row = BTreeMap::new();
        match self.setup.key {
            Key::Int => set(&mut row, "k", Value::Int(key as i64)),
            Key::Text => set(&mut row, "k", Value::Text(format!("k{key}"))),
            Key::Pair => {
                // `a` and `bc` glue to what `ab` and `c` do, and so on.
                let first = ["a", "ab", "x|y", "x", "1", "12"];
                let second = ["bc", "c", "z", "y|z", "", "23"];
                let turn = key / 42;
                let text = |part: &str| match turn {
                    0 => Value::text(part),
                    _ => Value::Text(format!("{part}{turn}")),
                };
                set(&mut row, "k", text(first[key % 6]));
                if let Some(part) = second.get(key / 6 % 7) {
                    set(&mut row, "k2", text(part));
                }
            }
        }
        let known = self.table.rows.iter().filter(|stored| {
            let keys: &[&str] = if self.setup.key == Key::Pair { &["k", "k2"] } else { &["k"] };
            keys.iter().all(|column| get(stored, column) == get(&row, column))
        });
        let known: Vec<_> = known.cloned().collect();
        let usual = [Value::text("a"), Value::text("b c"), Value::text("ü%41"), Value::Null];
        set(&mut row, "p", usual[key % usual.len()].clone());
        if known.is_empty() || self.random.chance(50) {
            for column in ["k2", "p", "v", "f", "d", "day", "seq", "at", "gone"] {
                self.change(&mut row, column);
            }
            return row;
        }
        let stored = self.random.pick(&known).clone();
        for column in super::setup::COLUMNS {
            set(&mut row, column, get(&stored, column).clone());
        }
        for _ in 0..self.random.below(3) {
            let column = *self.random.pick(&["p", "v", "f", "d", "day", "gone"]);
            self.change(&mut row, column);
        }
        for column in ["seq", "at"] {
            if self.random.chance(70) {
                self.change(&mut row, column);
            }
        }
        row
    }

    fn change(&mut self, row: &mut Row, column: &str) {
        let number = self.number as i64;
        let max = self.setup.rows_max;
        let random = &mut self.random;
        let value = match column {
            "k2" if self.setup.key == Key::Pair => return,
            "p" if random.chance(80) => return,
            "p" => random
                .pick(&[Value::text("a"), Value::text("b c"), Value::text("ü%41"), Value::Null])
                .clone(),
            "k2" | "v" => random
                .pick(&[Value::Null, Value::text(""), Value::text("x"), Value::text("y'\"\\")])
                .clone(),
            "f" => {
                let floats = [f64::NAN, 0.0, 1.5, -2.25];
                random
                    .pick(&[None, Some(0), Some(1), Some(2), Some(3)])
                    .map_or(Value::Null, |at: usize| Value::Float(floats[at]))
            }
            "d" => random
                .pick(&[
                    Value::Null,
                    Value::Decimal(150),
                    Value::Decimal(100),
                    Value::Decimal(-225),
                ])
                .clone(),
            "day" => random.pick(&[Value::Null, Value::Date(0), Value::Date(20_000)]).clone(),
            // So wide that few rows meet in one value, and so narrow that later runs bring lower ones.
            "seq" => {
                let span = (max * max / 22).max(8);
                Value::Int(number * (span / 4) as i64 + random.below(span) as i64)
            }
            "at" => {
                let parts = (max * max / 300).max(3) as i64;
                let part = random.below((parts * (number + 1)) as usize) as i64;
                Value::Time(EPOCH + part * (MINUTE / parts))
            }
            "gone" => match random.below(20) {
                0..=3 => Value::Bool(true),
                4 | 5 => Value::Null,
                _ => Value::Bool(false),
            },
            _ => panic!("how does `{column}` change?"),
        };
        set(row, column, value);
    }
}
