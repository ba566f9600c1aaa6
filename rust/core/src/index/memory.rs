//! Values that come again and again: which conditions are true of them.
//!
//! A value is admitted when it is seen a second time, and takes the place only
//! of one that has not been used since it was last considered for removal, so
//! that a run of new values flushes nothing.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;

/// Places, in sets of [`WAYS`], and those of the first lookups: an index that is soon
/// replaced needs no more.
const PLACES: usize = 4096;
const FIRST_PLACES: usize = 16;
const WAYS: usize = 4;
/// A longer value is not remembered.
const MAX_VALUE_BYTES: usize = 512;
/// Values take no more than this together.
const MAX_BYTES: usize = 1024 * 1024;
/// Lookups after which it is asked whether remembering pays, and those that
/// are left out when it does not.
const TRIAL: u32 = 1024;
const REST: u32 = 16 * 1024;

#[derive(Debug)]
struct Entry {
    hash: u64,
    text: Box<str>,
    conditions: Box<[u32]>,
    is_used: bool,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.text.len().saturating_add(std::mem::size_of_val(&*self.conditions))
    }
}

/// The values of one text search.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    hasher: RandomState,
    /// Empty until the first lookup.
    entries: Vec<Option<Entry>>,
    /// Hashes of values that were seen once, by place.
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

/// What a memory says of a value.
pub(crate) enum Recall<'m> {
    Known(&'m [u32]),
    Missed(Missed),
    /// Not worth remembering.
    Passed,
}

impl Memory {
    pub(crate) fn bytes(&self) -> usize {
        let places = std::mem::size_of_val(&*self.entries);
        self.bytes.saturating_add(places).saturating_add(std::mem::size_of_val(&*self.seen))
    }

    /// The conditions that are true of a value, if it is remembered.
    #[inline]
    pub(crate) fn recall(&mut self, text: &str) -> Recall<'_> {
        if text.len() > MAX_VALUE_BYTES || self.rests() {
            return Recall::Passed;
        }
        if self.entries.is_empty() {
            self.begin(FIRST_PLACES);
        }
        let hash = self.hasher.hash_one(text);
        let start = self.set_of(hash);
        let set = self.entries.get_mut(start..start.wrapping_add(WAYS)).unwrap_or_default();
        let found =
            set.iter_mut().flatten().find(|entry| entry.hash == hash && *entry.text == *text);
        match found {
            Some(entry) => {
                entry.is_used = true;
                self.hits = self.hits.wrapping_add(1);
                Recall::Known(&entry.conditions)
            }
            None => Recall::Missed(Missed { hash }),
        }
    }

    /// Forgets all, and has so many places from now on.
    fn begin(&mut self, places: usize) {
        self.entries.clear();
        self.entries.resize_with(places, || None);
        self.seen.clear();
        self.seen.resize(places, 0);
        (self.bytes, self.lookups, self.hits) = (0, 0, 0);
    }

    /// Where the set of a value begins.
    #[inline]
    fn set_of(&self, hash: u64) -> usize {
        let sets = self.entries.len() / WAYS;
        (hash as usize & sets.wrapping_sub(1)).wrapping_mul(WAYS)
    }

    /// Whether lookups are left out for now; counts them.
    fn rests(&mut self) -> bool {
        if self.resting > 0 {
            self.resting = self.resting.wrapping_sub(1);
            return true;
        }
        self.lookups = self.lookups.wrapping_add(1);
        if self.lookups == TRIAL && self.entries.len() < PLACES {
            self.begin(PLACES);
        } else if self.lookups == TRIAL {
            let pays = self.hits > TRIAL / 4;
            (self.lookups, self.hits) = (0, 0);
            self.resting = if pays { 0 } else { REST };
        }
        false
    }

    /// Whether a value that was missed is to be remembered now.
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
        let entry = Entry {
            hash: missed.hash,
            text: Box::from(text),
            conditions: Box::from(conditions),
            is_used: false,
        };
        let added = self.bytes.saturating_add(entry.bytes());
        let start = self.set_of(missed.hash);
        let set = self.entries.get_mut(start..start.wrapping_add(WAYS)).unwrap_or_default();
        let victim = set.iter_mut().find(|place| place.as_ref().is_none_or(|entry| !entry.is_used));
        let Some(victim) = victim else {
            for entry in set.iter_mut().flatten() {
                entry.is_used = false;
            }
            return;
        };
        let bytes = added.saturating_sub(victim.as_ref().map_or(0, Entry::bytes));
        if bytes <= MAX_BYTES {
            *victim = Some(entry);
            self.bytes = bytes;
        }
    }
}

/// Never 0, which is no value.
fn tag_of(hash: u64) -> u32 {
    ((hash >> 32) as u32) | 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(memory: &mut Memory, text: &str) -> Option<Vec<u32>> {
        match memory.recall(text) {
            Recall::Known(conditions) => Some(conditions.to_vec()),
            _ => None,
        }
    }

    fn see(memory: &mut Memory, text: &str, conditions: &[u32]) {
        if let Recall::Missed(missed) = memory.recall(text)
            && memory.wants(missed)
        {
            memory.remember(missed, text, conditions);
        }
    }

    #[test]
    fn a_value_is_remembered_from_its_second_sight() {
        let mut memory = Memory::default();
        see(&mut memory, "curl", &[3, 5]);
        assert_eq!(known(&mut memory, "curl"), None);
        see(&mut memory, "curl", &[3, 5]);
        assert_eq!(known(&mut memory, "curl"), Some(vec![3, 5]));
        assert_eq!(known(&mut memory, "curl/8"), None);
    }

    #[test]
    fn new_values_do_not_take_the_place_of_used_ones() {
        let mut memory = Memory::default();
        for _ in 0..3 {
            see(&mut memory, "kept", &[1]);
        }
        for number in 0..700 {
            for _ in 0..2 {
                see(&mut memory, &format!("new {number}"), &[2]);
                see(&mut memory, "kept", &[1]);
            }
        }
        assert_eq!(known(&mut memory, "kept"), Some(vec![1]));
    }

    #[test]
    fn a_memory_that_is_little_used_is_small() {
        let mut memory = Memory::default();
        assert_eq!(memory.bytes(), 0);
        for number in 0..TRIAL {
            see(&mut memory, &number.to_string(), &[]);
        }
        let few = memory.bytes();
        for number in 0..TRIAL {
            see(&mut memory, &number.to_string(), &[]);
        }
        assert!(few * 10 < memory.bytes());
    }

    #[test]
    fn memory_is_bounded_and_rests_when_nothing_returns() {
        let mut memory = Memory::default();
        for number in 0..40_000 {
            let text = format!("{number:0400}");
            see(&mut memory, &text, &[]);
            see(&mut memory, &text, &[]);
        }
        assert!(memory.bytes <= MAX_BYTES);
        let mut memory = Memory::default();
        for number in 0..=2 * TRIAL {
            see(&mut memory, &number.to_string(), &[]);
        }
        assert!(matches!(memory.recall("again"), Recall::Passed));
    }
}
