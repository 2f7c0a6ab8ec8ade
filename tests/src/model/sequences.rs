//! Random sequences of every strategy, at least 200 each, shared by the tests of a strategy; `check::check` says how one of them is
//! run again.

use super::check::check;
use super::check::tell;
use super::draw;
use super::oracle;
use super::oracle::Table;
use super::setup::Setup;
use super::setup::started_at;
use super::variants;
use super::variants::row_by_row;
use super::variants::spilled;

/// Of each variant, when they are asked what they reach.
const SEQUENCES: u64 = 10;

#[test]
fn append_is_as_the_model_says() {
    check(&variants::append(), 200);
}

#[test]
fn overwrite_is_as_the_model_says() {
    check(&variants::overwrite(), 120);
}

#[test]
fn overwrite_of_a_partition_is_as_the_model_says() {
    check(&variants::overwrite_one_partition(), 80);
}

#[test]
fn overwrite_partitions_is_as_the_model_says() {
    check(&variants::overwrite_partitions(), 120);
}

#[test]
fn flat_files_are_as_the_model_says() {
    check(&variants::flat(), 200);
}

#[test]
fn replace_where_is_as_the_model_says() {
    check(&variants::replace_where(), 80);
}

#[test]
fn error_if_exists_is_as_the_model_says() {
    check(&variants::error_if_exists(), 200);
}

#[test]
fn ignore_is_as_the_model_says() {
    check(&variants::ignore(), 200);
}

#[test]
fn merge_upsert_is_as_the_model_says() {
    check(&variants::merge_upsert(), 80);
}

#[test]
fn merge_upsert_with_deletions_is_as_the_model_says() {
    check(&variants::merge_upsert_deleting(), 60);
}

#[test]
fn merge_upsert_on_condition_is_as_the_model_says() {
    check(&variants::merge_upsert_on_condition(), 60);
}

#[test]
fn merge_upsert_in_sequence_is_as_the_model_says() {
    check(&variants::merge_upsert_sequenced(), 80);
}

#[test]
fn merge_upsert_with_tombstones_is_as_the_model_says() {
    check(&variants::merge_upsert_tombstones(), 60);
}

#[test]
fn replace_partitions_is_as_the_model_says() {
    check(&variants::replace_partitions(), 60);
}

#[test]
fn merge_overwrite_is_as_the_model_says() {
    check(&variants::merge_overwrites(), 200);
}

#[test]
fn hash_diff_upsert_is_as_the_model_says() {
    check(&variants::hash_diff_upsert(), 120);
}

#[test]
fn hash_diff_upsert_with_deletions_is_as_the_model_says() {
    check(&variants::hash_diff_deleting(), 80);
}

#[test]
fn snapshot_soft_delete_is_as_the_model_says() {
    check(&variants::snapshot_soft_delete(), 200);
}

#[test]
fn scd2_is_as_the_model_says() {
    check(&variants::versions(), 200);
}

#[test]
fn overwrite_partitions_spills() {
    check(&spilled(variants::overwrite_partitions()), 4);
}

#[test]
fn replace_where_spills() {
    check(&spilled(variants::replace_where()), 4);
}

#[test]
fn merge_upsert_spills() {
    check(&spilled(variants::merge_upsert()), 4);
}

#[test]
fn merge_upsert_with_deletions_spills() {
    check(&spilled(variants::merge_upsert_deleting()), 4);
}

#[test]
fn merge_upsert_on_condition_spills() {
    check(&spilled(variants::merge_upsert_on_condition()), 4);
}

#[test]
fn merge_upsert_in_sequence_spills() {
    check(&spilled(variants::merge_upsert_sequenced()), 4);
}

#[test]
fn merge_upsert_with_tombstones_spills() {
    check(&spilled(variants::merge_upsert_tombstones()), 4);
}

#[test]
fn replace_partitions_spills() {
    check(&spilled(variants::replace_partitions()), 4);
}

#[test]
fn merge_overwrite_spills() {
    check(&spilled(variants::merge_overwrites()), 4);
}

#[test]
fn hash_diff_upsert_spills() {
    check(&spilled(variants::hash_diff_upsert()), 4);
}

#[test]
fn hash_diff_upsert_with_deletions_spills() {
    check(&spilled(variants::hash_diff_deleting()), 4);
}

#[test]
fn snapshot_soft_delete_spills() {
    check(&spilled(variants::snapshot_soft_delete()), 4);
}

#[test]
fn scd2_spills() {
    check(&spilled(variants::versions()), 4);
}

#[test]
fn append_takes_row_by_row() {
    check(&row_by_row(variants::append()), 4);
}

#[test]
fn overwrite_takes_row_by_row() {
    check(&row_by_row(variants::overwrite()), 4);
}

#[test]
fn overwrite_partitions_takes_row_by_row() {
    check(&row_by_row(variants::overwrite_partitions()), 4);
}

#[test]
fn replace_where_takes_row_by_row() {
    check(&row_by_row(variants::replace_where()), 4);
}

#[test]
fn merge_upsert_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert()), 4);
}

#[test]
fn merge_upsert_with_deletions_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_deleting()), 4);
}

#[test]
fn merge_upsert_on_condition_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_on_condition()), 4);
}

#[test]
fn merge_upsert_in_sequence_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_sequenced()), 4);
}

#[test]
fn merge_upsert_with_tombstones_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_tombstones()), 4);
}

#[test]
fn replace_partitions_takes_row_by_row() {
    check(&row_by_row(variants::replace_partitions()), 4);
}

#[test]
fn merge_overwrite_takes_row_by_row() {
    check(&row_by_row(variants::merge_overwrites()), 4);
}

#[test]
fn hash_diff_upsert_takes_row_by_row() {
    check(&row_by_row(variants::hash_diff_upsert()), 4);
}

#[test]
fn hash_diff_upsert_with_deletions_takes_row_by_row() {
    check(&row_by_row(variants::hash_diff_deleting()), 4);
}

#[test]
fn snapshot_soft_delete_takes_row_by_row() {
    check(&row_by_row(variants::snapshot_soft_delete()), 4);
}

#[test]
fn scd2_takes_row_by_row() {
    check(&row_by_row(variants::versions()), 4);
}

/// A sequence that only inserts, or is mostly refused, tells nothing: each strategy's have to bring about what it counts.
#[test]
fn sequences_reach_what_strategies_count() {
    for (setups, reached) in [
        (variants::append(), "inserted"),
        (variants::overwrite(), "inserted deleted"),
        (variants::overwrite_one_partition(), "inserted deleted"),
        (variants::overwrite_partitions(), "inserted deleted"),
        (variants::replace_where(), "inserted deleted"),
        (variants::error_if_exists(), "inserted"),
        (variants::ignore(), "inserted unchanged"),
        (variants::merge_upsert(), "inserted updated unchanged dropped"),
        (variants::merge_upsert_deleting(), "inserted updated deleted unchanged dropped deleting"),
        (variants::merge_upsert_on_condition(), "inserted updated deleted unmatched deleting"),
        (variants::merge_upsert_sequenced(), "inserted updated unchanged late dropped"),
        (
            variants::merge_upsert_tombstones(),
            "inserted updated deleted unchanged late dropped deleting",
        ),
        (variants::replace_partitions(), "inserted updated deleted unchanged"),
        (variants::merge_overwrites(), "inserted deleted unchanged"),
        (variants::hash_diff_upsert(), "inserted updated unchanged late dropped"),
        (
            variants::hash_diff_deleting(),
            "inserted updated deleted unchanged late dropped deleting",
        ),
        (variants::snapshot_soft_delete(), "inserted updated deleted unchanged dropped"),
        (
            variants::versions(),
            "inserted updated unchanged late dropped deleting opened closed split",
        ),
    ] {
        let mut told = String::new();
        for setup in &setups {
            let (landed, steps, counts) = reach(setup);
            assert!(landed * 2 > steps || setup.name == "error_if_exists", "{}", setup.name);
            told += &counts;
        }
        for count in reached.split(' ') {
            assert!(told.contains(&format!("{count} ")), "{}: {count}: {told}", setups[0].name);
        }
    }
}

/// Steps that land, all steps, and the counts of those that land.
fn reach(setup: &Setup) -> (usize, usize, String) {
    let (mut landed, mut steps, mut told) = (0, 0, String::new());
    for seed in 0..SEQUENCES {
        let mut table = Table::default();
        for step in draw::sequence(setup, seed) {
            steps += 1;
            let load = setup.load(step.other);
            if let Ok((after, counts)) =
                oracle::load(&table, load, &step.batch, started_at(step.number))
            {
                landed += 1;
                table = after;
                told += &tell(&counts);
                told += "\n";
            }
        }
    }
    (landed, steps, told)
}
