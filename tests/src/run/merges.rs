//! Strategies that look at stored rows, from a flow file through the command: a story of inputs, and the table after each.

use super::Stage;
use super::books::count;

/// What a run of a story has to lead to.
#[derive(Clone)]
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
    // A row that only is newer is remembered as newer, whatever counts as a change.
    let header = "k|v|w|s";
    check(
        "hash diff in sequence",
        "",
        "load_type: hash_diff_upsert, merge_keys: [k], compare_columns: [v], sequence_by: [s]",
        &[
            ("k,v,w,s\n1,a,x,1\n", Then::Rows(&[], &[header, "1|a|x|1"])),
            ("k,v,w,s\n1,a,y,5\n", Then::Rows(&[("rows_updated", 1)], &[header, "1|a|y|5"])),
            ("k,v,w,s\n1,b,z,3\n", Then::Nothing),
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

#[test]
fn conditions_and_deletions_are_sql() {
    let upsert = "load_type: upsert, merge_keys: k, sequence_by: [s]";
    let first = "k,v,s\n1,a,5\n2,b,5\n";
    let rows = Then::Rows(&[("rows_inserted", 2)], &["k|v|s", "1|a|5", "2|b|5"]);
    for (sql, part) in [
        ("T.w < S.v", "`T` has no column `w`"),
        ("T.s + 1", "this is no condition"),
        ("random() < S.s", "random"),
        ("T.s / (S.s - S.s) > 1", "division by zero"),
    ] {
        let flow = format!("load_type: upsert, merge_keys: k, merge_condition: \"{sql}\"");
        let story = [(first, Then::Refused(part))];
        // Rows that meet nothing are not judged: a value that cannot be computed needs a table.
        if part == "division by zero" {
            let plain = Then::Rows(&[], &["k|v|s", "1|a|5", "2|b|5"]);
            check(sql, "", &flow, &[(first, plain), (first, Then::Refused(part))]);
        } else {
            check(sql, "", &flow, &story);
        }
    }
    check(
        "condition",
        "",
        "load_type: upsert, merge_keys: k, merge_condition: \"S.s > T.s\"",
        &[
            (first, rows),
            (
                "k,v,s\n1,A,6\n2,B,5\n3,C,0\n",
                Then::Rows(
                    &[
                        ("rows_updated", 1),
                        ("rows_unmatched_by_condition", 1),
                        ("rows_inserted", 1),
                    ],
                    &["k|v|s", "1|A|6", "2|b|5", "3|C|0"],
                ),
            ),
        ],
    );
    check(
        "deletions",
        "",
        &format!("{upsert}, delete_when: \"v = 'D'\", max_removed_fraction: 1"),
        &[
            (first, Then::Rows(&[], &["k|v|s|__is_deleted", "1|a|5|false", "2|b|5|false"])),
            (
                "k,v,s\n1,D,7\n1,z,6\n3,D,1\n",
                Then::Rows(
                    &[("rows_deleted", 1), ("rows_deleting", 2), ("duplicates_dropped", 1)],
                    &["k|v|s|__is_deleted", "1|D|7|true", "2|b|5|false", "3|D|1|true"],
                ),
            ),
            ("k,v,s\n1,D,7\n1,z,6\n3,D,1\n", Then::Nothing),
            ("k,v,s\n1,late,6\n", Then::Nothing),
        ],
    );
}

#[test]
fn all_rows_of_a_key_are_replaced_together() {
    let first = "k,v,w\n1,a,x\n1,b,x\n2,c,x\n";
    check(
        "merge_overwrite",
        "",
        "load_type: merge_overwrite, merge_keys: [k]",
        &[
            (first, Then::Rows(&[("rows_inserted", 3)], &["k|v|w", "1|a|x", "1|b|x", "2|c|x"])),
            ("k,v,w\n1,b,x\n1,a,x\n", Then::Nothing),
            (
                "k,v\n1,b\n3,d\n",
                Then::Rows(
                    &[("rows_inserted", 2), ("rows_deleted", 2)],
                    &["k|v|w", "1|b|-", "2|c|x", "3|d|-"],
                ),
            ),
        ],
    );
}

#[test]
fn versions_are_closed_and_opened_and_late_ones_placed() {
    let header = "k|v|at|__valid_from|__valid_to|__is_current";
    check(
        "scd2",
        ", source_complete: true",
        "load_type: historical, merge_keys: [k], effective_column: at, columns: [k, v, at]",
        &[
            ("k,v,at\n1,a,\n", Then::Refused("NULL in the effective column(s) `at`")),
            ("k,v,at\n1,a,1\n1,b,1\n", Then::Refused("begin at the same moment")),
            (
                "k,v,at\n1,a,10\n2,x,10\n",
                Then::Rows(
                    &[("versions_opened", 2)],
                    &[header, "1|a|10|10|-|true", "2|x|10|10|-|true"],
                ),
            ),
            ("k,v,at\n1,a,20\n", Then::Nothing),
            (
                "k,v,at\n1,c,30\n1,b,20\n",
                Then::Rows(
                    &[("versions_opened", 2), ("versions_closed", 1), ("rows_inserted", 2)],
                    &[
                        header,
                        "1|a|10|10|20|false",
                        "1|b|20|20|30|false",
                        "1|c|30|30|-|true",
                        "2|x|10|10|-|true",
                    ],
                ),
            ),
            (
                "k,v,at\n1,late,25\n",
                Then::Rows(
                    &[("versions_opened", 1), ("versions_split", 1), ("versions_closed", 0)],
                    &[
                        header,
                        "1|a|10|10|20|false",
                        "1|b|20|20|25|false",
                        "1|c|30|30|-|true",
                        "1|late|25|25|30|false",
                        "2|x|10|10|-|true",
                    ],
                ),
            ),
            ("k,v,at\n1,other,30\n", Then::Refused("differs from it")),
        ],
    );
}

#[test]
fn parts_of_a_table_are_replaced_and_moved_rows_are_in_one_place() {
    let first = "k,v\n1,a\n2,a\n3,b\n";
    check(
        "replace_partitions",
        "",
        "load_type: upsert, merge_keys: k, partition_columns: [v], merge_strategy: replace_partitions, \
         merge_partition_column: v, replace_partitions_source_complete: true, max_removed_fraction: 1",
        &[
            (first, Then::Rows(&[], &["k|v", "1|a", "2|a", "3|b"])),
            ("k,v\n", Then::Refused("allow_empty")),
            (
                "k,v\n3,a\n4,a\n",
                Then::Rows(
                    &[("rows_updated", 1), ("rows_inserted", 1), ("rows_deleted", 2)],
                    &["k|v", "3|a", "4|a"],
                ),
            ),
        ],
    );
    check(
        "replace_where",
        "",
        "load_type: overwrite_partitions, replace_where: k < 3",
        &[
            (first, Then::Refused("1 row(s) are not among those that are replaced")),
            ("k,v\n1,a\n2,b\n", Then::Rows(&[], &["k|v", "1|a", "2|b"])),
            ("k,v\n2,c\n", Then::Rows(&[("rows_deleted", 2)], &["k|v", "2|c"])),
            ("k,v\n", Then::Refused("allow_empty")),
        ],
    );
    check(
        "one partition",
        "",
        "load_type: overwrite, partition_columns: [v], partition_column: v, partition_value: a",
        &[
            (first, Then::Refused("1 row(s) are not among those that are replaced")),
            ("k,v\n1,a\n", Then::Rows(&[], &["k|v", "1|a"])),
            ("k,v\n2,a\n", Then::Rows(&[("rows_deleted", 1)], &["k|v", "2|a"])),
        ],
    );
}

#[test]
fn partition_columns_are_computed_from_the_rows() {
    let by = |expression: &str| {
        format!(
            "load_type: upsert, merge_keys: k, partition_columns: [{{ column: p, expression: \"{expression}\" }}]"
        )
    };
    let first = "k,v\n1,2024-02-03\n2,2023-12-31\n";
    for (sql, part) in [
        ("lower(w)", "there is no column `w`"),
        ("now()", "now"),
        ("CAST(v AS INT)", "cannot be read"),
    ] {
        check(sql, "", &by(sql), &[(first, Then::Refused(part))]);
    }
    let year = by("EXTRACT(YEAR FROM CAST(v AS DATE))");
    check(
        "computed",
        "",
        &year,
        &[
            (first, Then::Rows(&[], &["k|v|p", "1|2024-02-03|2024", "2|2023-12-31|2023"])),
            (
                "k,v\n2,2024-01-01\n",
                Then::Rows(
                    &[("rows_updated", 1)],
                    &["k|v|p", "1|2024-02-03|2024", "2|2024-01-01|2024"],
                ),
            ),
        ],
    );
    check(
        "twice",
        "",
        &year,
        &[("k,v,p\n1,2024-01-01,1\n", Then::Refused("the rows have a column `p`"))],
    );
}

#[test]
fn strategies_that_would_misread_a_table_or_a_column_are_refused() {
    check(
        "close_missing at numbers",
        ", source_complete: true",
        "load_type: scd2, merge_keys: k, effective_column: at, close_missing: true",
        &[("k,v,at\n1,a,10\n", Then::Refused("`at` is Int64, no date or timestamp"))],
    );
    let stage = Stage::new(&[("in.csv", "k,v,s\n1,a,1\n2,D,1\n")]);
    let flow = |destination: &str| {
        format!(
            "name: f\nsource: {{ format: csv, path: in.csv }}\n\
             destination: {{ name: t, format: delta, path: t, merge_keys: k, {destination} }}\n"
        )
    };
    stage.put("f.yaml", &flow("load_type: upsert, sequence_by: s, delete_when: \"v = 'D'\""));
    assert_eq!((stage.run("f.yaml", &[]).0, stage.rows("t").len()), (0, 3));
    let before = stage.files();
    for load in ["upsert", "merge_overwrite", "hash_diff_upsert"] {
        stage.put("f.yaml", &flow(&format!("load_type: {load}")));
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(code == 2 && message.contains("the table marks deleted rows"), "{said}");
        assert_eq!(stage.files(), before);
    }
}

#[test]
fn columns_that_the_table_lacks_are_added_where_that_is_said() {
    let first = "k,v\n1,a\n2,b\n";
    let more = "k,v,w\n1,a,7\n3,c,8\n";
    let refused = Then::Refused("the target has no column `w`");
    let rows = |rows: &'static [&'static str]| Then::Rows(&[], rows);
    for load in ["upsert", "hash_diff_upsert", "merge_overwrite"] {
        let destination = format!("load_type: {load}, merge_keys: k");
        check(
            load,
            "",
            &destination,
            &[(first, rows(&["k|v", "1|a", "2|b"])), (more, refused.clone())],
        );
        check(
            load,
            "",
            &format!("{destination}, options: {{ mergeSchema: true }}"),
            &[
                (first, rows(&["k|v", "1|a", "2|b"])),
                (more, rows(&["k|v|w", "1|a|7", "2|b|-", "3|c|8"])),
                (more, Then::Nothing),
                (
                    first,
                    if load == "merge_overwrite" {
                        rows(&["k|v|w", "1|a|-", "2|b|-", "3|c|8"])
                    } else {
                        Then::Nothing
                    },
                ),
            ],
        );
    }
}
