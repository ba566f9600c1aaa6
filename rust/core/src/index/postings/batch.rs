//! Candidates, collected before any of them is visited.

use crate::index::postings::{CommonValues, Meaning, Posting};

/// The size of a batch.
const TOGETHER: usize = 64;

/// Postings of true conditions, without those known to lack a common subexpression.
#[derive(Debug)]
pub(crate) struct Batch {
    postings: [Posting; TOGETHER],
    count: usize,
}

impl Default for Batch {
    fn default() -> Self {
        let none = Posting { rule: 0, required: 0, meaning: Meaning::MaybeTrue };
        Self { postings: [none; TOGETHER], count: 0 }
    }
}

impl Batch {
    /// Adds a posting, and returns whether there is room for another.
    #[inline(always)]
    pub(crate) fn add(&mut self, posting: Posting, common: &CommonValues<'_, '_>) -> bool {
        if let Some(place) = self.postings.get_mut(self.count) {
            *place = posting;
        }
        // The posting is written and then kept or not: a branch would often be mispredicted.
        let is_kept = !common.is_known_to_lack(posting.required);
        self.count = self.count.wrapping_add(usize::from(is_kept));
        self.count < TOGETHER
    }

    /// Empties the batch, and returns what was in it.
    #[inline]
    pub(crate) fn take(&mut self) -> &[Posting] {
        let count = std::mem::take(&mut self.count);
        self.postings.get(..count).unwrap_or_default()
    }
}
