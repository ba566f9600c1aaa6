//! A search for many texts at once in one text.
//!
//! Each part sought is found by its rarest run of four bytes (its gram), or by all
//! of it when it is shorter: a filter of bits says where such a gram may stand, a
//! table which parts have it and what four bytes they have beside it, and only where those
//! stand there as well is a part compared. Everything is compared in ASCII lower case first,
//! so one pass serves both cases.
//!
//! Where parts are made of few grams ([`crowd`]), longer runs tell them apart, for which
//! the text is passed over once more.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::index::crowd::{by_widths, crowd};

/// Bytes of a gram, but for parts that are shorter or crowded.
pub(crate) const WIDTH: usize = 4;
/// Bits of the filter for each part.
const BITS_A_PART: usize = 32;
/// The filter stays in the second level of cache: 128 KiB.
const MAX_FILTER_BITS: usize = 1 << 20;
/// Entries that may be looked at for a text beside [`LOOKS_A_BYTE`].
const LOOKS: usize = 4096;
const LOOKS_A_BYTE: usize = 16;
/// What it costs to compare all of a part.
const LOOKS_A_COMPARISON: usize = 4;

/// Where a part must stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Anywhere,
    Start,
    End,
}

/// A part to look for.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) text: Box<str>,
    pub(crate) place: Place,
    /// Whether the case of letters plays no part.
    pub(crate) is_folded: bool,
    /// What is reported when it is found: a condition, or what the caller likes.
    pub(crate) condition: u32,
}

/// Counts of grams in text of the kind that is searched.
pub(crate) type GramCounts = HashMap<u32, u32, RandomState>;

/// Adds the grams of a text to counts.
pub(crate) fn count_grams(text: &str, counts: &mut GramCounts) {
    for window in text.as_bytes().windows(WIDTH) {
        let count = counts.entry(gram(window)).or_default();
        *count = count.saturating_add(1);
    }
}

/// The texts that a search was made for, in any order.
#[derive(Debug)]
pub(crate) struct Substrings {
    texts: Box<str>,
    parts: Box<[Compiled]>,
    /// By the width of their grams.
    tables: Box<[Table]>,
}

#[derive(Debug)]
struct Compiled {
    start: u32,
    length: u16,
    place: Place,
    is_folded: bool,
    condition: u32,
}

/// What a scan came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    Whole,
    /// It would have cost too much: any part may be in the text.
    GivenUp,
}

impl Substrings {
    /// A search for parts, none of which is empty.
    pub(crate) fn new(parts: &[Part], counts: &GramCounts) -> Self {
        let mut texts = String::new();
        let mut compiled = Vec::with_capacity(parts.len());
        for part in parts {
            let length = u16::try_from(part.text.len()).unwrap_or(u16::MAX);
            let start = u32::try_from(texts.len()).unwrap_or(u32::MAX);
            let Part { place, is_folded, condition, .. } = *part;
            texts.push_str(&part.text);
            compiled.push(Compiled { start, length, place, is_folded, condition });
        }
        let tables = tables(parts, counts);
        Self { texts: texts.into(), tables, parts: compiled.into() }
    }

    /// Reports the conditions whose parts are in a text. `folded` is the text in
    /// ASCII lower case.
    pub(crate) fn scan(&self, text: &[u8], folded: &[u8], mut report: impl FnMut(u32)) -> Scanned {
        let mut left = LOOKS.saturating_add(LOOKS_A_BYTE.saturating_mul(text.len()));
        for table in &self.tables {
            let scanned = table.scan(folded, &mut left, |entry, position| {
                if let Some(condition) = self.part_at(entry, position, text, folded) {
                    report(condition);
                }
            });
            if scanned == Scanned::GivenUp {
                return Scanned::GivenUp;
            }
        }
        Scanned::Whole
    }

    /// All conditions that the search can report.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().map(|part| part.condition)
    }

    /// The condition of an entry whose gram stands at a position, if all of its
    /// part does.
    #[inline]
    fn part_at(&self, entry: Entry, position: usize, text: &[u8], folded: &[u8]) -> Option<u32> {
        let part = self.parts.get(entry.part as usize)?;
        let start = position.checked_sub(usize::from(entry.offset))?;
        let end = start.wrapping_add(usize::from(part.length));
        match part.place {
            Place::Start if start != 0 => return None,
            Place::End if end != text.len() => return None,
            _ => {}
        }
        let searched = if part.is_folded { folded } else { text };
        let from = part.start as usize;
        let sought =
            self.texts.as_bytes().get(from..from.wrapping_add(usize::from(part.length)))?;
        are_equal(searched.get(start..end)?, sought).then_some(part.condition)
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = self.tables.iter().map(Table::memory_bytes).sum::<usize>();
        self.texts.len().saturating_add(std::mem::size_of_val(&*self.parts)).saturating_add(tables)
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// What is looked at before all of the part is: as wide as the gram, and not the gram
    /// where the part has others.
    beside: u32,
    part: u32,
    /// Where in the part the gram stands.
    offset: u16,
    /// How far after the gram those bytes stand.
    distance: i16,
}

/// Parts by grams of one width.
#[derive(Debug)]
struct Table {
    width: usize,
    filter: Box<[u64]>,
    /// How far a hash is shifted to be a bit of the filter.
    filter_shift: u32,
    /// Where the entries of each bucket begin; one more than there are buckets.
    starts: Box<[u32]>,
    bucket_shift: u32,
    entries: Box<[Entry]>,
}

impl Table {
    fn new(width: usize, mut chosen: Vec<(u32, Entry)>) -> Self {
        let bits = chosen.len().saturating_mul(BITS_A_PART).next_power_of_two();
        let filter_bits = bits.clamp(256, MAX_FILTER_BITS);
        let filter_shift = 32_u32.saturating_sub(filter_bits.trailing_zeros());
        let buckets = chosen.len().next_power_of_two().max(2);
        let bucket_shift = 32_u32.saturating_sub(buckets.trailing_zeros());
        let mut filter = vec![0_u64; filter_bits / 64];
        let mut starts = vec![0_u32; buckets.saturating_add(1)];
        for (gram, _) in &chosen {
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
        chosen.sort_by_key(|(gram, _)| hash(*gram) >> bucket_shift);
        Self {
            width,
            filter: filter.into(),
            filter_shift,
            starts: starts.into(),
            bucket_shift,
            entries: chosen.into_iter().map(|(_, entry)| entry).collect(),
        }
    }

    /// Hands the entries that are worth a comparison, and where their gram stands, to
    /// `visit`, until too many have been looked at.
    #[inline]
    fn scan(&self, folded: &[u8], left: &mut usize, visit: impl FnMut(Entry, usize)) -> Scanned {
        // Of a known width a gram is one load.
        match self.width {
            WIDTH => self.scan_by(WIDTH, folded, left, visit),
            width => self.scan_by(width, folded, left, visit),
        }
    }

    #[inline(always)]
    fn scan_by(
        &self,
        width: usize,
        folded: &[u8],
        left: &mut usize,
        mut visit: impl FnMut(Entry, usize),
    ) -> Scanned {
        for (position, window) in folded.windows(width).enumerate() {
            let gram = gram(window);
            let hash = hash(gram);
            let bit = hash >> self.filter_shift;
            let word = self.filter.get((bit / 64) as usize).copied().unwrap_or(0);
            if word & (1 << (bit % 64)) == 0 {
                continue;
            }
            let bucket = self.bucket(hash);
            let Some(rest) = left.checked_sub(bucket.len()) else { return Scanned::GivenUp };
            *left = rest;
            for entry in bucket {
                if is_beside(width, *entry, position, folded) {
                    *left = left.saturating_sub(LOOKS_A_COMPARISON);
                    visit(*entry, position);
                }
            }
        }
        Scanned::Whole
    }

    #[inline]
    fn bucket(&self, hash: u32) -> &[Entry] {
        let bucket = (hash >> self.bucket_shift) as usize;
        let bound = |index: usize| self.starts.get(index).map_or(0, |start| *start as usize);
        self.entries.get(bound(bucket)..bound(bucket.wrapping_add(1))).unwrap_or_default()
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.filter)
            .saturating_add(std::mem::size_of_val(&*self.starts))
            .saturating_add(std::mem::size_of_val(&*self.entries))
    }
}

/// Whether the bytes beside the gram of an entry are in the text as well.
#[inline(always)]
fn is_beside(width: usize, entry: Entry, position: usize, folded: &[u8]) -> bool {
    let start = position.wrapping_add_signed(isize::from(entry.distance));
    let window = folded.get(start..start.wrapping_add(width));
    window.is_some_and(|window| gram(window) == entry.beside)
}

/// A part by its number, in lower case.
pub(crate) type Numbered = (u32, Box<[u8]>);

/// The tables that find all parts.
fn tables(parts: &[Part], counts: &GramCounts) -> Box<[Table]> {
    let mut by_width: BTreeMap<usize, Vec<Numbered>> = BTreeMap::new();
    for (number, part) in (0_u32..).zip(parts) {
        let folded = part.text.to_ascii_lowercase().into_boxed_str().into_boxed_bytes();
        by_width.entry(folded.len().min(WIDTH)).or_default().push((number, folded));
    }
    let mut tables = Vec::new();
    if let Some(parts) = by_width.remove(&WIDTH) {
        let mut chosen = choose_grams(WIDTH, &parts, counts);
        let grams: Vec<u32> = chosen.iter().map(|(gram, _)| *gram).collect();
        let crowd = crowd(&parts, &grams);
        if !crowd.is_empty() {
            chosen.retain(|(_, entry)| crowd.binary_search(&entry.part).is_err());
            let mut crowded = parts;
            crowded.retain(|(number, _)| crowd.binary_search(number).is_ok());
            by_width.extend(by_widths(crowded));
        }
        if !chosen.is_empty() {
            tables.push(Table::new(WIDTH, chosen));
        }
    }
    for (width, parts) in by_width {
        tables.push(Table::new(width, choose_grams(width, &parts, &GramCounts::default())));
    }
    tables.into()
}

/// Whether texts of one length are equal; of short ones without a call.
#[inline]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let ends = |text: &[u8]| Some((*text.first_chunk::<8>()?, *text.last_chunk::<8>()?));
    if one.len() > 16 || one.len() < 8 { one == other } else { ends(one) == ends(other) }
}

/// One entry for each part: its rarest gram, in the text searched as far as that is known
/// and among those chosen before.
fn choose_grams(width: usize, parts: &[Numbered], counts: &GramCounts) -> Vec<(u32, Entry)> {
    let mut common = GramCounts::default();
    if counts.is_empty() {
        // What many parts have in common is likely common in text as well.
        for window in parts.iter().flat_map(|(_, part)| part.windows(width)) {
            let count = common.entry(gram(window)).or_default();
            *count = count.saturating_add(1);
        }
    }
    let counts = if counts.is_empty() { &common } else { counts };
    let mut chosen: HashMap<u32, u32, RandomState> = HashMap::default();
    let mut entries = Vec::new();
    for (number, part) in parts {
        let rarest = part.windows(width).enumerate().min_by_key(|(_, window)| {
            let gram = gram(window);
            let count = counts.get(&gram).copied().unwrap_or(0);
            let sharers = chosen.get(&gram).copied().unwrap_or(0);
            count.saturating_add(sharers.saturating_mul(4))
        });
        let Some((offset, window)) = rarest else { continue };
        let gram = gram(window);
        let sharers = chosen.entry(gram).or_default();
        *sharers = sharers.saturating_add(1);
        let distance = distance(offset, width, part.len());
        let start = offset.wrapping_add_signed(distance);
        let beside = part.get(start..start.wrapping_add(width)).unwrap_or(window);
        entries.push((
            gram,
            Entry {
                beside: self::gram(beside),
                part: *number,
                offset: u16::try_from(offset).unwrap_or(u16::MAX),
                distance: i16::try_from(distance).unwrap_or_default(),
            },
        ));
    }
    entries
}

/// How far from a gram to look for what else a part of some length has: all of it after the
/// gram or else before it, as far as there is so much.
fn distance(offset: usize, width: usize, length: usize) -> isize {
    let after = length.saturating_sub(offset.saturating_add(width)).min(width);
    let before = offset.min(width);
    if after >= before { after.cast_signed() } else { before.cast_signed().wrapping_neg() }
}

/// Up to four bytes as a number; of more bytes, one that others hardly have.
#[inline]
pub(crate) fn gram(window: &[u8]) -> u32 {
    match *window {
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
        [a, b] => u32::from_le_bytes([a, b, 0, 0]),
        [a] => u32::from(a),
        _ => mixed(window),
    }
}

/// The bytes of a window of five to sixteen, mixed.
#[inline]
fn mixed(window: &[u8]) -> u32 {
    let ends = match (window.first_chunk(), window.last_chunk()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (window.first_chunk(), window.last_chunk()) {
            (Some(first), Some(last)) => {
                (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)))
            }
            _ => (0, 0),
        },
    };
    let (first, last) = ends;
    let sum = first.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ last.rotate_left(32);
    (sum.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 32) as u32
}

#[inline]
const fn hash(gram: u32) -> u32 {
    gram.wrapping_mul(0x9E37_79B1)
}

#[cfg(test)]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests {
    use super::*;

    fn part(text: &str, place: Place, is_folded: bool, condition: u32) -> Part {
        Part { text: text.into(), place, is_folded, condition }
    }

    fn found(parts: &[Part], text: &str) -> Vec<u32> {
        let search = Substrings::new(parts, &GramCounts::default());
        let mut found = Vec::new();
        let folded = text.to_ascii_lowercase();
        let scanned =
            search.scan(text.as_bytes(), folded.as_bytes(), |condition| found.push(condition));
        assert_eq!(scanned, Scanned::Whole);
        found.sort_unstable();
        found.dedup();
        found
    }

    #[test]
    fn parts_are_found_where_they_must_stand() {
        let parts = [
            part("Bot", Place::Anywhere, false, 0),
            part("bot", Place::Anywhere, true, 1),
            part("/api/", Place::Start, false, 2),
            part(".php", Place::End, false, 3),
            part("a", Place::Start, false, 4),
            part("é", Place::Anywhere, false, 5),
            part("whole text", Place::Anywhere, false, 6),
            part("xy", Place::End, true, 7),
        ];
        for (text, expected) in [
            ("GoogleBot", vec![0, 1]),
            ("googlebot", vec![1]),
            ("/api/x.php", vec![2, 3]),
            ("x/api/.php5", vec![]),
            ("abc", vec![4]),
            ("ba", vec![]),
            ("caf\u{e9}", vec![5]),
            ("the whole text", vec![6]),
            ("XY", vec![7]),
            ("xyz", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(found(&parts, text), expected, "{text}");
        }
    }

    #[test]
    fn every_part_among_thousands_is_found() {
        let texts: Vec<String> = (0..3000).map(|number| format!("/shared/{number:04}x")).collect();
        let parts: Vec<Part> = (0..)
            .zip(&texts)
            .map(|(number, text)| part(text, Place::Anywhere, false, number))
            .collect();
        for (number, text) in (0..).zip(&texts).step_by(97) {
            assert_eq!(found(&parts, &format!("..{text}..")), [number]);
        }
    }

    #[test]
    fn a_search_that_costs_too_much_is_given_up() {
        let parts: Vec<Part> = (4..100)
            .map(|length| part(&("a".repeat(length) + "b"), Place::Anywhere, false, 0))
            .chain((4..100).map(|length| part(&"a".repeat(length), Place::Anywhere, false, 1)))
            .collect();
        let search = Substrings::new(&parts, &GramCounts::default());
        let text = "a".repeat(8000);
        assert_eq!(search.scan(text.as_bytes(), text.as_bytes(), |_| {}), Scanned::GivenUp);
    }
}
