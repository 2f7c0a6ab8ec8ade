//! How a table's columns are found in its data files: by their names, by the names that they had first, or by the numbers that
//! the table gave them. What the files call them stays here.

use std::path::Path;
use std::sync::Arc;

use arrow::array::Array;
use arrow::array::ArrayRef;
use arrow::array::AsArray;
use arrow::array::ListArray;
use arrow::array::MapArray;
use arrow::array::RecordBatch;
use arrow::array::RecordBatchOptions;
use arrow::array::StructArray;
use arrow::array::new_null_array;
use arrow::compute::cast;
use arrow::datatypes::DataType;
use arrow::datatypes::Field;
use arrow::datatypes::FieldRef;
use arrow::datatypes::Fields;
use arrow::datatypes::Schema;
use arrow::error::ArrowError;
use deltalake::kernel::engine::arrow_conversion::TryIntoArrow;
use deltalake::kernel::schema::DataType as TableType;
use deltalake::kernel::schema::MetadataValue;
use deltalake::kernel::schema::StructField;
use deltalake::kernel::schema::StructType;
use parquet::arrow::PARQUET_FIELD_ID_META_KEY;

use super::demands::Mapping;
use crate::storage::DataPlace;
use crate::storage::StorageError;
use crate::storage::parquet::Names;

const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";
const ID: &str = "delta.columnMapping.id";

/// A table's columns.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    mapping: Mapping,
    schema: Arc<StructType>,
}

/// Where the wanted columns are in one file.
#[derive(Debug)]
pub(super) struct Places {
    /// The file's own columns that are read, ascending.
    pub(super) roots: Vec<usize>,
    /// Those of the table that it has: the name, the place among `roots`, and how it becomes the table's.
    found: Vec<(String, usize, Part)>,
}

/// What is done to a column of a file, so that it has the fields that the table's has; types stay as they are.
#[derive(Debug)]
enum Part {
    /// Nothing.
    Whole,
    /// Each field of the table's column becomes one of these.
    Fields(Vec<(String, Child)>),
    /// The same to each item.
    Items(Box<Self>),
    /// The same to keys and to values.
    Entries(Box<Self>, Box<Self>),
}

/// A field of a column with fields.
#[derive(Debug)]
enum Child {
    /// The file has it at this place.
    Own(usize, Part),
    /// The file has none; of this type in the table.
    Absent(DataType),
}

impl Columns {
    pub(super) fn new(mapping: Mapping, schema: Arc<StructType>) -> Self {
        Self { mapping, schema }
    }

    /// What the log calls a column, where its partition values and statistics stand.
    ///
    /// # Errors
    /// Where the table's schema does not tell.
    pub(super) fn in_log(&self, table: &Path, name: &str) -> Result<String, StorageError> {
        let Some(field) = self.schema.field(name) else {
            let what = format!("the table is split by `{name}`, which is none of its columns");
            return Err(StorageError::data(table, DataPlace::default(), what));
        };
        match self.mapping {
            Mapping::None => Ok(name.to_owned()),
            Mapping::Name | Mapping::Id => match physical_name(field) {
                Some(name) => Ok(name.to_owned()),
                None => Err(untold(table, field, PHYSICAL_NAME)),
            },
        }
    }

    /// Finds the `wanted` columns among a file's `own`.
    ///
    /// # Errors
    /// Where the file has no numbers and the table needs them, and where a column is there twice.
    pub(super) fn find(
        &self,
        file: &Path,
        wanted: &Schema,
        own: &Schema,
    ) -> Result<Places, StorageError> {
        if self.mapping == Mapping::Id
            && !own.fields().is_empty()
            && own.fields().iter().all(|field| id(field).is_none())
        {
            let what =
                "its columns have no ids (Parquet's `field_id`), by which the table finds them";
            return Err(StorageError::data(file, DataPlace::default(), what)
                .hint("it was put into the table by something that does not know `delta.columnMapping.mode: id`"));
        }
        let mut found = Vec::new();
        for field in wanted.fields().iter().filter_map(|field| self.schema.field(field.name())) {
            if let Some(root) = self.place(file, field, own.fields())? {
                let part = self.part(file, field.data_type(), own.field(root).data_type())?;
                found.push((field.name().clone(), root, part));
            }
        }
        let mut roots: Vec<usize> = found.iter().map(|(_, root, _)| *root).collect();
        roots.sort_unstable();
        roots.dedup();
        for (_, place, _) in &mut found {
            *place = roots.binary_search(place).unwrap_or_default();
        }
        Ok(Places { roots, found })
    }

    /// Where a file has a field of the table, if it has it.
    fn place(
        &self,
        file: &Path,
        field: &StructField,
        own: &Fields,
    ) -> Result<Option<usize>, StorageError> {
        let places = |is_it: &dyn Fn(&Field) -> bool| {
            let own = own.iter().enumerate();
            own.filter(|(_, own)| is_it(own)).map(|(place, _)| place).collect::<Vec<_>>()
        };
        let named = |name: &str| {
            let exact = places(&|own| own.name() == name);
            // Names of columns differ by more than the case of their letters, and some engines write another case than they declared.
            if exact.is_empty() {
                places(&|own| own.name().eq_ignore_ascii_case(name))
            } else {
                exact
            }
        };
        let found = match self.mapping {
            Mapping::None => named(field.name()),
            Mapping::Name => {
                named(physical_name(field).ok_or_else(|| untold(file, field, PHYSICAL_NAME))?)
            }
            Mapping::Id => {
                let Some(MetadataValue::Number(number)) = field.metadata.get(ID) else {
                    return Err(untold(file, field, ID));
                };
                let number = number.to_string();
                places(&|own| id(own) == Some(&number))
            }
        };
        match found.as_slice() {
            [] => Ok(None),
            [place] => Ok(Some(*place)),
            _ => {
                let what = "the file has several columns that are this one";
                Err(StorageError::data(file, DataPlace::column(field.name()), what)
                    .hint("the file is damaged, or was not made for this table"))
            }
        }
    }

    /// How a column of a file becomes one of the table. Where they are of other kinds, the cast that follows says so.
    fn part(&self, file: &Path, table: &TableType, own: &DataType) -> Result<Part, StorageError> {
        Ok(match (table, own) {
            (TableType::Struct(fields), DataType::Struct(own)) => {
                let mut parts = Vec::new();
                for field in fields.fields() {
                    let child =
                        match self.place(file, field, own)? {
                            Some(place) => {
                                let own = own[place].data_type();
                                Child::Own(place, self.part(file, field.data_type(), own)?)
                            }
                            None => {
                                let data_type = field.data_type().try_into_arrow();
                                Child::Absent(data_type.map_err(StorageError::library(
                                    file,
                                    "find the type of a field",
                                ))?)
                            }
                        };
                    parts.push((field.name().clone(), child));
                }
                Part::Fields(parts)
            }
            (
                TableType::Array(items),
                DataType::List(own) | DataType::LargeList(own) | DataType::FixedSizeList(own, _),
            ) => match self.part(file, items.element_type(), own.data_type())? {
                Part::Whole => Part::Whole,
                part => Part::Items(Box::new(part)),
            },
            (TableType::Map(map), DataType::Map(own, _)) => {
                let DataType::Struct(own) = own.data_type() else { return Ok(Part::Whole) };
                let keys = self.part(file, map.key_type(), own[0].data_type())?;
                match (keys, self.part(file, map.value_type(), own[1].data_type())?) {
                    (Part::Whole, Part::Whole) => Part::Whole,
                    (keys, values) => Part::Entries(Box::new(keys), Box::new(values)),
                }
            }
            _ => Part::Whole,
        })
    }
}

impl Places {
    /// Where in the file the table's columns are.
    pub(super) fn names(&self) -> Names {
        let place = |(name, place, _): &(String, usize, Part)| (name.clone(), self.roots[*place]);
        self.found.iter().map(place).collect()
    }

    /// The rows with the table's names. Columns that the file lacks are not there.
    ///
    /// # Errors
    /// Where Arrow says that nested columns do not fit together.
    pub(super) fn named(&self, rows: &RecordBatch) -> Result<RecordBatch, ArrowError> {
        let mut fields: Vec<FieldRef> = Vec::new();
        let mut columns = Vec::new();
        for (name, place, part) in &self.found {
            let column = part.of(rows.column(*place))?;
            fields.push(Arc::new(Field::new(name, column.data_type().clone(), true)));
            columns.push(column);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
    }
}

impl Part {
    fn of(&self, column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
        let item = |item: &FieldRef, values: &ArrayRef| {
            Arc::new(Field::new(item.name(), values.data_type().clone(), item.is_nullable()))
        };
        Ok(match self {
            Self::Whole => Arc::clone(column),
            Self::Fields(parts) => {
                let own = column.as_struct();
                let (mut fields, mut columns) = (Vec::new(), Vec::new());
                for (name, child) in parts {
                    let column = match child {
                        Child::Own(place, part) => part.of(own.column(*place))?,
                        Child::Absent(data_type) => new_null_array(data_type, own.len()),
                    };
                    fields.push(Field::new(name, column.data_type().clone(), true));
                    columns.push(column);
                }
                let nulls = own.nulls().cloned();
                let fields = Fields::from(fields);
                Arc::new(StructArray::try_new_with_length(fields, columns, nulls, own.len())?)
            }
            Self::Items(part) => {
                let list = match column.data_type() {
                    DataType::LargeList(item) | DataType::FixedSizeList(item, _) => {
                        &cast(column, &DataType::List(Arc::clone(item)))?
                    }
                    _ => column,
                };
                let (field, offsets, values, nulls) = list.as_list::<i32>().clone().into_parts();
                let values = part.of(&values)?;
                Arc::new(ListArray::try_new(item(&field, &values), offsets, values, nulls)?)
            }
            Self::Entries(keys, values) => {
                let (field, offsets, entries, nulls, sorted) = column.as_map().clone().into_parts();
                let (fields, columns, entry_nulls) = entries.into_parts();
                let (keys, values) = (keys.of(&columns[0])?, values.of(&columns[1])?);
                let fields = Fields::from(vec![item(&fields[0], &keys), item(&fields[1], &values)]);
                let entries =
                    StructArray::try_new(fields.clone(), vec![keys, values], entry_nulls)?;
                let field = Field::new(field.name(), DataType::Struct(fields), false);
                Arc::new(MapArray::try_new(Arc::new(field), offsets, entries, nulls, sorted)?)
            }
        })
    }
}

fn physical_name(field: &StructField) -> Option<&str> {
    match field.metadata.get(PHYSICAL_NAME) {
        Some(MetadataValue::String(name)) => Some(name),
        _ => None,
    }
}

fn id(field: &Field) -> Option<&String> {
    field.metadata().get(PARQUET_FIELD_ID_META_KEY)
}

/// A column of a table with column mapping that does not say how files call it.
fn untold(path: &Path, field: &StructField, key: &str) -> StorageError {
    let what = format!("the table's schema lacks its `{key}`");
    StorageError::data(path, DataPlace::column(field.name()), what)
        .hint("the table's log is damaged; read an earlier version with `version_as_of`")
}
