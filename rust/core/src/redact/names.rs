//! Patterns of names: `*` matches any run, ASCII letters match in either case, and separators of
//! words do not count.

use std::borrow::Cow;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};
use smallvec::SmallVec;

use super::ROUNDS;
use super::families::{Families, Kind, families};
use crate::event::path::percent_decode;

/// Enough for two hundred patterns of two hundred characters.
const MAX_PROGRAM_BYTES: usize = 32 * 1024 * 1024;

/// The names of proofs of challenges, whose tokens are secrets of the service.
const PROOFS: &str = "service_challenge*";

/// Rejected patterns: together they are too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternsError(pub(super) String);

impl std::fmt::Display for PatternsError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for PatternsError {}

/// The names of secrets: families of names that everybody has, and patterns of the tenant. A pattern
/// that begins with `!` names values that are not secret.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) families: &'static Families,
    secret: Option<NamePatterns>,
    /// Whether a pattern is nothing but stars.
    has_everything: bool,
    clear: Option<NamePatterns>,
    /// Names of secrets that tenants can never see in clear.
    always: NamePatterns,
}

impl Names {
    pub(super) fn new(patterns: &[String]) -> Result<Self, PatternsError> {
        let named = patterns.iter().map(|each| &**each).filter(|each| !each.starts_with('!'));
        let is_everything = |each: &&str| {
            let plain = plain(each);
            !plain.is_empty() && plain.iter().all(|byte| *byte == b'*')
        };
        let (everything, secret): (Vec<&str>, Vec<&str>) = named.partition(is_everything);
        let secret = (!secret.is_empty()).then(|| NamePatterns::new(&secret)).transpose()?;
        let clear: Vec<&str> = patterns.iter().filter_map(|each| each.strip_prefix('!')).collect();
        let clear = (!clear.is_empty()).then(|| NamePatterns::new(&clear)).transpose()?;
        let always = NamePatterns::new(&[PROOFS])?;
        Ok(Self {
            families: families()?,
            secret,
            has_everything: !everything.is_empty(),
            clear,
            always,
        })
    }

    /// The values of a name that are secrets; the name may be percent-encoded.
    pub(super) fn kind(&self, name: &str) -> Kind {
        if self.has_everything {
            return match decoded(name) {
                Some(name) if self.is_clear(&name) => Kind::NONE,
                _ => Kind::ALL,
            };
        }
        self.kind_of_word(name)
    }

    /// As [`Self::kind`], of what may be a name or any other word of a text: the pattern `*` does not
    /// count.
    pub(super) fn kind_of_word(&self, name: &str) -> Kind {
        let Some(name) = decoded(name) else { return Kind::ALL };
        if self.is_clear(&name) {
            return Kind::NONE;
        }
        let mut found = self.kind_of(&name);
        if memchr::memchr3(b'.', b'[', b']', name.as_bytes()).is_some() {
            for part in name.split(PARTS).filter(|part| !part.is_empty()) {
                found = found.and(self.kind_of(part));
            }
        }
        found.simple()
    }

    fn kind_of(&self, name: &str) -> Kind {
        let is_named = self.secret.as_ref().is_some_and(|secret| secret.matches(name));
        if is_named { Kind::ALL } else { self.families.kind(name) }
    }

    /// Whether every value of this name is a secret.
    pub(super) fn is_secret(&self, name: &str) -> bool {
        self.kind(name) == Kind::ALL
    }

    /// Whether a value of this name is a secret.
    pub(super) fn holds_secret(&self, name: &str, value: &str, is_queried: bool) -> bool {
        let kind = self.kind(name);
        kind == Kind::ALL || kind.holds(value, is_queried)
    }

    /// Whether a text that is not percent-encoded may have the name of a secret in it.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        let is_part = |secret: &NamePatterns| {
            secret.parts.as_ref().is_none_or(|parts| parts.is_match(&*plain(text)))
        };
        self.has_everything
            || self.families.may_be_in(text)
            || self.secret.as_ref().is_some_and(is_part)
    }

    /// Whether the tenant wants values of this name in clear text.
    pub(super) fn is_clear(&self, name: &str) -> bool {
        let is_named = self.clear.as_ref().is_some_and(|clear| clear.matches(name));
        is_named && !self.always.matches(name)
    }
}

/// Between the parts of a name such as `user[password]`.
const PARTS: [char; 3] = ['.', '[', ']'];

/// A name without percent-encoding; `None` when it is encoded more often than is decoded.
pub(super) fn decoded(name: &str) -> Option<Cow<'_, str>> {
    let mut name = Cow::Borrowed(name);
    for _ in 0..=ROUNDS {
        match again(&name) {
            Some(decoded) => name = Cow::Owned(decoded),
            None => return Some(name),
        }
    }
    None
}

/// A text decoded once more, if that changes it.
pub(super) fn again(text: &str) -> Option<String> {
    match percent_decode(text) {
        Cow::Owned(decoded) if decoded != text => Some(decoded),
        _ => None,
    }
}

/// A name as a pattern compares it, but for its case.
fn plain(name: &str) -> SmallVec<[u8; 64]> {
    name.bytes().filter(|byte| !matches!(byte, b'-' | b'_' | b'.' | b'+' | b' ')).collect()
}

/// The names that any of some patterns match. Time is linear in the name.
#[derive(Debug)]
struct NamePatterns {
    /// One part of each pattern: no pattern matches a name without any of them. `None` if a pattern
    /// is nothing but `*`.
    parts: Option<AhoCorasick>,
    whole: Regex,
}

impl NamePatterns {
    fn new(patterns: &[&str]) -> Result<Self, PatternsError> {
        let patterns: Vec<String> = patterns
            .iter()
            .map(|pattern| String::from_utf8_lossy(&plain(pattern)).into_owned())
            .collect();
        let refused = |error: &dyn std::error::Error| PatternsError(error.to_string());
        let longest = |pattern: &String| {
            pattern.split('*').max_by_key(|part| part.len()).unwrap_or_default().to_owned()
        };
        let parts: Vec<String> = patterns.iter().map(longest).collect();
        let parts = if parts.iter().any(String::is_empty) {
            None
        } else {
            let mut builder = AhoCorasick::builder();
            builder.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
            Some(builder.build(&parts).map_err(|error| refused(&error))?)
        };
        let wholes: Vec<String> = patterns.iter().map(|pattern| whole(pattern)).collect();
        // Without patterns nothing matches: `[^\x00-\xff]`.
        let alternatives =
            if wholes.is_empty() { String::from(r"[^\x00-\xff]") } else { wholes.join("|") };
        let whole = RegexBuilder::new(&format!("^(?:{alternatives})$"))
            .unicode(false)
            .case_insensitive(true)
            .dot_matches_new_line(true)
            .size_limit(MAX_PROGRAM_BYTES)
            .build()
            .map_err(|error| refused(&error))?;
        Ok(Self { parts, whole })
    }

    fn matches(&self, name: &str) -> bool {
        let name = plain(name);
        let is_possible = self.parts.as_ref().is_none_or(|parts| parts.is_match(&*name));
        is_possible && self.whole.is_match(&name)
    }
}

/// The expression of one pattern.
fn whole(pattern: &str) -> String {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    parts.join(".*")
}

#[cfg(test)]
mod tests;
