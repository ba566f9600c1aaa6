//! The compiled constants of a call.

use crate::functions::named_lists::ListIndex;
use crate::value::address::{Address, Network, NetworkSet};
use aho_corasick::AhoCorasick;
use jiff::tz::TimeZone;
use tidegate_regex::Regex;
use tidegate_regex::find::Part;

#[derive(Debug)]
pub(crate) enum Prepared {
    Nothing,
    /// The text that is searched for.
    Part(Part),
    /// Many texts that are searched for together.
    Parts(AhoCorasick),
    Like(LikePattern),
    Patterns(Box<[Regex]>),
    Address(Address),
    Network(Network),
    Networks(NetworkSet),
    List(ListIndex),
    Zone(TimeZone),
}

/// A pattern with stars: the texts between them.
#[derive(Debug)]
pub(crate) struct LikePattern {
    first: Box<str>,
    middle: Box<[Box<str>]>,
    /// None for a pattern without a star, which is the whole text.
    last: Option<Box<str>>,
}

impl LikePattern {
    /// Reads a pattern: `*` matches any run, `\*` and `\\` are a literal `*` and `\`.
    pub(crate) fn new(pattern: &str) -> Self {
        let mut parts = vec![String::new()];
        let mut characters = pattern.chars().peekable();
        while let Some(character) = characters.next() {
            let escaped =
                characters.next_if(|next| character == '\\' && matches!(next, '*' | '\\'));
            match (escaped, parts.last_mut()) {
                (None, _) if character == '*' => parts.push(String::new()),
                (escaped, Some(part)) => part.push(escaped.unwrap_or(character)),
                (_, None) => {}
            }
        }
        let mut parts = parts.into_iter().map(String::into_boxed_str);
        let first = parts.next().unwrap_or_default();
        let last = parts.next_back();
        Self { first, middle: parts.collect(), last }
    }

    /// The texts between the stars: the first, those inside, and the last, which
    /// is None for a pattern without a star.
    pub(crate) fn parts(&self) -> (&str, &[Box<str>], Option<&str>) {
        (&self.first, &self.middle, self.last.as_deref())
    }

    /// Whether the whole text matches the pattern.
    pub(crate) fn matches(&self, text: &str) -> bool {
        let Some(last) = &self.last else { return text == &*self.first };
        let Some(rest) = text.strip_prefix(&*self.first) else { return false };
        let Some(mut rest) = rest.strip_suffix(&**last) else { return false };
        // Taking each part at its first place leaves the most room for those after it.
        for part in &self.middle {
            let Some((_, after)) = rest.split_once(&**part) else { return false };
            rest = after;
        }
        true
    }
}
