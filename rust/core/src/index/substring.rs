//! A search for many texts at once in one text, by the automaton of Aho and Corasick
//! (Efficient String Matching, 1975).
//!
//! The automaton has the parts in ASCII lower case, so that one pass over the text serves parts
//! of both cases. At each possible place the part is compared with the original text.

use std::collections::BTreeMap;

use aho_corasick::automaton::Automaton;
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Input, Match};

/// Bytes of a part's needle, its end. Each state of the automaton lists all needles that end there,
/// which would be unbounded memory for long needles within each other.
const MAX_NEEDLE: usize = 32;
/// Parts that may be compared with a text, in addition to those for each of its bytes. A set may
/// have thousands of parts that differ only before their needles, or in case.
const LOOKS: usize = 4096;
const LOOKS_A_BYTE: usize = 16;

/// The required place of a part.
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
    /// Whether the search ignores the case of letters.
    pub(crate) is_folded: bool,
    /// The number to report when it is found: a condition, or any other of the caller's.
    pub(crate) condition: u32,
}

/// The texts that a search was made for, in any order.
#[derive(Debug)]
pub(crate) struct Substrings {
    /// None if it would have too many states.
    automaton: Option<NFA>,
    /// The start of each needle's parts, and the end of the last.
    starts: Box<[u32]>,
    entries: Box<[Entry]>,
    texts: Box<str>,
}

/// A part to compare where its needle is found.
#[derive(Clone, Copy, Debug)]
struct Entry {
    condition: u32,
    /// Its start in the texts.
    start: u32,
    length: u32,
    place: Place,
    is_folded: bool,
}

/// The result of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    Whole,
    /// The scan would have cost too much: any part may be in the text.
    GivenUp,
}

impl Substrings {
    /// A search for parts, none of which is empty.
    pub(crate) fn new(parts: &[Part]) -> Self {
        let mut by_needle: BTreeMap<Vec<u8>, Vec<&Part>> = BTreeMap::new();
        for part in parts {
            by_needle.entry(needle(&part.text)).or_default().push(part);
        }
        let (mut starts, mut entries, mut texts) = (vec![0], Vec::new(), String::new());
        for of_needle in by_needle.values() {
            for Part { text, place, is_folded, condition } in of_needle.iter().copied() {
                entries.push(Entry {
                    condition: *condition,
                    start: u32::try_from(texts.len()).unwrap_or(u32::MAX),
                    length: u32::try_from(text.len()).unwrap_or(u32::MAX),
                    place: *place,
                    is_folded: *is_folded,
                });
                texts.push_str(text);
            }
            starts.push(u32::try_from(entries.len()).unwrap_or(u32::MAX));
        }
        Self {
            automaton: NFA::new(by_needle.keys()).ok(),
            starts: starts.into(),
            entries: entries.into(),
            texts: texts.into(),
        }
    }

    /// Reports the conditions whose parts are in a text. `folded` is the text in
    /// ASCII lower case.
    pub(crate) fn scan(&self, text: &[u8], folded: &[u8], mut report: impl FnMut(u32)) -> Scanned {
        let found = self.automaton.as_ref();
        let Some(Ok(found)) = found.map(|nfa| nfa.try_find_overlapping_iter(Input::new(folded)))
        else {
            return Scanned::GivenUp;
        };
        let mut left = LOOKS.saturating_add(LOOKS_A_BYTE.saturating_mul(text.len()));
        for needle in found {
            for entry in self.entries_of(&needle) {
                if left == 0 {
                    return Scanned::GivenUp;
                }
                left = left.wrapping_sub(1);
                if self.stands(entry, needle.end(), text, folded) {
                    report(entry.condition);
                }
            }
        }
        Scanned::Whole
    }

    /// The parts that a needle may be of.
    #[inline]
    fn entries_of(&self, needle: &Match) -> &[Entry] {
        let number = needle.pattern().as_usize();
        let bound = |number: usize| self.starts.get(number).map_or(0, |start| *start as usize);
        self.entries.get(bound(number)..bound(number.wrapping_add(1))).unwrap_or_default()
    }

    /// Whether a part ends at `end`, where its needle was found.
    #[inline]
    fn stands(&self, entry: &Entry, end: usize, text: &[u8], folded: &[u8]) -> bool {
        let (start, length) = (entry.start as usize, entry.length as usize);
        let is_placed = match entry.place {
            Place::Anywhere => true,
            Place::Start => end == length,
            Place::End => end == text.len(),
        };
        let part = || self.texts.as_bytes().get(start..start.saturating_add(length));
        let subject = if entry.is_folded { folded } else { text };
        is_placed && end.checked_sub(length).and_then(|begin| subject.get(begin..end)) == part()
    }

    /// All conditions that the search can report.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = u32> {
        self.entries.iter().map(|entry| entry.condition)
    }
}

/// The needle that the automaton searches for instead of a part.
fn needle(part: &str) -> Vec<u8> {
    let mut folded = part.to_ascii_lowercase().into_bytes();
    folded.drain(..folded.len().saturating_sub(MAX_NEEDLE));
    folded
}

#[cfg(test)]
mod tests;
