//! The cost of an evaluation: counted, not timed (docs/canonical-tree.md).

use crate::value::error::ErrorCode;
use crate::value::limits::Limits;
use crate::value::work::Work;

/// Bytes scanned or built that cost one unit.
const BYTES_A_UNIT: usize = 16;

/// Units for a number of bytes, rounded down.
#[inline]
pub(crate) const fn units(bytes: usize) -> u64 {
    (bytes / BYTES_A_UNIT) as u64
}

/// Counts the units of one evaluation and bounds the values it builds.
#[derive(Clone, Debug)]
pub struct Meter {
    spent: u64,
    limit: u64,
    string_bytes: usize,
    /// The work of the evaluation, which the cost alone underestimates.
    pub(crate) work: Work,
}

impl Meter {
    pub const fn new(limits: &Limits) -> Self {
        Self::within(limits, Work::unlimited())
    }

    /// The same, for an evaluation limited to the remaining work.
    pub(crate) const fn within(limits: &Limits, work: Work) -> Self {
        Self { spent: 0, limit: limits.cost, string_bytes: limits.string_bytes, work }
    }

    /// The work done up to the end of an evaluation, its units counted.
    pub(crate) const fn work(&self) -> Work {
        let mut work = self.work;
        work.add(self.spent);
        work
    }

    /// The units spent; one more than the limit after `cost_exceeded`.
    pub const fn spent(&self) -> u64 {
        self.spent
    }

    /// Restarts the count for the next evaluation.
    pub const fn reset(&mut self) {
        self.spent = 0;
    }

    /// Spends units.
    ///
    /// # Errors
    /// `cost_exceeded` when the limit would be passed.
    #[inline]
    pub fn charge(&mut self, units: u64) -> Result<(), ErrorCode> {
        let spent = self.spent.saturating_add(units);
        if spent > self.limit {
            return Err(self.exceed());
        }
        self.spent = spent;
        Ok(())
    }

    /// Spends units if the limit allows, and says whether it did.
    #[inline]
    pub(crate) fn try_charge(&mut self, units: u64) -> bool {
        let spent = self.spent.saturating_add(units);
        let is_allowed = spent <= self.limit;
        if is_allowed {
            self.spent = spent;
        }
        is_allowed
    }

    /// The units left to spend.
    pub(crate) const fn left(&self) -> u64 {
        self.limit.saturating_sub(self.spent)
    }

    /// Whether a string or bytes value of this length may be built.
    pub(crate) const fn allows(&self, length: usize) -> bool {
        length <= self.string_bytes
    }

    /// Ends the evaluation: all is spent, and one unit more.
    #[cold]
    pub(crate) fn exceed(&mut self) -> ErrorCode {
        self.spent = self.limit.saturating_add(1);
        ErrorCode::CostExceeded
    }

    /// Allows a string or bytes value of this length to be built.
    ///
    /// # Errors
    /// `cost_exceeded` when it is longer than a value may be.
    pub fn allow_bytes(&mut self, length: usize) -> Result<(), ErrorCode> {
        if self.allows(length) { Ok(()) } else { Err(self.exceed()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_stops_one_past_the_limit() {
        let mut meter = Meter::new(&Limits { cost: 10, ..Limits::default() });
        assert_eq!(meter.charge(10), Ok(()));
        assert_eq!(meter.charge(0), Ok(()));
        assert!(!meter.try_charge(1));
        assert_eq!(meter.spent(), 10);
        assert_eq!(meter.charge(u64::MAX), Err(ErrorCode::CostExceeded));
        assert_eq!(meter.spent(), 11);
    }
}
