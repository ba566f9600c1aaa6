//! Parts that a run of four bytes does not tell from many others, so that text made of
//! such runs would take long: words of few letters, or what all of them begin with.

use std::collections::{BTreeMap, HashMap};

use foldhash::fast::RandomState;

use crate::index::gram::{Numbered, WIDTH, gram};

/// More parts than this with one gram are a crowd.
const MAX_SHARERS: u32 = 8;
/// So many parts, of all, are looked at to find out what text like them takes.
const SAMPLE: usize = 512;
/// Fewer parts than this are not worth another pass over the text.
const MIN_CROWD: usize = 64;
/// The widest grams.
const MAX_WIDTH: usize = 16;

/// The numbers of the parts whose grams are better wider, in ascending order. `grams` are
/// those chosen for the parts.
pub(crate) fn crowd(parts: &[Numbered], grams: &[u32]) -> Vec<u32> {
    let mut sharers: HashMap<u32, u32, RandomState> = HashMap::default();
    for gram in grams {
        let count = sharers.entry(*gram).or_default();
        *count = count.saturating_add(1);
    }
    let sharers = |gram: u32| sharers.get(&gram).copied().unwrap_or(0);
    let are_all = is_crowded(parts, grams, sharers);
    let is_crowded = |gram: u32| are_all || sharers(gram) > MAX_SHARERS;
    let crowded = parts
        .iter()
        .zip(grams)
        .filter(|((_, part), gram)| part.len() > WIDTH && is_crowded(**gram))
        .map(|((number, _), _)| *number);
    let crowd: Vec<u32> = crowded.collect();
    if crowd.len() < MIN_CROWD { Vec::new() } else { crowd }
}

/// Whether text like the parts has another part's gram at every second position, or one
/// of many parts more rarely.
fn is_crowded(parts: &[Numbered], grams: &[u32], sharers: impl Fn(u32) -> u32) -> bool {
    let (mut positions, mut others) = (0_u32, 0_u32);
    let step = parts.len().div_ceil(SAMPLE).max(1);
    for ((_, part), own) in parts.iter().zip(grams).step_by(step) {
        for window in part.windows(WIDTH) {
            let gram = gram(window);
            let found = sharers(gram).saturating_sub(u32::from(gram == *own));
            positions = positions.saturating_add(1);
            others = others.saturating_add(found);
        }
    }
    others.saturating_mul(2) > positions
}

/// Crowded parts by the width of their grams. Each width is a pass over the text, so there
/// are few, each a third more than the one before.
pub(crate) fn by_widths(parts: Vec<Numbered>) -> BTreeMap<usize, Vec<Numbered>> {
    let mut lengths: Vec<usize> = parts.iter().map(|(_, part)| part.len().min(MAX_WIDTH)).collect();
    lengths.sort_unstable();
    let mut by_width: BTreeMap<usize, Vec<Numbered>> = BTreeMap::new();
    for length in lengths {
        let is_wider = |(last, _): (&usize, _)| length.saturating_mul(3) > last.saturating_mul(4);
        if by_width.last_key_value().is_none_or(is_wider) {
            by_width.insert(length, Vec::new());
        }
    }
    for part in parts {
        if let Some((_, of_width)) = by_width.range_mut(..=part.1.len()).next_back() {
            of_width.push(part);
        }
    }
    by_width
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(texts: &[String]) -> Vec<Numbered> {
        (0..).zip(texts).map(|(number, text)| (number, text.as_bytes().into())).collect()
    }

    fn first_grams(parts: &[Numbered]) -> Vec<u32> {
        parts.iter().map(|(_, part)| gram(&part[..WIDTH])).collect()
    }

    #[test]
    fn words_of_few_letters_are_a_crowd_and_words_of_many_are_none() {
        let few: Vec<String> = (0..1000).map(|number| format!("{number:014b}")).collect();
        let few = numbered(&few);
        assert_eq!(crowd(&few, &first_grams(&few)).len(), 1000);
        let many: Vec<String> =
            (0..1000).map(|number| format!("{number:03}-{}", number * 7919 % 1000)).collect();
        let many = numbered(&many);
        assert!(crowd(&many, &first_grams(&many)).is_empty());
    }

    #[test]
    fn those_that_share_a_gram_are_a_crowd_among_others() {
        let texts = (0..2100).map(|number| match number % 21 {
            0 => format!("s{:03}{number:04}", number / 210),
            _ => format!("{number:04}-{number:04}"),
        });
        let parts = numbered(&texts.collect::<Vec<String>>());
        let crowd = crowd(&parts, &first_grams(&parts));
        assert_eq!(crowd, (0..2100).step_by(21).collect::<Vec<u32>>());
    }

    #[test]
    fn every_part_has_a_width_that_it_is_long_enough_for() {
        let texts: Vec<String> = (5..40).map(|length| "a".repeat(length)).collect();
        let by_width = by_widths(numbered(&texts));
        assert_eq!(by_width.keys().copied().collect::<Vec<_>>(), [5, 7, 10, 14]);
        assert_eq!(by_width.values().map(Vec::len).sum::<usize>(), texts.len());
        for (width, parts) in &by_width {
            assert!(parts.iter().all(|(_, part)| part.len() >= *width));
        }
        let same = numbered(&vec!["a".repeat(14); 3]);
        assert_eq!(by_widths(same).into_keys().collect::<Vec<_>>(), [14]);
    }
}
