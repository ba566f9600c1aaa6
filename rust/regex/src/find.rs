//! Search of short texts for a constant one.

use memchr::{memchr_iter, memmem};
use smallvec::SmallVec;

/// Constants up to this length are stored inline.
const INLINE_BYTES: usize = 24;

/// Places that are tried before a search with a bound on its time takes over.
const MAX_MISSES: usize = 16;

/// Bytes from the most to the least frequent in requests; others are rarer still.
const FREQUENT: &[u8] =
    b"eoatirns/0.1 l5ducmpMg-;h(2)_,436987fwbyvkAWSKLGHTCNXOx:=&?%IEURPDFBjzqVYJQZ";

/// The place of each byte in that order, or one past all.
#[allow(clippy::indexing_slicing, reason = "the compiler runs it")]
const RARITIES: [u8; 256] = {
    let mut rarities = [FREQUENT.len() as u8; 256];
    let (mut rest, mut place) = (FREQUENT, 0_u8);
    while let [byte, others @ ..] = rest {
        rarities[*byte as usize] = place;
        place = place.wrapping_add(1);
        rest = others;
    }
    rarities
};

/// A text that others are searched for.
///
/// The search looks for the rarest byte alone: over the few hundred bytes of a
/// field that beats a general searcher, which is also ten times as large.
#[derive(Debug)]
pub struct Part {
    text: SmallVec<[u8; INLINE_BYTES]>,
    /// The place of the rarest byte.
    rare: usize,
}

impl Part {
    pub fn new(text: &str) -> Self {
        Self { text: text.as_bytes().into(), rare: rarest(text) }
    }

    /// Whether a text contains this one.
    #[inline]
    pub fn is_in(&self, text: &str) -> bool {
        has_part(text, &self.text, self.rare)
    }
}

/// The place of the rarest byte of a text.
pub fn rarest(text: &str) -> usize {
    let rarity = |byte: u8| RARITIES.get(usize::from(byte)).copied();
    let rarest = text.bytes().enumerate().max_by_key(|(_, byte)| rarity(*byte));
    rarest.map_or(0, |(place, _)| place)
}

/// Whether a text contains a part whose rarest byte is at `place`.
#[inline]
pub fn has_part(text: &str, part: &[u8], place: usize) -> bool {
    let text = text.as_bytes();
    let Some(rare) = part.get(place) else { return true };
    // The range where the rarest byte can be, over all possible places.
    let last_start = text.len().checked_sub(part.len());
    let end = last_start.and_then(|start| start.checked_add(place)?.checked_add(1));
    let Some(places) = end.and_then(|end| text.get(place..end)) else { return false };
    for (misses, start) in memchr_iter(*rare, places).enumerate() {
        let rest = text.get(start..).unwrap_or_default();
        if rest.starts_with(part) {
            return true;
        }
        if misses == MAX_MISSES {
            return memmem::find(rest, part).is_some();
        }
    }
    false
}

#[cfg(test)]
mod tests;
