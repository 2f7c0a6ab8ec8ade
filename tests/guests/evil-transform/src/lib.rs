//! A transform for tests that misbehaves on request. It implements the bare contract, as the SDK would not let it.
//!
//! Behaves like this otherwise: one to one, wants nothing, carries all, computes `n` (Int64, the row's number) and `t`
//! (Utf8, `evil`).

mod answers;
mod deeds;

use answers::{Wrong, opened, output};
use deeds::Deed;
use std::cell::RefCell;
use wasmhost_guest::bindings::plugin_exports::{Descriptor, Guest as Plugin};
use wasmhost_guest::bindings::transform_exports::{Guest, Opened, Output};
use wasmhost_guest::bindings::types::{Context, NamedInput};
use wasmhost_guest::{Diagnostic, Failure};

/// What to do, and when.
#[derive(Clone, Copy, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct Config {
    /// The call to misbehave in; wrong answers have calls of their own.
    #[serde(rename = "in", default)]
    call: Call,
    #[serde(rename = "do")]
    deed: Misdeed,
    /// So many batches are processed well before.
    #[serde(default)]
    after: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Call {
    Open,
    #[default]
    Process,
    EndInput,
    Finish,
}

#[derive(Clone, Copy, Debug, serde::Deserialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Misdeed {
    AnyCall(Deed),
    Answer(Wrong),
}

impl Misdeed {
    fn answer(self) -> Option<Wrong> {
        match self {
            Self::AnyCall(_) => None,
            Self::Answer(wrong) => Some(wrong),
        }
    }
}

struct State {
    config: Config,
    batches: u32,
}

impl State {
    fn misbehave(&self, call: Call) -> Result<(), Failure> {
        let Self { config, batches } = self;
        let Misdeed::AnyCall(deed) = config.deed else { return Ok(()) };
        if config.call != call || *batches < config.after {
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
        let state = State { config, batches: 0 };
        state.misbehave(Call::Open)?;
        STATE.set(Some(state));
        opened(config.deed.answer(), &inputs)
    }

    fn process(_: u32, batch: Vec<u8>) -> Result<Output, Failure> {
        with_state(|state| {
            state.misbehave(Call::Process)?;
            let is_good = state.batches < state.config.after;
            state.batches += 1;
            output(state.config.deed.answer(), is_good, batch)
        })
    }

    fn end_input(_: u32) -> Result<(), Failure> {
        with_state(|state| state.misbehave(Call::EndInput))
    }

    fn finish() -> Result<Option<Vec<u8>>, Failure> {
        with_state(|state| {
            state.misbehave(Call::Finish)?;
            match state.config.deed.answer() {
                Some(Wrong::EndlessFinish | Wrong::FinishOneToOne) => Ok(Some(answers::rows(1)?)),
                _ => Ok(None),
            }
        })
    }
}

wasmhost_guest::export_transform!(Evil);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_misdeed_has_a_name_of_its_own() -> Result<(), Failure> {
        for (name, is_answer) in [
            ("loop", false),
            ("log-control", false),
            ("bitmap-padding", true),
            ("layout-input", true),
        ] {
            let config: Config =
                wasmhost_guest::config::parse(&format!(r#"{{"in": "finish", "do": "{name}"}}"#))?;
            assert_eq!(config.deed.answer().is_some(), is_answer, "{name}");
        }
        assert!(wasmhost_guest::config::parse::<Config>(r#"{"do": "good"}"#).is_err());
        Ok(())
    }

    #[test]
    fn good_batches_come_before_bad_ones() -> Result<(), Failure> {
        let schema = wasmhost_guest::encode::encode_schema(&arrow_schema::Schema::empty());
        let inputs = vec![NamedInput { name: "input".into(), schema }];
        let config = r#"{"do": "trailing", "after": 1}"#.to_owned();
        Evil::open(wasmhost_guest::harness::context(), config, inputs)?;
        let lengths = [answers::nothing(10)?, answers::nothing(10)?]
            .map(|batch| Evil::process(0, batch).map(|output| output.batches[0].computed.len()));
        let [good, bad] = lengths;
        assert_eq!(bad?, good? + 64);
        Ok(())
    }
}
