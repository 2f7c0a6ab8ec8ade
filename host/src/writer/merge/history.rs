//! Versions of one key: changes in order meet the versions that are stored. Pure: moments are bytes that compare as their values do.

use std::cmp::Ordering;

use crate::table::LateHistory;

/// A value of the effective column, or a sequence, in bytes that order as the values do.
pub(super) type Moment = Box<[u8]>;

/// A stored version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    /// Its begin.
    pub(super) from: Moment,
    /// Its end; `None` while it is open.
    pub(super) to: Option<Moment>,
    /// Stands for the values that count.
    pub(super) content: u128,
    /// Its sequence; empty without `sequence_by`.
    pub(super) sequence: Moment,
}

/// A row that came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Change {
    /// From when on it holds.
    pub(super) at: Moment,
    /// Stands for the values that count.
    pub(super) content: u128,
    /// Its sequence; empty without `sequence_by`.
    pub(super) sequence: Moment,
    /// Whether it deletes the key.
    pub(super) deletes: bool,
}

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// A version of its own.
    Opened,
    /// It is there already.
    Unchanged,
    /// Another row of the batch stands for it.
    Dropped,
    /// Older than the newest version, and left out.
    IgnoredLate,
    /// It ended a version, or found none to end.
    Deleted,
    /// The current version that begins with it took its values.
    Updated,
}

/// How a stored version ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ended {
    /// It was open.
    Closed(Moment),
    /// It had ended, and ends earlier now.
    Split(Moment),
}

/// A version that begins in this run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Opened {
    /// Which change it holds.
    pub(super) change: usize,
    /// Its end; `None` while it is open. Its begin is the change's moment.
    pub(super) to: Option<Moment>,
    /// Whether it is the current one.
    pub(super) current: bool,
}

/// A key's history after the changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Outcome {
    /// One a change, in the order given.
    pub(super) fates: Vec<Fate>,
    /// Stored versions that end, by their place.
    pub(super) ended: Vec<(usize, Ended)>,
    /// Stored versions that take the values of a change, by their place; from and to are not its matter.
    pub(super) taken: Vec<(usize, usize)>,
    /// New versions.
    pub(super) opened: Vec<Opened>,
    /// Open versions that a deletion ended.
    pub(super) removed: u64,
}

/// Why nothing is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refusal {
    /// Two rows of the batch begin at the same moment.
    #[error("two different rows of one key begin at the same moment, and no sequence decides")]
    Tie(usize, usize),
    /// A row begins with a stored version and differs from it.
    #[error("a row begins with a stored version of its key and differs from it")]
    Differs(usize),
    /// A row is older than the newest version.
    #[error("a row is older than the newest version of its key")]
    Late(usize),
    /// The stored versions overlap.
    #[error("stored versions of the key overlap")]
    Overlap,
}

/// A version while changes are applied.
struct Live {
    origin: Origin,
    from: Moment,
    to: Option<Moment>,
    content: u128,
    sequence: Moment,
}

#[derive(Clone, Copy)]
enum Origin {
    Stored(usize),
    Change(usize),
}

/// Applies changes to the versions of one key.
///
/// # Errors
/// The first reason to write nothing.
pub(super) fn apply(
    stored: &[Stored],
    changes: &[Change],
    late: LateHistory,
) -> Result<Outcome, Refusal> {
    let mut history = History::new(stored, changes, late)?;
    let mut order: Vec<usize> = (0..changes.len()).collect();
    order.sort_by(|a, b| {
        let key = |change: &Change| (change.at.clone(), change.sequence.clone());
        key(&changes[*a]).cmp(&key(&changes[*b]))
    });
    for same_moment in order.chunk_by(|a, b| changes[*a].at == changes[*b].at) {
        let [before @ .., last] = same_moment else { continue };
        for change in before {
            history.superseded(*change, *last)?;
        }
        history.change(*last)?;
    }
    Ok(history.outcome(stored))
}

struct History<'a> {
    changes: &'a [Change],
    late: LateHistory,
    /// By begin.
    versions: Vec<Live>,
    fates: Vec<Fate>,
    taken: Vec<(usize, usize)>,
    removed: u64,
}

impl<'a> History<'a> {
    fn new(stored: &[Stored], changes: &'a [Change], late: LateHistory) -> Result<Self, Refusal> {
        let live = |(place, version): (usize, &Stored)| Live {
            origin: Origin::Stored(place),
            from: version.from.clone(),
            to: version.to.clone(),
            content: version.content,
            sequence: version.sequence.clone(),
        };
        let mut versions: Vec<_> = stored.iter().enumerate().map(live).collect();
        versions.sort_by(|a, b| a.from.cmp(&b.from));
        let overlap = |pair: &[Live]| pair[0].to.as_ref().is_none_or(|to| *to > pair[1].from);
        if late != LateHistory::Append && versions.windows(2).any(overlap) {
            return Err(Refusal::Overlap);
        }
        let fates = vec![Fate::Dropped; changes.len()];
        Ok(Self { changes, late, versions, fates, taken: Vec::new(), removed: 0 })
    }

    /// A row whose moment another one of the batch has, too, which counts.
    fn superseded(&mut self, change: usize, last: usize) -> Result<(), Refusal> {
        let (a, b) = (&self.changes[change], &self.changes[last]);
        let same = (a.content, a.deletes) == (b.content, b.deletes);
        if a.sequence == b.sequence && !same {
            return Err(Refusal::Tie(change, last));
        }
        self.fates[change] = Fate::Dropped;
        Ok(())
    }

    fn change(&mut self, index: usize) -> Result<(), Refusal> {
        let change = &self.changes[index];
        let at = &change.at;
        if self.versions.iter().any(|version| version.from == *at) {
            return self.meets(index);
        }
        let newest = self.versions.last();
        let is_late = newest
            .is_some_and(|last| last.from > *at || last.to.as_ref().is_some_and(|to| to > at));
        self.fates[index] = match (is_late, self.late) {
            (false, _) => self.newer(index),
            (true, LateHistory::Ignore) => Fate::IgnoredLate,
            (true, LateHistory::Error) => return Err(Refusal::Late(index)),
            (true, LateHistory::Append) => self.open(index, None),
            (true, LateHistory::History) => self.place(index),
        };
        Ok(())
    }

    /// Newer than all versions.
    fn newer(&mut self, index: usize) -> Fate {
        let change = &self.changes[index];
        let open: Vec<_> =
            (0..self.versions.len()).filter(|place| self.versions[*place].to.is_none()).collect();
        let newest = open.last().map(|place| &self.versions[*place]);
        if let Some(newest) = newest
            && !change.deletes
            && newest.content == change.content
        {
            return Fate::Unchanged;
        }
        for place in &open {
            self.versions[*place].to = Some(change.at.clone());
        }
        if change.deletes {
            let stored =
                |place: &&usize| matches!(self.versions[**place].origin, Origin::Stored(_));
            self.removed += open.iter().filter(stored).count() as u64;
            return Fate::Deleted;
        }
        self.open(index, None)
    }

    /// Where it belongs among older versions.
    fn place(&mut self, index: usize) -> Fate {
        let change = &self.changes[index];
        let at = &change.at;
        let holds =
            |version: &Live| version.from < *at && version.to.as_ref().is_none_or(|to| at < to);
        if let Some(within) = self.versions.iter().rposition(holds) {
            if !change.deletes && self.versions[within].content == change.content {
                return Fate::Unchanged;
            }
            let end = self.versions[within].to.replace(at.clone());
            return if change.deletes { Fate::Deleted } else { self.open(index, end) };
        }
        if change.deletes {
            return Fate::Deleted;
        }
        let next = self.versions.iter().find(|version| version.from > *at);
        let end = next.map(|next| next.from.clone());
        self.open(index, end)
    }

    /// It begins with a version; with several where late rows are inserted as they come.
    fn meets(&mut self, index: usize) -> Result<(), Refusal> {
        let change = &self.changes[index];
        let same = || self.versions.iter().enumerate().filter(|(_, it)| it.from == change.at);
        let is_same = same().any(|(_, it)| it.content == change.content);
        let is_newest = self.versions.last().is_some_and(|last| last.from == change.at);
        let appends = self.late == LateHistory::Append && is_newest;
        let current = same().find(|(_, it)| it.to.is_none()).map(|(place, _)| place);
        let decides = current.filter(|_| !change.sequence.is_empty() && !appends);
        let order = decides.map(|place| change.sequence.cmp(&self.versions[place].sequence));
        self.fates[index] = match (order, decides) {
            (Some(Ordering::Less), _) if change.deletes || !is_same => Fate::IgnoredLate,
            _ if change.deletes => return Err(Refusal::Differs(index)),
            // What is only newer is remembered as newer: the highest sequence wins whatever the arrival.
            (Some(Ordering::Greater), Some(place)) => {
                let version = &mut self.versions[place];
                if let Origin::Stored(place) = version.origin {
                    self.taken.push((place, index));
                }
                version.content = change.content;
                version.sequence = change.sequence.clone();
                Fate::Updated
            }
            _ if is_same => Fate::Unchanged,
            _ if appends => self.open(index, None),
            _ => return Err(Refusal::Differs(index)),
        };
        Ok(())
    }

    fn open(&mut self, index: usize, to: Option<Moment>) -> Fate {
        let change = &self.changes[index];
        let place = self.versions.partition_point(|version| version.from <= change.at);
        self.versions.insert(
            place,
            Live {
                origin: Origin::Change(index),
                from: change.at.clone(),
                to,
                content: change.content,
                sequence: change.sequence.clone(),
            },
        );
        Fate::Opened
    }

    fn outcome(self, stored: &[Stored]) -> Outcome {
        let mut outcome = Outcome {
            fates: self.fates,
            removed: self.removed,
            taken: self.taken,
            ..Outcome::default()
        };
        for version in self.versions {
            match version.origin {
                Origin::Change(change) => outcome.opened.push(Opened {
                    change,
                    current: version.to.is_none(),
                    to: version.to,
                }),
                Origin::Stored(place) => match (&stored[place].to, version.to) {
                    (None, Some(to)) => outcome.ended.push((place, Ended::Closed(to))),
                    (Some(before), Some(to)) if *before != to => {
                        outcome.ended.push((place, Ended::Split(to)));
                    }
                    _ => {}
                },
            }
        }
        outcome
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Versions and changes as text: `1-5a` is version a from 1 to 5, `1-a` an open one; `3b` is a change, `3!` a deletion.
    fn check(
        stored: &[&str],
        changes: &[&str],
        late: LateHistory,
        right: Result<&[&str], Refusal>,
    ) {
        let moment = |text: &str| -> Moment { text.as_bytes().into() };
        let content = |text: &str| u128::from(text.bytes().next().unwrap_or_default());
        let versions: Vec<_> = stored
            .iter()
            .map(|text| {
                let (from, rest) = text.split_at(1);
                let rest = rest.trim_start_matches('-');
                let (to, value) = rest.split_at(rest.len() - 1);
                let to = (!to.is_empty()).then(|| moment(to));
                Stored { from: moment(from), to, content: content(value), sequence: moment("") }
            })
            .collect();
        let rows: Vec<_> = changes
            .iter()
            .map(|text| Change {
                at: moment(&text[..1]),
                content: content(&text[1..]),
                sequence: moment(text.get(2..).unwrap_or_default()),
                deletes: &text[1..] == "!",
            })
            .collect();
        let found = apply(&versions, &rows, late).map(|outcome| {
            let text = |moment: &Moment| String::from_utf8_lossy(moment).into_owned();
            let ended = outcome.ended.iter().map(|(place, ended)| match ended {
                Ended::Closed(to) => format!("{} closed {}", stored[*place], text(to)),
                Ended::Split(to) => format!("{} split {}", stored[*place], text(to)),
            });
            let taken = outcome.taken.iter();
            let taken = taken
                .map(|(place, change)| format!("{} takes {}", stored[*place], changes[*change]));
            let opened = outcome.opened.iter().map(|new| {
                let to = new.to.as_ref().map(text).unwrap_or_default();
                format!("{}-{to}{}", changes[new.change], if new.current { " current" } else { "" })
            });
            let fates = outcome.fates.iter().zip(changes).filter_map(|(fate, change)| match fate {
                Fate::Opened | Fate::Updated => None,
                other => Some(format!("{change} {other:?}")),
            });
            ended.chain(taken).chain(opened).chain(fates).collect::<Vec<_>>()
        });
        let right = right.map(|lines| lines.iter().map(|line| (*line).to_owned()).collect());
        assert_eq!(found, right, "{stored:?} {changes:?}");
    }

    const HISTORY: LateHistory = LateHistory::History;

    #[test]
    fn what_cannot_be_decided_is_refused() {
        check(&["1-a"], &["1b"], HISTORY, Err(Refusal::Differs(0)));
        check(&["1-a"], &["1!"], HISTORY, Err(Refusal::Differs(0)));
        check(&["1-5a", "5-b"], &["1c"], HISTORY, Err(Refusal::Differs(0)));
        check(&[], &["2a", "2b"], HISTORY, Err(Refusal::Tie(0, 1)));
        check(&["5-a"], &["3b"], LateHistory::Error, Err(Refusal::Late(0)));
        check(&["1-a", "3-b"], &["5c"], HISTORY, Err(Refusal::Overlap));
    }

    #[test]
    fn newer_changes_close_and_open() {
        check(&[], &["3a"], HISTORY, Ok(&["3a- current"]));
        check(&["1-a"], &["3b"], HISTORY, Ok(&["1-a closed 3", "3b- current"]));
        check(&["1-a"], &["3a"], HISTORY, Ok(&["3a Unchanged"]));
        check(&["1-a"], &["3!"], HISTORY, Ok(&["1-a closed 3", "3! Deleted"]));
        check(&["1-3a"], &["5a"], HISTORY, Ok(&["5a- current"]));
        check(&["1-3a"], &["3b"], HISTORY, Ok(&["3b- current"]));
        check(&[], &["3!"], HISTORY, Ok(&["3! Deleted"]));
        check(
            &["1-a"],
            &["7c", "5b", "5b"],
            HISTORY,
            Ok(&["1-a closed 5", "5b-7", "7c- current", "5b Dropped"]),
        );
    }

    #[test]
    fn late_changes_are_placed_ignored_or_appended() {
        check(&["2-5a", "5-b"], &["3c"], HISTORY, Ok(&["2-5a split 3", "3c-5"]));
        check(&["2-5a", "5-b"], &["3a"], HISTORY, Ok(&["3a Unchanged"]));
        check(&["2-5a", "5-b"], &["1c"], HISTORY, Ok(&["1c-2"]));
        check(&["2-4a", "6-b"], &["5c"], HISTORY, Ok(&["5c-6"]));
        check(&["2-5a", "5-b"], &["3!"], HISTORY, Ok(&["2-5a split 3", "3! Deleted"]));
        check(&["2-5a"], &["3b"], HISTORY, Ok(&["2-5a split 3", "3b-5"]));
        check(&["5-a"], &["3b"], LateHistory::Ignore, Ok(&["3b IgnoredLate"]));
        check(&["5-a"], &["3b"], LateHistory::Append, Ok(&["3b- current"]));
        check(&["5-a"], &["5b"], LateHistory::Append, Ok(&["5b- current"]));
        check(&["5-a", "5-b"], &["5a"], LateHistory::Append, Ok(&["5a Unchanged"]));
    }

    #[test]
    fn sequences_decide_between_rows_of_one_moment() {
        check(&[], &["3a1", "3b2"], HISTORY, Ok(&["3b2- current", "3a1 Dropped"]));
        let dropped = ["3c2- current", "3a1 Dropped", "3b1 Dropped"];
        check(&[], &["3a1", "3b1", "3c2"], HISTORY, Ok(&dropped));
        check(&[], &["3a2", "3b2", "3c1"], HISTORY, Err(Refusal::Tie(0, 1)));
        check(&["3-a"], &["3b1"], HISTORY, Ok(&["3-a takes 3b1"]));
        check(&["3-a"], &["3a1"], HISTORY, Ok(&["3-a takes 3a1"]));
        let both = ["3-a closed 5", "3-a takes 3b1", "5c1- current"];
        check(&["3-a"], &["3b1", "5c1"], HISTORY, Ok(&both));
    }
}
