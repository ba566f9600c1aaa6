//! Texts as the programs behind a site read them.

use super::{Function, member, overload};
use crate::value::{Text, Value};

pub(super) const FUNCTIONS: &[Function] = &[
    member(
        "htmlDecode",
        &[overload!(|_, text: &Text<'_>| Ok(changed(text, html_decode, |each| each == '&')))],
    ),
    member(
        "jsDecode",
        &[overload!(|_, text: &Text<'_>| Ok(changed(text, js_decode, |each| each == '\\')))],
    ),
    member(
        "cssDecode",
        &[overload!(|_, text: &Text<'_>| Ok(changed(text, css_decode, |each| each == '\\')))],
    ),
    member(
        "removeNulls",
        &[overload!(|_, text: &Text<'_>| {
            Ok(changed(text, |text| text.replace('\0', ""), |each| each == '\0'))
        })],
    ),
    member(
        "removeComments",
        &[overload!(|_, text: &Text<'_>| Ok(changed(text, remove_comments, begins_comment)))],
    ),
    member(
        "replaceComments",
        &[overload!(|_, text: &Text<'_>| {
            Ok(changed(text, replace_comments, |each| each == '*'))
        })],
    ),
    member(
        "removeWhitespace",
        &[overload!(|_, text: &Text<'_>| {
            let without = |text: &str| text.split_whitespace().collect();
            Ok(changed(text, without, char::is_whitespace))
        })],
    ),
    member(
        "collapseWhitespace",
        &[overload!(|_, text: &Text<'_>| {
            Ok(changed(text, collapse_whitespace, char::is_whitespace))
        })],
    ),
    member(
        "normalizePath",
        &[overload!(|_, path: &Text<'_>| Ok(Value::text(normalize_path(path))))],
    ),
];

/// The result of a function, which leaves a text without certain characters as it is.
fn changed<'a>(
    text: &Text<'a>,
    function: impl Fn(&str) -> String,
    changes: impl Fn(char) -> bool,
) -> Value<'a> {
    Value::String(if text.contains(changes) { function(text).into() } else { text.clone() })
}

fn html_decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        rest = match entity(after) {
            Some((character, after)) => {
                decoded.push(character);
                after.strip_prefix(';').unwrap_or(after)
            }
            None => {
                decoded.push('&');
                after
            }
        };
    }
    decoded.push_str(rest);
    decoded
}

/// The character that a text after `&` begins with, and the rest.
fn entity(text: &str) -> Option<(char, &str)> {
    let Some(number_text) = text.strip_prefix('#') else {
        let (name, rest) = split_while(text, |each| each.is_ascii_alphanumeric());
        return Some((named(name)?, rest));
    };
    match number_text.strip_prefix(['x', 'X']) {
        Some(digits) => number(digits, 16, usize::MAX),
        None => number(number_text, 10, usize::MAX),
    }
}

fn named(name: &str) -> Option<char> {
    let (_, character) = ENTITIES.iter().find(|(each, _)| each.eq_ignore_ascii_case(name))?;
    Some(*character)
}

const ENTITIES: &[(&str, char)] = &[
    ("lt", '<'),
    ("gt", '>'),
    ("amp", '&'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("tab", '\t'),
    ("newline", '\n'),
    ("excl", '!'),
    ("num", '#'),
    ("dollar", '$'),
    ("percnt", '%'),
    ("lpar", '('),
    ("rpar", ')'),
    ("ast", '*'),
    ("plus", '+'),
    ("comma", ','),
    ("hyphen", '-'),
    ("period", '.'),
    ("sol", '/'),
    ("colon", ':'),
    ("semi", ';'),
    ("equals", '='),
    ("quest", '?'),
    ("commat", '@'),
    ("lbrack", '['),
    ("bsol", '\\'),
    ("rbrack", ']'),
    ("caret", '^'),
    ("lowbar", '_'),
    ("grave", '`'),
    ("lbrace", '{'),
    ("verbar", '|'),
    ("rbrace", '}'),
    ("tilde", '~'),
];

fn js_decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        decoded.push_str(before);
        let (character, after) = js_escape(after);
        decoded.push(character);
        rest = after;
    }
    decoded.push_str(rest);
    decoded
}

/// The character that a text after a backslash begins with, and the rest.
fn js_escape(text: &str) -> (char, &str) {
    let Some((first, rest)) = split_first(text) else { return ('\\', "") };
    let found = match first {
        'u' => exact_number(rest, 4).map(|(character, rest)| (narrow(character), rest)),
        'x' => exact_number(rest, 2),
        '0'..='3' => number(text, 8, 3),
        '4'..='7' => number(text, 8, 2),
        _ => None,
    };
    let letter = match first {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        other => other,
    };
    found.unwrap_or((letter, rest))
}

fn css_decode(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        decoded.push_str(before);
        rest = match (number(after, 16, 6), split_first(after)) {
            (Some((character, after)), _) => {
                decoded.push(narrow(character));
                after.strip_prefix([' ', '\t', '\n', '\u{b}', '\u{c}', '\r']).unwrap_or(after)
            }
            (None, Some((first, after))) => {
                if first != '\n' {
                    decoded.push(first);
                }
                after
            }
            (None, None) => "",
        };
    }
    decoded.push_str(rest);
    decoded
}

/// The character of the number that a text begins with, of so many digits at most, and the rest.
/// U+FFFD for a number that isn't a character's; None without a digit.
fn number(text: &str, base: u32, most: usize) -> Option<(char, &str)> {
    let digits = text.chars().take(most).take_while(|each| each.is_digit(base));
    let (mut value, mut length) = (0_u32, 0_usize);
    for digit in digits.filter_map(|digit| digit.to_digit(base)) {
        value = value.saturating_mul(base).saturating_add(digit);
        length = length.saturating_add(1);
    }
    let rest = text.get(length..)?;
    let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
    (length > 0).then_some((character, rest))
}

/// The character of a hexadecimal number of so many digits, and the rest.
fn exact_number(text: &str, length: usize) -> Option<(char, &str)> {
    let found = number(text, 16, length)?;
    (found.1.len().saturating_add(length) == text.len()).then_some(found)
}

/// The ASCII character that a full-width form of one stands for.
fn narrow(character: char) -> char {
    match u32::from(character) {
        wide @ 0xff01..=0xff5e => char::from_u32(wide.saturating_sub(0xfee0)).unwrap_or(character),
        _ => character,
    }
}

const fn begins_comment(character: char) -> bool {
    matches!(character, '/' | '<' | '-' | '#')
}

fn remove_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, from)) =
        rest.find(begins_comment).and_then(|place| rest.split_at_checked(place))
    {
        kept.push_str(before);
        if from.starts_with('#') || from.starts_with("--") {
            return kept;
        }
        rest = match from.strip_prefix("/*").or_else(|| from.strip_prefix("<!--")) {
            Some(inside) => {
                let Some(after) = after_comment(inside) else {
                    kept.push(' ');
                    return kept;
                };
                after
            }
            None => {
                let Some((first, after)) = split_first(from) else { break };
                kept.push(first);
                after
            }
        };
    }
    kept.push_str(rest);
    kept
}

/// The text after the end of a comment. One walk looks for both ends, so many comments with the
/// same end cost as much as their text.
fn after_comment(inside: &str) -> Option<&str> {
    let mut rest = inside;
    loop {
        rest = rest.get(rest.find(['*', '-'])?..)?;
        let after = rest.strip_prefix("*/").or_else(|| rest.strip_prefix("-->"));
        if after.is_some() {
            return after;
        }
        rest = rest.get(1..)?;
    }
}

fn replace_comments(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once("/*") {
        kept.push_str(before);
        kept.push(' ');
        rest = inside.split_once("*/").map_or("", |(_, after)| after);
    }
    kept.push_str(rest);
    kept
}

fn collapse_whitespace(text: &str) -> String {
    let mut collapsed = String::with_capacity(text.len());
    let mut is_after_space = false;
    for character in text.chars() {
        let is_space = character.is_whitespace();
        match (is_space, is_after_space) {
            (true, true) => {}
            (true, false) => collapsed.push(' '),
            (false, _) => collapsed.push(character),
        }
        is_after_space = is_space;
    }
    collapsed
}

fn normalize_path(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." if kept.last().is_some_and(|last| *last != "..") => {
                kept.pop();
            }
            ".." if is_absolute => {}
            other => kept.push(other),
        }
    }
    let end = if !kept.is_empty() && path.ends_with('/') { "/" } else { "" };
    let start = if is_absolute { "/" } else { "" };
    [start, &kept.join("/"), end].concat()
}

fn split_first(text: &str) -> Option<(char, &str)> {
    let mut characters = text.chars();
    characters.next().map(|first| (first, characters.as_str()))
}

/// The longest start of a text whose characters all pass a test, and the rest.
fn split_while(text: &str, test: impl Fn(char) -> bool) -> (&str, &str) {
    let end = text.find(|each| !test(each)).unwrap_or(text.len());
    text.split_at_checked(end).unwrap_or((text, ""))
}

#[cfg(test)]
mod tests;
