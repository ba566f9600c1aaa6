//! Grams: runs of bytes as numbers, and which of its grams a part of text is found by.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// Bytes of a gram, but for parts that are shorter or crowded.
pub(crate) const WIDTH: usize = 4;

/// Of parts that are found by what grams begin with.
pub(crate) const SHORTER: usize = WIDTH - 1;

/// A part by its number, in lower case.
pub(crate) type Numbered = (u32, Box<[u8]>);

/// Counts of grams in text of the kind that is searched.
pub(crate) type GramCounts = HashMap<u32, u32, RandomState>;

/// Adds the grams of a text to counts.
pub(crate) fn count_grams(text: &str, counts: &mut GramCounts) {
    for window in text.as_bytes().windows(WIDTH) {
        let count = counts.entry(gram(window)).or_default();
        *count = count.saturating_add(1);
    }
}

/// A gram chosen for a part, as in its [`Entry`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Choice {
    pub(crate) gram: u32,
    pub(crate) part: u32,
    pub(crate) beside: u32,
    pub(crate) offset: u16,
    pub(crate) distance: i8,
}

/// How the grams of a table are read: of a known width each is a load or two.
#[derive(Clone, Copy)]
pub(crate) struct Grams<F> {
    pub(crate) width: usize,
    pub(crate) of: F,
}

/// One entry for each part: its rarest gram, in the text searched as far as that is known
/// and among those chosen before.
pub(crate) fn choose_grams(width: usize, parts: &[Numbered], counts: &GramCounts) -> Vec<Choice> {
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
/// gram or else before it, as far as there is so much. Not where grams are wide: those tell
/// enough.
fn distance(offset: usize, width: usize, length: usize) -> isize {
    if width > WIDTH {
        return 0;
    }
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
pub(crate) fn gram_of_four(window: &[u8]) -> u32 {
    window.first_chunk().map_or(0, |window| u32::from_le_bytes(*window))
}

/// The same of eight to sixteen bytes.
#[inline]
pub(crate) fn gram_of_many(window: &[u8]) -> u32 {
    match (window.first_chunk(), window.last_chunk()) {
        (Some(first), Some(last)) => mixed(u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => 0,
    }
}

/// The same of five to seven bytes.
#[inline]
pub(crate) fn gram_of_some(window: &[u8]) -> u32 {
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
pub(crate) const fn hash(gram: u32) -> u32 {
    gram.wrapping_mul(0x9E37_79B1)
}
