//! Limits of one component in one flow: what was asked, within what is allowed.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde::Serialize;

use crate::flow::limits::LIMITS;

/// The limits in force. Field names are the flow's names; times end in `_ms` or `_us`, sizes in `_bytes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Size of the component's file.
    pub component_bytes: u64,
    /// Sum over all memories of an instance.
    pub memory_bytes: u64,
    /// Wall time of `describe` and of `open`. Checked at epoch ticks, so a call may overshoot by one tick.
    pub open_ms: u64,
    /// Wall time of one `process` or `check`, before what the rows add.
    pub process_ms: u64,
    /// What each row of a batch adds to it.
    pub process_us_per_row: u64,
    /// Wall time of `end-input`, `finish` and `conclude`.
    pub finish_ms: u64,
    /// Wall time of all calls of a component in a run, over all its instances.
    pub run_ms: u64,
    /// Rows offered in a batch.
    pub batch_rows: u64,
    /// Bytes offered in a batch; halved on a memory limit, stateless components only, down to one row.
    pub batch_bytes: u64,
    /// Bytes that a call may return.
    pub output_bytes: u64,
    /// Bytes returned over bytes given, over all that an instance was given so far, plus 1 MiB. Each row counts as 16 bytes given.
    pub amplification: u64,
    /// Log lines a call.
    pub log_lines: u64,
    /// Log bytes a call.
    pub log_bytes: u64,
    /// Stack of the guest.
    pub wasm_stack_bytes: u64,
    /// Memory of the load of one destination, where it looks at stored rows. The host's own, not a component's.
    pub load_memory_bytes: u64,
    /// Reasons that a component may declare.
    pub reasons: u64,
}

impl Limits {
    /// The defaults, with what the flow asks in their place. The flow's reader has refused unknown names and values over the ceiling.
    #[must_use]
    pub fn effective(asked: &BTreeMap<String, u64>) -> Self {
        let value = |name: &str| {
            let default =
                LIMITS.iter().find(|limit| limit.name == name).map_or(0, |limit| limit.default);
            asked.get(name).copied().unwrap_or(default)
        };
        Self {
            component_bytes: value("component_bytes"),
            memory_bytes: value("memory_bytes"),
            open_ms: value("open_ms"),
            process_ms: value("process_ms"),
            process_us_per_row: value("process_us_per_row"),
            finish_ms: value("finish_ms"),
            run_ms: value("run_ms"),
            batch_rows: value("batch_rows"),
            batch_bytes: value("batch_bytes"),
            output_bytes: value("output_bytes"),
            amplification: value("amplification"),
            log_lines: value("log_lines"),
            log_bytes: value("log_bytes"),
            wasm_stack_bytes: value("wasm_stack_bytes"),
            load_memory_bytes: value("load_memory_bytes"),
            reasons: value("reasons"),
        }
    }

    /// The deadline of a `process` or `check` over so many rows.
    #[must_use]
    pub fn process_time(&self, rows: usize) -> Duration {
        Duration::from_millis(self.process_ms)
            + Duration::from_micros(self.process_us_per_row.saturating_mul(rows as u64))
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::effective(&BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_limit_of_the_flow_file_is_in_force_and_none_is_zero() {
        let value = serde_json::to_value(Limits::default()).unwrap_or_default();
        for limit in LIMITS {
            assert_eq!(value[limit.name], limit.default, "{}", limit.name);
            assert!(limit.default > 0 && limit.ceiling >= limit.default, "{}", limit.name);
        }
        assert_eq!(value.as_object().map(serde_json::Map::len), Some(LIMITS.len()));
    }
}
