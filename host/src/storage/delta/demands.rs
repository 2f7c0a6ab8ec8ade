//! What a table demands of its readers: each feature of the protocol is done, or refused by its name.

use std::path::Path;

use deltalake::kernel::Metadata;
use deltalake::kernel::Protocol;
use deltalake::kernel::schema::DataType;
use deltalake::kernel::schema::DecimalType;
use deltalake::kernel::schema::MetadataValue;
use deltalake::kernel::schema::PrimitiveType;
use deltalake::kernel::schema::StructType;
use serde::Deserialize;
use serde_json::Value;

use crate::storage::DataPlace;
use crate::storage::StorageError;

/// The reader features that are done, as the protocol calls them. The last two ask nothing of who reads rows.
const DONE: &[&str] = &[
    COLUMN_MAPPING,
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
];

const COLUMN_MAPPING: &str = "columnMapping";
const MODE: &str = "delta.columnMapping.mode";

/// How columns are found in files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mapping {
    /// By their names.
    None,
    /// By the names that the schema tells beside them.
    Name,
    /// By the numbers that the schema tells, which are Parquet's field ids.
    Id,
}

/// How the table's columns are found, and what it demands that is not done.
pub(super) fn of_readers(
    protocol: &Protocol,
    metadata: &Metadata,
    schema: &StructType,
) -> (Mapping, Vec<String>) {
    let version = protocol.min_reader_version();
    let features: Vec<String> = match version {
        ..=1 => Vec::new(),
        2 => vec![COLUMN_MAPPING.to_owned()],
        _ => {
            protocol.reader_features().unwrap_or_default().iter().map(ToString::to_string).collect()
        }
    };
    let mut refusals = undone(&features);
    if version > 3 {
        refusals.push(format!("version {version} of the protocol for readers"));
    }
    let mode = metadata.configuration().get(MODE).map_or("none", String::as_str);
    // The protocol says so: where the feature is not there, nobody minds the property.
    let mapped = features.iter().any(|feature| feature == COLUMN_MAPPING);
    let mapping = match mode {
        "name" if mapped => Mapping::Name,
        "id" if mapped => Mapping::Id,
        mode => {
            if mapped && mode != "none" {
                refusals.push(format!("`{MODE}: {mode}`"));
            }
            Mapping::None
        }
    };
    changes(schema, "", &mut refusals);
    (mapping, refusals)
}

/// Those of the features that are not done, as refusals.
pub(super) fn undone(features: &[String]) -> Vec<String> {
    let undone = features.iter().filter(|feature| !DONE.contains(&feature.as_str()));
    let mut refusals: Vec<_> = undone.map(|feature| format!("the feature `{feature}`")).collect();
    refusals.sort();
    refusals
}

/// The error of a table at `path` that demands this.
pub(super) fn refused(path: &Path, refusals: &[String]) -> StorageError {
    let what = format!("wasmhost does not read what the table has: {}", refusals.join(", "));
    StorageError::data(path, DataPlace::default(), what).hint(
        "let the engine that wrote it make a plain copy, or take the feature out of the table",
    )
}

/// A change of a column's type, as the schema keeps it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    from_type: DataType,
    to_type: DataType,
}

/// The changes of types that are none which the protocol knows.
fn changes(schema: &StructType, above: &str, refusals: &mut Vec<String>) {
    for field in schema.fields() {
        let name = format!("{above}{}", field.name());
        if let Some(told) = field.metadata.get("delta.typeChanges") {
            let told = match told {
                MetadataValue::Other(told) => told.clone(),
                other => Value::from(other.to_string()),
            };
            match serde_json::from_value::<Vec<Change>>(told) {
                Err(_) => {
                    refusals.push(format!("changes of the type of `{name}` that are not told"))
                }
                Ok(changes) => {
                    let odd =
                        changes.iter().filter(|change| !widens(&change.from_type, &change.to_type));
                    refusals.extend(odd.map(|Change { from_type, to_type }| {
                        format!("the change of `{name}` from {from_type} to {to_type}")
                    }));
                }
            }
        }
        within(field.data_type(), &format!("{name}."), refusals);
    }
}

fn within(data_type: &DataType, above: &str, refusals: &mut Vec<String>) {
    match data_type {
        DataType::Struct(fields) => changes(fields, above, refusals),
        DataType::Array(items) => within(items.element_type(), above, refusals),
        DataType::Map(map) => {
            within(map.key_type(), above, refusals);
            within(map.value_type(), above, refusals);
        }
        DataType::Primitive(_) | DataType::Variant(_) => {}
    }
}

/// Whether each value of `from` is one of `to`, by the protocol's list.
fn widens(from: &DataType, to: &DataType) -> bool {
    use PrimitiveType as P;
    let (DataType::Primitive(from), DataType::Primitive(to)) = (from, to) else { return false };
    let digits = |decimal: &DecimalType| decimal.precision() - decimal.scale();
    match (from, to) {
        (P::Byte, P::Short | P::Integer | P::Long | P::Double)
        | (P::Short, P::Integer | P::Long | P::Double)
        | (P::Integer, P::Long | P::Double)
        | (P::Float, P::Double)
        | (P::Date, P::TimestampNtz) => true,
        (P::Byte | P::Short | P::Integer, P::Decimal(to)) => digits(to) >= 10,
        (P::Long, P::Decimal(to)) => digits(to) >= 20,
        (P::Decimal(from), P::Decimal(to)) => {
            to.scale() >= from.scale() && digits(to) >= digits(from)
        }
        _ => false,
    }
}
