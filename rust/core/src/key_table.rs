//! The table from keys to the numbers of their blocks.
//!
//! It is cut into many small tables by bits of the hash, and each grows alone: a
//! decision never waits for a million keys to be hashed anew.

use hashbrown::HashTable;

/// Keys of one part when the state is full, on average. A part grows past that rarely.
const KEYS_OF_A_PART: usize = 190;
/// More parts than this would take more memory than the keys.
const MAX_PARTS: usize = 1 << 18;

#[derive(Debug)]
pub(crate) struct KeyTable {
    parts: Box<[HashTable<u32>]>,
}

impl KeyTable {
    /// An empty table of at most so many keys.
    pub(crate) fn new(max_keys: usize) -> Self {
        let parts = max_keys.div_ceil(KEYS_OF_A_PART).clamp(1, MAX_PARTS);
        let mut tables = Vec::with_capacity(parts);
        tables.resize_with(parts, HashTable::new);
        Self { parts: tables.into() }
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, is_key: impl FnMut(&u32) -> bool) -> Option<u32> {
        self.parts.get(self.part(hash))?.find(hash, is_key).copied()
    }

    /// Adds a number whose key is not in the table; `hash_of` gives that of any other.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        let part = self.part(hash);
        if let Some(part) = self.parts.get_mut(part) {
            part.insert_unique(hash, number, |other| hash_of(*other));
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let part = self.part(hash);
        if let Some(part) = self.parts.get_mut(part)
            && let Ok(found) = part.find_entry(hash, |other| *other == number)
        {
            found.remove();
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let heap: usize = self.parts.iter().map(HashTable::allocation_size).sum();
        heap.saturating_add(std::mem::size_of_val(&*self.parts))
    }

    /// The part of a hash, from bits that the parts themselves do not use: they take
    /// the lowest and the seven highest.
    #[inline]
    fn part(&self, hash: u64) -> usize {
        let bits = (hash >> 24) & 0xffff_ffff;
        let scaled = bits.saturating_mul(self.parts.len() as u64) >> 32;
        usize::try_from(scaled).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use foldhash::fast::RandomState;

    use super::*;

    #[test]
    fn every_key_is_found_and_no_part_is_crowded() {
        let hasher = RandomState::default();
        let hash = |number: u32| hasher.hash_one(number);
        let mut table = KeyTable::new(100_000);
        for number in 0..100_000 {
            table.insert(hash(number), number, hash);
        }
        for number in 0..100_000 {
            assert_eq!(table.find(hash(number), |other| *other == number), Some(number));
        }
        assert!(table.parts.iter().all(|part| part.len() < 2 * KEYS_OF_A_PART));
        table.remove(hash(7), 7);
        assert_eq!(table.find(hash(7), |other| *other == 7), None);
        assert!(table.memory_bytes() < 100_000 * 10);
    }
}
