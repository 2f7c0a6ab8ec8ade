//! `docs/strategies.md` says the truth: each of its examples is run as it stands there.

use std::fs;

use super::Stage;
use super::books::count;

/// A heading's example.
#[derive(Default)]
struct Example {
    name: String,
    /// Lines of the destination.
    yaml: Vec<String>,
    /// Rows of each run, as CSV.
    runs: Vec<String>,
    /// Counts of the second run, and the rows then.
    counts: Vec<(String, u64)>,
    after: Vec<String>,
    refused: Option<String>,
}

/// Where the lines being read belong.
enum Part {
    Prose,
    Yaml,
    Run,
    After,
}

fn examples(page: &str) -> Vec<Example> {
    let mut all: Vec<Example> = Vec::new();
    let mut part = Part::Prose;
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            all.push(Example { name: name.to_owned(), ..Example::default() });
            part = Part::Prose;
            continue;
        }
        let Some(example) = all.last_mut() else { continue };
        if line.starts_with("```") {
            part = if line == "```yaml" { Part::Yaml } else { Part::Prose };
        } else if line.starts_with("Rows of run ") {
            example.runs.push(String::new());
            part = Part::Run;
        } else if let Some(counts) = line.strip_prefix("Table afterwards (") {
            let counts = counts.trim_end_matches("):").split(", ").map(|count| {
                let (name, value) = count.split_once(' ').unwrap();
                (name.to_owned(), value.parse().unwrap())
            });
            example.counts = counts.collect();
            part = Part::After;
        } else if let Some(why) = line.strip_prefix("Refused: ") {
            example.refused = Some(why.to_owned());
        } else if line.starts_with('|') && !line.starts_with("|--") {
            let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
            match part {
                Part::Run => {
                    let line = cells.join(",").replace("NULL", "");
                    let run = example.runs.last_mut().unwrap();
                    run.push_str(&line);
                    run.push('\n');
                }
                Part::After => example.after.push(cells.join("|").replace("NULL", "-")),
                Part::Prose | Part::Yaml => panic!("a table without a caption: {line}"),
            }
        } else if matches!(part, Part::Yaml) {
            example.yaml.push(line.to_owned());
        }
    }
    all
}

fn check(example: &Example) {
    let Example { name, yaml, runs, counts, after, refused } = example;
    let destination: String = yaml.iter().map(|line| format!("  {line}\n")).collect();
    let complete = if name == "snapshot_soft_delete" { ", source_complete: true" } else { "" };
    let flow = format!(
        "name: f\nsource: {{ format: csv, path: in.csv{complete} }}\n\
         destination:\n  name: t\n  format: delta\n  path: t\n{destination}"
    );
    let stage = Stage::new(&[("f.yaml", &flow)]);
    let [first, second] = &runs[..] else { panic!("{name}: two runs are due") };
    stage.put("in.csv", first);
    let (code, _, said) = stage.run("f.yaml", &[]);
    assert_eq!(code, 0, "{name}: {said}");
    stage.put("in.csv", second);
    let (code, evidence, said) = stage.run("f.yaml", &[]);
    if let Some(refused) = refused {
        let message = evidence["error"]["message"].as_str().unwrap();
        assert!(code == 2 && message.contains(refused), "{name}: {said}");
        return;
    }
    assert_eq!(code, 0, "{name}: {said}");
    for (count_name, expected) in counts {
        let found = count(&evidence, &format!("/destinations/0/{count_name}"));
        assert_eq!(found, *expected, "{name}: {count_name}: {evidence}");
    }
    let started = evidence["started_at"].as_str().unwrap();
    let mut found = stage.rows("t");
    // To the minute: the spellings of the log and of the evidence differ after it.
    let began = |row: &String| match row.rsplit_once('|') {
        Some((rest, at)) if at.len() > 16 && at[..16] == started[..16] => {
            format!("{rest}|(when run 2 began)")
        }
        _ => row.clone(),
    };
    found = found.iter().map(began).collect();
    let mut after = after.clone();
    // Partition columns are the last ones of a file, not of the table.
    for rows in [&mut found, &mut after] {
        let order = sorted_columns(&rows[0]);
        *rows = rows.iter().map(|row| reordered(row, &order)).collect();
        rows[1..].sort();
    }
    assert_eq!(found, after, "{name}");
}

fn sorted_columns(header: &str) -> Vec<usize> {
    let names: Vec<_> = header.split('|').collect();
    let mut order: Vec<_> = (0..names.len()).collect();
    order.sort_by_key(|place| names[*place]);
    order
}

fn reordered(row: &str, order: &[usize]) -> String {
    let values: Vec<_> = row.split('|').collect();
    order.iter().map(|place| values[*place]).collect::<Vec<_>>().join("|")
}

#[test]
fn every_example_of_the_page_on_strategies_is_what_happens() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/strategies.md");
    let examples = examples(&fs::read_to_string(page).unwrap());
    assert_eq!(examples.len(), 13);
    examples.iter().for_each(check);
}
