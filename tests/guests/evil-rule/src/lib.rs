//! A rule for tests that misbehaves on request. It implements the bare contract, as the SDK would not let it.
//!
//! Behaves like this otherwise: stateless, wants nothing, judges every row for each of its two reasons, hits none.

#[path = "../../evil-transform/src/deeds.rs"]
mod deeds;

use arrow_schema::Schema;
use deeds::Deed;
use std::cell::RefCell;
use std::sync::Arc;
use wasmhost_guest::bindings::plugin_exports::{Descriptor, Guest as Plugin};
use wasmhost_guest::bindings::rule_exports::{
    Conclusion, Guest, LateFinding, Opened, TableFinding,
};
use wasmhost_guest::bindings::types::{Context, Judgement, NamedInput, Statefulness};
use wasmhost_guest::{Diagnostic, Failure, Reason};

/// What to do, and when.
#[derive(Clone, Copy, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The call to misbehave in; wrong answers have calls of their own.
    #[serde(rename = "in", default)]
    call: Call,
    #[serde(rename = "do")]
    deed: Misdeed,
    /// So many batches are judged well before.
    #[serde(default)]
    after: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Call {
    Open,
    #[default]
    Check,
    EndInput,
    Conclude,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Misdeed {
    AnyCall(Deed),
    Answer(Wrong),
}

/// What is wrong with the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Wrong {
    // The answer to `open`.
    /// Wants a column that there is not.
    Projection,
    /// Wants columns of an input that there is not.
    Projections,
    /// Keyed by a column that there is not.
    Key,
    /// Declares 5,000 reasons.
    Reasons,
    /// Declares a reason of 1 MiB.
    ReasonText,
    /// Declares two reasons alike.
    ReasonCodes,
    // The answer to `check`.
    /// A judgement too few.
    JudgementMissing,
    /// A reason judged twice, and another not at all.
    JudgementTwice,
    /// A reason that was not declared.
    Reason,
    /// A bitmap that is a byte short.
    BitmapShort,
    /// A bitmap that is a byte long.
    BitmapLong,
    /// Padding bits set.
    BitmapPadding,
    /// More hits than rows judged.
    Evaluated,
    /// More rows judged than there are.
    EvaluatedRows,
    /// More NULLs than rows judged.
    Nulls,
    /// 100,000 judgements.
    Judgements,
    // The answer to `conclude`; all but the first need the whole input.
    /// A verdict without end.
    EndlessConclude,
    /// A finding in a row that there is not.
    LateRow,
    /// A late finding for a reason that was not declared.
    LateReason,
    /// Two late findings about one row.
    LateTwice,
    /// A table finding for a reason that was not declared.
    TableReason,
    /// Something measured that is no number.
    NanMeasured,
    /// Ten million late findings.
    LateFindings,
}

impl Wrong {
    fn is_concluded(self) -> bool {
        matches!(self, Self::EndlessConclude | Self::LateRow | Self::LateReason | Self::LateTwice)
            || matches!(self, Self::TableReason | Self::NanMeasured | Self::LateFindings)
    }
}

struct State {
    config: Config,
    batches: u32,
    is_concluded: bool,
}

impl State {
    fn wrong(&self) -> Option<Wrong> {
        match self.config.deed {
            Misdeed::Answer(wrong) if self.batches >= self.config.after => Some(wrong),
            _ => None,
        }
    }

    fn misbehave(&self, call: Call) -> Result<(), Failure> {
        let Misdeed::AnyCall(deed) = self.config.deed else { return Ok(()) };
        if self.config.call != call || self.batches < self.config.after {
            return Ok(());
        }
        deed.commit();
        match deed {
            Deed::Diagnostics => {
                Err(Failure::BadConfig(vec![Diagnostic::new("evil", "x".repeat(1_000)); 100_000]))
            }
            _ => Ok(()),
        }
    }
}

thread_local! {
    static STATE: RefCell<Option<State>> = const { RefCell::new(None) };
}

fn with_state<R>(use_it: impl FnOnce(&mut State) -> Result<R, Failure>) -> Result<R, Failure> {
    STATE.with_borrow_mut(|state| match state {
        Some(state) => use_it(state),
        None => Err(Failure::internal("not-open", "called before `open`")),
    })
}

/// The component.
#[derive(Debug)]
pub struct Evil;

impl Plugin for Evil {
    fn describe() -> Descriptor {
        wasmhost_guest::install_panic_hook();
        Descriptor {
            name: env!("CARGO_PKG_NAME").to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: env!("CARGO_PKG_DESCRIPTION").to_owned(),
            config_schema: schemars::schema_for!(Config).as_value().to_string(),
            deterministic: true,
        }
    }
}

impl Guest for Evil {
    fn open(_: Context, config: String, inputs: Vec<NamedInput>) -> Result<Opened, Failure> {
        wasmhost_guest::install_panic_hook();
        let config: Config = wasmhost_guest::config::parse(&config)?;
        let state = State { config, batches: 0, is_concluded: false };
        state.misbehave(Call::Open)?;
        STATE.set(Some(state));
        let mut opened = Opened {
            statefulness: Statefulness::Stateless,
            reasons: vec![
                Reason::new("evil", [""; 0], "evil"),
                Reason::new("worse", [""; 0], "worse"),
            ],
            projections: vec![Vec::new(); inputs.len()],
            max_rows: None,
        };
        let Misdeed::Answer(wrong) = config.deed else { return Ok(opened) };
        match wrong {
            Wrong::Projection => opened.projections[0].push(100_000),
            Wrong::Projections => opened.projections.push(Vec::new()),
            Wrong::Key => opened.statefulness = Statefulness::Keyed(vec![100_000]),
            Wrong::Reasons => {
                opened.reasons =
                    (0..5_000).map(|at| Reason::new(format!("r{at}"), [""; 0], "evil")).collect();
            }
            Wrong::ReasonText => opened.reasons[0].message = "evil ".repeat((1 << 20) / 5),
            Wrong::ReasonCodes => opened.reasons[1].code.clone_from(&"evil".to_owned()),
            wrong if wrong.is_concluded() => opened.statefulness = Statefulness::WholeInput,
            _ => {}
        }
        Ok(opened)
    }

    fn check(_: u32, batch: Vec<u8>) -> Result<Vec<Judgement>, Failure> {
        with_state(|state| {
            state.misbehave(Call::Check)?;
            let rows =
                wasmhost_guest::decode::decode_batch(batch, &Arc::new(Schema::empty()))?.num_rows();
            let wrong = state.wrong();
            state.batches += 1;
            Ok(judgements(wrong, rows))
        })
    }

    fn end_input(_: u32) -> Result<(), Failure> {
        with_state(|state| state.misbehave(Call::EndInput))
    }

    fn conclude() -> Result<Option<Conclusion>, Failure> {
        with_state(|state| {
            state.misbehave(Call::Conclude)?;
            let is_again = std::mem::replace(&mut state.is_concluded, true);
            let mut conclusion = Conclusion { tables: Vec::new(), rows: Vec::new() };
            match state.wrong() {
                Some(Wrong::EndlessConclude) => {}
                Some(wrong) if is_again || !wrong.is_concluded() => return Ok(None),
                Some(Wrong::LateRow) => {
                    conclusion.rows.push(LateFinding { reason: 0, row: u64::MAX })
                }
                Some(Wrong::LateReason) => conclusion.rows.push(LateFinding { reason: 7, row: 0 }),
                Some(Wrong::LateTwice) => {
                    conclusion.rows = vec![LateFinding { reason: 0, row: 0 }; 2]
                }
                Some(Wrong::LateFindings) => {
                    conclusion.rows = vec![LateFinding { reason: 0, row: 0 }; 10_000_000]
                }
                Some(Wrong::TableReason) => {
                    conclusion.tables.push(TableFinding {
                        reason: 7,
                        measured: 1.0,
                        threshold: 2.0,
                    });
                }
                _ if is_again || state.wrong() != Some(Wrong::NanMeasured) => return Ok(None),
                _ => conclusion.tables.push(TableFinding {
                    reason: 0,
                    measured: f64::NAN,
                    threshold: f64::INFINITY,
                }),
            }
            Ok(Some(conclusion))
        })
    }
}

/// Good judgements, but for what is wrong.
fn judgements(wrong: Option<Wrong>, rows: usize) -> Vec<Judgement> {
    let good = |reason| Judgement {
        reason,
        hits: vec![0; rows.div_ceil(8)],
        evaluated: rows as u32,
        nulls: 0,
    };
    let mut judgements = vec![good(0), good(1)];
    let Some(wrong) = wrong else { return judgements };
    let last = &mut judgements[1];
    match wrong {
        Wrong::JudgementMissing => judgements.truncate(1),
        Wrong::JudgementTwice => last.reason = 0,
        Wrong::Reason => last.reason = 7,
        Wrong::BitmapShort => last.hits.truncate(rows.div_ceil(8).saturating_sub(1)),
        Wrong::BitmapLong => last.hits.push(0),
        Wrong::BitmapPadding => last.hits.fill(0xff),
        Wrong::Evaluated => {
            last.hits.fill(1);
            last.evaluated = 0;
        }
        Wrong::EvaluatedRows => last.evaluated += 1,
        Wrong::Nulls => last.nulls = last.evaluated + 1,
        Wrong::Judgements => judgements.resize(100_000, good(0)),
        _ => {}
    }
    judgements
}

wasmhost_guest::export_rule!(Evil);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_misdeed_has_a_name_of_its_own() -> Result<(), Failure> {
        for (name, is_answer) in [("memory", false), ("bitmap-short", true), ("nan-measured", true)]
        {
            let config: Config =
                wasmhost_guest::config::parse(&format!(r#"{{"in": "conclude", "do": "{name}"}}"#))?;
            assert_eq!(matches!(config.deed, Misdeed::Answer(_)), is_answer, "{name}");
        }
        Ok(())
    }

    #[test]
    fn wrong_verdicts_come_once_unless_they_are_endless() -> Result<(), Failure> {
        let schema = wasmhost_guest::encode::encode_schema(&Schema::empty());
        for (name, times) in
            [("nan-measured", 1), ("late-row", 1), ("reason", 0), ("endless-conclude", 5)]
        {
            let inputs = vec![NamedInput { name: "input".into(), schema: schema.clone() }];
            Evil::open(
                wasmhost_guest::harness::context(),
                format!(r#"{{"do": "{name}"}}"#),
                inputs,
            )?;
            let answers: Vec<_> = (0..5).map(|_| Evil::conclude()).collect::<Result<_, _>>()?;
            assert_eq!(answers.iter().flatten().count(), times, "{name}");
        }
        Ok(())
    }
}
