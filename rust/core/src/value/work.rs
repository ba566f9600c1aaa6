//! The work of a decision: counted, not timed (docs/decision.md, "Budget").

/// Counts work up to a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    done: u64,
    limit: u64,
}

impl Default for Work {
    fn default() -> Self {
        Self::unlimited()
    }
}

impl Work {
    /// Work up to a limit, in units.
    pub(crate) const fn up_to(limit: u64) -> Self {
        Self { done: 0, limit }
    }

    /// Work without a limit.
    pub(crate) const fn unlimited() -> Self {
        Self::up_to(u64::MAX)
    }

    /// Units done so far.
    pub(crate) const fn done(self) -> u64 {
        self.done
    }

    #[inline]
    pub(crate) const fn add(&mut self, units: u64) {
        self.done = self.done.saturating_add(units);
    }

    /// Whether the work is past its limit: callers leave the rest undone and ask for no outcome of
    /// it.
    #[inline]
    pub(crate) const fn is_over(self) -> bool {
        self.done > self.limit
    }
}

impl tidegate_regex::Work for Work {
    #[inline]
    fn add(&mut self, units: u64) {
        self.add(units);
    }

    #[inline]
    fn is_over(&self) -> bool {
        Self::is_over(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_over_once_more_was_done_than_may_be() {
        let mut work = Work::up_to(10);
        work.add(10);
        assert!(!work.is_over());
        work.add(1);
        assert!(work.is_over());
        let mut endless = Work::unlimited();
        endless.add(u64::MAX);
        endless.add(1);
        assert!(!endless.is_over());
    }
}
