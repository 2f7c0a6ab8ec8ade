//! `collect`: the different values of a column, gathered while the rows wait, and their list in SQL for the steps behind.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::OnceLock;

use arrow::array::Array as _;
use arrow::array::ArrayRef;
use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use arrow_row::RowConverter;
use arrow_row::SortField;

use crate::batch::Batch;
use crate::name::ColumnName;
use crate::problem::Code;
use crate::problem::Place;
use crate::problem::Problem;
use crate::run::chain::Holding;
use crate::run::chain::Room;
use crate::run::error::RunError;
use crate::run::sort::known;
use crate::spool::Spool;

/// How many bytes the different values may take: they become a text of SQL.
const VALUES_BYTES_MAX: usize = 1 << 20;

/// How many bytes a configuration may take with the values in it: it is parsed, and what it is parsed into is larger.
pub(super) const FILLED_BYTES_MAX: usize = 4 << 20;

/// Values by name that the steps of a chain may use, those of the chain before it among them.
#[derive(Debug, Clone, Default)]
pub(super) struct Collected(BTreeMap<String, Arc<Values>>);

/// Values of a column, known once all rows have come.
#[derive(Debug)]
struct Values {
    data_type: DataType,
    list: OnceLock<String>,
}

/// A step that gathers.
#[derive(Debug)]
pub(super) struct Collect {
    values: Arc<Values>,
    name: String,
    column: usize,
    values_max: u64,
    at: Place,
}

/// Rows on their way through.
pub(super) struct Collecting {
    collect: Arc<Collect>,
    converter: RowConverter,
    seen: BTreeSet<Box<[u8]>>,
    bytes: usize,
    rows: Spool<()>,
}

impl Collected {
    /// The values of a name in SQL: what stands in for them until they are known, then their list.
    pub(super) fn sql(&self, name: &str) -> Option<String> {
        let values = self.0.get(name)?;
        Some(values.list.get().cloned().unwrap_or_else(|| values.nothing()))
    }

    /// How long that list is, once it is known.
    pub(super) fn bytes(&self, name: &str) -> usize {
        self.0.get(name).and_then(|values| values.list.get()).map_or(0, String::len)
    }

    /// A step that gathers a column of such rows under a name that is known from now on.
    pub(super) fn collect(
        &mut self,
        rows: &Schema,
        column: &ColumnName,
        name: &str,
        values_max: u64,
        at: &Place,
    ) -> Result<Collect, Problem> {
        let unknown = |what| Problem::new(Code::UnknownName, at.clone(), what);
        known(rows, std::iter::once(column)).map_err(unknown)?;
        let position =
            rows.index_of(column.as_str()).map_err(|error| unknown(error.to_string()))?;
        let data_type = rows.field(position).data_type().clone();
        if !is_literal(&data_type) {
            let what = format!("values of `{column}` are {data_type}, which SQL does not write");
            let hint = "collect text, numbers, dates, times or truth values; `cast` others before";
            return Err(Problem::new(Code::WrongType, at.clone(), what).hint(hint));
        }
        let values = Arc::new(Values { data_type, list: OnceLock::new() });
        self.0.insert(name.to_owned(), Arc::clone(&values));
        Ok(Collect { values, name: name.to_owned(), column: position, values_max, at: at.clone() })
    }
}

impl Values {
    /// The list of no value.
    fn nothing(&self) -> String {
        format!("arrow_cast(NULL, '{}')", self.data_type)
    }
}

impl Collect {
    /// No rows yet.
    pub(super) fn begin(self: &Arc<Self>, room: &Room) -> Result<Collecting, RunError> {
        let field = SortField::new(self.values.data_type.clone());
        Ok(Collecting {
            collect: Arc::clone(self),
            converter: RowConverter::new(vec![field]).map_err(RunError::arrow("collect"))?,
            seen: BTreeSet::new(),
            bytes: 0,
            rows: Spool::new(room.folder.clone(), room.memory_max),
        })
    }

    fn too_many(&self, what: String, hint: &str) -> RunError {
        let what = format!("`{}` has {what}", self.name);
        RunError::Problems(vec![Problem::new(Code::Data, self.at.clone(), what).hint(hint)])
    }
}

impl Holding for Collecting {
    fn push(&mut self, batch: Batch) -> Result<(), RunError> {
        let Collect { column, values_max, .. } = *self.collect;
        let values = Arc::clone(batch.rows.column(column));
        let rows = self.converter.convert_columns(std::slice::from_ref(&values));
        let rows = rows.map_err(RunError::arrow("collect"))?;
        for (at, row) in rows.iter().enumerate() {
            // NULL equals nothing; in a list it would make every `NOT IN` false.
            if values.is_null(at) || self.seen.contains(row.data()) {
                continue;
            }
            self.bytes += row.data().len();
            self.seen.insert(row.data().into());
            if self.seen.len() as u64 > values_max {
                let what = format!("more than {values_max} different values");
                let hint = "join or use a query instead of a list, or allow more by `max_values`";
                return Err(self.collect.too_many(what, hint));
            }
            if self.bytes > VALUES_BYTES_MAX {
                let what = format!("values of more than {VALUES_BYTES_MAX} bytes");
                return Err(self.collect.too_many(what, "join, or use a query, instead of a list"));
            }
        }
        Ok(self.rows.push(batch, ())?)
    }

    fn finish(self, take: &mut dyn FnMut(Batch) -> bool) -> Result<u64, RunError> {
        let Self { collect, converter, seen, rows, .. } = self;
        let parser = converter.parser();
        let values = converter.convert_rows(seen.iter().map(|row| parser.parse(row)));
        let list = values.and_then(|values| match values.as_slice() {
            [values] if !values.is_empty() => list(values),
            // In it there is nothing, of the column's type.
            _ => Ok(collect.values.nothing()),
        });
        let list = list.map_err(|error| {
            let what = format!("a value of `{}` has no text in SQL: {error}", collect.name);
            RunError::Problems(vec![Problem::new(Code::Data, collect.at.clone(), what)])
        })?;
        // A chain runs once: whoever set it before would have been this step.
        collect.values.list.get_or_init(|| list);
        for batch in rows.drain()? {
            if !take(batch?.0) {
                break;
            }
        }
        Ok(0)
    }
}

/// Whether SQL has a text for the values of the type.
fn is_literal(data_type: &DataType) -> bool {
    data_type.is_numeric()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Date32
                | DataType::Date64
                | DataType::Time32(_)
                | DataType::Time64(_)
                | DataType::Timestamp(..)
        )
}

/// Values, none of them NULL, as a list in SQL: each is of the column's type, and none joins what stands before or behind it.
fn list(values: &ArrayRef) -> Result<String, ArrowError> {
    let texts = cast(values, &DataType::Utf8)?;
    let data_type = values.data_type();
    let literals = texts.as_string::<i32>().iter().flatten().map(|text| {
        let quoted = format!("'{}'", text.replace('\'', "''"));
        match data_type {
            DataType::Utf8 => quoted,
            DataType::Boolean => text.to_owned(),
            // What SQL takes for whole numbers; less than none is written by an operator.
            DataType::Int64 if !text.starts_with('-') => text.to_owned(),
            _ => format!("arrow_cast({quoted}, '{data_type}')"),
        }
    });
    Ok(format!(" {} ", literals.collect::<Vec<_>>().join(", ")))
}
