//! The redactor of events: it replaces secrets by keyed hashes (docs/fields.md, "What is kept of an
//! event").

mod families;
mod kept;
mod names;
mod place;
mod texts;
mod values;

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use bumpalo::Bump;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use smallvec::SmallVec;

use crate::event::check_length;
use crate::json::write::{push_hash, write_string};
use crate::json::{Kind, Reader, Result};
use crate::value::error::EventError;
use crate::value::limits::Limits;

use kept::{Kept, Tree};
use names::Names;
pub use names::PatternsError;
use place::Place;
use texts::{Kind as TextKind, Texts};

/// Rounds of decoding a text, or of reading JSON inside JSON, before it counts as a secret.
const ROUNDS: u8 = 4;
/// Hexadecimal digits of a hash.
const DIGITS: usize = 32;
const HASH: &str = "hmac:";
/// Bytes of a text that may be the name of a value.
const LONGEST_LABEL: usize = 64;
/// Members that name a value, and members that hold it.
const LABELS: [&[u8]; 13] = [
    b"name",
    b"key",
    b"field",
    b"param",
    b"parameter",
    b"header",
    b"variable",
    b"property",
    b"attribute",
    b"type",
    b"id",
    b"k",
    b"n",
];
const VALUES: [&[u8]; 9] =
    [b"value", b"values", b"val", b"v", b"content", b"contents", b"text", b"data", b"input"];
/// Letters of the longest of them.
const LONGEST_SHORT: usize = 9;

type SmallString = SmallVec<[u8; LONGEST_SHORT]>;

/// Replaces secrets by hashes that only the holder of the key can make.
#[derive(Debug)]
pub struct Redactor {
    patterns: Box<[String]>,
    names: Names,
    /// The members to keep; `None` keeps everything that isn't a secret.
    read: Option<Tree>,
    mac: Hmac<Sha256>,
    limits: Limits,
}

impl Redactor {
    /// A redactor of members whose names match a pattern.
    ///
    /// # Errors
    /// The patterns are too large together.
    pub fn new(patterns: &[String], key: &[u8]) -> std::result::Result<Self, PatternsError> {
        let names = Names::new(patterns)?;
        let mac = Hmac::new_from_slice(key).map_err(|error| PatternsError(error.to_string()))?;
        Ok(Self { patterns: patterns.into(), names, read: None, mac, limits: Limits::default() })
    }

    /// The same, but of members with names of their own it keeps only those at some paths, unless
    /// they are secrets. A path has the names on the way to a member.
    #[must_use]
    pub fn keeping_only(self, paths: &[Vec<String>]) -> Self {
        Self { read: Some(Tree::of(paths)), ..self }
    }

    /// The parts of an event that may be kept.
    fn kept(&self) -> Kept<'_> {
        self.read.as_ref().map_or(Kept::Whole, Tree::kept)
    }

    /// Whether a part of the query of a link may be kept: the parameter is read, or all are kept.
    fn keeps_in_link(&self, piece: &str) -> bool {
        if self.read.is_none() || piece.is_empty() {
            return true;
        }
        let label = piece.split_once('=').map_or(piece, |(label, _)| label);
        names::decoded(label).is_some_and(|label| {
            self.kept().has(&["request", "query_params", &label]) || self.names.is_clear(&label)
        })
    }

    /// The patterns of names that it was made with.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// The event without its secrets, as compact JSON.
    ///
    /// # Errors
    /// The body isn't a strict JSON object within the limits of an event.
    pub fn redact(&self, body: &[u8]) -> std::result::Result<String, EventError> {
        let mut out = String::with_capacity(body.len().saturating_add(128));
        self.redact_into(body, &Bump::with_capacity(4096), &mut out)?;
        Ok(out)
    }

    /// As [`Self::redact`], into an empty text, whose content is undefined after an error.
    pub fn redact_into(
        &self,
        body: &[u8],
        arena: &Bump,
        out: &mut String,
    ) -> std::result::Result<(), EventError> {
        check_length(body, &self.limits)?;
        let mut reader = Reader::new(body, arena, &self.limits)?;
        if reader.kind()? != Kind::Object {
            return Err(reader.shape_fault("the event must be an object").into());
        }
        let mut again = reader.clone();
        let mut writer = Writer::copying(self, arena, out, reader.text());
        writer.value(&mut reader, "", Place::Event, self.kept())?;
        reader.finish()?;
        if !writer.is_copy_of(&reader) {
            out.clear();
            let mut writer = Writer::writing(self, arena, out);
            writer.value(&mut again, "", Place::Event, self.kept())?;
        }
        Ok(())
    }

    /// A path or URL without its secrets.
    pub fn link<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.searched("", text, TextKind::Link)
    }

    /// The text of a name that isn't secret, without secrets inside the text.
    pub fn text<'t>(&self, name: &str, text: &'t str) -> Cow<'t, str> {
        self.searched(name, text, TextKind::Text)
    }

    /// The replacement of a secret; one that is redacted already stays as it is.
    pub fn secret(&self, name: &str, text: &str) -> String {
        let mut out = String::with_capacity(HASH.len().saturating_add(DIGITS));
        self.write_hash(&mut out, name, text);
        out
    }

    /// Whether a text is the name of a secret and nothing else.
    fn is_label(&self, text: &str) -> bool {
        text.len() <= LONGEST_LABEL
            && !text.contains(HASH)
            && memchr::memchr_iter(b' ', text.as_bytes()).count() <= 2
            && self.names.kind_of_word(text) == families::Kind::ALL
    }

    /// Whether a member of an object says that its value is a secret:
    /// `{"name": "password", "value": "x"}`.
    fn has_label(&self, object: &Reader<'_>) -> bool {
        let mut is_found = false;
        let read = object.clone().object(|reader, name| {
            if !is_found
                && short(name).is_some_and(|name| LABELS.contains(&&*name))
                && reader.kind()? == Kind::String
            {
                is_found = self.is_label(reader.string()?);
                return Ok(());
            }
            reader.skip()
        });
        read.is_ok() && is_found
    }

    /// The variables that the query of GraphQL in an object takes as secret arguments.
    fn secret_arguments(&self, object: &Reader<'_>) -> HashSet<String> {
        let mut found = HashSet::new();
        let read = object.clone().object(|reader, name| {
            if name != "query" || reader.kind()? != Kind::String {
                return reader.skip();
            }
            for each in self.names.families.variable.captures_iter(reader.string()?) {
                let [argument, variable] = each.extract().1;
                if self.is_label(argument) {
                    found.insert(variable.to_owned());
                }
            }
            Ok(())
        });
        if read.is_ok() { found } else { HashSet::new() }
    }

    /// Whether a number is a secret under a name whose other values aren't.
    fn is_secret_number(&self, name: &str, number: &str, is_queried: bool) -> bool {
        (self.names.families.values.is_card(number) && !self.names.is_clear(name))
            || ((is_queried || families::may_be_held(number))
                && self.names.kind(name).holds(number, is_queried))
    }

    fn searched<'t>(&self, name: &str, text: &'t str, kind: TextKind) -> Cow<'t, str> {
        let arena = Bump::new();
        let found = Texts::new(self, &arena).redacted(name, text, kind, ROUNDS, Kept::Whole);
        found.map_or(Cow::Borrowed(text), Cow::Owned)
    }

    /// Appends the replacement of a value: the hash of the name, decoded and without its case, and
    /// of the text.
    fn write_hash(&self, out: &mut String, name: &str, text: &str) {
        if is_redacted(text) {
            out.push_str(text);
            return;
        }
        let name = names::decoded(name).unwrap_or(Cow::Borrowed(name));
        let mut mac = self.mac.clone();
        mac.update(itoa::Buffer::new().format(name.len()).as_bytes());
        mac.update(b":");
        mac.update(name.to_ascii_lowercase().as_bytes());
        mac.update(text.as_bytes());
        out.push_str(HASH);
        if let Some(shown) = mac.finalize().into_bytes().first_chunk() {
            push_hash(out, shown);
        }
    }
}

/// Whether a text is the replacement of a secret.
fn is_redacted(text: &str) -> bool {
    text.strip_prefix(HASH).is_some_and(|hash| {
        hash.len() == DIGITS && hash.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Whether a member may hold the value that another member names.
fn holds_value(name: &str) -> bool {
    let first = name.bytes().find(u8::is_ascii_alphabetic).map(|byte| byte.to_ascii_lowercase());
    matches!(first, Some(b'v' | b'c' | b't' | b'd' | b'i'))
        && short(name).is_some_and(|name| VALUES.contains(&&*name))
}

/// The letters of a name, in lower case; `None` when it has more than labels have.
fn short(name: &str) -> Option<SmallString> {
    let mut letters = SmallString::new();
    for byte in name.bytes().filter(u8::is_ascii_alphabetic) {
        if letters.len() == LONGEST_SHORT {
            return None;
        }
        letters.push(byte.to_ascii_lowercase());
    }
    Some(letters)
}

/// Whether a header is a secret regardless of the patterns, because it holds cookies.
fn holds_cookies(header: &str) -> bool {
    header.eq_ignore_ascii_case("cookie") || header.eq_ignore_ascii_case("set-cookie")
}

/// Writes the redacted event.
struct Writer<'r, 'a, 'o> {
    redactor: &'r Redactor,
    arena: &'a Bump,
    out: &'o mut String,
    /// A text without space, most of which is copied in large pieces; `None` if each part is
    /// written by itself.
    source: Option<&'a str>,
    /// Bytes of the source that are in the output.
    copied: usize,
    /// Strings with an escape that are rewritten.
    unescaped: usize,
    has_redacted: bool,
    /// Rounds left for reading a text as JSON, or decoding it.
    rounds: u8,
}

impl<'r, 'a, 'o> Writer<'r, 'a, 'o> {
    fn writing(redactor: &'r Redactor, arena: &'a Bump, out: &'o mut String) -> Self {
        Self {
            redactor,
            arena,
            out,
            source: None,
            copied: 0,
            unescaped: 0,
            has_redacted: false,
            rounds: ROUNDS,
        }
    }

    fn copying(
        redactor: &'r Redactor,
        arena: &'a Bump,
        out: &'o mut String,
        source: &'a str,
    ) -> Self {
        Self { source: Some(source), ..Self::writing(redactor, arena, out) }
    }

    /// Copies the rest of the text that was read, if that is possible: it has no space, and no
    /// escape in a name, which others would write in another way.
    fn is_copy_of(&mut self, reader: &Reader<'a>) -> bool {
        let is_copy = !reader.has_space() && reader.escaped() == self.unescaped;
        if is_copy {
            let rest = reader.text().get(self.copied..).unwrap_or_default();
            self.out.push_str(rest);
        }
        is_copy
    }

    /// Writes the value of a member, or of an element of its array.
    fn value(
        &mut self,
        reader: &mut Reader<'a>,
        name: &str,
        place: Place,
        kept: Kept<'r>,
    ) -> Result<()> {
        let kind = reader.kind()?;
        let is_whole = kept.is_whole();
        let is_body = place == Place::Body && kind == Kind::String;
        match kind {
            Kind::String | Kind::Number | Kind::Bool if !is_whole && !is_body => {
                self.secret(reader, name)?;
            }
            Kind::String => self.string(reader, name, place, kept)?,
            Kind::Number => self.number(reader, name, place)?,
            Kind::Bool => {
                let word = if reader.boolean()? { "true" } else { "false" };
                self.put(word);
            }
            Kind::Null => {
                reader.null()?;
                self.put("null");
            }
            Kind::Array => self.array(reader, name, place, kept)?,
            Kind::Object => self.object(reader, place, kept, None)?,
        }
        Ok(())
    }

    /// Writes a part of the source as it is.
    fn put(&mut self, text: &str) {
        if self.source.is_none() {
            self.out.push_str(text);
        }
    }

    fn separate(&mut self, index: usize) {
        if index > 0 {
            self.put(",");
        }
    }

    /// Writes something in place of a part of the source.
    fn replace(&mut self, part: Range<usize>, write: impl FnOnce(&Redactor, &mut String)) {
        if let Some(source) = self.source {
            self.out.push_str(source.get(self.copied..part.start).unwrap_or_default());
            self.copied = part.end;
        }
        write(self.redactor, self.out);
    }

    /// Writes an array. An array inside it may be a name and its values.
    fn array(
        &mut self,
        reader: &mut Reader<'a>,
        name: &str,
        place: Place,
        kept: Kept<'r>,
    ) -> Result<()> {
        self.put("[");
        reader.array(|reader, index| {
            self.separate(index);
            if reader.kind()? == Kind::Array && place != Place::Hashed {
                self.pair(reader, name, place, kept)
            } else {
                self.value(reader, name, place, kept)
            }
        })?;
        self.put("]");
        Ok(())
    }

    /// Writes an array inside an array: the values after the name of a secret are secrets.
    fn pair(
        &mut self,
        reader: &mut Reader<'a>,
        name: &str,
        place: Place,
        kept: Kept<'r>,
    ) -> Result<()> {
        let mut label = None;
        self.put("[");
        reader.array(|reader, index| {
            self.separate(index);
            if let Some(label) = label {
                return self.secret(reader, label);
            }
            match reader.kind()? {
                Kind::String if index == 0 => {
                    let text = reader.clone().string()?;
                    label = self.redactor.is_label(text).then_some(text);
                    self.value(reader, name, place, kept)
                }
                Kind::Array => self.pair(reader, name, place, kept),
                _ => self.value(reader, name, place, kept),
            }
        })?;
        self.put("]");
        Ok(())
    }

    /// Writes an object; `secret` are names that are secrets here.
    fn object(
        &mut self,
        reader: &mut Reader<'a>,
        place: Place,
        kept: Kept<'r>,
        secret: Option<&HashSet<String>>,
    ) -> Result<()> {
        let start = reader.clone();
        let mut is_named = None;
        let mut count: usize = 0;
        self.put("{");
        reader.object(|reader, name| {
            self.separate(count);
            count = count.saturating_add(1);
            if self.source.is_none() {
                write_string(self.out, name);
                self.out.push(':');
            }
            if place == Place::Hashed {
                return self.value(reader, name, place, Kept::Whole);
            }
            let mut names_value =
                || *is_named.get_or_insert_with(|| self.redactor.has_label(&start));
            if secret.is_some_and(|secret| secret.contains(name))
                || (holds_value(name) && names_value())
            {
                return self.secret(reader, name);
            }
            if let Some(known) = place.of_known(name) {
                let kept = if place.has_names(name) {
                    kept.member(name).unwrap_or(Kept::Nothing)
                } else {
                    Kept::Whole
                };
                return self.value(reader, name, known, kept);
            }
            let Some(kept) = self.kept_of(name, place, kept) else {
                return self.secret(reader, name);
            };
            if self.is_secret(name, place) {
                return self.secret(reader, name);
            }
            if name == "variables" && reader.kind()? == Kind::Object {
                let arguments = self.redactor.secret_arguments(&start);
                return self.object(reader, Place::Inner, kept, Some(&arguments));
            }
            self.value(reader, name, place.of_other(name), kept)
        })?;
        self.put("}");
        Ok(())
    }

    fn number(&mut self, reader: &mut Reader<'a>, name: &str, place: Place) -> Result<()> {
        let start = reader.offset();
        let number = reader.number()?;
        let is_queried = place == Place::Query;
        if place == Place::Hashed || !self.redactor.is_secret_number(name, number, is_queried) {
            self.put(number);
            return Ok(());
        }
        self.has_redacted = true;
        self.replace(start..reader.offset(), |redactor, out| {
            out.push('"');
            redactor.write_hash(out, name, number);
            out.push('"');
        });
        Ok(())
    }

    /// The parts of a member with a name of its own that may be kept; `None` if it is one secret.
    fn kept_of(&self, name: &str, place: Place, kept: Kept<'r>) -> Option<Kept<'r>> {
        let found = if place == Place::Headers && !kept.is_whole() {
            kept.member(&name.to_ascii_lowercase())
        } else {
            kept.member(name)
        };
        found.or_else(|| self.redactor.names.is_clear(name).then_some(Kept::Whole))
    }

    /// Whether a member is a secret as a whole. All cookies are, except for those that the tenant
    /// wants in clear.
    fn is_secret(&self, name: &str, place: Place) -> bool {
        let names = &self.redactor.names;
        match place {
            Place::Cookies => !names.is_clear(name),
            Place::Headers if holds_cookies(name) => true,
            _ => names.is_secret(name),
        }
    }

    /// Writes the hash of a value that is not null.
    fn secret(&mut self, reader: &mut Reader<'a>, name: &str) -> Result<()> {
        let (start, escaped) = (reader.offset(), reader.escaped());
        let text = match reader.kind()? {
            Kind::Null => return self.value(reader, name, Place::Hashed, Kept::Whole),
            Kind::String => {
                let text = reader.string()?;
                self.has_redacted |= !is_redacted(text);
                text
            }
            _ => {
                let mut text = String::new();
                let mut whole = Writer::writing(self.redactor, self.arena, &mut text);
                whole.value(reader, name, Place::Hashed, Kept::Whole)?;
                self.has_redacted = true;
                self.arena.alloc_str(&text)
            }
        };
        self.note_escapes(escaped, reader);
        self.replace(start..reader.offset(), |redactor, out| {
            out.push('"');
            redactor.write_hash(out, name, text);
            out.push('"');
        });
        Ok(())
    }

    fn string(
        &mut self,
        reader: &mut Reader<'a>,
        name: &str,
        place: Place,
        kept: Kept<'r>,
    ) -> Result<()> {
        let (start, escaped) = (reader.offset(), reader.escaped());
        let text = reader.string()?;
        let texts = Texts::new(self.redactor, self.arena);
        let search = |kind| texts.redacted(name, text, kind, self.rounds, kept);
        let redacted = place.kind().and_then(search);
        self.has_redacted |= redacted.is_some();
        let is_copied = self.source.is_some() && reader.escaped() == escaped;
        if !is_copied || redacted.is_some() {
            self.note_escapes(escaped, reader);
            let text = redacted.as_deref().unwrap_or(text);
            self.replace(start..reader.offset(), |_, out| write_string(out, text));
        }
        Ok(())
    }

    /// Rewrites the strings with an escape that were added since.
    fn note_escapes(&mut self, before: usize, reader: &Reader<'a>) {
        self.unescaped = self.unescaped.wrapping_add(reader.escaped().wrapping_sub(before));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redacted(body: &str) -> String {
        let redactor = Redactor::new(&["*pass*".to_owned()], b"key").unwrap();
        redactor.redact(body.as_bytes()).unwrap()
    }

    #[test]
    fn a_secret_is_its_hash_and_the_rest_stays() {
        // HMAC-SHA-256 of `8:passwordx` under `key`.
        let hash = "hmac:6bfda456cb57d75a11ec2f605d879057";
        assert_eq!(
            redacted(r#" {"fields":{"Password": "x", "n" : 1.50, "t": "\u00e9\n"}} "#),
            format!(r#"{{"fields":{{"Password":"{hash}","n":1.50,"t":"é\n"}}}}"#)
        );
        let link = format!("/?a=1&password={hash}#x");
        let body = r#"{"request":{"path":"/?a=1&password=x#x"}}"#;
        assert!(redacted(body).contains(&link));
    }

    #[test]
    fn nothing_is_kept_of_what_is_no_event() {
        let redactor = Redactor::new(&[], b"").unwrap();
        for body in [&b"[]"[..], b"{", b"{\"a\":1,\"a\":2}", &[b' '; 65_537]] {
            assert!(redactor.redact(body).is_err());
        }
    }
}
