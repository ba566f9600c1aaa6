//! Patterns as `language/regex/translation.py` writes them, and shorter: read in one walk,
//! which takes a fifth of what the library's parser does, to what that makes of them.

use regex_syntax::hir::{Capture, Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};
use regex_syntax::is_meta_character;
use smallvec::SmallVec;

use super::text::code_point;

/// Groups that the checker lets nest; the library looks after what is deeper.
const DEPTH: usize = 64;

/// Assertions, as they are written.
const LOOKS: [(&str, Look); 6] = [
    (r"(?-u:\b)", Look::WordAscii),
    (r"(?-u:\B)", Look::WordAsciiNegate),
    (r"(?m:^)", Look::StartLF),
    (r"(?m:$)", Look::EndLF),
    (r"\A", Look::Start),
    (r"\z", Look::End),
];

/// What a pattern is read as; None for one that is written in another way, which may be a
/// pattern all the same.
pub(super) fn read(pattern: &str) -> Option<Hir> {
    let mut reader = Reader { rest: pattern, names: Vec::new(), groups: 0 };
    let hir = reader.alternation(0)?;
    reader.rest.is_empty().then_some(hir)
}

struct Reader<'p> {
    rest: &'p str,
    names: Vec<&'p str>,
    /// Capturing groups so far.
    groups: u32,
}

enum Item {
    Character(char),
    Other(Hir),
}

impl Item {
    fn hir(self) -> Hir {
        match self {
            Self::Character(character) => literal(character.encode_utf8(&mut [0; 4])),
            Self::Other(hir) => hir,
        }
    }
}

fn literal(text: &str) -> Hir {
    Hir::literal(text.as_bytes())
}

/// How often an item is repeated.
struct Quantifier {
    min: u32,
    max: Option<u32>,
    greedy: bool,
}

impl<'p> Reader<'p> {
    fn takes(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn alternation(&mut self, depth: usize) -> Option<Hir> {
        let first = self.concatenation(depth)?;
        if !self.takes("|") {
            return Some(first);
        }
        let mut parts = vec![first, self.concatenation(depth)?];
        while self.takes("|") {
            parts.push(self.concatenation(depth)?);
        }
        Some(Hir::alternation(parts))
    }

    fn concatenation(&mut self, depth: usize) -> Option<Hir> {
        let (mut parts, mut text) = (Vec::new(), String::new());
        while !matches!(self.rest.as_bytes().first(), None | Some(b'|' | b')')) {
            let item = self.item(depth)?;
            let part = match (item, self.quantifier()?) {
                (Item::Character(character), None) => {
                    text.push(character);
                    continue;
                }
                (item, None) => item.hir(),
                (item, Some(Quantifier { min, max, greedy })) => {
                    let sub = Box::new(item.hir());
                    Hir::repetition(Repetition { min, max, greedy, sub })
                }
            };
            if !text.is_empty() {
                parts.push(literal(&text));
                text.clear();
            }
            parts.push(part);
        }
        if !text.is_empty() {
            parts.push(literal(&text));
        }
        Some(if parts.len() > 1 {
            Hir::concat(parts)
        } else {
            parts.pop().unwrap_or_else(Hir::empty)
        })
    }

    fn item(&mut self, depth: usize) -> Option<Item> {
        match self.rest.as_bytes().first() {
            Some(b'[') => self.class().map(Item::Other),
            Some(b'(' | b'\\') => match self.look() {
                Some(look) => Some(Item::Other(Hir::look(look))),
                None if self.takes("(") => self.group(depth).map(Item::Other),
                None => self.character().map(Item::Character),
            },
            _ => self.character().map(Item::Character),
        }
    }

    fn look(&mut self) -> Option<Look> {
        LOOKS.iter().find(|(text, _)| self.takes(text)).map(|(_, look)| *look)
    }

    /// A group after its bracket.
    fn group(&mut self, depth: usize) -> Option<Hir> {
        let depth = depth.saturating_add(1);
        if depth > DEPTH {
            return None;
        }
        if self.takes("?:") {
            let hir = self.alternation(depth)?;
            return self.takes(")").then_some(hir);
        }
        let name = if self.takes("?P<") { Some(self.name()?) } else { None };
        self.groups = self.groups.checked_add(1)?;
        let index = self.groups;
        let sub = Box::new(self.alternation(depth)?);
        let capture = Capture { index, name: name.map(Box::from), sub };
        self.takes(")").then(|| Hir::capture(capture))
    }

    /// The name of a group, which no other has.
    fn name(&mut self) -> Option<&'p str> {
        let (name, rest) = self.rest.split_once('>')?;
        let is_plain = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_plain || self.names.contains(&name) {
            return None;
        }
        self.names.push(name);
        self.rest = rest;
        Some(name)
    }

    fn class(&mut self) -> Option<Hir> {
        self.rest = self.rest.strip_prefix('[')?;
        let mut ranges = SmallVec::<[ClassUnicodeRange; 8]>::new();
        while ranges.is_empty() || !self.takes("]") {
            let start = self.character()?;
            let end = if self.takes("-") { self.character()? } else { start };
            if start > end {
                return None;
            }
            ranges.push(ClassUnicodeRange::new(start, end));
        }
        Some(Hir::class(Class::Unicode(ClassUnicode::new(ranges))))
    }

    /// A character that stands for itself, by its code point or behind a backslash or alone.
    fn character(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let first = characters.next()?;
        if first == '\\' {
            if let Some((character, rest)) = code_point(self.rest) {
                self.rest = rest;
                return Some(character);
            }
            let escaped = characters.next().filter(|escaped| is_meta_character(*escaped))?;
            self.rest = characters.as_str();
            return Some(escaped);
        }
        self.rest = characters.as_str();
        (first.is_ascii_graphic() && !is_meta_character(first)).then_some(first)
    }

    /// The quantifier behind an item, if there is one; None where it is written in another way.
    fn quantifier(&mut self) -> Option<Option<Quantifier>> {
        let (min, max) = match self.rest.as_bytes().first() {
            Some(b'*') => (0, None),
            Some(b'+') => (1, None),
            Some(b'?') => (0, Some(1)),
            Some(b'{') => return self.counted().map(Some),
            _ => return Some(None),
        };
        self.rest = self.rest.get(1..)?;
        Some(Some(Quantifier { min, max, greedy: !self.takes("?") }))
    }

    fn counted(&mut self) -> Option<Quantifier> {
        let (counts, rest) = self.rest.strip_prefix('{')?.split_once('}')?;
        let number = |digits: &str| {
            let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            are_digits.then(|| digits.parse::<u32>().ok()).flatten()
        };
        let (min, max) = match counts.split_once(',') {
            None => (number(counts)?, Some(number(counts)?)),
            Some((min, "")) => (number(min)?, None),
            Some((min, max)) => (number(min)?, Some(number(max)?)),
        };
        if max.is_some_and(|max| min > max) {
            return None;
        }
        self.rest = rest;
        Some(Quantifier { min, max, greedy: !self.takes("?") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_any;
    use crate::text::shortened;

    fn is_read(pattern: &str) -> bool {
        let read = read(pattern);
        assert!(read.is_none() || read == parse_any(pattern).ok(), "{pattern}");
        read.is_some()
    }

    #[test]
    fn what_is_translated_is_read_as_the_library_reads_it() {
        for pattern in [
            "",
            "(?:)",
            "a",
            r"abc\x{2D}de",
            r"(?-u:\b)[\x{53}\x{73}\x{17F}][\x{54}\x{74}](?-u:\B)",
            r"\A(?m:^)(?m:$)\z",
            r"(a)(?P<name>b|)(?:c|d|e)",
            r"(?:ab|ac)|[\x{0}-\x{D7FF}\x{E000}-\x{10FFFF}]|(?:)",
            r"x*y+z?(?:ab){2}c{3,}?d{0,20}?(?:a|bc)??(?:)*",
            r"(?:(?:a{2}){3}){0}b{1}",
            r"(?-u:\b)*\x{E9}{1,2}",
            r"a|b|[\x{63}-\x{64}]",
            r"a|a\x{E9}|(?:b(?:c(?:d)))",
            r"[\x{61}\x{61}-\x{63}\x{62}]",
        ] {
            assert!(is_read(pattern) && is_read(&shortened(pattern)), "{pattern}");
        }
    }

    #[test]
    fn what_is_written_in_another_way_is_left_to_the_library() {
        for pattern in [
            "é",
            "a b",
            "a#b",
            "[^a]",
            "[]a]",
            "[a-]",
            "[b-a]",
            "[a",
            "(a",
            "a)",
            "*",
            "a**",
            "a{2}{3}",
            "a{3,2}",
            "a{,2}",
            "a{",
            "a{+1}",
            "a{}",
            "(?i)a",
            "(?P<1>a)",
            "(?P<a>a)(?P<a>b)",
            "(?<a>a)",
            r"\d",
            r"\x{}",
            r"\x{+41}",
            r"\x{D800}",
            r"\x{110000}",
            r"\x41",
            r"\b",
            r"\",
            "[[:alpha:]]",
            "[a&&b]",
            r"(?x)a\x{20}",
            "a{99999999999}",
        ] {
            assert!(!is_read(pattern), "{pattern}");
        }
        assert!(read(&("(".repeat(DEPTH + 1) + &")".repeat(DEPTH + 1))).is_none());
    }

    #[test]
    fn any_text_is_read_as_by_the_library_or_not_at_all() {
        let parts = [
            "a",
            "b",
            "Z",
            "0",
            r"\x{61}",
            r"\x{17F}",
            r"\x{5C}",
            r"\-",
            "[",
            "]",
            "-",
            "^",
            "(",
            "(?:",
            "(?P<n>",
            ")",
            "|",
            "*",
            "+",
            "?",
            "{2}",
            "{0,1}",
            "{1,}",
            r"\A",
            r"\z",
            r"(?-u:\b)",
            "(?m:^)",
            " ",
            "é",
        ];
        let mut state = 1_u32;
        let mut number = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        let mut read = 0;
        for _ in 0..200_000 {
            let pattern: String = (0..number(9)).map(|_| parts[number(parts.len())]).collect();
            read += usize::from(is_read(&pattern));
        }
        assert!(read > 20_000, "{read}");
    }
}
