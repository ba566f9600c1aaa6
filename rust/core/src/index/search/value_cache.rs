//! A cache of frequent values, with the conditions that are true of them.
//!
//! A value is admitted when it is seen for the second time. It only replaces a value that wasn't
//! used since its last check for eviction, so that a run of new values doesn't flush the cache.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Places for values, in sets of [`WAYS`]: at first few, because an index may soon be replaced.
const PLACES: usize = 4096;
const FIRST_PLACES: usize = 16;
const WAYS: usize = 4;
/// Longer values aren't cached.
const MAX_VALUE_BYTES: usize = 512;
/// The maximum size of all values together.
const MAX_BYTES: usize = 1024 * 1024;
/// Lookups after which the cache is judged by its hits. With few hits it rests for as many lookups.
const TRIAL: u32 = 1024;
const REST: u32 = 16 * 1024;
/// Bits of a tag: that there is a value, and that it was found since its set was last full.
const OCCUPIED: u32 = 2;
const USED: u32 = 1;

/// A value and its true conditions, in one piece of memory.
#[derive(Debug, Default)]
struct Entry {
    /// The text, and after it the conditions.
    bytes: Box<[u8]>,
    text_length: usize,
}

impl Entry {
    fn new(text: &str, conditions: &[u32]) -> Self {
        let mut bytes = Vec::with_capacity(text.len().saturating_add(size_of_val(conditions)));
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend(conditions.iter().flat_map(|condition| condition.to_le_bytes()));
        Self { bytes: bytes.into(), text_length: text.len() }
    }

    /// The conditions, if it is the entry of a text.
    #[inline]
    fn conditions_of(&self, text: &str) -> Option<Conditions<'_>> {
        let (own, conditions) = self.bytes.split_at_checked(self.text_length)?;
        (own == text.as_bytes()).then(|| Conditions(conditions.as_chunks().0.iter()))
    }
}

/// The conditions that are true of a remembered value.
pub(crate) struct Conditions<'m>(std::slice::Iter<'m, [u8; 4]>);

impl Iterator for Conditions<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.0.next().map(|bytes| u32::from_le_bytes(*bytes))
    }
}

/// The first bytes to compare in a set: the [`tag_of`] each value, with [`USED`] if it was found
/// recently; 0 for an empty place.
type Tags = [u32; WAYS];

/// The values of one text search.
#[derive(Debug, Default)]
pub(crate) struct ValueCache {
    hasher: RandomState,
    /// Empty until the first lookup.
    tags: Vec<Tags>,
    entries: Vec<[Entry; WAYS]>,
    /// Tags of values that were seen once, by place.
    seen: Vec<u32>,
    bytes: usize,
    hits: u32,
    lookups: u32,
    resting: u32,
}

/// A value that is not remembered, to be admitted or not.
#[derive(Clone, Copy)]
pub(crate) struct Missed {
    hash: u64,
}

/// The result of a lookup in the cache.
pub(crate) enum Recall<'m> {
    Known(Conditions<'m>),
    Missed(Missed),
    /// The cache does not keep such values.
    Passed,
}

impl ValueCache {
    /// The conditions that are true of a value, if it is remembered.
    #[inline]
    pub(crate) fn recall(&mut self, text: &str) -> Recall<'_> {
        if text.len() > MAX_VALUE_BYTES || self.rests() {
            return Recall::Passed;
        }
        if self.tags.is_empty() {
            self.begin(FIRST_PLACES);
        }
        let hash = self.hasher.hash_one(text);
        let (set, tag) = (self.set_of(hash), tag_of(hash));
        if let Some(tags) = self.tags.get_mut(set)
            && let Some((way, found)) =
                tags.iter_mut().enumerate().find(|(_, found)| **found & !USED == tag)
            && let Some(entry) = self.entries.get(set).and_then(|entries| entries.get(way))
            && let Some(conditions) = entry.conditions_of(text)
        {
            *found |= USED;
            self.hits = self.hits.wrapping_add(1);
            return Recall::Known(conditions);
        }
        Recall::Missed(Missed { hash })
    }

    /// Empties the cache and gives it some number of places.
    fn begin(&mut self, places: usize) {
        let sets = places / WAYS;
        self.tags.clear();
        self.tags.resize(sets, Tags::default());
        self.entries.clear();
        self.entries.resize_with(sets, Default::default);
        self.seen.clear();
        self.seen.resize(places, 0);
        (self.bytes, self.lookups, self.hits) = (0, 0, 0);
    }

    /// The set of a value.
    #[inline]
    fn set_of(&self, hash: u64) -> usize {
        hash as usize & self.tags.len().wrapping_sub(1)
    }

    /// Whether this lookup skips the cache; counts lookups.
    fn rests(&mut self) -> bool {
        if self.resting > 0 {
            self.resting = self.resting.wrapping_sub(1);
            return true;
        }
        self.lookups = self.lookups.wrapping_add(1);
        if self.lookups == TRIAL && self.seen.len() < PLACES {
            self.begin(PLACES);
        } else if self.lookups == TRIAL {
            let pays = self.hits > TRIAL / 4;
            (self.lookups, self.hits) = (0, 0);
            self.resting = if pays { 0 } else { REST };
        }
        false
    }

    /// Whether the cache admits a missed value now.
    pub(crate) fn wants(&mut self, missed: Missed) -> bool {
        let tag = tag_of(missed.hash);
        let place = (missed.hash >> 16) as usize & self.seen.len().wrapping_sub(1);
        match self.seen.get_mut(place) {
            Some(seen) if *seen == tag => true,
            Some(seen) => {
                *seen = tag;
                false
            }
            None => false,
        }
    }

    pub(crate) fn remember(&mut self, missed: Missed, text: &str, conditions: &[u32]) {
        let set = self.set_of(missed.hash);
        let (Some(tags), Some(entries)) = (self.tags.get_mut(set), self.entries.get_mut(set))
        else {
            return;
        };
        let mut places = tags.iter_mut().zip(entries);
        let Some((tag, entry)) = places.find(|(tag, _)| **tag & USED == 0) else {
            tags.iter_mut().for_each(|tag| *tag &= !USED);
            return;
        };
        let new = Entry::new(text, conditions);
        let added = self.bytes.saturating_add(new.bytes.len());
        let bytes = added.saturating_sub(entry.bytes.len());
        if bytes <= MAX_BYTES {
            (*tag, *entry) = (tag_of(missed.hash), new);
            self.bytes = bytes;
        }
    }
}

/// A tag that differs for most values of a set; never 0, and without [`USED`].
const fn tag_of(hash: u64) -> u32 {
    ((hash >> 32) as u32 & !USED) | OCCUPIED
}

#[cfg(test)]
mod tests;
