//! What does not fit into memory gives the same rows and counts as what does.

use serde_json::Value;

use super::Stage;
use super::books::count;
use super::csv;

/// Rows in which each key comes three times, in an order of their own.
fn stage(rows: u64) -> Stage {
    let rows = (0..rows).map(|n| {
        let mixed = n * 7_919 % rows;
        let key = mixed / 3;
        [key.to_string(), text(key), (mixed % 1_000).to_string()]
    });
    // Another source, whose keys begin in the middle of those.
    let others = (0..OTHERS).map(|n| {
        let key = n + 1_000;
        let about = if n % 100 == 7 { String::new() } else { text(key) };
        [about, n.to_string()]
    });
    let others = csv(["about", "number"], others);
    Stage::new(&[("in.csv", &csv(["key", "text", "moment"], rows)), ("others.csv", &others)])
}

const OTHERS: u64 = 80_000;

fn text(key: u64) -> String {
    format!("a text of some length for key {key} and then some more of it")
}

/// Rows and evidence of a flow with these steps and rules under these limits.
fn ran(stage: &Stage, chain: &str, limits: &str) -> (Vec<String>, Value) {
    let others =
        if chain.contains("others") { "others: { format: csv, path: others.csv }" } else { "" };
    stage.put(
        "flow.yaml",
        &format!(
            "name: f\nsources: {{ rows: {{ format: csv, path: in.csv }}, {others} }}\n\
             limits: {limits}\n{chain}\n\
             destination: {{ name: d, format: csv, path: out, load_type: overwrite }}\n"
        ),
    );
    let (code, evidence, said) = stage.run("flow.yaml", &[]);
    assert_eq!(code, 0, "{said}");
    (stage.rows("out"), evidence)
}

fn check(rows: u64, chain: &str, little: &str, in_order: bool) -> Value {
    let stage = stage(rows);
    let (mut all, evidence) = ran(&stage, chain, "{}");
    let (mut spilled, again) = ran(&stage, chain, little);
    if !in_order {
        all.sort();
        spilled.sort();
    }
    assert!(all.len() > 1_000, "{chain}");
    assert!(all == spilled, "{chain}: {} and {} rows", all.len(), spilled.len());
    for count in ["rows_filtered", "rows_dropped", "rows_main", "rules"] {
        assert_eq!(evidence[count], again[count], "{chain}: {count}");
    }
    again
}

#[test]
fn one_row_of_each_key_is_the_same_row() {
    let little = "{ load_memory_bytes: 65536 }";
    check(
        40_000,
        "transforms: [{ type: deduplicate, keys: [key], order_by: moment DESC }]",
        little,
        true,
    );
    check(40_000, "transforms: [{ type: deduplicate, keys: [key] }]", little, true);
    check(
        40_000,
        "rules: [{ type: unique_key, columns: [key], keep: first, order_by: moment, severity: drop }]",
        little,
        true,
    );
}

#[test]
fn groups_that_one_instance_cannot_hold_are_worked_on_in_parts() {
    let chain = "transforms: [{ type: group_by, by: [text, key], agg: [\"count(*) AS c\", \"max(moment) AS m\"] }]";
    let record =
        check(200_000, chain, "{ load_memory_bytes: 65536, memory_bytes: 12582912 }", false);
    // One that gave up, and one a part.
    assert!(count(&record, "/components/0/usage/instances") > 10, "{record:#}");
}

#[test]
fn rows_are_in_order() {
    let chain = "transforms: [{ type: sort, by: [moment DESC, key] }]";
    check(40_000, chain, "{ load_memory_bytes: 65536 }", true);
}

#[test]
fn another_source_that_one_instance_cannot_hold_is_joined_in_parts() {
    for how in ["inner", "left", "right", "full", "semi", "anti"] {
        let chain = format!(
            "transforms: [{{ type: join, with: others, on: {{ text: about }}, how: {how} }}]"
        );
        let little = "{ load_memory_bytes: 65536, memory_bytes: 12582912 }";
        let record = check(9_000, &chain, little, false);
        assert!(count(&record, "/components/0/usage/instances") > 10, "{how}: {record:#}");
    }
}
