//! Misdeeds that any call can do, shared with the evil rule.

use std::hint::black_box;
use wasmhost_guest::log;

/// What a guest can do wrong in any call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Deed {
    /// Never comes back.
    Loop,
    /// Allocates, and touches what it gets, until it gets no more.
    Memory,
    /// Calls itself without end: the stack that the host keeps runs out.
    Stack,
    /// Calls itself without end, with big frames: the stack that the guest keeps in its memory runs out, and the trap is
    /// an access out of bounds.
    ShadowStack,
    /// Panics with a message.
    Panic,
    /// Logs a million short lines.
    LogLines,
    /// Logs one line of 8 MiB.
    LogLine,
    /// Logs what would confuse a terminal, or look like further lines.
    LogControl,
    /// Answers with a failure of 100,000 diagnostics.
    Diagnostics,
}

impl Deed {
    /// Does it. Comes back from logging only.
    pub(crate) fn commit(self) {
        match self {
            Self::Loop => loop {
                black_box(());
            },
            Self::Memory => {
                let mut hoard = Vec::new();
                loop {
                    hoard.push(black_box(vec![1_u8; 1 << 20]));
                }
            }
            Self::Stack => {
                black_box(descend(0));
            }
            Self::ShadowStack => {
                black_box(descend_far(0));
            }
            Self::Panic => panic!("as configured"),
            Self::LogLines => (0..1_000_000).for_each(|line| log::info(&format!("line {line}"))),
            Self::LogLine => log::warn(&"long ".repeat((8 << 20) / 5)),
            Self::LogControl => {
                log::info("\u{1b}[2J\u{1b}[31mred\u{1b}[0m\r\nERROR forged line\0\u{7}\u{202e}end")
            }
            Self::Diagnostics => {}
        }
    }
}

#[expect(unconditional_recursion, reason = "that is the misdeed")]
fn descend(depth: u64) -> u64 {
    descend(black_box(depth) + 1) + 1
}

#[expect(unconditional_recursion, reason = "that is the misdeed")]
fn descend_far(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    descend_far(depth + 1) + frame[(depth % 64) as usize]
}
