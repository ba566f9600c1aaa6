//! Searches for many phrases at once.

use std::collections::HashSet;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use foldhash::fast::RandomState;

use crate::functions::Place;

type Entries = HashSet<Box<str>, RandomState>;

/// Most bytes of phrases that one automaton searches for; it takes some thirty times their memory.
const MAX_AUTOMATON_BYTES: usize = 4 * 1024 * 1024;

/// The searches for the entries of a list, each made when it is first asked for.
#[derive(Debug, Default)]
pub(super) struct Phrases {
    anywhere: OnceLock<Option<AhoCorasick>>,
    starts: OnceLock<Affixes>,
    ends: OnceLock<Affixes>,
}

impl Phrases {
    pub(super) fn prepare(&self, entries: &Entries, place: Place) {
        match place {
            Place::Anywhere => {
                if self.anywhere(entries).is_none() {
                    self.starts(entries);
                }
            }
            Place::Start => {
                self.starts(entries);
            }
            Place::End => {
                self.ends(entries);
            }
        }
    }

    /// Whether a text has one of the entries at a place.
    pub(super) fn are_in(&self, entries: &Entries, place: Place, text: &str) -> bool {
        match place {
            Place::Anywhere => match self.anywhere(entries) {
                Some(search) => search.is_match(text),
                None => {
                    let starts = self.starts(entries);
                    rests_of(text).any(|rest| starts.begin(rest.bytes()))
                }
            },
            Place::Start => self.starts(entries).begin(text.bytes()),
            Place::End => self.ends(entries).begin(text.bytes().rev()),
        }
    }

    /// None for phrases that are too long together; a text is searched place by place then.
    fn anywhere(&self, entries: &Entries) -> Option<&AhoCorasick> {
        let made = || {
            let bytes: usize = entries.iter().map(|entry| entry.len()).sum();
            if bytes > MAX_AUTOMATON_BYTES {
                return None;
            }
            AhoCorasick::new(entries.iter().map(|entry| entry.as_bytes())).ok()
        };
        self.anywhere.get_or_init(made).as_ref()
    }

    fn starts(&self, entries: &Entries) -> &Affixes {
        self.starts
            .get_or_init(|| Affixes::new(entries.iter().map(|entry| entry.bytes().collect())))
    }

    fn ends(&self, entries: &Entries) -> &Affixes {
        let reversed = || entries.iter().map(|entry| entry.bytes().rev().collect());
        self.ends.get_or_init(|| Affixes::new(reversed()))
    }
}

/// The rest of a text from each of its places on.
fn rests_of(text: &str) -> impl Iterator<Item = &str> {
    let places = text.char_indices().map(|(place, _)| place).chain([text.len()]);
    places.filter_map(|place| text.get(place..))
}

/// Starts of texts, in order, without those that begin with another.
///
/// At most one of them begins a text: the last that isn't above it.
#[derive(Debug)]
struct Affixes(Box<[Box<[u8]>]>);

impl Affixes {
    fn new(affixes: impl Iterator<Item = Box<[u8]>>) -> Self {
        let mut affixes: Vec<_> = affixes.collect();
        affixes.sort_unstable();
        affixes.dedup_by(|longer, shorter| longer.starts_with(shorter));
        Self(affixes.into())
    }

    /// Whether one of them begins a text, given by its bytes.
    fn begin(&self, text: impl Iterator<Item = u8> + Clone) -> bool {
        let after = self.0.partition_point(|affix| affix.iter().copied().le(text.clone()));
        let nearest = after.checked_sub(1).and_then(|place| self.0.get(place));
        nearest.is_some_and(|affix| {
            let mut text = text;
            affix.iter().all(|byte| text.next() == Some(*byte))
        })
    }
}

#[cfg(test)]
mod tests;
