//! Answers that break the contract, each in one way. Those that patch the bytes need a batch of at least three rows.

use arrow_array::builder::StringBuilder;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use std::sync::Arc;
use wasmhost_guest::bindings::transform_exports::{
    ColumnSource, Opened, Output, OutputBatch, RowEffect,
};
use wasmhost_guest::bindings::types::{Judgement, NamedInput, Statefulness};
use wasmhost_guest::decode::{decode_batch, decode_schema};
use wasmhost_guest::encode::{encode_batch, encode_schema};
use wasmhost_guest::{Failure, Reason};

/// What is wrong with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Wrong {
    // The answer to `open`.
    /// The layout names an input column that there is not.
    LayoutInput,
    /// The layout names a computed column that there is not.
    LayoutComputed,
    /// The layout names two columns alike.
    LayoutNames,
    /// Wants a column that there is not.
    Projection,
    /// Wants columns of an input that there is not.
    Projections,
    /// Keyed by a column that there is not.
    Key,
    /// Declares 5,000 reasons.
    Reasons,
    /// Declares a reason of 1 MiB.
    ReasonText,
    /// Declares a schema that is none.
    SchemaBytes,
    /// Declares a schema 64 levels deep.
    SchemaDepth,
    /// Declares 10,000 columns.
    SchemaColumns,
    /// Declares values of 2 GiB each.
    SchemaWidth,
    /// Declares lists whose items have no bytes.
    SchemaNullItems,
    /// Carries one column 100,000 times.
    LayoutFlood,
    /// Names a column so that it clears a terminal.
    LayoutControl,
    // The answer to `process`: rows and columns.
    /// One row too many.
    Rows,
    /// A column of another type.
    Schema,
    /// A column too few.
    Columns,
    /// No batch where one is due.
    NoBatch,
    /// Two batches where one is due.
    TwoBatches,
    /// 68 MiB.
    HugeOutput,
    // The answer to `process`: bytes.
    /// Half of the bytes.
    Truncate,
    /// No byte.
    Empty,
    /// Bits flipped in the metadata.
    Corrupt,
    /// A body length beyond the bytes.
    BodyLength,
    /// Negative numbers of rows.
    NegativeLength,
    /// Offsets of a text beyond its bytes.
    Offsets,
    /// A text that is not UTF-8.
    Utf8,
    /// A block of zeros behind the batch.
    Trailing,
    /// The schema once more before the batch.
    Repeated,
    /// Texts whose bytes are those of their offsets; needs a batch of eleven rows.
    Overlap,
    // The answer to `process`: judgements.
    /// Keep bits from a layout that leaves nothing out.
    Keep,
    /// A filter whose bitmap is a byte short.
    BitmapShort,
    /// A filter whose bitmap is a byte long.
    BitmapLong,
    /// A filter whose padding bits are set.
    BitmapPadding,
    /// A reason that was not declared.
    Reason,
    /// A reason judged twice.
    ReasonTwice,
    /// More hits than rows judged.
    Evaluated,
    /// More rows judged than there are.
    EvaluatedRows,
    /// More NULLs than rows judged.
    Nulls,
    /// Padding bits set among the hits.
    HitsPadding,
    /// Many rows, of which one comes from a row that there is not.
    Origin,
    /// Many rows, and fewer origins.
    OriginShort,
    // The answer to `finish`.
    /// Many rows, without end.
    EndlessFinish,
    /// A row from a layout that is one to one.
    FinishOneToOne,
}

fn computed() -> Schema {
    Schema::new(vec![Field::new("n", DataType::Int64, true), Field::new("t", DataType::Utf8, true)])
}

/// The good answer to `open`, but for what is wrong.
pub(crate) fn opened(wrong: Option<Wrong>, inputs: &[NamedInput]) -> Result<Opened, Failure> {
    let input = decode_schema(&inputs[0].schema)?;
    let carried = input.fields().iter().enumerate();
    let mut layout: Vec<(String, ColumnSource)> =
        carried.map(|(at, field)| (field.name().clone(), ColumnSource::Input(at as u32))).collect();
    layout.push(("n".to_owned(), ColumnSource::Computed(0)));
    layout.push(("t".to_owned(), ColumnSource::Computed(1)));
    let mut opened = Opened {
        row_effect: RowEffect::OneToOne,
        statefulness: Statefulness::Stateless,
        reasons: vec![Reason::new("evil", [""; 0], "evil")],
        computed_schema: encode_schema(&computed()),
        layout,
        projections: vec![Vec::new(); inputs.len()],
        max_rows: None,
    };
    let Some(wrong) = wrong else { return Ok(opened) };
    match wrong {
        Wrong::LayoutInput => opened.layout.push(("x".to_owned(), ColumnSource::Input(100_000))),
        Wrong::LayoutComputed => opened.layout.push(("x".to_owned(), ColumnSource::Computed(2))),
        Wrong::LayoutNames => opened.layout.push(("n".to_owned(), ColumnSource::Computed(0))),
        Wrong::Projection => opened.projections[0].push(100_000),
        Wrong::Projections => opened.projections.push(Vec::new()),
        Wrong::Key => opened.statefulness = Statefulness::Keyed(vec![100_000]),
        Wrong::Reasons => {
            opened.reasons =
                (0..5_000).map(|at| Reason::new(format!("r{at}"), [""; 0], "evil")).collect();
        }
        Wrong::ReasonText => opened.reasons[0].message = "evil ".repeat((1 << 20) / 5),
        Wrong::SchemaBytes => opened.computed_schema = b"this is no schema".repeat(8),
        Wrong::SchemaDepth => {
            let deep = (0..64).fold(DataType::Int64, |item, _| {
                DataType::List(Arc::new(Field::new("item", item, true)))
            });
            opened.computed_schema = encode_schema(&Schema::new(vec![Field::new("n", deep, true)]));
        }
        Wrong::SchemaWidth => {
            let wide = DataType::FixedSizeBinary(i32::MAX);
            opened.computed_schema = encode_schema(&Schema::new(vec![Field::new("n", wide, true)]));
        }
        Wrong::SchemaNullItems => {
            let nothing = DataType::List(Arc::new(Field::new("item", DataType::Null, true)));
            opened.computed_schema =
                encode_schema(&Schema::new(vec![Field::new("n", nothing, true)]));
        }
        Wrong::LayoutFlood => {
            let carried = (0..100_000).map(|at| (format!("x{at}"), ColumnSource::Input(0)));
            opened.layout.truncate(3);
            opened.layout.extend(carried);
        }
        Wrong::LayoutControl => opened.layout[0].0 = "\u{1b}[2Jn".to_owned(),
        Wrong::SchemaColumns => {
            let fields: Vec<_> =
                (0..10_000).map(|at| Field::new(format!("c{at}"), DataType::Int64, true)).collect();
            opened.computed_schema = encode_schema(&Schema::new(fields));
        }
        Wrong::BitmapShort | Wrong::BitmapLong | Wrong::BitmapPadding => {
            opened.row_effect = RowEffect::Filter
        }
        Wrong::Origin | Wrong::OriginShort | Wrong::EndlessFinish => {
            opened.row_effect = RowEffect::Many;
            if wrong == Wrong::EndlessFinish {
                // Rows at the end cannot carry anything.
                opened.layout.retain(|(_, source)| matches!(source, ColumnSource::Computed(_)));
            }
        }
        _ => {}
    }
    Ok(opened)
}

/// The good answer to `process`, but for what is wrong.
pub(crate) fn output(
    wrong: Option<Wrong>,
    is_good: bool,
    batch: Vec<u8>,
) -> Result<Output, Failure> {
    let rows = decode_batch(batch, &Arc::new(Schema::empty()))?.num_rows();
    let many = matches!(wrong, Some(Wrong::Origin | Wrong::OriginShort | Wrong::EndlessFinish));
    let origin = many.then(|| (0..rows as u32).collect());
    let mut output = Output {
        batches: vec![OutputBatch { computed: self::rows(rows)?, origin }],
        keep: None,
        rejects: Vec::new(),
    };
    let Some(wrong) = wrong.filter(|_| !is_good) else { return Ok(output) };
    let bits = |bytes: usize, bits: u8| vec![bits; bytes];
    let bytes = rows.div_ceil(8);
    let judgement = |reason, hits, evaluated: usize, nulls| Judgement {
        reason,
        hits,
        evaluated: evaluated as u32,
        nulls,
    };
    match wrong {
        Wrong::Rows => output.batches[0].computed = self::rows(rows + 1)?,
        // A type of the same layout, a float for an integer, cannot be told: the schema is not repeated.
        Wrong::Schema => {
            output.batches[0].computed = encode(vec![texts(rows), texts(rows)])?;
        }
        Wrong::Columns => output.batches[0].computed = encode(vec![numbers(rows)])?,
        Wrong::NoBatch => output.batches.clear(),
        Wrong::TwoBatches => output.batches.push(output.batches[0].clone()),
        Wrong::HugeOutput => {
            // With room made at first, so that it is this answer that is too big and not the memory on the way to it.
            let text = "evil".repeat((17 << 20) / rows.max(1) + 1);
            let mut texts = StringBuilder::with_capacity(rows, rows * text.len());
            (0..rows).for_each(|_| texts.append_value(&text));
            let texts = texts.finish();
            output.batches[0].computed = encode(vec![numbers(rows), Arc::new(texts)])?;
        }
        Wrong::Keep => output.keep = Some(bits(bytes, 0)),
        Wrong::BitmapShort => output.keep = Some(bits(bytes.saturating_sub(1), 0)),
        Wrong::BitmapLong => output.keep = Some(bits(bytes + 1, 0)),
        Wrong::BitmapPadding => output.keep = Some(bits(bytes, 0xff)),
        Wrong::Reason => output.rejects = vec![judgement(7, bits(bytes, 0), rows, 0)],
        Wrong::ReasonTwice => output.rejects = vec![judgement(0, bits(bytes, 0), rows, 0); 2],
        Wrong::Evaluated => output.rejects = vec![judgement(0, bits(bytes, 1), 0, 0)],
        Wrong::EvaluatedRows => output.rejects = vec![judgement(0, bits(bytes, 0), rows + 1, 0)],
        Wrong::Nulls => output.rejects = vec![judgement(0, bits(bytes, 0), rows, rows as u32 + 1)],
        Wrong::HitsPadding => output.rejects = vec![judgement(0, bits(bytes, 0xff), rows, 0)],
        Wrong::Origin => {
            let origin = (0..rows as u32).map(|row| if row == 0 { u32::MAX } else { row });
            output.batches[0].origin = Some(origin.collect());
        }
        Wrong::OriginShort => output.batches[0].origin = Some((1..rows as u32).collect()),
        other => patch(other, &mut output.batches[0].computed, rows),
    }
    Ok(output)
}

/// Breaks the bytes of a good batch.
fn patch(wrong: Wrong, bytes: &mut Vec<u8>, rows: usize) {
    match wrong {
        Wrong::Truncate => bytes.truncate(bytes.len() / 2),
        Wrong::Empty => bytes.clear(),
        Wrong::Corrupt => bytes[12..40].iter_mut().for_each(|byte| *byte ^= 0x55),
        Wrong::BodyLength => {
            let head = u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]) as usize + 8;
            let body = (bytes.len() - head) as i64;
            replace(bytes, &body.to_le_bytes(), &i64::MAX.to_le_bytes());
        }
        Wrong::NegativeLength => {
            replace(bytes, &(rows as i64).to_le_bytes(), &(-1_i64).to_le_bytes())
        }
        Wrong::Offsets => {
            // The offsets of texts of four bytes each.
            let offsets = |last: i32| [0, 4, last].map(i32::to_le_bytes).concat();
            replace(bytes, &offsets(8), &offsets(i32::MAX));
        }
        Wrong::Utf8 => replace(bytes, b"evil", &[0xff, 0xfe, b'i', b'l']),
        Wrong::Trailing => bytes.extend_from_slice(&[0; 64]),
        Wrong::Overlap => {
            let entry = |offset: i64| [offset, 44].map(i64::to_le_bytes).concat();
            replace(bytes, &entry(192), &entry(128));
        }
        Wrong::Repeated => bytes.splice(0..0, encode_schema(&computed())).for_each(drop),
        // Done elsewhere, or in `open` or `finish`.
        _ => {}
    }
}

/// Replaces all that are found, wherever they lie.
fn replace(bytes: &mut [u8], what: &[u8], with: &[u8]) {
    let mut at = 0;
    while at + what.len() <= bytes.len() {
        if bytes[at..].starts_with(what) {
            bytes[at..at + what.len()].copy_from_slice(with);
            at += what.len();
        } else {
            at += 1;
        }
    }
}

fn numbers(rows: usize) -> ArrayRef {
    Arc::new((0..rows as i64).map(Some).collect::<Int64Array>())
}

fn texts(rows: usize) -> ArrayRef {
    Arc::new(StringArray::from(vec!["evil"; rows]))
}

fn encode(columns: Vec<ArrayRef>) -> Result<Vec<u8>, Failure> {
    let columns =
        columns.into_iter().enumerate().map(|(at, column)| (format!("c{at}"), column, true));
    Ok(encode_batch(&RecordBatch::try_from_iter_with_nullable(columns)?)?)
}

/// Good rows.
pub(crate) fn rows(rows: usize) -> Result<Vec<u8>, Failure> {
    encode(vec![numbers(rows), texts(rows)])
}

/// What the host sends where nothing is wanted.
#[cfg(test)]
pub(crate) fn nothing(rows: usize) -> Result<Vec<u8>, Failure> {
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(encode_batch(&RecordBatch::try_new_with_options(
        Arc::new(Schema::empty()),
        Vec::new(),
        &options,
    )?)?)
}
