//! The limits that a flow may ask of the sandbox, by name.

/// One limit of the sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limit {
    /// The name, in flows and in errors. It ends in the unit.
    pub name: &'static str,
    /// In force where the flow asks nothing.
    pub default: u64,
    /// The most that a flow may ask.
    pub ceiling: u64,
    /// What is limited.
    pub doc: &'static str,
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

const fn limit(name: &'static str, default: u64, ceiling: u64, doc: &'static str) -> Limit {
    Limit { name, default, ceiling, doc }
}

/// All limits that a flow may name. None may be zero.
pub const LIMITS: &[Limit] = &[
    limit("component_bytes", 16 * MIB, 64 * MIB, "Size of a component's file."),
    limit(
        "memory_bytes",
        256 * MIB,
        1024 * MIB,
        "Memory of one instance, summed over its linear memories.",
    ),
    limit("wasm_stack_bytes", MIB, 4 * MIB, "Stack of one instance."),
    limit("open_ms", 2_000, 30_000, "Time of one `describe` or `open`."),
    limit(
        "process_ms",
        500,
        60_000,
        "Time of one `process` or `check`, beside `process_us_per_row`.",
    ),
    limit(
        "process_us_per_row",
        20,
        10_000,
        "Time that each row adds to `process_ms`, in microseconds.",
    ),
    limit("finish_ms", 10_000, 120_000, "Time of one `finish` or `conclude`."),
    limit("run_ms", 1_800_000, 86_400_000, "Time of one component over a whole run."),
    limit("batch_rows", 65_536, MIB, "Rows of a batch offered to a component."),
    limit("batch_bytes", 16 * MIB, 256 * MIB, "Bytes of a batch offered to a component."),
    limit("output_bytes", 64 * MIB, 256 * MIB, "Bytes that one call may return."),
    limit(
        "amplification",
        16,
        1_024,
        "Bytes that an instance may return for each byte that it was given.",
    ),
    limit("log_bytes", 64 * KIB, 4 * MIB, "Bytes that one call may log."),
    limit("log_lines", 200, 10_000, "Lines that one call may log."),
    limit(
        "load_memory_bytes",
        512 * MIB,
        64 * 1024 * MIB,
        "Memory that the load of one destination may use which looks at stored rows.",
    ),
    limit("reasons", 256, 4_096, "Reasons that one component may give for its judgements."),
];

impl Limit {
    /// The limit of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        LIMITS.iter().find(|limit| limit.name == name)
    }

    /// Whether sizes such as `64 MiB` may be asked.
    pub(super) fn is_size(&self) -> bool {
        self.name.ends_with("_bytes")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_below_ceilings_and_names_are_unique() {
        for (index, limit) in LIMITS.iter().enumerate() {
            assert!(0 < limit.default && limit.default <= limit.ceiling, "{}", limit.name);
            assert!(LIMITS[..index].iter().all(|other| other.name != limit.name), "{}", limit.name);
        }
    }
}
