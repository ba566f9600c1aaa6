//! Bytes of which a pattern needs at least one, so that it is not run on text without.
//!
//! A pattern that no text leads to would be run on every text. Most of those ask for a quote
//! or a bracket, which few texts have: one pass over a text tells it for all of them.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use regex_syntax::hir::{Class, Hir, HirKind};

/// What is told of a pattern: so many sets, those that fewest texts have.
const MAX_SETS: usize = 4;
/// How often a byte is in a text, about, by its kind; any other is once.
const WORD: u32 = 6;
const PUNCTUATION: u32 = 3;
/// So many sets are looked for at most.
const BITS: usize = 64;

/// A set of bytes, in which both cases of a letter are or none, and all bytes past ASCII or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ByteSet {
    /// How often a text has one of them, about; it comes first, so that sets are in that order.
    weight: u32,
    ascii: u128,
    has_others: bool,
}

impl ByteSet {
    fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> Self {
        let mut set = Self::default();
        for byte in bytes {
            set.ascii |= bit(byte.to_ascii_lowercase()) | bit(byte.to_ascii_uppercase());
            set.has_others |= !byte.is_ascii();
        }
        set.weighed()
    }

    fn of_class(class: &Class) -> Self {
        let ranges: Vec<(u32, u32)> = match class {
            Class::Unicode(class) => {
                class.iter().map(|range| (range.start().into(), range.end().into())).collect()
            }
            Class::Bytes(class) => {
                class.iter().map(|range| (range.start().into(), range.end().into())).collect()
            }
        };
        let is_in =
            |byte: u8| ranges.iter().any(|(start, end)| (*start..=*end).contains(&u32::from(byte)));
        let set = Self::of_bytes((0..=127).filter(|byte| is_in(*byte)));
        let has_others = ranges.iter().any(|(_, end)| *end > 127);
        Self { has_others, ..set }.weighed()
    }

    fn or(self, other: Self) -> Self {
        let has_others = self.has_others || other.has_others;
        Self { weight: 0, ascii: self.ascii | other.ascii, has_others }.weighed()
    }

    fn weighed(self) -> Self {
        let bytes = (0..=127).filter(|byte| self.has(*byte));
        Self { weight: bytes.map(weight).sum(), ..self }
    }

    fn has(&self, byte: u8) -> bool {
        if byte.is_ascii() { self.ascii & bit(byte) != 0 } else { self.has_others }
    }

    fn is_all(&self) -> bool {
        self.ascii == u128::MAX && self.has_others
    }
}

const fn bit(byte: u8) -> u128 {
    if byte.is_ascii() { 1 << byte } else { 0 }
}

const fn weight(byte: u8) -> u32 {
    match byte {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'/' | b'.' | b'-' | b'_' | b' ' => WORD,
        b'(' | b')' | b'+' | b',' | b':' | b';' | b'&' | b'=' => PUNCTUATION,
        _ => 1,
    }
}

/// Sets of which every match has a byte each, the best to look for first.
pub(crate) fn required_bytes(hir: &Hir) -> Vec<ByteSet> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Vec::new(),
        HirKind::Literal(literal) => {
            best(literal.0.iter().map(|byte| ByteSet::of_bytes([*byte])).collect())
        }
        HirKind::Class(class) => best(vec![ByteSet::of_class(class)]),
        HirKind::Concat(parts) => best(parts.iter().flat_map(required_bytes).collect()),
        HirKind::Alternation(parts) => {
            let firsts = parts.iter().map(|part| required_bytes(part).first().copied());
            let union = firsts.reduce(|all, set| Some(all?.or(set?))).flatten();
            best(union.into_iter().collect())
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => Vec::new(),
        HirKind::Repetition(repetition) => required_bytes(&repetition.sub),
        HirKind::Capture(capture) => required_bytes(&capture.sub),
    }
}

fn best(mut sets: Vec<ByteSet>) -> Vec<ByteSet> {
    sets.retain(|set| !set.is_all());
    sets.sort_unstable();
    sets.dedup();
    sets.truncate(MAX_SETS);
    sets
}

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
    use regex_syntax::Parser;

    fn required(pattern: &str) -> Vec<ByteSet> {
        required_bytes(&Parser::new().parse(pattern).unwrap())
    }

    fn sets(texts: &[&str]) -> Vec<ByteSet> {
        best(texts.iter().map(|text| ByteSet::of_bytes(text.bytes())).collect())
    }

    #[test]
    fn every_match_has_a_byte_of_each_set() {
        for (pattern, expected) in [
            (r"\[", vec!["["]),
            (r"!-\d?", vec!["!", "-"]),
            (r"[`|;$]x", vec!["`|;$", "x"]),
            (r#"a*["']+|[<>]\("#, vec!["\"'<>"]),
            ("a|b?", vec![]),
            ("(?:ab)*", vec![]),
            ("(?:ab){2,}", vec!["a", "b"]),
            (r"^\b$", vec![]),
            ("(?s:.)", vec![]),
            ("(?:)", vec![]),
            ("zyxwv", vec!["v", "w", "x", "y"]),
        ] {
            assert_eq!(required(pattern), sets(&expected), "{pattern}");
        }
    }

    #[test]
    fn rare_bytes_are_looked_for_first() {
        assert_eq!(required("[0-9]abc<|;/*|'[0]"), [ByteSet::of_bytes(*b"<;'")]);
    }

    #[test]
    fn bytes_past_ascii_and_letters_of_either_case_are_as_one() {
        assert_eq!(required("é"), [ByteSet::of_bytes("à".bytes())]);
        let letter = required("(?i)k")[0];
        assert!(letter.has(b'k') && letter.has(b'K') && letter.has(0xE2) && !letter.has(b'j'));
        assert!(required("[^;]")[0].has(0xFF) && !required("[^;]")[0].has(b';'));
        assert_eq!(required("[^a]"), []);
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
            (1..=126_u8).rev().map(|byte| vec![ByteSet::of_bytes(byte..=byte)]).collect();
        let (_, needs) = ByteSets::new(patterns.iter().map(Vec::as_slice));
        let is_told =
            |byte: u8| needs.iter().zip((1..=126).rev()).any(|(need, of)| of == byte && *need != 0);
        assert!(b"\x01\n!\"#$%'*<>?@[\\]^`{|}~".iter().all(|byte| is_told(*byte)));
        assert!(!is_told(b'a') && !is_told(b'Z'));
    }
}
