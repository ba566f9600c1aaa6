//! What is done for a decision: counted, not timed (docs/decision.md, "Budget").

/// Counts what is done, and knows how much may be.
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
    /// No more than a limit, in units.
    pub(crate) const fn up_to(limit: u64) -> Self {
        Self { done: 0, limit }
    }

    /// As much as there is to do.
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

    /// Whether more was done than may be: what follows is left undone, and what it would have
    /// come to is not asked for.
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
