//! The memory of one thread while it searches, kept between events.

use super::postings::batch::Batch;
use super::search::Searches;
use super::search::value_cache::ValueCache;
use crate::value::work::Work;

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
}

/// Memory of one thread for one index. It changes no answer.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Conditions found true of the event, each once.
    pub(crate) found: Vec<u32>,
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
        self.proven.clear();
        self.found_too_much = false;
        self.conditions.begin(conditions);
        self.rules.begin(rules);
        if self.value_caches.len() != searches.texts.len() {
            self.value_caches.clear();
            self.value_caches.resize_with(searches.texts.len(), ValueCache::default);
        }
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
        found.extend(local.iter().filter(|condition| conditions.mark(**condition)));
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
}
