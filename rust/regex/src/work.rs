//! Counts the work of a search, so that its caller can stop it.

/// Counts the work of searches, and says when the limit is reached.
///
/// One unit is some 20 ns. Steps that an earlier search has kept cost less than new ones, so two
/// searches of the same text may count differently. No clock is read.
pub trait Work {
    /// Counts units that are about to be done.
    fn add(&mut self, units: u64);

    /// Whether the rest is left undone.
    fn is_over(&self) -> bool;
}

/// Counts nothing and never ends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

impl Work for Unlimited {
    fn add(&mut self, _: u64) {}

    fn is_over(&self) -> bool {
        false
    }
}
