//! The rule of a window (duration and threshold), and the rules that share one window.

/// The rule of a window: `threshold` in `duration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Nanoseconds, 1 to [`Rule::LONGEST`].
    pub duration: i64,
    /// At least 1.
    pub threshold: u16,
}

impl Rule {
    /// One day: the short form stores differences up to this.
    pub const LONGEST: i64 = 86_400_000_000_000;

    /// The newest time that is outside a window whose newest time is `newest`.
    pub fn edge(self, newest: i64) -> i64 {
        newest.saturating_sub(self.duration)
    }

    /// Whether a window of this rule holds all that a window of another rule does, counting the
    /// same.
    pub fn covers(self, other: Self) -> bool {
        self.duration >= other.duration && self.threshold >= other.threshold
    }
}

/// A family of windows: the number of the first, and the rules of all, the widest first.
#[derive(Clone, Copy, Debug)]
pub struct Family<'c> {
    pub first: u32,
    pub rules: &'c [Rule],
}

impl Family<'_> {
    /// The position of a window in the family.
    pub fn position(self, number: u32) -> Option<usize> {
        let position = usize::try_from(number.checked_sub(self.first)?).ok()?;
        (position < self.rules.len()).then_some(position)
    }

    pub(crate) fn rule(self, position: usize) -> Option<Rule> {
        self.rules.get(position).copied()
    }
}
