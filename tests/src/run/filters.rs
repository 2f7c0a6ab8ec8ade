//! A source's filter: what is left out, what need not be read for that, and what is told of both. Whatever is not read, the rows are
//! those of a filter that looks at all of them.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::array::BooleanArray;
use arrow::array::Date32Array;
use arrow::array::Decimal128Array;
use arrow::array::Float64Array;
use arrow::array::Int32Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::datatypes::DataType;
use arrow::util::display::array_value_to_string;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::EnabledStatistics;
use parquet::file::properties::WriterProperties;
use wasmhost::expression::Expression;
use wasmhost::expression::Scope;
use wasmhost::flow::AsOf;
use wasmhost::flow::ReadFormat;
use wasmhost::flow::Source;
use wasmhost::source::Files;

use super::Stage;
use super::books::count;
use crate::random::Random;
use crate::sources;
use crate::sources::column;

const ROWS_OF_A_GROUP: usize = 5;

/// A flow with this source block; its rows go to `out`.
fn flow(source: &str) -> String {
    format!(
        "name: f\nsource: {{ {source} }}\n\
         destination: {{ name: d, format: csv, path: out, load_type: overwrite, allow_empty: true, write_options: {{ null_value: 'NULL' }} }}\n"
    )
}

/// Sales by day, a row of each without an amount; the file of the third day is no CSV.
fn days() -> Stage {
    Stage::new(&[
        ("in/day=2024-01-01/a.csv", "id,amount\n1,10\n2,20\n3,\n"),
        ("in/day=2024-01-02/a.csv", "id,amount\n4,40\n5,\n"),
        ("in/day=2024-01-03/a.csv", "id,amount\n6,\"60\n"),
    ])
}

#[test]
fn filters_that_do_not_fit_or_fail_are_refused_before_anything_is_written() {
    for (filter, right) in [
        (
            "amont > 1",
            "source.filter: `filter`: there is no column `amont` [wrong-value]\n  hint: did you mean `amount`?",
        ),
        ("amount", "this is no condition: it gives int64 for a row, not true or false"),
        ("amount >", "this is no SQL expression"),
        ("id IN (SELECT 1)", "`filter`: "),
        ("amount = 'x'", "'x' is not int64"),
        (
            "1 / (id - 2) > 0",
            "a.csv: `filter` cannot be computed for its rows: division by zero [data]",
        ),
    ] {
        let stage = days();
        let source =
            format!("format: csv, path: 'in/day=2024-01-0[12]/*.csv', filter: \"{filter}\"");
        stage.put("f.yaml", &flow(&source));
        let before = stage.files();
        let (code, _, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 2, "{filter}: {said}");
        assert!(said.contains(right), "{filter}: {said}");
        assert_eq!(stage.files(), before, "{filter}");
    }
}

/// What is read, filtered, and skipped in rows and files.
fn check_rows(stage: &Stage, source: &str, right: &[&str], counts: [u64; 4]) {
    stage.put("f.yaml", &flow(source));
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{source}: {said}");
    assert_eq!(stage.rows("out"), right, "{source}");
    let filter = &evidence["source"]["filter"];
    let counted = ["rows_filtered", "rows_skipped", "files_skipped"];
    let counted = counted.map(|name| filter[name].as_u64().unwrap());
    let told = [count(&evidence, "/rows_read"), counted[0], counted[1], counted[2]];
    assert_eq!(told, counts, "{source}: {evidence:#}");
}

#[test]
fn folders_that_the_filter_rules_out_are_not_opened() {
    let stage = days();
    let csv = |filter: &str| format!("format: csv, path: in, filter: \"{filter}\"");
    let header = "id|amount|day";
    // Rows that are NULL are not true.
    check_rows(
        &stage,
        &csv("day < '2024-01-03' AND amount >= 20"),
        &[header, "2|20|2024-01-01", "4|40|2024-01-02"],
        [5, 3, 0, 1],
    );
    check_rows(
        &stage,
        &csv("substr(day, 9) IN ('02', '05')"),
        &[header, "4|40|2024-01-02", "5|NULL|2024-01-02"],
        [2, 0, 0, 2],
    );
    check_rows(
        &stage,
        &csv("__file_path LIKE '%01/a.csv' AND amount IS NULL"),
        &[header, "3|NULL|2024-01-01"],
        [3, 2, 0, 2],
    );
    // What the filter looks at need not be wanted, and is not shown.
    let few = csv("day = '2024-01-01' AND amount > 10") + ", columns: [id]";
    check_rows(&stage, &few, &["id", "2"], [3, 2, 0, 2]);
    let (code, _, said) = {
        stage.put("f.yaml", &flow(&csv("day <= '2024-01-03' AND amount > 10")));
        stage.run("f.yaml", &[])
    };
    assert!(code == 2 && said.contains("day=2024-01-03/a.csv:2"), "{said}");
    // Where no file is left, files are looked at for their columns all the same.
    stage.put("in/day=2024-01-03/a.csv", "id,amount\n6,60\n");
    check_rows(&stage, &csv("day = '2025-01-01'"), &[], [0, 0, 0, 3]);
    let explained = stage.command(&["explain", "f.yaml"]).stdout;
    assert!(explained.contains("0 file(s), 0 bytes\n    only rows where: day = '2025-01-01'\n    3 more file(s) can have none of them\n"), "{explained}");
    stage.put("f.yaml", &flow(&csv("day = '2024-01-02' AND amount > 40")));
    let printed = stage.command(&["run", "f.yaml"]).stdout;
    assert!(printed.contains("  read 2 rows from in (1 file(s))\n  2 rows left out by the source's filter\n  not read, since it rules them out: 2 file(s), and 0 rows of others\n"), "{printed}");
}

#[test]
fn no_file_at_all_has_no_row_to_filter() {
    let stage = Stage::new(&[]);
    let source = "format: csv, path: nowhere, columns: [id], filter: \"amount > 1\", options: { allow_missing: true }";
    stage.put("f.yaml", &flow(source));
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, count(&evidence, "/rows_read")), (0, 0), "{said}");
    assert!(stage.rows("out").is_empty());
}

#[test]
fn every_format_is_filtered_and_other_sources_are_too() {
    let stage = Stage::new(&[
        ("a.csv", "id,n\n1,1\n2,\n3,3\n4,4\n"),
        ("a.jsonl", "{\"id\":1,\"n\":1}\n{\"id\":2}\n{\"id\":3,\"n\":3}\n{\"id\":4,\"n\":4}\n"),
        ("a.json", "[{\"id\":1,\"n\":1},{\"id\":2},{\"id\":3,\"n\":3},{\"id\":4,\"n\":4}]"),
    ]);
    let mut sources = vec![
        "format: csv, path: a.csv".to_owned(),
        "format: jsonl, path: a.jsonl".to_owned(),
        "format: jsonl, path: a.jsonl, options: { infer_schema_rows: 1 }".to_owned(),
        "format: json, path: a.json".to_owned(),
    ];
    for format in ["parquet", "arrow", "avro", "delta"] {
        let to = format!("name: d, format: {format}, path: {format}");
        stage.put(
            "w.yaml",
            &format!("name: w\nsource: {{ format: csv, path: a.csv }}\ndestination: {{ {to} }}\n"),
        );
        assert_eq!(stage.run("w.yaml", &[]).0, 0);
        sources.push(format!("format: {format}, path: {format}"));
    }
    for source in &sources {
        let filtered = format!("{source}, filter_expression: \"n <> 3\", columns: [id]");
        check_rows(&stage, &filtered, &["id", "1", "4"], [4, 2, 0, 0]);
        stage.put(
            "j.yaml",
            &format!(
                "name: j\nsources:\n  main: {{ format: csv, path: a.csv }}\n  other: {{ {source}, filter: \"n > 2\", columns: [id] }}\n\
                 transforms: [{{ type: join, with: other, on: [id], how: semi }}]\n\
                 destination: {{ name: d, format: csv, path: out, load_type: overwrite }}\n"
            ),
        );
        let (code, _, said) = stage.run("j.yaml", &[]);
        assert_eq!(code, 0, "{source}: {said}");
        assert_eq!(stage.rows("out"), ["id|n", "3|3", "4|4"], "{source}");
    }
}

#[test]
fn a_table_is_filtered_by_its_log_before_its_files_are_opened() {
    let stage = Stage::new(&[]);
    for (day, rows) in [("1", "1,x\n2,y\n"), ("2", "7,x\n8,y\n"), ("3", "9,x\n")] {
        stage.put("w.csv", &format!("id,t,day\n{}", rows.replace('\n', &format!(",{day}\n"))));
        stage.put("w.yaml", "name: w\nsource: { format: csv, path: w.csv }\ndestination: { name: d, format: delta, path: t, partition_columns: [day] }\n");
        let (code, _, said) = stage.run("w.yaml", &[]);
        assert_eq!(code, 0, "{said}");
    }
    for file in stage.files().into_iter().filter(|file| file.contains("day=3")) {
        fs::write(stage.path(&file), "no Parquet").unwrap();
    }
    let table = |filter: &str| format!("format: delta, path: t, filter: \"{filter}\"");
    let header = "id|t|day";
    check_rows(&stage, &table("day < 3 AND t = 'x'"), &[header, "1|x|1", "7|x|2"], [4, 2, 0, 1]);
    // Bounds of the log: ids 9 are in the third file, 7 and 8 in the second.
    check_rows(&stage, &table("id BETWEEN 7 AND 8"), &[header, "7|x|2", "8|y|2"], [2, 0, 0, 2]);
    check_rows(&stage, &table("id > 9 OR t > 'y'"), &[], [0, 0, 0, 3]);
    stage.put("f.yaml", &flow(&table("id >= 9")));
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert!(code > 1 && said.contains("day=3"), "{said}");
}

/// Rows of a file: near each other within a row group, so that there is something to rule out.
fn rows(random: &mut Random, with_x: bool) -> RecordBatch {
    let groups = 1 + random.below(4);
    let mut bases = Vec::new();
    for _ in 0..groups {
        // Many are about where numbers get another digit.
        let base = if random.chance(40) { 9 } else { random.below(40) as i64 };
        let is_null = random.chance(15);
        bases.extend((0..ROWS_OF_A_GROUP).map(|_| (base, is_null)));
    }
    bases.truncate(bases.len() - random.below(ROWS_OF_A_GROUP));
    let mut values = |nulls: usize| -> Vec<Option<i64>> {
        let value = |(base, is_null): &(i64, bool)| {
            let is_null = *is_null || random.chance(nulls);
            (!is_null).then(|| base + random.below(4) as i64 - 2)
        };
        bases.iter().map(value).collect()
    };
    let texts = ["", "a", "b", "ba", "z", "ü", "\u{10ffff}"];
    let long = |n: i64| format!("{}{}", "x".repeat(70), n);
    let text = |n: i64| match n % 9 {
        n if n < 0 => "-".to_owned(),
        n if n < 7 => texts[n as usize].to_owned(),
        _ => long(n),
    };
    let floats = [f64::NAN, -0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY, -f64::NAN];
    let float = |n: i64| floats.get(n.unsigned_abs() as usize).copied().unwrap_or(n as f64 / 2.0);
    let micros = |n: i64| 1_704_067_200_000_000 + n * 43_200_000_123;
    let i = values(20);
    let mut columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(Int64Array::from(i.clone()))),
        ("s", Arc::new(values(0).iter().map(|n| n.map(|n| n as i32)).collect::<Int32Array>())),
        ("t", Arc::new(values(10).iter().map(|n| n.map(text)).collect::<StringArray>())),
        ("f", Arc::new(values(10).iter().map(|n| n.map(float)).collect::<Float64Array>())),
        (
            "d",
            Arc::new(
                values(0).iter().map(|n| n.map(|n| 19_723 + n as i32)).collect::<Date32Array>(),
            ),
        ),
        (
            "at",
            Arc::new(
                values(5)
                    .iter()
                    .map(|n| n.map(micros))
                    .collect::<TimestampMicrosecondArray>()
                    .with_timezone("UTC"),
            ),
        ),
        (
            "m",
            Arc::new(
                values(5)
                    .iter()
                    .map(|n| n.map(|n| i128::from(n) * 25))
                    .collect::<Decimal128Array>()
                    .with_precision_and_scale(10, 2)
                    .unwrap(),
            ),
        ),
        ("b", Arc::new(values(10).iter().map(|n| n.map(|n| n % 2 == 0)).collect::<BooleanArray>())),
        // As text, 9 is above 10.
        ("num", Arc::new(i.iter().map(|n| n.map(|n| n.to_string())).collect::<StringArray>())),
    ];
    if with_x {
        columns.push(("x", Arc::new(Int64Array::from(values(10)))));
    }
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn write(path: &Path, rows: &RecordBatch, statistics: EnabledStatistics) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let properties = WriterProperties::builder()
        .set_max_row_group_row_count(Some(ROWS_OF_A_GROUP))
        .set_statistics_enabled(statistics)
        .build();
    let file = fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, rows.schema(), Some(properties)).unwrap();
    writer.write(rows).unwrap();
    writer.close().unwrap();
}

fn atom(random: &mut Random) -> String {
    let op = *random.pick(&["=", "<>", "<", "<=", ">", ">="]);
    let n = if random.chance(40) { 7 + random.below(5) } else { random.below(42) } as i64 - 1;
    let day = format!("2024-01-{:02}", 1 + random.below(28));
    let text = *random.pick(&["", "a", "b", "bb", "x", "xxxxxxxxxx", "zz", "ü"]);
    match random.below(26) {
        0 => format!("i {op} {n}"),
        1 => format!("{n} {op} i"),
        2 => format!("i IN ({n}, {}, 3)", n + 2),
        3 => format!("i NOT IN ({n}, {}, NULL)", n + 2),
        4 => format!("i BETWEEN {n} AND {}", n + 5),
        5 => format!("{} IS NULL", random.pick(&["i", "t", "f", "x", "k", "day", "b"])),
        6 => format!("{} IS NOT NULL", random.pick(&["i", "t", "f", "x", "k", "num"])),
        7 => format!("s {op} {n}"),
        8 => format!("i + 1 {op} s"),
        9 => format!("t {op} '{text}'"),
        10 => format!("t LIKE '{text}%'"),
        11 => format!("f {op} CAST({} AS DOUBLE)", n / 4),
        12 => format!("d {op} '{day}'"),
        13 => format!("at {op} '{day} 00:00:00'"),
        14 => format!("m {op} {}.25", n / 4),
        15 => (*random.pick(&["b", "NOT b", "b = true"])).to_owned(),
        16 => format!("num {op} {n}"),
        17 => format!("k {op} '{}'", random.pick(&["a", "b", "c d"])),
        18 => format!("upper(k) = '{}'", random.pick(&["A", "C D"])),
        19 => format!("day {op} '2024-01-0{}'", 1 + random.below(3)),
        20 => format!("__file_path LIKE '%{}.parquet'", random.below(3)),
        21 => format!("x {op} {n}"),
        22 => "i = NULL".to_owned(),
        23 | 24 => format!("num {op} {n}"),
        _ => format!("(k = 'a' AND i {op} {n} OR k = 'b' AND i > {n})"),
    }
}

/// Such conditions, put together.
pub(crate) fn predicate(random: &mut Random, atom: &dyn Fn(&mut Random) -> String) -> String {
    match random.below(7) {
        0 => format!("({}) AND ({})", predicate(random, atom), predicate(random, atom)),
        1 => format!("({}) OR ({})", predicate(random, atom), predicate(random, atom)),
        2 => format!("NOT ({})", predicate(random, atom)),
        _ => atom(random),
    }
}

/// Each row as its file, its place there, and its values; and how many rows and files were not read.
fn read(source: &Source) -> Result<(Vec<String>, u64), String> {
    let found = Files::discover(source).map_err(|error| error.to_string())?;
    let files_skipped = found.files_skipped;
    let mut files = Files::open(found, 3);
    let passed = files.passed();
    let mut rows = Vec::new();
    while let Some(batch) = files.next_batch().map_err(|error| error.to_string())? {
        let schema = batch.rows.schema();
        for row in 0..batch.rows.num_rows() {
            let columns = schema.fields().iter().zip(batch.rows.columns());
            // A column that only files have that were not looked at is as good as NULL.
            let values =
                columns.filter(|(_, column)| column.is_valid(row)).map(|(field, column)| {
                    format!("{} {}", field.name(), array_value_to_string(column, row).unwrap())
                });
            let values = values.collect::<Vec<_>>().join("|");
            let place = batch.origin.row(row).unwrap();
            rows.push(format!("{}:{place} {values}", batch.origin.file));
        }
    }
    Ok((rows, passed.skipped() + files_skipped))
}

/// All rows of a source, as they are shown and with all columns that a filter may name.
struct All {
    shown: Vec<String>,
    batches: Vec<RecordBatch>,
}

impl All {
    fn of(source: &Source) -> Self {
        let (shown, _) = read(source).unwrap();
        let wide = ["*", "__file_path", "__file_modification_time"];
        let wide = Source { columns: Some(wide.map(column).to_vec()), ..source.clone() };
        let mut files = Files::open(Files::discover(&wide).unwrap(), 1_000_000);
        let mut batches = Vec::new();
        while let Some(batch) = files.next_batch().unwrap() {
            batches.push(batch.rows);
        }
        Self { shown, batches }
    }

    /// The rows that stay if each is judged by itself.
    fn judged(&self, sql: &str) -> Vec<String> {
        let scope = Scope::table(self.batches[0].schema());
        let expression = Expression::predicate(sql, &scope).unwrap();
        let mut flags = Vec::new();
        for rows in &self.batches {
            let rows = rows.project(expression.columns()).unwrap();
            flags.extend(expression.select(&rows).unwrap().iter().map(Option::unwrap));
        }
        assert_eq!(flags.len(), self.shown.len());
        let stay = self.shown.iter().zip(flags).filter(|(_, stays)| *stays);
        stay.map(|(row, _)| row.clone()).collect()
    }
}

/// Random predicates on a source give the rows that they give without a look at bounds; how much was not read.
fn check_source(source: &Source, predicates: usize, random: &mut Random) -> u64 {
    let all = All::of(source);
    let mut skipped = 0;
    for _ in 0..predicates {
        let sql = predicate(random, &atom);
        let (rows, not_read) = match read(&Source { filter: Some(sql.clone()), ..source.clone() }) {
            Ok(read) => read,
            // Folders have ruled out all files that have it.
            Err(error) if error.contains("there is no column `x`") => continue,
            Err(error) => panic!("{sql}: {error}"),
        };
        let right = all.judged(&sql);
        let differs = rows.iter().zip(&right).find(|(ours, right)| ours != right);
        let counts = (rows.len(), right.len());
        assert!(rows == right, "{} where {sql}: {counts:?}, {differs:?}", source.path);
        skipped += not_read;
    }
    skipped
}

#[test]
fn random_filters_leave_the_same_rows_whatever_is_not_read() {
    let stage = Stage::new(&[]);
    let mut random = Random::new(7);
    let mut number = 0;
    for k in ["a", "b", "c%20d", "__HIVE_DEFAULT_PARTITION__"] {
        for day in 1..4 {
            let with_x = random.chance(50);
            let statistics = *random.pick(&[
                EnabledStatistics::Chunk,
                EnabledStatistics::Chunk,
                EnabledStatistics::Page,
                EnabledStatistics::None,
            ]);
            let path = stage.path(&format!("in/k={k}/day=2024-01-0{day}/{number}.parquet"));
            write(&path, &rows(&mut random, with_x), statistics);
            number += 1;
        }
    }
    let mut source = sources::source(&stage.path("in"), ReadFormat::Parquet {});
    source.merge_schema = true;
    // The text that the files have is no number in its order; whole numbers of another size are.
    source.schema_hints = [(column("num"), DataType::Int64), (column("s"), DataType::Int64)].into();
    let skipped = check_source(&source, 200, &mut random);
    assert!(skipped > 1_000, "hardly anything was ruled out: {skipped}");

    let mut table = sources::source(&table_of(&stage, number), ReadFormat::Delta(AsOf::Newest {}));
    let skipped = check_source(&table, 80, &mut random);
    assert!(skipped > 300, "hardly anything of the table was ruled out: {skipped}");
    table.schema_hints =
        [(column("i"), DataType::Decimal128(20, 1)), (column("num"), DataType::Decimal128(20, 0))]
            .into();
    check_source(&table, 40, &mut random);
}

/// A table with a version for each of these files.
fn table_of(stage: &Stage, files: usize) -> PathBuf {
    for at in 0..files {
        let flow = format!(
            "name: w\n\
             source: {{ format: parquet, path: 'in/**/{at}.parquet', schema_hints: {{ num: int64 }} }}\n\
             destination: {{ name: t, format: delta, path: t, partition_columns: [k], write_options: {{ merge_schema: true }} }}\n"
        );
        stage.put("write.yaml", &flow);
        let ended = stage.run_here("write.yaml", &format!("w{at}"));
        assert!(ended.error.is_none(), "{:?}", ended.error);
    }
    stage.path("t")
}
