//! Parts of text by their grams: the filter that says where in a text a gram may stand, and the
//! entries that are looked at there.

use std::ops::Range;

use crate::index::gram::{
    Choice, Grams, WIDTH, gram, gram_of_four, gram_of_many, gram_of_some, hash,
};
use crate::index::substring::Place;

/// Bits of the filter for each part.
const BITS_A_PART: usize = 32;
/// The filter stays in the second level of cache: 128 KiB.
const MAX_FILTER_BITS: usize = 1 << 20;
/// Positions that the filter is asked about together, and of how many it says yes where it
/// is asked about all before any of them is looked at.
const BLOCK: usize = 128;
const DENSE: usize = 12;
/// What it costs to compare all of a part.
const LOOKS_A_COMPARISON: usize = 4;

/// A part by one of its grams: all that a look at it needs but for its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// What is looked at before all of the part is: as wide as the gram, and not the gram
    /// where the part has others.
    pub(crate) beside: u32,
    pub(crate) condition: u32,
    /// Where the text of the part begins.
    pub(crate) start: u32,
    pub(crate) length: u16,
    /// Where in the part the gram stands.
    pub(crate) offset: u16,
    /// How far after the gram those bytes stand.
    pub(crate) distance: i8,
    pub(crate) place: Place,
    pub(crate) is_folded: bool,
}

/// The looks at entries that a text takes.
pub(crate) struct Looks<'t, V> {
    pub(crate) folded: &'t [u8],
    /// How many more it may take.
    pub(crate) left: usize,
    /// Takes an entry that is worth a comparison, and where its gram stands.
    pub(crate) visit: V,
}

impl<V: FnMut(&Entry, usize)> Looks<'_, V> {
    /// Looks at entries of which some may have a gram that stands at a position; not if
    /// they are too many.
    #[inline(always)]
    fn at(
        &mut self,
        bucket: &[Entry],
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        gram: u32,
        position: usize,
    ) -> bool {
        let Some(left) = self.left.checked_sub(bucket.len()) else { return false };
        self.left = left;
        for entry in bucket {
            if self.is_alike(entry, grams, gram, position) {
                self.visit(entry, position);
            }
        }
        true
    }

    /// Whether what an entry has beside its gram stands there beside a gram of the text.
    #[inline(always)]
    fn is_alike(
        &self,
        entry: &Entry,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        gram: u32,
        position: usize,
    ) -> bool {
        if entry.distance == 0 {
            return gram == entry.beside;
        }
        let start = position.wrapping_add_signed(isize::from(entry.distance));
        let beside = self.folded.get(start..start.wrapping_add(grams.width)).map(grams.of);
        beside == Some(entry.beside)
    }

    #[inline(always)]
    fn visit(&mut self, entry: &Entry, position: usize) {
        self.left = self.left.saturating_sub(LOOKS_A_COMPARISON);
        (self.visit)(entry, position);
    }

    /// The same apart from the loop over the text, which is the shorter for it.
    #[inline(never)]
    fn at_seldom(
        &mut self,
        bucket: &[Entry],
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        gram: u32,
        position: usize,
    ) -> bool {
        self.at(bucket, grams, gram, position)
    }
}

/// Puts a pair behind those that are kept, without a branch, and counts it if it is one.
#[inline(always)]
fn keep_if(is_kept: bool, pair: (u32, u32), kept: &mut [(u32, u32)], count: &mut usize) {
    if let Some(place) = kept.get_mut(*count) {
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
    pub(crate) entries: Box<[Entry]>,
}

impl Table {
    pub(crate) fn new(
        width: usize,
        mut chosen: Vec<Choice>,
        entry: impl FnMut(Choice) -> Option<Entry>,
    ) -> Self {
        let bits = chosen.len().saturating_mul(BITS_A_PART).next_power_of_two();
        let filter_bits = bits.clamp(256, MAX_FILTER_BITS);
        let filter_shift = 32_u32.saturating_sub(filter_bits.trailing_zeros());
        let buckets = chosen.len().next_power_of_two().max(2);
        let bucket_shift = 32_u32.saturating_sub(buckets.trailing_zeros());
        let mut filter = vec![0_u64; filter_bits / 64];
        let mut starts = vec![0_u32; buckets.saturating_add(1)];
        for Choice { gram, .. } in &chosen {
            let bit = hash(*gram) >> filter_shift;
            if let Some(word) = filter.get_mut((bit / 64) as usize) {
                *word |= 1 << (bit % 64);
            }
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
        Self {
            width,
            filter: filter.into(),
            filter_shift,
            starts: starts.into(),
            bucket_shift,
            entries: chosen.into_iter().filter_map(entry).collect(),
        }
    }

    /// Looks at the entries of all grams in the text, until there are too many: says whether
    /// there are not.
    #[inline]
    pub(crate) fn scan(&self, looks: &mut Looks<'_, impl FnMut(&Entry, usize)>) -> bool {
        match self.width {
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
        looks: &mut Looks<'_, impl FnMut(&Entry, usize)>,
    ) -> bool {
        let mut start = 0_usize;
        let mut is_dense = false;
        while let Some(rest) = looks.folded.get(start..).filter(|rest| rest.len() >= grams.width) {
            let passed = if is_dense {
                let Some(passed) = self.scan_dense(grams, rest, start, looks) else { return false };
                passed
            } else {
                let mut passed = 0_usize;
                for (number, window) in (0..).zip(rest.windows(grams.width).take(BLOCK)) {
                    let gram = (grams.of)(window);
                    if self.passes(gram) {
                        passed = passed.wrapping_add(1);
                        let position = start.wrapping_add(number);
                        if !looks.at_seldom(self.bucket(gram), grams, gram, position) {
                            return false;
                        }
                    }
                }
                passed
            };
            is_dense = passed > DENSE;
            start = start.wrapping_add(BLOCK);
        }
        true
    }

    /// Looks at the entries of all grams in the next block of a text where many of them pass
    /// the filter, and gives the number of those; None if the entries are too many.
    ///
    /// That is done in steps, each for all of the block, which have no branch that would be
    /// foretold badly and of which none waits for the memory of another.
    #[inline(never)]
    fn scan_dense(
        &self,
        grams: Grams<impl Fn(&[u8]) -> u32 + Copy>,
        rest: &[u8],
        start: usize,
        looks: &mut Looks<'_, impl FnMut(&Entry, usize)>,
    ) -> Option<usize> {
        let end = BLOCK.wrapping_add(grams.width).wrapping_sub(1);
        let windows = rest.get(..end).unwrap_or(rest).windows(grams.width);
        let (mut passed, mut passed_count) = ([(0, 0); BLOCK], 0);
        for (number, window) in (0_u32..).zip(windows) {
            let gram = (grams.of)(window);
            keep_if(self.passes(gram), (number, gram), &mut passed, &mut passed_count);
        }
        let at = |(number, gram): (u32, u32)| (start.wrapping_add(number as usize), gram);

        let (mut found, mut found_count) = ([(0, 0); 2 * BLOCK], 0);
        for (index, pair) in (0_u32..).zip(passed.get(..passed_count).unwrap_or_default()) {
            let Range { start: first, end } = self.range(pair.1);
            let second = first.wrapping_add(1);
            keep_if(first < end, (index, first), &mut found, &mut found_count);
            keep_if(second < end, (index, second), &mut found, &mut found_count);
            let rest = second.wrapping_add(1)..end;
            if !rest.is_empty() {
                let (position, gram) = at(*pair);
                if !looks.at(self.entries_of(rest), grams, gram, position) {
                    return None;
                }
            }
        }
        looks.left = looks.left.checked_sub(found_count)?;

        let (mut alike, mut alike_count) = ([(0, 0); 2 * BLOCK], 0);
        for pair @ (index, entry) in found.get(..found_count).unwrap_or_default() {
            let entry = self.entries.get(*entry as usize);
            let (Some(entry), Some(pair_at)) = (entry, passed.get(*index as usize)) else {
                continue;
            };
            let (position, gram) = at(*pair_at);
            let is_alike = looks.is_alike(entry, grams, gram, position);
            keep_if(is_alike, *pair, &mut alike, &mut alike_count);
        }
        for (index, entry) in alike.get(..alike_count).unwrap_or_default() {
            let entry = self.entries.get(*entry as usize);
            if let (Some(entry), Some(pair)) = (entry, passed.get(*index as usize)) {
                looks.visit(entry, at(*pair).0);
            }
        }
        Some(passed_count)
    }

    /// The same for grams that stand at an end of the text.
    pub(crate) fn look_at_ends(&self, looks: &mut Looks<'_, impl FnMut(&Entry, usize)>) -> bool {
        let grams = Grams { width: self.width, of: gram };
        let Some(last) = looks.folded.len().checked_sub(self.width) else { return true };
        [0, last].into_iter().all(|position| {
            let window = looks.folded.get(position..position.wrapping_add(self.width));
            let gram = gram(window.unwrap_or_default());
            !self.passes(gram) || looks.at_seldom(self.bucket(gram), grams, gram, position)
        })
    }

    #[inline(always)]
    fn passes(&self, gram: u32) -> bool {
        let bit = hash(gram) >> self.filter_shift;
        let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
        word & (1 << (bit % 64)) != 0
    }

    #[inline]
    fn bucket(&self, gram: u32) -> &[Entry] {
        self.entries_of(self.range(gram))
    }

    /// Where the entries are of which some may have a gram.
    #[inline]
    fn range(&self, gram: u32) -> Range<u32> {
        let bucket = (hash(gram) >> self.bucket_shift) as usize;
        let bound = |index: usize| self.starts.get(index).copied().unwrap_or_default();
        bound(bucket)..bound(bucket.wrapping_add(1))
    }

    #[inline]
    fn entries_of(&self, range: Range<u32>) -> &[Entry] {
        self.entries.get(range.start as usize..range.end as usize).unwrap_or_default()
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.filter)
            .saturating_add(std::mem::size_of_val(&*self.starts))
            .saturating_add(std::mem::size_of_val(&*self.entries))
    }
}
