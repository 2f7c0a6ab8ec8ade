//! Random sequences of every strategy, a test each; `check::check` says how one of them is run again.

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
    check(&variants::append());
}

#[test]
fn overwrite_is_as_the_model_says() {
    check(&variants::overwrite());
}

#[test]
fn overwrite_of_a_partition_is_as_the_model_says() {
    check(&variants::overwrite_one_partition());
}

#[test]
fn overwrite_partitions_is_as_the_model_says() {
    check(&variants::overwrite_partitions());
}

#[test]
fn replace_where_is_as_the_model_says() {
    check(&variants::replace_where());
}

#[test]
fn error_if_exists_is_as_the_model_says() {
    check(&variants::error_if_exists());
}

#[test]
fn ignore_is_as_the_model_says() {
    check(&variants::ignore());
}

#[test]
fn merge_upsert_is_as_the_model_says() {
    check(&variants::merge_upsert());
}

#[test]
fn merge_upsert_with_deletions_is_as_the_model_says() {
    check(&variants::merge_upsert_deleting());
}

#[test]
fn merge_upsert_on_condition_is_as_the_model_says() {
    check(&variants::merge_upsert_on_condition());
}

#[test]
fn merge_upsert_in_sequence_is_as_the_model_says() {
    check(&variants::merge_upsert_sequenced());
}

#[test]
fn merge_upsert_with_tombstones_is_as_the_model_says() {
    check(&variants::merge_upsert_tombstones());
}

#[test]
fn replace_partitions_is_as_the_model_says() {
    check(&variants::replace_partitions());
}

#[test]
fn merge_overwrite_is_as_the_model_says() {
    check(&variants::merge_overwrites());
}

#[test]
fn hash_diff_upsert_is_as_the_model_says() {
    check(&variants::hash_diff_upsert());
}

#[test]
fn hash_diff_upsert_with_deletions_is_as_the_model_says() {
    check(&variants::hash_diff_deleting());
}

#[test]
fn snapshot_soft_delete_is_as_the_model_says() {
    check(&variants::snapshot_soft_delete());
}

#[test]
fn scd2_is_as_the_model_says() {
    check(&variants::versions());
}

#[test]
fn overwrite_partitions_spills() {
    check(&spilled(variants::overwrite_partitions()));
}

#[test]
fn replace_where_spills() {
    check(&spilled(variants::replace_where()));
}

#[test]
fn merge_upsert_spills() {
    check(&spilled(variants::merge_upsert()));
}

#[test]
fn merge_upsert_with_deletions_spills() {
    check(&spilled(variants::merge_upsert_deleting()));
}

#[test]
fn merge_upsert_on_condition_spills() {
    check(&spilled(variants::merge_upsert_on_condition()));
}

#[test]
fn merge_upsert_in_sequence_spills() {
    check(&spilled(variants::merge_upsert_sequenced()));
}

#[test]
fn merge_upsert_with_tombstones_spills() {
    check(&spilled(variants::merge_upsert_tombstones()));
}

#[test]
fn replace_partitions_spills() {
    check(&spilled(variants::replace_partitions()));
}

#[test]
fn merge_overwrite_spills() {
    check(&spilled(variants::merge_overwrites()));
}

#[test]
fn hash_diff_upsert_spills() {
    check(&spilled(variants::hash_diff_upsert()));
}

#[test]
fn hash_diff_upsert_with_deletions_spills() {
    check(&spilled(variants::hash_diff_deleting()));
}

#[test]
fn snapshot_soft_delete_spills() {
    check(&spilled(variants::snapshot_soft_delete()));
}

#[test]
fn scd2_spills() {
    check(&spilled(variants::versions()));
}

#[test]
fn append_takes_row_by_row() {
    check(&row_by_row(variants::append()));
}

#[test]
fn overwrite_takes_row_by_row() {
    check(&row_by_row(variants::overwrite()));
}

#[test]
fn overwrite_partitions_takes_row_by_row() {
    check(&row_by_row(variants::overwrite_partitions()));
}

#[test]
fn replace_where_takes_row_by_row() {
    check(&row_by_row(variants::replace_where()));
}

#[test]
fn merge_upsert_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert()));
}

#[test]
fn merge_upsert_with_deletions_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_deleting()));
}

#[test]
fn merge_upsert_on_condition_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_on_condition()));
}

#[test]
fn merge_upsert_in_sequence_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_sequenced()));
}

#[test]
fn merge_upsert_with_tombstones_takes_row_by_row() {
    check(&row_by_row(variants::merge_upsert_tombstones()));
}

#[test]
fn replace_partitions_takes_row_by_row() {
    check(&row_by_row(variants::replace_partitions()));
}

#[test]
fn merge_overwrite_takes_row_by_row() {
    check(&row_by_row(variants::merge_overwrites()));
}

#[test]
fn hash_diff_upsert_takes_row_by_row() {
    check(&row_by_row(variants::hash_diff_upsert()));
}

#[test]
fn hash_diff_upsert_with_deletions_takes_row_by_row() {
    check(&row_by_row(variants::hash_diff_deleting()));
}

#[test]
fn snapshot_soft_delete_takes_row_by_row() {
    check(&row_by_row(variants::snapshot_soft_delete()));
}

#[test]
fn scd2_takes_row_by_row() {
    check(&row_by_row(variants::versions()));
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
