//! Promises over the whole vocabulary: nothing that is named is ignored, nothing that is not offered passes for unknown.

use std::path::Path;

use serde_json::Value;
use serde_json::json;

use super::ReadContext;
use super::blocks;
use super::destinations;
use super::fields::Block;
use super::fields::Kind;
use super::fields::Offer;
use super::options;
use super::read::read_bytes;
use super::words;
use crate::problem::Code;
use crate::problem::Problem;
use crate::table::RunId;

/// Every block, and where a flow has one. The last part of each pointer is the block.
fn places() -> Vec<(&'static Block, &'static str)> {
    vec![
        (&blocks::FLOW, ""),
        (&blocks::CONNECTION, "/connections/c"),
        (&options::READ_OPTIONS, "/connections/c/options"),
        (&options::WRITE_OPTIONS, "/connections/c/write_options"),
        (&blocks::COMPONENT, "/components/k"),
        (&options::MERGE_OPTIONS, "/connections/c/merge_options"),
        (&blocks::SOURCE, "/source"),
        (&blocks::SOURCE_READ, "/source/read"),
        (&options::READ_OPTIONS, "/source/options"),
        (&blocks::STEP, "/transforms/0"),
        (&blocks::RULE, "/rules/0"),
        (&destinations::DESTINATION, "/destinations/0"),
        (&options::WRITE_OPTIONS, "/destinations/0/write_options"),
        (&options::MERGE_OPTIONS, "/destinations/0/merge_options"),
        (&destinations::VERSION_COLUMNS, "/destinations/0/scd2_columns"),
        (&destinations::PARTITION, "/destinations/0/partition_columns/0"),
        (&destinations::DESTINATION, "/quarantine"),
    ]
}

fn flow() -> Value {
    json!({
        "name": "x",
        "connections": {"c": {"options": {}, "write_options": {}, "merge_options": {}}},
        "components": {"k": {"path": "k.wasm"}},
        "source": {"format": "csv", "path": "in.csv", "options": {}, "read": {}},
        "transforms": [{"type": "component", "component": "k"}],
        "rules": [{"type": "component", "component": "k"}],
        "destinations": [{
            "format": "delta",
            "path": "out",
            "write_options": {},
            "merge_options": {},
            "scd2_columns": {},
            "partition_columns": [{"column": "a"}],
        }],
        "quarantine": {"format": "delta", "path": "bad"},
    })
}

fn problems(flow: &Value) -> Vec<Problem> {
    let context = ReadContext {
        vars: Default::default(),
        run_id: RunId::new("r").expect("a run id"),
        logical_date: Default::default(),
    };
    read_bytes(Path::new("flow.json"), flow.to_string().as_bytes(), &context)
        .err()
        .unwrap_or_default()
}

/// The flow with `key` of the block at `pointer` set to `value`, and no other spelling of that field.
fn with(block: &Block, pointer: &str, key: &str, value: Value) -> Value {
    let mut flow = flow();
    let target = flow.pointer_mut(pointer).and_then(Value::as_object_mut).expect("a block");
    let field = block.find(key).expect("a field");
    std::iter::once(&field.name)
        .chain(field.aliases)
        .for_each(|spelling| drop(target.remove(*spelling)));
    target.insert(key.to_owned(), value);
    flow
}

fn spellings()
-> impl Iterator<Item = (&'static Block, &'static str, &'static super::fields::Field, &'static str)>
{
    places().into_iter().flat_map(|(block, pointer)| {
        block.fields.iter().flat_map(move |field| {
            std::iter::once(field.name)
                .chain(field.aliases.iter().copied())
                .map(move |key| (block, pointer, field, key))
        })
    })
}

#[test]
fn fields_that_are_not_offered_are_refused_by_name() {
    for (block, pointer, field, key) in spellings() {
        let code = match field.offer {
            Offer::Now => continue,
            Offer::Later(_) => Code::NotOffered,
            Offer::Never(_) => Code::Contradiction,
        };
        let found = problems(&with(block, pointer, key, json!("a")));
        let named =
            |problem: &&Problem| problem.code == code && problem.what.contains(&format!("`{key}`"));
        assert_eq!(found.iter().filter(named).count(), 1, "{pointer}/{key}: {found:?}");
        assert!(
            found.iter().all(|problem| problem.code != Code::UnknownKey),
            "{pointer}/{key}: {found:?}"
        );
    }
}

#[test]
fn words_that_are_not_offered_are_refused_by_name() {
    for (block, pointer, field, key) in spellings() {
        let Kind::Word(words) = field.kind else { continue };
        for word in words {
            for text in std::iter::once(&word.name).chain(word.aliases) {
                let found = problems(&with(block, pointer, key, json!(text.to_uppercase())));
                let named = |problem: &&Problem| {
                    matches!(problem.code, Code::NotOffered | Code::WrongValue)
                        && problem.what.starts_with(&format!("`{text}` "))
                };
                let refused = found.iter().filter(named).count() > 0;
                assert_eq!(refused, word.offer != Offer::Now, "{pointer}/{key}: {text}: {found:?}");
            }
        }
    }
}

#[test]
fn no_offered_field_is_ignored() {
    for (block, pointer, field, key) in spellings() {
        if field.offer != Offer::Now || matches!(field.kind, Kind::Any) {
            continue;
        }
        // Right for no kind of field: what is never looked at would pass.
        let found = problems(&with(block, pointer, key, json!(-1.5)));
        let told = found.iter().any(|problem| {
            matches!(problem.code, Code::WrongType | Code::WrongValue)
                && problem.at.field.contains(key)
        });
        assert!(told, "{pointer}/{key}: {found:?}");
    }
}

#[test]
fn settings_of_other_strategies_are_refused_by_name() {
    let places = spellings().filter(|(_, pointer, ..)| pointer.starts_with("/destinations/0"));
    for (block, pointer, field, key) in places.filter(|(_, _, field, _)| !field.loads.is_empty()) {
        for load in words::LOAD_TYPES {
            let mut flow = with(block, pointer, key, json!("a"));
            flow["destinations"][0]["load_type"] = json!(load.name);
            let what = format!("`{}` does not use `{}`", load.name, field.name);
            let told = problems(&flow).iter().any(|problem| problem.what == what);
            assert_eq!(told, !field.is_used_by_load(load.name), "{pointer}/{key}: {}", load.name);
        }
    }
    for load in spellings().flat_map(|(_, _, field, _)| field.loads) {
        assert!(words::LOAD_TYPES.iter().any(|word| word.name == *load), "{load}");
    }
}

#[test]
fn spellings_of_a_block_are_unique() {
    for (block, pointer) in places() {
        let mut keys: Vec<_> = block.all_keys().collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all, "{pointer}");
        assert!(!keys.contains(&"configure"), "{pointer}");
    }
}
