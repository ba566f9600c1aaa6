//! Patterns of names: `*` stands for any run, ASCII letters match in either case.

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::bytes::{Regex, RegexBuilder};

/// More than enough for two hundred patterns of two hundred characters.
const MAX_PROGRAM_BYTES: usize = 32 * 1024 * 1024;

/// Patterns that are refused: together they are too large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternsError(pub(super) String);

impl std::fmt::Display for PatternsError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

impl std::error::Error for PatternsError {}

/// The names that any of some patterns match. Time is linear in the name.
#[derive(Debug)]
pub(super) struct NamePatterns {
    /// One part of each pattern: a name without any of them matches none. `None`
    /// when a pattern is nothing but `*`.
    parts: Option<AhoCorasick>,
    whole: Regex,
}

impl NamePatterns {
    pub(super) fn new(patterns: &[String]) -> Result<Self, PatternsError> {
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

    pub(super) fn matches(&self, name: &str) -> bool {
        let is_possible = self.parts.as_ref().is_none_or(|parts| parts.is_match(name));
        is_possible && self.whole.is_match(name.as_bytes())
    }
}

/// The expression of one pattern.
fn whole(pattern: &str) -> String {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    parts.join(".*")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(patterns: &[&str], name: &str) -> bool {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        NamePatterns::new(&patterns).unwrap().matches(name)
    }

    #[test]
    fn a_star_is_any_run_and_ascii_case_does_not_count() {
        for (pattern, name, expected) in [
            ("cookie", "Cookie", true),
            ("cookie", "cookies", false),
            ("*password*", "new_PASSWORD_2", true),
            ("*password*", "password", true),
            ("x-*-key", "X-Api\n-Key", true),
            ("x-*-key", "x-key", false),
            ("*", "", true),
            ("a**b", "ab", true),
            ("a.b", "axb", false),
            ("ß*", "ßx", true),
            ("É", "é", false),
            ("k", "\u{212a}", false),
            ("", "", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(&[pattern], name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn one_of_many_suffices_and_none_matches_nothing() {
        assert!(matches(&["a", "*b"], "cb"));
        assert!(!matches(&[], ""));
        assert!(!matches(&[], "a"));
    }
}
