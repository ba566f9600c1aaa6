//! Bytes of which a pattern needs at least one, so that it is not run on text without.

use regex_syntax::hir::{Class, Hir, HirKind};
use smallvec::SmallVec;

/// What is told of a pattern: so many sets, those that fewest texts have.
const MAX_SETS: usize = 4;
const ASCII: u32 = 128;
const UPPER: u128 = bits(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ");
const LOWER: u128 = bits(b"abcdefghijklmnopqrstuvwxyz");
/// From the bit of a letter to that of the same in lower case.
const CASE: u32 = 32;
/// How often a byte is in a text, about, by its kind; any other is once.
const WORD: u128 = UPPER | LOWER | bits(b"0123456789/.-_ ");
const WORD_WEIGHT: u32 = 6;
const PUNCTUATION: u128 = bits(b"()+,:;&=");
const PUNCTUATION_WEIGHT: u32 = 3;

/// A set of bytes, in which both cases of a letter are or none, and all bytes past ASCII or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteSet {
    /// How often a text has one of them, about; it comes first, so that sets are in that order.
    weight: u32,
    ascii: u128,
    has_others: bool,
}

impl ByteSet {
    fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> Self {
        let (mut ascii, mut has_others) = (0, false);
        for byte in bytes {
            ascii |= bit(byte);
            has_others |= !byte.is_ascii();
        }
        Self::new(ascii, has_others)
    }

    fn of_class(class: &Class) -> Self {
        let (mut ascii, mut has_others) = (0, false);
        let mut add = |start: u32, end: u32| {
            has_others |= end >= ASCII;
            if start < ASCII {
                ascii |= (u128::MAX >> (ASCII - 1).saturating_sub(end)) & (u128::MAX << start);
            }
        };
        match class {
            Class::Unicode(class) => {
                class.iter().for_each(|range| add(range.start().into(), range.end().into()));
            }
            Class::Bytes(class) => {
                class.iter().for_each(|range| add(range.start().into(), range.end().into()));
            }
        }
        Self::new(ascii, has_others)
    }

    fn or(self, other: Self) -> Self {
        Self::new(self.ascii | other.ascii, self.has_others || other.has_others)
    }

    /// The set with both cases of each letter.
    const fn new(ascii: u128, has_others: bool) -> Self {
        let ascii = ascii | (ascii & UPPER) << CASE | (ascii & LOWER) >> CASE;
        let punctuation = (ascii & PUNCTUATION).count_ones().saturating_mul(PUNCTUATION_WEIGHT);
        let weight = (ascii & WORD).count_ones().saturating_mul(WORD_WEIGHT);
        let others = (ascii & !(WORD | PUNCTUATION)).count_ones();
        let weight = weight.saturating_add(punctuation).saturating_add(others);
        Self { weight, ascii, has_others }
    }

    pub const fn has(&self, byte: u8) -> bool {
        if byte.is_ascii() { self.ascii & bit(byte) != 0 } else { self.has_others }
    }

    const fn is_all(&self) -> bool {
        self.ascii == u128::MAX && self.has_others
    }
}

const fn bit(byte: u8) -> u128 {
    if byte.is_ascii() { 1 << byte } else { 0 }
}

/// The bits of some bytes.
const fn bits(mut bytes: &[u8]) -> u128 {
    let mut bits = 0;
    while let [first, rest @ ..] = bytes {
        bits |= bit(*first);
        bytes = rest;
    }
    bits
}

/// Sets of which every match has a byte each, the best to look for first.
pub(crate) fn required_bytes(hir: &Hir) -> Vec<ByteSet> {
    let mut best = Best::default();
    best.add_required(hir);
    best.0.into_vec()
}

/// The best sets so far, each once and the best first.
#[derive(Default)]
struct Best(SmallVec<[ByteSet; MAX_SETS]>);

impl Best {
    /// Adds what every match of a part has.
    fn add_required(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => {
                literal.0.iter().for_each(|byte| self.add(ByteSet::of_bytes([*byte])));
            }
            HirKind::Class(class) => self.add(ByteSet::of_class(class)),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add_required(part)),
            HirKind::Alternation(parts) => {
                let firsts = parts.iter().map(|part| {
                    let mut best = Self::default();
                    best.add_required(part);
                    best.0.first().copied()
                });
                let union = firsts.reduce(|all, set| Some(all?.or(set?))).flatten();
                union.into_iter().for_each(|set| self.add(set));
            }
            HirKind::Repetition(repetition) if repetition.min == 0 => {}
            HirKind::Repetition(repetition) => self.add_required(&repetition.sub),
            HirKind::Capture(capture) => self.add_required(&capture.sub),
        }
    }

    fn add(&mut self, set: ByteSet) {
        let Self(sets) = self;
        let place = sets.iter().position(|other| *other >= set).unwrap_or(sets.len());
        if set.is_all() || place == MAX_SETS || sets.get(place) == Some(&set) {
            return;
        }
        sets.truncate(MAX_SETS.saturating_sub(1));
        sets.insert(place, set);
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
        let mut best = Best::default();
        texts.iter().for_each(|text| best.add(ByteSet::of_bytes(text.bytes())));
        best.0.into_vec()
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
}
