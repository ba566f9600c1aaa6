//! Regular expressions: whether and where a pattern matches, in time that the pattern
//! bounds beforehand.
//!
//! A pattern is read by the `regex-syntax` crate; its [`positions`] make a [`machine`] that
//! advances all of them together in parallel bits, over the classes of an [`alphabet`].
//! [`lazy`] keeps what the machine finds as a deterministic automaton, as long as that
//! pays; [`captures`] finds matches and groups with the machine run backwards and the
//! pattern's [`program`]. No text makes any of this slower than the machine: see README.md.

mod alphabet;
mod captures;
pub mod find;
mod lazies;
mod lazy;
mod looks;
mod machine;
mod positions;
mod program;
mod required_texts;
mod text;
mod work;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Hir, HirKind};

use alphabet::{Alphabet, Members};
pub use captures::Captures;
use captures::{Finder, Matches};
use find::Part;
use lazies::Lazies;
use lazy::{Automaton, units};
use machine::Machine;
use positions::Positions;
use program::Program;
use required_texts::required_texts;
use text::shortened;

pub use work::{Unlimited, Work};

/// One of the 64 levels of groups that the checker accepts may be four of the
/// parser's: group, alternation, concatenation, repetition.
const NESTING: u32 = 400;

/// The work per byte of searching for a text, and of a match there in addition to the steps of the
/// machine, in the units of [`Machine::step_work`].
const PART_WORK: u64 = 2;
const FIND_WORK: u64 = 200;

/// Shorter texts are in too many others to be worth a search of their own.
const MIN_PART: usize = 2;

/// The reason why a pattern is rejected.
#[derive(Debug)]
pub enum Refused {
    Syntax(Box<regex_syntax::Error>),
    Unsupported,
    TooLarge,
}

impl fmt::Display for Refused {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(error) => error.fmt(out),
            Self::Unsupported => out.write_str("the pattern is outside the language"),
            Self::TooLarge => out.write_str("the pattern is too large"),
        }
    }
}

/// Texts in every match of a pattern, to be searched for before the pattern is run.
#[derive(Debug, Default)]
pub struct Required {
    /// Texts of which every match has one, the best to look for first.
    pub texts: Vec<Vec<Box<str>>>,
}

impl Required {
    fn new(hir: &Hir) -> Self {
        let mut texts = required_texts(hir);
        texts.shrink_to_fit();
        Self { texts }
    }
}

/// A pattern in the form of `tidegate/regex/translation.py`, ready to run; shared freely.
#[derive(Clone)]
pub struct Regex(Arc<Compiled>);

struct Compiled {
    text: Box<str>,
    /// A text that every match has; None if the start of a subject decides as soon.
    part: Option<Part>,
    alphabet: Alphabet,
    machine: Machine,
    groups: usize,
    /// Kept for the first call: most patterns get only one, early.
    required: Mutex<Option<Box<Required>>>,
    lazies: Lazies,
    /// Made by the first search for matches.
    finder: OnceLock<Box<Finder>>,
}

impl Regex {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// The text isn't a pattern, or exceeds anything that the checker accepts.
    pub fn new(text: &str) -> Result<Self, Refused> {
        let short = shortened(text);
        // The error shows the original pattern.
        let hir = parse(&short).or_else(|_| parse(text))?;
        let positions = Positions::new(&hir)?;
        let (alphabet, members) = alphabet(&hir, &positions)?;
        let machine = Machine::new(&positions, &members);
        let part = fixed_text(&hir)
            .filter(|part| machine.begins_anywhere() && part.len() >= MIN_PART)
            .map(Part::new);
        Ok(Self(Arc::new(Compiled {
            text: short,
            part,
            machine,
            groups: hir.properties().explicit_captures_len(),
            required: Mutex::new(Some(Box::new(Required::new(&hir)))),
            alphabet,
            lazies: Lazies::default(),
            finder: OnceLock::new(),
        })))
    }

    /// A text of the pattern, the same for equal patterns.
    pub fn as_str(&self) -> &str {
        &self.0.text
    }

    /// The texts that every match has. The first call takes the stored value; later calls parse the
    /// pattern again.
    pub fn required(&self) -> Required {
        let known = self.0.required.lock().unwrap_or_else(PoisonError::into_inner).take();
        let read = || parse(&self.0.text).map(|hir| Required::new(&hir)).unwrap_or_default();
        known.map_or_else(read, |known| *known)
    }

    /// The number of capturing groups.
    pub fn groups(&self) -> usize {
        self.0.groups
    }

    /// Whether the pattern is found in a text; also true if the work limit ends the search.
    pub fn is_match(&self, text: &str, work: &mut impl Work) -> bool {
        let Compiled { alphabet, machine, lazies, .. } = &*self.0;
        let automaton = Automaton { alphabet, machine };
        work.is_over()
            || self.has_part(text, work) && lazies.with(|lazy| automaton.is_match(text, lazy, work))
    }

    /// Whether the pattern may be found in a text, as far as that is quickly known.
    fn may_match(&self, text: &str, work: &mut impl Work) -> bool {
        let Compiled { alphabet, machine, lazies, .. } = &*self.0;
        let automaton = Automaton { alphabet, machine };
        self.has_part(text, work)
            && lazies.with(|lazy| automaton.search(text, lazy, work).unwrap_or(true))
    }

    fn has_part(&self, text: &str, work: &mut impl Work) -> bool {
        self.0.part.as_ref().is_none_or(|part| {
            work.add(units(PART_WORK, text.len()));
            part.is_in(text)
        })
    }

    /// Prepares [`Regex::matches`], which finds nothing before.
    ///
    /// # Errors
    /// As [`Regex::new`].
    pub fn prepare_to_find(&self) -> Result<(), Refused> {
        if self.0.finder.get().is_none() {
            // Another thread may have been first; its result is equal.
            let _ = self.0.finder.set(Box::new(self.0.finder()?));
        }
        Ok(())
    }

    /// The matches in a text from left to right, the preferred one at each place; none if the work
    /// is over before.
    pub fn matches<'t, W: Work>(
        &'t self,
        text: &'t str,
        work: &mut W,
    ) -> impl Iterator<Item = Captures> + use<'t, W> {
        let finder = self.0.finder.get();
        let finder = finder.filter(|_| !work.is_over() && self.may_match(text, work));
        if let Some(finder) = finder {
            // Each character is read backwards, again for its block, and by the thread.
            let steps = finder.backwards.step_work().saturating_mul(2);
            work.add(units(steps.saturating_add(FIND_WORK), text.len()));
        }
        finder.into_iter().flat_map(|finder| Matches::new(finder, &self.0.alphabet, text))
    }
}

impl Compiled {
    fn finder(&self) -> Result<Finder, Refused> {
        let hir = parse(&self.text)?;
        let positions = Positions::new(&hir)?;
        let (_, members) = alphabet(&hir, &positions)?;
        Ok(Finder {
            program: Program::new(&hir, positions.len())?,
            backwards: Machine::new(&positions.reversed(), &members),
            last_position: (positions.len() as u32).wrapping_sub(1),
            slots: self.groups.saturating_add(1).saturating_mul(2),
        })
    }
}

/// Patterns that were compiled from the same text are equal.
impl PartialEq for Regex {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Regex {}

impl Hash for Regex {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl fmt::Debug for Regex {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Regex").field(&self.0.text).finish()
    }
}

fn parse(text: &str) -> Result<Hir, Refused> {
    let mut parser = ParserBuilder::new().nest_limit(NESTING).build();
    parser.parse(text).map_err(|error| Refused::Syntax(Box::new(error)))
}

/// The longest text that is written in a pattern for every match.
fn fixed_text(hir: &Hir) -> Option<&str> {
    match hir.kind() {
        HirKind::Literal(literal) => std::str::from_utf8(&literal.0).ok(),
        HirKind::Capture(capture) => fixed_text(&capture.sub),
        HirKind::Repetition(repetition) if repetition.min > 0 => fixed_text(&repetition.sub),
        HirKind::Concat(parts) => parts.iter().filter_map(fixed_text).max_by_key(|text| text.len()),
        _ => None,
    }
}

fn alphabet(hir: &Hir, positions: &Positions) -> Result<(Alphabet, Members), Refused> {
    let looks = !hir.properties().look_set().is_empty();
    Alphabet::new(&positions.sets, looks).ok_or(Refused::TooLarge)
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
