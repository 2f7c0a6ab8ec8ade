//! A guest's judgements, checked: bitmaps of the right size, counts that can be true, reasons that were declared.

use arrow::buffer::BooleanBuffer;
use arrow::buffer::Buffer;

use crate::component::Reason;
use crate::component::findings::Judgement;
use crate::sandbox::bindings::types;
use crate::sandbox::error::Breach;

/// A bitmap over `rows` rows, padding zero.
pub(super) fn bits(bytes: Vec<u8>, rows: usize, what: &str) -> Result<BooleanBuffer, Breach> {
    let due = rows.div_ceil(8);
    if bytes.len() != due {
        return Err(Breach::Protocol(format!(
            "{what} of {} bytes for {rows} rows; {due} are due",
            bytes.len()
        )));
    }
    let padding =
        bytes.last().map_or(0, |last| if rows.is_multiple_of(8) { 0 } else { last >> (rows % 8) });
    if padding != 0 {
        return Err(Breach::Protocol(format!("{what} whose padding bits are set")));
    }
    Ok(BooleanBuffer::new(Buffer::from_vec(bytes), 0, rows))
}

/// The judgements of one batch: each reason at most once.
pub(super) fn judgements(
    raw: Vec<types::Judgement>,
    reasons: &[Reason],
    rows: usize,
) -> Result<Vec<Judgement>, Breach> {
    let mut seen = vec![false; reasons.len()];
    raw.into_iter().map(|judgement| one(judgement, reasons, rows, &mut seen)).collect()
}

fn one(
    raw: types::Judgement,
    reasons: &[Reason],
    rows: usize,
    seen: &mut [bool],
) -> Result<Judgement, Breach> {
    let reason = usize::from(raw.reason);
    let code = reasons.get(reason).map(|reason| reason.code.as_str()).ok_or_else(|| {
        Breach::Protocol(format!(
            "a judgement for reason {reason}, but it declared {}",
            reasons.len()
        ))
    })?;
    if std::mem::replace(&mut seen[reason], true) {
        return Err(Breach::Protocol(format!("two judgements for reason `{code}` of one batch")));
    }
    let hits = bits(raw.hits, rows, &format!("a bitmap for reason `{code}`"))?;
    let (evaluated, nulls, failed) =
        (raw.evaluated as usize, raw.nulls as usize, hits.count_set_bits());
    if evaluated > rows || failed > evaluated || nulls > evaluated {
        let what = format!(
            "counts for reason `{code}` that cannot be: {rows} rows, {evaluated} evaluated, {failed} hit, {nulls} null"
        );
        return Err(Breach::Protocol(what));
    }
    Ok(Judgement { reason, hits, evaluated, nulls })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_of_the_wrong_size_or_with_padding_is_a_breach() {
        for (bytes, rows) in [(vec![0], 9), (vec![0, 0], 8), (vec![0b1000_0000], 7), (vec![], 1)] {
            assert!(bits(bytes, rows, "bits").is_err());
        }
        assert_eq!(bits(vec![0b0100_0001], 7, "bits").unwrap().count_set_bits(), 2);
        assert_eq!(bits(vec![], 0, "bits").unwrap().len(), 0);
    }
}
