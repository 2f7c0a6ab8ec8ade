//! The variants of each strategy that random sequences are run of.

use wasmhost::flow::Changes;
use wasmhost::flow::Compare;
use wasmhost::flow::HashDiff;
use wasmhost::flow::Keys;
use wasmhost::flow::Load;
use wasmhost::flow::MergeOverwrite;
use wasmhost::flow::MergeStrategy;
use wasmhost::flow::PartitionValue;
use wasmhost::flow::Scd2;
use wasmhost::flow::Snapshot;
use wasmhost::flow::Upsert;
use wasmhost::flow::VersionColumns;
use wasmhost::table::LateHistory;
use wasmhost::table::LateRow;

use super::setup::Key;
use super::setup::Repeats;
use super::setup::Setup;
use super::setup::Stages;
use super::setup::column;
use super::setup::columns;
use super::setup::condition;
use super::setup::deleting;
use super::setup::guarded;
use super::setup::keys;
use super::setup::latest;
use super::setup::pair;
use super::setup::sequence;
use super::truth;

/// Too little for the rows of a large batch.
const LITTLE_MEMORY: u64 = 16 << 10;

const OVERWRITE: Load = Load::Overwrite { allow_empty: true, partition: None };

fn k() -> Keys {
    keys(&["k"])
}

fn overwritten_first(setup: Setup) -> Setup {
    Setup { other: Some(OVERWRITE), ..setup }
}

fn appended_first(setup: Setup) -> Setup {
    Setup { other: Some(Load::Append {}), repeats: Repeats::Free, ..setup }
}

fn partitioned(setup: Setup) -> Setup {
    Setup { partitioned: true, lacking: &["v", "d"], ..setup }
}

fn free(setup: Setup) -> Setup {
    Setup { repeats: Repeats::Free, ..setup }
}

pub(super) fn upsert(keys: Keys, changes: Changes) -> Upsert {
    Upsert { keys, strategy: MergeStrategy::Delta, condition: None, changes }
}

pub(super) fn hash_diff(keys: Keys, compare: Compare, changes: Changes) -> Load {
    Load::HashDiffUpsert(HashDiff { keys, compare, changes })
}

pub(super) fn snapshot(keys: Keys, compare: Compare) -> Load {
    Load::SnapshotSoftDelete(Snapshot { keys, compare })
}

pub(super) fn merge_overwrite(keys: Keys) -> Load {
    Load::MergeOverwrite(MergeOverwrite { keys })
}

pub(super) fn scd2(keys: Keys, late: LateHistory) -> Scd2 {
    Scd2 {
        keys,
        effective: column("at"),
        compare: Compare::All,
        columns: VersionColumns {
            valid_from: column("__valid_from"),
            valid_to: column("__valid_to"),
            is_current: column("__is_current"),
        },
        sequence_by: Vec::new(),
        late,
        delete_when: None,
        close_missing: false,
    }
}

pub(super) fn append() -> Vec<Setup> {
    let append = || free(Setup::new("append", Load::Append {}));
    vec![append(), partitioned(Setup { name: "append by partition".into(), ..append() })]
}

pub(super) fn overwrite() -> Vec<Setup> {
    let guarded = Load::Overwrite { allow_empty: false, partition: None };
    vec![
        partitioned(free(Setup::new("overwrite", OVERWRITE))),
        Setup { system: true, ..free(Setup::new("overwrite, not empty", guarded)) },
    ]
}

pub(super) fn overwrite_one_partition() -> Vec<Setup> {
    let partition = PartitionValue { column: column("p"), value: "a".into() };
    let load = Load::Overwrite { allow_empty: false, partition: Some(partition) };
    vec![partitioned(appended_first(Setup::new("overwrite of a partition", load)))]
}

pub(super) fn overwrite_partitions() -> Vec<Setup> {
    let load = Load::OverwritePartitions { replace_where: None, allow_empty: false };
    vec![partitioned(free(Setup::new("overwrite_partitions", load)))]
}

/// What files without a log take. They have no columns that some rows lack.
pub(super) fn flat() -> Vec<Setup> {
    let all = [
        append(),
        overwrite(),
        overwrite_one_partition(),
        overwrite_partitions(),
        error_if_exists(),
        ignore(),
    ];
    let mixed = Setup { other: Some(OVERWRITE), ..overwrite_partitions().remove(0) };
    let mixed = Setup { name: "overwrite_partitions and overwrite".into(), ..mixed };
    let all = all.into_iter().flatten().chain([mixed]);
    let on_files = |setup: Setup| Setup {
        name: format!("{} on files", setup.name),
        flat: true,
        lacking: &[],
        ..setup
    };
    all.map(on_files).collect()
}

pub(super) fn replace_where() -> Vec<Setup> {
    let load = |sql: &str, allow_empty| Load::OverwritePartitions {
        replace_where: Some(sql.to_owned()),
        allow_empty,
    };
    let by_partition = load(truth::PARTITION_A, false);
    let by_seq = load(truth::SEQ_FROM_20, true);
    vec![
        partitioned(appended_first(Setup::new("replace_where a partition", by_partition))),
        appended_first(Setup::new("replace_where a value", by_seq.clone())),
        partitioned(appended_first(Setup::new("replace_where a value by partition", by_seq))),
    ]
}

pub(super) fn error_if_exists() -> Vec<Setup> {
    vec![partitioned(free(Setup::new("error_if_exists", Load::ErrorIfExists {})))]
}

pub(super) fn ignore() -> Vec<Setup> {
    vec![free(Setup::new("ignore", Load::Ignore {}))]
}

pub(super) fn merge_upsert() -> Vec<Setup> {
    let plain = || Changes::default();
    let new = |name: &str, upsert| Setup::new(name, Load::MergeUpsert(upsert));
    let by_partition = MergeStrategy::DeltaByPartition { column: column("p") };
    vec![
        Setup { system: true, lacking: &["v", "d"], ..new("upsert", upsert(k(), plain())) },
        Setup {
            key: Key::Text,
            system: true,
            ..partitioned(new("upsert by partition", upsert(k(), plain())))
        },
        Setup { key: Key::Pair, ..partitioned(new("upsert of pairs", upsert(pair(), plain()))) },
        partitioned(new(
            "upsert, delta_by_partition",
            Upsert { strategy: by_partition, ..upsert(k(), plain()) },
        )),
        Setup {
            repeats: Repeats::BySeq,
            ..new("upsert, keep_latest", upsert(latest(k()), plain()))
        },
    ]
}

pub(super) fn merge_upsert_deleting() -> Vec<Setup> {
    let plain = || Changes::default();
    let new = |name: &str, upsert| Setup::new(name, Load::MergeUpsert(upsert));
    vec![
        Setup {
            repeats: Repeats::BySeq,
            ..partitioned(new(
                "upsert, keep_latest, deletions",
                upsert(latest(k()), deleting(plain())),
            ))
        },
        new("upsert, deletions guarded", upsert(guarded(k()), deleting(plain()))),
    ]
}

pub(super) fn merge_upsert_on_condition() -> Vec<Setup> {
    let plain = || Changes::default();
    let new = |name: &str, upsert| Setup::new(name, Load::MergeUpsert(upsert));
    let not_older = || condition(truth::NOT_OLDER, "T", "S");
    let other_text = condition(truth::OTHER_TEXT, "old", "new");
    let late = Changes { late: LateRow::Error, ..sequence(&["seq"]) };
    vec![
        overwritten_first(new(
            "upsert on condition",
            Upsert { condition: not_older(), ..upsert(k(), plain()) },
        )),
        Setup {
            lacking: &["d"],
            ..new(
                "upsert on condition, deletions",
                Upsert { condition: other_text, ..upsert(k(), deleting(plain())) },
            )
        },
        free(new(
            "upsert on condition, tombstones, late is an error",
            Upsert { condition: not_older(), ..upsert(k(), deleting(late)) },
        )),
    ]
}

pub(super) fn merge_upsert_sequenced() -> Vec<Setup> {
    let new = |name: &str, upsert| free(Setup::new(name, Load::MergeUpsert(upsert)));
    let late = Changes { late: LateRow::Error, ..sequence(&["seq"]) };
    vec![
        overwritten_first(new("upsert, sequence", upsert(k(), sequence(&["seq"])))),
        Setup {
            system: true,
            ..partitioned(new("upsert, two sequences", upsert(k(), sequence(&["at", "seq"]))))
        },
        overwritten_first(new("upsert, late is an error", upsert(k(), late))),
    ]
}

pub(super) fn merge_upsert_tombstones() -> Vec<Setup> {
    let new = |name: &str, upsert| free(Setup::new(name, Load::MergeUpsert(upsert)));
    vec![
        Setup {
            system: true,
            lacking: &["v", "d"],
            ..new("upsert, tombstones", upsert(k(), deleting(sequence(&["seq"]))))
        },
        Setup {
            key: Key::Pair,
            ..partitioned(new(
                "upsert of pairs, tombstones by partition",
                upsert(pair(), deleting(sequence(&["seq", "at"]))),
            ))
        },
        new("upsert, tombstones guarded", upsert(guarded(k()), deleting(sequence(&["seq"])))),
    ]
}

pub(super) fn replace_partitions() -> Vec<Setup> {
    let load = |keys| {
        let strategy = MergeStrategy::ReplacePartitions { column: column("p") };
        Load::MergeUpsert(Upsert { strategy, ..upsert(keys, Changes::default()) })
    };
    vec![
        Setup { system: true, ..partitioned(Setup::new("replace_partitions", load(k()))) },
        Setup {
            key: Key::Pair,
            ..partitioned(Setup::new("replace_partitions of pairs", load(pair())))
        },
        partitioned(Setup::new("replace_partitions guarded", load(guarded(k())))),
    ]
}

pub(super) fn merge_overwrites() -> Vec<Setup> {
    let text =
        Setup { key: Key::Text, ..free(Setup::new("merge_overwrite", merge_overwrite(k()))) };
    let pairs = free(Setup::new("merge_overwrite of pairs", merge_overwrite(pair())));
    let appended = Setup::new("merge_overwrite after appends", merge_overwrite(k()));
    vec![
        text,
        Setup { key: Key::Pair, system: true, ..partitioned(pairs) },
        partitioned(appended_first(appended)),
    ]
}

pub(super) fn hash_diff_upsert() -> Vec<Setup> {
    let plain = Changes::default;
    let some = || Compare::Columns(columns(&["v", "f"]));
    let most = || Compare::AllExcept(columns(&["seq", "at", "gone"]));
    let new = |name: &str, load| Setup::new(name, load);
    vec![
        Setup {
            system: true,
            ..partitioned(new("hash_diff", hash_diff(k(), Compare::All, plain())))
        },
        Setup {
            lacking: &["d"],
            partitioned: true,
            ..new("hash_diff of columns", hash_diff(k(), some(), plain()))
        },
        Setup {
            key: Key::Pair,
            lacking: &["d"],
            ..new("hash_diff of most columns", hash_diff(pair(), most(), plain()))
        },
        Setup {
            repeats: Repeats::BySeq,
            ..new("hash_diff, keep_latest", hash_diff(latest(k()), some(), plain()))
        },
        overwritten_first(free(new(
            "hash_diff of columns, sequence",
            hash_diff(k(), some(), sequence(&["seq"])),
        ))),
    ]
}

pub(super) fn hash_diff_deleting() -> Vec<Setup> {
    let some = || Compare::Columns(columns(&["v", "f"]));
    let deletions = deleting(Changes::default());
    let new = |name: &str, load| Setup::new(name, load);
    vec![
        Setup {
            repeats: Repeats::BySeq,
            ..new("hash_diff, keep_latest, deletions", hash_diff(latest(k()), some(), deletions))
        },
        free(new(
            "hash_diff of columns, tombstones",
            hash_diff(k(), some(), deleting(sequence(&["seq"]))),
        )),
    ]
}

pub(super) fn snapshot_soft_delete() -> Vec<Setup> {
    let some = Compare::Columns(columns(&["v", "f"]));
    let new = |name: &str, load| Setup::new(name, load);
    vec![
        Setup { system: true, ..new("snapshot", snapshot(k(), Compare::All)) },
        Setup {
            key: Key::Pair,
            ..partitioned(new("snapshot of pairs by partition", snapshot(pair(), Compare::All)))
        },
        Setup { partitioned: true, ..new("snapshot, columns", snapshot(k(), some)) },
        Setup {
            repeats: Repeats::BySeq,
            ..new("snapshot, keep_latest", snapshot(latest(k()), Compare::All))
        },
        new("snapshot guarded", snapshot(guarded(k()), Compare::All)),
    ]
}

pub(super) fn versions() -> Vec<Setup> {
    let new =
        |name: &str, scd2| Setup { repeats: Repeats::ByTime, ..Setup::new(name, Load::Scd2(scd2)) };
    let gone = Some(truth::GONE.to_owned());
    let history = || scd2(k(), LateHistory::History);
    let deletions = || Scd2 { delete_when: gone.clone(), ..history() };
    let by_seq = || columns(&["seq"]);
    let some = || Compare::Columns(columns(&["v", "f"]));
    vec![
        partitioned(new("scd2", history())),
        Setup { system: true, ..new("scd2, deletions", deletions()) },
        Setup {
            system: true,
            ..new("scd2, sequence", Scd2 { sequence_by: by_seq(), ..history() })
        },
        Setup {
            key: Key::Pair,
            ..partitioned(new(
                "scd2 of pairs, sequence, deletions",
                Scd2 { keys: pair(), sequence_by: by_seq(), ..deletions() },
            ))
        },
        new("scd2, columns", Scd2 { compare: some(), sequence_by: by_seq(), ..deletions() }),
        new("scd2, late ignored", Scd2 { late: LateHistory::Ignore, ..deletions() }),
        new("scd2, late is an error", Scd2 { late: LateHistory::Error, ..deletions() }),
        new("scd2, late appended", Scd2 { late: LateHistory::Append, ..deletions() }),
        new(
            "scd2, late appended, sequence",
            Scd2 { late: LateHistory::Append, sequence_by: by_seq(), ..history() },
        ),
        partitioned(new("scd2, close_missing", Scd2 { close_missing: true, ..deletions() })),
        new(
            "scd2, close_missing, late ignored",
            Scd2 { close_missing: true, late: LateHistory::Ignore, ..history() },
        ),
        new("scd2 guarded", Scd2 { keys: guarded(k()), close_missing: true, ..deletions() }),
    ]
}

/// The first two variants, with batches too large for their memory.
pub(super) fn spilled(setups: Vec<Setup>) -> Vec<Setup> {
    let spill = |setup: Setup| Setup {
        name: format!("{}, spilled", setup.name),
        rows_max: 300,
        memory_bytes: LITTLE_MEMORY,
        ..setup
    };
    setups.into_iter().take(2).map(spill).collect()
}

/// The first two variants, each row handed over by itself.
pub(super) fn row_by_row(setups: Vec<Setup>) -> Vec<Setup> {
    let cut = |setup: Setup| Setup {
        name: format!("{}, row by row", setup.name),
        stages: Stages::Rows,
        ..setup
    };
    setups.into_iter().take(2).map(cut).collect()
}
