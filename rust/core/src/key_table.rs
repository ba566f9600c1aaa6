//! The table from keys to the numbers of their blocks.
//!
//! It is cut into many small tables by bits of the hash, and each grows alone: a
//! decision never waits for a million keys to be hashed anew. A table is made of lines of
//! the processor's cache, and nearly every key is found in the first that is looked at.

use wide::u8x16;

/// Keys of one part when the state is full, on average. A part grows past that rarely.
const KEYS_OF_A_PART: usize = 165;
/// More parts than this would take more memory than the keys.
const MAX_PARTS: usize = 1 << 18;
/// Numbers that a line has room for.
const WIDTH: usize = 12;
/// Numbers of a line, on average, when a part grows.
const FULL: usize = 10;

#[derive(Debug)]
pub(crate) struct KeyTable {
    parts: Box<[Part]>,
}

impl KeyTable {
    /// An empty table of at most so many keys.
    pub(crate) fn new(max_keys: usize) -> Self {
        let parts = max_keys.div_ceil(KEYS_OF_A_PART).clamp(1, MAX_PARTS);
        Self { parts: std::iter::repeat_with(Part::default).take(parts).collect() }
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, is_key: impl FnMut(u32) -> bool) -> Option<u32> {
        self.parts.get(self.part(hash))?.find(hash, is_key)
    }

    /// Adds a number whose key is not in the table; `hash_of` gives that of any other.
    pub(crate) fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        let part = self.part(hash);
        if let Some(part) = self.parts.get_mut(part) {
            part.insert(hash, number, hash_of);
        }
    }

    pub(crate) fn remove(&mut self, hash: u64, number: u32) {
        let part = self.part(hash);
        if let Some(part) = self.parts.get_mut(part) {
            part.remove(hash, number);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let heap: usize = self.parts.iter().map(|part| size_of_val(&*part.lines)).sum();
        heap.saturating_add(size_of_val(&*self.parts))
    }

    /// The part of a hash, from bits that the parts themselves do not use: they take
    /// the sixteen lowest and the eight highest.
    #[inline]
    fn part(&self, hash: u64) -> usize {
        scaled((hash >> 24) as u32, self.parts.len())
    }
}

/// A number is in the line its hash says, or, if that had no room, in the next that had.
#[derive(Debug, Default)]
struct Part {
    lines: Box<[Line]>,
    len: usize,
}

impl Part {
    #[inline]
    fn find(&self, hash: u64, mut is_key: impl FnMut(u32) -> bool) -> Option<u32> {
        let tag = tag(hash);
        let mut place = self.home(hash);
        for _ in 0..self.lines.len() {
            let line = self.lines.get(place)?;
            if let Some(number) = line.numbers_of(tag).find(|&number| is_key(number)) {
                return Some(number);
            }
            if line.passed == 0 {
                return None;
            }
            place = self.after(place);
        }
        None
    }

    fn insert(&mut self, hash: u64, number: u32, hash_of: impl Fn(u32) -> u64) {
        if self.len >= self.lines.len().saturating_mul(FULL) {
            self.grow(hash_of);
        }
        self.len = self.len.saturating_add(1);
        self.put(hash, number);
    }

    fn grow(&mut self, hash_of: impl Fn(u32) -> u64) {
        let lines = self.lines.len();
        let lines = lines.saturating_add((lines / 2).max(1));
        let old = std::mem::replace(&mut self.lines, vec![Line::default(); lines].into());
        for number in old.iter().flat_map(Line::numbers) {
            self.put(hash_of(number), number);
        }
    }

    /// Puts a number into the first line that has room.
    fn put(&mut self, hash: u64, number: u32) {
        let mut place = self.home(hash);
        while let Some(line) = self.lines.get_mut(place) {
            if line.put(tag(hash), number) {
                return;
            }
            line.passed = line.passed.saturating_add(1);
            place = self.after(place);
        }
    }

    fn remove(&mut self, hash: u64, number: u32) {
        if self.find(hash, |other| other == number).is_none() {
            return;
        }
        self.len = self.len.saturating_sub(1);
        let mut place = self.home(hash);
        while let Some(line) = self.lines.get_mut(place) {
            if line.remove(tag(hash), number) {
                return;
            }
            line.passed = line.passed.saturating_sub(1);
            place = self.after(place);
        }
    }

    #[inline]
    fn home(&self, hash: u64) -> usize {
        scaled((hash as u32) << 16, self.lines.len())
    }

    fn after(&self, place: usize) -> usize {
        let next = place.saturating_add(1);
        if next < self.lines.len() { next } else { 0 }
    }
}

/// Some numbers, each with eight bits of the hash of its key.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Line {
    /// 0 where there is no number.
    tags: [u8; WIDTH],
    /// How many numbers had no room here.
    passed: u32,
    numbers: [u32; WIDTH],
}

const _: () = assert!(size_of::<Line>() == 64);

impl Line {
    #[inline]
    fn numbers_of(&self, tag: u8) -> impl Iterator<Item = u32> {
        let mut places = self.places_of(tag);
        std::iter::from_fn(move || {
            let place = places.trailing_zeros() as usize;
            places &= places.wrapping_sub(1);
            self.numbers.get(place).copied()
        })
    }

    fn numbers(&self) -> impl Iterator<Item = u32> {
        let numbers = self.tags.iter().zip(self.numbers);
        numbers.filter_map(|(&tag, number)| (tag != 0).then_some(number))
    }

    /// False when there is no room.
    fn put(&mut self, tag: u8, number: u32) -> bool {
        let place = self.places_of(0).trailing_zeros() as usize;
        self.tags.get_mut(place).zip(self.numbers.get_mut(place)).is_some_and(|place| {
            (*place.0, *place.1) = (tag, number);
            true
        })
    }

    /// False when it is not there.
    fn remove(&mut self, tag: u8, number: u32) -> bool {
        let mut places = self.tags.iter_mut().zip(self.numbers);
        places.find(|place| (*place.0, place.1) == (tag, number)).is_some_and(|(tag, _)| {
            *tag = 0;
            true
        })
    }

    /// The places of a tag, as bits.
    #[inline]
    fn places_of(&self, tag: u8) -> u32 {
        let [a, b, c, d, e, f, g, h, i, j, k, l] = self.tags;
        let tags = u8x16::new([a, b, c, d, e, f, g, h, i, j, k, l, 0, 0, 0, 0]);
        tags.simd_eq(u8x16::splat(tag)).to_bitmask() & 0xfff
    }
}

fn tag(hash: u64) -> u8 {
    ((hash >> 56) as u8).max(1)
}

/// A number below `end` that grows with 32 bits of a hash.
#[inline]
fn scaled(bits: u32, end: usize) -> usize {
    (u64::from(bits).wrapping_mul(end as u64) >> 32) as usize
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
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
            assert_eq!(table.find(hash(number), |other| other == number), Some(number));
        }
        assert!(table.parts.iter().all(|part| part.len < 2 * KEYS_OF_A_PART));
        assert!(table.memory_bytes() < 100_000 * 9);
        for number in (0..100_000).step_by(2) {
            table.remove(hash(number), number);
        }
        for number in 0..100_000 {
            let found = table.find(hash(number), |other| other == number);
            assert_eq!(found, (number % 2 == 1).then_some(number));
        }
        for number in (1..100_000).step_by(2) {
            table.remove(hash(number), number);
        }
        let lines = table.parts.iter().flat_map(|part| &part.lines);
        assert!(lines.into_iter().all(|line| line.tags == [0; WIDTH] && line.passed == 0));
    }

    #[test]
    fn keys_of_one_hash_are_all_found() {
        let mut table = KeyTable::new(1_000);
        (0..200).for_each(|number| table.insert(7, number, |_| 7));
        table.remove(7, 0);
        table.remove(7, 1_000);
        let is_there = |number: u32| table.find(7, |other| other == number) == Some(number);
        assert!(!is_there(0) && (1..200).all(is_there));
        assert_eq!(table.parts.iter().map(|part| part.len).sum::<usize>(), 199);
    }
}
