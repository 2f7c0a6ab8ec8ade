//! How data is kept, and what is said of reading and writing it.

use chrono::DateTime;
use chrono::Utc;
use encoding_rs::Encoding;
use serde::Serialize;

use super::ArrowCompression;
use super::AvroCompression;
use super::Compression;
use super::SqlRead;
use super::TextCompression;
use crate::name::ColumnName;

/// A format that can be read, with its own options.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "format", rename_all = "snake_case")]
pub enum ReadFormat {
    /// Comma-separated values (RFC 4180), also with other delimiters.
    Csv(CsvRead),
    /// Apache Parquet.
    Parquet {},
    /// A view that a flow of the same process has written.
    View {},
    /// One JSON object a line.
    Jsonl(JsonRead),
    /// A JSON array of objects, or one object.
    Json(JsonRead),
    /// Arrow IPC, a file or a stream.
    Arrow {},
    /// Avro object container files.
    Avro {},
    /// Apache ORC.
    Orc {},
    /// Any files: a row a file.
    Binary {},
    /// A Delta table.
    Delta(AsOf),
    /// A table or a query of a Postgres server.
    Sql(Box<SqlRead>),
}

/// Which version of a table is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AsOf {
    /// The one that is the newest when the run begins.
    Newest {},
    /// The one of this number; 0 is the first.
    Version(u64),
    /// The newest one that is not younger.
    Timestamp(DateTime<Utc>),
}

/// Options of reading CSV.
#[derive(Debug, Clone, Serialize)]
pub struct CsvRead {
    /// Whether the first line names the columns (default true).
    pub header: bool,
    /// What the columns are called where no line says so, one for each field; `column_1`, `column_2`, … where `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<ColumnName>>,
    /// The delimiter, one ASCII character.
    pub delimiter: u8,
    /// The quote, one ASCII character.
    pub quote: u8,
    /// An escape within quotes; doubled quotes where `None`.
    pub escape: Option<u8>,
    /// What bytes mean which characters; a byte-order mark wins.
    pub encoding: &'static Encoding,
    /// Fields that mean NULL. An unquoted empty field is always NULL in a column that is not text.
    pub null_values: Vec<String>,
    /// How many rows inference looks at; all of them where `None`, and at 0 columns are text.
    pub infer_schema_rows: Option<usize>,
}

/// Options of reading JSON.
#[derive(Debug, Clone, Serialize)]
pub struct JsonRead {
    /// How many rows inference looks at; all of them where `None`.
    pub infer_schema_rows: Option<usize>,
}

impl ReadFormat {
    /// The format's name in flow files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Csv(_) => "csv",
            Self::Parquet {} => "parquet",
            Self::View {} => "view",
            Self::Jsonl(_) => "jsonl",
            Self::Json(_) => "json",
            Self::Arrow {} => "arrow",
            Self::Avro {} => "avro",
            Self::Orc {} => "orc",
            Self::Binary {} => "binary",
            Self::Delta(_) => "delta",
            Self::Sql(_) => "sql",
        }
    }
}

/// A format that can be written, with its own options.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "format", rename_all = "snake_case")]
pub enum WriteFormat {
    /// A Delta table: Parquet files and a transaction log.
    Delta(ParquetWrite),
    /// Parquet files.
    Parquet(ParquetWrite),
    /// A view: rows that other flows of the same process read. Parquet files that go with the process.
    View(ParquetWrite),
    /// CSV files.
    Csv(CsvWrite),
    /// One JSON object a line.
    Jsonl(JsonWrite),
    /// A JSON array of objects.
    Json(JsonWrite),
    /// Arrow IPC files.
    Arrow(ArrowWrite),
    /// Avro object container files.
    Avro(AvroWrite),
}

/// Options of writing Parquet, also below Delta.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ParquetWrite {
    /// How pages are compressed.
    pub compression: Compression,
    /// Bytes after which a new file is begun.
    pub target_file_size: u64,
}

impl Default for ParquetWrite {
    fn default() -> Self {
        Self {
            compression: Compression::default(),
            target_file_size: super::writing::TARGET_FILE_SIZE,
        }
    }
}

/// Options of writing CSV.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CsvWrite {
    /// Whether the first line names the columns (default true).
    pub header: bool,
    /// The delimiter, one ASCII character.
    pub delimiter: u8,
    /// The quote, one ASCII character (default `"`).
    #[serde(skip_serializing_if = "is_double_quote")]
    pub quote: u8,
    /// What comes before a quote within quotes, and before itself there; doubled quotes where `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub escape: Option<u8>,
    /// What a NULL is written as (default: nothing). Text that looks the same is quoted.
    pub null_value: String,
    /// How the files are compressed.
    #[serde(skip_serializing_if = "is_default")]
    pub compression: TextCompression,
}

impl Default for CsvWrite {
    fn default() -> Self {
        Self {
            header: true,
            delimiter: b',',
            quote: b'"',
            escape: None,
            null_value: String::new(),
            compression: TextCompression::default(),
        }
    }
}

/// Options of writing JSON.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct JsonWrite {
    /// How the files are compressed.
    #[serde(skip_serializing_if = "is_default")]
    pub compression: TextCompression,
}

/// Options of writing Arrow files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ArrowWrite {
    /// How their buffers are compressed.
    #[serde(skip_serializing_if = "is_default")]
    pub compression: ArrowCompression,
}

/// Options of writing Avro files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AvroWrite {
    /// How their blocks are compressed.
    #[serde(skip_serializing_if = "is_default")]
    pub compression: AvroCompression,
}

impl WriteFormat {
    /// The format's name in flow files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delta(_) => "delta",
            Self::Parquet(_) => "parquet",
            Self::View(_) => "view",
            Self::Csv(_) => "csv",
            Self::Jsonl(_) => "jsonl",
            Self::Json(_) => "json",
            Self::Arrow(_) => "arrow",
            Self::Avro(_) => "avro",
        }
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_double_quote(quote: &u8) -> bool {
    *quote == b'"'
}
