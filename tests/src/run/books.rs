//! What must hold of every record, however the run ended.

use serde_json::Value;

/// A number of the record.
pub(super) fn count(record: &Value, pointer: &str) -> u64 {
    record
        .pointer(pointer)
        .and_then(Value::as_u64)
        .unwrap_or_else(|| panic!("no number {pointer} in {record:#}"))
}

fn list<'a>(record: &'a Value, pointer: &str) -> &'a [Value] {
    record.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Rows that went in came out, every rule judged or skipped each, and what is written is what went to the destinations.
/// A run that failed has counted as far as it came.
pub(super) fn close(record: &Value) {
    let written = list(record, "/destinations").iter().map(|to| count(to, "/rows_written"));
    assert_eq!(written.sum::<u64>(), count(record, "/rows_written"), "{record:#}");
    assert!(record["started_at"].as_str() <= record["finished_at"].as_str());
    for to in list(record, "/destinations") {
        let is_there = to["outcome"] == "committed";
        assert_eq!(count(to, "/rows_written"), if is_there { count(to, "/rows_final") } else { 0 });
        let accounted = [
            "/rows_inserted",
            "/rows_updated",
            "/rows_unchanged",
            "/rows_ignored_late",
            "/rows_unmatched_by_condition",
            "/duplicates_dropped",
            "/rows_deleting",
        ];
        let accounted: u64 = accounted.iter().map(|rows| count(to, rows)).sum();
        assert_eq!(accounted, count(to, "/rows_written"), "{to:#}");
    }
    match record["status"].as_str().unwrap() {
        "failed" | "unknown" => {
            assert!(!record["error"]["message"].as_str().unwrap().is_empty(), "{record:#}");
            return;
        }
        "rejected" => assert_eq!(count(record, "/rows_written"), 0),
        _ => {}
    }
    assert!(record.get("error").is_none(), "{record:#}");
    let judged = ["/rows_main", "/rows_dropped", "/rows_quarantined"];
    let judged: u64 = judged.iter().map(|rows| count(record, rows)).sum();
    let at_source = record.pointer("/source/filter").map_or(0, |it| count(it, "/rows_filtered"));
    let out =
        judged + at_source + count(record, "/rows_filtered") + count(record, "/rows_rejected");
    // A step that makes rows, or puts them together, has no balance.
    let makes_rows = |part: &Value| part["component"] == "std:sql" && part["stage"] != "rules";
    if !list(record, "/components").iter().any(makes_rows) {
        assert_eq!(count(record, "/rows_read"), out, "{record:#}");
    }
    for rule in list(record, "/rules") {
        for reason in list(rule, "/reasons") {
            let [passed, failed, skipped, evaluated, null] =
                ["/passed", "/failed", "/skipped", "/evaluated", "/null"]
                    .map(|name| count(reason, name));
            assert_eq!(passed + failed + skipped, judged, "{rule:#}");
            assert_eq!(passed + failed, evaluated, "{rule:#}");
            assert!(null <= evaluated, "{rule:#}");
        }
    }
    let set_apart = record.pointer("/quarantine/rows").and_then(Value::as_u64).unwrap_or(0);
    let apart = |of: &Value| count(of, "/rows_quarantined") + count(of, "/rows_rejected");
    let all = apart(record) + list(record, "/destinations").iter().map(apart).sum::<u64>();
    assert_eq!(set_apart, all, "{record:#}");
}
