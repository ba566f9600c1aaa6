//! The text of a pattern in fewer bytes.

use regex_syntax::is_meta_character;

/// The form in which `tidegate/regex/translation.py` writes most characters.
const CODE_POINT: &str = r"\x{";

/// A pattern that is read as the same: visible characters of ASCII that are given by their
/// code points, as themselves. Others stay, since space may be for show.
pub(super) fn shortened(pattern: &str) -> Box<str> {
    let mut short = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some((before, escape)) = rest.find('\\').and_then(|at| rest.split_at_checked(at)) {
        short.push_str(before);
        rest = match code_point(escape) {
            Some((character, after)) if character.is_ascii_graphic() => {
                if is_meta_character(character) {
                    short.push('\\');
                }
                short.push(character);
                after
            }
            _ => {
                // A backslash and the character after it.
                let mut characters = escape.chars();
                short.extend(characters.by_ref().take(2));
                characters.as_str()
            }
        };
    }
    short.push_str(rest);
    short.into()
}

/// The character whose code point begins a text, and the rest.
pub(super) fn code_point(text: &str) -> Option<(char, &str)> {
    let digits = text.strip_prefix(CODE_POINT)?;
    let (mut number, mut rest) = (None, digits.bytes());
    loop {
        number = match rest.next()? {
            b'}' => break,
            digit => {
                let digit = char::from(digit).to_digit(16)?;
                Some(number.unwrap_or(0_u32).checked_mul(16)?.checked_add(digit)?)
            }
        };
    }
    let after = digits.get(digits.len().saturating_sub(rest.len())..)?;
    Some((char::from_u32(number?)?, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    #[test]
    fn a_shorter_pattern_is_read_as_the_same() {
        for (pattern, short) in [
            (r"a\x{2D}b\x{2F}[\x{2E}\x{30}-\x{39}]+", r"a\-b/[\.0-9]+"),
            (r"\x{3C}\x{3F}[\x{9}-\x{A}\x{20}]", r"<\?[\x{9}-\x{A}\x{20}]"),
            (r"[\x{53}\x{73}\x{17F}]\x{5C}\x{5D}", r"[Ss\x{17F}]\\\]"),
            (
                r"[\x{5B}\x{3A}alpha\x{3A}\x{5D}\x{26}\x{26}a\x{7E}\x{7E}]",
                r"[\[:alpha:\]\&\&a\~\~]",
            ),
            (r"\\x{2}", r"\\x{2}"),
            (r"(?x)a\x{20}\x{23} b", r"(?x)a\x{20}\# b"),
            (r"(?-u:\b)\x{7B}2\x{7D}\x{5E}\z", r"(?-u:\b)\{2\}\^\z"),
            (r"(?i)\x{4B}(?P<n>\x{6E}{2,3})", r"(?i)K(?P<n>n{2,3})"),
            ("é", "é"),
        ] {
            assert_eq!(&*shortened(pattern), short);
            assert_eq!(parse(short).unwrap(), parse(pattern).unwrap(), "{pattern}");
        }
    }

    #[test]
    fn every_character_is_read_as_itself() {
        for code_point in 0..0x250 {
            for pattern in [
                format!(r"a\x{{{code_point:X}}}b"),
                format!(r"[\x{{{code_point:X}}}-\x{{250}}\x{{{code_point:X}}}]"),
            ] {
                let short = shortened(&pattern);
                assert_eq!(parse(&short).unwrap(), parse(&pattern).unwrap(), "{short}");
            }
        }
    }
}
