//! `to_json(value)`: any value as JSON text, as arrow-json writes it; NULL stays NULL.

use std::sync::Arc;

use arrow::array::{Array, StringBuilder, new_null_array};
use arrow::datatypes::{DataType, Field};
use arrow_json::writer::{EncoderOptions, make_encoder};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The function.
pub(crate) fn function() -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(ToJson { signature: Signature::any(1, Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToJson {
    signature: Signature,
}

impl ScalarUDFImpl for ToJson {
    fn name(&self) -> &str {
        "to_json"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = args.args.as_slice() else {
            return exec_err!("`to_json` takes one value");
        };
        let values = value.to_array(args.number_rows)?;
        if values.data_type().is_null() {
            let none = new_null_array(&DataType::Utf8, values.len());
            return Ok(ColumnarValue::Array(none));
        }
        let field = Arc::new(Field::new("value", values.data_type().clone(), true));
        // A field that is NULL is there in the text: what reads it back finds every name.
        let options = EncoderOptions::default().with_explicit_nulls(true);
        let mut encoder = make_encoder(&field, values.as_ref(), &options)?;
        let mut texts = StringBuilder::with_capacity(values.len(), values.len() * 32);
        let mut buffer = Vec::new();
        for row in 0..values.len() {
            if values.is_null(row) {
                texts.append_null();
                continue;
            }
            buffer.clear();
            encoder.encode(row, &mut buffer);
            match std::str::from_utf8(&buffer) {
                Ok(text) => texts.append_value(text),
                Err(_) => return exec_err!("`to_json` made text that is not UTF-8"),
            }
        }
        Ok(ColumnarValue::Array(Arc::new(texts.finish())))
    }
}
