//! The common part of tests that draw events and compare with windows kept one by one.

#![allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]

use crate::definitions::window_rule::Rule;
use crate::state::window::Window;

/// A generator of its own (SplitMix64): the same events in every run.
pub(crate) struct TestRng(pub(crate) u64);

impl TestRng {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// The content of a window by a rule: values, empty for events, and their times.
pub(crate) fn contents(window: &Window, rule: Rule) -> Vec<(String, i64)> {
    let times = window.times_of(rule).map(|time| (String::new(), time));
    times.chain(window.values_of(rule).map(|(value, time)| (value.to_owned(), time))).collect()
}
