//! The engine: one a process, with the clock that deadlines go by.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use wasmhost_standard::Standard;
use wasmtime::component::Component as NativeComponent;
use wasmtime::component::Linker;

use crate::component::Component;
use crate::component::Descriptor;
use crate::component::Kind;
use crate::component::Limits;
use crate::sandbox::bindings;
use crate::sandbox::cache::Cache;
use crate::sandbox::error::Breach;
use crate::sandbox::error::SandboxError;
use crate::sandbox::instance::Guest;
use crate::sandbox::settings;
use crate::sandbox::world;

/// How often deadlines are looked at: a call may overshoot its deadline by this much.
pub(super) const TICK: Duration = Duration::from_millis(10);

/// Compiles components. Cheap to clone; its clock stops with the last clone.
#[derive(Clone)]
pub struct Engine {
    wasm: wasmtime::Engine,
    cache: Option<Cache>,
}

/// A component as machine code, linked with all that it may import.
#[derive(Clone)]
pub struct Compiled {
    /// What was admitted.
    pub(super) component: Component,
    pub(super) engine: wasmtime::Engine,
    pub(super) code: Code,
    pub(super) limits: Arc<Limits>,
}

/// The typed entry to a world.
#[derive(Clone)]
pub(super) enum Code {
    Transform(bindings::transform::TransformPluginPre<Guest>),
    Rule(bindings::rule::RulePluginPre<Guest>),
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Compiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Compiled").field("component", &self.component.name).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine whose guests get `wasm_stack_bytes` of stack, with its clock running. Machine code is kept in `cache`, if there is one.
    ///
    /// # Errors
    /// Where this machine cannot run WebAssembly, in words.
    pub fn new(wasm_stack_bytes: u64, cache: Option<Cache>) -> Result<Self, String> {
        let stack = usize::try_from(wasm_stack_bytes).map_err(|error| error.to_string())?;
        let wasm = wasmtime::Engine::new(&settings::config(stack))
            .map_err(|error| format!("{error:#}"))?;
        start_clock(&wasm)?;
        Ok(Self { wasm, cache })
    }

    /// Compiles a component and binds it to its world.
    ///
    /// # Errors
    /// A component whose code or types the engine refuses.
    pub fn compile(
        &self,
        component: Component,
        limits: Arc<Limits>,
    ) -> Result<Compiled, SandboxError> {
        let refuse = |error: wasmtime::Error| {
            Breach::Load(format!("{error:#}")).at(&component.name, "load", None)
        };
        let native = self.native(&component).map_err(refuse)?;
        self.link(component, &native, limits)
    }

    /// Binds machine code to its world.
    fn link(
        &self,
        component: Component,
        native: &NativeComponent,
        limits: Arc<Limits>,
    ) -> Result<Compiled, SandboxError> {
        let refuse = |error: wasmtime::Error| {
            Breach::Load(format!("{error:#}")).at(&component.name, "load", None)
        };
        let mut linker = Linker::<Guest>::new(&self.wasm);
        bindings::log::add_to_linker::<_, wasmtime::component::HasSelf<_>>(&mut linker, |guest| {
            &mut guest.log
        })
        .map_err(refuse)?;
        let pre = linker.instantiate_pre(native).map_err(refuse)?;
        let code = match component.kind {
            Kind::Transform => {
                Code::Transform(bindings::transform::TransformPluginPre::new(pre).map_err(refuse)?)
            }
            Kind::Rule => Code::Rule(bindings::rule::RulePluginPre::new(pre).map_err(refuse)?),
        };
        Ok(Compiled { component, engine: self.wasm.clone(), code, limits })
    }
}

impl Engine {
    /// A component of the standard library, of the world that it was built for.
    ///
    /// # Errors
    /// Where the machine code that came with the command does not fit this engine.
    pub fn standard(
        &self,
        standard: &Standard,
        kind: Kind,
        limits: Arc<Limits>,
    ) -> Result<Compiled, SandboxError> {
        let component = Component {
            name: standard.name.to_owned(),
            digest: standard.digest.to_owned(),
            bytes: Arc::default(),
            kind,
        };
        // SAFETY: these bytes are part of this very program: the build compiled them, from sources of ours.
        let native = unsafe { NativeComponent::deserialize(&self.wasm, standard.code) };
        let native = native.map_err(|error| {
            Breach::Load(format!("{error:#}")).at(&component.name, "load", None)
        })?;
        self.link(component, &native, limits)
    }

    /// The machine code: from the cache, or compiled now.
    fn native(&self, component: &Component) -> wasmtime::Result<NativeComponent> {
        let kept = self.cache.as_ref().and_then(|cache| cache.get(&self.wasm, &component.digest));
        if let Some(native) = kept {
            return Ok(native);
        }
        let native = NativeComponent::new(&self.wasm, &component.bytes)?;
        if let Some(cache) = &self.cache {
            cache.put(&self.wasm, &component.digest, &native);
        }
        Ok(native)
    }
}

impl Compiled {
    /// What was admitted.
    #[must_use]
    pub fn component(&self) -> &Component {
        &self.component
    }

    /// The same code under other limits; all but the stack, which belongs to the engine.
    #[must_use]
    pub fn under(&self, limits: Arc<Limits>) -> Self {
        Self { limits, ..self.clone() }
    }

    /// Asks a fresh instance what the component is.
    ///
    /// # Errors
    /// Any breach of the contract or of a limit.
    pub fn describe(&self) -> Result<Descriptor, SandboxError> {
        let described = match self.component.kind {
            Kind::Transform => world::describe::<bindings::transform::TransformPlugin>(self),
            Kind::Rule => world::describe::<bindings::rule::RulePlugin>(self),
        };
        described.map_err(|breach| breach.at(&self.component.name, "describe", None))
    }

    /// The limits in force.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
}

/// Advances the engine's epoch every tick, until the engine is gone.
fn start_clock(engine: &wasmtime::Engine) -> Result<(), String> {
    let weak = engine.weak();
    let clock = move || {
        while let Some(engine) = weak.upgrade() {
            engine.increment_epoch();
            drop(engine);
            thread::sleep(TICK);
        }
    };
    let started = thread::Builder::new().name("wasmhost-epochs".to_owned()).spawn(clock);
    started.map(drop).map_err(|error| format!("the sandbox's clock cannot start: {error}"))
}
