//! Families of secret names: they tell from a name which of its values are secrets, in addition to
//! the tenant's patterns (docs/fields.md, "What is kept of an event").

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use foldhash::fast::RandomState;
use regex::Regex;
use smallvec::{SmallVec, smallvec};
use unicode_normalization::char::{decompose_compatible, is_combining_mark};

use super::names::{PatternsError, decoded};
use super::values::Values;

const TEXT: &str = include_str!("families.txt");
/// Bytes of a word that is split into words written together.
const LONGEST_WORD: usize = 32;
/// Bytes of a value that is checked as one word.
const LONGEST_VALUE: usize = 1024;
/// Characters of the shortest value that looks generated.
const SHORTEST_GENERATED: usize = 16;

/// Names that most events have. Their kinds are looked up, so that a name costs no search.
const COMMON: [&str; 32] = [
    "accept",
    "accept-encoding",
    "accept-language",
    "account_id",
    "asn",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "content_length",
    "country",
    "fields",
    "host",
    "if-none-match",
    "ja4",
    "label",
    "origin",
    "q",
    "risk_score",
    "sec-ch-ua",
    "sec-ch-ua-mobile",
    "sec-ch-ua-platform",
    "sec-fetch-dest",
    "sec-fetch-mode",
    "sec-fetch-site",
    "sec-fetch-user",
    "status",
    "tls",
    "upgrade-insecure-requests",
    "user-agent",
    "v",
    "x-forwarded-for",
];

/// The values of a name that are secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind(u8);

impl Kind {
    pub(super) const NONE: Self = Self(0);
    /// Six to eight digits.
    const NUMERIC: Self = Self(1);
    /// Long and of letters and digits.
    const GENERATED: Self = Self(2);
    /// One word, in a query or a form.
    const QUERIED: Self = Self(4);
    pub(super) const ALL: Self = Self(8);

    fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// All or some, not both.
    pub(super) fn simple(self) -> Self {
        if self.has(Self::ALL) { Self::ALL } else { self }
    }

    /// Whether a value is one of those that are secrets; not for [`Self::ALL`].
    pub(super) fn holds(self, value: &str, is_queried: bool) -> bool {
        if self == Self::NONE {
            return false;
        }
        let is_long = value.len() > LONGEST_VALUE;
        (self.has(Self::QUERIED) && is_queried && (is_long || is_one_word(value)))
            || (self.has(Self::GENERATED) && !is_long && is_generated(value))
            || (self.has(Self::NUMERIC) && is_numeric(value))
    }
}

/// Whether a value looks generated or like a code of digits; for names with some secret values.
pub(super) fn may_be_held(value: &str) -> bool {
    is_numeric(value) || (value.len() <= LONGEST_VALUE && is_generated(value))
}

fn is_numeric(value: &str) -> bool {
    matches!(value.len(), 6..=8) && value.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_generated(value: &str) -> bool {
    let is_part = |byte: u8| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'=' | b'.' | b'~')
    };
    value.len() >= SHORTEST_GENERATED
        && value.bytes().all(is_part)
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// Whether a value, decoded, may be a credential: it has no space, quotes or brackets.
fn is_one_word(value: &str) -> bool {
    let is_other = |byte: u8| {
        byte <= b' '
            || matches!(
                byte,
                b'<' | b'>'
                    | b'"'
                    | b'\''
                    | b'('
                    | b')'
                    | b'{'
                    | b'}'
                    | b'['
                    | b']'
                    | b'`'
                    | b';'
                    | b'|'
                    | b'\\'
                    | 0x7f
            )
    };
    decoded(value).is_none_or(|value| !value.is_empty() && !value.bytes().any(is_other))
}

type Words = HashSet<&'static str, RandomState>;
type Led = HashMap<&'static str, Words, RandomState>;

/// The tables of `families.txt`, and data built from them.
pub(super) struct Families {
    /// Parts of names: a name without any of them is in no family.
    triggers: AhoCorasick,
    stems: AhoCorasick,
    benign: AhoCorasick,
    words: HashSet<String, RandomState>,
    endings: Vec<&'static str>,
    guarded: Led,
    queried: Words,
    generated: Words,
    numeric: Words,
    led: Led,
    unled: Led,
    about: Words,
    asking: Words,
    dictionary: HashSet<String, RandomState>,
    /// The kinds of the words of the tables and of common names.
    simple: HashMap<String, Kind, RandomState>,
    pub(super) values: Values,
    /// Names in XML and HTML: of elements, in attributes, between tags.
    pub(super) in_markup: Regex,
    /// A variable of GraphQL and the argument that it is.
    pub(super) variable: Regex,
}

impl std::fmt::Debug for Families {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Families")
    }
}

/// The families, which are made once.
pub(super) fn families() -> Result<&'static Families, PatternsError> {
    static FAMILIES: LazyLock<Result<Families, PatternsError>> = LazyLock::new(Families::new);
    FAMILIES.as_ref().map_err(Clone::clone)
}

impl Families {
    fn new() -> Result<Self, PatternsError> {
        let texts = |name| entries(name).map(|entry| small(&folded(entry)).into_owned());
        let stems: Vec<String> = texts("stems").collect();
        let benign: Vec<String> = texts("benign").collect();
        let words: HashSet<String, RandomState> = texts("words").collect();
        let endings: Vec<&'static str> = entries("endings").collect();
        let (guarded, led, unled) = (named("guarded"), named("led"), named("unled"));
        let set = |name| entries(name).collect::<Words>();
        let (queried, generated, numeric) = (set("queried"), set("generated"), set("numeric"));
        let (about, asking) = (set("about"), set("asking"));
        let heads = || guarded.keys().chain(led.keys()).copied();
        let beside = guarded.values().chain(led.values()).chain(unled.values()).flatten();
        let sets = queried.iter().chain(&generated).chain(&about).chain(&asking);
        let tables: Words =
            heads().chain(beside.copied()).chain(sets.copied()).chain(entries("neutral")).collect();
        let dictionary = tables
            .into_iter()
            .map(str::to_owned)
            .chain(stems.iter().filter(|stem| stem.is_ascii()).cloned())
            .chain(words.iter().cloned())
            .filter(|word| word.chars().nth(1).is_some())
            .collect();
        let triggers: Vec<&str> = stems
            .iter()
            .chain(&words)
            .map(String::as_str)
            .chain(endings.iter().copied())
            .chain(heads())
            .chain(unled.keys().copied())
            .chain(queried.iter().chain(&generated).chain(&numeric).copied())
            .collect();
        let mut made = Self {
            triggers: search(&triggers, MatchKind::Standard)?,
            stems: search(&stems, MatchKind::Standard)?,
            benign: search(&benign, MatchKind::LeftmostLongest)?,
            words,
            endings,
            guarded,
            queried,
            generated,
            numeric,
            led,
            unled,
            about,
            asking,
            dictionary,
            simple: HashMap::default(),
            values: Values::new()?,
            in_markup: regex(concat!(
                r#"<[/?!]?([^ \t\n\r<>/?!"'=]{1,64})"#,
                r#"|=[ \t\n\r]*["']([^"'<>]{1,64})["']"#,
                r"|>[ \t\n\r]*([^<>]{1,64})</"
            ))?,
            variable: regex(r"([A-Za-z_][A-Za-z0-9_]*)[ \t]*:[ \t]*\$([A-Za-z_][A-Za-z0-9_]*)")?,
        };
        let words = made.dictionary.iter().map(String::as_str).chain(COMMON);
        made.simple = words.map(|word| (word.to_owned(), made.kind(word))).collect();
        Ok(made)
    }

    /// Whether a text that is not percent-encoded may have a name of a family in it.
    pub(super) fn may_be_in(&self, text: &str) -> bool {
        if !text.is_ascii() {
            return true;
        }
        let mut joined: SmallVec<[u8; 256]> = smallvec![0; text.len()];
        let mut size = 0_usize;
        for byte in text.bytes() {
            if let Some(place) = joined.get_mut(size) {
                *place = byte.to_ascii_lowercase();
            }
            size = size.wrapping_add(usize::from(byte.is_ascii_alphanumeric()));
        }
        joined.truncate(size);
        self.triggers.is_match(&*joined)
    }

    /// The values of a name that are secrets.
    pub(super) fn kind(&self, name: &str) -> Kind {
        if let Some(kind) = self.simple.get(name) {
            return *kind;
        }
        let plain = folded(name);
        if plain.is_ascii() && !self.may_be_in(&plain) {
            return Kind::NONE;
        }
        let runs: Vec<&str> = plain.split(is_separator).filter(|run| !run.is_empty()).collect();
        let whole = small(&runs.concat()).into_owned();
        let camel: Vec<Cow<'_, str>> =
            runs.iter().flat_map(|run| camel_words(run)).map(small).collect();
        let lowered: Vec<Cow<'_, str>> = runs.iter().map(|run| small(run)).collect();
        let mut apart = vec![self.apart(&camel), self.apart(&lowered)];
        let letters = [Cow::Borrowed(&*whole)];
        if runs.len() > 1 && runs.iter().all(|run| run.chars().nth(1).is_none()) {
            apart.push(self.apart(&letters));
        }
        if apart.iter().any(|words| self.is_about(words)) {
            return Kind::NONE;
        }
        if self.has_stem(&whole) || apart.iter().any(|words| self.is_secret(words)) {
            return Kind::ALL;
        }
        apart.iter().fold(Kind::NONE, |found, words| found.and(self.weak(words)))
    }

    fn has_stem(&self, whole: &str) -> bool {
        if !self.benign.is_match(whole) {
            return self.stems.is_match(whole);
        }
        let mut rest = String::with_capacity(whole.len());
        self.benign.replace_all_with(whole, &mut rest, |_, _, out| {
            out.push(' ');
            true
        });
        self.stems.is_match(&rest)
    }

    /// Whether a name describes a secret but isn't one: `password_length`.
    fn is_about(&self, words: &[&str]) -> bool {
        match words {
            [first, .., last] => self.about.contains(last) || self.asking.contains(first),
            _ => false,
        }
    }

    fn is_secret(&self, words: &[&str]) -> bool {
        let is_word = |word: &&str| {
            self.words.contains(*word) || self.endings.iter().any(|ending| word.ends_with(ending))
        };
        if words.iter().any(is_word) {
            return true;
        }
        let is_guarded = |guarded: &str, beside: &Words| {
            words.contains(&guarded)
                && words.iter().all(|word| *word == guarded || beside.contains(word))
        };
        self.guarded.iter().any(|(guarded, beside)| is_guarded(guarded, beside))
            || last_two(words).is_some_and(|(leads, last)| {
                self.led.get(last).is_some_and(|led| led.contains(leads))
            })
    }

    fn weak(&self, words: &[&str]) -> Kind {
        if let [word] = words {
            let when = |has: bool, kind: Kind| if has { kind } else { Kind::NONE };
            return when(self.queried.contains(word), Kind::QUERIED)
                .and(when(self.generated.contains(word), Kind::GENERATED))
                .and(when(self.numeric.contains(word), Kind::NUMERIC));
        }
        let is_unled = |(leads, last)| self.unled.get(last).is_some_and(|led| !led.contains(leads));
        if last_two(words).is_some_and(is_unled) { Kind::GENERATED } else { Kind::NONE }
    }

    /// Words, and those that are written together as several; without numbers.
    fn apart<'w>(&self, words: &'w [Cow<'_, str>]) -> Vec<&'w str> {
        words.iter().flat_map(|word| self.segments(word)).filter(|word| !is_number(word)).collect()
    }

    /// A word as words of the families and numbers, the longest first; itself if it isn't made of
    /// such words.
    fn segments<'w>(&self, word: &'w str) -> Vec<&'w str> {
        if word.is_ascii() && word.len() <= LONGEST_WORD {
            let mut found = Vec::new();
            if self.segments_after(word, &mut 0, &mut found) {
                return found;
            }
        }
        vec![word]
    }

    /// Adds the words of the rest of a word. `dead` has a bit for each length of a rest that is not
    /// made of words.
    fn segments_after<'w>(&self, rest: &'w str, dead: &mut u64, found: &mut Vec<&'w str>) -> bool {
        if rest.is_empty() {
            return true;
        }
        let bit = 1_u64.checked_shl(u32::try_from(rest.len()).unwrap_or(0)).unwrap_or(0);
        if *dead & bit != 0 {
            return false;
        }
        for end in (1..=rest.len()).rev() {
            let Some((piece, after)) = rest.split_at_checked(end) else { continue };
            if is_number(piece) || self.dictionary.contains(piece) {
                let before = found.len();
                found.push(piece);
                if self.segments_after(after, dead, found) {
                    return true;
                }
                found.truncate(before);
            }
        }
        *dead |= bit;
        false
    }
}

fn last_two<'w>(words: &[&'w str]) -> Option<(&'w str, &'w str)> {
    match words {
        [.., leads, last] => Some((leads, last)),
        _ => None,
    }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// A name without the differences between letters that look alike: width, accents, invisible
/// characters.
fn folded(name: &str) -> Cow<'_, str> {
    if name.is_ascii() {
        return Cow::Borrowed(name);
    }
    let mut plain = String::with_capacity(name.len());
    for character in name.chars() {
        decompose_compatible(character, |part| {
            if !is_ignored(part) && !is_combining_mark(part) {
                plain.push(part);
            }
        });
    }
    Cow::Owned(plain)
}

/// A folded text in lower case, each letter by itself.
fn small(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.chars().flat_map(char::to_lowercase).collect())
}

/// Whether a character is invisible.
fn is_ignored(character: char) -> bool {
    matches!(
        character,
        '\u{ad}' | '\u{115f}' | '\u{1160}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Whether a character separates the words of a name.
fn is_separator(character: char) -> bool {
    if character.is_ascii() {
        return !character.is_ascii_alphanumeric();
    }
    matches!(
        character,
        '\u{80}'..='\u{a9}' | '\u{ab}'..='\u{b1}' | '\u{b4}' | '\u{b6}'..='\u{b8}' | '\u{bb}'
            | '\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}'
            | '\u{30fb}'
    )
}

/// The words of a run in camel case: `apiKey2`, `SAMLResponse`.
fn camel_words(run: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut before: Option<char> = None;
    let mut characters = run.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let after = characters.peek().map(|(_, after)| *after);
        if before.is_some_and(|before| begins_word(before, character, after)) {
            words.push(run.get(start..at).unwrap_or_default());
            start = at;
        }
        before = Some(character);
    }
    words.push(run.get(start..).unwrap_or_default());
    words
}

fn begins_word(before: char, character: char, after: Option<char>) -> bool {
    before.is_ascii_digit() != character.is_ascii_digit()
        || (character.is_ascii_uppercase()
            && (!before.is_ascii_uppercase()
                || after.is_some_and(|after| after.is_ascii_lowercase())))
}

/// The lines of a section, without comments.
fn section(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    let heading = format!("[{name}]");
    TEXT.lines()
        .skip_while(move |line| *line != heading)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The entries of a section.
pub(super) fn entries(name: &str) -> impl Iterator<Item = &'static str> + use<> {
    section(name).flat_map(str::split_whitespace)
}

/// The entries of a section before and after their last colon.
pub(super) fn numbered(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    entries(name).filter_map(|entry| entry.rsplit_once(':'))
}

/// The entries of a section whose lines begin with a name and a colon, by name.
fn named(name: &str) -> Led {
    section(name)
        .filter_map(|line| line.split_once(':'))
        .map(|(head, rest)| (head, rest.split_whitespace().collect()))
        .collect()
}

fn search(patterns: &[impl AsRef<[u8]>], kind: MatchKind) -> Result<AhoCorasick, PatternsError> {
    AhoCorasick::builder()
        .match_kind(kind)
        .kind(Some(AhoCorasickKind::DFA))
        .build(patterns)
        .map_err(|error| PatternsError(error.to_string()))
}

fn regex(pattern: &str) -> Result<Regex, PatternsError> {
    Regex::new(pattern).map_err(|error| PatternsError(error.to_string()))
}
