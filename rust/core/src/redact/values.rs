//! Values that show themselves to be secrets, whatever their names are (docs/fields.md, "What is kept
//! of an event").

use std::ops::Range;

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
/// Words of 64 bits for all pairs of bytes.
const STARTS: usize = 1024;
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

/// Bytes that secrets come with, which a text has.
#[derive(Clone, Copy)]
pub(super) struct Marks(u8);

impl Marks {
    pub(super) const COLON: Self = Self(1);
    pub(super) const TAG: Self = Self(2);
    pub(super) const LINE: Self = Self(4);
    /// `=` and `:`, which names are before.
    pub(super) const PAIRING: Self = Self(8);
    /// Percent-encoding, userinfo, JSON.
    pub(super) const HIDING: Self = Self(16);
    pub(super) const DELIMITER: Self = Self(32);
    const DIGIT: u8 = 64;
    const WORD: u8 = 128;

    /// The marks of a byte.
    fn of(byte: u8) -> u8 {
        match byte {
            b':' => 1 | 8,
            b'<' => 2,
            b'\n' => 4,
            b'=' => 8,
            b'%' | b'@' | b'{' | b'[' => 16,
            b'?' | b'#' | b'&' | b';' => 32,
            b'0'..=b'9' => Self::DIGIT | Self::WORD,
            _ if goes_on(byte) => Self::WORD,
            _ => 0,
        }
    }

    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// What one pass over a text shows.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub(super) marks: Marks,
    /// Whether a word begins with two letters that an anchor begins with.
    has_start: bool,
    digits: usize,
}

/// Searches texts for values that show themselves.
pub(super) struct Values {
    /// The anchors, the longest first.
    anchors: Vec<(&'static str, Anchor)>,
    issuers: Vec<Issuer>,
    marks: [u8; 256],
    /// A bit for each two bytes, in either case, that an anchor begins with.
    starts: Vec<u64>,
}

impl Values {
    pub(super) fn new() -> Result<Self, PatternsError> {
        let refused = |error: &dyn std::error::Error| PatternsError(error.to_string());
        let mut anchors: Vec<(&'static str, Anchor)> = vec![(PEM, Anchor::Pem)];
        anchors.extend(JWT_STARTS.map(|start| (start, Anchor::Jwt)));
        for (prefix, least) in numbered("prefixes") {
            anchors.push((prefix, Anchor::Prefix(least.parse().map_err(|error| refused(&error))?)));
        }
        for (address, least) in numbered("addresses") {
            anchors
                .push((address, Anchor::Address(least.parse().map_err(|error| refused(&error))?)));
        }
        anchors.extend(entries("schemes").map(|scheme| {
            (scheme, if scheme == "basic" { Anchor::Basic } else { Anchor::Scheme })
        }));
        anchors.sort_by_key(|(text, _)| std::cmp::Reverse(text.len()));
        let mut starts = vec![0; STARTS];
        for (text, _) in &anchors {
            let [first, second, ..] = text.as_bytes() else { continue };
            for one in [first.to_ascii_lowercase(), first.to_ascii_uppercase()] {
                for two in [second.to_ascii_lowercase(), second.to_ascii_uppercase()] {
                    let (word, bit) = start_of(one, two);
                    if let Some(bits) = starts.get_mut(word) {
                        *bits |= bit;
                    }
                }
            }
        }
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
        let marks = std::array::from_fn(|byte| u8::try_from(byte).map_or(0, Marks::of));
        Ok(Self { anchors, issuers, marks, starts })
    }

    /// One pass over a text.
    pub(super) fn scan(&self, text: &str) -> Scan {
        let mut bytes = text.bytes().peekable();
        let (mut marks, mut before, mut digits) = (0, 0, 0_usize);
        let mut has_start = false;
        while let Some(byte) = bytes.next() {
            let mark = self.marks.get(usize::from(byte)).copied().unwrap_or_default();
            let (word, bit) = start_of(byte, bytes.peek().copied().unwrap_or_default());
            let is_start = self.starts.get(word).is_some_and(|bits| bits & bit != 0);
            has_start |= is_start & (before & Marks::WORD == 0);
            digits = digits.wrapping_add(usize::from(mark & Marks::DIGIT != 0));
            marks |= mark;
            before = mark;
        }
        Scan { marks: Marks(marks), has_start, digits }
    }

    /// The places of secret values in a text.
    pub(super) fn spans(&self, text: &str, scan: Scan) -> Spans {
        let mut found = Spans::new();
        if scan.has_start {
            self.credentials(text, &mut found);
        }
        if scan.digits >= SHORTEST_CARD {
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
        let bytes = text.as_bytes();
        let (mut at, mut is_word) = (0, false);
        while let Some(byte) = bytes.get(at) {
            let (word, bit) =
                start_of(*byte, bytes.get(at.saturating_add(1)).copied().unwrap_or_default());
            let may_start = !is_word && self.starts.get(word).is_some_and(|bits| bits & bit != 0);
            is_word = goes_on(*byte);
            let anchor = if may_start { self.anchor_at(text, at) } else { None };
            let Some((spelled, kind)) = anchor else {
                at = at.saturating_add(1);
                continue;
            };
            let after = at.saturating_add(spelled.len());
            let span = value_at(text, at..after, spelled, kind);
            at = span.as_ref().map_or(after, |span| span.end);
            is_word = byte_before(text, at).is_some_and(goes_on);
            found.extend(span);
        }
    }

    /// The longest anchor at a place, in either case.
    fn anchor_at(&self, text: &str, at: usize) -> Option<(&'static str, Anchor)> {
        let rest = text.as_bytes().get(at..)?;
        let is_here = |(anchor, _): &&(&'static str, Anchor)| {
            let here = rest.get(..anchor.len());
            here.is_some_and(|here| here.eq_ignore_ascii_case(anchor.as_bytes()))
        };
        self.anchors.iter().find(is_here).copied()
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

/// The place of the credentials of an anchor.
fn value_at(text: &str, place: Range<usize>, spelled: &str, kind: Anchor) -> Option<Range<usize>> {
    let (start, after) = (place.start, place.end);
    let is_spelled = text.get(place) == Some(spelled);
    match kind {
        Anchor::Basic | Anchor::Scheme => scheme(text, start, after, kind),
        _ if !is_spelled => None,
        Anchor::Pem => pem(text, start, after),
        Anchor::Jwt => jwt(text, start),
        Anchor::Prefix(least) => {
            let end = run(text, after, |byte| is_segment(byte) || byte == b'.');
            (end.saturating_sub(after) >= least).then_some(start..end)
        }
        Anchor::Address(least) => {
            let end =
                run(text, after, |byte| is_segment(byte) || matches!(byte, b'.' | b':' | b'/'));
            (end.saturating_sub(after) >= least).then_some(after..end)
        }
    }
}

/// The word of the table of starts for two bytes, and the bit in it.
fn start_of(one: u8, two: u8) -> (usize, u64) {
    let at = (usize::from(one) << 8) | usize::from(two);
    (at >> 6, 1 << (at & 63))
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
