//! `random()` and `uuid()` as a pure function of the run's seed: a run that is repeated gives the same rows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::array::{Array, Float64Array, StringArray};
use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

/// The engine's functions that these stand in for.
pub(crate) const NAMES: [&str; 2] = ["random", "uuid"];

/// What is random here. Steps that call one get the whole input in order, so that the n-th row always draws the n-th value.
pub(crate) fn functions(seed: u64) -> Vec<Arc<ScalarUDF>> {
    let drawn = Arc::new(AtomicU64::new(0));
    [Kind::Random, Kind::Uuid]
        .map(|kind| {
            let signature = Signature::nullary(Volatility::Volatile);
            Arc::new(ScalarUDF::from(Drawn { kind, seed, drawn: Arc::clone(&drawn), signature }))
        })
        .into()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Random,
    Uuid,
}

#[derive(Debug)]
struct Drawn {
    kind: Kind,
    seed: u64,
    drawn: Arc<AtomicU64>,
    signature: Signature,
}

impl PartialEq for Drawn {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.seed == other.seed
    }
}

impl Eq for Drawn {}

impl std::hash::Hash for Drawn {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.kind, self.seed).hash(state);
    }
}

impl Drawn {
    /// The next 64 bits: SplitMix64 (Steele, Lea, Flood 2014) over a counter.
    fn next(&self) -> u64 {
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        let mut bits = self.seed.wrapping_add(drawn.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A version 4 UUID (RFC 9562).
    fn uuid(&self) -> String {
        let high = (self.next() & !0xf000) | 0x4000;
        let low = (self.next() >> 2) | 0x8000_0000_0000_0000;
        format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xffff,
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }
}

impl ScalarUDFImpl for Drawn {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Random => "random",
            Kind::Uuid => "uuid",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(match self.kind {
            Kind::Random => DataType::Float64,
            Kind::Uuid => DataType::Utf8,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let rows = 0..args.number_rows;
        let values: Arc<dyn Array> = match self.kind {
            // 53 bits: every value below 1 that a double holds at even distance.
            Kind::Random => Arc::new(Float64Array::from_iter_values(
                rows.map(|_| (self.next() >> 11) as f64 / (1_u64 << 53) as f64),
            )),
            Kind::Uuid => Arc::new(StringArray::from_iter_values(rows.map(|_| self.uuid()))),
        };
        Ok(ColumnarValue::Array(values))
    }
}
