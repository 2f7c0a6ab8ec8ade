//! The way into the sandbox and back: calls, bytes, a kernel.

use std::error::Error;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::time::Instant;

use arrow::array::ArrayRef;
use arrow::array::AsArray as _;
use arrow::array::Float64Array;
use arrow::array::Int64Array;
use arrow::array::RecordBatch;
use arrow::array::StringArray;
use arrow::buffer::Buffer;
use arrow::datatypes::Float64Type;
use arrow_ipc::reader::StreamDecoder;
use serde_json::Value;
use serde_json::json;

use crate::batch::Batch;
use crate::batch::Origin;
use crate::batch::Positions;
use crate::component::Limits;
use crate::component::admit::admit;
use crate::encode;
use crate::flow::ComponentSource;
use crate::kernel;
use crate::measure::cpu;
use crate::measure::shown;
use crate::problem::Place;
use crate::sandbox::Cache;
use crate::sandbox::Compiled;
use crate::sandbox::Context;
use crate::sandbox::Engine;
use crate::sandbox::TransformPool;
use crate::table::RunId;

type Failed = Box<dyn Error>;

/// Further runs of the kernel within one call.
const REPEATS: u32 = 8;

/// The batch of the prototype that the aims come from: four columns, 3.7 MB.
const ROWS: usize = 65_536;

/// Measures everything and prints it.
pub fn run(guest: &Path) -> Result<(), Failed> {
    let limits = Limits {
        batch_rows: 4 << 20,
        batch_bytes: 64 << 20,
        run_ms: 86_400_000,
        ..Limits::default()
    };
    let engine = Engine::new(limits.wasm_stack_bytes, None)?;
    let source = ComponentSource { path: guest.to_owned(), digest: None, at: Place::default() };
    let component = admit("echo", &source, 64 << 20).map_err(|problems| format!("{problems:?}"))?;
    let started = Instant::now();
    let code = engine.compile(component.clone(), Arc::new(limits.clone()))?;
    println!("compile the echo guest                     {:>12}", shown(started.elapsed()));

    let folder = std::env::temp_dir().join(format!("wasmhost-bench-{}", std::process::id()));
    let cached = Engine::new(limits.wasm_stack_bytes, Cache::open(&folder))?;
    cached.compile(component.clone(), Arc::new(limits.clone()))?;
    let started = Instant::now();
    cached.compile(component, Arc::new(limits))?;
    println!("the same from the cache, authenticated     {:>12}", shown(started.elapsed()));
    std::fs::remove_dir_all(&folder)?;

    let four = four_columns(ROWS);
    let opened =
        cpu(|| open(&code, &json!({"mode": "carry"}), &four).map(|pool| drop(black_box(pool))))?;
    println!("instance, opened                           {:>12}", shown(opened));
    calls(&code)?;
    full_trip(&code, &four)?;
    throughput(&code)?;
    Ok(())
}

/// What a call costs whatever its batch: one row, nothing wanted, nothing computed.
fn calls(code: &Compiled) -> Result<(), Failed> {
    let batch = four_columns(1);
    for (mode, what) in [
        ("carry", "call, one row, no column enters"),
        ("echo", "call, one row, four columns enter and return"),
    ] {
        let pool = open(code, &json!({"mode": mode}), &batch)?;
        let time = cpu(|| process(&pool, &batch))?;
        println!("{what:<43}{:>12}", shown(time));
    }
    Ok(())
}

/// The prototype's batch: there and back, one way, one column; beside plain copies of as many bytes.
fn full_trip(code: &Compiled, batch: &Batch) -> Result<(), Failed> {
    let body = batch
        .rows
        .columns()
        .iter()
        .map(|column| column.to_data().get_slice_memory_size())
        .sum::<Result<usize, _>>()?;
    let bytes = vec![1_u8; body];
    let mut to = vec![0_u8; body];
    let copy = cpu(|| {
        to.copy_from_slice(black_box(&bytes));
        black_box(&mut to);
        Ok::<_, Failed>(())
    })?;
    println!("\n{ROWS} rows, four columns, {:.2} MB", body as f64 / 1e6);
    println!("one copy of the body                       {:>12}", shown(copy));
    let trips = [
        (json!({"mode": "echo"}), "full trip: all columns enter and return"),
        (json!({"mode": "swallow"}), "one way: all columns enter"),
        (
            json!({"mode": "project", "columns": ["distance"]}),
            "one column of four enters and returns",
        ),
        (json!({"mode": "carry"}), "no column enters"),
    ];
    for (config, what) in trips {
        let pool = open(code, &config, batch)?;
        let time = cpu(|| process(&pool, batch))?;
        let copies = time.as_secs_f64() / copy.as_secs_f64();
        println!("{what:<43}{:>12}   {copies:.2} copies", shown(time));
        if config["mode"] == "echo" {
            host_share(batch, copy)?;
        }
    }
    Ok(())
}

/// The host's own share of a full trip: what is left is the way through the engine and the guest's part.
fn host_share(batch: &Batch, copy: Duration) -> Result<(), Failed> {
    let line = |what: &str, time: Duration| {
        println!(
            "{what:<43}{:>12}   {:.2} copies",
            shown(time),
            time.as_secs_f64() / copy.as_secs_f64()
        );
    };
    let rows = &batch.rows;
    line(
        "  of it: the host encodes",
        cpu(|| encode::encode_batch(black_box(rows)).map(|bytes| drop(black_box(bytes))))?,
    );
    let stream = [encode::encode_schema(&rows.schema()), encode::encode_batch(rows)?].concat();
    let stream = Buffer::from_vec(stream);
    line(
        "  of it: the host decodes and validates",
        cpu(|| {
            let mut stream = stream.clone();
            let decoded = StreamDecoder::new().decode(&mut stream)?.ok_or("no batch")?;
            black_box(decoded);
            Ok::<_, Failed>(())
        })?,
    );
    Ok(())
}

/// Echo at three sizes, beside plain copies; a numeric kernel, beside the same kernel run in the host on the same arrays.
///
/// A kernel's own time is the slope over repeats within one call, so that the crossing is not in it.
fn throughput(code: &Compiled) -> Result<(), Failed> {
    println!("\nbatch of two float columns");
    println!(
        "     size    echo                        one kernel, crossing included   kernel alone: sandbox, native, ratio"
    );
    for size in [1 << 10, 1 << 20, 16 << 20] {
        let batch = two_columns(size / 16);
        let bytes = vec![1_u8; size];
        let mut to = vec![0_u8; size];
        let copy = cpu(|| {
            to.copy_from_slice(black_box(&bytes));
            black_box(&mut to);
            Ok::<_, Failed>(())
        })?;
        let timed = |config: Value| {
            let pool = open(code, &config, &batch)?;
            cpu(|| process(&pool, &batch))
        };
        let echo = timed(json!({"mode": "echo"}))?;
        let once = timed(json!({"mode": "kernel"}))?;
        let often = timed(json!({"mode": "kernel", "repeats": 1 + REPEATS}))?;
        let sandboxed = often.saturating_sub(once) / REPEATS;
        let native_once = cpu(|| native(&batch, 1))?;
        let native = cpu(|| native(&batch, 1 + REPEATS))?.saturating_sub(native_once) / REPEATS;
        let rate = |time: Duration| {
            format!("{:>9} {:>5.2} GB/s", shown(time), size as f64 / time.as_secs_f64() / 1e9)
        };
        let ratio = |a: Duration, b: Duration| a.as_secs_f64() / b.as_secs_f64();
        println!(
            "{:>5} KiB  {} {:>5.1} copies   {}   {} {} {:.2}",
            size >> 10,
            rate(echo),
            ratio(echo, copy),
            rate(once),
            rate(sandboxed),
            rate(native),
            ratio(sandboxed, native)
        );
    }
    Ok(())
}

fn open(code: &Compiled, config: &Value, batch: &Batch) -> Result<TransformPool, Failed> {
    let context = Context {
        run_id: RunId::new("bench")?,
        flow: "bench".into(),
        destination: None,
        logical_time_ns: 0,
        seed: 1,
    };
    Ok(TransformPool::open(code, &context, config, &batch.rows.schema())?)
}

fn process(pool: &TransformPool, batch: &Batch) -> Result<(), Failed> {
    let done = pool.process(0, black_box(batch))?;
    match done.batches.iter().map(|batch| batch.rows.num_rows()).sum::<usize>() {
        rows if rows == batch.rows.num_rows() => Ok(()),
        rows => Err(format!("{rows} rows came back of {}", batch.rows.num_rows()).into()),
    }
}

/// The guest's kernel, run here: columns in, a column out.
fn native(batch: &Batch, repeats: u32) -> Result<(), Failed> {
    let column = |at: usize| batch.rows.column(at).as_primitive::<Float64Type>().values();
    let mut out = vec![0.0; batch.rows.num_rows()];
    for _ in 0..repeats {
        kernel::kernel(black_box(column(0)), black_box(column(1)), &mut out);
        black_box(&mut out);
    }
    let result: ArrayRef = Arc::new(Float64Array::from(out));
    black_box(result);
    Ok(())
}

fn four_columns(rows: usize) -> Batch {
    let numbers = (0..rows as i64).map(|row| row * 7);
    let floats = |step: f64| Float64Array::from_iter_values((0..rows).map(|row| row as f64 * step));
    // About 28 bytes of text a row, with what the offsets add.
    let texts = (0..rows).map(|row| format!("2013-01-01_UA_{row:012}"));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("id", Arc::new(Int64Array::from_iter_values(numbers))),
        ("distance", Arc::new(floats(0.5))),
        ("delay", Arc::new(floats(0.25))),
        ("flight", Arc::new(StringArray::from_iter_values(texts))),
    ];
    batch(columns)
}

fn two_columns(rows: usize) -> Batch {
    let floats = |step: f64| -> ArrayRef {
        Arc::new(Float64Array::from_iter_values((0..rows).map(|row| 1.0 + row as f64 * step)))
    };
    batch(vec![("a", floats(0.5)), ("b", floats(0.25))])
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Batch {
    let rows = RecordBatch::try_from_iter(columns)
        .unwrap_or_else(|error| unreachable!("columns of one length: {error}"));
    Batch { rows, origin: Origin { file: "bench".into(), rows: Positions::From(1) } }
}
