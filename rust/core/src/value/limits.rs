//! Bounds on an evaluation and an event: the part of `tidegate.limits` that compiled rules need,
//! with the same names and defaults. The checker holds the rest.

use serde::Deserialize;

/// Deepest tree that is decoded, and so the deepest recursion: a fixed bound on the stack. The
/// author's limit of 64 is well below.
pub const MAX_TREE_DEPTH: usize = 128;

/// Deepest constant inside a tree.
pub const MAX_VALUE_DEPTH: usize = 96;

/// A match reads at most this much of its subject; longer subjects are cut before the character
/// that would cross the limit.
pub const REGEX_SUBJECT_BYTES: usize = 16 * 1024;

/// The most that an event's time may be after its receipt, in nanoseconds: clocks differ.
pub const CLOCK_TOLERANCE: i64 = 300_000_000_000;

/// The highest threshold of a window.
pub const MAX_THRESHOLD: u16 = 10_000;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Units one evaluation may spend.
    pub cost: u64,
    /// Units one decision may take (docs/decision.md, "Budget").
    pub decision_work: u64,
    /// Longest string or bytes value an evaluation may build.
    pub string_bytes: usize,
    pub event_bytes: usize,
    pub event_depth: usize,
    pub event_members: usize,
    pub event_string_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            cost: 20_000,
            decision_work: 600_000,
            string_bytes: 64 * 1024,
            event_bytes: 64 * 1024,
            event_depth: 32,
            event_members: 256,
            event_string_bytes: 16 * 1024,
        }
    }
}
