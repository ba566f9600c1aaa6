//! Parts of text by their grams: the filter that says where in a text a gram may stand, and the
//! entries that are looked at there.

use std::ops::Range;
use std::slice::Windows;

use crate::index::gram::{
    Choice, Grams, SHORTER, WIDTH, gram, gram_of_four, gram_of_many, gram_of_some, hash,
};
use crate::index::substring::Place;

/// Bits of the filter for each part.
const BITS_A_PART: usize = 32;
/// The filter stays in the second level of cache: 128 KiB.
const MAX_FILTER_BITS: usize = 1 << 20;
/// Positions that the filter is asked about together, and of how many it says yes where it
/// is asked about all before any of them is looked at.
pub(crate) const BLOCK: usize = 128;
const DENSE: usize = 12;
/// Bits of the filter for each part that is found by the beginnings of grams: 256 pass for it.
const BITS_A_BEGINNING: usize = 4096;
/// What it costs to compare all of a part.
pub(crate) const LOOKS_A_COMPARISON: usize = 4;

/// What is looked at before all of a part is.
#[derive(Clone, Copy, Debug)]
struct Key {
    /// As wide as the gram, and not the gram where that is narrow and the part has others.
    beside: u32,
    /// How far after the gram those bytes stand.
    distance: i8,
}

/// The keys of entries, in five bytes each.
#[derive(Debug)]
struct Keys {
    besides: Box<[u32]>,
    distances: Box<[i8]>,
}

impl FromIterator<Key> for Keys {
    fn from_iter<I: IntoIterator<Item = Key>>(keys: I) -> Self {
        let halves = keys.into_iter().map(|Key { beside, distance }| (beside, distance));
        let (besides, distances): (Vec<u32>, Vec<i8>) = halves.unzip();
        Self { besides: besides.into(), distances: distances.into() }
    }
}

impl Keys {
    #[inline(always)]
    fn get(&self, index: usize) -> Option<Key> {
        Some(Key { beside: *self.besides.get(index)?, distance: *self.distances.get(index)? })
    }
}

/// A part by one of its grams: all that a comparison with it needs but for its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) condition: u32,
    /// Where the text of the part begins.
    pub(crate) start: u32,
    pub(crate) length: u16,
    /// Where in the part the gram stands.
    pub(crate) offset: u16,
    pub(crate) place: Place,
    pub(crate) is_folded: bool,
}

/// A text that parts are looked for in, and the looks at entries that it takes.
pub(crate) struct Looks<'t, R> {
    pub(crate) text: &'t [u8],
    /// The same in ASCII lower case.
    pub(crate) folded: &'t [u8],
    /// The texts of the parts.
    pub(crate) parts: &'t [u8],
    /// How many more it may take.
    pub(crate) left: usize,
    /// Takes the condition of a part that is in the text.
    pub(crate) report: R,
}

impl<R: FnMut(u32)> Looks<'_, R> {
    /// Whether what a part has beside its gram stands there beside a gram of the text.
    #[inline(always)]
    fn is_alike(
        &self,
        key: Key,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        gram: u32,
        position: usize,
    ) -> bool {
        if grams.width > WIDTH {
            return gram == key.beside;
        }
        let start = position.wrapping_add_signed(isize::from(key.distance));
        let beside = self.folded.get(start..start.wrapping_add(grams.width)).map(grams.of);
        beside == Some(key.beside)
    }

    /// Compares all of the part of an entry with what stands where its gram does.
    #[inline(always)]
    pub(crate) fn compare(&mut self, entry: &Entry, position: usize) {
        if self.is_part_at(entry, position) {
            (self.report)(entry.condition);
        }
    }

    #[inline(always)]
    fn is_part_at(&self, entry: &Entry, position: usize) -> bool {
        let Some(start) = position.checked_sub(usize::from(entry.offset)) else { return false };
        let length = usize::from(entry.length);
        let end = start.wrapping_add(length);
        match entry.place {
            Place::Start if start != 0 => return false,
            Place::End if end != self.text.len() => return false,
            _ => {}
        }
        let from = entry.start as usize;
        let searched = if entry.is_folded { self.folded } else { self.text };
        let sought = self.parts.get(from..from.wrapping_add(length));
        let found = searched.get(start..end);
        found.zip(sought).is_some_and(|(found, sought)| are_equal(found, sought))
    }
}

/// Whether texts of one length are equal; of short ones without a call.
#[inline(always)]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let ends = |text: &[u8]| Some((*text.first_chunk::<8>()?, *text.last_chunk::<8>()?));
    if one.len() > 16 || one.len() < 8 { one == other } else { ends(one) == ends(other) }
}

impl<F> Grams<F> {
    /// Those of a text that are looked for together.
    #[inline(always)]
    fn block(self, text: &[u8]) -> Windows<'_, u8> {
        let end = BLOCK.wrapping_add(self.width).wrapping_sub(1);
        text.get(..end).unwrap_or(text).windows(self.width)
    }
}

/// Puts a pair behind those that are kept, without a branch, and counts it if it is one.
#[inline(always)]
pub(crate) fn keep_if<const MOST: usize>(
    is_kept: bool,
    pair: (u32, u32),
    kept: &mut [(u32, u32); MOST],
    count: &mut usize,
) {
    const { assert!(MOST.is_power_of_two()) };
    if let Some(place) = kept.get_mut(*count & MOST.wrapping_sub(1)) {
        *place = pair;
    }
    *count = count.wrapping_add(usize::from(is_kept));
}

/// Parts by grams of one width.
#[derive(Debug)]
pub(crate) struct Table {
    width: usize,
    filter: Box<[u64]>,
    /// How far a hash is shifted to be a bit of the filter.
    filter_shift: u32,
    /// Where the entries of each bucket begin; one more than there are buckets.
    starts: Box<[u32]>,
    bucket_shift: u32,
    /// Of the entries, and apart from them: of most no more than these is looked at. Two more,
    /// so that two stand wherever a bucket begins.
    keys: Keys,
    entries: Box<[Entry]>,
    /// Parts one byte shorter than the grams, found by the grams that begin with them.
    beginnings: Option<Box<Table>>,
}

impl Table {
    pub(crate) fn new(
        width: usize,
        mut chosen: Vec<Choice>,
        beginnings: Option<Self>,
        mut entry: impl FnMut(&Choice) -> Option<Entry>,
    ) -> Self {
        let shorter = beginnings.as_ref().map_or(0, |shorter| shorter.entries.len());
        let bits = chosen.len().saturating_mul(BITS_A_PART);
        let bits = bits.max(shorter.saturating_mul(BITS_A_BEGINNING)).next_power_of_two();
        let filter_bits = bits.clamp(256, MAX_FILTER_BITS);
        let filter_shift = 32_u32.saturating_sub(filter_bits.trailing_zeros());
        let buckets = chosen.len().next_power_of_two().max(2);
        let bucket_shift = 32_u32.saturating_sub(buckets.trailing_zeros());
        let mut filter = vec![0_u64; filter_bits / 64];
        let mut starts = vec![0_u32; buckets.saturating_add(1)];
        let mut pass = |gram: u32| {
            let bit = hash(gram) >> filter_shift;
            if let Some(word) = filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
        };
        for beside in beginnings.iter().flat_map(|shorter| &shorter.keys.besides).take(shorter) {
            (0..=u8::MAX).for_each(|last| pass(beside | u32::from(last) << 24));
        }
        for Choice { gram, .. } in &chosen {
            pass(*gram);
            let bucket = (hash(*gram) >> bucket_shift) as usize;
            if let Some(start) = starts.get_mut(bucket.saturating_add(1)) {
                *start = start.saturating_add(1);
            }
        }
        let mut total = 0_u32;
        for start in &mut starts {
            total = total.saturating_add(*start);
            *start = total;
        }
        chosen.sort_by_key(|choice| hash(choice.gram) >> bucket_shift);
        let (mut keys, entries): (Vec<Key>, Vec<Entry>) = chosen
            .iter()
            .filter_map(|choice| {
                let Choice { beside, distance, .. } = *choice;
                Some((Key { beside, distance }, entry(choice)?))
            })
            .unzip();
        keys.extend([Key { beside: 0, distance: 0 }; 2]);
        Self {
            width,
            filter: filter.into(),
            filter_shift,
            starts: starts.into(),
            bucket_shift,
            keys: keys.into_iter().collect(),
            entries: entries.into(),
            beginnings: beginnings.map(Box::new),
        }
    }

    /// The conditions of all its parts.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = u32> {
        let shorter = self.beginnings.iter().flat_map(|shorter| &shorter.entries);
        self.entries.iter().chain(shorter).map(|entry| entry.condition)
    }

    /// Looks at the entries of all grams in the text, until there are too many: says whether
    /// there are not.
    #[inline]
    pub(crate) fn scan(&self, looks: &mut Looks<'_, impl FnMut(u32)>) -> bool {
        let are_within = self.beginnings.as_ref().is_none_or(|shorter| shorter.look_at_ends(looks));
        are_within
            && match self.width {
                WIDTH => self.scan_by(Grams { width: WIDTH, of: gram_of_four }, looks),
                width @ 5..=7 => self.scan_by(Grams { width, of: gram_of_some }, looks),
                width @ 8.. => self.scan_by(Grams { width, of: gram_of_many }, looks),
                width => self.scan_by(Grams { width, of: gram }, looks),
            }
    }

    #[inline(always)]
    fn scan_by(
        &self,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        looks: &mut Looks<'_, impl FnMut(u32)>,
    ) -> bool {
        let mut start = 0_usize;
        while let Some(rest) = looks.folded.get(start..).filter(|rest| rest.len() >= grams.width) {
            let mut passed = 0_usize;
            for (number, window) in (0..).zip(grams.block(rest)) {
                let gram = (grams.of)(window);
                if self.passes(gram) {
                    passed = passed.wrapping_add(1);
                    let position = start.wrapping_add(number);
                    if !self.look_at_beginning(gram, position, looks)
                        || !self.look_at(grams, gram, position, 0, looks)
                    {
                        return false;
                    }
                }
            }
            start = start.wrapping_add(BLOCK);
            if passed > DENSE {
                let Some(end) = self.scan_dense(grams, start, looks) else { return false };
                start = end;
            }
        }
        true
    }

    /// Looks at the entries of all grams in the text from a position on, as long as many of
    /// them pass the filter, and gives where they do no more; None if the entries are too many.
    ///
    /// That is done in steps, each for a block of the text, which have no branch that would be
    /// foretold badly and of which none waits for the memory of another.
    #[inline(never)]
    fn scan_dense(
        &self,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        mut start: usize,
        looks: &mut Looks<'_, impl FnMut(u32)>,
    ) -> Option<usize> {
        let (mut passed, mut alike) = ([(0, 0); BLOCK], [(0, 0); 2 * BLOCK]);
        loop {
            let rest = looks.folded.get(start..).unwrap_or_default();
            let mut count = 0;
            for (position, window) in (start as u32..).zip(grams.block(rest)) {
                let gram = (grams.of)(window);
                keep_if(self.passes(gram), (position, gram), &mut passed, &mut count);
            }
            let passed = passed.get(..count)?;
            let count = self.keep_alike(grams, passed, looks, &mut alike)?;
            for &(position, index) in alike.get(..count)? {
                if let Some(entry) = self.entries.get(index as usize) {
                    looks.compare(entry, position as usize);
                }
            }
            start = start.wrapping_add(BLOCK);
            if passed.len() <= DENSE {
                return Some(start);
            }
        }
    }

    /// Keeps the entries that are alike where grams of a block passed the filter, of no more
    /// than two a bucket, and gives their number. Looks at the others of the bucket at once.
    #[inline(never)]
    fn keep_alike(
        &self,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        passed: &[(u32, u32)],
        looks: &mut Looks<'_, impl FnMut(u32)>,
        alike: &mut [(u32, u32); 2 * BLOCK],
    ) -> Option<usize> {
        let mut count = 0;
        for &(position, gram) in passed {
            let Range { start: first, end } = self.range(gram)?;
            let second = first.wrapping_add(1);
            for index in [first, second] {
                let key = self.keys.get(index as usize)?;
                let is_alike = looks.is_alike(key, grams, gram, position as usize);
                keep_if(is_alike, (position, index), alike, &mut count);
            }
            let has_more = second.wrapping_add(1) < end;
            if has_more && !self.look_at(grams, gram, position as usize, 2, looks)
                || !self.look_at_beginning(gram, position as usize, looks)
            {
                return None;
            }
        }
        let looked = passed.len().wrapping_add(count.wrapping_mul(LOOKS_A_COMPARISON));
        looks.left = looks.left.checked_sub(looked)?;
        Some(count)
    }

    /// Looks at the entries of which some may have a gram that stands at a position, but for
    /// the first ones; not if they are too many.
    #[inline(never)]
    fn look_at(
        &self,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        gram: u32,
        position: usize,
        skipped: usize,
        looks: &mut Looks<'_, impl FnMut(u32)>,
    ) -> bool {
        let Range { start, end } = self.range(gram).unwrap_or_default();
        let range = (start as usize).wrapping_add(skipped)..end as usize;
        let Some(left) = looks.left.checked_sub(range.len()) else { return false };
        looks.left = left;
        let entries = self.entries.get(range.clone()).unwrap_or_default();
        for (index, entry) in range.zip(entries) {
            if self.keys.get(index).is_some_and(|key| looks.is_alike(key, grams, gram, position)) {
                looks.left = looks.left.saturating_sub(LOOKS_A_COMPARISON);
                looks.compare(entry, position);
            }
        }
        true
    }

    /// The same for what a gram begins with.
    #[inline(always)]
    fn look_at_beginning(
        &self,
        gram: u32,
        position: usize,
        looks: &mut Looks<'_, impl FnMut(u32)>,
    ) -> bool {
        let Some(shorter) = &self.beginnings else { return true };
        let grams = Grams { width: SHORTER, of: self::gram };
        let gram = gram << 8 >> 8;
        !shorter.passes(gram) || shorter.look_at(grams, gram, position, 0, looks)
    }

    /// The same for grams that stand at an end of the text.
    pub(crate) fn look_at_ends(&self, looks: &mut Looks<'_, impl FnMut(u32)>) -> bool {
        let grams = Grams { width: self.width, of: gram };
        let Some(last) = looks.folded.len().checked_sub(self.width) else { return true };
        [0, last].into_iter().all(|position| {
            let window = looks.folded.get(position..position.wrapping_add(self.width));
            let gram = gram(window.unwrap_or_default());
            !self.passes(gram) || self.look_at(grams, gram, position, 0, looks)
        })
    }

    #[inline(always)]
    fn passes(&self, gram: u32) -> bool {
        let bit = hash(gram) >> self.filter_shift;
        let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
        word & (1 << (bit % 64)) != 0
    }

    /// Where the entries are of which some may have a gram.
    #[inline]
    fn range(&self, gram: u32) -> Option<Range<u32>> {
        let bucket = (hash(gram) >> self.bucket_shift) as usize;
        Some(*self.starts.get(bucket)?..*self.starts.get(bucket.wrapping_add(1))?)
    }
}
