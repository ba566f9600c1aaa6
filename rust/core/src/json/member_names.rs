//! Repeated member names of JSON objects, found cheaply.

use std::collections::HashSet;

use foldhash::fast::RandomState;

/// Up to this many names of an object are distinguished by a few of their bytes.
const FEW_NAMES: usize = 24;

/// The names that an object has so far.
///
/// Among few names a filter of 256 bits recognises most new ones at once; otherwise a walk
/// compares them, which is short even for names chosen to collide. Many names are in a set whose
/// hash has a secret seed, so that no choice of names is slow.
#[derive(Default)]
pub(crate) struct Names<'a> {
    filter: [u64; 4],
    count: usize,
    few: [&'a str; FEW_NAMES],
    /// All names, if they are more.
    many: Option<HashSet<&'a str, RandomState>>,
}

impl<'a> Names<'a> {
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    /// Adds a name that is surely new; false if that takes a longer search.
    #[inline]
    pub(crate) fn add_new_of_few(&mut self, name: &'a str) -> bool {
        self.count < FEW_NAMES && !self.mark(sketch(name.as_bytes())) && self.keep(name)
    }

    /// Adds a name; false if it already exists.
    pub(crate) fn add(&mut self, name: &'a str) -> bool {
        if self.count < FEW_NAMES {
            let may_be_there = self.mark(sketch(name.as_bytes()));
            let others = self.few.get(..self.count).unwrap_or_default();
            return !(may_be_there && others.contains(&name)) && self.keep(name);
        }
        let few = self.few;
        let is_new = self.many.get_or_insert_with(|| few.into_iter().collect()).insert(name);
        self.count = self.count.wrapping_add(usize::from(is_new));
        is_new
    }

    /// Keeps a name among the few.
    #[inline]
    fn keep(&mut self, name: &'a str) -> bool {
        let Some(place) = self.few.get_mut(self.count) else { return false };
        *place = name;
        self.count = self.count.wrapping_add(1);
        true
    }

    /// Sets a bit of the filter, and returns whether it was set.
    #[inline]
    fn mark(&mut self, bit: u8) -> bool {
        let Some(word) = self.filter.get_mut(usize::from(bit >> 6)) else {
            return true;
        };
        let mask = 1u64 << (bit & 63);
        let was_set = *word & mask != 0;
        *word |= mask;
        was_set
    }
}

/// A number that differs for most names that differ, made of the length and two bytes at either
/// end: nearly every name is long enough, and no branch depends on its length.
#[inline]
fn sketch(name: &[u8]) -> u8 {
    const MIX: u32 = 0x9e37_79b1;
    let ends = match (name.first_chunk::<2>(), name.last_chunk::<2>()) {
        (Some(first), Some(last)) => {
            u32::from(u16::from_le_bytes(*first)) | (u32::from(u16::from_le_bytes(*last)) << 16)
        }
        _ => name.iter().fold(0, |ends, byte| (ends << 8) | u32::from(*byte)),
    };
    let [length, ..] = name.len().to_le_bytes();
    let [.., mixed] = (ends ^ u32::from(length)).wrapping_mul(MIX).to_le_bytes();
    mixed
}

#[cfg(test)]
mod tests;
