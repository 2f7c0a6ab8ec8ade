//! The public cases that are about strategies, by their numbers.

use wasmhost::flow::Changes;
use wasmhost::flow::Compare;
use wasmhost::flow::Keys;
use wasmhost::flow::Load;
use wasmhost::flow::OnNullKey;
use wasmhost::flow::Scd2;
use wasmhost::table::LateHistory;

use super::story::Story;
use super::story::scd2;
use super::story::upsert;
use crate::model::setup::keys;
use crate::model::setup::latest;
use crate::model::variants;

fn plain(keys: Keys) -> Load {
    Load::MergeUpsert(variants::upsert(keys, Changes::default()))
}

fn hash_diff(keys: Keys) -> Load {
    variants::hash_diff(keys, Compare::All, Changes::default())
}

fn snapshot(keys: Keys) -> Load {
    variants::snapshot(keys, Compare::All)
}

#[test]
fn case_1_null_in_a_key_matches_or_is_refused_and_never_adds_a_copy() {
    let lanes = |on_null| Keys { on_null, ..keys(&["shop", "lane"]) };
    for load in [plain, hash_diff, snapshot] {
        let mut story = Story::new(load(lanes(OnNullKey::Match)));
        assert_eq!(story.run(["shop lane n", "S1 - 4", "S2 A 7"]), "written 2, inserted 2");
        assert_eq!(story.run(["shop lane n", "S1 - 5", "S2 A 8"]), "written 2, updated 2");
        assert_eq!(story.run(["shop lane n", "S1 - 5", "S2 A 8"]), "written 2, unchanged 2");
    }
    let mut story = Story::new(variants::merge_overwrite(lanes(OnNullKey::Match)));
    story.run(["shop lane n", "S1 - 4", "S2 A 7"]);
    let told = story.run(["shop lane n", "S1 - 5", "S2 A 8"]);
    assert_eq!(told, "written 2, inserted 2, deleted 2");
    assert_eq!(story.run(["shop lane n", "S2 A 8", "S1 - 5"]), "written 2, unchanged 2");
    story.holds(["shop lane n", "S1 - 5", "S2 A 8"]);

    let mut story = Story::new(Load::Scd2(scd2(lanes(OnNullKey::Match), LateHistory::History)));
    story.run(["shop lane n at", "S1 - 4 1", "S2 A 7 1"]);
    let told = story.run(["shop lane n at", "S1 - 5 2", "S2 A 7 2"]);
    assert_eq!(told, "written 2, inserted 1, unchanged 1, opened 1, closed 1");

    for load in [plain, hash_diff, snapshot, variants::merge_overwrite] {
        let mut story = Story::new(load(lanes(OnNullKey::Error)));
        assert_eq!(story.run(["shop lane n", "S1 - 4"]), "Data(\"NULL in a key\")");
    }
}

#[test]
fn case_2_repeated_keys_are_refused_or_all_but_one_are_dropped() {
    let batch = ["k v n", "1 b 1", "1 c 2", "2 d 4", "2 e 3"];
    for load in [plain, hash_diff, snapshot] {
        let mut story = Story::new(load(keys(&["k"])));
        story.run(["k v n", "1 a 0"]);
        assert_eq!(story.run(batch), "Data(\"a key comes twice\")");
        assert_eq!(story.run(["k v n", "1 a 0"]), "written 1, unchanged 1");
    }
    let mut story = Story::new(plain(latest(keys(&["k"]))));
    story.run(["k v at seq", "1 a 0 0"]);
    let told = story.run(["k v at seq", "1 b 1 9", "1 c 2 8", "2 d 4 7", "2 e 3 6", "2 d 4 7"]);
    assert_eq!(told, "written 5, inserted 1, updated 1, dropped 3");
    story.holds(["k v at seq", "1 c 2 8", "2 d 4 7"]);

    // Where several rows a key are the point, all of them stay.
    let mut story = Story::new(variants::merge_overwrite(keys(&["k"])));
    story.run(["k v n", "1 a 0", "3 z 0"]);
    assert_eq!(story.run(batch), "written 4, inserted 4, deleted 1");
    story.holds(["k v n", "1 b 1", "1 c 2", "2 d 4", "2 e 3", "3 z 0"]);
    assert_eq!(story.run(["k v n", "1 c 2", "1 b 1"]), "written 2, unchanged 2");
    // Once more or once less is not the same.
    let told = story.run(["k v n", "1 c 2", "1 b 1", "1 b 1"]);
    assert_eq!(told, "written 3, inserted 3, deleted 2");
}

#[test]
fn case_4_keys_are_compared_part_by_part() {
    let old = ["a b v at", "a bc red 1", "1 23 blue 1", "x|y z pink 1"];
    let new = ["a b v at", "ab c green 1", "12 3 grey 1", "x y|z white 1"];
    let both = || keys(&["a", "b"]);
    for load in [plain(both()), hash_diff(both()), variants::merge_overwrite(both())] {
        let mut story = Story::new(load);
        story.run(old);
        assert_eq!(story.run(new), "written 3, inserted 3");
    }
    let mut story = Story::new(Load::Scd2(scd2(both(), LateHistory::History)));
    story.run(old);
    assert_eq!(story.run(new), "written 3, inserted 3, opened 3");
    let mut story = Story::new(snapshot(keys(&["i", "j"])));
    story.run(["i j v", "1 23 blue"]);
    assert_eq!(story.run(["i j v", "12 3 grey"]), "written 1, inserted 1, deleted 1");
}

#[test]
fn case_5_a_change_from_or_to_null_is_one() {
    let mut story = Story::new(hash_diff(keys(&["k"])));
    story.run(["k v", "1 -", "2 x", "3 -"]);
    assert_eq!(story.run(["k v", "1 hello", "2 -", "3 -"]), "written 3, updated 2, unchanged 1");
    let mut story = Story::new(Load::Scd2(scd2(keys(&["k"]), LateHistory::History)));
    story.run(["k v at", "1 - 1", "2 x 1", "3 - 1"]);
    let told = story.run(["k v at", "1 hello 2", "2 - 2", "3 - 2"]);
    assert_eq!(told, "written 3, inserted 2, unchanged 1, opened 2, closed 2");
    story.holds([
        "k v at from to now",
        "1 - 1 1 2 no",
        "1 hello 2 2 - yes",
        "2 x 1 1 2 no",
        "2 - 2 2 - yes",
        "3 - 1 1 - yes",
    ]);
    // NaN is what it is.
    let mut story = upsert(Changes::default());
    story.run(["k x", "1 NaN", "2 0.5"]);
    assert_eq!(story.run(["k x", "1 NaN", "2 NaN"]), "written 2, updated 1, unchanged 1");
}

#[test]
fn case_6_a_row_that_comes_back_is_there_again() {
    let load = Scd2 { close_missing: true, ..scd2(keys(&["k"]), LateHistory::History) };
    let mut story = Story::new(Load::Scd2(load));
    assert_eq!(story.run_at(15, ["k v at", "7 Oslo 10"]), "written 1, inserted 1, opened 1");
    assert_eq!(story.run_at(20, ["k v at"]), "closed 1");
    assert_eq!(story.run_at(35, ["k v at", "7 Oslo 30"]), "written 1, inserted 1, opened 1");
    story.holds(["k v at from to now", "7 Oslo 10 10 20 no", "7 Oslo 30 30 - yes"]);

    let mut story = Story::new(snapshot(keys(&["k"])));
    story.run_at(10, ["k v", "7 Oslo"]);
    assert_eq!(story.run_at(20, ["k v"]), "deleted 1");
    story.holds(["k v __is_deleted __deleted_at", "7 Oslo yes 20"]);
    assert_eq!(story.run_at(30, ["k v", "7 Oslo"]), "written 1, updated 1");
    story.holds(["k v __is_deleted __deleted_at", "7 Oslo no -"]);
}

#[test]
fn case_7_what_is_marked_or_closed_stays_as_it_is() {
    let mut story = Story::new(snapshot(keys(&["k"])));
    story.run_at(10, ["k v", "1 a", "2 b"]);
    assert_eq!(story.run_at(20, ["k v", "2 b"]), "written 1, deleted 1, unchanged 1");
    for at in [30, 40] {
        assert_eq!(story.run_at(at, ["k v", "2 b"]), "written 1, unchanged 1");
        story.holds(["k v __is_deleted __deleted_at", "1 a yes 20", "2 b no -"]);
    }
    assert_eq!(story.run_at(50, ["k v", "1 a", "2 b"]), "written 2, updated 1, unchanged 1");
    story.holds(["k v __is_deleted __deleted_at", "1 a no -", "2 b no -"]);

    let load = Scd2 { close_missing: true, ..scd2(keys(&["k"]), LateHistory::History) };
    let mut story = Story::new(Load::Scd2(load));
    story.run_at(10, ["k v at", "1 a 5", "2 b 5"]);
    assert_eq!(story.run_at(20, ["k v at", "2 b 15"]), "written 1, unchanged 1, closed 1");
    for at in [30, 40] {
        assert_eq!(story.run_at(at, ["k v at", "2 b 25"]), "written 1, unchanged 1");
    }
    let told = story.run_at(50, ["k v at", "1 a 45", "2 b 45"]);
    assert_eq!(told, "written 2, inserted 1, unchanged 1, opened 1");
    story.holds(["k v at from to now", "1 a 5 5 20 no", "1 a 45 45 - yes", "2 b 5 5 - yes"]);
}
