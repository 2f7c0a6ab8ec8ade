//! Reports of people who do this job, restated with our own rows, that a load through the command has to get right.

use std::fs;

use super::Stage;
use super::books::count;

/// A flow from `in.csv` into one Delta table.
fn flow(source: &str, destination: &str) -> String {
    format!(
        "name: f\nsource: {{ format: csv, path: in.csv{source} }}\n\
         destination: {{ name: t, format: delta, path: t, {destination} }}\n"
    )
}

/// The flow's table, the header first, the rows in order.
fn rows(stage: &Stage) -> Vec<String> {
    let mut rows = stage.rows("t");
    if let [_, rows @ ..] = &mut rows[..] {
        rows.sort();
    }
    rows
}

#[test]
fn case_6_a_row_that_comes_back_unchanged_is_open_again() {
    let destination = "load_type: scd2, merge_keys: k, effective_column: at, delete_when: \"gone = 1\", max_removed_fraction: 1";
    let stage = Stage::new(&[("f.yaml", &flow("", destination))]);
    for input in ["7,Oslo,1,0", "7,Oslo,2,1", "7,Oslo,3,0"] {
        stage.put("in.csv", &format!("k,v,at,gone\n{input}\n"));
        let (code, _, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{said}");
    }
    let header = "k|v|at|gone|__valid_from|__valid_to|__is_current";
    assert_eq!(rows(&stage), [header, "7|Oslo|1|0|1|2|false", "7|Oslo|3|0|3|-|true"]);
}

#[test]
fn case_10_an_empty_extract_wipes_and_retires_nothing() {
    let all: String = (0..40).map(|k| format!("{k},{k},1\n")).collect();
    let few = "k,v,at\n0,0,1\n1,1,1\n2,2,1\n";
    let hints = ", schema_hints: { k: int64, v: int64, at: timestamp }";
    let complete = &format!("{hints}, source_complete: true");
    for (source, destination, share) in [
        (hints, "load_type: full_load", false),
        (hints, "load_type: overwrite_partitions, replace_where: k >= 0", false),
        (complete, "load_type: snapshot_soft_delete, merge_keys: k", true),
        (
            complete,
            "load_type: scd2, merge_keys: k, effective_column: at, close_missing: true",
            true,
        ),
    ] {
        let stage = Stage::new(&[("f.yaml", &flow(source, destination))]);
        // Versions are closed at the run's time, so their begin is a time, too.
        let timed = |text: &str| text.replace(",1\n", ",2024-01-01T00:00:00Z\n");
        stage.put("in.csv", &timed(&format!("k,v,at\n{all}")));
        let (code, _, said) = stage.run("f.yaml", &[]);
        assert_eq!((code, stage.rows("t").len()), (0, 41), "{destination}: {said}");
        let before = stage.files();
        for (input, part) in [
            (Some("k,v,at\n"), "allow_empty"),
            (Some(""), ""),
            (None, "in.csv"),
            (share.then_some(few), "of 40 current rows"),
        ] {
            match input {
                Some(input) => stage.put("in.csv", &timed(input)),
                // A few rows replace the rest where that is what the strategy is for.
                None if part != "in.csv" => continue,
                None => fs::remove_file(stage.path("in.csv")).unwrap(),
            }
            let ran = stage.command(&["run", "f.yaml"]);
            let said = format!("{destination}, {input:?}: {}{}", ran.stdout, ran.stderr);
            assert_ne!(ran.code, 0, "{said}");
            assert!(ran.stderr.contains(part), "{said}");
            stage.put("in.csv", "");
            assert_eq!(stage.files(), before, "{said}");
        }
    }
}

#[test]
fn case_14_names_keep_their_case_their_dots_and_their_spaces() {
    let destination = "load_type: upsert, merge_keys: [UserId, ключ], partition_columns: [K v], \
        merge_condition: \"T.UserId = S.UserId AND S.\\\"order\\\" > T.\\\"order\\\" AND T.a.b <= S.\\\"a.b\\\"\"";
    let stage = Stage::new(&[("f.yaml", &flow("", destination))]);
    let header = "UserId,order,a.b,K v,ключ\n";
    stage.put("in.csv", &format!("{header}1,5,1,x,я\n2,5,1,x,я\n"));
    assert_eq!(stage.run("f.yaml", &[]).0, 0);
    stage.put("in.csv", &format!("{header}1,6,1,y,я\n2,5,2,y,я\n"));
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{said}");
    assert_eq!(count(&evidence, "/destinations/0/rows_unmatched_by_condition"), 1);
    assert_eq!(rows(&stage), ["UserId|order|a.b|ключ|K v", "1|6|1|я|y", "2|5|1|я|x"]);

    for (destination, part) in [
        ("load_type: upsert, merge_keys: userid", "did you mean `UserId`?"),
        ("load_type: overwrite_partitions, replace_where: userid = 1", "UserId"),
        ("load_type: upsert, merge_keys: UserId, merge_condition: T.a.c = 1", "`a.c`"),
    ] {
        stage.put("f.yaml", &flow("", destination));
        let before = stage.files();
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(code == 2 && message.contains(part), "{destination}: {said}");
        assert_eq!(stage.files(), before);
    }
    stage.put("f.yaml", &flow("", "load_type: overwrite"));
    stage.put("in.csv", "id,ID\n1,2\n");
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert!(code == 2 && said.contains("differ by case only"), "{said}");
}

#[test]
fn case_15_decimals_fit_exactly_or_are_refused() {
    let hints = |d: &str| format!(", schema_hints: {{ k: int64, d: \"{d}\" }}");
    let upsert = "load_type: upsert, merge_keys: k";
    let stage = Stage::new(&[("f.yaml", &flow(&hints("decimal(3,1)"), upsert))]);
    stage.put("in.csv", "k,d\n1,9.5\n");
    assert_eq!(stage.run("f.yaml", &[]).0, 0);
    let before = stage.files();
    stage.put("in.csv", "k,d\n2,100.25\n");
    for hint in ["decimal(3,1)", "decimal(5,2)"] {
        stage.put("f.yaml", &flow(&hints(hint), upsert));
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(code == 2 && message.contains("d"), "{hint}: {said}");
        assert_eq!(stage.files(), before);
    }

    let widest = "99999999999999999999999999999999.999999";
    let stage = Stage::new(&[("f.yaml", &flow(&hints("decimal(38,6)"), upsert))]);
    stage.put("in.csv", &format!("k,d\n1,{widest}\n2,-{widest}\n"));
    for status in ["succeeded", "nothing_to_do"] {
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!((code, evidence["status"].as_str()), (0, Some(status)), "{said}");
        assert_eq!(rows(&stage), ["k|d", &format!("1|{widest}"), &format!("2|-{widest}")]);
    }

    let parts = format!("{upsert}, partition_columns: [d]");
    let stage = Stage::new(&[("f.yaml", &flow(&hints("decimal(10,2)"), &parts))]);
    stage.put("in.csv", "k,d\n1,1.50\n2,2.00\n");
    for status in ["succeeded", "nothing_to_do"] {
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!((code, evidence["status"].as_str()), (0, Some(status)), "{said}");
        assert_eq!(rows(&stage), ["k|d", "1|1.50", "2|2.00"]);
    }
}

#[test]
fn case_17_nothing_is_merged_into_a_table_that_has_lost_a_file() {
    let stage = Stage::new(&[("f.yaml", &flow("", "load_type: upsert, merge_keys: k"))]);
    stage.put("in.csv", "k,v\n1,a\n");
    assert_eq!(stage.run("f.yaml", &[]).0, 0);
    let data = stage.files().into_iter().find(|file| file.ends_with(".parquet")).unwrap();
    let whole = fs::read(stage.path(&data)).unwrap();
    stage.put("in.csv", "k,v\n1,b\n");
    for left in [None, Some(&whole[..whole.len() / 2]), Some(&[])] {
        match left {
            None => fs::remove_file(stage.path(&data)).unwrap(),
            Some(left) => fs::write(stage.path(&data), left).unwrap(),
        }
        let before = stage.files();
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(code != 0 && message.contains(&data), "{said}");
        assert_eq!(stage.files(), before);
    }
    fs::write(stage.path(&data), whole).unwrap();
    assert_eq!((stage.run("f.yaml", &[]).0, rows(&stage)), (0, vec!["k|v".into(), "1|b".into()]));
}
