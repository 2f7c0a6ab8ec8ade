//! Histories of `scd2`.

use wasmhost::flow::Load;
use wasmhost::flow::Scd2;
use wasmhost::table::LateHistory;

use super::story::Story;
use super::story::scd2;
use crate::model::setup::column;
use crate::model::setup::guarded;
use crate::model::setup::keys;
use crate::model::truth;
use crate::random::Random;

fn history(late: LateHistory) -> Scd2 {
    let delete_when = Some(truth::GONE.to_owned());
    Scd2 { delete_when, ..scd2(keys(&["k"]), late) }
}

fn story(late: LateHistory) -> Story {
    Story::new(Load::Scd2(history(late)))
}

const HEAD: &str = "k v at gone";
const TABLE: &str = "k v at gone from to now";

#[test]
fn versions_of_one_batch_are_chained_in_order_of_time() {
    let mut story = story(LateHistory::History);
    let told = story.run([HEAD, "1 c 30 no", "1 a 10 no", "1 a 20 no", "1 c 30 no", "2 z 5 yes"]);
    assert_eq!(told, "written 5, inserted 2, unchanged 1, dropped 1, deleting 1, opened 2");
    story.holds([TABLE, "1 a 10 no 10 30 no", "1 c 30 no 30 - yes"]);
    // The stored one is closed, the two in between are written as they end up.
    let told = story.run([HEAD, "1 f 60 no", "1 d 40 no", "1 - 50 yes"]);
    assert_eq!(told, "written 3, inserted 2, deleting 1, opened 2, closed 1");
    story.holds([
        TABLE,
        "1 a 10 no 10 30 no",
        "1 c 30 no 30 40 no",
        "1 d 40 no 40 50 no",
        "1 f 60 no 60 - yes",
    ]);
    assert_eq!(story.run([HEAD, "1 x 9 no", "1 y 9 no"]), "Data(\"one time, different rows\")");
    assert_eq!(story.run([HEAD, "1 x - no"]), "Data(\"NULL as a time\")");
}

#[test]
fn a_late_row_is_placed_where_it_belongs() {
    let mut story = story(LateHistory::History);
    story.run([HEAD, "1 b 20 no", "1 c 30 no", "1 - 40 yes", "1 e 50 no"]);
    story.holds([TABLE, "1 b 20 no 20 30 no", "1 c 30 no 30 40 no", "1 e 50 no 50 - yes"]);
    // Before the first, in the middle of one, in the gap, and as the version that holds then.
    let told = story.run([HEAD, "1 a 10 no", "1 y 25 no", "1 z 45 no", "1 c 35 no", "1 - 5 yes"]);
    assert_eq!(told, "written 5, inserted 3, unchanged 1, deleting 1, opened 3, split 1");
    story.holds([
        TABLE,
        "1 a 10 no 10 20 no",
        "1 b 20 no 20 25 no",
        "1 y 25 no 25 30 no",
        "1 c 30 no 30 40 no",
        "1 z 45 no 45 50 no",
        "1 e 50 no 50 - yes",
    ]);
    // A deletion ends the version that holds then, and a version placed in one batch can be split again in it.
    let told = story.run([HEAD, "1 - 22 yes", "1 p 32 no", "1 q 36 no", "1 - 42 yes"]);
    assert_eq!(told, "written 4, inserted 2, deleting 2, opened 2, split 2");
    story.holds([
        TABLE,
        "1 a 10 no 10 20 no",
        "1 b 20 no 20 22 no",
        "1 y 25 no 25 30 no",
        "1 c 30 no 30 32 no",
        "1 p 32 no 32 36 no",
        "1 q 36 no 36 40 no",
        "1 z 45 no 45 50 no",
        "1 e 50 no 50 - yes",
    ]);
}

#[test]
fn the_end_of_a_deleted_key_is_split_like_any_other() {
    let mut story = story(LateHistory::History);
    story.run([HEAD, "1 a 10 no"]);
    assert_eq!(story.run([HEAD, "1 - 30 yes"]), "written 1, deleting 1, closed 1");
    assert_eq!(story.run([HEAD, "1 - 31 yes"]), "written 1, deleting 1");
    assert_eq!(story.run([HEAD, "1 b 20 no"]), "written 1, inserted 1, opened 1, split 1");
    assert_eq!(story.run([HEAD, "1 b 30 no"]), "written 1, inserted 1, opened 1");
    story.holds([TABLE, "1 a 10 no 10 20 no", "1 b 20 no 20 30 no", "1 b 30 no 30 - yes"]);
}

#[test]
fn one_time_again_is_the_same_or_refused() {
    let mut story = story(LateHistory::History);
    story.run([HEAD, "1 a 10 no", "1 b 20 no"]);
    assert_eq!(story.run([HEAD, "1 b 20 no", "1 a 10 no"]), "written 2, unchanged 2");
    let refused = "Data(\"the stored time, different values\")";
    assert_eq!(story.run([HEAD, "1 x 20 no"]), refused);
    assert_eq!(story.run([HEAD, "1 x 10 no"]), refused);
    let told = story.run([HEAD, "1 - 20 yes"]);
    assert_eq!(told, "Data(\"a deletion at the time at which a version begins\")");
}

#[test]
fn a_sequence_decides_between_rows_of_one_time() {
    let load = Scd2 { sequence_by: vec![column("seq")], ..history(LateHistory::History) };
    let mut story = Story::new(Load::Scd2(load));
    let told = story.run(["k v at seq gone", "1 a 10 1 no", "1 b 20 5 no", "1 x 20 4 no"]);
    assert_eq!(told, "written 3, inserted 2, dropped 1, opened 2");
    assert_eq!(story.run(["k v at seq gone", "1 y 20 4 no"]), "written 1, late 1");
    // Only newer, and remembered as newer: what came between is late now, deletions too.
    assert_eq!(story.run(["k v at seq gone", "1 b 20 9 no"]), "written 1, updated 1");
    assert_eq!(story.run(["k v at seq gone", "1 y 20 5 no"]), "written 1, late 1");
    assert_eq!(story.run(["k v at seq gone", "1 - 20 5 yes"]), "written 1, late 1");
    assert_eq!(
        story.run(["k v at seq gone", "1 y 20 9 no"]),
        "Data(\"the stored time, different values\")"
    );
    assert_eq!(story.run(["k v at seq gone", "1 z 20 10 no"]), "written 1, updated 1");
    story.holds(["k v at seq gone from to now", "1 a 10 1 no 10 20 no", "1 z 20 10 no 20 - yes"]);
    assert_eq!(
        story.run(["k v at seq gone", "1 y 10 9 no"]),
        "Data(\"the stored time, different values\")"
    );
}

#[test]
fn late_rows_are_ignored_refused_or_inserted_as_they_come() {
    let stored = [HEAD, "1 a 10 no", "1 b 20 no"];
    let mut ignoring = story(LateHistory::Ignore);
    ignoring.run(stored);
    let told = ignoring.run([HEAD, "1 x 15 no", "1 - 5 yes", "1 c 30 no"]);
    assert_eq!(told, "written 3, inserted 1, late 2, opened 1, closed 1");

    let mut refusing = story(LateHistory::Error);
    refusing.run(stored);
    assert_eq!(refusing.run([HEAD, "1 x 15 no", "2 c 30 no"]), "Data(\"a late row\")");

    let mut appending = story(LateHistory::Append);
    appending.run(stored);
    let told = appending.run([HEAD, "1 x 15 no"]);
    assert_eq!(told, "written 1, inserted 1, opened 1");
    assert_eq!(appending.run([HEAD, "1 y 20 no"]), "written 1, inserted 1, opened 1");
    appending.holds([
        TABLE,
        "1 a 10 no 10 20 no",
        "1 b 20 no 20 - yes",
        "1 x 15 no 15 - yes",
        "1 y 20 no 20 - yes",
    ]);
    let told = appending.run([HEAD, "1 c 30 no"]);
    assert_eq!(told, "written 1, inserted 1, opened 1, closed 3");
}

#[test]
fn missing_keys_are_closed_within_the_guards() {
    let load =
        Scd2 { keys: guarded(keys(&["k"])), close_missing: true, ..history(LateHistory::History) };
    let mut story = Story::new(Load::Scd2(load));
    story.run_at(10, [HEAD, "1 a 1 no", "2 a 1 no", "3 a 1 no", "4 a 1 no"]);
    assert_eq!(story.run_at(20, [HEAD]), "Guard(\"no rows at all\")");
    let two = story.run_at(20, [HEAD, "1 a 1 no", "2 a 1 no"]);
    assert_eq!(two, "Guard(\"too many rows would go\")");
    // A deletion counts like a key that is missing; what has a successor does not.
    let two = story.run_at(20, [HEAD, "1 a 1 no", "2 a 1 no", "3 - 15 yes"]);
    assert_eq!(two, "Guard(\"too many rows would go\")");
    let one = story.run_at(20, [HEAD, "1 b 15 no", "2 b 15 no", "3 b 15 no"]);
    assert_eq!(one, "written 3, inserted 3, opened 3, closed 4");
    let early = story.run_at(15, [HEAD, "1 b 15 no", "2 b 15 no"]);
    assert_eq!(early, "Data(\"a version would end before it begins\")");
}

#[test]
fn rows_that_all_differ_give_one_history_in_any_order() {
    let mut random = Random::new(2);
    for _ in 0..20 {
        let mut rows: Vec<_> =
            (0..24).map(|at| format!("{} v{at} {at} no", random.below(3))).collect();
        let mut told = Vec::new();
        for size in [24, 5, 1] {
            let mut story = story(LateHistory::History);
            for rows in rows.chunks(size) {
                let rows: Vec<_> = rows.iter().map(String::as_str).collect();
                story.run([&[HEAD], &rows[..]].concat());
            }
            told.push(story.text());
            random.shuffle(&mut rows);
        }
        assert!(told.iter().all(|text| *text == told[0]), "{}\n{}", told[0], told[1]);
    }
}
