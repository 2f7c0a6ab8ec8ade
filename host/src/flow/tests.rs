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
use super::rule_blocks;
use super::step_blocks;
use super::words;
use crate::problem::Code;
use crate::problem::Problem;
use crate::table::RunId;

/// Every block, and where a flow has one. The last part of each pointer is the block.
fn places() -> Vec<(&'static Block, String)> {
    let plain: [(&'static Block, &str); 18] = [
        (&blocks::FLOW, ""),
        (&blocks::CONNECTION, "/connections/c"),
        (&options::READ_OPTIONS, "/connections/c/options"),
        (&options::WRITE_OPTIONS, "/connections/c/write_options"),
        (&blocks::COMPONENT, "/components/k"),
        (&options::MERGE_OPTIONS, "/connections/c/merge_options"),
        (&blocks::SOURCE, "/source/main"),
        (&blocks::SOURCE_READ, "/source/main/read"),
        (&options::READ_OPTIONS, "/source/main/options"),
        (&blocks::SOURCE, "/source/other"),
        (&destinations::DESTINATION, "/destinations/0"),
        (&options::WRITE_OPTIONS, "/destinations/0/write_options"),
        (&options::MERGE_OPTIONS, "/destinations/0/merge_options"),
        (&destinations::VERSION_COLUMNS, "/destinations/0/scd2_columns"),
        (&destinations::PARTITION, "/destinations/0/partition_columns/0"),
        (&destinations::DESTINATION, "/quarantine"),
        (&step_blocks::ORDER, "/destinations/0/transforms/0/by/0"),
        (&rule_blocks::EXPRESSION_ITEM, "/destinations/0/rules/0/expression/0"),
    ];
    let members = [(&step_blocks::STEPS, "transforms"), (&rule_blocks::RULES, "rules")];
    let typed = members.into_iter().flat_map(|(family, key)| {
        family
            .members
            .iter()
            .enumerate()
            .map(move |(index, member)| (member.block, format!("/{key}/{index}")))
    });
    plain.into_iter().map(|(block, at)| (block, at.to_owned())).chain(typed).collect()
}

/// One of each, in the order of the family.
fn steps() -> Value {
    json!([
        {"type": "component", "component": "k"},
        {"type": "select", "columns": ["a"]},
        {"type": "drop", "columns": ["a"]},
        {"type": "rename", "columns": {"a": "b"}},
        {"type": "with_column", "column": "a", "expression": "b + 1"},
        {"type": "filter", "expression": "a > 1"},
        {"type": "cast", "columns": {"a": "int64"}},
        {"type": "struct", "column": "a", "fields": {"b": "c"}},
        {"type": "deduplicate", "keys": ["a"]},
        {"type": "group_by", "agg": ["count(*) AS n"]},
        {"type": "join", "with": "other", "on": ["a"]},
        {"type": "sql", "query": "SELECT * FROM input"},
        {"type": "union", "with": "other"},
        {"type": "fill_na", "columns": {"a": 0}},
        {"type": "sort", "by": ["a"]},
        {"type": "system_columns"},
        {"type": "distinct"},
        {"type": "drop_duplicates"},
        {"type": "checkpoint"},
        {"type": "collect", "column": "a", "as": "v"},
    ])
}

/// One of each, in the order of the family.
fn rules() -> Value {
    json!([
        {"type": "component", "component": "k"},
        {"type": "required_columns", "columns": ["a"]},
        {"type": "not_null", "columns": ["a"]},
        {"type": "unique_key", "columns": ["a"]},
        {"type": "accepted_values", "column": "a", "values": ["x"]},
        {"type": "range", "column": "a", "min": 1, "max": 2},
        {"type": "pattern", "column": "a", "pattern": "x"},
        {"type": "length", "column": "a", "min": 1, "max": 2},
        {"type": "expression", "expression": "a > 0"},
        {"type": "min_rows", "count": 1},
        {"type": "max_rows", "count": 1},
        {"type": "row_count_change", "max_fraction": 0.5},
        {"type": "freshness", "column": "a", "max_age": "1 day"},
        {"type": "reference", "columns": ["a"], "source": "other"},
    ])
}

fn flow() -> Value {
    json!({
        "name": "x",
        "connections": {"c": {"options": {}, "write_options": {}, "merge_options": {}}},
        "components": {"k": {"path": "src/lib.rs"}},
        "source": {
            "main": {"format": "csv", "path": "in.csv", "options": {}, "read": {}},
            "other": {"format": "csv", "path": "other.csv"},
        },
        "transforms": steps(),
        "rules": rules(),
        "destinations": [{
            "format": "delta",
            "path": "out",
            "write_options": {},
            "merge_options": {},
            "scd2_columns": {},
            "partition_columns": [{"column": "a"}],
            "transforms": [{"type": "sort", "by": [{"column": "a"}]}],
            "rules": [{"type": "expression", "expression": [{"expression": "a > 0"}]}],
        }],
        "quarantine": {"format": "delta", "path": "bad"},
    })
}

fn problems(flow: &Value) -> Vec<Problem> {
    let context = ReadContext {
        vars: Default::default(),
        shared_vars: Default::default(),
        env: Default::default(),
        secrets: Default::default(),
        run_id: RunId::new("r").expect("a run id"),
        logical_date: Default::default(),
        views: Default::default(),
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
-> impl Iterator<Item = (&'static Block, String, &'static super::fields::Field, &'static str)> {
    places().into_iter().flat_map(|(block, pointer)| {
        block.fields.iter().flat_map(move |field| {
            std::iter::once(field.name).chain(field.aliases.iter().copied()).map({
                let pointer = pointer.clone();
                move |key| (block, pointer.clone(), field, key)
            })
        })
    })
}

#[test]
fn the_flow_has_one_step_and_rule_of_each_type() {
    for (family, examples) in [(&step_blocks::STEPS, steps()), (&rule_blocks::RULES, rules())] {
        let types = examples.as_array().into_iter().flatten().map(|example| &example["type"]);
        assert!(types.eq(family.members.iter().map(|member| member.word.name)));
    }
    // Only `scd2` has its columns, and the destination appends.
    let found = problems(&flow());
    assert!(found.iter().all(|problem| problem.at.field.contains("scd2_columns")), "{found:?}");
}

#[test]
fn types_that_are_not_offered_are_refused_by_name() {
    for word in words::OTHER_STEPS {
        for step in [json!({"type": word.name}), json!({word.name: {}})] {
            let mut flow = flow();
            flow["transforms"] = json!([step]);
            let named = |problem: &Problem| {
                problem.code == Code::NotOffered
                    && problem.what.contains(&format!("`{}`", word.name))
            };
            assert!(problems(&flow).iter().any(named), "{}", word.name);
        }
    }
}

#[test]
fn fields_that_are_not_offered_are_refused_by_name() {
    for (block, pointer, field, key) in spellings() {
        let code = match field.offer {
            Offer::Now => continue,
            Offer::Later(_) => Code::NotOffered,
            Offer::Never(_) => Code::Contradiction,
        };
        let found = problems(&with(block, &pointer, key, json!("a")));
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
                let found = problems(&with(block, &pointer, key, json!(text.to_uppercase())));
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
        // Right for no such kind of field: what is never looked at would pass.
        let wrong = match field.kind {
            Kind::Value | Kind::Values => json!([[]]),
            _ => json!(-1.5),
        };
        let found = problems(&with(block, &pointer, key, wrong));
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
            let mut flow = with(block, &pointer, key, json!("a"));
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
