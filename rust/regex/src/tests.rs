//! The answers are the same as those of the `regex` crate, for any pattern and any text.

#![allow(clippy::arithmetic_side_effects)]

use std::fmt::Write;

use super::*;

fn is_match(pattern: &Regex, text: &str) -> bool {
    pattern.is_match(text, &mut Unlimited)
}

/// A sequence of numbers that looks random and is always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % sides
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.roll(from.len())]
    }

    fn pattern(&mut self, depth: usize, out: &mut String) {
        const ATOMS: &[&str] = &[
            "a",
            "b",
            "c",
            "[ab]",
            "[^a]",
            "[^\\x{A}]",
            "[a-c]",
            "\u{e9}",
            "[\u{e9}\u{20ac}]",
            "_",
            "\\x{A}",
            "ab",
            "abc",
            "[^\\x{0}-\\x{10FFFF}]",
            " ",
        ];
        const LOOKS: &[&str] =
            &["\\A", "\\z", "(?m:^)", "(?m:$)", "(?-u:\\b)", "(?-u:\\B)", "(?:)"];
        match self.roll(if depth == 0 { 2 } else { 8 }) {
            0 => out.push_str(self.pick(ATOMS)),
            1 if self.roll(3) == 0 => out.push_str(self.pick(LOOKS)),
            1 => out.push_str(self.pick(ATOMS)),
            2 | 3 => {
                for _ in 0..2 + self.roll(3) {
                    self.group(depth, "(?:", out);
                }
            }
            4 => {
                out.push_str("(?:");
                let branches = if self.roll(4) == 0 { 12 } else { 2 + self.roll(3) };
                for number in 0..branches {
                    if number > 0 {
                        out.push('|');
                    }
                    self.pattern(depth - 1, out);
                }
                out.push(')');
            }
            5 => self.group(depth, "(", out),
            _ => {
                self.group(depth, "(?:", out);
                let (low, more) = (self.roll(4), self.roll(3));
                match self.roll(6) {
                    0 => out.push('*'),
                    1 => out.push('+'),
                    2 => out.push('?'),
                    3 => write!(out, "{{{low},}}").unwrap(),
                    4 => write!(out, "{{{}}}", low.max(1)).unwrap(),
                    _ => write!(out, "{{{low},{}}}", (low + more).max(1)).unwrap(),
                }
                if self.roll(3) == 0 {
                    out.push('?');
                }
            }
        }
    }

    fn group(&mut self, depth: usize, open: &str, out: &mut String) {
        out.push_str(open);
        self.pattern(depth - 1, out);
        out.push(')');
    }

    fn text(&mut self) -> String {
        let letters = ["a", "b", "c", "ab", "\n", "_", " ", "\u{e9}", "\u{20ac}", "\u{1F600}"];
        let used = 1 + self.roll(letters.len());
        let length = if self.roll(8) == 0 { self.roll(300) } else { self.roll(12) };
        (0..length).map(|_| self.pick(&letters[..used])).collect()
    }
}

type Spans = Vec<Vec<Option<(usize, usize)>>>;

fn spans(regex: &Regex, text: &str) -> Spans {
    let group = |found: &Captures, group| found.get(group).map(|taken| (taken.start, taken.end));
    let groups = |found: Captures| (0..=regex.groups()).map(|one| group(&found, one)).collect();
    regex.matches(text, &mut Unlimited).map(groups).collect()
}

fn spans_of_crate(regex: &regex::Regex, text: &str) -> Spans {
    let groups = |found: regex::Captures<'_>| {
        found.iter().map(|taken| taken.map(|taken| (taken.start(), taken.end()))).collect()
    };
    regex.captures_iter(text).map(groups).collect()
}

fn compare(pattern: &str, texts: &[String]) {
    let ours = Regex::new(pattern).unwrap();
    ours.prepare_to_find().unwrap();
    let theirs = regex::Regex::new(pattern).unwrap();
    assert_eq!(ours.groups(), theirs.captures_len() - 1);
    for text in texts {
        assert_eq!(is_match(&ours, text), theirs.is_match(text), "{pattern} {text:?}");
        assert_eq!(spans(&ours, text), spans_of_crate(&theirs, text), "{pattern} {text:?}");
    }
}

#[test]
fn generated_patterns_match_as_in_the_crate() {
    let mut dice = Dice(1);
    for _ in 0..300 {
        let mut pattern = String::new();
        dice.pattern(4, &mut pattern);
        let texts: Vec<String> = (0..8).map(|_| dice.text()).collect();
        compare(&pattern, &texts);
    }
}

#[test]
fn the_first_of_many_alternatives_is_taken_as_in_the_crate() {
    let texts: Vec<String> = ["", "b", "ab", "cab_a", "aab\u{e9}bca"].map(str::to_owned).into();
    for pattern in [
        "(?:((?:a|b|c|(?m:$)|(?:)|ab|abc|bc|ca|_)+?)){1,}",
        "(?:a|ab|abc|(b)|(bc)|(c)|ca|cab|_a|_)*",
        "(?:(?-u:\\b)a|ab|(a*)|(b)|(bc)|(c)|ca|cab|_a|_)+?b",
    ] {
        compare(pattern, &texts);
    }
}

#[test]
fn counted_patterns_of_many_words_match_as_in_the_crate() {
    let mut dice = Dice(2);
    for pattern in [
        "a[ab]{100}c",
        "(a)[ab]{60,130}?(c|\\z)",
        "(?:ab|b|cab){40}c",
        "(?:a?b?c?){70}_",
        "(?:[ab]{1,20}(?-u:\\b)[^a]){1,9}",
        "(?:[ab]{3}|[bc]{2}a){30,}",
        "(?:(?-u:\\b)|a|b\u{e9}){70,90}_",
        "(?:(?:a|b|c|ab|bc|ca)(?:a|b|c|ab|bc|ca)){40}",
    ] {
        let text = |length| (0..length).map(|_| dice_letter(&mut dice)).collect();
        let texts: Vec<String> = [0, 50, 150, 400, 1200].map(text).into();
        compare(pattern, &texts);
    }
}

fn dice_letter(dice: &mut Dice) -> &'static str {
    dice.pick(&["a", "b", "a", "b", "c", "ab", "_", "\u{e9}"])
}

#[test]
fn text_that_makes_new_states_for_ever_is_answered_alike() {
    let mut dice = Dice(3);
    let texts: Vec<String> =
        (0..3).map(|_| (0..6_000).map(|_| dice.pick(&["a", "b"])).collect()).collect();
    for pattern in ["a[ab]{300}c", "(?-u:\\B)a[ab]{100}(?-u:\\B)c|[ab]{5000}\\z"] {
        let ours = Regex::new(pattern).unwrap();
        let theirs = regex::Regex::new(pattern).unwrap();
        for text in &texts {
            assert_eq!(is_match(&ours, text), theirs.is_match(text), "{pattern}");
            let longer = format!("{text}c");
            assert_eq!(is_match(&ours, &longer), theirs.is_match(&longer), "{pattern}");
        }
    }
}

#[test]
fn what_is_too_large_or_unknown_is_refused() {
    assert!(matches!(Regex::new("(?:(?:(?:a{1000}){1000}){1000})"), Err(Refused::TooLarge)));
    assert!(matches!(Regex::new(&"(?:a|b|c)?".repeat(4_000)), Err(Refused::TooLarge)));
    assert!(matches!(Regex::new("\\b"), Err(Refused::Unsupported)));
    assert!(matches!(Regex::new("("), Err(Refused::Syntax(_))));
}
