//! A search for many texts at once in one text.
//!
//! Each part sought is found by its rarest run of four bytes (its gram), or by all
//! of it when it is shorter: a filter of bits says where such a gram may stand, a
//! table which parts have it and what four bytes they have beside it, and only where those
//! stand there as well is a part compared. Everything is compared in ASCII lower case first,
//! so one pass serves both cases.
//!
//! Shorter parts are few, and for most there is no pass over the text: at its ends they are
//! looked up, elsewhere they are found by one of three bytes or, a byte shorter than a gram,
//! by the grams that begin with them.
//!
//! Where parts are made of few grams ([`crowd`]), longer runs tell them apart, for which
//! the text is passed over once more: by an [`Automaton`] if they are of few letters as well.

use std::collections::BTreeMap;

use crate::index::automaton::{Automaton, Run};
use crate::index::crowd::{by_widths, crowd};
use crate::index::gram::{Choice, GramCounts, Numbered, SHORTER, WIDTH, choose_grams};
use crate::index::gram_table::{Entry, Looks, Table};

/// More parts shorter than a gram are looked for by grams.
const MAX_SHORT: usize = 8;
/// More parts a byte shorter than a gram are looked for in a pass of their own.
const MAX_BEGINNINGS: usize = 64;
/// Entries that may be looked at for a text beside [`LOOKS_A_BYTE`].
const LOOKS: usize = 4096;
const LOOKS_A_BYTE: usize = 16;

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

/// The texts that a search was made for, in any order.
#[derive(Debug)]
pub(crate) struct Substrings {
    texts: Box<str>,
    /// By the width of their grams.
    tables: Box<[Table]>,
    /// Of parts that are as long as their grams and at an end of the text.
    ends: Box<[Table]>,
    short: Option<Short>,
    /// Of a crowd of few letters.
    automaton: Option<Automaton>,
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
        let (first, crowd) = builder.first(&mut by_width, counts);
        let automaton = builder.automaton(&crowd);
        if automaton.is_none() {
            by_width.extend(crowd);
        }
        let mut tables = Vec::from_iter(first);
        tables.extend(by_width.into_iter().map(|(width, parts)| builder.whole(width, &parts)));
        let ends = at_ends.into_iter().map(|(width, parts)| builder.whole(width, &parts)).collect();
        Self { texts: builder.texts.into(), tables: tables.into(), ends, short, automaton }
    }

    /// Reports the conditions whose parts are in a text. `folded` is the text in
    /// ASCII lower case.
    pub(crate) fn scan(&self, text: &[u8], folded: &[u8], report: impl FnMut(u32)) -> Scanned {
        let mut looks = Looks {
            text,
            folded,
            parts: self.texts.as_bytes(),
            left: LOOKS.saturating_add(LOOKS_A_BYTE.saturating_mul(text.len())),
            report,
        };
        if let Some(short) = &self.short {
            short.scan(&mut looks);
        }
        let are_within = self.ends.iter().all(|table| table.look_at_ends(&mut looks))
            && self.tables.iter().all(|table| table.scan(&mut looks))
            && self.automaton.as_ref().is_none_or(|automaton| automaton.scan(&mut looks));
        if are_within { Scanned::Whole } else { Scanned::GivenUp }
    }

    /// All conditions that the search can report.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = u32> {
        let of_tables = self.tables.iter().chain(&self.ends).flat_map(Table::conditions);
        let of_short = self.short.iter().flat_map(|short| &short.entries);
        let of_automaton = self.automaton.iter().flat_map(Automaton::conditions);
        of_tables.chain(of_short.map(|(_, entry)| entry.condition)).chain(of_automaton)
    }
}

/// Parts shorter than a gram that may be anywhere, found by one of three bytes.
#[derive(Debug)]
struct Short {
    bytes: [u8; 3],
    entries: Box<[(u8, Entry)]>,
}

impl Short {
    fn scan(&self, looks: &mut Looks<'_, impl FnMut(u32)>) {
        let [first, second, third] = self.bytes;
        for position in memchr::memchr3_iter(first, second, third, looks.folded) {
            let byte = looks.folded.get(position);
            for (_, entry) in self.entries.iter().filter(|(own, _)| Some(own) == byte) {
                looks.compare(entry, position);
            }
        }
    }
}

/// Makes the tables of parts.
struct Builder<'p> {
    parts: &'p [Part],
    /// Those of the tables made so far.
    texts: String,
}

impl Builder<'_> {
    fn entry(&mut self, choice: &Choice) -> Option<Entry> {
        let Part { text, place, is_folded, condition } = self.parts.get(choice.part as usize)?;
        let start = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
        self.texts.push_str(text);
        let (place, is_folded, condition) = (*place, *is_folded, *condition);
        Some(Entry { condition, start, length, offset: choice.offset, place, is_folded })
    }

    /// The table of parts of some width that are not told by their grams in any text.
    fn whole(&mut self, width: usize, parts: &[Numbered]) -> Table {
        let chosen = choose_grams(width, parts, &GramCounts::default());
        Table::new(width, chosen, None, |choice| self.entry(choice))
    }

    /// The table of the parts that have a gram, and of few that are a byte shorter; and those
    /// that are a crowd, by the widths that tell them apart.
    fn first(
        &mut self,
        by_width: &mut BTreeMap<usize, Vec<Numbered>>,
        counts: &GramCounts,
    ) -> (Option<Table>, BTreeMap<usize, Vec<Numbered>>) {
        let Some(mut parts) = by_width.remove(&WIDTH) else { return Default::default() };
        let mut chosen = choose_grams(WIDTH, &parts, counts);
        let grams: Vec<u32> = chosen.iter().map(|choice| choice.gram).collect();
        let crowd = crowd(&parts, &grams);
        chosen.retain(|choice| crowd.binary_search(&choice.part).is_err());
        parts.retain(|(number, _)| crowd.binary_search(number).is_ok());
        let crowd = by_widths(parts);
        if chosen.is_empty() {
            return (None, crowd);
        }
        let is_few = by_width.get(&SHORTER).is_some_and(|parts| parts.len() <= MAX_BEGINNINGS);
        let shorter = if is_few { by_width.remove(&SHORTER) } else { None };
        let shorter = shorter.map(|parts| self.whole(SHORTER, &parts));
        (Some(Table::new(WIDTH, chosen, shorter, |choice| self.entry(choice))), crowd)
    }

    /// An automaton of a crowd, if it is one of few letters.
    fn automaton(&mut self, crowd: &BTreeMap<usize, Vec<Numbered>>) -> Option<Automaton> {
        let before = self.texts.len();
        let runs = crowd.iter().flat_map(|(width, parts)| {
            let chosen = choose_grams(*width, parts, &GramCounts::default());
            chosen.into_iter().zip(parts).map(|(choice, (_, part))| (*width, choice, &**part))
        });
        let runs: Option<Vec<Run<'_>>> =
            runs.map(|(width, choice, part)| self.run(width, choice, part)).collect();
        let automaton = runs.and_then(Automaton::new);
        if automaton.is_none() {
            self.texts.truncate(before);
        }
        automaton
    }

    /// The gram of a part as what an automaton looks for.
    fn run<'b>(&mut self, width: usize, choice: Choice, folded: &'b [u8]) -> Option<Run<'b>> {
        let Part { text, place, is_folded, condition } = self.parts.get(choice.part as usize)?;
        let last = choice.offset.checked_add(u16::try_from(width).ok()?.checked_sub(1)?)?;
        let bytes = folded.get(usize::from(choice.offset)..=usize::from(last))?;
        let is_as_folded = match is_folded {
            true => text.as_bytes() == folded,
            false => !folded.iter().any(u8::is_ascii_alphabetic),
        };
        let is_all = bytes.len() == folded.len() && *place == Place::Anywhere && is_as_folded;
        let condition = *condition;
        let entry =
            if is_all { None } else { Some(self.entry(&Choice { offset: last, ..choice })?) };
        Some(Run { bytes, condition, entry })
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
            rarest.into_iter().filter_map(|(byte, choice)| Some((byte, self.entry(&choice)?)));
        Some(Short { bytes, entries: entries.collect() })
    }
}

#[cfg(test)]
#[path = "substring_tests.rs"]
#[allow(clippy::arithmetic_side_effects, reason = "a test may overflow")]
mod tests;
