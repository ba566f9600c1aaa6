//! What one thread needs while it searches, kept between events.

use super::memory::Memory;
use super::searches::Searches;

/// Marks that are forgotten all at once when a new event begins.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    stamp: u32,
    stamps: Vec<u32>,
}

impl Marks {
    pub(crate) fn begin(&mut self, count: usize) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 || self.stamps.len() != count {
            self.stamps.clear();
            self.stamps.resize(count, 0);
            self.stamp = 1;
        }
    }

    #[inline]
    pub(crate) fn is_marked(&self, number: u32) -> bool {
        self.stamps.get(number as usize) == Some(&self.stamp)
    }

    /// Marks one, and says whether it was not marked before.
    #[inline]
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        match self.stamps.get_mut(number as usize) {
            Some(stamp) if *stamp != self.stamp => {
                *stamp = self.stamp;
                true
            }
            _ => false,
        }
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
            assert!(!marks.mark(9));
        }
        marks.stamp = u32::MAX;
        marks.begin(2);
        assert!(marks.mark(1));
    }
}
