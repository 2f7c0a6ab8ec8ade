//! `format: csv` and `format: s3` (or `file`) with `file_format: csv` are one thing, to the last word of the last error.

use std::fs;
use std::path::Path;

use super::context;
use super::files;
use super::read;
use super::show;
use super::words;

/// Formats that files have.
const FORMATS: &[&str] = &["delta", "parquet", "csv", "json", "jsonl", "arrow", "avro", "orc"];

/// The flow with each format said in two words; nothing where none is.
fn respelt(text: &str, by: &str) -> Option<String> {
    let mut changed = false;
    let lines = text.lines().map(|line| {
        let mut line = line.to_owned();
        for format in FORMATS {
            let (one, two) =
                (format!("format: {format}"), format!("format: {by}, file_format: {format}"));
            for end in [",", " }"] {
                let spelt = format!(" {one}{end}");
                changed |= line.contains(&spelt);
                line = line.replace(&spelt, &format!(" {two}{end}"));
            }
            // A line of its own.
            if line.trim() == one {
                let indent = &line[..line.len() - line.trim_start().len()];
                line = format!("{indent}format: {by}\n{indent}file_format: {format}");
                changed = true;
            }
        }
        line
    });
    let text: Vec<_> = lines.collect();
    changed.then(|| text.join("\n") + "\n")
}

/// What reading a flow gives, without its places in the file.
fn came(file: &Path) -> String {
    match read(file, &context(&[])) {
        Ok(flow) => show::flow(&flow),
        Err(problems) => {
            let told = words(&problems);
            let file = file.display().to_string();
            let lines = told.lines().map(|line| match line.strip_prefix(&file) {
                Some(placed) => placed.splitn(4, ':').nth(3).unwrap_or(placed),
                None => line,
            });
            lines.map(|line| line.replace("file_format", "format") + "\n").collect()
        }
    }
}

#[test]
fn a_format_in_one_word_or_in_two_gives_the_same_flows_and_the_same_errors() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join("components")).unwrap();
    for component in fs::read_dir("flows/components").unwrap() {
        let component = component.unwrap();
        let copy = place.path().join("components").join(component.file_name());
        fs::copy(component.path(), copy).unwrap();
    }
    let (mut compared, mut wrong) = (0, Vec::new());
    for kind in ["good", "bad"] {
        fs::create_dir(place.path().join(kind)).unwrap();
        for file in files(kind) {
            let text = fs::read_to_string(&file).unwrap();
            // Those that are about the two words.
            let words = ["file_format", "connection_type", "format: file"];
            if words.iter().any(|word| text.contains(word)) {
                continue;
            }
            let there = place.path().join(kind).join(file.file_name().unwrap());
            let came = |text: &str| {
                fs::write(&there, text).unwrap();
                came(&there)
            };
            let due = came(&text);
            for by in ["s3", "file"] {
                let Some(other) = respelt(&text, by) else { continue };
                let found = came(&other);
                compared += 1;
                if due != found {
                    wrong.push(format!("--- {} by `{by}`\n{due}--- gave\n{found}", file.display()));
                }
            }
        }
    }
    assert!(compared > 100, "{compared} flows only");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
