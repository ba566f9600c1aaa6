//! Repeated member names of JSON objects, found cheaply.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;

/// Up to this many names of an object are told apart by a few of their bytes.
pub(crate) const FEW_NAMES: usize = 24;

/// What tells a name that an object had from one it had not.
///
/// A filter of 256 bits tells most new names at once; behind it stands a walk. In an
/// object of many names the bit is a hash with a secret seed, so that no choice of
/// names is slow; few names are no danger, however alike someone makes them.
#[derive(Default)]
pub(crate) struct NameFilter {
    bits: [u64; 4],
}

impl NameFilter {
    /// Whether a name is surely none of the others before it, which are few.
    #[inline]
    pub(crate) fn is_new_of_few(&mut self, name: &str) -> bool {
        !self.mark(sketch(name.as_bytes()))
    }

    /// Whether a name is among the others before it, in this object.
    #[inline]
    pub(crate) fn is_repeated(
        &mut self,
        name: &str,
        others: &[&str],
        hasher: &RandomState,
    ) -> bool {
        let bit = if others.len() < FEW_NAMES {
            sketch(name.as_bytes())
        } else {
            if others.len() == FEW_NAMES {
                self.bits = [0; 4];
                for other in others {
                    self.mark(keyed_hash(other, hasher));
                }
            }
            keyed_hash(name, hasher)
        };
        self.mark(bit) && others.contains(&name)
    }

    /// Sets a bit of the filter and tells whether it was set.
    #[inline]
    fn mark(&mut self, bit: u8) -> bool {
        let Some(word) = self.bits.get_mut(usize::from(bit >> 6)) else {
            return true;
        };
        let mask = 1u64 << (bit & 63);
        let was_set = *word & mask != 0;
        *word |= mask;
        was_set
    }
}

/// A number that differs for most names that differ, made of the length and of the bytes at
/// both ends.
#[inline]
pub(crate) fn sketch(name: &[u8]) -> u8 {
    const MIX: u32 = 0x9e37_79b1;
    let ends = match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (Some(first), Some(last)) => {
            u32::from_le_bytes(*first) ^ u32::from_le_bytes(*last).rotate_left(11)
        }
        _ => name.iter().fold(0, |ends, byte| (ends << 8) | u32::from(*byte)),
    };
    let [length, ..] = name.len().to_le_bytes();
    let [.., mixed] = (ends ^ u32::from(length)).wrapping_mul(MIX).to_le_bytes();
    mixed
}

#[inline]
fn keyed_hash(name: &str, hasher: &RandomState) -> u8 {
    let mut state = hasher.build_hasher();
    state.write(name.as_bytes());
    let [bit, ..] = state.finish().to_le_bytes();
    bit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_repeated_names_are_repeated() {
        let names: Vec<String> = (0..200).map(|number| format!("n{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let hasher = RandomState::default();
        let mut filter = NameFilter::default();
        for (count, name) in names.iter().enumerate() {
            assert!(!filter.is_repeated(name, &names[..count], &hasher), "{name}");
        }
        for name in &names {
            assert!(filter.is_repeated(name, &names, &hasher), "{name}");
        }
    }

    #[test]
    fn names_alike_in_the_sketch_are_still_told_apart() {
        let names = ["abcdefghij", "abcdeeghij", "abcdxxghij", "abcdyyghij"];
        let mut filter = NameFilter::default();
        for (count, name) in names.iter().enumerate() {
            assert!(!filter.is_repeated(name, &names[..count], &RandomState::default()));
        }
        assert_eq!(sketch(b"abcdefghij"), sketch(b"abcdxxghij"));
    }
}
