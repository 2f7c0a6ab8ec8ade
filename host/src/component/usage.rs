//! What a component used and said in a run.

use serde::Deserialize;
use serde::Serialize;

/// What a component used in a run, over all its instances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Calls with a batch.
    pub calls: u64,
    /// Time inside the guest, encoding and decoding included.
    pub busy_ms: u64,
    /// Bytes of batches that entered.
    pub bytes_in: u64,
    /// Bytes of batches that came back.
    pub bytes_out: u64,
    /// The most memory that an instance held.
    pub memory_bytes_peak: u64,
    /// Instances made.
    pub instances: u64,
    /// What the guest said, within the limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LogLine>,
    /// Lines over the limits.
    pub log_lines_dropped: u64,
}

impl Usage {
    /// What another opening of the same component has used as well.
    pub fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.busy_ms += other.busy_ms;
        self.bytes_in += other.bytes_in;
        self.bytes_out += other.bytes_out;
        self.memory_bytes_peak = self.memory_bytes_peak.max(other.memory_bytes_peak);
        self.instances += other.instances;
        self.log.extend(other.log);
        self.log_lines_dropped += other.log_lines_dropped;
    }
}

/// A line that a guest logged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// How grave the guest says it is.
    pub level: LogLevel,
    /// The text, control characters escaped, at most 4 KiB.
    pub text: String,
}

/// How grave a guest says a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LogLevel {
    /// Each step.
    Trace,
    /// For whoever looks for a mistake.
    Debug,
    /// For everybody.
    Info,
    /// Something may be wrong.
    Warn,
    /// Something is wrong.
    Error,
}
