//! Bytes of which a pattern needs at least one, so that it is not run on text without.
//!
//! A pattern that no text leads to would be run on every text. Most of those ask for a quote
//! or a bracket, which few texts have: one pass over a text tells it for all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use tidegate_regex::ByteSet;

/// So many sets are looked for at most.
const BITS: usize = 64;

/// Which of some sets a text has a byte of.
#[derive(Debug)]
pub(crate) struct ByteSets {
    /// Bytes that are in the same sets have one number.
    numbers: Box<[u8; 256]>,
    /// The sets that bytes of a number are in, a bit each.
    sets: Box<[u64]>,
}

impl ByteSets {
    /// The sets that patterns require, and which of them each does: all of its bits. None
    /// where there are none.
    pub(crate) fn new<'s>(
        required: impl Iterator<Item = &'s [ByteSet]> + Clone,
    ) -> (Option<Self>, Vec<u64>) {
        let mut known: Vec<ByteSet> = required.clone().flatten().copied().collect();
        known.sort_unstable();
        known.dedup();
        known.truncate(BITS);
        let bits: HashMap<ByteSet, u64, RandomState> =
            known.iter().enumerate().map(|(number, set)| (*set, 1 << number)).collect();
        let bit = |set| bits.get(set).copied().unwrap_or(0);
        let needs = required.map(|sets| sets.iter().fold(0, |needs, set| needs | bit(set)));
        let needs = needs.collect();
        if known.is_empty() {
            return (None, needs);
        }
        let mut numbers = Box::new([0; 256]);
        let mut sets: Vec<u64> = Vec::new();
        for (byte, number) in (0..=255).zip(numbers.iter_mut()) {
            let has = known.iter().filter(|set| set.has(byte));
            let of_byte = has.fold(0, |sets, set| sets | bit(set));
            let position = sets.iter().position(|sets| *sets == of_byte).unwrap_or_else(|| {
                sets.push(of_byte);
                sets.len().saturating_sub(1)
            });
            *number = u8::try_from(position).unwrap_or(u8::MAX);
        }
        (Some(Self { numbers, sets: sets.into() }), needs)
    }

    /// The sets of which a text has a byte.
    #[inline]
    pub(crate) fn in_text(&self, text: &str) -> u64 {
        text.bytes().fold(0, |sets, byte| {
            let number = self.numbers.get(usize::from(byte)).copied().unwrap_or_default();
            sets | self.sets.get(usize::from(number)).copied().unwrap_or(0)
        })
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.numbers).saturating_add(size_of_val(&*self.sets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_regex::Regex;

    fn required(pattern: &str) -> Vec<ByteSet> {
        Regex::new(pattern).unwrap().required().bytes
    }

    #[test]
    fn a_text_has_the_sets_of_its_bytes() {
        let patterns = [r"\[x", "<", r#"["']"#, "é", "(?s:.)"].map(required);
        let (sets, needs) = ByteSets::new(patterns.iter().map(Vec::as_slice));
        let sets = sets.unwrap();
        let has = |text: &str| {
            let found = sets.in_text(text);
            needs.iter().map(|need| found & need == *need).collect::<Vec<bool>>()
        };
        assert_eq!(has(""), [false, false, false, false, true]);
        assert_eq!(has("X["), [true, false, false, false, true]);
        assert_eq!(has("[ \"<ü"), [false, true, true, true, true]);
        let (sets, needs) = ByteSets::new(patterns.iter().map(Vec::as_slice).skip(4));
        assert!(sets.is_none() && needs == [0]);
    }

    #[test]
    fn past_64_sets_those_that_few_texts_have_are_looked_for() {
        let patterns: Vec<Vec<ByteSet>> =
            (1..=126_u8).rev().map(|byte| required(&format!(r"\x{{{byte:x}}}"))).collect();
        let (_, needs) = ByteSets::new(patterns.iter().map(Vec::as_slice));
        let is_told =
            |byte: u8| needs.iter().zip((1..=126).rev()).any(|(need, of)| of == byte && *need != 0);
        assert!(b"\x01\n!\"#$%'*<>?@[\\]^`{|}~".iter().all(|byte| is_told(*byte)));
        assert!(!is_told(b'a') && !is_told(b'Z'));
    }
}
