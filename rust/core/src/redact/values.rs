//! Values that show themselves to be secrets, whatever their names are (docs/fields.md, "What is kept
//! of an event").

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bumpalo::Bump;
use memchr::memmem;
use smallvec::SmallVec;

use super::families::{entries, numbered};
use super::names::PatternsError;
use crate::json::{Kind, Reader};
use crate::value::limits::Limits;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);
/// The base64 of `{` and a quote or space.
const JWT_STARTS: [&str; 10] =
    ["eyJ", "eyI", "eyA", "eyB", "ewo", "ewp", "ew0", "ew1", "ewk", "ewl"];
const PEM: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";
const DASHES: &str = "-----";
const LONGEST_LABEL: usize = 64;
/// Labels of what everybody may see.
const PUBLIC: [&str; 5] =
    ["CERTIFICATE", "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "PUBLIC KEY", "X509 CRL"];
/// Bytes of the shortest text that may have a credential in it.
const SHORTEST: usize = 8;
const SHORTEST_CARD: usize = 13;
const LONGEST_CARD: usize = 19;
/// Characters of the shortest credentials after a scheme.
const SHORTEST_WORD: usize = 6;
/// How the digits of a card are printed.
const GROUPS: [&[usize]; 4] = [&[4, 4, 4, 4, 3], &[4, 4, 4, 4], &[4, 6, 5], &[4, 6, 4]];

/// The places of secret values in a text, in order and apart.
pub(super) type Spans = SmallVec<[Range<usize>; 4]>;

#[derive(Clone, Copy)]
enum Anchor {
    Pem,
    Jwt,
    /// A beginning of a credential that goes on for some characters at least.
    Prefix(usize),
    /// An address whose path, of some characters at least, is a credential.
    Address(usize),
    Basic,
    Scheme,
}

/// Payment cards of an issuer.
struct Issuer {
    digits: usize,
    first: std::ops::RangeInclusive<u64>,
    lengths: std::ops::RangeInclusive<usize>,
}

/// Searches texts for values that show themselves.
pub(super) struct Values {
    anchors: AhoCorasick,
    kinds: Vec<(&'static str, Anchor)>,
    issuers: Vec<Issuer>,
}

impl Values {
    pub(super) fn new() -> Result<Self, PatternsError> {
        let refused = |error: &dyn std::error::Error| PatternsError(error.to_string());
        let mut kinds: Vec<(&'static str, Anchor)> = vec![(PEM, Anchor::Pem)];
        kinds.extend(JWT_STARTS.map(|start| (start, Anchor::Jwt)));
        for (prefix, least) in numbered("prefixes") {
            kinds.push((prefix, Anchor::Prefix(least.parse().map_err(|error| refused(&error))?)));
        }
        for (address, least) in numbered("addresses") {
            kinds.push((address, Anchor::Address(least.parse().map_err(|error| refused(&error))?)));
        }
        kinds.extend(entries("schemes").map(|scheme| {
            (scheme, if scheme == "basic" { Anchor::Basic } else { Anchor::Scheme })
        }));
        let anchors = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::DFA))
            .build(kinds.iter().map(|(text, _)| text))
            .map_err(|error| refused(&error))?;
        let mut issuers = Vec::new();
        for (first, lengths) in numbered("cards") {
            let bad = || PatternsError(first.to_owned());
            let (low, high) = first.split_once('-').ok_or_else(bad)?;
            let (shortest, longest) = lengths.split_once('-').ok_or_else(bad)?;
            let number = |text: &str| text.parse::<u64>().map_err(|error| refused(&error));
            let length = |text: &str| text.parse::<usize>().map_err(|error| refused(&error));
            issuers.push(Issuer {
                digits: low.len(),
                first: number(low)?..=number(high)?,
                lengths: length(shortest)?..=length(longest)?,
            });
        }
        Ok(Self { anchors, kinds, issuers })
    }

    /// The places of secret values in a text.
    pub(super) fn spans(&self, text: &str) -> Spans {
        let mut found = Spans::new();
        if text.len() < SHORTEST {
            return found;
        }
        self.credentials(text, &mut found);
        let digits = text
            .bytes()
            .fold(0_usize, |count, byte| count.wrapping_add(usize::from(byte.is_ascii_digit())));
        if digits >= SHORTEST_CARD {
            self.cards(text, &mut found);
            found.sort_unstable_by_key(|span| (span.start, span.end));
            let mut end = 0;
            found.retain(|span| {
                let is_apart = span.start >= end;
                if is_apart {
                    end = span.end;
                }
                is_apart
            });
        }
        found
    }

    /// Whether digits are the number of a payment card, by issuer, length and check digit.
    pub(super) fn is_card(&self, digits: &str) -> bool {
        let is_of = |issuer: &Issuer| {
            let first = digits.get(..issuer.digits).and_then(|first| first.parse::<u64>().ok());
            issuer.lengths.contains(&digits.len())
                && first.is_some_and(|first| issuer.first.contains(&first))
        };
        (SHORTEST_CARD..=LONGEST_CARD).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && self.issuers.iter().any(is_of)
            && has_check_digit(digits)
    }

    fn credentials(&self, text: &str, found: &mut Spans) {
        let mut at = 0;
        for anchor in self.anchors.find_iter(text) {
            let (start, after) = (anchor.start(), anchor.end());
            let Some((spelled, kind)) = self.kinds.get(anchor.pattern().as_usize()) else {
                continue;
            };
            if start < at || byte_before(text, start).is_some_and(goes_on) {
                continue;
            }
            let is_spelled = text.get(start..after) == Some(spelled);
            let span = match kind {
                Anchor::Basic | Anchor::Scheme => scheme(text, start, after, *kind),
                _ if !is_spelled => None,
                Anchor::Pem => pem(text, start, after),
                Anchor::Jwt => jwt(text, start),
                Anchor::Prefix(least) => {
                    let end = run(text, after, |byte| is_segment(byte) || byte == b'.');
                    (end.saturating_sub(after) >= *least).then_some(start..end)
                }
                Anchor::Address(least) => {
                    let end = run(text, after, |byte| {
                        is_segment(byte) || matches!(byte, b'.' | b':' | b'/')
                    });
                    (end.saturating_sub(after) >= *least).then_some(after..end)
                }
            };
            if let Some(span) = span {
                at = span.end;
                found.push(span);
            }
        }
    }

    fn cards(&self, text: &str, found: &mut Spans) {
        let mut at = 0;
        let mut groups: Vec<Range<usize>> = Vec::new();
        while let Some(place) =
            text.as_bytes().get(at..).and_then(|rest| rest.iter().position(u8::is_ascii_digit))
        {
            let start = at.saturating_add(place);
            at = run(text, start, |byte| byte.is_ascii_digit());
            groups.push(start..at);
        }
        let mut rest = &*groups;
        while let Some((first, after)) = rest.split_first() {
            let size = self.card_at(text, rest);
            match size.checked_sub(1).and_then(|last| rest.get(last)) {
                Some(last) => {
                    found.push(first.start..last.end);
                    rest = rest.get(size..).unwrap_or_default();
                }
                None => rest = after,
            }
        }
    }

    /// How many groups of digits are the number of a card; 0 when they are none.
    fn card_at(&self, text: &str, groups: &[Range<usize>]) -> usize {
        let Some(first) = groups.first() else { return 0 };
        let before = byte_before(text, first.start);
        if before.is_some_and(|byte| is_word(byte) || byte == b'.') {
            return 0;
        }
        if first.len() >= SHORTEST_CARD {
            return usize::from(self.is_card_in(text, groups, 1));
        }
        let fits = |form: &&&[usize]| {
            groups.len() >= form.len()
                && form.iter().zip(groups).all(|(size, group)| *size == group.len())
        };
        let sizes = GROUPS.iter().filter(fits).map(|form| form.len());
        sizes.into_iter().find(|size| self.is_card_in(text, groups, *size)).unwrap_or(0)
    }

    fn is_card_in(&self, text: &str, groups: &[Range<usize>], size: usize) -> bool {
        let here = groups.get(..size).unwrap_or_default();
        let between = |pair: &[Range<usize>]| match pair {
            [one, two] => text.get(one.end..two.start),
            _ => None,
        };
        let mut gaps = here.windows(2).map(between);
        let gap = gaps.next();
        if !(gap.is_none() || gap == Some(Some(" ")) || gap == Some(Some("-")))
            || gaps.any(|other| Some(other) != gap)
        {
            return false;
        }
        let Some(end) = here.last().map(|group| group.end) else { return false };
        let after = text.as_bytes().get(end..).unwrap_or_default();
        let goes_on = match after {
            [b'.', digit, ..] => digit.is_ascii_digit(),
            [byte, ..] => is_word(*byte),
            [] => false,
        };
        let digits: String = here.iter().filter_map(|group| text.get(group.clone())).collect();
        !goes_on && self.is_card(&digits)
    }
}

fn has_check_digit(digits: &str) -> bool {
    let total = digits.bytes().rev().enumerate().fold(0_u32, |total, (at, byte)| {
        let digit = u32::from(byte.wrapping_sub(b'0'));
        let value = if at % 2 == 0 { digit } else { digit.wrapping_mul(2) };
        total.wrapping_add(if value > 9 { value.wrapping_sub(9) } else { value })
    });
    total % 10 == 0
}

/// A block of PEM, to its end or the end of the text.
fn pem(text: &str, start: usize, after: usize) -> Option<Range<usize>> {
    let rest = text.get(after..)?;
    let size =
        run(rest, 0, |byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' ');
    let label = rest.get(..size)?;
    let body = rest.get(size..)?.strip_prefix(DASHES)?;
    if label.len() > LONGEST_LABEL || PUBLIC.contains(&label) {
        return None;
    }
    let begins = text.len().saturating_sub(body.len());
    let end = memmem::find_iter(body.as_bytes(), PEM_END).find_map(|place| {
        let name = place.saturating_add(PEM_END.len());
        let dashes = body.get(name..)?.find('-')?.saturating_add(name);
        body.get(dashes..)?.starts_with(DASHES).then(|| dashes.saturating_add(DASHES.len()))
    });
    Some(start..end.map_or(text.len(), |end| begins.saturating_add(end)))
}

/// A JWT or JWE: its header is JSON.
fn jwt(text: &str, start: usize) -> Option<Range<usize>> {
    let header = run(text, start, is_segment);
    if text.as_bytes().get(header) != Some(&b'.') || !is_json(text.get(start..header)?) {
        return None;
    }
    let is_tail = |byte| is_segment(byte) || matches!(byte, b'.' | b'=' | b'~');
    Some(start..run(text, header, is_tail))
}

fn is_json(segment: &str) -> bool {
    let Some(bytes) = decoded(segment) else { return false };
    let (arena, limits) = (Bump::new(), Limits::default());
    let read = || -> crate::json::Result<bool> {
        let mut reader = Reader::new(&bytes, &arena, &limits)?;
        let is_object = reader.kind()? == Kind::Object;
        reader.skip()?;
        reader.finish()?;
        Ok(is_object)
    };
    read().unwrap_or(false)
}

/// Base64 of either alphabet, with or without padding.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let plain: Vec<u8> = text
        .trim_end_matches('=')
        .bytes()
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    BASE64.decode(plain).ok()
}

/// Credentials after a scheme: `Basic dXNlcjpwYXNz`, `Bearer abc123`.
fn scheme(text: &str, start: usize, after: usize, anchor: Anchor) -> Option<Range<usize>> {
    let begins = run(text, after, |byte| matches!(byte, b' ' | b'\t' | b'+'));
    let is_token = |byte| is_segment(byte) || matches!(byte, b'.' | b'~' | b'+' | b'/');
    let word_end = run(text, begins, is_token);
    let end = run(text, word_end, |byte| byte == b'=');
    let (word, whole) = (text.get(begins..word_end)?, text.get(begins..end)?);
    let is_parameter =
        matches!(text.as_bytes().get(end), Some(b'"' | b'\'')) && whole.ends_with('=');
    if begins == after || is_parameter {
        return None;
    }
    let is_secret = match anchor {
        Anchor::Basic => decoded(whole).is_some_and(|bytes| bytes.contains(&b':')),
        _ => is_credential(word, text.get(start..after)?),
    };
    is_secret.then_some(begins..end)
}

/// Whether a word after a scheme is no word of a sentence.
fn is_credential(word: &str, scheme: &str) -> bool {
    let letters = word.trim_end_matches('.');
    let is_upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_prose = !letters.is_empty()
        && letters.bytes().all(|byte| byte.is_ascii_alphabetic())
        && (letters.bytes().skip(1).all(|byte| byte.is_ascii_lowercase())
            || (is_upper(letters) && is_upper(scheme)));
    word.len() >= SHORTEST_WORD && !is_prose
}

/// The end of a run of bytes of some kind.
fn run(text: &str, at: usize, is_part: impl Fn(u8) -> bool) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let size = rest.iter().position(|byte| !is_part(*byte)).unwrap_or(rest.len());
    at.saturating_add(size)
}

fn byte_before(text: &str, at: usize) -> Option<u8> {
    at.checked_sub(1).and_then(|before| text.as_bytes().get(before)).copied()
}

/// Whether a byte and the next are one word. This also keeps the time for a text linear: no value is
/// read from its middle again.
fn goes_on(byte: u8) -> bool {
    matches!(byte, b'-' | b'+' | b'~') || is_word(byte)
}

fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric()
}

fn is_segment(byte: u8) -> bool {
    byte == b'-' || is_word(byte)
}
