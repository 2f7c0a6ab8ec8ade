//! One row a key, replacements and guards.

use wasmhost::flow::Changes;
use wasmhost::flow::Compare;
use wasmhost::flow::Keys;
use wasmhost::flow::Load;
use wasmhost::flow::MergeStrategy;
use wasmhost::flow::PartitionValue;
use wasmhost::flow::Upsert;
use wasmhost::table::LateRow;

use super::story::Story;
use super::story::upsert;
use crate::model::setup::column;
use crate::model::setup::condition;
use crate::model::setup::deleting;
use crate::model::setup::guarded;
use crate::model::setup::keys;
use crate::model::setup::sequence;
use crate::model::truth;
use crate::model::variants;
use crate::random::Random;

#[test]
fn upsert_keeps_what_the_batch_lacks_and_overwrite_does_not() {
    let full = ["k v w __created_at", "1 a b c1", "2 a b c1"];
    let lacking = ["k v __created_at", "1 x c2", "3 x c2"];
    let mut story = upsert(Changes::default());
    story.run(full);
    assert_eq!(story.run(lacking), "written 2, inserted 1, updated 1");
    story.holds(["k v w __created_at", "1 x b c1", "2 a b c1", "3 x - c2"]);
    let mut story = Story::new(variants::merge_overwrite(keys(&["k"])));
    story.run(full);
    assert_eq!(story.run(lacking), "written 2, inserted 2, deleted 1");
    story.holds(["k v w __created_at", "1 x - c2", "2 a b c1", "3 x - c2"]);
    // When a row came makes no difference.
    assert_eq!(story.run(["k v __created_at", "3 x c3"]), "written 1, unchanged 1");
    story.holds(["k v w __created_at", "1 x - c2", "2 a b c1", "3 x - c2"]);
}

#[test]
fn a_condition_that_is_not_true_leaves_both_rows_alone() {
    let load = Upsert {
        condition: condition(truth::NOT_OLDER, "T", "S"),
        ..variants::upsert(keys(&["k"]), deleting(Changes::default()))
    };
    let mut story = Story::new(Load::MergeUpsert(load));
    story.run(["k seq v gone", "1 5 a no", "2 - a no", "3 5 a no"]);
    let told = story.run(["k seq v gone", "1 4 b no", "2 9 b no", "3 5 b yes", "4 - b no"]);
    assert_eq!(told, "written 4, inserted 1, deleted 1, unmatched 2, deleting 1");
    story.holds(["k seq v gone", "1 5 a no", "2 - a no", "4 - b no"]);
}

#[test]
fn compare_columns_decide_and_all_columns_are_written() {
    let compare = Compare::Columns(vec![column("v")]);
    let load = variants::hash_diff(keys(&["k"]), compare, Changes::default());
    let mut story = Story::new(load);
    story.run(["k v w", "1 a b", "2 a b"]);
    assert_eq!(story.run(["k v w", "1 a c", "2 x c"]), "written 2, updated 1, unchanged 1");
    story.holds(["k v w", "1 a b", "2 x c"]);
}

#[test]
fn the_highest_sequence_counts_whatever_the_arrival() {
    let mut story = upsert(sequence(&["n", "seq"]));
    let told = story.run(["k n seq v", "1 1 9 a", "1 2 1 b", "1 2 1 b", "1 1 9 z"]);
    assert_eq!(told, "written 4, inserted 1, dropped 3");
    assert_eq!(story.run(["k n seq v", "1 1 99 c"]), "written 1, late 1");
    assert_eq!(story.run(["k n seq v", "1 2 1 b"]), "written 1, unchanged 1");
    let told = story.run(["k n seq v", "1 2 1 c"]);
    assert_eq!(told, "Data(\"the stored sequence, different values\")");
    let told = story.run(["k n seq v", "2 1 1 a", "2 1 1 b"]);
    assert_eq!(told, "Data(\"one sequence, different rows\")");
    assert_eq!(story.run(["k n seq v", "2 1 - a"]), "Data(\"NULL in a sequence\")");
    assert_eq!(story.run(["k n seq v", "1 2 2 c"]), "written 1, updated 1");
    story.holds(["k n seq v", "1 2 2 c"]);

    let mut story = upsert(Changes { late: LateRow::Error, ..sequence(&["seq"]) });
    story.run(["k seq", "1 5"]);
    assert_eq!(story.run(["k seq", "1 4", "2 1"]), "Data(\"a late row\")");
    story.holds(["k seq", "1 5"]);
}

#[test]
fn a_deletion_without_sequence_removes_what_is_there() {
    let mut story = upsert(deleting(Changes::default()));
    story.run(["k v gone", "1 a no", "2 a -"]);
    assert_eq!(story.run(["k v gone", "1 - yes", "9 - yes"]), "written 2, deleted 1, deleting 2");
    story.holds(["k v gone", "2 a -"]);
}

#[test]
fn a_deletion_with_sequence_is_remembered() {
    let mut story = upsert(deleting(sequence(&["seq"])));
    let told = story.run(["k seq v gone", "1 5 a no", "2 5 a yes"]);
    assert_eq!(told, "written 2, inserted 1, deleting 1, deletions stored 1");
    story.holds(["k seq v gone __is_deleted", "1 5 a no no", "2 5 a yes yes"]);
    let told = story.run(["k seq v gone", "1 6 b yes", "2 4 b no"]);
    assert_eq!(told, "written 2, deleted 1, late 1, deleting 1, deletions stored 1");
    story.holds(["k seq v gone __is_deleted", "1 6 b yes yes", "2 5 a yes yes"]);
    // Again, then a later one: neither takes away anything more.
    let told = story.run(["k seq v gone", "1 6 b yes", "2 7 c yes"]);
    assert_eq!(told, "written 2, deleting 2, deletions stored 1");
    story.holds(["k seq v gone __is_deleted", "1 6 b yes yes", "2 7 c yes yes"]);
    assert_eq!(story.run(["k seq v gone", "1 8 d no"]), "written 1, updated 1");
    let told = story.run(["k seq v gone", "2 7 c no"]);
    assert_eq!(told, "Data(\"the stored sequence, different values\")");
    story.holds(["k seq v gone __is_deleted", "1 8 d no no", "2 7 c yes yes"]);
}

#[test]
fn rows_in_sequence_give_one_table_in_any_order() {
    let mut random = Random::new(1);
    for _ in 0..20 {
        let mut rows: Vec<_> = (0..24)
            .map(|seq| {
                let gone = if random.chance(30) { "yes" } else { "no" };
                format!("{} {seq} v{seq} {gone}", random.below(4))
            })
            .collect();
        let tables = [0, 1].map(|_| {
            random.shuffle(&mut rows);
            let mut story = upsert(deleting(sequence(&["seq"])));
            for rows in rows.chunks(6) {
                let rows: Vec<_> = rows.iter().map(String::as_str).collect();
                story.run([&["k seq v gone"], &rows[..]].concat());
            }
            story.text()
        });
        assert_eq!(tables[0], tables[1]);
    }
}

#[test]
fn replaced_partitions_hold_what_came_and_moved_rows_are_in_one_place() {
    let strategy = MergeStrategy::ReplacePartitions { column: column("p") };
    let load = |keys| {
        let upsert = variants::upsert(keys, Changes::default());
        Load::MergeUpsert(Upsert { strategy: strategy.clone(), ..upsert })
    };
    let mut story = Story::new(load(keys(&["k"])));
    story.run(["k p v", "1 a x", "2 a x", "3 b x", "4 - x", "5 - x"]);
    // 3 moves to a, 2 goes, 1 is as it was; NULL is a partition of its own; b has no row that came.
    let told = story.run(["k p v", "1 a x", "3 a x", "6 - x", "5 - y"]);
    assert_eq!(told, "written 4, inserted 1, updated 2, deleted 2, unchanged 1");
    story.holds(["k p v", "1 a x", "3 a x", "5 - y", "6 - x"]);
    let mut story = Story::new(load(guarded(keys(&["k"]))));
    story.run(["k p v", "1 a x", "2 a x", "3 b x"]);
    assert_eq!(story.run(["k p v", "1 a y"]), "Guard(\"too many rows would go\")");
    assert_eq!(story.run(["k p v"]), "Guard(\"no rows at all\")");
}

#[test]
fn guards_count_rows_that_are_still_live() {
    let keys = Keys { max_removed_fraction: 0.5, ..guarded(keys(&["k"])) };
    let mut story = Story::new(variants::snapshot(keys, Compare::All));
    story.run(["k v", "1 a", "2 a", "3 a", "4 a"]);
    assert_eq!(story.run(["k v"]), "Guard(\"no rows at all\")");
    assert_eq!(story.run(["k v", "1 a"]), "Guard(\"too many rows would go\")");
    assert_eq!(story.run(["k v", "1 a", "2 a"]), "written 2, deleted 2, unchanged 2");
    assert_eq!(story.run(["k v", "9 a"]), "Guard(\"too many rows would go\")");
    assert_eq!(story.run(["k v", "1 b"]), "written 1, updated 1, deleted 1");
}

#[test]
fn replacements_take_away_their_scope_and_nothing_else() {
    let stored = ["k p seq", "1 a 10", "2 a 30", "3 b 30", "4 - 30", "5 - -"];
    let seeded = |load: Load| {
        let mut story = Story::new(Load::Append {});
        story.run(stored);
        story.now(load)
    };
    let partitions = |replace_where: Option<&str>| Load::OverwritePartitions {
        replace_where: replace_where.map(ToOwned::to_owned),
        allow_empty: false,
    };
    let mut story = seeded(partitions(None));
    let told = story.run(["k p seq", "7 a 1", "8 - 1", "9 c 1"]);
    assert_eq!(told, "written 3, inserted 3, deleted 4");
    story.holds(["k p seq", "3 b 30", "7 a 1", "8 - 1", "9 c 1"]);
    assert_eq!(story.run(["k p seq"]), "");

    let mut story = seeded(partitions(Some(truth::SEQ_FROM_20)));
    let refused = "Data(\"a row is not among those that are replaced\")";
    assert_eq!(story.run(["k p seq", "7 a -"]), refused);
    assert_eq!(story.run(["k p seq"]), "Guard(\"no rows at all\")");
    assert_eq!(story.run(["k p seq", "7 a 20"]), "written 1, inserted 1, deleted 3");
    story.holds(["k p seq", "1 a 10", "5 - -", "7 a 20"]);

    let partition = Some(PartitionValue { column: column("p"), value: "a".into() });
    let mut story = seeded(Load::Overwrite { allow_empty: true, partition });
    assert_eq!(story.run(["k p seq", "7 - 1"]), refused);
    assert_eq!(story.run(["k p seq"]), "deleted 2");
    story.holds(["k p seq", "3 b 30", "4 - 30", "5 - -"]);

    let mut story = seeded(Load::Ignore {});
    assert_eq!(story.run(["k p seq", "7 - 1"]), "written 1, unchanged 1");
    let mut story = seeded(Load::ErrorIfExists {});
    assert_eq!(story.run(["k p seq", "7 - 1"]), "Data(\"the table exists\")");
    story.holds(stored);
}
