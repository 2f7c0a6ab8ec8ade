//! Strategies that go by keys, from a flow file through the command: a story of inputs, and the table after each.

use super::Stage;
use super::books::count;

/// What a run of a story has to lead to.
enum Then<'a> {
    /// It succeeds: some counts of the evidence, and the rows.
    Rows(&'a [(&'a str, u64)], &'a [&'a str]),
    /// It says so and changes nothing.
    Refused(&'a str),
    /// Nothing had to be done; no file comes or goes but for the log's.
    Nothing,
}

/// Runs one destination over one input after another.
fn check(name: &str, source: &str, destination: &str, story: &[(&str, Then<'_>)]) {
    let flow = format!(
        "name: f\nsource: {{ format: csv, path: in.csv, schema_hints: {{ k: int64, v: string }}{source} }}\n\
         destination: {{ name: t, format: delta, path: t, {destination} }}\n"
    );
    let stage = Stage::new(&[("f.yaml", &flow)]);
    let data = || -> Vec<String> {
        stage.files().into_iter().filter(|file| file.ends_with(".parquet")).collect()
    };
    for (step, (input, then)) in story.iter().enumerate() {
        stage.put("in.csv", input);
        let before = (stage.files(), data());
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        let at = format!("{name}, input {step}: {said}");
        match then {
            Then::Rows(counts, rows) => {
                assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{at}");
                for (field, expected) in *counts {
                    assert_eq!(
                        count(&evidence, &format!("/destinations/0/{field}")),
                        *expected,
                        "{field}, {at}: {evidence}"
                    );
                }
                let mut found = stage.rows("t");
                found[1..].sort();
                assert_eq!(found, *rows, "{at}");
            }
            Then::Refused(part) => {
                assert_eq!((code, evidence["status"].as_str()), (2, Some("failed")), "{at}");
                let message = evidence["error"]["message"].as_str().unwrap();
                assert!(message.contains(part), "{at}: {message}");
                assert_eq!(stage.files(), before.0, "{at}");
            }
            Then::Nothing => {
                assert_eq!((code, evidence["status"].as_str()), (0, Some("nothing_to_do")), "{at}");
                assert_eq!(data(), before.1, "{at}");
            }
        }
    }
}

#[test]
fn an_upsert_changes_known_keys_and_brings_new_ones() {
    let first = "k,v\n1,a\n2,b\n3,c\n";
    let second = "k,v\n2,B\n3,c\n4,d\n";
    check(
        "upsert",
        "",
        "load_type: upsert, merge_keys: k",
        &[
            ("k,v\n1,a\n1,b\n", Then::Refused("key(s) come more than once: k = 1")),
            (
                "k,v\n1,a\n,b\n",
                Then::Refused("1 row(s) have NULL in the key column(s) `k`: k = NULL"),
            ),
            (first, Then::Rows(&[("rows_inserted", 3)], &["k|v", "1|a", "2|b", "3|c"])),
            (first, Then::Nothing),
            (
                second,
                Then::Rows(
                    &[("rows_inserted", 1), ("rows_updated", 1), ("rows_unchanged", 1)],
                    &["k|v", "1|a", "2|B", "3|c", "4|d"],
                ),
            ),
            (second, Then::Nothing),
            ("k,v\n9,a\n9,b\n", Then::Refused("key(s) come more than once: k = 9")),
            ("k,v\n", Then::Nothing),
        ],
    );
}

#[test]
fn a_hash_diff_looks_at_the_columns_that_count() {
    check(
        "hash diff",
        "",
        "load_type: hash_diff_upsert, merge_keys: [k], hash_strategy: all_columns_except, \
         hash_exclude_columns: [w], partition_columns: [v], sequence_by: [s], late: ignore",
        &[
            (
                "k,v,w,s\n1,a,x,1\n2,b,y,1\n",
                Then::Rows(&[("rows_inserted", 2)], &["k|w|s|v", "1|x|1|a", "2|y|1|b"]),
            ),
            ("k,v,w,s\n1,a,other,1\n", Then::Nothing),
            (
                "k,v,w,s\n1,z,other,2\n2,old,old,0\n",
                Then::Rows(
                    &[("rows_updated", 1), ("rows_ignored_late", 1)],
                    &["k|w|s|v", "1|other|2|z", "2|y|1|b"],
                ),
            ),
            ("k,v,w,s\n1,y,other,2\n", Then::Refused("`sequence_by`")),
        ],
    );
}

#[test]
fn a_snapshot_marks_what_is_missing_and_brings_it_back() {
    let all = "k,v\n1,a\n2,b\n3,c\n";
    check(
        "snapshot",
        ", source_complete: true",
        "load_type: snapshot_soft_delete, merge_keys: [k], max_removed_fraction: 0.4, columns: [k, v]",
        &[
            ("k,v\n", Then::Refused("allow_empty")),
            (
                all,
                Then::Rows(
                    &[("rows_inserted", 3)],
                    &["k|v|__is_deleted|__deleted_at", "1|a|false|-", "2|b|false|-", "3|c|false|-"],
                ),
            ),
            (all, Then::Nothing),
            ("k,v\n1,a\n", Then::Refused("2 of 3 current rows")),
            ("k,v\n", Then::Refused("allow_empty")),
        ],
    );
}
