//! Values that are recognisable as secrets under any name (docs/fields.md, "What is kept of an
//! event").

use std::collections::HashMap;
use std::ops::Range;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bumpalo::Bump;
use foldhash::fast::RandomState;
use memchr::memmem;
use smallvec::SmallVec;
use wide::u8x16;

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
/// Labels of public content.
const PUBLIC: [&str; 5] =
    ["CERTIFICATE", "CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST", "PUBLIC KEY", "X509 CRL"];
/// Words of 64 bits of the table of starts.
const STARTS: usize = 64;
/// Bytes that a pass looks at together.
const CHUNK: usize = 16;
/// Digits of the shortest number of a card.
const FEWEST_DIGITS: u32 = 13;
/// Groups of digits of a card, at most.
const MOST_GROUPS: usize = 5;
/// Digits of the first of several groups.
const SHORTEST_GROUP: usize = 4;
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
#[derive(Clone, Copy, Default)]
pub(super) struct Marks {
    pub(super) has_colon: bool,
    /// `=` and `:`, which names are before; a `--` and a quote after a space.
    pub(super) has_pair: bool,
    pub(super) has_tag: bool,
    pub(super) has_line: bool,
    /// Percent-encoding, userinfo, JSON.
    pub(super) has_hiding: bool,
    pub(super) has_delimiter: bool,
}

/// The result of one pass over a text.
#[derive(Clone, Copy)]
pub(super) struct Scan {
    pub(super) marks: Marks,
    /// Whether a word begins with letters that an anchor begins with.
    has_start: bool,
    digits: u32,
}

impl Scan {
    /// Whether the text has no byte that comes with secrets.
    pub(super) fn is_quiet(&self) -> bool {
        let marks = &self.marks;
        !(marks.has_pair
            | marks.has_tag
            | marks.has_line
            | marks.has_hiding
            | self.has_start
            | (self.digits >= FEWEST_DIGITS))
    }
}

/// The state of a pass: the bytes of each kind so far, and the end of the previous bytes.
#[derive(Default)]
struct Pass {
    colons: u8x16,
    equals: u8x16,
    tags: u8x16,
    lines: u8x16,
    hiding: u8x16,
    delimiters: u8x16,
    flags: u32,
    ends: Ends,
    has_start: bool,
    digits: u32,
}

/// Whether the last byte before is of a word, a `-`, a space.
#[derive(Default)]
struct Ends {
    word: u32,
    dash: u32,
    space: u32,
}

/// Searches texts for values that are recognisable as secrets.
pub(super) struct Values {
    /// The anchors by their first letters, the longest first.
    anchors: HashMap<u32, Vec<(&'static str, Anchor)>, RandomState>,
    issuers: Vec<Issuer>,
    /// A bit for the hash of the first letters of each anchor.
    starts: [u64; STARTS],
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
        let mut by_start: HashMap<u32, Vec<_>, RandomState> = HashMap::default();
        let mut starts = [0; STARTS];
        for (text, anchor) in anchors {
            let Some(start) = start_of(text.as_bytes(), 0) else { continue };
            by_start.entry(start).or_default().push((text, anchor));
            let (word, bit) = bit_of(start);
            if let Some(bits) = starts.get_mut(word) {
                *bits |= bit;
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
        Ok(Self { anchors: by_start, issuers, starts })
    }

    /// One pass over a text.
    #[inline]
    pub(super) fn scan(&self, text: &str) -> Scan {
        let bytes = text.as_bytes();
        let mut pass = Pass::default();
        let (chunks, rest) = bytes.as_chunks::<CHUNK>();
        let mut base = 0_usize;
        for chunk in chunks {
            self.pass_over(bytes, base, u8x16::new(*chunk), &mut pass);
            base = base.wrapping_add(CHUNK);
        }
        if !rest.is_empty() {
            let mut last = [b' '; CHUNK];
            for (place, byte) in last.iter_mut().zip(rest) {
                *place = *byte;
            }
            self.pass_over(bytes, base, u8x16::new(last), &mut pass);
        }
        let any = |found: u8x16| found.to_bitmask() != 0;
        let has_colon = any(pass.colons);
        let marks = Marks {
            has_colon,
            has_pair: has_colon | any(pass.equals) | (pass.flags != 0),
            has_tag: any(pass.tags),
            has_line: any(pass.lines),
            has_hiding: any(pass.hiding),
            has_delimiter: any(pass.delimiters),
        };
        Scan { marks, has_start: pass.has_start, digits: pass.digits }
    }

    #[inline]
    fn pass_over(&self, bytes: &[u8], base: usize, chunk: u8x16, pass: &mut Pass) {
        let is = |byte: u8| chunk.simd_eq(u8x16::splat(byte));
        let within = |bytes: u8x16, first: u8, last: u8| {
            bytes.max(u8x16::splat(first)).min(u8x16::splat(last)).simd_eq(bytes)
        };
        pass.colons |= is(b':');
        pass.equals |= is(b'=');
        pass.tags |= is(b'<');
        pass.lines |= is(b'\n');
        pass.hiding |= is(b'%') | is(b'@') | is(b'{') | is(b'[');
        pass.delimiters |= is(b'?') | is(b'#') | is(b'&') | is(b';');
        let digits = within(chunk, b'0', b'9');
        pass.digits = pass.digits.wrapping_add(mask(digits).count_ones());
        let dashes = is(b'-');
        let letters = within(chunk | u8x16::splat(b' '), b'a', b'z');
        let words = mask(letters | digits | dashes | is(b'_') | is(b'+') | is(b'~'));
        let (dash, space) = (mask(dashes), mask(is(b' ') | is(b'\t')));
        let quote = mask(is(b'"') | is(b'\''));
        pass.flags |=
            (dash & after(dash, pass.ends.dash)) | (quote & after(space, pass.ends.space));
        let mut starts = words & !after(words, pass.ends.word);
        while starts != 0 && !pass.has_start {
            let at = base.wrapping_add(starts.trailing_zeros() as usize);
            starts &= starts.wrapping_sub(1);
            pass.has_start = start_of(bytes, at).is_some_and(|start| self.may_start(start));
        }
        pass.ends = Ends { word: last(words), dash: last(dash), space: last(space) };
    }

    /// Whether an anchor may begin with these letters.
    #[inline]
    fn may_start(&self, start: u32) -> bool {
        let (word, bit) = bit_of(start);
        self.starts.get(word).is_some_and(|bits| bits & bit != 0)
    }

    /// The places of secret values in a text.
    pub(super) fn spans(&self, text: &str, scan: Scan) -> Spans {
        let mut found = Spans::new();
        if scan.has_start {
            self.credentials(text, &mut found);
        }
        if scan.digits >= FEWEST_DIGITS {
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
            let anchor = if is_word { None } else { self.anchor_at(text, at) };
            is_word = goes_on(*byte);
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
        let start = start_of(text.as_bytes(), at).filter(|start| self.may_start(*start))?;
        let rest = text.as_bytes().get(at..)?;
        let is_here = |(anchor, _): &&(&'static str, Anchor)| {
            let here = rest.get(..anchor.len());
            here.is_some_and(|here| here.eq_ignore_ascii_case(anchor.as_bytes()))
        };
        self.anchors.get(&start)?.iter().find(is_here).copied()
    }

    fn cards(&self, text: &str, found: &mut Spans) {
        let mut at = 0;
        while let Some(first) = digits_after(text, at) {
            at = first.end;
            if first.len() != SHORTEST_GROUP && first.len() < SHORTEST_CARD {
                continue;
            }
            let mut groups: SmallVec<[Range<usize>; MOST_GROUPS]> = SmallVec::new();
            groups.push(first);
            while groups.len() < MOST_GROUPS
                && let Some(before) = groups.last()
                && let Some(next) = digits_after(text, before.end)
                && next.start == before.end.saturating_add(1)
            {
                groups.push(next);
            }
            let size = self.card_at(text, &groups);
            if let (Some(first), Some(last)) =
                (groups.first(), size.checked_sub(1).and_then(|last| groups.get(last)))
            {
                found.push(first.start..last.end);
                at = last.end;
            }
        }
    }

    /// The number of digit groups that form a card number; 0 if they don't form one.
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

/// The first letters of a word, without case.
#[inline]
fn start_of(bytes: &[u8], at: usize) -> Option<u32> {
    let [one, two, three] = *bytes.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes([one, two, three, 0]) | 0x0020_2020)
}

/// The word of the table of starts for first letters, and the bit in it.
#[inline]
fn bit_of(start: u32) -> (usize, u64) {
    let hash = start.wrapping_mul(0x9e37_79b1) >> 20;
    ((hash >> 6) as usize, 1 << (hash & 63))
}

#[inline]
fn mask(bytes: u8x16) -> u32 {
    bytes.to_bitmask()
}

/// The places after those of a mask; `before` is the end of the bytes before.
#[inline]
fn after(mask: u32, before: u32) -> u32 {
    (mask << 1) | before
}

/// Whether a mask has the last place.
#[inline]
fn last(mask: u32) -> u32 {
    (mask >> (CHUNK - 1)) & 1
}

/// The first run of digits at or after a place.
fn digits_after(text: &str, at: usize) -> Option<Range<usize>> {
    let rest = text.as_bytes().get(at..)?;
    let start = at.saturating_add(rest.iter().position(u8::is_ascii_digit)?);
    Some(start..run(text, start, |byte| byte.is_ascii_digit()))
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

/// Whether a word after a scheme isn't an ordinary word of a sentence.
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
