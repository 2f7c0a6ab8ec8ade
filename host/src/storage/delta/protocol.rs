//! What a table demands of its readers and writers, where new columns make it demand more.

use arrow::datatypes::DataType;
use arrow::datatypes::Schema;
use deltalake::DeltaTableError;
use deltalake::kernel::Metadata;
use deltalake::kernel::Protocol;
use serde_json::Value;
use serde_json::json;

/// Timestamps without a zone are a feature of their own: a table that has them and does not say so cannot be opened any more.
const WITHOUT_ZONE: &str = "timestampNtz";

/// The protocol that a table of these columns needs, where it is another one than it has.
pub(super) fn raised(
    now: &Protocol,
    metadata: &Metadata,
    columns: &Schema,
) -> Result<Option<Protocol>, DeltaTableError> {
    let mut protocol = serde_json::to_value(now)?;
    let has = |protocol: &Value| {
        let features = protocol["readerFeatures"].as_array();
        features.is_some_and(|features| features.iter().any(|feature| feature == WITHOUT_ZONE))
    };
    let needs = columns.fields().iter().any(|field| without_zone(field.data_type()));
    if !needs || has(&protocol) {
        return Ok(None);
    }
    // Versions below these imply features; from them on, each has a name. What else they imply is refused before (`refusals`).
    let append_only = metadata.configuration().get("delta.appendOnly");
    let implied: &[&str] = match append_only {
        Some(value) if value.eq_ignore_ascii_case("true") => &["appendOnly"],
        _ => &[],
    };
    for (version, newest, list, implied) in [
        ("minReaderVersion", 3, "readerFeatures", &[][..]),
        ("minWriterVersion", 7, "writerFeatures", implied),
    ] {
        let mut features = protocol[list].as_array().cloned();
        let features = features.get_or_insert_with(|| implied.iter().map(|it| json!(it)).collect());
        features.push(json!(WITHOUT_ZONE));
        protocol[list] = json!(features);
        protocol[version] = json!(newest);
    }
    Ok(Some(serde_json::from_value(protocol)?))
}

fn without_zone(data_type: &DataType) -> bool {
    match data_type {
        DataType::Timestamp(_, zone) => zone.is_none(),
        DataType::Struct(fields) => fields.iter().any(|field| without_zone(field.data_type())),
        DataType::List(item) | DataType::Map(item, _) => without_zone(item.data_type()),
        _ => false,
    }
}
