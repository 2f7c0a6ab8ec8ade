//! What a guest says: kept within limits, control characters escaped. Nothing that it logs can stop or slow the host.

use crate::component::Limits;
use crate::component::usage::LogLevel;
use crate::component::usage::LogLine;
use crate::problem::escape;
use crate::sandbox::bindings::log::Host;
use crate::sandbox::bindings::log::Level;

/// What the guest SDK's panic hook begins its last line with.
const PANIC: &str = "panicked at ";

/// The log of one call.
#[derive(Debug)]
pub(super) struct CallLog {
    lines: Vec<LogLine>,
    bytes: usize,
    dropped: u64,
    panic: Option<String>,
    lines_max: usize,
    bytes_max: usize,
}

impl CallLog {
    pub(super) fn new(limits: &Limits) -> Self {
        let size = |limit| usize::try_from(limit).unwrap_or(usize::MAX);
        let (lines_max, bytes_max) = (size(limits.log_lines), size(limits.log_bytes));
        Self { lines: Vec::new(), bytes: 0, dropped: 0, panic: None, lines_max, bytes_max }
    }

    /// What was logged since the last time, and how many lines were dropped.
    pub(super) fn take(&mut self) -> (Vec<LogLine>, u64) {
        self.bytes = 0;
        self.panic = None;
        (std::mem::take(&mut self.lines), std::mem::take(&mut self.dropped))
    }

    /// The panic that this call ended with: its place and its text.
    pub(super) fn panic(&self) -> Option<&str> {
        self.panic.as_deref()
    }
}

impl Host for CallLog {
    fn write(&mut self, level: Level, message: String) {
        let text = escape(&message);
        // A panic's text is kept even where the log is full: it is the error's message.
        if matches!(level, Level::Error) && text.starts_with(PANIC) {
            self.panic = Some(text.clone());
        }
        if self.lines.len() >= self.lines_max || self.bytes + text.len() > self.bytes_max {
            self.dropped += 1;
            return;
        }
        self.bytes += text.len();
        let level = match level {
            Level::Trace => LogLevel::Trace,
            Level::Debug => LogLevel::Debug,
            Level::Info => LogLevel::Info,
            Level::Warn => LogLevel::Warn,
            Level::Error => LogLevel::Error,
        };
        self.lines.push(LogLine { level, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_floods_are_counted() {
        let limits = Limits { log_lines: 2, ..Limits::default() };
        let mut log = CallLog::new(&limits);
        for text in ["a\x1b[2J", "b", "c", "panicked at src/x.rs:1:2: no"] {
            log.write(Level::Error, text.to_owned());
        }
        assert_eq!(log.panic(), Some("panicked at src/x.rs:1:2: no"));
        let (lines, dropped) = log.take();
        assert_eq!(lines[0].text, "a\\u{1b}[2J");
        assert_eq!((lines.len(), dropped), (2, 2));
        assert!(escape(&"x".repeat(1 << 20)).len() < 4200);
    }
}
