//! A search for many texts at once in one text.
//!
//! Each part sought is found by its rarest run of four bytes (its gram), or by all
//! of it when it is shorter: a filter of bits says where such a gram may stand, a
//! table which parts have it and what four bytes they have beside it, and only where those
//! stand there as well is a part compared. Everything is compared in ASCII lower case first,
//! so one pass serves both cases.
//!
//! Shorter parts are few, and for most there is no pass over the text: at its ends they are
//! looked up, elsewhere they are found by one of three bytes.
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
/// Positions that the filter is asked about together, and of how many it says yes where it
/// is asked about all before any of them is looked at.
const BLOCK: usize = 128;
const DENSE: usize = 12;
/// More parts shorter than a gram are looked for by grams.
const MAX_SHORT: usize = 8;
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
    /// By the width of their grams.
    tables: Box<[Table]>,
    /// Of parts that are as long as their grams and at an end of the text.
    ends: Box<[Table]>,
    short: Option<Short>,
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
        let mut builder = Builder { parts, texts: String::new() };
        let mut by_width: BTreeMap<usize, Vec<Numbered>> = BTreeMap::new();
        let mut at_ends = by_width.clone();
        for (number, part) in (0_u32..).zip(parts) {
            let folded = part.text.to_ascii_lowercase().into_boxed_str().into_boxed_bytes();
            let is_at_end = folded.len() <= WIDTH && part.place != Place::Anywhere;
            let place = if is_at_end { &mut at_ends } else { &mut by_width };
            place.entry(folded.len().min(WIDTH)).or_default().push((number, folded));
        }
        let short: Vec<&Numbered> = by_width.range(..WIDTH).flat_map(|(_, parts)| parts).collect();
        let short = builder.short(&short, counts);
        if short.is_some() {
            by_width.retain(|width, _| *width >= WIDTH);
        }
        let tables = builder.tables(by_width, counts);
        let ends = at_ends.into_iter().map(|(width, parts)| {
            builder.table(width, choose_grams(width, &parts, &GramCounts::default()))
        });
        let ends = ends.collect();
        Self { texts: builder.texts.into(), tables, ends, short }
    }

    /// Reports the conditions whose parts are in a text. `folded` is the text in
    /// ASCII lower case.
    pub(crate) fn scan(&self, text: &[u8], folded: &[u8], mut report: impl FnMut(u32)) -> Scanned {
        let mut looks = Looks {
            folded,
            left: LOOKS.saturating_add(LOOKS_A_BYTE.saturating_mul(text.len())),
            visit: |entry: &Entry, position| {
                if self.is_part_at(entry, position, text, folded) {
                    report(entry.condition);
                }
            },
        };
        if let Some(short) = &self.short {
            short.scan(&mut looks);
        }
        let are_within = self.ends.iter().all(|table| table.look_at_ends(&mut looks))
            && self.tables.iter().all(|table| table.scan(&mut looks));
        if are_within { Scanned::Whole } else { Scanned::GivenUp }
    }

    /// All conditions that the search can report.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = u32> {
        let of_tables = self.tables.iter().chain(&self.ends).flat_map(|table| &table.entries);
        let of_short = self.short.iter().flat_map(|short| &short.entries).map(|(_, entry)| entry);
        of_tables.chain(of_short).map(|entry| entry.condition)
    }

    /// Whether all of the part of an entry stands where its gram stands at a position.
    #[inline]
    fn is_part_at(&self, entry: &Entry, position: usize, text: &[u8], folded: &[u8]) -> bool {
        let Some(start) = position.checked_sub(usize::from(entry.offset)) else { return false };
        let length = usize::from(entry.length);
        let end = start.wrapping_add(length);
        match entry.place {
            Place::Start if start != 0 => return false,
            Place::End if end != text.len() => return false,
            _ => {}
        }
        let from = entry.start as usize;
        let searched = if entry.is_folded { folded } else { text };
        let sought = self.texts.as_bytes().get(from..from.wrapping_add(length));
        let found = searched.get(start..end);
        found.zip(sought).is_some_and(|(found, sought)| are_equal(found, sought))
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let tables = self.tables.iter().chain(&self.ends).map(Table::memory_bytes).sum::<usize>();
        let short = self.short.as_ref().map_or(0, |short| size_of_val(&*short.entries));
        self.texts.len().saturating_add(tables).saturating_add(short)
    }
}

/// A part by one of its grams: all that a look at it needs but for its text.
#[derive(Clone, Copy, Debug)]
struct Entry {
    /// What is looked at before all of the part is: as wide as the gram, and not the gram
    /// where the part has others.
    beside: u32,
    condition: u32,
    /// Where the text of the part begins.
    start: u32,
    length: u16,
    /// Where in the part the gram stands.
    offset: u16,
    /// How far after the gram those bytes stand.
    distance: i8,
    place: Place,
    is_folded: bool,
}

/// A gram chosen for a part, as in its [`Entry`].
#[derive(Clone, Copy, Debug)]
struct Choice {
    gram: u32,
    part: u32,
    beside: u32,
    offset: u16,
    distance: i8,
}

/// Parts shorter than a gram that may be anywhere, found by one of three bytes.
#[derive(Debug)]
struct Short {
    bytes: [u8; 3],
    entries: Box<[(u8, Entry)]>,
}

impl Short {
    fn scan(&self, looks: &mut Looks<'_, impl FnMut(&Entry, usize)>) {
        let [first, second, third] = self.bytes;
        for position in memchr::memchr3_iter(first, second, third, looks.folded) {
            let byte = looks.folded.get(position);
            for (_, entry) in self.entries.iter().filter(|(own, _)| Some(own) == byte) {
                (looks.visit)(entry, position);
            }
        }
    }
}

/// The looks at entries that a text takes.
struct Looks<'t, V> {
    folded: &'t [u8],
    /// How many more it may take.
    left: usize,
    /// Takes an entry that is worth a comparison, and where its gram stands.
    visit: V,
}

impl<V: FnMut(&Entry, usize)> Looks<'_, V> {
    /// Looks at entries of which some may have a gram that stands at a position; not if
    /// they are too many.
    #[inline(always)]
    fn at(
        &mut self,
        bucket: &[Entry],
        grams: Grams<impl Fn(&[u8]) -> u32>,
        gram: u32,
        position: usize,
    ) -> bool {
        let Some(left) = self.left.checked_sub(bucket.len()) else { return false };
        self.left = left;
        for entry in bucket {
            let beside = if entry.distance == 0 {
                Some(gram)
            } else {
                let start = position.wrapping_add_signed(isize::from(entry.distance));
                self.folded.get(start..start.wrapping_add(grams.width)).map(&grams.of)
            };
            if beside == Some(entry.beside) {
                self.left = self.left.saturating_sub(LOOKS_A_COMPARISON);
                (self.visit)(entry, position);
            }
        }
        true
    }

    /// The same apart from the loop over the text, which is the shorter for it.
    #[inline(never)]
    fn at_seldom(
        &mut self,
        bucket: &[Entry],
        grams: Grams<impl Fn(&[u8]) -> u32>,
        gram: u32,
        position: usize,
    ) -> bool {
        self.at(bucket, grams, gram, position)
    }
}

/// How the grams of a table are read: of a known width each is a load or two.
#[derive(Clone, Copy)]
struct Grams<F> {
    width: usize,
    of: F,
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
    fn new(
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
    fn scan(&self, looks: &mut Looks<'_, impl FnMut(&Entry, usize)>) -> bool {
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
            let mut count = 0_usize;
            let windows = (0_u32..).zip(rest.windows(grams.width).take(BLOCK));
            if is_dense {
                // A branch would be foretold badly.
                let mut passed = [(0, 0); BLOCK];
                for (number, window) in windows {
                    let gram = (grams.of)(window);
                    if let Some(place) = passed.get_mut(count) {
                        *place = (number, gram);
                    }
                    count = count.wrapping_add(usize::from(self.passes(gram)));
                }
                for (number, gram) in passed.iter().take(count) {
                    let position = start.wrapping_add(*number as usize);
                    if !looks.at(self.bucket(*gram), grams, *gram, position) {
                        return false;
                    }
                }
            } else {
                for (number, window) in windows {
                    let gram = (grams.of)(window);
                    if self.passes(gram) {
                        count = count.wrapping_add(1);
                        let position = start.wrapping_add(number as usize);
                        if !looks.at_seldom(self.bucket(gram), grams, gram, position) {
                            return false;
                        }
                    }
                }
            }
            is_dense = count > DENSE;
            start = start.wrapping_add(BLOCK);
        }
        true
    }

    /// The same for grams that stand at an end of the text.
    fn look_at_ends(&self, looks: &mut Looks<'_, impl FnMut(&Entry, usize)>) -> bool {
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
        let bucket = (hash(gram) >> self.bucket_shift) as usize;
        let bound = |index: usize| self.starts.get(index).map_or(0, |start| *start as usize);
        self.entries.get(bound(bucket)..bound(bucket.wrapping_add(1))).unwrap_or_default()
    }

    fn memory_bytes(&self) -> usize {
        std::mem::size_of_val(&*self.filter)
            .saturating_add(std::mem::size_of_val(&*self.starts))
            .saturating_add(std::mem::size_of_val(&*self.entries))
    }
}

/// A part by its number, in lower case.
pub(crate) type Numbered = (u32, Box<[u8]>);

/// Makes the tables of parts.
struct Builder<'p> {
    parts: &'p [Part],
    /// Those of the tables made so far.
    texts: String,
}

impl Builder<'_> {
    fn entry(&mut self, choice: Choice) -> Option<Entry> {
        let Choice { part, beside, offset, distance, .. } = choice;
        let Part { text, place, is_folded, condition } = self.parts.get(part as usize)?;
        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.texts.push_str(text);
        let (place, is_folded, condition) = (*place, *is_folded, *condition);
        Some(Entry { beside, condition, start, length, offset, distance, place, is_folded })
    }

    fn table(&mut self, width: usize, chosen: Vec<Choice>) -> Table {
        Table::new(width, chosen, |choice| self.entry(choice))
    }

    /// The tables that find all parts of some widths.
    fn tables(
        &mut self,
        mut by_width: BTreeMap<usize, Vec<Numbered>>,
        counts: &GramCounts,
    ) -> Box<[Table]> {
        let mut tables = Vec::new();
        if let Some(parts) = by_width.remove(&WIDTH) {
            let mut chosen = choose_grams(WIDTH, &parts, counts);
            let grams: Vec<u32> = chosen.iter().map(|choice| choice.gram).collect();
            let crowd = crowd(&parts, &grams);
            if !crowd.is_empty() {
                chosen.retain(|choice| crowd.binary_search(&choice.part).is_err());
                let mut crowded = parts;
                crowded.retain(|(number, _)| crowd.binary_search(number).is_ok());
                by_width.extend(by_widths(crowded));
            }
            if !chosen.is_empty() {
                tables.push(self.table(WIDTH, chosen));
            }
        }
        for (width, parts) in by_width {
            let chosen = choose_grams(width, &parts, &GramCounts::default());
            tables.push(self.table(width, chosen));
        }
        tables.into()
    }

    /// A search for few short parts.
    fn short(&mut self, parts: &[&Numbered], counts: &GramCounts) -> Option<Short> {
        if parts.is_empty() || parts.len() > MAX_SHORT {
            return None;
        }
        let mut frequency = [0_u32; 256];
        for (gram, count) in counts {
            let byte = usize::from(gram.to_le_bytes()[0]);
            if let Some(frequency) = frequency.get_mut(byte) {
                *frequency = frequency.saturating_add(*count);
            }
        }
        let frequency = |byte: u8| frequency.get(usize::from(byte)).copied().unwrap_or(0);
        let rarest = parts.iter().filter_map(|(part, text)| {
            let (offset, byte) = (0..).zip(text).min_by_key(|(_, byte)| frequency(**byte))?;
            Some((*byte, Choice { gram: 0, part: *part, beside: 0, offset, distance: 0 }))
        });
        let rarest: Vec<(u8, Choice)> = rarest.collect();
        let mut bytes: Vec<u8> = rarest.iter().map(|(byte, _)| *byte).collect();
        bytes.sort_unstable();
        bytes.dedup();
        let bytes = match *bytes {
            [one] => [one; 3],
            [one, other] => [one, other, other],
            [one, other, third] => [one, other, third],
            _ => return None,
        };
        let entries =
            rarest.into_iter().filter_map(|(byte, choice)| Some((byte, self.entry(choice)?)));
        Some(Short { bytes, entries: entries.collect() })
    }
}

/// Whether texts of one length are equal; of short ones without a call.
#[inline]
fn are_equal(one: &[u8], other: &[u8]) -> bool {
    let ends = |text: &[u8]| Some((*text.first_chunk::<8>()?, *text.last_chunk::<8>()?));
    if one.len() > 16 || one.len() < 8 { one == other } else { ends(one) == ends(other) }
}

/// One entry for each part: its rarest gram, in the text searched as far as that is known
/// and among those chosen before.
fn choose_grams(width: usize, parts: &[Numbered], counts: &GramCounts) -> Vec<Choice> {
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
        entries.push(Choice {
            gram,
            part: *number,
            beside: self::gram(beside),
            offset: u16::try_from(offset).unwrap_or(u16::MAX),
            distance: i8::try_from(distance).unwrap_or_default(),
        });
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
        [_, _, _, _] => gram_of_four(window),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
        [a, b] => u32::from_le_bytes([a, b, 0, 0]),
        [a] => u32::from(a),
        _ if window.len() < 8 => gram_of_some(window),
        _ => gram_of_many(window),
    }
}

/// The same of four bytes.
#[inline]
fn gram_of_four(window: &[u8]) -> u32 {
    window.first_chunk().map_or(0, |window| u32::from_le_bytes(*window))
}

/// The same of eight to sixteen bytes.
#[inline]
fn gram_of_many(window: &[u8]) -> u32 {
    match (window.first_chunk(), window.last_chunk()) {
        (Some(first), Some(last)) => mixed(u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => 0,
    }
}

/// The same of five to seven bytes.
#[inline]
fn gram_of_some(window: &[u8]) -> u32 {
    match (window.first_chunk(), window.last_chunk()) {
        (Some(first), Some(last)) => {
            mixed(u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
        }
        _ => 0,
    }
}

#[inline]
fn mixed(first: u64, last: u64) -> u32 {
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
    fn short_parts_and_ends_are_found_among_many_and_among_few() {
        let mut parts = vec![
            part("~", Place::Anywhere, false, 0),
            part("..", Place::Anywhere, false, 1),
            part("Xy", Place::Anywhere, false, 2),
            part("xy", Place::Anywhere, true, 3),
            part(".js", Place::End, false, 4),
            part("/a", Place::Start, false, 5),
            part("/api", Place::Start, true, 6),
            part(".php", Place::End, false, 7),
        ];
        let texts = [
            ("", vec![]),
            ("~", vec![0]),
            ("../a.js", vec![1, 4]),
            ("/aXy~.js/", vec![0, 2, 3, 5]),
            ("/API/xy..", vec![1, 3, 6]),
            ("/api", vec![5, 6]),
            ("x/api.php", vec![7]),
            (".php~xY", vec![0, 3]),
        ];
        for (text, expected) in &texts {
            assert_eq!(&found(&parts, text), expected, "{text}");
        }
        parts.extend(('A'..='Z').map(|letter| {
            part(&format!("{letter}!"), Place::Anywhere, false, 100 + u32::from(letter))
        }));
        for (text, expected) in &texts {
            assert_eq!(&found(&parts, text), expected, "{text}");
        }
        assert_eq!(found(&parts, "A!B"), [165]);
    }

    #[test]
    fn every_part_in_text_that_is_full_of_them_is_found() {
        let texts: Vec<String> =
            (0..1000).map(|number| format!("{number:03}-{number:03}")).collect();
        let parts: Vec<Part> = (0..)
            .zip(&texts)
            .map(|(number, text)| part(text, Place::Anywhere, false, number))
            .collect();
        assert_eq!(found(&parts, &texts.concat()), (0..1000).collect::<Vec<u32>>());
        assert_eq!(found(&parts, &texts.concat().replace('-', "+")), Vec::<u32>::new());
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
        assert_eq!(search.conditions().collect::<Vec<_>>().len(), parts.len());
        let same = vec![part("/api", Place::Start, false, 0); 5000];
        let search = Substrings::new(&same, &GramCounts::default());
        assert_eq!(search.scan(b"/api/", b"/api/", |_| {}), Scanned::GivenUp);
    }
}
