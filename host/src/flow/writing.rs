//! How a destination's rows are written: its format with just its own options.

use super::ArrowWrite;
use super::AvroWrite;
use super::CsvWrite;
use super::JsonWrite;
use super::ParquetWrite;
use super::WriteFormat;
use super::open::Fields;
use super::report::Report;
use crate::problem::Code;

/// Bytes after which a new file is begun, unless the flow says otherwise.
pub(super) const TARGET_FILE_SIZE: u64 = 128 << 20;

/// The format with its options; what they contradict is told.
pub(super) fn write_format(
    report: &Report,
    format: &str,
    options: &Fields<'_>,
) -> Option<WriteFormat> {
    let parquet = || ParquetWrite {
        compression: options.compression(format),
        target_file_size: options
            .bytes("target_file_size")
            .map_or(TARGET_FILE_SIZE, |bytes| bytes.value),
    };
    let json = || JsonWrite { compression: options.text_compression(format) };
    Some(match format {
        "delta" => WriteFormat::Delta(parquet()),
        "parquet" => WriteFormat::Parquet(parquet()),
        "view" => WriteFormat::View(ParquetWrite::default()),
        "csv" => WriteFormat::Csv(csv(report, options)),
        "jsonl" => WriteFormat::Jsonl(json()),
        "json" => WriteFormat::Json(json()),
        "arrow" => WriteFormat::Arrow(ArrowWrite { compression: options.arrow_compression() }),
        "avro" => WriteFormat::Avro(AvroWrite { compression: options.avro_compression() }),
        _ => return None,
    })
}

fn csv(report: &Report, options: &Fields<'_>) -> CsvWrite {
    let character =
        |name, default: u8| options.character(name).map_or(default, |character| character.value);
    let csv = CsvWrite {
        header: options.flag("header").is_none_or(|flag| flag.value),
        delimiter: character("delimiter", b','),
        quote: character("quote", b'"'),
        escape: options.character("escape").map(|escape| escape.value),
        null_value: options.text("null_value").map(|text| text.value).unwrap_or_default(),
        compression: options.text_compression("csv"),
    };
    for (name, other, same) in [
        ("delimiter", "quote", csv.delimiter == csv.quote),
        ("delimiter", "escape", Some(csv.delimiter) == csv.escape),
    ] {
        if same {
            let what = format!("`{name}` and `{other}` are the same character");
            let at = if options.get(name).is_some() { name } else { other };
            report.add(Code::Contradiction, &options.key_of(at), what);
        }
    }
    let parts =
        |byte: u8| matches!(byte, b'\n' | b'\r') || [csv.delimiter, csv.quote].contains(&byte);
    if csv.null_value.bytes().any(|byte| parts(byte) || Some(byte) == csv.escape) {
        let what = format!("`null_value` is {:?}, which is no field as it stands", csv.null_value);
        let hint = "it is written without quotes: no delimiter, quote, escape or line break in it";
        report.add_hint(Code::WrongValue, &options.key_of("null_value"), what, hint);
    }
    csv
}
