//! What the two worlds have in common: a component is instantiated, described and opened in the same way.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use serde_json::Value;
use wasmtime::Store;

use crate::component::Descriptor;
use crate::component::Limits;
use crate::component::OpenedRule;
use crate::component::OpenedTransform;
use crate::sandbox::bindings::rule::RulePlugin;
use crate::sandbox::bindings::rule::exports::wasmhost::plugin::rule as wire_rule;
use crate::sandbox::bindings::transform::TransformPlugin;
use crate::sandbox::bindings::transform::exports::wasmhost::plugin::transform as wire_transform;
use crate::sandbox::bindings::types;
use crate::sandbox::engine::Code;
use crate::sandbox::engine::Compiled;
use crate::sandbox::error::Breach;
use crate::sandbox::error::SandboxError;
use crate::sandbox::exchange::encode_schema;
use crate::sandbox::instance::Guest;
use crate::sandbox::instance::Instance;
use crate::sandbox::opening;
use crate::sandbox::opening::Context;
use crate::sandbox::pool::Pool;
use crate::sandbox::pool::open_deadline;
use crate::sandbox::reference::Reference;

/// A world of the contract, by its typed bindings.
pub(super) trait World: Send + Sized + 'static {
    /// The answer to `open`, as the contract spells it.
    type Answer;
    /// The same, checked.
    type Opened: Clone + PartialEq + Send + Sync + 'static;

    /// A component of this world in a fresh store.
    fn instantiate(code: &Code, store: &mut Store<Guest>) -> wasmtime::Result<Self>;
    fn describe(&self, store: &mut Store<Guest>) -> wasmtime::Result<types::Descriptor>;
    fn open(
        &self,
        store: &mut Store<Guest>,
        context: &types::Context,
        config: &str,
        inputs: &[types::NamedInput],
    ) -> wasmtime::Result<Result<Self::Answer, types::Failure>>;
    /// Checks the answer against the inputs, the one that is transformed or judged first.
    fn agree(
        answer: Self::Answer,
        inputs: &[SchemaRef],
        limits: &Limits,
    ) -> Result<Self::Opened, Breach>;
    /// Hands over a batch of another input; whether anything came back for it, which must not be.
    #[expect(clippy::ptr_arg, reason = "the bindings take a vector")]
    fn take_in(
        &self,
        store: &mut Store<Guest>,
        input: u32,
        batch: &Vec<u8>,
    ) -> wasmtime::Result<Result<bool, types::Failure>>;
    fn end_input(
        &self,
        store: &mut Store<Guest>,
        input: u32,
    ) -> wasmtime::Result<Result<(), types::Failure>>;
}

/// Opens a component for rows of schema `input`: what was agreed, and a pool that opens further instances to the same.
pub(super) fn open<W: World>(
    compiled: &Compiled,
    context: &Context,
    config: &Value,
    input: &SchemaRef,
    references: &[Reference],
) -> Result<(W::Opened, Pool<W>), SandboxError> {
    let at = |breach: Breach| breach.at(&compiled.component.name, "open", None);
    let mut schemas = vec![Arc::clone(input)];
    let mut named =
        vec![types::NamedInput { name: "input".to_owned(), schema: encode_schema(input) }];
    for Reference { name, schema, .. } in references {
        schemas.push(Arc::clone(schema));
        named.push(types::NamedInput { name: name.clone(), schema: encode_schema(schema) });
    }
    schemas.iter().try_for_each(|schema| opening::check_input(schema)).map_err(at)?;
    let (context, config) = (context.wire(), config.to_string());
    let compiled_again = compiled.clone();
    let another = move || {
        let Compiled { engine, code, limits, .. } = &compiled_again;
        let mut instance = Instance::new(engine, limits, |store| W::instantiate(code, store))?;
        let answer = instance.call(open_deadline(limits), |store, world: &W| {
            world.open(store, &context, &config, &named)
        })?;
        let opened = W::agree(answer.map_err(opening::failure)?, &schemas, limits)?;
        Ok((instance, opened))
    };
    let (first, opened) = another().map_err(at)?;
    let agreed = opened.clone();
    let open = Box::new(move || match another()? {
        (instance, again) if again == agreed => Ok(instance),
        _ => Err(Breach::protocol("another answer to the same `open`")),
    });
    Ok((opened, Pool::new(first, &compiled.limits, open)))
}

/// Asks a fresh instance what the component is.
pub(super) fn describe<W: World>(compiled: &Compiled) -> Result<Descriptor, Breach> {
    let Compiled { engine, code, limits, .. } = compiled;
    let mut instance = Instance::new(engine, limits, |store| W::instantiate(code, store))?;
    opening::descriptor(
        instance.call(open_deadline(limits), |store, world: &W| world.describe(store))?,
    )
}

impl World for TransformPlugin {
    type Answer = wire_transform::Opened;
    type Opened = OpenedTransform;

    fn instantiate(code: &Code, store: &mut Store<Guest>) -> wasmtime::Result<Self> {
        match code {
            Code::Transform(pre) => pre.instantiate(store),
            Code::Rule(_) => Err(wasmtime::Error::msg("a rule, where a transform is due")),
        }
    }

    fn describe(&self, store: &mut Store<Guest>) -> wasmtime::Result<types::Descriptor> {
        self.wasmhost_plugin_plugin().call_describe(store)
    }

    fn open(
        &self,
        store: &mut Store<Guest>,
        context: &types::Context,
        config: &str,
        inputs: &[types::NamedInput],
    ) -> wasmtime::Result<Result<Self::Answer, types::Failure>> {
        self.wasmhost_plugin_transform().call_open(store, context, config, inputs)
    }

    fn agree(
        answer: Self::Answer,
        inputs: &[SchemaRef],
        limits: &Limits,
    ) -> Result<Self::Opened, Breach> {
        opening::transform(answer, inputs, limits)
    }

    fn take_in(
        &self,
        store: &mut Store<Guest>,
        input: u32,
        batch: &Vec<u8>,
    ) -> wasmtime::Result<Result<bool, types::Failure>> {
        let answer = self.wasmhost_plugin_transform().call_process(store, input, batch)?;
        Ok(answer.map(|output| {
            !output.batches.is_empty() || output.keep.is_some() || !output.rejects.is_empty()
        }))
    }

    fn end_input(
        &self,
        store: &mut Store<Guest>,
        input: u32,
    ) -> wasmtime::Result<Result<(), types::Failure>> {
        self.wasmhost_plugin_transform().call_end_input(store, input)
    }
}

impl World for RulePlugin {
    type Answer = wire_rule::Opened;
    type Opened = OpenedRule;

    fn instantiate(code: &Code, store: &mut Store<Guest>) -> wasmtime::Result<Self> {
        match code {
            Code::Rule(pre) => pre.instantiate(store),
            Code::Transform(_) => Err(wasmtime::Error::msg("a transform, where a rule is due")),
        }
    }

    fn describe(&self, store: &mut Store<Guest>) -> wasmtime::Result<types::Descriptor> {
        self.wasmhost_plugin_plugin().call_describe(store)
    }

    fn open(
        &self,
        store: &mut Store<Guest>,
        context: &types::Context,
        config: &str,
        inputs: &[types::NamedInput],
    ) -> wasmtime::Result<Result<Self::Answer, types::Failure>> {
        self.wasmhost_plugin_rule().call_open(store, context, config, inputs)
    }

    fn agree(
        answer: Self::Answer,
        inputs: &[SchemaRef],
        limits: &Limits,
    ) -> Result<Self::Opened, Breach> {
        opening::rule(answer, inputs, limits)
    }

    fn take_in(
        &self,
        store: &mut Store<Guest>,
        input: u32,
        batch: &Vec<u8>,
    ) -> wasmtime::Result<Result<bool, types::Failure>> {
        let answer = self.wasmhost_plugin_rule().call_check(store, input, batch)?;
        Ok(answer.map(|judgements| !judgements.is_empty()))
    }

    fn end_input(
        &self,
        store: &mut Store<Guest>,
        input: u32,
    ) -> wasmtime::Result<Result<(), types::Failure>> {
        self.wasmhost_plugin_rule().call_end_input(store, input)
    }
}
