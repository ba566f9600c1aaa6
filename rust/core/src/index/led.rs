//! Rules that are led to, gathered before they are looked at.

use crate::index::postings::{Meaning, Needs, Posting};

/// Postings that are looked at together.
const TOGETHER: usize = 64;

/// Postings of conditions that are true, but for those that are known to lack something.
///
/// Whether one does is foretold badly, so no branch depends on it here.
#[derive(Debug)]
pub(crate) struct Led {
    postings: [Posting; TOGETHER],
    count: usize,
}

impl Default for Led {
    fn default() -> Self {
        let none = Posting { rule: 0, need: 0, meaning: Meaning::MaybeTrue };
        Self { postings: [none; TOGETHER], count: 0 }
    }
}

impl Led {
    /// Adds a posting, and says whether there is room for another.
    #[inline(always)]
    pub(crate) fn add(&mut self, posting: Posting, needs: &Needs<'_, '_>) -> bool {
        if let Some(place) = self.postings.get_mut(self.count) {
            *place = posting;
        }
        let is_kept = !needs.is_known_to_lack(posting.need);
        self.count = self.count.wrapping_add(usize::from(is_kept));
        self.count < TOGETHER
    }

    /// Hands over those that are there.
    #[inline]
    pub(crate) fn take(&mut self) -> &[Posting] {
        let count = std::mem::take(&mut self.count);
        self.postings.get(..count).unwrap_or_default()
    }
}
