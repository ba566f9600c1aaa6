//! The memory of one thread while it searches, kept between events.

use super::postings::batch::Batch;
use super::search::Searches;
use super::search::value_cache::ValueCache;
use crate::value::work::Work;

/// Marks of numbers.
#[derive(Debug, Default)]
pub(crate) struct Marks(Vec<u64>);

/// The word of a number, and its bit there.
#[inline]
const fn place(number: u32) -> (usize, u64) {
    ((number / u64::BITS) as usize, 1 << (number % u64::BITS))
}

impl Marks {
    /// Clears all, and makes room for marks of some numbers.
    pub(crate) fn begin(&mut self, count: usize) {
        self.0.clear();
        self.0.resize(count.div_ceil(u64::BITS as usize), 0);
    }

    #[inline]
    pub(crate) fn is_marked(&self, number: u32) -> bool {
        let (position, bit) = place(number);
        self.0.get(position).is_some_and(|word| word & bit != 0)
    }

    /// Marks one, and returns whether it was not marked before; false where it is past all.
    #[inline]
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let (position, bit) = place(number);
        let Some(word) = self.0.get_mut(position) else { return false };
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// A bit for each of the first 64 numbers.
    pub(crate) fn first(&self) -> u64 {
        self.0.first().copied().unwrap_or_default()
    }
}

/// Memory of one thread for one index. It never changes an answer.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Conditions found true of the event, each once.
    pub(crate) found: Vec<u32>,
    /// Conditions found true of one text.
    pub(crate) local: Vec<u32>,
    /// The same text in lower case.
    pub(crate) folded: String,
    pub(crate) conditions: Marks,
    /// Whether some conditions found may not be true.
    pub(crate) found_too_much: bool,
    pub(crate) rules: Marks,
    /// Rules that are true without evaluation.
    pub(crate) proven: Vec<u32>,
    /// Candidates.
    pub(crate) batch: Batch,
    /// Value caches by the number of the text search.
    pub(crate) value_caches: Vec<ValueCache>,
    /// Work of the search: if it is over, patterns that were not run count as found.
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
            assert!(!marks.mark(64) && !marks.is_marked(64));
        }
    }

    #[test]
    fn the_first_marks_are_one_word() {
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
