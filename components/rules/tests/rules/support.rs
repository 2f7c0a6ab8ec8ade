//! One column, one check, every way to treat NULLs, every way to cut the rows into two batches.

use arrow_array::{Array, ArrayRef, RecordBatch};
use serde_json::json;
use std_rules::Rules;
use wasmhost_guest::Failure;
use wasmhost_guest::harness::{Hits, Judged, rule, rule_with};

/// A batch of nullable columns.
pub(crate) fn batch<const N: usize>(columns: [(&str, ArrayRef); N]) -> RecordBatch {
    let nullable = columns.map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(nullable).unwrap()
}

/// An entry with the code `c`. The check is JSON text, so that numbers stay as they are written.
pub(crate) fn entry(column: Option<&str>, on_null: &str, check: &str) -> String {
    let column = column.map(|name| format!(r#""column": {}, "#, json!(name))).unwrap_or_default();
    format!(
        r#"{{ "code": "c", "message": "m", {column}"on_null": "{on_null}", "check": {check} }}"#
    )
}

/// A configuration of these entries.
pub(crate) fn config<const N: usize>(entries: [String; N]) -> String {
    format!(r#"{{ "checks": [{}] }}"#, entries.join(", "))
}

/// Runs the check on the column `x`, which must hit these rows, and no NULL among them: NULLs go where `on_null` says.
#[track_caller]
pub(crate) fn check(column: ArrayRef, check: &str, hits: &[usize]) {
    let rows = column.len();
    let nulls: Vec<usize> = {
        let valid = column.logical_nulls();
        (0..rows).filter(|row| valid.as_ref().is_some_and(|valid| valid.is_null(*row))).collect()
    };
    assert!(hits.iter().all(|row| !nulls.contains(row)), "a NULL is not a value");
    let whole = batch([("x", column)]);
    for on_null in ["fail", "pass", "skip"] {
        let is_judged = on_null != "skip";
        let mut expected = hits.to_vec();
        if on_null == "fail" {
            expected.extend(&nulls);
            expected.sort_unstable();
        }
        let expected = vec![Hits {
            reason: "c".into(),
            rows: expected,
            evaluated: if is_judged { rows } else { rows - nulls.len() },
            nulls: if is_judged { nulls.len() } else { 0 },
        }];
        for cut in 0..=rows {
            let config = config([entry(Some("x"), on_null, check)]);
            let parts = [whole.slice(0, cut), whole.slice(cut, rows - cut)];
            let judged = rule::<Rules>(&config, &whole.schema()).unwrap().run(&parts).unwrap();
            assert_eq!(judged.hits, expected, "{check} on NULL {on_null}, cut at {cut}");
            close(&judged, rows);
        }
    }
}

/// Counts close: what is not evaluated is skipped, what is evaluated passes or is hit.
pub(crate) fn close(judged: &Judged, rows: usize) {
    for hits in &judged.hits {
        let (failed, skipped) = (hits.rows.len(), rows - hits.evaluated);
        let passed = hits.evaluated - failed;
        assert_eq!(passed + failed + skipped, rows, "{hits:?}");
    }
}

/// Opens on these inputs, the first of them `input`, in vain: what is said, a line a diagnostic, each with its place.
#[track_caller]
pub(crate) fn refusal(config: &str, inputs: &[(&str, &RecordBatch)]) -> String {
    let schemas: Vec<_> = inputs.iter().map(|(name, batch)| (*name, batch.schema())).collect();
    let inputs: Vec<_> = schemas.iter().map(|(name, schema)| (*name, schema.as_ref())).collect();
    let failure = rule_with::<Rules>(config, &inputs).expect_err("a mistake to be refused");
    let kind = match &failure {
        Failure::BadConfig(_) => "bad-config",
        Failure::BadSchema(_) => "bad-schema",
        Failure::BadBatch(_) | Failure::Internal(_) => "not the author's",
    };
    let said = failure.diagnostics().iter().map(|said| {
        let path = said.path.as_deref().unwrap_or("");
        format!("{kind} {path} [{}] {}", said.code, said.message)
    });
    said.collect::<Vec<_>>().join("\n")
}
