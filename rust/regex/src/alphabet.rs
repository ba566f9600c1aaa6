//! The classes of characters that a pattern tells apart.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use smallvec::{SmallVec, smallvec};

use super::looks::{SIDE_BOUNDS, Side};
use super::positions::COMMON_SETS;

/// Inclusive ranges of code points, in order.
pub(super) type Ranges = SmallVec<[(u32, u32); 3]>;

const ASCII: usize = 128;
/// The byte for all classes that don't fit into a byte.
const FAR: u8 = u8::MAX;

/// Maps each character to a class; all characters of a class are in the same sets.
#[derive(Debug)]
pub(super) struct Alphabet {
    /// The class of each, or [`FAR`].
    ascii: [u8; ASCII],
    /// The start of each interval of code points, and its class; only the last of those that are
    /// all in `ascii`.
    starts: Box<[u32]>,
    classes: Box<[u16]>,
    /// The side of a class's characters for assertions.
    sides: Box<[Side]>,
}

/// The sets that each class is in, by their numbers.
pub(super) type Members = Vec<SmallVec<[u32; 4]>>;

/// A bit for each set; few patterns need more words.
type Words = SmallVec<[u64; 2]>;

impl Alphabet {
    /// The classes for these sets. Where assertions play no part (`looks`), every
    /// character is the same to them. None when there are too many.
    pub(super) fn new(sets: &[Ranges], looks: bool) -> Option<(Self, Members)> {
        let mut changes: Vec<(u32, Option<u32>)> = vec![(0, None)];
        if looks {
            changes.extend(SIDE_BOUNDS.map(|bound| (bound, None)));
        }
        for (number, ranges) in (0_u32..).zip(sets) {
            for (low, high) in ranges {
                changes.push((*low, Some(number)));
                changes.push((high.saturating_add(1), Some(number)));
            }
        }
        changes.sort_unstable();

        let mut known: HashMap<(Words, Side), u16, RandomState> =
            HashMap::with_capacity_and_hasher(COMMON_SETS, RandomState::default());
        let room = changes.len();
        let mut starts = Vec::with_capacity(room);
        let mut classes = Vec::with_capacity(room);
        let mut sides = Vec::new();
        let mut members = Members::new();
        let mut within: Words = smallvec![0; sets.len().div_ceil(64)];
        for changes in changes.chunk_by(|one, other| one.0 == other.0) {
            let start = changes.first().map_or(0, |change| change.0);
            for number in changes.iter().filter_map(|change| change.1) {
                if let Some(word) = within.get_mut(number as usize / 64) {
                    *word ^= 1 << (number % 64);
                }
            }
            let side = match char::from_u32(start) {
                Some(character) if looks => Side::of(character),
                _ => Side::Other,
            };
            let next = u16::try_from(members.len()).ok()?;
            let class = *known.entry((within.clone(), side)).or_insert(next);
            if class == next {
                members.push(ones(&within).collect());
                sides.push(side);
            }
            starts.push(start);
            classes.push(class);
        }
        let mut ascii = [0; ASCII];
        for (start, class) in starts.iter().zip(&classes) {
            // The next class overwrites its own range.
            let following = ascii.get_mut(*start as usize..).unwrap_or_default();
            following.fill(u8::try_from(*class).unwrap_or(FAR));
        }
        let mut alphabet =
            Self { ascii, starts: starts.into(), classes: classes.into(), sides: sides.into() };
        if !alphabet.ascii.contains(&FAR) {
            alphabet.forget_ascii();
        }
        Some((alphabet, members))
    }

    /// Drops the intervals before the one with the first character past ASCII.
    fn forget_ascii(&mut self) {
        let kept = self.interval(ASCII as u32);
        self.starts = self.starts.get(kept..).unwrap_or_default().into();
        self.classes = self.classes.get(kept..).unwrap_or_default().into();
    }

    /// The number of classes.
    pub(super) const fn len(&self) -> usize {
        self.sides.len()
    }

    #[inline]
    pub(super) fn class(&self, character: char) -> u16 {
        match self.ascii.get(character as usize) {
            Some(&class) if class != FAR => u16::from(class),
            _ => self.find(u32::from(character)),
        }
    }

    pub(super) fn side(&self, class: u16) -> Side {
        self.sides.get(usize::from(class)).copied().unwrap_or(Side::Edge)
    }

    fn find(&self, code_point: u32) -> u16 {
        self.classes.get(self.interval(code_point)).copied().unwrap_or(0)
    }

    /// The number of the interval that has a code point.
    fn interval(&self, code_point: u32) -> usize {
        self.starts.partition_point(|start| *start <= code_point).saturating_sub(1)
    }
}

/// The numbers of the bits that are set.
pub(super) fn ones(words: &[u64]) -> impl Iterator<Item = u32> {
    (0_u32..).step_by(64).zip(words).flat_map(|(base, word)| {
        let mut left = *word;
        std::iter::from_fn(move || {
            let bit = left.trailing_zeros();
            left &= left.wrapping_sub(1);
            (bit < 64).then(|| base.saturating_add(bit))
        })
    })
}
