//! The compiler of a call's constants, which runs once, with the program's.

use crate::functions::prepared::{LikePattern, Prepared};
use std::collections::HashMap;

use aho_corasick::AhoCorasick;
use foldhash::fast::RandomState;

use crate::functions::named_lists::Lists;
use crate::functions::time::find_zone;
use crate::functions::{Place, Shape};
use crate::program::{Expr, Node};
use crate::value::Value;
use crate::value::address::{Address, Network, NetworkSet};
use tidegate_regex::Regex;
use tidegate_regex::find::Part;

/// Compiles constants; repeated patterns are compiled once.
#[derive(Default)]
pub(crate) struct Preparer {
    patterns: HashMap<String, Regex, RandomState>,
}

impl Preparer {
    /// Compiles the translated patterns of a call; `finds` says that the function asks where they
    /// match.
    ///
    /// # Errors
    /// The message of the pattern library for a pattern that it rejects.
    pub(crate) fn patterns(&mut self, texts: &[&str], finds: bool) -> Result<Prepared, String> {
        let patterns: Result<Box<[Regex]>, String> =
            texts.iter().map(|text| self.pattern(text, finds)).collect();
        patterns.map(Prepared::Patterns)
    }

    fn pattern(&mut self, text: &str, finds: bool) -> Result<Regex, String> {
        let pattern = match self.patterns.get(text) {
            Some(pattern) => pattern.clone(),
            None => {
                let pattern = Regex::new(text).map_err(|error| error.to_string())?;
                self.patterns.insert(text.to_owned(), pattern.clone());
                pattern
            }
        };
        if finds {
            pattern.prepare_to_find().map_err(|error| error.to_string())?;
        }
        Ok(pattern)
    }
}

/// Compiles the constants of a call without patterns. Constants that do not compile stay as they
/// are: the function then fails with them.
pub(crate) fn prepare(shape: Shape, arguments: &[Expr], lists: &Lists) -> Prepared {
    let constants: Vec<Option<&Value<'static>>> = arguments.iter().map(literal).collect();
    let prepared = match (shape, constants.as_slice()) {
        (Shape::Has(Place::Anywhere), [_, Some(Value::String(part))]) => {
            Some(Prepared::Part(Part::new(part)))
        }
        (Shape::HasAny(Place::Anywhere), [_, Some(Value::List(parts))]) => {
            texts(parts).and_then(|parts| AhoCorasick::new(parts).ok()).map(Prepared::Parts)
        }
        (Shape::Like, [_, Some(Value::String(pattern))]) => {
            Some(Prepared::Like(LikePattern::new(pattern)))
        }
        (Shape::LikeLower, [_, Some(Value::String(pattern))]) => {
            Some(Prepared::Like(LikePattern::new(&pattern.to_ascii_lowercase())))
        }
        (Shape::Address, [Some(Value::String(text))]) => {
            Address::parse(text).map(Prepared::Address)
        }
        (Shape::Network, [Some(Value::String(text))]) => {
            Network::parse(text).map(Prepared::Network)
        }
        (Shape::InNetworks, [_, Some(Value::String(text))]) => networks(&[text]),
        (Shape::InNetworks, [_, Some(Value::List(values))]) => {
            texts(values).and_then(|texts| networks(&texts))
        }
        (Shape::HasAny(place), [_, Some(Value::String(name))]) => {
            lists.find(name).filter(|list| lists.prepare(*list, place)).map(Prepared::List)
        }
        (Shape::InList, [_, Some(Value::String(name))]) => lists.find(name).map(Prepared::List),
        (Shape::TimePart, [_, Some(Value::String(zone))]) => find_zone(zone).map(Prepared::Zone),
        _ => None,
    };
    prepared.unwrap_or(Prepared::Nothing)
}

/// The value of a literal node.
pub(crate) fn literal(expression: &Expr) -> Option<&Value<'static>> {
    match &expression.node {
        Node::Literal(value) => Some(value),
        _ => None,
    }
}

fn texts<'v>(values: &'v [Value<'static>]) -> Option<Vec<&'v str>> {
    values.iter().map(Value::as_str).collect()
}

fn networks(texts: &[&str]) -> Option<Prepared> {
    let networks: Option<NetworkSet> =
        texts.iter().map(|text| Network::parse_entry(text)).collect();
    networks.map(Prepared::Networks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_run() {
        for (pattern, text, expected) in [
            ("/api/*/users", "/api/v1/users", true),
            ("/api/*/users", "/api/users", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("*b*b*", "ab", false),
            ("*b*b*", "abcb", true),
            (r"a\*b", "a*b", true),
            (r"a\*b", "axb", false),
            (r"a\\*", r"a\x", true),
            (r"a\b", r"a\b", true),
            ("a**b", "ab", true),
        ] {
            assert_eq!(LikePattern::new(pattern).matches(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_pattern_too_large_to_compile_is_refused() {
        assert!(Preparer::default().patterns(&["(?:(?:(?:a{1000}){1000}){1000})"], false).is_err());
    }
}
