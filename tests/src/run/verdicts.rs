//! Severities, the quarantine, and verdicts on the whole input.

use serde_json::Value;
use serde_json::json;

use super::Stage;
use super::books::count;
use super::twenty;

const VERDICT: &str = "components: { verdict: { path: GUESTS/guest_verdict.wasm }, echo: { path: GUESTS/guest_echo.wasm } }\n";

/// A flow over `in.csv` with these rules, by lines of YAML, and small batches.
fn flow(rules: &[&str], more: &str) -> String {
    let rules: String =
        rules.iter().map(|rule| format!("  - {{ type: component, {rule} }}\n")).collect();
    format!(
        "name: f\n{VERDICT}source: {{ format: csv, path: in.csv }}\nrules:\n{rules}{more}\
         limits: {{ batch_rows: 7 }}\n"
    )
}

const CSV: &str = "destinations:\n  - { name: out, format: csv, path: out }\n";

fn reason<'a>(evidence: &'a Value, rule: &str) -> &'a Value {
    let rules = evidence["rules"].as_array().unwrap();
    &rules.iter().find(|found| found["name"] == rule).unwrap()["reasons"][0]
}

/// The counts of a rule's first reason: evaluated, passed, failed, null, skipped.
fn counts(evidence: &Value, rule: &str) -> [u64; 5] {
    ["/evaluated", "/passed", "/failed", "/null", "/skipped"]
        .map(|name| count(reason(evidence, rule), name))
}

#[test]
fn a_rule_that_fails_keeps_every_destination_untouched_and_writes_the_quarantine() {
    let rules = [
        "name: no, component: verdict, config: { mode: max, column: v, max: 90 }",
        "name: aside, component: verdict, config: { mode: max, column: v, max: 50 }, severity: quarantine",
        "name: null_hits, component: verdict, config: { mode: max, column: v, max: 1000, on_null: hit }, severity: warn",
    ];
    let to = "destinations:
  - { name: out, format: csv, path: out, load_type: overwrite }
  - { name: lake, format: delta, path: lake }
";
    let stage = Stage::new(&[("f.yaml", &flow(&rules, to)), ("in.csv", &twenty())]);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (1, Some("rejected")), "{said}");
    assert_eq!(counts(&evidence, "no"), [18, 16, 2, 0, 2]);
    assert_eq!(counts(&evidence, "null_hits"), [20, 18, 2, 2, 0]);
    let examples = json!([["in.csv", 3], ["in.csv", 17]]);
    assert_eq!(reason(&evidence, "null_hits")["examples"], examples);
    let rows = ["read", "main", "quarantined", "written"];
    let rows = rows.map(|name| count(&evidence, &format!("/rows_{name}")));
    assert_eq!(rows, [20, 11, 9, 0]);
    for to in evidence["destinations"].as_array().unwrap() {
        assert_eq!(to["outcome"], "untouched");
    }
    assert_eq!((stage.rows("out"), stage.rows("lake")), (vec![], vec![]));
    assert_eq!(stage.rows(".wasmhost/quarantine/f").len(), 1 + 9);
    let left = stage.files();
    let ours = |path: &String| path.starts_with(".wasmhost/quarantine/f/");
    assert_eq!(left.iter().filter(|path| !ours(path)).count(), 2, "{left:?}");

    let ran = stage.command(&["run", "f.yaml", "--quiet"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "quiet, and still no: {}", ran.stderr);
}

#[test]
fn warned_rows_go_on_dropped_ones_are_counted_and_quarantine_wins_over_drop() {
    let rules = [
        "name: aside, component: verdict, config: { mode: max, column: v, max: 80 }, severity: quarantine",
        "name: gone, component: verdict, config: { mode: max, column: v, max: 60, on_null: hit }, severity: drop",
        "name: told, component: verdict, config: { mode: max, column: v, max: 40, on_null: pass }, severity: warn",
    ];
    let to = "destinations:
  - { name: out, format: csv, path: out }
  - { name: lake, format: delta, path: lake, columns: [v, n] }
  - { name: lines, format: jsonl, path: lines, columns: [n] }
";
    let stage = Stage::new(&[("f.yaml", &flow(&rules, to)), ("in.csv", &twenty())]);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    // Row 17 has no `v`: only `gone` hits it.
    let rows = ["main", "quarantined", "dropped", "written"];
    let rows = rows.map(|name| count(&evidence, &format!("/rows_{name}")));
    assert_eq!(rows, [11, 3, 6, 33]);
    assert_eq!(counts(&evidence, "aside"), [18, 15, 3, 0, 2]);
    assert_eq!(counts(&evidence, "gone"), [20, 11, 9, 2, 0]);
    assert_eq!(counts(&evidence, "told"), [20, 9, 11, 2, 0]);
    let kept: Vec<_> = [1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12].map(|n| (n, 5 * n)).into();
    let csv: Vec<_> = kept.iter().map(|(n, v)| format!("{n}|{v}")).collect();
    assert_eq!(stage.rows("out")[1..], csv);
    let lake: Vec<_> = kept.iter().map(|(n, v)| format!("{v}|{n}")).collect();
    assert_eq!(stage.rows("lake")[1..], lake);
    let lines: Vec<_> = kept.iter().map(|(n, _)| format!("{{\"n\":{n}}}")).collect();
    assert_eq!(stage.rows("lines")[1..], lines);
    let aside = stage.rows(".wasmhost/quarantine/f");
    let run = evidence["run_id"].as_str().unwrap();
    assert_eq!(aside[0], "__run_id|__stage|__rule|__reason|__file|__row|n|v");
    let set_apart = |n: u64| {
        format!("{run}|rules|aside|above_max: {v} is above 80|in.csv|{n}|{n}|{v}", v = 5 * n)
    };
    assert_eq!(aside[1..], [18, 19, 20].map(set_apart));
}

#[test]
fn rejected_and_hit_rows_share_the_flows_own_quarantine_with_their_places() {
    // A column that the transform makes anew, of another type: the quarantine has both, as text.
    let flights = "\
year,month,day,dep_time,dep_delay,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,cancelled
2013,1,1,517,2,11,UA,1545,N14228,EWR,IAH,227,1400,5,15,7
2013,13,1,517,2,11,UA,1,N1,EWR,IAH,227,1400,5,15,8
2013,1,1,517,2,11,UA,2,N2,EWR,IAH,20,1400,5,15,9
2013,1,1,517,2,11,,3,N3,EWR,IAH,227,1400,5,15,
";
    let flow = |quarantine: &str| {
        format!(
            "name: f
components: {{ tidy: {{ path: GUESTS/tidy_flights.wasm }}, air: {{ path: GUESTS/possible_air_time.wasm }} }}
source: {{ format: csv, path: in.csv }}
transforms: [{{ type: component, component: tidy }}]
rules: [{{ type: component, name: air_time, component: air, severity: quarantine }}]
quarantine: {quarantine}
destinations: [{{ name: out, format: csv, path: out, columns: [flight, dest] }}]
limits: {{ batch_rows: 2 }}
"
        )
    };
    let stage =
        Stage::new(&[("csv.yaml", &flow("{ format: csv, path: aside }")), ("in.csv", flights)]);
    let (code, evidence, said) = stage.run("csv.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    let counts = ["rejected", "quarantined", "main"];
    assert_eq!(counts.map(|name| count(&evidence, &format!("/rows_{name}"))), [2, 1, 1]);
    assert_eq!(stage.rows("out"), ["flight|dest", "1545|IAH"]);
    let run = evidence["run_id"].as_str().unwrap();
    let aside: Vec<_> =
        stage.rows("aside")[1..].iter().map(|row| row.replace(run, "RUN")).collect();
    let began = |start: &str| aside.iter().any(|row| row.starts_with(start));
    assert_eq!(aside.len(), 3, "{aside:#?}");
    assert!(
        began("RUN|transforms[0]|tidy|date_parts: 2013-13-1 5:15 is no time of a day|in.csv|2|"),
        "{aside:#?}"
    );
    assert!(
        began("RUN|transforms[0]|tidy|identity: carrier| flight or origin is missing|in.csv|4|")
            || began(
                "RUN|transforms[0]|tidy|\"identity: carrier| flight or origin is missing\"|in.csv|4|"
            ),
        "{aside:#?}"
    );
    assert!(
        began("RUN|rules|air_time|too_fast: 1400 miles in 20 minutes is too fast|in.csv|3|"),
        "{aside:#?}"
    );
    let header = stage.rows("aside")[0].clone();
    let at = header.split('|').position(|name| name == "cancelled").unwrap();
    let cancelled = |start: &str| {
        let row = aside.iter().find(|row| row.contains(start)).unwrap();
        row.split('|').nth(at).unwrap().to_owned()
    };
    assert_eq!(cancelled("date_parts"), "8", "the row as it went in: {header}");
    assert_eq!(cancelled("too_fast"), "false", "the row as it was judged: {header}");
}

#[test]
fn a_quarantine_in_delta_takes_rows_of_many_runs_and_none_leaves_no_trace() {
    let rules = [
        "name: aside, component: verdict, config: { mode: max, column: v, max: 90 }, severity: quarantine",
    ];
    let own = format!("quarantine: {{ format: delta, path: aside }}\n{CSV}");
    let nobody = [rules[0].replace("max: 90", "max: 100")];
    let stage = Stage::new(&[
        ("f.yaml", &flow(&rules, &own)),
        ("none.yaml", &flow(&[&nobody[0]], &own)),
        ("default.yaml", &flow(&[&nobody[0]], CSV)),
        ("in.csv", &twenty()),
    ]);
    for flow in ["none.yaml", "default.yaml"] {
        let (code, evidence, said) = stage.run(flow, &[]);
        assert_eq!((code, count(&evidence, "/quarantine/rows")), (0, 0), "{said}");
    }
    assert!(!stage.path("aside").exists() && !stage.path(".wasmhost/quarantine").exists());
    for _ in 0..2 {
        assert_eq!(stage.run("f.yaml", &[]).0, 0);
    }
    assert_eq!(stage.rows("aside").len(), 1 + 2 * 2);
}

#[test]
fn what_only_the_whole_input_shows_is_judged_before_anything_is_written() {
    let whole = "component: verdict, config: { mode: whole_input, key: v, min_rows: 21 }";
    let input = twenty().replace("20,100", "20,5");
    let severities = |severity: &str| {
        let mut rules = vec![format!("name: whole, {whole}, severity: {severity}")];
        rules.push("name: told, component: verdict, config: { mode: max, column: n, max: 1 }, severity: warn".into());
        flow(&rules.iter().map(String::as_str).collect::<Vec<_>>(), CSV)
    };
    let stage = Stage::new(&[
        ("warn.yaml", &severities("warn")),
        ("fail.yaml", &severities("fail")),
        ("in.csv", &input),
    ]);
    let (code, evidence, said) = stage.run("fail.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (1, Some("rejected")), "{said}");
    assert!(!stage.path("out").exists());
    let (code, evidence, said) = stage.run("warn.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("succeeded")), "{said}");
    assert_eq!(count(&evidence, "/rows_written"), 20);
    // Row 20 is hit at once, row 1 at the end.
    assert_eq!(counts(&evidence, "whole"), [18, 16, 2, 0, 2]);
    let too_few = &evidence["rules"][0]["reasons"][1];
    assert_eq!(too_few["table_findings"], json!([[20.0, 21.0]]));
}

#[test]
fn rows_that_only_the_whole_input_shows_are_taken_out() {
    // Rows 5 and 20 have the same value: the one is hit at once, the other at the end. Row 1 has it too where it is judged.
    let input = twenty().replace("20,100", "20,25").replace("\n1,5\n", "\n1,25\n");
    let check = |severity: &str, filter: &str, hit: [u64; 2], counted: [u64; 5]| {
        let stage = Stage::new(&[("in.csv", &input)]);
        let rule = format!(
            "name: whole, component: verdict, config: {{ mode: whole_input, key: v, min_rows: 21 }}, severity: {severity}{filter}"
        );
        let told = "name: told, component: verdict, config: { mode: max, column: n, max: 1 }, severity: warn";
        let to = format!("quarantine: {{ format: csv, path: aside }}\n{CSV}");
        stage.put("f.yaml", &flow(&[&rule, told], &to));
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        assert_eq!(code, 0, "{said}");
        assert_eq!(counts(&evidence, "whole"), counted, "{severity}{filter}");
        let kept: Vec<u64> = stage.rows("out")[1..]
            .iter()
            .map(|row| row.split('|').next().unwrap().parse().unwrap())
            .collect();
        let expected: Vec<u64> = (1..=20).filter(|n| *n != 20 && !hit.contains(n)).collect();
        assert_eq!(kept, expected, "{severity}{filter}");
        let examples = &evidence["rules"][0]["reasons"][0]["examples"];
        assert_eq!(examples.as_array().unwrap().len() as u64, counted[2], "{examples}");
        (stage, evidence)
    };
    check("drop", "", [1, 5], [18, 15, 3, 0, 2]);
    check("drop", ", where: n <> 1", [5, 5], [17, 15, 2, 0, 3]);
    let (stage, evidence) = check("quarantine", ", where: n <> 1", [5, 5], [17, 15, 2, 0, 3]);
    assert_eq!(count(&evidence, "/rows_quarantined"), 2);
    let aside = stage.rows("aside");
    assert!(aside[1].contains("|whole|duplicate: 25 comes more than once|in.csv|5|"), "{aside:#?}");
    assert!(
        aside[2].contains("|whole|duplicate: 25 comes more than once|in.csv|20|"),
        "{aside:#?}"
    );
}

#[test]
fn keys_that_a_rule_sets_apart_are_not_retired_as_lost() {
    let with = |max: u64, severity: &str| {
        let rule = format!(
            "name: aside, component: verdict, config: {{ mode: max, column: v, max: {max} }}, severity: {severity}"
        );
        let to = "destination: { name: t, format: delta, path: t, load_type: snapshot_soft_delete, merge_keys: n }\n";
        flow(&[&rule], to).replace("path: in.csv }", "path: in.csv, source_complete: true }")
    };
    let stage = Stage::new(&[("in.csv", &twenty())]);
    stage.put("f.yaml", &with(1000, "quarantine"));
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, stage.rows("t").len()), (0, 21), "{said}");
    let before = stage.files();
    for (severity, part) in [("quarantine", "(2 quarantined)"), ("drop", "(2 dropped)")] {
        stage.put("f.yaml", &with(90, severity));
        let (code, evidence, said) = stage.run("f.yaml", &[]);
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(code == 2 && message.contains(part), "{said}");
        assert_eq!(stage.files(), before, "{said}");
    }
    stage.put("f.yaml", &with(90, "warn"));
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    assert_eq!((code, evidence["status"].as_str()), (0, Some("nothing_to_do")), "{said}");
}
