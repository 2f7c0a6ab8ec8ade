//! Flow files and what reading them gives: a flow, as text, or all of its problems. `BLESS=1` accepts what comes out.

mod capabilities;
mod mutate;
mod schema;
mod show;
mod spellings;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::path::PathBuf;

use wasmhost::flow::Flow;
use wasmhost::flow::ReadContext;
use wasmhost::flow::Secrets;
use wasmhost::flow::read;
use wasmhost::problem::Code;
use wasmhost::problem::Problem;
use wasmhost::table::RunId;

/// All flow files of a folder of `flows`, in order of their names.
fn files(kind: &str) -> Vec<PathBuf> {
    let is_flow = |path: &PathBuf| {
        ["yaml", "yml", "json"]
            .iter()
            .any(|end| path.extension().is_some_and(|extension| extension == *end))
    };
    let mut files: Vec<_> = fs::read_dir(Path::new("flows").join(kind))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(is_flow)
        .collect();
    files.sort();
    files
}

fn context(vars: &[(&str, &str)]) -> ReadContext {
    ReadContext {
        vars: vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        shared_vars: [].into(),
        env: [].into(),
        secrets: Secrets {
            variables: [("ID", "id"), ("KEY", "geheim")]
                .map(|(name, value)| (format!("WASMHOST_SECRET_LAKE_{name}"), value.to_owned()))
                .into(),
            folder: None,
        },
        run_id: RunId::new("run-1").unwrap(),
        logical_date: "2026-08-01T12:00:00Z".parse().unwrap(),
        views: "views".into(),
    }
}

fn words(problems: &[Problem]) -> String {
    problems.iter().map(|problem| format!("{problem}\n")).collect()
}

/// Compares with the file of the same name and another extension, or writes it.
fn check(file: &Path, extension: &str, actual: &str, wrong: &mut Vec<String>) {
    let expected = file.with_extension(extension);
    if std::env::var_os("BLESS").is_some() {
        fs::write(expected, actual).unwrap();
    } else if fs::read_to_string(&expected).unwrap_or_default() != actual {
        wrong.push(format!("{} is not what came out:\n{actual}", expected.display()));
    }
}

#[test]
fn good_flows_are_what_they_say() {
    let mut wrong = Vec::new();
    for file in files("good") {
        match read(&file, &context(&[])) {
            Ok(flow) => check(&file, "out", &show::flow(&flow), &mut wrong),
            Err(problems) => wrong.push(words(&problems)),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bad_flows_tell_all_their_problems() {
    let mut wrong = Vec::new();
    for file in files("bad") {
        match read(&file, &context(&[])) {
            Ok(_) => wrong.push(format!("{} was accepted", file.display())),
            Err(problems) => check(&file, "err", &words(&problems), &mut wrong),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn json_and_yaml_of_one_flow_are_one_flow() {
    let good = |name: &str| read(&Path::new("flows/good").join(name), &context(&[])).unwrap();
    let spelt_like = |name: &str, file: &str| {
        // The file's name and bytes are the only things that may differ.
        show::flow(&Flow { file: PathBuf::from(file), ..good(name) })
    };
    assert_eq!(spelt_like("flights.yaml", "x"), spelt_like("flights-as-json.json", "x"));
    assert_eq!(spelt_like("flights.yaml", "x"), spelt_like("flights-by-aliases.yaml", "x"));
}

#[test]
fn ten_mistakes_are_ten_problems() {
    let problems = read(Path::new("flows/bad/ten-mistakes.yaml"), &context(&[])).unwrap_err();
    assert_eq!(problems.len(), 10, "{}", words(&problems));
    assert!(problems.is_sorted_by_key(|problem| (problem.at.line, problem.at.column)));
}

#[test]
fn command_line_wins_over_the_flow_and_is_judged() {
    let file = Path::new("flows/good/flights.yaml");
    let flow = read(file, &context(&[("month", "2013-02")])).unwrap();
    assert_eq!(flow.source.path.shown(), Path::new("flows/good/data/flights-2013-02.csv"));
    assert_eq!(flow.vars, BTreeMap::from([("month".to_owned(), "2013-02".to_owned())]));
    let problems = read(file, &context(&[("mnth", "2013-02")])).unwrap_err();
    assert_eq!(
        words(&problems),
        "--var mnth: the flow has no variable `mnth` [unknown-name]\n  hint: did you mean `month`?\n"
    );
    let undeclared =
        read(Path::new("flows/good/templates.yaml"), &context(&[("region", "eu")])).unwrap();
    assert_eq!(undeclared.source.path.shown(), Path::new("flows/good/data/eu/2026-08-01.parquet"));
    for (name, value) in [("run_id", "x"), ("a b", "x")] {
        assert!(read(file, &context(&[(name, value)])).is_err(), "{name}");
    }
    let wrong_type =
        read(Path::new("flows/good/templates.yaml"), &context(&[("may_be_empty", "perhaps")]))
            .unwrap_err();
    assert_eq!(wrong_type[0].code, Code::WrongType);
}

#[test]
fn files_that_are_no_flow_files_are_problems() {
    let folder = tempfile::tempdir().unwrap();
    let problem = |name: &str, bytes: Option<&[u8]>| {
        let file = folder.path().join(name);
        bytes.iter().for_each(|bytes| fs::write(&file, bytes).unwrap());
        let problems = read(&file, &context(&[])).unwrap_err();
        let [problem] = problems.as_slice() else { panic!("{}", words(&problems)) };
        assert_eq!(problem.at.file, file.display().to_string());
        problem.code
    };
    assert_eq!(problem("absent.yaml", None), Code::NotFound);
    assert_eq!(problem("flow.toml", Some(b"name = 1")), Code::WrongValue);
    assert_eq!(problem("flow", Some(b"name: x")), Code::WrongValue);
    assert_eq!(problem("latin.yaml", Some(b"name: \xe9t\xe9")), Code::Syntax);
    assert_eq!(problem("empty.json", Some(b"")), Code::Syntax);
    assert_eq!(problem("empty.yaml", Some(b"")), Code::WrongType);
    assert_eq!(problem("list.yaml", Some(b"- a")), Code::WrongType);
    assert_eq!(problem("huge.yaml", Some(&vec![b'#'; 5 << 20])), Code::WrongValue);
    fs::create_dir(folder.path().join("folder.yaml")).unwrap();
    assert_eq!(problem("folder.yaml", None), Code::NotFound);
}
