//! Bounds on an expression, an evaluation and an event: `tidegate.limits` with
//! the same names and defaults.

use serde::Deserialize;

/// Deepest tree that is decoded, and so the deepest recursion: a bound on the
/// stack that no setting moves. An author's nesting of 64 stays well below.
pub const MAX_TREE_DEPTH: usize = 128;

/// Deepest constant inside a tree.
pub const MAX_VALUE_DEPTH: usize = 96;

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Limits {
    pub source_bytes: usize,
    pub nesting: usize,
    pub nodes: usize,
    pub list_elements: usize,
    pub macro_nesting: usize,
    /// Units one evaluation may spend.
    pub cost: u64,
    /// Units one decision may take (docs/decision.md, "Budget").
    pub decision_work: u64,
    /// Longest string or bytes value an evaluation may build.
    pub string_bytes: usize,
    pub regex_pattern_bytes: usize,
    pub regex_nesting: usize,
    pub regex_repeat: usize,
    pub regex_program_bytes: usize,
    pub regex_work: usize,
    /// A match looks at no more of its subject than this.
    pub regex_subject_bytes: usize,
    pub event_bytes: usize,
    pub event_depth: usize,
    pub event_members: usize,
    pub event_string_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            source_bytes: 16 * 1024,
            nesting: 64,
            nodes: 4_000,
            list_elements: 10_000,
            macro_nesting: 3,
            cost: 20_000,
            decision_work: 1_000_000,
            string_bytes: 64 * 1024,
            regex_pattern_bytes: 8 * 1024,
            regex_nesting: 64,
            regex_repeat: 1_000,
            regex_program_bytes: 2 * 1024 * 1024,
            regex_work: 1_300,
            regex_subject_bytes: 16 * 1024,
            event_bytes: 64 * 1024,
            event_depth: 32,
            event_members: 256,
            event_string_bytes: 16 * 1024,
        }
    }
}
