//! What one thread needs while it searches, kept between events.

use super::memory::Memory;
use super::searches::Searches;

/// Marks of numbers that are forgotten all at once when a new event begins.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    stamp: u32,
    /// Of 32 numbers each: those of a large set are to lie in few lines of a cache.
    groups: Vec<Group>,
}

/// A bit for each of 32 numbers, of the event whose stamp it has.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    stamp: u32,
    bits: u32,
}

/// The group of a number, and its bit there.
#[inline]
const fn place(number: u32) -> (usize, u32) {
    ((number / u32::BITS) as usize, 1 << (number % u32::BITS))
}

impl Marks {
    pub(crate) fn begin(&mut self, count: usize) {
        let groups = count.div_ceil(u32::BITS as usize);
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 || self.groups.len() != groups {
            self.groups.clear();
            self.groups.resize(groups, Group::default());
            self.stamp = 1;
        }
    }

    #[inline]
    pub(crate) fn is_marked(&self, number: u32) -> bool {
        let (position, bit) = place(number);
        let group = self.groups.get(position);
        group.is_some_and(|group| group.stamp == self.stamp && group.bits & bit != 0)
    }

    /// Marks one, and says whether it was not marked before; false where it is past all.
    #[inline]
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let (position, bit) = place(number);
        let Some(group) = self.groups.get_mut(position) else { return false };
        let bits = if group.stamp == self.stamp { group.bits } else { 0 };
        *group = Group { stamp: self.stamp, bits: bits | bit };
        bits & bit == 0
    }
}

/// Memory of one thread for one index. It holds no answer that the event would
/// not give again.
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
    /// Rules that are true.
    pub(crate) settled: Vec<u32>,
    /// Rules that are to be evaluated.
    pub(crate) open: Vec<u32>,
    /// Rules that would be true but for something that was found.
    pub(crate) exceptions: Vec<u32>,
    /// By the number of the text search.
    pub(crate) memories: Vec<Memory>,
}

impl Scratch {
    pub(crate) fn begin(&mut self, searches: &Searches, conditions: usize, rules: usize) {
        self.found.clear();
        self.settled.clear();
        self.exceptions.clear();
        self.found_too_much = false;
        self.conditions.begin(conditions);
        self.rules.begin(rules);
        if self.memories.len() != searches.texts.len() {
            self.memories.clear();
            self.memories.resize_with(searches.texts.len(), Memory::default);
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
    pub(crate) fn report_local(&mut self) {
        let Self { local, conditions, found, .. } = self;
        found.extend(local.iter().filter(|condition| conditions.mark(**condition)));
    }

    /// Bytes of the values remembered.
    pub fn memory_bytes(&self) -> usize {
        self.memories.iter().map(Memory::bytes).sum()
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
            assert!(marks.mark(0));
            assert!(!marks.mark(32) && !marks.is_marked(32));
        }
        marks.stamp = u32::MAX;
        marks.begin(2);
        assert!(marks.mark(1));
    }
}
