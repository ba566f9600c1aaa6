//! Exact rolling windows.
//!
//! "At least `threshold` events in the last `duration`" holds exactly when the
//! `threshold`-th newest event is younger than `duration`, so a window keeps at
//! most that many times, and only those that are still inside. Most keys have a few: up to eight
//! times stay in the window itself, which then is 56 bytes.

pub mod distinct;
pub mod family;
pub(crate) mod packed;
#[cfg(test)]
pub(crate) mod test_oracle;

use crate::definitions::window_rule::Rule;
use std::collections::VecDeque;

use foldhash::fast::RandomState;

use crate::state::window::distinct::DistinctTimes;

/// Times a window holds itself: one whole, seven as differences.
pub(crate) const FEW: u8 = 8;
/// A long form this short goes back to the short one.
pub(crate) const FEW_AGAIN: usize = 4;

/// The times or values of one entity that some clauses count. Times never decrease: a late event is
/// counted at the newest time seen.
#[derive(Clone, Debug)]
pub enum Window {
    /// Up to eight times: the oldest, and differences from it.
    Few { number: u32, len: u8, oldest: i64, later: Differences },
    /// More times, oldest first.
    Many { number: u32, times: Box<VecDeque<i64>> },
    /// Values, each with the time it was last seen.
    Distinct { number: u32, values: Box<DistinctTimes> },
}

impl Window {
    /// An empty count window.
    pub fn count(number: u32) -> Self {
        Self::Few { number, len: 0, oldest: 0, later: Differences::default() }
    }

    /// A count window of at most [`FEW`] times, oldest first.
    pub(crate) fn of_few(number: u32, times: impl Iterator<Item = i64>) -> Self {
        let (mut len, mut oldest, mut later) = (0_u8, 0, Differences::default());
        for time in times {
            match len.checked_sub(1) {
                Some(index) => later.set(index, time.saturating_sub(oldest)),
                None => oldest = time,
            }
            len = len.saturating_add(1);
        }
        Self::Few { number, len, oldest, later }
    }

    /// An empty distinct window.
    pub fn distinct(number: u32) -> Self {
        Self::Distinct { number, values: Box::default() }
    }

    /// Its number in the definitions.
    pub fn number(&self) -> u32 {
        match self {
            Self::Few { number, .. }
            | Self::Many { number, .. }
            | Self::Distinct { number, .. } => *number,
        }
    }

    pub fn is_distinct(&self) -> bool {
        matches!(self, Self::Distinct { .. })
    }

    fn numbered(mut self, other: u32) -> Self {
        match &mut self {
            Self::Few { number, .. }
            | Self::Many { number, .. }
            | Self::Distinct { number, .. } => *number = other,
        }
        self
    }

    pub fn is_empty(&self) -> bool {
        self.newest().is_none()
    }

    /// An empty window of the same kind.
    pub fn emptied(&self, number: u32) -> Self {
        if self.is_distinct() { Self::distinct(number) } else { Self::count(number) }
    }

    /// The part of the window that another rule would hold.
    pub fn narrowed(&self, rule: Rule, number: u32, hasher: &RandomState) -> Self {
        if self.not_held_by(rule) == 0 {
            return self.clone().numbered(number);
        }
        let mut narrowed = self.emptied(number);
        self.times_of(rule).for_each(|time| narrowed.add(rule, time));
        self.values_of(rule).for_each(|(value, time)| {
            narrowed.add_value(rule, time, value, hasher);
        });
        narrowed
    }

    /// Whether the part of this that another rule would hold is the content of another window.
    pub fn holds_by(&self, rule: Rule, other: &Self) -> bool {
        // Mostly their numbers tell.
        self.is_distinct() == other.is_distinct()
            && self.len().saturating_sub(self.not_held_by(rule)) == other.len()
            && self.times_of(rule).eq(other.times())
            && self.values_of(rule).eq(other.values())
    }

    /// The number inside the window at `time`, without another event.
    pub fn inside(&self, rule: Rule, time: i64) -> usize {
        let edge = rule.edge(self.newest().map_or(time, |newest| newest.max(time)));
        self.len().saturating_sub(self.outside(edge))
    }

    /// The number that a window of a duration would hold after counting an event, or a value in it,
    /// at `time`, if no threshold bounded it.
    pub fn peek(&self, duration: i64, time: i64, value: Option<&str>, hasher: &RandomState) -> u16 {
        let Some(newest) = self.newest() else { return 1 };
        let edge = time.max(newest).saturating_sub(duration);
        let is_known = match (self, value) {
            (Self::Distinct { values, .. }, Some(value)) => {
                values.last_seen(value, hasher).is_some_and(|seen| seen > edge)
            }
            _ => false,
        };
        let inside = self.len().saturating_sub(self.outside(edge));
        let after = inside.saturating_add(usize::from(!is_known));
        u16::try_from(after).unwrap_or(u16::MAX)
    }

    /// Counts an event, or a value in it, at `time`.
    #[inline]
    pub fn add_event(&mut self, rule: Rule, time: i64, value: Option<&str>, hasher: &RandomState) {
        match value {
            Some(value) => self.add_value(rule, time, value, hasher),
            None => self.add(rule, time),
        }
    }

    /// Counts an event at `time` and removes times that are outside.
    #[inline]
    pub fn add(&mut self, rule: Rule, time: i64) {
        if !self.append(rule, time) {
            self.add_and_drop(rule, time);
        }
    }

    /// Counts an event if nothing is to be removed and the short form has room.
    #[inline]
    fn append(&mut self, rule: Rule, time: i64) -> bool {
        let Self::Few { len, oldest, later, .. } = self else { return false };
        let Some(last) = len.checked_sub(1) else { return false };
        let newest =
            last.checked_sub(1).map_or(*oldest, |last| oldest.saturating_add(later.get(last)));
        let time = newest.max(time);
        let is_full = *len >= FEW || u16::from(*len) >= rule.threshold;
        if is_full || *oldest <= rule.edge(time) {
            return false;
        }
        later.set(last, time.saturating_sub(*oldest));
        *len = len.saturating_add(1);
        true
    }

    fn add_and_drop(&mut self, rule: Rule, time: i64) {
        let time = self.newest().map_or(time, |newest| newest.max(time));
        let edge = rule.edge(time);
        match self {
            Self::Few { number, .. } => {
                let number = *number;
                if let Some(times) = self.add_few(rule, time, edge) {
                    *self = Self::Many { number, times: Box::new(times) };
                }
            }
            Self::Many { times, .. } => {
                while times.front().is_some_and(|&oldest| oldest <= edge) {
                    times.pop_front();
                }
                if times.len() >= usize::from(rule.threshold) {
                    times.pop_front();
                }
                times.push_back(time);
                self.compact();
            }
            Self::Distinct { .. } => {}
        }
    }

    /// Counts `value` at `time` in a distinct window.
    pub fn add_value(&mut self, rule: Rule, time: i64, value: &str, hasher: &RandomState) {
        if let Self::Distinct { values, .. } = self {
            let time = values.newest().map_or(time, |newest| newest.max(time));
            values.renew(value, time, hasher);
            values.prune(rule.edge(time), usize::from(rule.threshold), hasher);
        }
    }

    /// The window with an event, or a value in it, in its order among the times.
    #[must_use]
    pub fn with_late(
        &self,
        rule: Rule,
        time: i64,
        value: Option<&str>,
        hasher: &RandomState,
    ) -> Self {
        let mut made = self.emptied(self.number());
        match value {
            None => {
                let mut times: Vec<i64> = self.times().collect();
                times.insert(times.partition_point(|&other| other <= time), time);
                times.into_iter().for_each(|time| made.add(rule, time));
            }
            Some(value) => {
                let mut values: Vec<(&str, i64)> = self.values().collect();
                let known = values.iter().position(|&(other, _)| other == value);
                let seen = known.map_or(time, |place| values.remove(place).1.max(time));
                values.insert(values.partition_point(|&(_, other)| other <= seen), (value, seen));
                for (value, seen) in values {
                    made.add_value(rule, seen, value, hasher);
                }
            }
        }
        made
    }

    /// The times of a count window, oldest first; of a distinct window, none.
    pub fn times(&self) -> impl Iterator<Item = i64> {
        let many = match self {
            Self::Many { times, .. } => Some(times.iter().copied()),
            _ => None,
        };
        self.few_times().chain(many.into_iter().flatten())
    }

    /// The values of a distinct window with their times, oldest first.
    pub fn values(&self) -> impl Iterator<Item = (&str, i64)> {
        let values = match self {
            Self::Distinct { values, .. } => Some(values.iter()),
            _ => None,
        };
        values.into_iter().flatten()
    }

    /// The times of [`Window::times`] that another rule would hold.
    pub fn times_of(&self, rule: Rule) -> impl Iterator<Item = i64> + use<'_> {
        self.times().skip(self.not_held_by(rule))
    }

    /// The values of [`Window::values`] that another rule would hold.
    pub fn values_of(&self, rule: Rule) -> impl Iterator<Item = (&str, i64)> + use<'_> {
        self.values().skip(self.not_held_by(rule))
    }

    /// The number of its oldest times that another rule would not hold.
    fn not_held_by(&self, rule: Rule) -> usize {
        let Some(newest) = self.newest() else { return 0 };
        let past = self.len().saturating_sub(usize::from(rule.threshold));
        self.outside(rule.edge(newest)).max(past)
    }

    fn len(&self) -> usize {
        match self {
            Self::Few { len, .. } => usize::from(*len),
            Self::Many { times, .. } => times.len(),
            Self::Distinct { values, .. } => values.len(),
        }
    }

    /// The number of its times at an edge or before.
    fn outside(&self, edge: i64) -> usize {
        match self {
            Self::Few { .. } => self.few_times().take_while(|&time| time <= edge).count(),
            Self::Many { times, .. } => match times.front() {
                Some(&oldest) if oldest > edge => 0,
                _ => times.partition_point(|&time| time <= edge),
            },
            Self::Distinct { values, .. } => values.outside(edge),
        }
    }

    fn newest(&self) -> Option<i64> {
        match self {
            Self::Few { len, oldest, later, .. } => match len.checked_sub(2) {
                Some(last) => Some(oldest.saturating_add(later.get(last))),
                None => (*len == 1).then_some(*oldest),
            },
            Self::Many { times, .. } => times.back().copied(),
            Self::Distinct { values, .. } => values.newest(),
        }
    }

    fn few_times(&self) -> impl Iterator<Item = i64> {
        let (len, oldest, later) = match self {
            Self::Few { len, oldest, later, .. } => (*len, *oldest, *later),
            _ => (0, 0, Differences::default()),
        };
        (0..len).map(move |index| match index.checked_sub(1) {
            Some(index) => oldest.saturating_add(later.get(index)),
            None => oldest,
        })
    }

    /// Counts in the short form. Gives the times back if they are too many for it.
    fn add_few(&mut self, rule: Rule, time: i64, edge: i64) -> Option<VecDeque<i64>> {
        let outside = self.few_times().take_while(|&time| time <= edge).count();
        let Self::Few { len, oldest, later, .. } = self else { return None };
        let kept = usize::from(*len).saturating_sub(outside);
        let too_many = kept >= usize::from(rule.threshold);
        let dropped = u8::try_from(outside).unwrap_or(u8::MAX).saturating_add(u8::from(too_many));
        later.shift(len, oldest, dropped);
        if *len == FEW {
            let mut times = VecDeque::with_capacity(usize::from(FEW).saturating_mul(2));
            times.extend(self.few_times());
            times.push_back(time);
            return Some(times);
        }
        match len.checked_sub(1) {
            Some(index) => later.set(index, time.saturating_sub(*oldest)),
            None => *oldest = time,
        }
        *len = len.saturating_add(1);
        None
    }

    /// Frees memory after a burst has passed.
    fn compact(&mut self) {
        let Self::Many { number, times } = self else { return };
        if times.len() > FEW_AGAIN {
            if times.capacity() >= 64 && times.len() < times.capacity() / 4 {
                times.shrink_to(times.capacity() / 2);
            }
            return;
        }
        *self = Self::of_few(*number, times.iter().copied());
    }
}

/// Seven differences of 48 bits: a window is at most a day, 47 bits of
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Differences([[u8; 6]; 7]);

impl Differences {
    fn get(&self, index: u8) -> i64 {
        let [a, b, c, d, e, f] = self.0.get(usize::from(index)).copied().unwrap_or_default();
        i64::from_le_bytes([a, b, c, d, e, f, 0, 0])
    }

    fn set(&mut self, index: u8, difference: i64) {
        let [a, b, c, d, e, f, ..] = difference.to_le_bytes();
        if let Some(slot) = self.0.get_mut(usize::from(index)) {
            *slot = [a, b, c, d, e, f];
        }
    }

    /// Drops the oldest `dropped` of `len` times and rewrites the rest.
    fn shift(&mut self, len: &mut u8, oldest: &mut i64, dropped: u8) {
        if dropped == 0 {
            return;
        }
        let left = len.saturating_sub(dropped);
        let first = self.get(dropped.saturating_sub(1));
        for index in 0..left.saturating_sub(1) {
            let difference = self.get(index.saturating_add(dropped));
            self.set(index, difference.saturating_sub(first));
        }
        *oldest = oldest.saturating_add(first);
        *len = left;
    }
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
