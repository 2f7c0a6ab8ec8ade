//! Lines for the host's log. Fire and forget: the host caps rate and size, and never blocks the guest.
//!
//! Outside the sandbox, in `cargo test`, lines are kept for [`crate::harness::logs`].

pub use crate::bindings::log::Level;

/// Writes one line.
pub fn write(level: Level, message: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::log::write(level, message);
    #[cfg(not(target_arch = "wasm32"))]
    captured::push(level, message);
}

/// For whoever debugs the component itself.
pub fn trace(message: &str) {
    write(Level::Trace, message);
}

/// For whoever debugs a flow.
pub fn debug(message: &str) {
    write(Level::Debug, message);
}

/// What is worth knowing about a normal run.
pub fn info(message: &str) {
    write(Level::Info, message);
}

/// What somebody should look at some time.
pub fn warn(message: &str) {
    write(Level::Warn, message);
}

/// What somebody should look at now.
pub fn error(message: &str) {
    write(Level::Error, message);
}

/// Natively there is no host: lines wait in their thread, because tests run one a thread.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) mod captured {
    use super::Level;
    use std::cell::RefCell;

    thread_local! {
        static LINES: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
    }

    pub(crate) fn push(level: Level, message: &str) {
        LINES.with_borrow_mut(|lines| lines.push((level, message.to_owned())));
    }

    pub(crate) fn take() -> Vec<(Level, String)> {
        LINES.take()
    }
}
