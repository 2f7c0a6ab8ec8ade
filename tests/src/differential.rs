//! Built-in steps in the sandbox give what the engine gives in the host: random rows of every type that files carry, random steps.

use std::sync::Arc;
use std::sync::OnceLock;

use arrow::array::ArrayRef;
use arrow::array::BinaryArray;
use arrow::array::BooleanArray;
use arrow::array::Date32Array;
use arrow::array::Decimal128Array;
use arrow::array::Float32Array;
use arrow::array::Float64Array;
use arrow::array::Int8Array;
use arrow::array::Int32Array;
use arrow::array::Int64Array;
use arrow::array::ListArray;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::array::StructArray;
use arrow::array::TimestampMicrosecondArray;
use arrow::array::UInt64Array;
use arrow::buffer::NullBuffer;
use arrow::datatypes::Field;
use arrow::datatypes::Int64Type;
use arrow::datatypes::SchemaRef;
use arrow::util::display::ArrayFormatter;
use arrow::util::display::FormatOptions;
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionConfig;
use datafusion::prelude::SessionContext;
use serde_json::Value;
use serde_json::json;
use wasmhost::batch::Batch;
use wasmhost::batch::Origin;
use wasmhost::component::Kind;
use wasmhost::component::Limits;
use wasmhost::sandbox::Compiled;
use wasmhost::sandbox::Engine;
use wasmhost::sandbox::Reference;
use wasmhost::sandbox::TransformPool;

use crate::guests;
use crate::random::Random;

/// Cases of one run of the tests; `WASMHOST_DIFFERENTIAL_CASES` says otherwise.
const CASES: u64 = 60;

#[test]
fn random_steps_on_random_rows_are_what_the_engine_makes_of_them() {
    let cases =
        std::env::var("WASMHOST_DIFFERENTIAL_CASES").map_or(CASES, |cases| cases.parse().unwrap());
    let first = std::env::var("WASMHOST_DIFFERENTIAL_SEED").map_or(1, |seed| seed.parse().unwrap());
    for seed in first..first + cases {
        let mut random = Random::new(seed);
        let batches: Vec<_> = (0..1 + random.below(3)).map(|_| rows(&mut random)).collect();
        // Of the other source, what a join may have beside these rows.
        let other = rows(&mut random);
        let there = ["i64", "u64", "dec2"].map(|name| other.schema().index_of(name).unwrap());
        let other = other.project(&there).unwrap();
        let (steps, query) = steps(&mut random);
        let ours = in_sandbox(&batches, &other, &steps);
        let theirs = in_host(&batches, &other, &query);
        assert_eq!(ours, theirs, "WASMHOST_DIFFERENTIAL_SEED={seed}: {steps} against {query}");
    }
}

/// Steps, and the same as one query.
fn steps(random: &mut Random) -> (Value, String) {
    let mut steps = Vec::new();
    let mut query = "SELECT * FROM input".to_owned();
    for at in 0..1 + random.below(3) {
        let column = format!("x{at}");
        let (step, over) = if random.chance(35) {
            let condition = *random.pick(CONDITIONS);
            (
                json!({"type": "filter", "expression": condition}),
                format!("SELECT * FROM ({query}) WHERE {condition}"),
            )
        } else {
            let sql = *random.pick(EXPRESSIONS);
            let step = json!({"type": "with_column", "column": column, "expression": sql});
            (step, format!("SELECT *, {sql} AS {column} FROM ({query})"))
        };
        steps.push(step);
        query = over;
    }
    match random.below(6) {
        0 => {
            let agg = [
                "count(*) AS c",
                "sum(i64) AS s",
                "min(t) AS m",
                "max(ts) AS x",
                "avg(f64) AS a",
                "count(DISTINCT i8) AS d",
                "sum(dec) AS e",
                "bool_or(b) AS o",
            ];
            let by = *random.pick(&["b", "i8", "t"]);
            steps.push(json!({"type": "group_by", "by": [by], "agg": agg}));
            query = format!("SELECT {by}, {} FROM ({query}) GROUP BY {by}", agg.join(", "));
        }
        1 => {
            let how = *random.pick(&["inner", "left", "right", "full", "semi", "anti"]);
            steps.push(json!({"type": "select", "columns": ["i64", "t", "list", "who"]}));
            steps
                .push(json!({"type": "join", "with": "other", "on": [["i64", "i64"]], "how": how}));
            let here = format!("(SELECT i64, t, list, who FROM ({query})) l");
            query = match how {
                "semi" => format!("SELECT l.* FROM {here} LEFT SEMI JOIN other r ON l.i64 = r.i64"),
                "anti" => format!("SELECT l.* FROM {here} LEFT ANTI JOIN other r ON l.i64 = r.i64"),
                how => format!(
                    "SELECT coalesce(l.i64, r.i64) AS i64, l.t, l.list, l.who, r.u64, r.dec2 FROM {here} {how} JOIN other r ON l.i64 = r.i64"
                ),
            };
        }
        2 => {
            steps.push(json!({"type": "select", "columns": ["i64", "t"]}));
            steps.push(json!({"type": "sql", "query": "SELECT t, i64, rank() OVER (PARTITION BY t ORDER BY i64) AS r FROM input UNION ALL SELECT 'o', i64, 0 FROM other"}));
            query = format!(
                "SELECT t, i64, rank() OVER (PARTITION BY t ORDER BY i64) AS r FROM ({query}) UNION ALL SELECT 'o', i64, 0 FROM other"
            );
        }
        _ => {}
    }
    (json!({ "steps": steps }), query)
}

const CONDITIONS: &[&str] = &[
    "i64 > 0",
    "b",
    "t LIKE '%a%' OR t IS NULL",
    "f64 <> 0 AND i64 / 2 < 100",
    "i8 IN (1, 2, 3) OR u64 > 1000",
    "d BETWEEN DATE '1970-01-01' AND DATE '2030-01-01'",
    "list IS NOT NULL AND array_length(list) > 1",
    "who['name'] = 'ann'",
    "NOT (dec < 1.5)",
];

const EXPRESSIONS: &[&str] = &[
    "i64 + i8",
    "upper(t) || '-' || CAST(i64 AS TEXT)",
    "coalesce(f64, f32, 0.0)",
    "CASE WHEN i64 > 0 THEN 'plus' WHEN i64 < 0 THEN 'minus' END",
    "dec * 2",
    "CAST(date_trunc('month', ts) AS DATE)",
    "tz + INTERVAL '1 day'",
    "array_append(list, 7)",
    "who['age'] + 1",
    "named_struct('a', t, 'b', list)",
    "encode(bin, 'hex')",
    "extract(year FROM d)",
    "nullif(i8, 1)",
    "round(f64, 2)",
    "md5(t)",
    "make_array(i64, 1)",
    "regexp_replace(t, 'a+', 'b')",
    "u64 % 7",
    "length(t)",
    "NULL",
];

/// Up to forty rows of every type, with NULL and odd values.
fn rows(random: &mut Random) -> RecordBatch {
    let count = random.below(40);
    let some = |random: &mut Random| !random.chance(20);
    macro_rules! column {
        ($array:ty, $value:expr) => {{
            let value: fn(&mut Random) -> _ = $value;
            let values: Vec<Option<_>> =
                (0..count).map(|_| some(random).then(|| value(random))).collect();
            <$array>::from(values)
        }};
    }
    let words = ["", "a", "aa", "ann", "ß", "日本", "x'y\"z", " ", "%"];
    let texts = |random: &mut Random| -> Vec<Option<&str>> {
        (0..count).map(|_| some(random).then(|| *random.pick(&words))).collect()
    };
    let int = |random: &mut Random| random.below(13) as i64 - 6;
    let names = StringArray::from(texts(random));
    let ages = column!(Int32Array, |random| random.below(90) as i32);
    let who = StructArray::try_new(
        vec![
            Field::new("name", arrow::datatypes::DataType::Utf8, true),
            Field::new("age", arrow::datatypes::DataType::Int32, true),
        ]
        .into(),
        vec![Arc::new(names) as ArrayRef, Arc::new(ages)],
        Some(NullBuffer::from((0..count).map(|_| some(random)).collect::<Vec<_>>())),
    )
    .unwrap();
    let lists = (0..count).map(|_| {
        some(random).then(|| {
            (0..random.below(4)).map(|_| some(random).then(|| int(random))).collect::<Vec<_>>()
        })
    });
    let lists: Vec<_> = lists.collect();
    let floats: [f64; 9] = [0.0, -0.0, 1.5, -2.25, 1e300, f64::NAN, f64::INFINITY, 0.1, -7.0];
    let f64s: Vec<_> = (0..count).map(|_| some(random).then(|| *random.pick(&floats))).collect();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("b", Arc::new(column!(BooleanArray, |random| random.chance(50)))),
        ("i8", Arc::new(column!(Int8Array, |random| random.below(5) as i8 - 2))),
        ("i64", Arc::new(column!(Int64Array, |random| random.below(13) as i64 - 6))),
        ("u64", Arc::new(column!(UInt64Array, |random| random.below(3_000) as u64))),
        ("f32", Arc::new(column!(Float32Array, |random| random.below(9) as f32 / 4.0))),
        ("f64", Arc::new(Float64Array::from(f64s))),
        ("t", Arc::new(StringArray::from(texts(random)))),
        (
            "bin",
            Arc::new(BinaryArray::from(
                texts(random).into_iter().map(|t| t.map(str::as_bytes)).collect::<Vec<_>>(),
            )),
        ),
        ("d", Arc::new(column!(Date32Array, |random| random.below(40_000) as i32 - 10_000))),
        ("ts", Arc::new(column!(TimestampMicrosecondArray, |random| random.below(1 << 50) as i64))),
        (
            "tz",
            Arc::new(
                column!(TimestampMicrosecondArray, |random| random.below(1 << 50) as i64)
                    .with_timezone("UTC"),
            ),
        ),
        (
            "dec",
            Arc::new(
                column!(Decimal128Array, |random| random.below(2_000) as i128 - 1_000)
                    .with_precision_and_scale(12, 2)
                    .unwrap(),
            ),
        ),
        ("list", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
        ("who", Arc::new(who)),
        (
            "dec2",
            Arc::new(
                column!(Decimal128Array, |random| random.below(9) as i128)
                    .with_precision_and_scale(38, 10)
                    .unwrap(),
            ),
        ),
    ];
    RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, column)| (name, column, true)),
    )
    .unwrap()
}

fn in_sandbox(batches: &[RecordBatch], other: &RecordBatch, config: &Value) -> Vec<String> {
    static SQL: OnceLock<Compiled> = OnceLock::new();
    let code = SQL.get_or_init(|| {
        let engine = Engine::new(Limits::default().wasm_stack_bytes, None).unwrap();
        engine
            .standard(&wasmhost_standard::SQL, Kind::Transform, Arc::new(Limits::default()))
            .unwrap()
    });
    let reference = Reference {
        name: "other".to_owned(),
        schema: other.schema(),
        open: Arc::new({
            let other = other.clone();
            move || Box::new(std::iter::once(Ok(other.clone())))
        }),
    };
    let mut rows = batches.to_vec();
    let mut schema = batches[0].schema();
    for config in queries(config) {
        let references =
            if config.to_string().contains("other") { vec![reference.clone()] } else { Vec::new() };
        let fail = |error| panic!("{config}: {error}");
        let context = guests::context();
        let pool = TransformPool::open_beside(code, &context, &config, &schema, references)
            .unwrap_or_else(fail);
        let mut made = Vec::new();
        for (number, rows) in rows.iter().enumerate() {
            let batch = Batch { rows: rows.clone(), origin: Origin::unknown() };
            let done = pool
                .process(number as u64, &batch)
                .unwrap_or_else(|error| panic!("{config}: {error}"));
            made.extend(done.batches.into_iter().map(|batch| batch.rows));
        }
        pool.finish(&mut |batch| {
            made.push(batch.rows);
            true
        })
        .unwrap_or_else(|error| panic!("{config}: {error}"));
        (rows, schema) = (made, Arc::clone(&pool.opened().output));
    }
    lines(&schema, &rows)
}

/// The steps as the host runs them: those of single rows apart from those that look at many.
fn queries(config: &Value) -> Vec<Value> {
    let is_row_wise = |step: &Value| {
        ["with_column", "filter", "select"].contains(&step["type"].as_str().unwrap())
    };
    let steps = config["steps"].as_array().unwrap();
    let runs = steps.chunk_by(|a, b| is_row_wise(a) == is_row_wise(b));
    runs.map(|steps| json!({ "steps": steps })).collect()
}

fn in_host(batches: &[RecordBatch], other: &RecordBatch, query: &str) -> Vec<String> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let mut config = SessionConfig::new().with_target_partitions(1);
        config.options_mut().sql_parser.enable_ident_normalization = false;
        let context = SessionContext::new_with_config(config);
        let table = |rows: Vec<RecordBatch>| {
            Arc::new(MemTable::try_new(rows[0].schema(), vec![rows]).unwrap())
        };
        context.register_table("input", table(batches.to_vec())).unwrap();
        context.register_table("other", table(vec![other.clone()])).unwrap();
        let frame = context.sql(query).await.unwrap_or_else(|error| panic!("{query}: {error}"));
        // As written, a plan does not say yet which types its parts agree on.
        let schema = frame.clone().create_physical_plan().await.unwrap().schema();
        let made = frame.collect().await.unwrap_or_else(|error| panic!("{query}: {error}"));
        lines(&schema, &made)
    })
}

/// Names and types of the columns, then all rows, sorted.
fn lines(schema: &SchemaRef, batches: &[RecordBatch]) -> Vec<String> {
    // The engine may hand out views, which no file holds.
    let plain = |text: String| text.replace("Utf8View", "Utf8").replace("BinaryView", "Binary");
    let fields = schema
        .fields()
        .iter()
        .map(|field| plain(format!("{} {}", field.name(), field.data_type())));
    let options = FormatOptions::default().with_null("NULL");
    let mut rows = Vec::new();
    for batch in batches {
        let columns: Vec<_> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column, &options).unwrap())
            .collect();
        rows.extend((0..batch.num_rows()).map(|row| {
            columns
                .iter()
                .map(|column| column.value(row).to_string())
                .collect::<Vec<_>>()
                .join(" | ")
        }));
    }
    rows.sort();
    [fields.collect::<Vec<_>>().join(", ")].into_iter().chain(rows).collect()
}
