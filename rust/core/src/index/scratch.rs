//! The memory of one thread while it searches, kept between events.

use super::led::Batch;
use super::memory::ValueCache;
use super::searches::Searches;
use crate::work::Work;

/// Conditions are very many that are more than this for each group of their marks.
const LONG: usize = 2;
/// Conditions of one text are many from so many on.
const MANY: usize = 64;

/// Marks of numbers. A new event clears all at once, by another stamp.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    stamp: u32,
    /// Of 32 numbers each, so that the marks of a large set lie in few cache lines.
    groups: Vec<Group>,
}

/// A bit for each of 32 numbers, and above them the stamp of their event.
type Group = u64;

/// The bits of the stamp.
const STAMP: Group = !0 << u32::BITS;

/// The group of a number, and its bit there.
#[inline]
const fn place(number: u32) -> (usize, Group) {
    ((number / u32::BITS) as usize, 1 << (number % u32::BITS))
}

/// A group as it is in the event of a stamp.
#[inline]
fn current(stamp: u32, group: Group) -> Group {
    if (group ^ none(stamp)) & STAMP == 0 { group } else { none(stamp) }
}

/// A group without marks.
#[inline]
fn none(stamp: u32) -> Group {
    Group::from(stamp) << u32::BITS
}

impl Marks {
    pub(crate) fn begin(&mut self, count: usize) {
        let groups = count.div_ceil(u32::BITS as usize);
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 || self.groups.len() != groups {
            self.groups.clear();
            self.groups.resize(groups, 0);
            self.stamp = 1;
        }
    }

    #[inline]
    pub(crate) fn is_marked(&self, number: u32) -> bool {
        let (position, bit) = place(number);
        let is_here = |group: &Group| (group ^ none(self.stamp)) & (STAMP | bit) == bit;
        self.groups.get(position).is_some_and(is_here)
    }

    /// Marks one, and says whether it was not marked before; false where it is past all.
    #[inline]
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let (position, bit) = place(number);
        let Some(group) = self.groups.get(position) else { return false };
        let group = current(self.stamp, *group);
        if let Some(place) = self.groups.get_mut(position) {
            *place = group | bit;
        }
        group & bit == 0
    }

    /// A bit for each of the first 64 numbers.
    pub(crate) fn first(&self) -> u64 {
        let group = |position: usize| {
            self.groups
                .get(position)
                .map_or(0, |group| current(self.stamp, *group) & u64::from(u32::MAX))
        };
        group(0) | (group(1) << u32::BITS)
    }

    /// More than this are very many: all marks are soon gone through.
    fn long(&self) -> usize {
        self.groups.len().saturating_mul(LONG)
    }

    /// Marks many, for which all are first as they are in this event.
    fn mark_many(&mut self, numbers: &[u32]) {
        let Self { stamp, groups } = self;
        groups.iter_mut().for_each(|group| *group = current(*stamp, *group));
        for number in numbers {
            let (position, bit) = place(*number);
            if let Some(group) = groups.get_mut(position) {
                *group |= bit;
            }
        }
    }

    /// Hands over those that are marked, in order.
    fn each(&self, mut take: impl FnMut(u32)) {
        for (start, group) in (0_u32..).step_by(u32::BITS as usize).zip(&self.groups) {
            let mut bits = current(self.stamp, *group) as u32;
            while bits != 0 {
                take(start.wrapping_add(bits.trailing_zeros()));
                bits &= bits.wrapping_sub(1);
            }
        }
    }
}

/// Memory of one thread for one index. It changes no answer.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Conditions found true of the event, each once.
    pub(crate) found: Vec<u32>,
    /// Whether some are only marked until [`Scratch::order_found`].
    are_unlisted: bool,
    /// Conditions found true of one text.
    pub(crate) local: Vec<u32>,
    /// That text in lower case.
    pub(crate) folded: String,
    pub(crate) conditions: Marks,
    /// Whether some of those found may not be true.
    pub(crate) found_too_much: bool,
    pub(crate) rules: Marks,
    /// Rules that are true without evaluation.
    pub(crate) proven: Vec<u32>,
    /// Candidates.
    pub(crate) batch: Batch,
    /// By the number of the text search.
    pub(crate) value_caches: Vec<ValueCache>,
    /// What the search does: where it is over, patterns that were not run are found.
    pub(crate) work: Work,
}

impl Scratch {
    pub(crate) fn begin(
        &mut self,
        searches: &Searches,
        conditions: usize,
        rules: usize,
        work: Work,
    ) {
        self.work = work;
        self.found.clear();
        self.are_unlisted = false;
        self.proven.clear();
        self.found_too_much = false;
        self.conditions.begin(conditions);
        self.rules.begin(rules);
        if self.value_caches.len() != searches.texts.len() {
            self.value_caches.clear();
            self.value_caches.resize_with(searches.texts.len(), ValueCache::default);
        }
    }

    /// What was found of the event.
    pub(crate) const fn conditions(&self) -> &Marks {
        &self.conditions
    }

    /// Notes a condition that is true of the event.
    #[inline]
    pub(crate) fn report(&mut self, condition: u32) {
        if self.conditions.mark(condition) {
            self.found.push(condition);
        }
    }

    /// Notes the conditions that are true of one text.
    #[inline]
    pub(crate) fn report_local(&mut self) {
        let Self { local, conditions, found, .. } = self;
        if local.len() >= MANY {
            return self.report_many();
        }
        found.extend(local.iter().filter(|condition| conditions.mark(**condition)));
    }

    /// The same without a branch. A long text has the same part many times, so that a branch
    /// would often be mispredicted.
    fn report_many(&mut self) {
        let Self { local, conditions, found, are_unlisted, .. } = self;
        if local.len() > conditions.long() {
            conditions.mark_many(local);
            *are_unlisted = true;
            return;
        }
        let mut count = found.len();
        found.resize(count.saturating_add(local.len()), 0);
        for condition in local {
            if let Some(place) = found.get_mut(count) {
                *place = *condition;
            }
            count = count.wrapping_add(usize::from(conditions.mark(*condition)));
        }
        found.truncate(count);
    }

    /// Lists all conditions. Many are put in order, because their rules are mostly in the same
    /// order and then sorted at once. A condition that proves a rule is listed by the rule.
    pub(crate) fn order_found(&mut self, proves: impl Fn(u32) -> Option<u32>) {
        let Self { found, conditions, are_unlisted, proven, .. } = self;
        let neighbours = found.iter().zip(found.get(1..).unwrap_or_default());
        let are_sorted = || neighbours.fold(true, |are, (one, next)| are & (one < next));
        if *are_unlisted || found.len() > conditions.long() && !are_sorted() {
            found.clear();
            conditions.each(|condition| match proves(condition) {
                Some(rule) => proven.push(rule),
                None => found.push(condition),
            });
        }
    }

    /// Bytes of the values remembered.
    pub fn memory_bytes(&self) -> usize {
        self.value_caches.iter().map(ValueCache::bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_last_until_the_next_event() {
        let mut marks = Marks::default();
        for _ in 0..3 {
            marks.begin(2);
            assert!(marks.mark(1));
            assert!(!marks.mark(1));
            assert!(marks.is_marked(1) && !marks.is_marked(0));
            assert_eq!(marks.first(), 0b10);
            assert!(marks.mark(0));
            assert_eq!(marks.first(), 0b11);
            assert!(!marks.mark(32) && !marks.is_marked(32));
        }
        marks.stamp = u32::MAX;
        marks.begin(2);
        assert!(marks.mark(1));
    }

    #[test]
    fn the_first_marks_are_told_together() {
        let mut marks = Marks::default();
        marks.begin(100);
        assert_eq!(marks.first(), 0);
        for number in [0, 31, 32, 63, 64, 99] {
            assert!(marks.mark(number));
        }
        assert_eq!(marks.first(), 1 << 63 | 1 << 32 | 1 << 31 | 1);
        marks.begin(100);
        assert_eq!(marks.first(), 0);
    }

    #[test]
    fn many_that_are_found_are_put_in_order() {
        let found = [99, 0, 31, 32, 7, 64, 63, 98, 50];
        for (conditions, is_ordered) in [(100, true), (900, true), (1000, false)] {
            let mut scratch = Scratch::default();
            scratch.conditions.begin(conditions);
            scratch.report(99);
            scratch.local.extend(found.iter().cycle().take(MANY));
            scratch.report_local();
            scratch.order_found(|condition| (condition > 60).then_some(condition + 1));
            if is_ordered {
                assert_eq!(scratch.found, [0, 7, 31, 32, 50]);
                assert_eq!(scratch.proven, [64, 65, 99, 100]);
            } else {
                assert_eq!(scratch.found, found);
                assert!(scratch.proven.is_empty());
            }
        }
    }
}
